//! Lists: a part of what there is, and where the next part begins.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdfast_core::Fault;
use holdfast_records::Record;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::request::Params;

/// A part of a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    pub items: Vec<T>,
    /// Pass it as `cursor` to get what follows; `null` at the end.
    pub next_cursor: Option<String>,
}

/// What follows `after`, at most `limit` of it.
#[derive(Clone, Copy, Debug)]
pub struct Page<Id> {
    pub after: Option<Id>,
    pub limit: usize,
}

impl<Id> Page<Id> {
    /// One more than is asked for, to know whether there is more.
    pub fn of<R: Record<Key = Id>>(&self) -> holdfast_records::List {
        holdfast_records::List::of::<R>(self.after.as_ref(), self.limit + 1)
    }
}

/// What `limit` and `cursor` ask for.
pub fn page<Id>(params: &Params, new: fn(u64) -> Option<Id>) -> Result<Page<Id>, Problem> {
    let after = params.text("cursor").filter(|cursor| !cursor.is_empty()).map(|cursor| {
        let number = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| bytes.try_into().ok());
        number.map(u64::from_be_bytes).and_then(new).ok_or_else(|| Problem::invalid("cursor", &Fault::Malformed))
    });
    Ok(Page { after: after.transpose()?, limit: params.limit()? })
}

impl<T> List<T> {
    /// Where the list goes on after this number.
    pub fn cursor(number: u64) -> String {
        URL_SAFE_NO_PAD.encode(number.to_be_bytes())
    }

    /// `records` are one more than the page's limit, if there are that many. `number` is what they are listed by.
    pub fn new<R>(mut records: Vec<R>, limit: usize, number: impl Fn(&R) -> u64, show: impl Fn(&R) -> T) -> Self {
        let more = records.len() > limit;
        records.truncate(limit);
        let last = records.last().filter(|_| more).map(number);
        let next_cursor = last.map(Self::cursor);
        Self { items: records.iter().map(show).collect(), next_cursor }
    }
}

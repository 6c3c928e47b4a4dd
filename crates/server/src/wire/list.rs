//! Lists: pages and cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdfast_core::Fault;
use holdfast_core::schema::Record;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::request::Params;

/// Page of a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; `null` at the end.
    pub next_cursor: Option<String>,
}

/// At most `limit` records after `after`.
#[derive(Clone, Copy, Debug)]
pub struct Page<Id> {
    pub after: Option<Id>,
    pub limit: usize,
}

impl<Id> Page<Id> {
    /// Requests one record more than the limit, to know whether there is another page.
    pub fn of<R: Record<Key = Id>>(&self) -> holdfast_core::schema::List {
        holdfast_core::schema::List::of::<R>(self.after.as_ref(), self.limit + 1)
    }
}

/// Parses `limit` and `cursor`.
pub fn page<Id>(params: &Params, new: fn(u64) -> Option<Id>) -> Result<Page<Id>, Problem> {
    let after = params.text("cursor").filter(|cursor| !cursor.is_empty()).map(|cursor| {
        let number = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| bytes.try_into().ok());
        number.map(u64::from_be_bytes).and_then(new).ok_or_else(|| Problem::invalid("cursor", &Fault::Malformed))
    });
    Ok(Page { after: after.transpose()?, limit: params.limit()? })
}

impl<T> List<T> {
    /// Cursor that continues after this number.
    pub fn cursor(number: u64) -> String {
        URL_SAFE_NO_PAD.encode(number.to_be_bytes())
    }

    /// `records` has one record more than the page's limit if there is another page. `number` is the key of the list.
    pub fn new<R>(mut records: Vec<R>, limit: usize, number: impl Fn(&R) -> u64, show: impl Fn(&R) -> T) -> Self {
        let more = records.len() > limit;
        records.truncate(limit);
        let last = records.last().filter(|_| more).map(number);
        let next_cursor = last.map(Self::cursor);
        Self { items: records.iter().map(show).collect(), next_cursor }
    }
}

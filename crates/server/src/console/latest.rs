//! The end of a list. Lists of the API begin with the oldest; a page wants the newest. Cursors are numbers, so the last one is
//! found by asking the API a few times, inside the process.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Value, json};

use super::Console;
use super::api::PASSED_ON_FAMILIES;
use super::session::Session;
use crate::app::Reply;
use crate::problem::Problem;
use crate::request::LIST_LIMIT_MAX;
use crate::wire::list::List;

const PREFIX: &str = "/console/latest";
/// How many entries a page shows.
const SHOWN: u64 = 50;
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// `/console/latest/…`: the last entries of a list of the API, newest first.
pub async fn get(State(console): State<Console>, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let session = Session::of(&console, &headers)?;
    let path = uri.path().strip_prefix(PREFIX).unwrap_or_default().to_owned();
    if !PASSED_ON_FAMILIES.iter().any(|family| path.starts_with(family)) {
        return Err(Problem::not_found());
    }
    let query = uri.query().map(|query| format!("{query}&")).unwrap_or_default();
    let lists = Lists { console: &console, session, headers: &headers, ask: format!("{path}?{query}") };
    let last = match lists.last().await {
        Ok(last) => last,
        Err(answer) => return Ok(*answer),
    };
    // Numbers may have gaps: look further back until there is enough, or more than one answer holds.
    let (mut items, mut back) = (Vec::new(), SHOWN);
    loop {
        let (found, is_whole) = match lists.after(last.saturating_sub(back), LIST_LIMIT_MAX).await {
            Ok(found) => found,
            Err(answer) => return Ok(*answer),
        };
        if is_whole {
            items = found;
        }
        if !is_whole || items.len() >= SHOWN as usize || back >= last {
            break;
        }
        back *= 8;
    }
    let newest: Vec<Value> = items.into_iter().rev().take(SHOWN as usize).collect();
    Ok(Reply::json(StatusCode::OK, &json!({ "items": newest })).into_response())
}

struct Lists<'a> {
    console: &'a Console,
    session: Session,
    headers: &'a HeaderMap,
    ask: String,
}

impl Lists<'_> {
    /// The number of the last entry, 0 if there is none.
    async fn last(&self) -> Result<u64, Box<Response>> {
        let (mut some, mut none) = (0, 1);
        while none <= holdfast_core::id::ID_MAX && self.has_after(none).await? {
            (some, none) = (none, none * 2);
        }
        while none - some > 1 {
            let middle = some + (none - some) / 2;
            if self.has_after(middle).await? {
                some = middle;
            } else {
                none = middle;
            }
        }
        Ok(none)
    }

    async fn has_after(&self, number: u64) -> Result<bool, Box<Response>> {
        Ok(!self.after(number, 1).await?.0.is_empty())
    }

    /// Entries after a number, and whether that is all there are; or what the API answered instead.
    async fn after(&self, number: u64, limit: usize) -> Result<(Vec<Value>, bool), Box<Response>> {
        let cursor = if number == 0 { String::new() } else { List::<u64>::cursor(number) };
        let internal = || Box::new(Problem::internal().into_response());
        let uri = format!("{}limit={limit}&cursor={cursor}", self.ask).parse().map_err(|_| internal())?;
        let answer = self.console.call(self.session.caller, Method::GET, uri, self.headers, Body::empty()).await;
        if !answer.status().is_success() {
            return Err(Box::new(answer));
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await.map_err(|_| internal())?;
        let mut list: Value = serde_json::from_slice(&body.to_bytes()).map_err(|_| internal())?;
        let list = if list["data"].is_object() { list["data"].take() } else { list };
        let is_whole = list["nextCursor"].is_null();
        let Value::Array(items) = list["items"].clone() else { return Err(internal()) };
        Ok((items, is_whole))
    }
}

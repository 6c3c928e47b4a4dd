//! Reads of the API by pages, inside the process and in an operator's name.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;

use super::Console;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::LIST_LIMIT_MAX;
use crate::wire::list::List;

const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Maximum number of pages of a list that is shown whole.
const PAGES_MAX: usize = 10;

/// A client of the API inside the process.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub console: &'a Console,
    pub caller: Caller,
    /// Headers of the page's request; only those meant for the API are passed on.
    pub headers: &'a HeaderMap,
}

/// Error response of the API.
pub type Refusal = Box<Response>;

impl Ask<'_> {
    /// Returns the API's response without its `data` wrapper.
    pub async fn get(&self, path: &str) -> Result<Value, Refusal> {
        let internal = || Box::new(Problem::internal().into_response());
        let uri = path.parse().map_err(|_| internal())?;
        let answer = self.console.call(self.caller, Method::GET, uri, self.headers, Body::empty()).await;
        if !answer.status().is_success() {
            return Err(Box::new(answer));
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await.map_err(|_| internal())?;
        let mut answer: Value = serde_json::from_slice(&body.to_bytes()).map_err(|_| internal())?;
        Ok(if answer["data"].is_object() { answer["data"].take() } else { answer })
    }

    /// Returns all items of a list, at most `PAGES_MAX` pages.
    pub async fn all(&self, path: &str) -> Result<Vec<Value>, Refusal> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        for _ in 0..PAGES_MAX {
            let mut page = self.get(&listing(path, LIST_LIMIT_MAX, &cursor)).await?;
            if let Value::Array(found) = page["items"].take() {
                items.extend(found);
            }
            match page["nextCursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        Ok(items)
    }

    /// Returns the last entries of a list, newest first. Lists of the API begin with the oldest, and their cursors are
    /// numbers: an exponential search, which starts at the last known end, finds the end.
    pub async fn latest(&self, path: &str, count: usize) -> Result<Vec<Value>, Refusal> {
        let last = self.last(path, self.console.ends.get(path)).await?;
        self.console.ends.set(path, last);
        // Ids may have gaps: the range is extended until it has enough items, or more than one response can contain.
        let (mut items, mut back) = (Vec::new(), count as u64);
        loop {
            let (found, is_whole) = self.after(path, last.saturating_sub(back), LIST_LIMIT_MAX).await?;
            if is_whole {
                items = found;
            }
            if !is_whole || items.len() >= count || back >= last {
                break;
            }
            back *= 8;
        }
        Ok(items.into_iter().rev().take(count).collect())
    }

    /// Returns the id of the last entry, 0 if there is none.
    async fn last(&self, path: &str, before: u64) -> Result<u64, Refusal> {
        // The entry that was last may have been deleted.
        let is_there = before > 0 && self.has_after(path, before - 1).await?;
        let (mut some, mut step) = (if is_there { before - 1 } else { 0 }, 1);
        let mut none = some + step;
        while none <= holdfast_core::id::ID_MAX && self.has_after(path, none).await? {
            some = none;
            step *= 2;
            none = some + step;
        }
        while none - some > 1 {
            let middle = some + (none - some) / 2;
            if self.has_after(path, middle).await? {
                some = middle;
            } else {
                none = middle;
            }
        }
        Ok(none)
    }

    async fn has_after(&self, path: &str, number: u64) -> Result<bool, Refusal> {
        Ok(!self.after(path, number, 1).await?.0.is_empty())
    }

    /// Returns entries after an id, and whether these are all.
    async fn after(&self, path: &str, number: u64, limit: usize) -> Result<(Vec<Value>, bool), Refusal> {
        let cursor = if number == 0 { String::new() } else { List::<u64>::cursor(number) };
        let mut list = self.get(&listing(path, limit, &cursor)).await?;
        let Value::Array(items) = list["items"].take() else {
            return Err(Box::new(Problem::internal().into_response()));
        };
        Ok((items, list["nextCursor"].is_null()))
    }
}

fn listing(path: &str, limit: usize, cursor: &str) -> String {
    let glue = if path.contains('?') { '&' } else { '?' };
    format!("{path}{glue}limit={limit}&cursor={cursor}")
}

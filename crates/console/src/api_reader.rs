//! Reads of the API by pages, inside the process and in an operator's name.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use holdfast_api::parse::LIST_LIMIT_MAX;
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;

use super::Console;
use holdfast_server::caller::Caller;
use holdfast_server::problem::Problem;

const RESPONSE_BYTES_MAX: usize = 16 << 20;
/// Maximum number of pages of a list that is shown whole.
const PAGES_MAX: usize = 10;

/// A client of the API inside the process.
#[derive(Clone, Copy)]
pub struct ApiReader<'a> {
    pub console: &'a Console,
    pub caller: &'a Caller,
    /// Headers of the page's request; only those meant for the API are passed on.
    pub headers: &'a HeaderMap,
}

/// Error response of the API.
pub type ErrorResponse = Box<Response>;

impl ApiReader<'_> {
    /// Returns the API's response without its `data` wrapper.
    pub async fn get(&self, path: &str) -> Result<Value, ErrorResponse> {
        let internal = || Box::new(Problem::internal().into_response());
        let uri = path.parse().map_err(|_| internal())?;
        let response = self.console.call(self.caller.clone(), Method::GET, uri, self.headers, Body::empty()).await;
        if !response.status().is_success() {
            return Err(Box::new(response));
        }
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect().await.map_err(|_| internal())?;
        let mut response: Value = serde_json::from_slice(&body.to_bytes()).map_err(|_| internal())?;
        Ok(if response["data"].is_object() { response["data"].take() } else { response })
    }

    /// Returns all items of a list, at most `PAGES_MAX` pages.
    pub async fn all(&self, path: &str) -> Result<Vec<Value>, ErrorResponse> {
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

    /// Returns the last entries of a list, newest first; at most `LIST_LIMIT_MAX`.
    pub async fn latest(&self, path: &str, count: usize) -> Result<Vec<Value>, ErrorResponse> {
        let mut page = self.get(&(listing(path, count, "") + "&order=desc")).await?;
        match page["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Err(Box::new(Problem::internal().into_response())),
        }
    }
}

fn listing(path: &str, limit: usize, cursor: &str) -> String {
    let glue = if path.contains('?') { '&' } else { '?' };
    format!("{path}{glue}limit={limit}&cursor={cursor}")
}

//! The latest entries of a list, for pages that show the newest first.

use std::collections::HashMap;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, Uri};
use parking_lot::Mutex;
use serde_json::json;

use super::Console;
use super::api::PASSED_ON_FAMILIES;
use super::ask::Ask;
use super::session::Session;
use crate::app::Reply;
use crate::problem::Problem;

const PREFIX: &str = "/console/latest";
/// Number of entries returned.
const SHOWN: usize = 50;
/// Maximum number of lists whose end is cached.
const KNOWN_MAX: usize = 1_000;

/// Last known end of each list: a hint where the search for its end begins.
#[derive(Debug, Default)]
pub struct Ends(Mutex<HashMap<String, u64>>);

impl Ends {
    pub fn get(&self, path: &str) -> u64 {
        self.0.lock().get(path).copied().unwrap_or(0)
    }

    pub fn set(&self, path: &str, last: u64) {
        let mut known = self.0.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(path.to_owned(), last);
    }
}

/// `/console/latest/…`: the last entries of a list of the API, newest first.
pub async fn get(State(console): State<Console>, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let session = Session::of(&console, &headers)?;
    let path = uri.path_and_query().and_then(|path| path.as_str().strip_prefix(PREFIX)).unwrap_or_default();
    if !PASSED_ON_FAMILIES.iter().any(|family| path.starts_with(family)) {
        return Err(Problem::not_found());
    }
    let ask = Ask { console: &console, caller: session.caller, headers: &headers };
    Ok(match ask.latest(path, SHOWN).await {
        Ok(items) => Reply::json(StatusCode::OK, &json!({ "items": items })).into_response(),
        Err(refusal) => *refusal,
    })
}

//! Handlers of the shop. Successes are wrapped in `data`.

pub mod cart;
pub mod coupons;
pub mod orders;
pub mod products;
pub mod reservations;
pub mod users;

use axum::response::{IntoResponse, Response};
use holdfast_api::shop::Data;
use http::StatusCode;
use serde::Serialize;

use crate::app::Reply;

/// Wraps a successful response in `data`.
fn reply(status: StatusCode, data: impl Serialize) -> Reply {
    Reply::json(status, &Data { data })
}

fn ok(data: impl Serialize) -> Response {
    reply(StatusCode::OK, data).into_response()
}

//! Pages for customers, on the demo's data. They use the public API only, and are worth reading as examples.

use axum::Router;

use crate::app::App;

pub fn routes() -> Router<App> {
    Router::new()
}

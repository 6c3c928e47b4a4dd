//! Pages: the console for operators at `/`, and the demo's pages for customers at `/demo`.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`assets`] | embedded files |
//! | [`texts`] | what pages say, in both languages |
//! | [`page`] | what all pages have in common |
//! | [`demo`] | pages for customers |
//! | [`sale`] | a crowd for the demo, and its report |
//!
//! Templates, styles, scripts and texts are in `console/` at the top of the repository. No rule is decided here: a page
//! asks and acts through the API, as any other caller.

pub mod assets;
pub mod demo;
pub mod now;
pub mod page;
pub mod sale;
pub mod texts;

use axum::Router;
use axum::routing::get;

use crate::app::App;

pub fn routes() -> Router<App> {
    Router::new().route("/", get(now::get)).route("/assets/{version}/{*name}", get(assets::get)).merge(demo::routes())
}

//! Pages: the console for operators at `/`, and the demo's pages for customers at `/demo`.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`assets`] | embedded files |
//! | [`texts`] | what pages say, in both languages |
//! | [`page`] | what all pages have in common |
//! | [`session`] | who looks, signing in and out |
//! | [`api`] | how pages ask and act: through the API |
//! | [`ask`], [`latest`] | asking for one thing, for a list, for the end of a list |
//! | [`sections`] | the pages of the console |
//! | [`views`] | what each of them shows |
//! | [`live`] | pages that change by themselves, computed once for all who look |
//! | [`figures`] | what is happening now, computed once for all who look |
//! | [`fan`] | telling many the same |
//! | [`search`], [`trace`] | the whole story of anything that has an id |
//! | [`demo`] | pages for customers |
//! | [`sale`] | a crowd for the demo, and its report |
//!
//! Templates, styles, scripts and texts are in `console/` at the top of the repository. No rule is decided here.

pub mod api;
pub mod ask;
pub mod assets;
pub mod demo;
pub mod fan;
pub mod figures;
pub mod latest;
pub mod live;
pub mod page;
pub mod sale;
pub mod search;
pub mod sections;
pub mod session;
pub mod texts;
pub mod trace;
pub mod views;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get, post};

use self::figures::Figures;
use self::latest::Ends;
use self::live::Live;
use crate::app::App;

/// What pages share.
#[derive(Clone, Debug)]
pub struct Console {
    pub app: App,
    /// The API's routes.
    api: Router,
    figures: Arc<Figures>,
    live: Arc<Live>,
    ends: Arc<Ends>,
}

pub fn routes(app: App, api: Router) -> Router {
    let console =
        Console { app: app.clone(), api, figures: Arc::default(), live: Arc::default(), ends: Arc::default() };
    Router::new()
        .route("/", get(sections::now))
        .route("/console/sign-in", get(session::page).post(session::sign_in))
        .route("/console/sign-out", post(session::sign_out))
        .route("/console/figures", get(figures::listen))
        .route("/console/live/{section}", get(live::listen))
        .route("/console/search", get(search::page))
        .route("/console/{section}", get(sections::get))
        .route("/console/latest/{*path}", get(latest::get))
        .route("/console/api/{*path}", any(api::forward))
        .with_state(console)
        .route("/assets/{version}/{*name}", get(assets::get))
        .merge(demo::routes().with_state(app))
}

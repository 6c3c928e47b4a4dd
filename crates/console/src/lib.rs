//! Pages: the console for operators at `/`, and the demo's pages for customers at `/demo`.
//!
//! | module | content |
//! | --- | --- |
//! | [`assets`] | embedded files |
//! | [`texts`] | texts of pages, in both languages |
//! | [`page`] | frame and headers common to all pages |
//! | [`session`] | the operator's session, signing in and out |
//! | [`api`] | access of pages to the API |
//! | [`api_reader`] | reading one record, a list, the end of a list |
//! | [`sections`] | the pages of the console |
//! | [`views`] | content of each page |
//! | [`live`] | live pages, computed once for all subscribers |
//! | [`live_metrics`] | live metrics, sampled once for all subscribers |
//! | [`broadcast`] | broadcast to subscribers |
//! | [`search`], [`trace`] | search by id, and the history of a record |
//! | [`demo`] | pages for customers |
//! | [`sale`] | load simulator of a sale, and its report |
//! | [`demo_sale`] | the load simulator as a button of the demo |
//!
//! Templates, styles, scripts and texts are in the folders beside `src`, embedded at build time. The console decides no rules:
//! it calls the API's own routes. `holdfast-server` does not depend on it; the binary passes [`routes`] to the server's router.

pub mod api;
pub mod api_reader;
pub mod assets;
pub mod broadcast;
pub mod demo;
pub mod demo_sale;
pub mod live;
pub mod live_metrics;
pub mod page;
pub mod sale;
pub mod search;
pub mod sections;
pub mod session;
pub mod texts;
pub mod trace;
pub mod views;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::{any, get, post};

use self::demo_sale::SaleRunner;
use self::live::Live;
use self::live_metrics::LiveMetrics;
use holdfast_server::app::App;

/// State shared by all pages.
#[derive(Clone, Debug)]
pub struct Console {
    pub app: App,
    /// The API's routes.
    api: Router,
    live_metrics: Arc<LiveMetrics>,
    live: Arc<Live>,
    /// Set only if this server shows a demo.
    sale_runner: Option<Arc<SaleRunner>>,
}

/// Returns the routes of all pages. `api` has the API's routes for callers who are already authenticated; `demo_address` is the
/// address of this server if it shows a demo.
pub fn routes(app: App, api: Router, demo_address: Option<SocketAddr>) -> Router {
    metrics::describe_counter!("holdfast_console_views_computed_total", "Computations of console views.");
    let sale_runner = demo_address.map(|address| Arc::new(SaleRunner::new(address)));
    let console = Console { app, api, live_metrics: Arc::default(), live: Arc::default(), sale_runner };
    Router::new()
        .route("/", get(sections::now))
        .route("/console/sign-in", get(session::page).post(session::sign_in))
        .route("/console/sign-out", post(session::sign_out))
        .route("/console/figures", get(live_metrics::listen))
        .route("/console/live/{section}", get(live::listen))
        .route("/console/search", get(search::page))
        .route("/console/{section}", get(sections::get))
        .route("/console/api/{*path}", any(api::forward))
        .merge(demo::routes())
        .with_state(console)
        .route("/assets/{version}/{*name}", get(assets::get))
}

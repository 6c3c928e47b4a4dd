//! Pages for customers, on the demo's data. They use only the public API, and are worth reading as examples. Each is a frame
//! from `templates/demo`, filled by a module of the same name in `assets/demo`.
//!
//! The pages exist only if the server was started with `--demo`. With auth off, a customer is a number that the browser
//! generates; with auth on, the subject of a token. The load simulator invents its customers, so it requires auth off.

use askama::Template;
use axum::Router;
use axum::extract::FromRequestParts;
use axum::response::Response;
use axum::routing::get;
use http::request::Parts;

use super::Console;
use super::demo_sale;
use super::page::{CustomerAccess, Shell};
use holdfast_server::problem::Problem;

pub fn routes() -> Router<Console> {
    Router::new()
        .route("/demo", get(index))
        .route("/demo/hotel", get(hotel))
        .route("/demo/shop", get(shop))
        .route("/demo/golf", get(golf))
        .route("/demo/concert", get(concert))
        .route("/demo/rooms", get(rooms))
        .route("/demo/sale", get(demo_sale::get).post(demo_sale::start).delete(demo_sale::stop))
        .route("/demo/sale/report", get(demo_sale::report))
}

/// Extractor that rejects requests unless the server shows a demo.
pub struct Demo(Shell);

impl FromRequestParts<Console> for Demo {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Problem> {
        let shell = Shell { customers: CustomerAccess::of(console), ..Shell::of(&parts.headers) };
        if shell.has_demo() { Ok(Self(shell)) } else { Err(Problem::not_found()) }
    }
}

#[derive(Template)]
#[template(path = "demo/index.html")]
struct Index {
    shell: Shell,
    page: &'static str,
}

async fn index(Demo(shell): Demo) -> Response {
    shell.page(&Index { shell, page: "index" })
}

/// A page that is filled by a script.
#[derive(Template)]
#[template(path = "demo/page.html")]
struct Filled {
    shell: Shell,
    page: &'static str,
    title: &'static str,
    lead: &'static str,
}

async fn hotel(Demo(shell): Demo) -> Response {
    shell.page(&Filled { shell, page: "hotel", title: shell.t.demo_hotel, lead: shell.t.demo_hotel_lead })
}

async fn shop(Demo(shell): Demo) -> Response {
    shell.page(&Filled { shell, page: "shop", title: shell.t.demo_shop, lead: shell.t.demo_shop_lead })
}

async fn golf(Demo(shell): Demo) -> Response {
    shell.page(&Filled { shell, page: "golf", title: shell.t.demo_golf, lead: shell.t.demo_golf_lead })
}

async fn concert(Demo(shell): Demo) -> Response {
    shell.page(&Filled { shell, page: "concert", title: shell.t.demo_concert, lead: shell.t.demo_concert_lead })
}

async fn rooms(Demo(shell): Demo) -> Response {
    shell.page(&Filled { shell, page: "rooms", title: shell.t.demo_rooms, lead: shell.t.demo_rooms_lead })
}

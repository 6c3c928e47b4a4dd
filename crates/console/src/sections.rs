//! Pages of the console. Each is a frame that a script fills through the API.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};

use super::page::Shell;
use super::session::Session;
use holdfast_server::problem::Problem;

/// Names of the pages: part of their path, their script and the keys of their texts.
pub const SECTIONS: [&str; 8] = ["stays", "shop", "tee", "tickets", "rooms", "bookings", "outbox", "webhooks"];

#[derive(Template)]
#[template(path = "now.html")]
struct Now {
    shell: Shell,
}

pub async fn now(shell: Shell, session: Session) -> Response {
    let shell = shell.at("now", &session);
    shell.page(&Now { shell })
}

#[derive(Template)]
#[template(path = "section.html")]
struct Section {
    shell: Shell,
    title: &'static str,
    script: String,
    about: &'static str,
}

pub async fn get(shell: Shell, session: Session, Path(name): Path<String>) -> Response {
    let Some(name) = SECTIONS.iter().copied().find(|section| *section == name) else {
        return Problem::not_found().into_response();
    };
    let shell = shell.at(name, &session);
    let about = shell.t.get(&format!("{name}_about")).unwrap_or_default();
    let title = shell.t.get(&format!("nav_{name}")).unwrap_or(name);
    shell.page(&Section { shell, title, script: shell.asset(&format!("console/{name}.js")), about })
}

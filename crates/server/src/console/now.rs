//! `/`: what is happening now.

use askama::Template;
use axum::response::Response;

use super::page::Shell;

#[derive(Template)]
#[template(path = "now.html")]
struct Page {
    shell: Shell,
}

pub async fn get(shell: Shell) -> Response {
    shell.page(&Page { shell })
}

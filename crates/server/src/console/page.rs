//! What all pages have in common: their frame, their language, and what a browser may do with them.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::{Html, IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};

use super::assets::VERSION;
use super::texts::{self, Texts};
use crate::app::App;
use crate::problem::{Language, Problem};

/// Nothing is loaded from elsewhere, nothing inline is run, nobody may frame a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The frame of a page: every template has one, named `shell`.
#[derive(Clone, Copy, Debug)]
pub struct Shell {
    pub t: &'static Texts,
    pub language: Language,
}

impl Shell {
    pub fn lang(&self) -> &'static str {
        match self.language {
            Language::Korean => "ko",
            Language::English => "en",
        }
    }

    /// Where an embedded file is.
    pub fn asset(&self, name: &str) -> String {
        format!("/assets/{VERSION}/{name}")
    }

    pub fn page(self, template: &impl Template) -> Response {
        self.page_with(StatusCode::OK, template)
    }

    pub fn page_with(self, status: StatusCode, template: &impl Template) -> Response {
        match template.render() {
            Ok(html) => (status, headers(self), Html(html)).into_response(),
            Err(error) => {
                tracing::error!(%error, "a page could not be written");
                Problem::internal().into_response()
            }
        }
    }
}

fn headers(shell: Shell) -> [(header::HeaderName, HeaderValue); 6] {
    [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CONTENT_LANGUAGE, HeaderValue::from_static(shell.lang())),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::VARY, HeaderValue::from_static("Accept-Language, Cookie")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ]
}

impl FromRequestParts<App> for Shell {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Self::Rejection> {
        let language = texts::language(&parts.headers);
        Ok(Self { t: Texts::of(language), language })
    }
}

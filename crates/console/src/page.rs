//! Frame, language and response headers common to all pages.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::{Html, IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::Console;
use super::assets::VERSION;
use super::session::Session;
use super::texts::{self, Texts};
use holdfast_server::problem::{Language, Problem};

/// Content security policy: no external resources, no inline scripts, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Frame of a page; every template has one, named `shell`.
#[derive(Clone, Copy, Debug)]
pub struct Shell {
    pub t: &'static Texts,
    pub language: Language,
    /// Section of the console; empty outside the console.
    pub section: &'static str,
    /// Whether the visitor has a session.
    pub signed_in: bool,
    pub customers: CustomerAccess,
}

/// Access to the demo's pages for customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerAccess {
    /// The pages do not exist.
    Disabled,
    /// Open to all visitors, and to the load simulator.
    Anonymous,
    /// Open to visitors with a token.
    SignedIn,
}

impl CustomerAccess {
    pub fn of(console: &Console) -> Self {
        match (&console.sale_runner, console.app.auth().is_off()) {
            (None, _) => Self::Disabled,
            (Some(_), true) => Self::Anonymous,
            (Some(_), false) => Self::SignedIn,
        }
    }
}

/// Entry of the navigation menu.
#[derive(Clone, Copy, Debug)]
pub struct NavItem {
    pub href: &'static str,
    pub label: &'static str,
    pub is_current: bool,
}

impl Shell {
    pub fn of(headers: &HeaderMap) -> Self {
        let language = texts::language(headers);
        Self { t: Texts::of(language), language, section: "", signed_in: false, customers: CustomerAccess::Disabled }
    }

    pub fn has_demo(&self) -> bool {
        self.customers != CustomerAccess::Disabled
    }

    /// Whether the load simulator may run.
    pub fn has_sale(&self) -> bool {
        self.customers == CustomerAccess::Anonymous
    }

    /// Whether customers must sign in with a token.
    pub fn needs_token(&self) -> bool {
        self.customers == CustomerAccess::SignedIn
    }

    /// Returns the frame of a page of the console.
    #[must_use]
    pub fn at(self, section: &'static str, session: &Session) -> Self {
        Self { section, signed_in: session.signed_in, customers: session.customers, ..self }
    }

    /// Returns the navigation menu, in groups.
    pub fn nav(&self) -> [Vec<NavItem>; 3] {
        let line = |section: &str, href, label| NavItem { href, label, is_current: self.section == section };
        let t = self.t;
        [
            vec![line("now", "/", t.nav_now), line("search", "/console/search", t.nav_search)],
            vec![
                line("stays", "/console/stays", t.nav_stays),
                line("shop", "/console/shop", t.nav_shop),
                line("tee", "/console/tee", t.nav_tee),
                line("tickets", "/console/tickets", t.nav_tickets),
                line("rooms", "/console/rooms", t.nav_rooms),
            ],
            vec![
                line("bookings", "/console/bookings", t.nav_bookings),
                line("outbox", "/console/outbox", t.nav_outbox),
                line("webhooks", "/console/webhooks", t.nav_webhooks),
            ],
        ]
    }

    pub fn lang(&self) -> &'static str {
        match self.language {
            Language::Korean => "ko",
            Language::English => "en",
        }
    }

    pub fn nothing_found(&self, q: &str) -> String {
        texts::fill(self.t.search_nothing, &[("q", q)])
    }

    /// Returns the path of an embedded file.
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
                tracing::error!(%error, "cannot render a page");
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

impl<S: Sync> FromRequestParts<S> for Shell {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::of(&parts.headers))
    }
}

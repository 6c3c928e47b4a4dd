//! Session of an operator. With auth on, an operator signs in with a token, kept in a cookie that scripts cannot read and
//! other sites cannot send. With auth off the console is open, as the API is.
//!
//! Only pages read the cookie. The API ignores it, so another site cannot make a browser call the API.

use std::time::Duration;

use askama::Template;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::Console;
use super::page::{CustomerAccess, Shell};
use holdfast_server::caller::{Caller, Name};
use holdfast_server::problem::Problem;
use holdfast_server::request::read_small;

const COOKIE: &str = "holdfast_session";
/// Longer than any sensible token, shorter than the limit of browsers for a cookie.
const TOKEN_CHARS_MAX: usize = 3_800;

/// Bounds of the sign-in form.
const FORM_BYTES_MAX: usize = 8 << 10;
const FORM_TIMEOUT: Duration = Duration::from_secs(5);

/// An operator's session.
#[derive(Clone, Debug)]
pub struct Session {
    pub caller: Caller,
    /// Whether there is a session to sign out of.
    pub signed_in: bool,
    pub customers: CustomerAccess,
}

/// Reason why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSession {
    SignedOut,
    /// The token is valid, but not an operator's.
    NotAllowed,
}

impl Session {
    pub fn of(console: &Console, headers: &HeaderMap) -> Result<Self, NoSession> {
        let auth = console.app.auth();
        let customers = CustomerAccess::of(console);
        if auth.is_off() {
            return Ok(Self { caller: Caller::Admin(Name::Anonymous), signed_in: false, customers });
        }
        let token = token(headers).ok_or(NoSession::SignedOut)?;
        let caller = auth.caller_of(token).map_err(|_| NoSession::SignedOut)?;
        caller.must_be_admin(auth).map_err(|_| NoSession::NotAllowed)?;
        Ok(Self { caller, signed_in: true, customers })
    }
}

impl From<NoSession> for Problem {
    fn from(why: NoSession) -> Self {
        match why {
            NoSession::SignedOut => Self::unauthenticated("Sign in to the console first."),
            NoSession::NotAllowed => Self::forbidden(),
        }
    }
}

/// Extractor for pages: a request without a session is redirected to the sign-in page.
impl FromRequestParts<Console> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Response> {
        Self::of(console, &parts.headers).map_err(|why| match why {
            NoSession::SignedOut => Redirect::to("/console/sign-in").into_response(),
            NoSession::NotAllowed => {
                let shell = Shell::of(&parts.headers);
                let page = SignIn { shell, wrong: Some(shell.t.signin_not_allowed), signed_in: true };
                shell.page_with(StatusCode::FORBIDDEN, &page)
            }
        })
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    shell: Shell,
    wrong: Option<&'static str>,
    signed_in: bool,
}

pub async fn page(State(console): State<Console>, shell: Shell, headers: HeaderMap) -> Response {
    match Session::of(&console, &headers) {
        Ok(_) => Redirect::to("/").into_response(),
        Err(_) => shell.page(&SignIn { shell, wrong: None, signed_in: false }),
    }
}

pub async fn sign_in(State(console): State<Console>, shell: Shell, request: Request) -> Result<Response, Problem> {
    let (Parts { headers, .. }, body) = request.into_parts();
    must_be_ours(&headers)?;
    let body = read_small(body, FORM_BYTES_MAX, FORM_TIMEOUT).await?;
    let fields = form_urlencoded::parse(&body);
    let token = fields.into_iter().find(|(name, _)| name == "token").map(|(_, token)| token.trim().to_owned());
    let token = token.filter(|token| token.len() <= TOKEN_CHARS_MAX).unwrap_or_default();
    let auth = console.app.auth();
    let caller = auth.caller_of(&token).ok().filter(|_| !auth.is_off());
    let wrong = match caller.map(|caller| caller.must_be_admin(auth)) {
        Some(Ok(())) => None,
        Some(Err(_)) => Some((StatusCode::FORBIDDEN, shell.t.signin_not_allowed)),
        None => Some((StatusCode::UNAUTHORIZED, shell.t.signin_wrong)),
    };
    if let Some((status, wrong)) = wrong {
        return Ok(shell.page_with(status, &SignIn { shell, wrong: Some(wrong), signed_in: false }));
    }
    let is_secure = headers.get("x-forwarded-proto").is_some_and(|value| value == "https");
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}");
    let cookie = HeaderValue::try_from(cookie).map_err(|_| Problem::internal())?;
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

pub async fn sign_out(headers: HeaderMap) -> Result<Response, Problem> {
    must_be_ours(&headers)?;
    let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok(([(header::SET_COOKIE, gone)], Redirect::to("/console/sign-in")).into_response())
}

/// Rejects requests sent by other sites. Browsers state the origin of a request, and pages cannot forge it.
pub fn must_be_ours(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text("host").unwrap_or_default();
    let is_ours = match text("sec-fetch-site") {
        Some(site) => site == "same-origin",
        // Browsers omit `Sec-Fetch-Site` over plain HTTP, except to loopback addresses.
        None => text("origin").and_then(|origin| origin.split_once("://")).is_some_and(|(_, origin)| origin == host),
    };
    if is_ours { Ok(()) } else { Err(Problem::forbidden()) }
}

/// Returns the operator's token as an `Authorization` header for the API.
pub fn bearer(headers: &HeaderMap) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {}", token(headers)?)).ok()
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookie| cookie.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, token)| token)
}

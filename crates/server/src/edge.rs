//! What happens to every request, whatever it asks for: it gets an id, is refused if it may not come in, and its problems
//! are written in the caller's language. Waiting has its bounds where it happens: for a body in `request`, for a turn and
//! a commit in the engine.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use holdfast_core::Fault;
use holdfast_engine::trace::{self, Trace};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use tower::Service;

use crate::app::App;
use crate::forward;
use crate::problem::{Language, Problem};
use crate::roles::Role;

const REQUEST_ID_CHARS_MAX: usize = 128;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request that came over HTTP.
pub async fn handle(app: App, router: axum::Router, request: Request<Body>) -> Response {
    answer(&app, request, async |request, id| {
        if app.auth().is_off() && !is_direct_and_local(request.headers(), request.uri()) {
            return Problem::forwarded().into_response();
        }
        if !app.roles().has(Role::Api) && !is_for_operators(request.uri()) {
            return Problem::not_found().into_response();
        }
        let is_safe = request.method().is_safe();
        let response = match forward::needed(&app, request.uri()) {
            // Apart, because it is large and rare: what is done for every request is moved around by those who do it.
            Some(role) => Box::pin(forward::ask(&app, role, request, id)).await.into_response(),
            None => route(router, request).await,
        };
        // What has changed something is answered in any case.
        app.unread().hold(response, !is_safe)
    })
    .await
}

/// A request, wherever it came from, is answered by its handler.
pub async fn respond(app: &App, router: axum::Router, request: Request<Body>) -> Response {
    answer(app, request, async |request, _| route(router, request).await).await
}

async fn route(mut router: axum::Router, request: Request<Body>) -> Response {
    match AssertUnwindSafe(router.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => Problem::internal().into_response(),
    }
}

/// Answers with what `act` says; a problem is written down for the caller.
async fn answer(
    app: &App,
    mut request: Request<Body>,
    act: impl AsyncFnOnce(Request<Body>, &str) -> Response,
) -> Response {
    let began = Instant::now();
    let request_id = request_id(app, request.headers());
    let language = Language::asked_for(request.headers());
    let method = request.method().clone();
    let path = request.uri().path_and_query().cloned();

    let trace = trace_of(app, request.headers());
    if let Ok(value) = HeaderValue::try_from(&request_id) {
        // For handlers that say in the log whose request it was.
        request.headers_mut().insert(REQUEST_ID, value);
    }
    let mut response = trace::within(Some(trace), act(request, &request_id)).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>().or_else(|| unnamed_problem(&response)) {
        metrics::counter!("holdfast_problems_total", "code" => problem.code).increment(1);
        let allow = response.headers_mut().remove(header::ALLOW);
        response = problem.render(language, &request_id);
        response.headers_mut().extend(allow.map(|methods| (header::ALLOW, methods)));
    }
    let status = response.status();
    let elapsed = began.elapsed();
    app.request_seconds().record(elapsed);
    if status.is_server_error() {
        tracing::warn!(%request_id, %method, path = ?path, status = status.as_u16(), ?elapsed, "request failed");
    } else {
        tracing::debug!(%request_id, %method, path = ?path, status = status.as_u16(), ?elapsed, "request");
    }
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// What a process answers that serves nobody else.
fn is_for_operators(uri: &Uri) -> bool {
    matches!(uri.path(), "/healthz" | "/readyz" | "/metrics")
}

/// What axum itself refused, before any handler saw it: a path that is not text.
fn unnamed_problem(response: &Response) -> Option<Problem> {
    let is_plain =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(b"text/plain"));
    (response.status() == StatusCode::BAD_REQUEST && is_plain).then(|| Problem::invalid("path", &Fault::Malformed))
}

/// The caller's own id if it is a sensible one.
fn request_id(app: &App, headers: &HeaderMap) -> String {
    headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| (1..=REQUEST_ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()))
        .map_or_else(|| app.ids().request_id(), str::to_owned)
}

/// The trace the request is part of, or a new one.
fn trace_of(app: &App, headers: &HeaderMap) -> Trace {
    let given = headers.get("traceparent").and_then(|value| Trace::parse(value.to_str().ok()?));
    let number = || app.ids().number();
    given.map_or_else(
        || Trace::new((u128::from(number()) << 64) | u128::from(number()), number()),
        |trace| trace.child(number()),
    )
}

/// With auth off, only programs on this machine may call. A proxy gives itself away by its headers; a web page in a
/// browser on this machine by its origin, or by the name it reached us under.
fn is_direct_and_local(headers: &HeaderMap, uri: &Uri) -> bool {
    let is_proxys = |name: &str| matches!(name, "forwarded" | "x-real-ip" | "via") || name.starts_with("x-forwarded-");
    if headers.keys().any(|name| is_proxys(name.as_str())) {
        return false;
    }
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = uri.authority().map(http::uri::Authority::as_str).or_else(|| text(header::HOST));
    let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    [host, origin].into_iter().flatten().all(is_loopback_name)
}

fn is_loopback_name(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_loopback_address = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback_address || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for local in ["127.0.0.1:8080", "127.9.9.9", "localhost", "LOCALHOST:1", "[::1]:8080", "shop.localhost:80"] {
            assert!(is_loopback_name(local), "{local}");
        }
        for other in ["10.0.0.1", "example.com", "localhost.example.com", "127.0.0.1.example.com", "null", "?", ""] {
            assert!(!is_loopback_name(other), "{other}");
        }
    }
}

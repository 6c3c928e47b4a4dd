//! Handling common to every request: assigns an id, rejects requests that are not admitted, and renders problems in the
//! caller's language. Waits are bounded elsewhere: for the body in `request`, for the queue and the commit in the engine.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use holdfast_core::Fault;
use holdfast_engine::trace::{self, Trace};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, Version, header};
use tower::Service;

use crate::app::App;
use crate::forwarding;
use crate::problem::Problem;
use crate::roles::Role;

const REQUEST_ID_CHARS_MAX: usize = 128;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Handles a request that came over HTTP.
pub async fn handle_http(app: App, router: axum::Router, request: Request<Body>) -> Response {
    respond_with(&app, request, async |request, id| {
        if app.auth().is_off() && !is_direct_and_local(&request) {
            return Problem::forwarded().into_response();
        }
        if !app.roles().has(Role::Api) && !is_for_operators(request.uri()) {
            return Problem::not_found().into_response();
        }
        let is_safe = request.method().is_safe();
        let response = match forwarding::needed(&app, request.uri()) {
            // Boxed because its future is large and rare; the future of every request is moved several times.
            Some(role) => Box::pin(forwarding::forward(&app, role, request, id)).await.into_response(),
            None => route(router, request).await,
        };
        // The answer of a request that may have changed state is never rejected.
        app.unread().hold(response, !is_safe)
    })
    .await
}

/// Handles a request on a connection beyond the maximum: only health checks and metrics are served.
pub async fn handle_over_limit(app: App, router: axum::Router, request: Request<Body>) -> Response {
    if is_for_operators(request.uri()) {
        return handle_http(app, router, request).await;
    }
    respond_with(&app, request, async |_, _| Problem::too_many_connections().into_response()).await
}

/// Handles a request that did not come over HTTP: from another process, or a test. Makes no admission checks.
pub async fn handle_internal(app: &App, router: axum::Router, request: Request<Body>) -> Response {
    respond_with(app, request, async |request, _| route(router, request).await).await
}

async fn route(mut router: axum::Router, request: Request<Body>) -> Response {
    match AssertUnwindSafe(router.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => Problem::internal().into_response(),
    }
}

/// Runs a handler in the trace of the request. Adds the headers of every response, and renders a problem in the caller's language.
async fn respond_with(
    app: &App,
    mut request: Request<Body>,
    handler: impl AsyncFnOnce(Request<Body>, &str) -> Response,
) -> Response {
    let began = Instant::now();
    let request_id = request_id(app, request.headers());
    let language = app.language(request.headers());
    let method = request.method().clone();
    let uri = request.uri().clone();

    let trace = trace_of(app, request.headers());
    if let Ok(value) = HeaderValue::try_from(&request_id) {
        // For handlers that log the request id.
        request.headers_mut().insert(REQUEST_ID, value);
    }
    let mut response = trace::within(Some(trace), handler(request, &request_id)).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>().or_else(|| unnamed_problem(&response)) {
        metrics::counter!("holdfast_http_errors_total", "code" => problem.code.as_str()).increment(1);
        let allow = response.headers_mut().remove(header::ALLOW);
        response = problem.render(language, &request_id);
        response.headers_mut().extend(allow.map(|methods| (header::ALLOW, methods)));
    }
    let status = response.status();
    let elapsed = began.elapsed();
    app.request_seconds().record(elapsed);
    if status.is_server_error() {
        tracing::warn!(%request_id, %method, path = uri.path_and_query().map(http::uri::PathAndQuery::as_str), status = status.as_u16(), ?elapsed, "request failed");
    } else {
        tracing::debug!(%request_id, %method, path = uri.path_and_query().map(http::uri::PathAndQuery::as_str), status = status.as_u16(), ?elapsed, "request");
    }
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    protect(response.headers_mut());
    response
}

/// Keeps answers out of caches, and keeps browsers from guessing their type. Every answer counts as personal data unless its
/// handler sets `Cache-Control`; event streams always do.
fn protect(headers: &mut HeaderMap) {
    const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let is_event_stream = |headers: &HeaderMap| {
        headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
    };
    match headers.get(header::CACHE_CONTROL) {
        Some(value) if value != "no-cache" || !is_event_stream(headers) => {}
        // axum marks event streams `no-cache`, which allows a cache to keep them.
        Some(_) | None => drop(headers.insert(header::CACHE_CONTROL, NO_STORE)),
    }
}

/// Whether the path is served for operators, also without the API role and beyond the connection limit.
fn is_for_operators(uri: &Uri) -> bool {
    matches!(uri.path(), "/healthz" | "/readyz" | "/metrics")
}

/// Returns the problem for a request that axum rejected before any handler: a path that is not UTF-8.
fn unnamed_problem(response: &Response) -> Option<Problem> {
    let is_plain =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(b"text/plain"));
    (response.status() == StatusCode::BAD_REQUEST && is_plain).then(|| Problem::invalid("path", &Fault::Malformed))
}

/// Returns the client's own request id if it is printable and short enough, otherwise a new one.
fn request_id(app: &App, headers: &HeaderMap) -> String {
    headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| (1..=REQUEST_ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()))
        .map_or_else(|| app.ids().request_id(), str::to_owned)
}

/// Returns a child of the trace that the request belongs to, or a new trace.
fn trace_of(app: &App, headers: &HeaderMap) -> Trace {
    let given = headers.get("traceparent").and_then(|value| Trace::parse(value.to_str().ok()?));
    let number = || app.ids().number();
    given.map_or_else(
        || Trace::new((u128::from(number()) << 64) | u128::from(number()), number()),
        |trace| trace.child(number()),
    )
}

/// Whether a program on this machine sent the request directly: required for every path while authentication is off.
///
/// A proxy on this machine is recognised by the headers it adds, by HTTP/1.0 (nginx's default towards its upstreams), or by a
/// `Host` that is missing or not a loopback name; a web page in a browser on this machine by its `Origin` or its `Host`.
fn is_direct_and_local(request: &Request<Body>) -> bool {
    let (headers, uri) = (request.headers(), request.uri());
    let is_proxys = |name: &str| matches!(name, "forwarded" | "x-real-ip" | "via") || name.starts_with("x-forwarded-");
    if request.version() < Version::HTTP_11 || headers.keys().any(|name| is_proxys(name.as_str())) {
        return false;
    }
    let texts = |name| headers.get_all(name).iter().map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
    let host_of = |origin| str::split_once(origin, "://").map_or(origin, |(_, host)| host);
    let target = uri.authority().map(http::uri::Authority::as_str);
    headers.contains_key(header::HOST)
        && target.into_iter().chain(texts(header::HOST)).all(is_loopback_name)
        && texts(header::ORIGIN).map(host_of).all(is_loopback_name)
}

/// Whether `authority` is `HOST` or `HOST:PORT` with a loopback address or a name that always resolves to one.
fn is_loopback_name(authority: &str) -> bool {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !(rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)) {
        return false;
    }
    let is_loopback_address = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback_address || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_local() {
        for local in ["127.0.0.1:8080", "127.9.9.9", "localhost", "LOCALHOST:1", "[::1]:8080", "shop.localhost:80"] {
            assert!(is_loopback_name(local), "{local}");
        }
        for other in [
            "localhost:80@example.com",
            "[::1]x",
            "[::1",
            "10.0.0.1",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "null",
            "?",
            "",
        ] {
            assert!(!is_loopback_name(other), "{other}");
        }
    }
}

//! Access of the console to the API, in the operator's name: there is no second way to do anything, and no second set of
//! permissions. A request of a page goes to the API's own routes inside the process. A request for a service in another
//! process is forwarded there, like any other request.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, Method, Uri, header};
use tower::Service as _;

use super::Console;
use super::session::{self, Session, must_be_ours};
use holdfast_server::caller::{Caller, Known};
use holdfast_server::forwarding;
use holdfast_server::problem::Problem;

const PREFIX: &str = "/console/api";
/// Prefixes of the API's paths.
pub const PASSED_ON_FAMILIES: [&str; 3] = ["/v1/", "/api/", "/bookings"];
/// Request headers passed on to the API. The caller is not among them, because the console sets it.
const PASSED_ON: [HeaderName; 5] = [
    header::CONTENT_TYPE,
    header::ACCEPT_LANGUAGE,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("prefer"),
];

/// `/console/api/…`: the rest is a path of the API.
pub async fn forward(State(console): State<Console>, request: Request) -> Result<Response, Problem> {
    let session = Session::of(&console, request.headers())?;
    if !request.method().is_safe() {
        must_be_ours(request.headers())?;
    }
    let target = request.uri().path_and_query().and_then(|target| target.as_str().strip_prefix(PREFIX));
    let target = target.unwrap_or_default();
    if !PASSED_ON_FAMILIES.iter().any(|family| target.starts_with(family)) {
        return Err(Problem::not_found());
    }
    let uri: Uri = target.parse().map_err(|_| Problem::not_found())?;
    let (parts, body) = request.into_parts();
    let is_elsewhere = forwarding::needed(&console.app, &uri).is_some();
    let is_safe = parts.method.is_safe();
    let answer = console.call(session.caller, parts.method, uri, &parts.headers, body).await;
    if is_elsewhere && !is_safe {
        // Services in other processes do not report their changes to this process.
        console.app.stream().activity().changed("tee.elsewhere");
        console.app.stream().activity().changed("relay.elsewhere");
    }
    Ok(answer)
}

impl Console {
    /// Calls a route of the API.
    pub async fn call(&self, caller: Caller, method: Method, uri: Uri, headers: &HeaderMap, body: Body) -> Response {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        for name in PASSED_ON {
            if let Some(value) = headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        request.extensions_mut().insert(Known(caller));
        if let Some(role) = forwarding::needed(&self.app, request.uri()) {
            // In another process the token names the caller.
            request.headers_mut().extend(session::bearer(headers).map(|token| (header::AUTHORIZATION, token)));
            let id = headers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
            return forwarding::forward(&self.app, role, request, id).await.into_response();
        }
        match self.api.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

//! Requests to a service in another process.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use holdfast_core::tee::TeeSlotId;
use holdfast_engine::trace;
use holdfast_events::nats::{self as bus, BusError, HeaderMap, Reply};
use http::{HeaderName, HeaderValue, Request, StatusCode};

use super::{AUTH, CALLER, KNOWN_SLOTS, METHOD, OPERATOR, STATUS, TARGET, subject};
use crate::app::App;
use crate::caller::{Caller, Known};
use crate::problem::Problem;
use crate::request::read_in_time;
use crate::roles::Role;

/// Timeout of a service, below the 5 s within which every request is answered.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(4_700);
const KNOWN_SLOTS_TIMEOUT: Duration = Duration::from_millis(500);

/// Headers of a request that handlers read.
pub(super) const REQUEST_HEADERS: [&str; 8] = [
    "accept-language",
    "authorization",
    "content-type",
    "idempotency-key",
    "prefer",
    "traceparent",
    "x-request-id",
    "x-user-id",
];
/// Headers of a response that clients read.
const RESPONSE_HEADERS: [&str; 8] = [
    "allow",
    "cache-control",
    "content-language",
    "content-type",
    "idempotent-replayed",
    "location",
    "retry-after",
    "www-authenticate",
];

/// Forwards a request to its service and waits for the response.
pub async fn forward(app: &App, role: Role, request: Request<Body>, request_id: &str) -> Result<Response, Problem> {
    // An unauthenticated client must not learn whether the service is available.
    app.auth().caller(request.headers())?;
    let bus = app.bus().ok_or_else(Problem::internal)?;
    let (parts, body) = request.into_parts();
    let mut headers = HeaderMap::new();
    for name in REQUEST_HEADERS {
        for value in parts.headers.get_all(name) {
            headers.append(name, value.to_str().map_err(|_| Problem::invalid(name, &holdfast_core::Fault::Malformed))?);
        }
    }
    headers.insert("x-request-id", request_id);
    if let Some(trace) = trace::current() {
        headers.insert("traceparent", trace.to_string());
    }
    headers.insert(METHOD, parts.method.as_str());
    headers.insert(TARGET, parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str));
    headers.insert(AUTH, auth_mode(app));
    if app.auth().is_off() && matches!(parts.extensions.get(), Some(Known(Caller::Admin(_)))) {
        headers.insert(CALLER, OPERATOR);
    }
    let reply = bus.request(&subject(role), headers, read_in_time(body).await?, RESPONSE_TIMEOUT).await;
    reply.map_err(|error| problem(role, &error)).and_then(read)
}

/// Whether auth is on. Both processes must agree, or else one would trust a caller that the other did not verify.
pub(super) fn auth_mode(app: &App) -> &'static str {
    if app.auth().is_off() { "off" } else { "on" }
}

fn problem(role: Role, error: &BusError) -> Problem {
    let service = role.as_str();
    match error {
        BusError::TooLarge { max } => Problem::payload_too_large(*max),
        BusError::NoSubscriber | BusError::Unavailable { .. } => {
            Problem::service_unavailable(service, &format!("The {service} service is unavailable; nothing changed."))
        }
        BusError::TimedOut => Problem::service_unavailable(
            service,
            &format!(
                "The {service} service did not answer in time; the request may or may not have been executed. Retry it."
            ),
        ),
        BusError::Refused(_) | BusError::Address(_) => {
            tracing::warn!(%error, service, "[Bus] cannot send a request");
            Problem::service_unavailable(service, &format!("The {service} service cannot be reached."))
        }
    }
}

fn read(reply: bus::ReplyMessage) -> Result<Response, Problem> {
    let status = reply.headers.get(STATUS).and_then(|status| StatusCode::from_bytes(status.as_bytes()).ok());
    let mut response = Response::new(Body::from(reply.payload));
    *response.status_mut() = status.ok_or_else(Problem::internal)?;
    for name in RESPONSE_HEADERS {
        let value = reply.headers.get(name).and_then(|value| HeaderValue::from_str(value).ok());
        response.headers_mut().extend(value.map(|value| (HeaderName::from_static(name), value)));
    }
    Ok(response)
}

/// Makes a NATS reply from a response.
pub(super) fn write(status: StatusCode, headers: &http::HeaderMap, payload: Bytes) -> Reply {
    let mut written = HeaderMap::new();
    written.insert(STATUS, status.as_str());
    for name in RESPONSE_HEADERS {
        if let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) {
            written.insert(name, value);
        }
    }
    Reply { headers: written, payload }
}

/// Whether the booking service, in any process, has learned of these slots. An unavailable service counts as not.
pub async fn are_slots_known(app: &App, slots: &[TeeSlotId]) -> Result<bool, Problem> {
    if app.roles().has(Role::Booking) {
        return crate::tee::bookings::are_slots_known(app, slots).await;
    }
    let Some(bus) = app.bus() else { return Ok(false) };
    let numbers: Vec<u64> = slots.iter().map(|slot| slot.get()).collect();
    let payload = serde_json::to_vec(&numbers).map_err(|_| Problem::internal())?;
    let reply = bus.request(KNOWN_SLOTS, HeaderMap::new(), payload.into(), KNOWN_SLOTS_TIMEOUT).await;
    Ok(reply.is_ok_and(|reply| &*reply.payload == b"true"))
}

//! Responders for the services of this process.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use holdfast_api::error::ErrorCode;
use holdfast_core::tee::{SLOTS_MAX, TeeSlotId};
use holdfast_events::nats::{Connection, HeaderMap, Headers, Reply, RequestMessage};
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::requester::{REQUEST_HEADERS, auth_mode, write};
use super::{AUTH, BOOKING_CREATE, CALLER, KNOWN_SLOTS, METHOD, OPERATOR, TARGET, role_of, subject};
use crate::app::App;
use crate::caller::{Caller, Known, Name};
use crate::problem::Problem;
use crate::roles::Role;
use crate::{edge, router};

/// Responds to requests that another process received over HTTP.
pub(super) async fn requests(app: App, connection: Connection, role: Role) {
    let responder = Responder::new(&app);
    let handle = move |message: RequestMessage| {
        let responder = responder.clone();
        async move { responder.request(role, message).await }
    };
    connection.respond(&subject(role), handle, too_large(&app), app.stopped()).await;
}

/// Responds to `booking.create` of NATS clients: plain JSON or a `CloudEvent`, with the body of `POST /bookings`.
pub(super) async fn bookings(app: App, connection: Connection) {
    let responder = Responder::new(&app);
    let handle = move |message: RequestMessage| {
        let responder = responder.clone();
        async move { responder.booking(message).await }
    };
    connection.respond(BOOKING_CREATE, handle, too_large(&app), app.stopped()).await;
}

/// Responds whether this booking service has learned of slots.
pub(super) async fn known_slots(app: App, connection: Connection) {
    let handler_app = app.clone();
    let handle = move |message: RequestMessage| {
        let app = handler_app.clone();
        async move {
            let known = match slots(&message.payload) {
                Some(slots) => crate::tee::bookings::are_slots_known(&app, &slots).await.unwrap_or(false),
                None => false,
            };
            Reply { headers: HeaderMap::new(), payload: known.to_string().into() }
        }
    };
    connection.respond(KNOWN_SLOTS, handle, too_large(&app), app.stopped()).await;
}

fn slots(payload: &[u8]) -> Option<Vec<TeeSlotId>> {
    let numbers: Vec<u64> = serde_json::from_slice(payload).ok()?;
    (numbers.len() <= SLOTS_MAX).then(|| numbers.into_iter().map(TeeSlotId::new).collect())?
}

/// Responds to NATS requests with the routes of HTTP.
#[derive(Clone)]
struct Responder {
    app: App,
    router: Arc<Router>,
}

impl Responder {
    fn new(app: &App) -> Self {
        let (router, _) = router::router(app.clone());
        Self { app: app.clone(), router: Arc::new(router) }
    }

    async fn request(&self, role: Role, message: RequestMessage) -> Reply {
        if message.is_too_many {
            return refused(&self.app, &message.headers, &Problem::overloaded());
        }
        if message.headers.get(AUTH) != Some(auth_mode(&self.app)) {
            tracing::error!(
                service = role.as_str(),
                "[Bus] auth is on in one process and off in another; use the same auth settings in both"
            );
            let english = "The service has other auth settings than the process that received the request.";
            return refused(&self.app, &message.headers, &Problem::service_unavailable(role.as_str(), english));
        }
        match read(&message, role) {
            Some(mut request) => {
                // While auth is off, every caller has an admin's permissions.
                if self.app.auth().is_off() && message.headers.get(CALLER) == Some(OPERATOR) {
                    request.extensions_mut().insert(Known(Caller::Admin(Name::Anonymous)));
                }
                self.handle(request).await
            }
            None => refused(&self.app, &message.headers, &Problem::not_found()),
        }
    }

    /// Handles a booking request. A client with access to NATS counts as a service, and books for the user that it names.
    async fn booking(&self, message: RequestMessage) -> Reply {
        #[derive(Deserialize)]
        struct CloudEvent<'a> {
            #[serde(rename = "specversion")]
            _version: &'a str,
            #[serde(borrow)]
            data: &'a RawValue,
        }
        if message.is_too_many {
            return refused(&self.app, &message.headers, &Problem::overloaded());
        }
        let body = match serde_json::from_slice::<CloudEvent<'_>>(&message.payload) {
            Ok(event) => Bytes::copy_from_slice(event.data.get().as_bytes()),
            Err(_) => message.payload.clone(),
        };
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/bookings");
        copy_headers(&message.headers, request.headers_mut());
        request.extensions_mut().insert(Known(Caller::Service(Name::Anonymous)));
        self.handle(request).await
    }

    async fn handle(&self, request: Request<Body>) -> Reply {
        let response = edge::handle_internal(&self.app, (*self.router).clone(), request).await;
        let (parts, body) = response.into_parts();
        match body.collect().await {
            Ok(body) => write(parts.status, &parts.headers, body.to_bytes()),
            Err(_) => refused(&self.app, &Headers::default(), &Problem::internal()),
        }
    }
}

/// Restores the HTTP request; `None` if it is invalid or belongs to another service.
fn read(message: &RequestMessage, role: Role) -> Option<Request<Body>> {
    let mut request = Request::new(Body::from(message.payload.clone()));
    *request.method_mut() = message.headers.get(METHOD)?.parse().ok()?;
    *request.uri_mut() = message.headers.get(TARGET)?.parse().ok()?;
    copy_headers(&message.headers, request.headers_mut());
    (role_of(request.uri()) == Some(role)).then_some(request)
}

fn copy_headers(from: &Headers, to: &mut http::HeaderMap) {
    for name in REQUEST_HEADERS {
        for value in from.get_all(name) {
            if let Ok(value) = HeaderValue::from_str(value) {
                to.append(HeaderName::from_static(name), value);
            }
        }
    }
}

fn refused(app: &App, headers: &Headers, problem: &Problem) -> Reply {
    let mut request_headers = http::HeaderMap::new();
    copy_headers(headers, &mut request_headers);
    let request_id = request_headers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let json = problem.to_json_for(app.language(&request_headers), request_id);
    let mut headers = http::HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    write(problem.status, &headers, json.into())
}

/// Returns the replacement for a reply that exceeds the maximum of NATS.
fn too_large(app: &App) -> impl Fn(usize) -> Reply + Clone + Send + 'static {
    let app = app.clone();
    move |max| {
        let english =
            format!("The answer exceeds the maximum of NATS ({max} bytes); request fewer entries with limit.");
        let korean = "응답이 너무 큽니다. limit으로 나누어 요청해 주세요.";
        let problem = Problem::new(ErrorCode::InternalServerError, korean, english);
        refused(&app, &Headers::default(), &problem)
    }
}

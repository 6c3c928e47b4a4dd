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
use super::{AUTH, BOOKING_CREATE, CALLER, KNOW, METHOD, OPERATOR, TARGET, role_of, subject};
use crate::app::App;
use crate::caller::{Caller, Known, Name};
use crate::problem::Problem;
use crate::roles::Role;
use crate::{edge, router};

/// Answers requests that another process received over HTTP.
pub(super) async fn requests(app: App, connection: Connection, role: Role) {
    let desk = Desk::new(&app);
    let handle = move |asked: RequestMessage| {
        let desk = desk.clone();
        async move { desk.request(role, asked).await }
    };
    connection.answer(&subject(role), handle, too_large(&app), app.stopped()).await;
}

/// Answers `booking.create` of NATS clients: plain JSON or a `CloudEvent`, with the body of `POST /bookings`.
pub(super) async fn bookings(app: App, connection: Connection) {
    let desk = Desk::new(&app);
    let handle = move |asked: RequestMessage| {
        let desk = desk.clone();
        async move { desk.booking(asked).await }
    };
    connection.answer(BOOKING_CREATE, handle, too_large(&app), app.stopped()).await;
}

/// Answers whether this booking service has learned of slots.
pub(super) async fn known(app: App, connection: Connection) {
    let asking = app.clone();
    let handle = move |asked: RequestMessage| {
        let app = asking.clone();
        async move {
            let known = match slots(&asked.payload) {
                Some(slots) => crate::tee::bookings::know(&app, &slots).await.unwrap_or(false),
                None => false,
            };
            Reply { headers: HeaderMap::new(), payload: known.to_string().into() }
        }
    };
    connection.answer(KNOW, handle, too_large(&app), app.stopped()).await;
}

fn slots(payload: &[u8]) -> Option<Vec<TeeSlotId>> {
    let numbers: Vec<u64> = serde_json::from_slice(payload).ok()?;
    (numbers.len() <= SLOTS_MAX).then(|| numbers.into_iter().map(TeeSlotId::new).collect())?
}

/// Responder that answers NATS requests with the routes of HTTP.
#[derive(Clone)]
struct Desk {
    app: App,
    router: Arc<Router>,
}

impl Desk {
    fn new(app: &App) -> Self {
        let (router, _) = router::router(app.clone());
        Self { app: app.clone(), router: Arc::new(router) }
    }

    async fn request(&self, role: Role, asked: RequestMessage) -> Reply {
        if asked.is_too_many {
            return refused(&self.app, &asked.headers, &Problem::overloaded());
        }
        if asked.headers.get(AUTH) != Some(auth_mode(&self.app)) {
            tracing::error!(
                service = role.as_str(),
                "[Bus] auth is on in one process and off in another; use the same auth settings in both"
            );
            let english = "The service has other auth settings than the process that received the request.";
            return refused(&self.app, &asked.headers, &Problem::service_unavailable(role.as_str(), english));
        }
        match read(&asked, role) {
            Some(mut request) => {
                // While auth is off, every caller has an admin's permissions.
                if self.app.auth().is_off() && asked.headers.get(CALLER) == Some(OPERATOR) {
                    request.extensions_mut().insert(Known(Caller::Admin(Name::Anonymous)));
                }
                self.respond(request).await
            }
            None => refused(&self.app, &asked.headers, &Problem::not_found()),
        }
    }

    /// Answers a booking request. A client with access to NATS counts as a service, and books for the user that it names.
    async fn booking(&self, asked: RequestMessage) -> Reply {
        #[derive(Deserialize)]
        struct CloudEvent<'a> {
            #[serde(rename = "specversion")]
            _version: &'a str,
            #[serde(borrow)]
            data: &'a RawValue,
        }
        if asked.is_too_many {
            return refused(&self.app, &asked.headers, &Problem::overloaded());
        }
        let body = match serde_json::from_slice::<CloudEvent<'_>>(&asked.payload) {
            Ok(event) => Bytes::copy_from_slice(event.data.get().as_bytes()),
            Err(_) => asked.payload.clone(),
        };
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/bookings");
        copy_headers(&asked.headers, request.headers_mut());
        request.extensions_mut().insert(Known(Caller::Service(Name::Anonymous)));
        self.respond(request).await
    }

    async fn respond(&self, request: Request<Body>) -> Reply {
        let response = edge::respond(&self.app, (*self.router).clone(), request).await;
        let (parts, body) = response.into_parts();
        match body.collect().await {
            Ok(body) => write(parts.status, &parts.headers, body.to_bytes()),
            Err(_) => refused(&self.app, &Headers::default(), &Problem::internal()),
        }
    }
}

/// Restores the HTTP request; `None` if it is invalid or belongs to another service.
fn read(asked: &RequestMessage, role: Role) -> Option<Request<Body>> {
    let mut request = Request::new(Body::from(asked.payload.clone()));
    *request.method_mut() = asked.headers.get(METHOD)?.parse().ok()?;
    *request.uri_mut() = asked.headers.get(TARGET)?.parse().ok()?;
    copy_headers(&asked.headers, request.headers_mut());
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
    let mut asked = http::HeaderMap::new();
    copy_headers(headers, &mut asked);
    let request_id = asked.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let json = problem.to_json_for(app.language(&asked), request_id);
    let mut headers = http::HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    write(problem.status, &headers, json.into())
}

/// Returns the replacement for an answer that exceeds the maximum of NATS.
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

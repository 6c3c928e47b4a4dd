//! Server-sent events over HTTP: one `CloudEvents` 1.0 JSON per change. [`holdfast_events::stream`] is their source.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use holdfast_api::params::{LastEventHeader, StreamQuery};
use holdfast_core::Fault;
use holdfast_core::webhook::EventTypes;
use holdfast_core::webhook::types::TYPES_MAX;
use holdfast_events::stream::{Filter, Subscription};
use http::{HeaderMap, HeaderValue, header};

use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Params, decimal};

/// Streams changes as they happen. A user receives only their own, an admin all.
#[utoipa::path(get, path = "/v1/stream", tag = "events",
    params(StreamQuery, LastEventHeader),
    responses((status = 200, body = String, content_type = "text/event-stream"),
        (status = 503, description = "`STORE_UNAVAILABLE`")))]
pub async fn listen(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let filter = Filter { owner: caller.listing(params.user()?)?, types: types(&params.read::<StreamQuery>()?)? };
    let over = over(&app, &headers);
    let subscription = Subscription::open(app.events(), filter, resume_point(&headers)?, over).await?;
    let events = stream::unfold(subscription, |mut subscription| async move {
        let frame = subscription.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), subscription))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Waits until the server stops or the client's token expires. The client reconnects with a new token and resumes.
pub(crate) fn over(app: &App, headers: &HeaderMap) -> impl Future<Output = ()> + Send + use<> {
    let (app, valid_for) = (app.clone(), app.auth().valid_for(headers));
    async move {
        match valid_for {
            Some(valid_for) => {
                tokio::time::timeout(valid_for, app.stopped()).await.ok();
            }
            None => app.stopped().await,
        }
    }
}

fn types(query: &StreamQuery) -> Result<EventTypes, Problem> {
    let types = query.types.as_deref().unwrap_or_default().split(',').map(str::trim);
    if types.clone().count() > TYPES_MAX {
        return Err(Problem::invalid("types", &Fault::TooManyItems { max: TYPES_MAX }));
    }
    Ok(EventTypes::any(types.map(str::to_owned)))
}

/// Parses `Last-Event-ID`. `12` and `12.7` both resume after the twelfth durable event.
fn resume_point(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let (durable, rest) = text.split_once('.').map_or((text, None), |(durable, rest)| (durable, Some(rest)));
    let is_known = rest.is_none_or(|rest| rest == "gap" || decimal(rest).is_some());
    let resumed = decimal(durable).filter(|_| is_known);
    resumed.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID", &Fault::Malformed))
}

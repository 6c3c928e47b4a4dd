//! Queue position of a user as server-sent events, an alternative to polling. A connection counts as polling.

use std::pin::Pin;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use holdfast_api::params::{EventPath, UserHeader, UserQuery};
use holdfast_api::queue::PlaceView;
use holdfast_core::id::UserId;
use holdfast_core::ticket::EventId;
use holdfast_waiting_room::Change;
use http::HeaderMap;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::event_id;
use super::queue::{not_stored, place};
use crate::app::App;
use crate::caller::Caller;
use crate::event_stream::over;
use crate::problem::{Language, Problem};
use crate::request::Params;

/// Minimum interval between reads of the position, however fast the queue moves.
const READ_EVERY_MIN: Duration = Duration::from_millis(500);
/// Maximum interval between reads, so that the user keeps the position. The first reads follow each other faster,
/// because a change before the subscription takes effect causes no notification.
const READ_EVERY_MAX: Duration = Duration::from_secs(10);
const FIRST_READ_AFTER: Duration = Duration::from_secs(1);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Streams the queue position of a user whenever it changes. Ends when the user is no longer in the queue.
#[utoipa::path(get, path = "/v1/events/{id}/queue/stream", tag = "queue",
    params(EventPath, UserQuery, UserHeader),
    responses((status = 200, body = String, content_type = "text/event-stream"),
        (status = 404, description = "`EVENT_NOT_FOUND`, `NOT_IN_QUEUE`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn listen(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (id, user) = (event_id(&id)?, caller.acting_for(params.user()?)?);
    let language = app.language(&headers);
    let changes = app.room().subscribe();
    // A user who is not in the queue gets a problem instead of a stream.
    let first = place(&app, id, &user).await?;
    let (sent, next, reads, read_at) = (None, Some(first), 0, Instant::now());
    let over = Box::pin(over(&app, &headers));
    let follower = Follower { app, id, user, language, changes, sent, next, reads, read_at, over };
    let events = stream::unfold(Some(follower), |follower| async {
        let mut follower = follower?;
        match follower.next().await {
            Some(Update::Place(event)) => Some((Ok::<_, std::convert::Infallible>(event), Some(follower))),
            Some(Update::Last(event)) => Some((Ok(event), None)),
            None => None,
        }
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_EVERY)).into_response();
    response.headers_mut().insert("x-accel-buffering", http::HeaderValue::from_static("no"));
    Ok(not_stored(response))
}

/// Stream of one client.
struct Follower {
    app: App,
    id: EventId,
    user: UserId,
    language: Language,
    changes: broadcast::Receiver<Change>,
    sent: Option<PlaceView>,
    next: Option<PlaceView>,
    /// Number of reads so far.
    reads: u32,
    read_at: Instant,
    /// Resolves when the stream must end.
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum Update {
    Place(Event),
    Last(Event),
}

impl Follower {
    /// Returns the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(place) = self.next.take().filter(|place| self.sent.as_ref() != Some(place)) {
                let event = Event::default().event("place").json_data(&place).expect("wire types serialize to JSON");
                self.sent = Some(place);
                return Some(Update::Place(event));
            }
            let wait_max = READ_EVERY_MAX.min(FIRST_READ_AFTER * 2_u32.saturating_pow(self.reads.min(8)));
            tokio::select! {
                () = &mut self.over => return None,
                () = moved(&mut self.changes, self.id, self.read_at) => {}
                () = tokio::time::sleep_until(self.read_at + wait_max) => {}
            }
            (self.reads, self.read_at) = (self.reads.saturating_add(1), Instant::now());
            match place(&self.app, self.id, &self.user).await {
                Ok(place) => self.next = Some(place),
                Err(problem) => {
                    let event = Event::default().event("end").json_data(problem.to_json(self.language));
                    return Some(Update::Last(event.expect("wire types serialize to JSON")));
                }
            }
        }
    }
}

/// Waits until the queue has moved and the minimum interval has passed.
async fn moved(changes: &mut broadcast::Receiver<Change>, id: EventId, read_at: Instant) {
    loop {
        match changes.recv().await {
            Ok(Change::Moved { event } | Change::Admitted { event, .. }) if event.0 != id.get() => {}
            // A lagging receiver may have missed this queue, so it reads.
            Ok(_) | Err(RecvError::Lagged(_)) => break,
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
    tokio::time::sleep_until(read_at + READ_EVERY_MIN).await;
}

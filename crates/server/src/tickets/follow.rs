//! One's place in line as server-sent events, for those who would rather not poll. Being connected counts as polling.

use std::pin::Pin;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
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
use crate::problem::{Language, Problem};
use crate::request::Params;
use crate::stream::over;
use crate::wire::queue::PlaceView;

/// However fast the line moves, each listener looks no more often.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(500);
/// Looks at least so often, so that the place is kept. Sooner in the beginning: what moves before the first word of it can
/// arrive would be missed.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(10);
const FIRST_LOOK_AFTER: Duration = Duration::from_secs(1);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Where one stands, as it changes. Ends when one is no longer in line.
#[utoipa::path(get, path = "/v1/events/{id}/queue/stream", tag = "queue",
    params(("id" = u64, Path, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("X-User-Id" = Option<u64>, Header, minimum = 1, maximum = 9_007_199_254_740_991_u64),
        ("userId" = Option<u64>, Query, minimum = 1, maximum = 9_007_199_254_740_991_u64)),
    responses((status = 200, body = String, content_type = "text/event-stream"),
        (status = 404, description = "`EVENT_NOT_FOUND`, `NOT_IN_QUEUE`"),
        (status = 409, description = "`QUEUE_DISABLED`")))]
pub async fn listen(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (id, user) = (event_id(&id)?, caller.acting_for(params.user()?)?);
    let language = Language::asked_for(&headers);
    let changes = app.room().subscribe();
    // Whoever is not in line is told so at once, as a problem.
    let first = place(&app, id, user).await?;
    let (told, next, looks, looked_at) = (None, Some(first), 0, Instant::now());
    let over = Box::pin(over(&app, &headers));
    let follower = Follower { app, id, user, language, changes, told, next, looks, looked_at, over };
    let events = stream::unfold(Some(follower), |follower| async {
        let mut follower = follower?;
        match follower.next().await {
            Some(Told::Place(event)) => Some((Ok::<_, std::convert::Infallible>(event), Some(follower))),
            Some(Told::Last(event)) => Some((Ok(event), None)),
            None => None,
        }
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_EVERY)).into_response();
    response.headers_mut().insert("x-accel-buffering", http::HeaderValue::from_static("no"));
    Ok(not_stored(response))
}

struct Follower {
    app: App,
    id: EventId,
    user: UserId,
    language: Language,
    changes: broadcast::Receiver<Change>,
    told: Option<PlaceView>,
    next: Option<PlaceView>,
    /// How often it has looked.
    looks: u32,
    looked_at: Instant,
    /// Resolves when nothing is to be told any more.
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum Told {
    Place(Event),
    Last(Event),
}

impl Follower {
    /// The next thing to tell; `None` when it is over.
    async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some(place) = self.next.take().filter(|place| self.told.as_ref() != Some(place)) {
                let event = Event::default().event("place").json_data(&place).expect("wire types can be written");
                self.told = Some(place);
                return Some(Told::Place(event));
            }
            let at_the_latest = LOOK_EVERY_MAX.min(FIRST_LOOK_AFTER * 2_u32.saturating_pow(self.looks.min(8)));
            tokio::select! {
                () = &mut self.over => return None,
                () = moved(&mut self.changes, self.id, self.looked_at) => {}
                () = tokio::time::sleep_until(self.looked_at + at_the_latest) => {}
            }
            (self.looks, self.looked_at) = (self.looks.saturating_add(1), Instant::now());
            match place(&self.app, self.id, self.user).await {
                Ok(place) => self.next = Some(place),
                Err(problem) => {
                    let event = Event::default().event("end").json_data(problem.to_json(self.language));
                    return Some(Told::Last(event.expect("wire types can be written")));
                }
            }
        }
    }
}

/// Waits until the line has moved, and long enough for another look.
async fn moved(changes: &mut broadcast::Receiver<Change>, id: EventId, looked_at: Instant) {
    loop {
        match changes.recv().await {
            Ok(Change::Moved { event } | Change::Admitted { event, .. }) if event.0 != id.get() => {}
            // One who lags has missed some, and looks.
            Ok(_) | Err(RecvError::Lagged(_)) => break,
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
    tokio::time::sleep_until(looked_at + LOOK_EVERY_MIN).await;
}

//! Live pages. All subscribers of a view share one computation, and receive the parts that have changed. A view is not
//! computed without subscribers, nor while its data is unchanged.
//!
//! Views are computed one at a time with a pause in between, regardless of their number, so that the console uses only a small
//! part of one core.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Limited};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::Console;
use super::api_reader::{ApiReader, ErrorResponse};
use super::broadcast::{Listener, event};
use super::session::Session;
use super::texts;
use super::views::{self, Snapshot, View};
use holdfast_events::activity::Changes;
use holdfast_server::caller::Caller;
use holdfast_server::problem::{Language, Problem};

/// Interval at which changes are detected.
const DETECT_EVERY: Duration = Duration::from_millis(150);
/// Minimum interval between two computations of one view.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// Pause after a computation, as a multiple of its duration, up to [`REST_MAX`].
const REST: u32 = 10;
const REST_MAX: Duration = Duration::from_secs(2);
/// Interval of recomputation if there are other servers, whose holds this process cannot observe.
const OTHERS_EVERY: Duration = Duration::from_secs(3);
/// Delay of an additional computation after a change, for views of events that are still being published.
const RECOMPUTE_AFTER: Duration = Duration::from_secs(2);
/// Time after which a view without subscribers is evicted.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// Maximum number of events that a subscriber may lag behind before all parts are sent again.
const BACKLOG: usize = 8;
const REASON_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub struct Live {
    shared: Mutex<Shared>,
    changes: watch::Sender<Changes>,
    /// Permit to compute a view.
    turn: Semaphore,
}

#[derive(Debug, Default)]
struct Shared {
    looked_at: HashMap<Key, Arc<ViewSnapshot>>,
    is_watching: bool,
}

/// Key of a view. The language is that of error messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    view: View,
    is_korean: bool,
}

impl Key {
    fn language(&self) -> Language {
        if self.is_korean { Language::Korean } else { Language::English }
    }
}

/// A view with subscribers, and the snapshot of its last computation.
#[derive(Debug)]
struct ViewSnapshot {
    tell: broadcast::Sender<Bytes>,
    state: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// JSON of each part. Empty before the first computation and after a failed one.
    parts: BTreeMap<String, Arc<str>>,
    failed: Option<Bytes>,
    /// Caller of the latest subscriber, in whose name the view is computed.
    caller: Caller,
    headers: HeaderMap,
}

impl Default for Live {
    fn default() -> Self {
        Self { shared: Mutex::default(), changes: watch::Sender::default(), turn: Semaphore::new(1) }
    }
}

/// `GET /console/live/{section}`: server-sent events. `parts` has the parts of the page that are new or have changed, `null`
/// for those removed; `failed` is the reason why the page cannot be shown.
pub async fn listen(
    State(console): State<Console>,
    Path(section): Path<String>,
    Query(params): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let session = Session::of(&console, &headers)?;
    let view = View::read(&section, &params).ok_or_else(Problem::not_found)?;
    let key = Key { view, is_korean: texts::language(&headers) == Language::Korean };
    let (scene, published, first) = console.live.join(&console, key, session.caller, headers);
    let catch_up = move |published: &mut broadcast::Receiver<Bytes>| {
        let (again, whole) = scene.look();
        *published = again;
        whole
    };
    Ok(Listener { console, first, published, signed_in: session.signed_in, catch_up }.response())
}

impl Live {
    fn join(
        &self,
        console: &Console,
        key: Key,
        caller: Caller,
        headers: HeaderMap,
    ) -> (Arc<ViewSnapshot>, broadcast::Receiver<Bytes>, Option<Bytes>) {
        let mut shared = self.shared();
        if !shared.is_watching {
            shared.is_watching = true;
            console.app.spawn(watch(console.clone()));
        }
        let scene = if let Some(scene) = shared.looked_at.get(&key) {
            scene.clone()
        } else {
            let state =
                Seen { parts: BTreeMap::new(), failed: None, caller: caller.clone(), headers: HeaderMap::new() };
            let scene = Arc::new(ViewSnapshot { tell: broadcast::Sender::new(BACKLOG), state: Mutex::new(state) });
            shared.looked_at.insert(key.clone(), scene.clone());
            console.app.spawn(show(console.clone(), key, scene.clone()));
            scene
        };
        {
            let mut state = scene.state();
            (state.caller, state.headers) = (caller, headers);
        }
        let (published, first) = scene.look();
        (scene, published, first)
    }

    /// Whether a view has no subscribers left. Then it is evicted.
    fn is_over(&self, key: &Key, scene: &ViewSnapshot) -> bool {
        let mut shared = self.shared();
        let is_over = scene.tell.receiver_count() == 0;
        if is_over {
            shared.looked_at.remove(key);
        }
        is_over
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }
}

/// Signals changes to the views until there is none left.
async fn watch(console: Console) {
    loop {
        tokio::select! {
            () = console.app.stopped() => return,
            () = sleep(DETECT_EVERY) => {}
        }
        {
            let mut shared = console.live.shared();
            if shared.looked_at.is_empty() {
                shared.is_watching = false;
                return;
            }
        }
        let now = console.app.stream().activity().changes();
        console.live.changes.send_if_modified(|known| std::mem::replace(known, now) != now);
    }
}

/// Computes one view whenever it may have changed, until it has no subscribers left.
async fn show(console: Console, key: Key, scene: Arc<ViewSnapshot>) {
    let mut changes = console.live.changes.subscribe();
    let computed = metrics::counter!("holdfast_console_views_computed_total");
    let (mut is_first, mut has_changed) = (true, false);
    loop {
        let Ok(turn) = console.live.turn.acquire().await else { return };
        if console.live.is_over(&key, &scene) {
            return;
        }
        let (began, before) = (Instant::now(), console.app.stream().activity().changes());
        let (caller, headers) = {
            let state = scene.state();
            (state.caller.clone(), state.headers.clone())
        };
        let picture =
            views::compute(ApiReader { console: &console, caller: &caller, headers: &headers }, &key.view).await;
        computed.increment(1);
        let mut look_again = picture.as_ref().map_or(Some(RECOMPUTE_AFTER), |picture| picture.look_again);
        scene.tell(picture, key.language()).await;
        // The first computation skips the pause, so that a newly opened page does not wait behind other views.
        if !std::mem::take(&mut is_first) {
            sleep((began.elapsed() * REST).min(REST_MAX)).await;
        }
        drop(turn);
        if console.app.store().is_split() {
            look_again = Some(look_again.map_or(OTHERS_EVERY, |sooner| sooner.min(OTHERS_EVERY)));
        }
        if has_changed && key.view.is_of_what_is_on_its_way() {
            look_again = look_again.or(Some(RECOMPUTE_AFTER));
        }
        sleep_until(began + AT_MOST_EVERY).await;
        let mut due = Instant::now() + look_again.unwrap_or(KEPT_FOR);
        has_changed = loop {
            let is_news = |now: &Changes| key.view.follows().iter().any(|part| now[*part] > before[*part]);
            tokio::select! {
                () = console.app.stopped() => return,
                _ = changes.wait_for(is_news) => break true,
                () = sleep_until(due) => {
                    if console.live.is_over(&key, &scene) {
                        return;
                    }
                    if look_again.is_some() {
                        break false;
                    }
                    due += KEPT_FOR;
                }
            }
        };
    }
}

impl ViewSnapshot {
    /// Returns a receiver of later events, and the current state as an event if there is one.
    fn look(&self) -> (broadcast::Receiver<Bytes>, Option<Bytes>) {
        let state = self.state();
        let whole = (!state.parts.is_empty()).then(|| parts_event(&state.parts));
        (self.tell.subscribe(), whole.or_else(|| state.failed.clone()))
    }

    /// Sends the changed parts to the subscribers.
    async fn tell(&self, picture: Result<Snapshot, ErrorResponse>, language: Language) {
        match picture {
            Ok(picture) => {
                let mut state = self.state();
                let now: BTreeMap<String, Arc<str>> =
                    picture.parts.into_iter().map(|(name, part)| (name, part.to_string().into())).collect();
                let mut different: BTreeMap<String, Arc<str>> =
                    now.iter().filter(|(name, part)| state.parts.get(*name) != Some(*part)).map(cloned).collect();
                let gone = state.parts.keys().filter(|name| !now.contains_key(*name));
                different.extend(gone.map(|name| (name.clone(), "null".into())));
                (state.parts, state.failed) = (now, None);
                if !different.is_empty() {
                    self.tell.send(parts_event(&different)).ok();
                }
            }
            Err(refusal) => {
                let failed = event("failed", &reason(*refusal, language).await.to_string());
                let mut state = self.state();
                (state.parts, state.failed) = (BTreeMap::new(), Some(failed.clone()));
                self.tell.send(failed).ok();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, Seen> {
        self.state.lock()
    }
}

fn cloned((name, part): (&String, &Arc<str>)) -> (String, Arc<str>) {
    (name.clone(), part.clone())
}

fn parts_event(parts: &BTreeMap<String, Arc<str>>) -> Bytes {
    let members: Vec<String> = parts.iter().map(|(name, part)| format!("{}:{part}", Value::from(&**name))).collect();
    event("parts", &format!("{{{}}}", members.join(",")))
}

/// Returns the error of the API. One of this process is not rendered yet, one of another process is.
async fn reason(refusal: Response, language: Language) -> Value {
    if let Some(problem) = refusal.extensions().get::<Problem>() {
        return Value::Object(problem.to_json(language));
    }
    let status = refusal.status().as_u16();
    let body = Limited::new(refusal.into_body(), REASON_BYTES_MAX).collect().await.ok();
    let problem: Option<Value> = body.and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
    problem.unwrap_or_else(|| json!({ "status": status }))
}

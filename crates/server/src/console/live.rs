//! Pages that change by themselves. All who look at the same thing share one computation, and hear of what became different
//! since. Nothing is computed for a page that nobody looks at, nor while nothing happens.
//!
//! However many different things are looked at, they are computed one at a time, with a rest in between: looking never takes
//! more than a small part of one core from those who book.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::Console;
use super::ask::{Ask, Refusal};
use super::fan::{Listener, event};
use super::session::Session;
use super::texts;
use super::views::{self, Picture, View};
use crate::caller::Caller;
use crate::problem::{Language, Problem};
use crate::pulse::Changes;

/// How soon a change is noticed.
const NOTICED_WITHIN: Duration = Duration::from_millis(150);
/// How often a thing is computed at most.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// After a computation, so many times as long nothing is computed; but no longer than this.
const REST: u32 = 10;
const REST_MAX: Duration = Duration::from_secs(2);
/// What other servers hold makes no sound here: where there are others, one looks again.
const OTHERS_EVERY: Duration = Duration::from_secs(3);
/// After a change of what is on its way: how long until it may have arrived.
const ARRIVED_WITHIN: Duration = Duration::from_secs(2);
/// How long a view is kept that nobody looks at.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// How far somebody may fall behind before being told everything again.
const BACKLOG: usize = 8;
const REASON_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub struct Live {
    shared: Mutex<Shared>,
    changes: watch::Sender<Changes>,
    /// Who may compute.
    turn: Semaphore,
}

#[derive(Debug, Default)]
struct Shared {
    looked_at: HashMap<Key, Arc<Scene>>,
    is_watching: bool,
}

/// What is looked at. The language is that of refusals.
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

/// Something that is looked at, as it was last.
#[derive(Debug)]
struct Scene {
    tell: broadcast::Sender<Bytes>,
    state: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// JSON of each part. None, before it was computed for the first time or after it could not be.
    parts: BTreeMap<String, Arc<str>>,
    failed: Option<Bytes>,
    /// How the last one who came asks.
    caller: Caller,
    headers: HeaderMap,
}

impl Default for Live {
    fn default() -> Self {
        Self { shared: Mutex::default(), changes: watch::Sender::default(), turn: Semaphore::new(1) }
    }
}

/// `GET /console/live/{section}`: server-sent events. `parts` has the parts of the page that are new or different, `null` for
/// those that are gone; `failed` says why there is nothing to show.
pub async fn listen(
    State(console): State<Console>,
    Path(section): Path<String>,
    Query(params): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let session = Session::of(&console, &headers)?;
    let view = View::read(&section, &params).ok_or_else(Problem::not_found)?;
    let key = Key { view, is_korean: texts::language(&headers) == Language::Korean };
    let (scene, told, first) = console.live.join(&console, key, session.caller, headers);
    let catch_up = move |told: &mut broadcast::Receiver<Bytes>| {
        let (again, whole) = scene.look();
        *told = again;
        whole
    };
    Ok(Listener { console, first, told, signed_in: session.signed_in, catch_up }.response())
}

impl Live {
    fn join(
        &self,
        console: &Console,
        key: Key,
        caller: Caller,
        headers: HeaderMap,
    ) -> (Arc<Scene>, broadcast::Receiver<Bytes>, Option<Bytes>) {
        let mut shared = self.shared();
        if !shared.is_watching {
            shared.is_watching = true;
            console.app.spawn(watch(console.clone()));
        }
        let scene = if let Some(scene) = shared.looked_at.get(&key) {
            scene.clone()
        } else {
            let state = Seen { parts: BTreeMap::new(), failed: None, caller, headers: HeaderMap::new() };
            let scene = Arc::new(Scene { tell: broadcast::Sender::new(BACKLOG), state: Mutex::new(state) });
            shared.looked_at.insert(key.clone(), scene.clone());
            console.app.spawn(show(console.clone(), key, scene.clone()));
            scene
        };
        {
            let mut state = scene.state();
            (state.caller, state.headers) = (caller, headers);
        }
        let (told, first) = scene.look();
        (scene, told, first)
    }

    /// Whether nobody looks at it any more. Then it is forgotten.
    fn is_over(&self, key: &Key, scene: &Scene) -> bool {
        let mut shared = self.shared();
        let is_over = scene.tell.receiver_count() == 0;
        if is_over {
            shared.looked_at.remove(key);
        }
        is_over
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells what changed, as long as anything is looked at.
async fn watch(console: Console) {
    loop {
        tokio::select! {
            () = console.app.stopped() => return,
            () = sleep(NOTICED_WITHIN) => {}
        }
        {
            let mut shared = console.live.shared();
            if shared.looked_at.is_empty() {
                shared.is_watching = false;
                return;
            }
        }
        let now = console.app.stream().pulse().changes();
        console.live.changes.send_if_modified(|known| std::mem::replace(known, now) != now);
    }
}

/// Computes one thing whenever it may have become different, until nobody looks at it any more.
async fn show(console: Console, key: Key, scene: Arc<Scene>) {
    let mut changes = console.live.changes.subscribe();
    let computed = metrics::counter!("holdfast_console_views_total");
    let (mut is_first, mut has_changed) = (true, false);
    loop {
        let Ok(turn) = console.live.turn.acquire().await else { return };
        if console.live.is_over(&key, &scene) {
            return;
        }
        let (began, before) = (Instant::now(), console.app.stream().pulse().changes());
        let (caller, headers) = {
            let state = scene.state();
            (state.caller, state.headers.clone())
        };
        let picture = views::compute(Ask { console: &console, caller, headers: &headers }, &key.view).await;
        computed.increment(1);
        let mut look_again = picture.as_ref().map_or(Some(ARRIVED_WITHIN), |picture| picture.look_again);
        scene.tell(picture, key.language()).await;
        // Who opens a page does not wait for those before.
        if !std::mem::take(&mut is_first) {
            sleep((began.elapsed() * REST).min(REST_MAX)).await;
        }
        drop(turn);
        if console.app.store().is_split() {
            look_again = Some(look_again.map_or(OTHERS_EVERY, |sooner| sooner.min(OTHERS_EVERY)));
        }
        if has_changed && key.view.is_of_what_is_on_its_way() {
            look_again = look_again.or(Some(ARRIVED_WITHIN));
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

impl Scene {
    /// What there is to see now, if there is anything, and how to hear of what comes next.
    fn look(&self) -> (broadcast::Receiver<Bytes>, Option<Bytes>) {
        let state = self.state();
        let whole = (!state.parts.is_empty()).then(|| parts_event(&state.parts));
        (self.tell.subscribe(), whole.or_else(|| state.failed.clone()))
    }

    /// Tells those who look what has become different.
    async fn tell(&self, picture: Result<Picture, Refusal>, language: Language) {
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cloned((name, part): (&String, &Arc<str>)) -> (String, Arc<str>) {
    (name.clone(), part.clone())
}

fn parts_event(parts: &BTreeMap<String, Arc<str>>) -> Bytes {
    let members: Vec<String> = parts.iter().map(|(name, part)| format!("{}:{part}", Value::from(&**name))).collect();
    event("parts", &format!("{{{}}}", members.join(",")))
}

/// What the API had to say. A problem of this process is not written yet, one of another is.
async fn reason(refusal: Response, language: Language) -> Value {
    if let Some(problem) = refusal.extensions().get::<Problem>() {
        return Value::Object(problem.to_json(language));
    }
    let status = refusal.status().as_u16();
    let body = Limited::new(refusal.into_body(), REASON_BYTES_MAX).collect().await.ok();
    let problem: Option<Value> = body.and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
    problem.unwrap_or_else(|| json!({ "status": status }))
}

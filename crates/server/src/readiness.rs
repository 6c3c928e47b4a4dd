//! Readiness: whether this server can do its work. The store is probed in the background, so that a readiness check never
//! waits for it.

use std::time::Duration;

use holdfast_engine::Store;
use parking_lot::Mutex;

use crate::app::App;
use crate::roles::Roles;

/// Pause between the end of one probe of the store and the start of the next.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// Time within which the store must answer a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Outcome of the last probe.
#[derive(Debug)]
pub struct Probed {
    /// Fault of the store, if it has one.
    store: Mutex<Option<String>>,
}

impl Probed {
    /// Probes a store for the first time.
    pub async fn first(store: &dyn Store) -> Self {
        let checked = tokio::time::timeout(PROBE_TIMEOUT, store.check()).await;
        let probed = Self { store: Mutex::default() };
        probed.set(checked.map_or_else(|_| Some(no_answer()), fault));
        probed
    }

    fn store(&self) -> Option<String> {
        self.store.lock().clone()
    }

    fn set(&self, store: Option<String>) {
        let last = std::mem::replace(&mut *self.store.lock(), store.clone());
        match store {
            Some(fault) if last.as_ref() != Some(&fault) => tracing::error!(fault, "the store is unavailable"),
            None if last.is_some() => tracing::info!("the store is available again"),
            _ => {}
        }
    }
}

/// Summary of a server's readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ready,
    /// All parts work except optional ones.
    Degraded,
    Unavailable,
}

/// State of a server, and the fault of each part that has one.
#[derive(Debug)]
pub struct Readiness {
    pub status: Status,
    pub store: Option<String>,
    pub bus: Option<String>,
    pub waiting_room: Option<String>,
}

impl Readiness {
    /// Returns the present state, without waiting.
    pub fn of(app: &App) -> Self {
        let engine = (!app.engine().is_alive()).then(|| "the engine has stopped".to_owned());
        let store = app.probed().store().or(engine);
        let bus = app.bus().and_then(|bus| fault(bus.check()));
        let waiting_room = fault(app.room().check());
        // A process with all roles needs the bus only for messages, which wait in the outbox. Any other process needs it to
        // reach services, or to be reached.
        let is_bus_required = app.roles() != Roles::ALL;
        let status = if app.is_stopping() || store.is_some() || (is_bus_required && bus.is_some()) {
            Status::Unavailable
        } else if bus.is_some() || waiting_room.is_some() {
            Status::Degraded
        } else {
            Status::Ready
        };
        Self { status, store, bus, waiting_room }
    }
}

/// Probes the store until the app stops, one probe at a time.
pub async fn run(app: App) {
    loop {
        tokio::select! {
            () = app.stopped() => return,
            () = tokio::time::sleep(PROBE_EVERY) => {}
        }
        let probing = app.clone();
        let mut probe = tokio::spawn(async move { fault(probing.store().check().await) });
        let probed = match tokio::time::timeout(PROBE_TIMEOUT, &mut probe).await {
            Ok(probed) => probed,
            Err(_) => {
                app.probed().set(Some(no_answer()));
                tokio::select! {
                    () = app.stopped() => return probe.abort(),
                    probed = &mut probe => probed,
                }
            }
        };
        app.probed().set(probed.unwrap_or_else(|error| Some(error.to_string())));
    }
}

fn fault<E: std::error::Error>(checked: Result<(), E>) -> Option<String> {
    checked.err().map(|error| error.to_string())
}

fn no_answer() -> String {
    format!("the store did not answer within {PROBE_TIMEOUT:?}")
}

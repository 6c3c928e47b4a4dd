//! Readiness: whether this server can do its work. The store is probed in the background, so that an answer never waits for
//! it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdfast_engine::Store;

use crate::app::App;
use crate::roles::Roles;

/// Time between two probes of the store, after the first has ended.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// Time within which a store has to answer a probe.
const PROBE_WITHIN: Duration = Duration::from_secs(2);

/// The outcome of the last probe.
#[derive(Debug)]
pub struct Probed {
    /// Why the store cannot be used, if so.
    store: Mutex<Option<String>>,
}

impl Probed {
    /// Probes a store for the first time.
    pub async fn first(store: &dyn Store) -> Self {
        let checked = tokio::time::timeout(PROBE_WITHIN, store.check()).await;
        let probed = Self { store: Mutex::default() };
        probed.set(checked.map_or_else(|_| Some(no_answer()), fault));
        probed
    }

    fn store(&self) -> Option<String> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, store: Option<String>) {
        let last = std::mem::replace(&mut *self.store.lock().unwrap_or_else(PoisonError::into_inner), store.clone());
        match store {
            Some(fault) if last.as_ref() != Some(&fault) => tracing::error!(fault, "the store cannot be used"),
            None if last.is_some() => tracing::info!("the store can be used again"),
            _ => {}
        }
    }
}

/// What of a server works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ready,
    /// All but optional parts.
    Degraded,
    Unavailable,
}

/// The state of a server, and the fault of each part that has one.
#[derive(Debug)]
pub struct Readiness {
    pub status: Status,
    pub store: Option<String>,
    pub bus: Option<String>,
    pub waiting_room: Option<String>,
}

impl Readiness {
    /// The present state, without waiting for anything.
    pub fn of(app: &App) -> Self {
        let engine = (!app.engine().is_alive()).then(|| "the engine has stopped".to_owned());
        let store = app.probed().store().or(engine);
        let bus = app.bus().and_then(|bus| fault(bus.check()));
        let waiting_room = fault(app.room().check());
        // A process with all roles needs the bus for messages only, which wait in the outbox. Any other one reaches services
        // over it, or is reached.
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
        let probed = match tokio::time::timeout(PROBE_WITHIN, &mut probe).await {
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
    format!("the store did not answer within {PROBE_WITHIN:?}")
}

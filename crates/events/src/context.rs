//! State shared by the relay, the inbox, webhooks and the event stream.

use std::sync::Arc;

use holdfast_core::schema::{List, Record};
use holdfast_core::{self as core, Decision, WorkingSet};
use holdfast_engine::ids::IdMaker;
use holdfast_engine::{Engine, Refused, Store};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::nats::Connection;
use crate::relay::{InFlight, Leases};
use crate::stream::Stream;
use crate::webhooks::WakeUps;

/// Handle to the shared state. Cheap to clone; every job has one.
#[derive(Clone, Debug)]
pub struct Context {
    shared: Arc<Shared>,
}

struct Shared {
    stream: Arc<Stream>,
    ids: IdMaker,
    /// Connection to services in other processes, if there are any.
    bus: Option<Connection>,
    installation: String,
    leases: Leases,
    in_flight: InFlight,
    webhooks: WakeUps,
    stopping: watch::Sender<bool>,
    /// Runtime on which the context was created. It runs work that no connection waits for.
    runtime: Handle,
    /// The last field, and so dropped last: once its thread is joined, the store may be reopened.
    engine: Engine,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Context {
    /// Creates the context of a server process. `stream` must be the event sink of `engine`. Must be called on a runtime.
    pub fn new(
        engine: Engine,
        stream: Arc<Stream>,
        ids: IdMaker,
        bus: Option<Connection>,
        installation: String,
    ) -> Self {
        let leases = Leases::new(ids.number() >> 11);
        let shared = Shared {
            stream,
            ids,
            bus,
            installation,
            leases,
            in_flight: InFlight::default(),
            webhooks: WakeUps::default(),
            stopping: watch::Sender::new(false),
            runtime: Handle::current(),
            engine,
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    pub fn store(&self) -> &dyn Store {
        self.shared.engine.store()
    }

    pub fn stream(&self) -> &Arc<Stream> {
        &self.shared.stream
    }

    pub fn ids(&self) -> &IdMaker {
        &self.shared.ids
    }

    pub fn bus(&self) -> Option<&Connection> {
        self.shared.bus.as_ref()
    }

    /// Random id of the store.
    pub fn installation(&self) -> &str {
        &self.shared.installation
    }

    /// Partitions of the outbox that this server may publish.
    pub fn leases(&self) -> &Leases {
        &self.shared.leases
    }

    /// Events that this server is publishing at present.
    pub fn in_flight(&self) -> &InFlight {
        &self.shared.in_flight
    }

    /// Wake-ups of the webhook workers.
    pub fn webhooks(&self) -> &WakeUps {
        &self.shared.webhooks
    }

    /// Evaluates a query on committed state.
    pub async fn query<T>(
        &self,
        query: impl FnMut(&mut WorkingSet, &core::Context<'_>) -> Decision<T>,
    ) -> Result<T, Refused> {
        self.shared.engine.query(query).await
    }

    /// Returns the records of a list.
    pub async fn list<R: Record>(&self, list: List) -> Result<Vec<R>, Refused> {
        Ok(holdfast_engine::store::list(self.store(), list).await?)
    }

    /// Returns the records of a list, each with its key.
    pub async fn list_with_keys<R: Record>(&self, list: List) -> Result<Vec<(R::Key, R)>, Refused> {
        let listed = self.store().list(list).await?;
        listed.into_iter().map(|row| row.read::<R>().ok_or(Refused::Internal)).collect()
    }

    /// Runs work that outlives the request which started it, and not on a thread that drives connections.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.shared.runtime.spawn(work)
    }

    /// Stops the jobs and the open event streams.
    pub fn stop(&self) {
        self.shared.stopping.send_replace(true);
    }

    pub async fn stopped(&self) {
        // The sender is part of `self`, so the wait cannot fail.
        self.shared.stopping.subscribe().wait_for(|stopping| *stopping).await.ok();
    }

    pub fn is_stopping(&self) -> bool {
        *self.shared.stopping.borrow()
    }
}

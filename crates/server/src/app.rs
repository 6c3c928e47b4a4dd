//! State shared by all handlers; starts and stops the engine and the background jobs.

mod commands;
mod jobs;
mod reply;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use holdfast_core::id::UserId;
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::schema::{List, Record};
use holdfast_core::ticket::EventId;
use holdfast_core::{Context, Decision, WorkingSet};
use holdfast_engine::store::Keep;
use holdfast_engine::{Engine, IdMaker, Store};
use holdfast_events::nats::Connection;
use holdfast_events::relay::InFlight;
use holdfast_events::stream::Stream;
use holdfast_events::webhooks::WakeUps;
use holdfast_events::webhooks::target::AllowedAddresses;
use holdfast_waiting_room::WaitingRoom;
use http::HeaderMap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;

pub use self::reply::{REPLAYED, Reply};
use crate::answer_backpressure::UnreadAnswers;
use crate::calendar;
use crate::caller::Auth;
use crate::config::Config;
use crate::keyed_mutex::KeyedMutex;
use crate::ops;
use crate::problem::{Language, Problem};
use crate::readiness::{self, Probed};
use crate::record_quota::RecordQuota;
use crate::roles::{Role, Roles};
use crate::tee;
use crate::tickets::queue_gate::GateCache;

/// Handle to the shared state. Cheap to clone; every handler has one.
#[derive(Clone, Debug)]
pub struct App {
    shared: Arc<Shared>,
}

struct Shared {
    auth: Auth,
    metrics: PrometheusHandle,
    request_seconds: metrics::Histogram,
    /// Language of errors for requests without `Accept-Language`.
    language: Language,
    /// Permits for generating many slots at once.
    generations: Arc<Semaphore>,
    generate_wait: Duration,
    room: Arc<dyn WaitingRoom>,
    gate_cache: GateCache,
    webhook_addresses: AllowedAddresses,
    roles: Roles,
    keep: Keep,
    probed: Probed,
    keys_in_use: KeyedMutex<IdempotencyRecordId>,
    record_quota: RecordQuota,
    unread: UnreadAnswers,
    entries_in_use: KeyedMutex<(EventId, UserId)>,
    /// The last field, and so dropped last: once its thread is joined, the store and the waiting room may be reopened.
    events: holdfast_events::Context,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("events", &self.events).field("auth", &self.auth).finish_non_exhaustive()
    }
}

/// Parts from which an [`App`] is built.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub room: Arc<dyn WaitingRoom>,
    pub ids: IdMaker,
    /// Connection to services in other processes, if there are any.
    pub bus: Option<Connection>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// Reason why an app could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Setting(String),
    #[error("cannot start the engine: {0}")]
    Engine(#[from] std::io::Error),
    #[error("{0}")]
    Store(#[from] holdfast_engine::StoreError),
}

/// Time to wait for NATS before starting without it.
const BUS_START_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of requests that generate slots in the background.
const GENERATIONS_AT_ONCE_MAX: usize = 4;
/// Maximum time that a further such request waits for a permit.
const GENERATION_WAIT_MAX: Duration = Duration::from_secs(2);

impl App {
    /// Starts the engine and the jobs. Joining the thread after the last `App` is dropped waits until all writes are done.
    pub async fn start(config: &Config, parts: Parts) -> Result<(Self, JoinHandle<()>), StartError> {
        let metrics = ops::metrics_handle();
        let auth = Auth::from_config(&config.auth).map_err(StartError::Setting)?;
        let probed = Probed::first(&*parts.store).await;
        let first_ephemeral = parts.ids.number() >> 16;
        let installation = parts.store.installation().await?;
        let stream = Stream::new(parts.store.outbox_last().await?, first_ephemeral, parts.store.is_split());
        let stream = Arc::new(stream.with_settings(&config.events.source, config.stream.keep));
        let (engine, thread) = Engine::start(parts.store, stream.clone(), config.engine_settings())?;
        let events = holdfast_events::Context::new(engine, stream, parts.ids, parts.bus, installation);
        let shared = Shared {
            auth,
            request_seconds: metrics::histogram!("holdfast_http_request_seconds"),
            metrics,
            language: config.server.language,
            generations: Arc::new(Semaphore::new(GENERATIONS_AT_ONCE_MAX)),
            generate_wait: config.calendar.generate_wait,
            room: parts.room,
            gate_cache: GateCache::default(),
            webhook_addresses: AllowedAddresses::new(config.auth_is_off(), &config.webhook.allow_networks),
            roles: config.roles(),
            keep: config.keep(),
            probed,
            keys_in_use: KeyedMutex::default(),
            record_quota: RecordQuota::new(config.engine.idempotency_bytes_max),
            unread: UnreadAnswers::new(config.server.answer_bytes_max),
            entries_in_use: KeyedMutex::default(),
            events,
        };
        let app = Self { shared: Arc::new(shared) };
        if let Some(bus) = app.bus()
            && let Err(error) = bus.prepare(BUS_START_TIMEOUT).await
        {
            tracing::warn!(%error, "[Bus] starting without NATS; bookings wait until NATS is available");
        }
        tokio::spawn(readiness::run(app.clone()));
        tokio::spawn(app.clone().purge_periodically());
        if app.roles().has(Role::Api) {
            tokio::spawn(calendar::job::run(app.clone()));
            tokio::spawn(app.clone().tidy_rooms());
        }
        tee::start(&app, &config.tee);
        holdfast_events::start(app.events(), config.webhook.settings(app.webhook_addresses().clone()));
        if app.store().is_split() {
            tokio::spawn(app.clone().recover_periodically());
        }
        Ok((app, thread))
    }

    /// State shared with the publishing and receiving of events.
    pub fn events(&self) -> &holdfast_events::Context {
        &self.shared.events
    }

    pub fn auth(&self) -> &Auth {
        &self.shared.auth
    }

    pub fn ids(&self) -> &IdMaker {
        self.events().ids()
    }

    pub fn stream(&self) -> &Arc<Stream> {
        self.events().stream()
    }

    pub fn metrics(&self) -> &PrometheusHandle {
        &self.shared.metrics
    }

    /// Returns the language of errors for a request with these headers.
    pub fn language(&self, headers: &HeaderMap) -> Language {
        Language::asked_for(headers).unwrap_or(self.shared.language)
    }

    pub fn request_seconds(&self) -> &metrics::Histogram {
        &self.shared.request_seconds
    }

    pub fn engine(&self) -> &Engine {
        self.events().engine()
    }

    pub fn store(&self) -> &dyn Store {
        self.events().store()
    }

    pub fn room(&self) -> &dyn WaitingRoom {
        &*self.shared.room
    }

    /// Wake-ups of the webhook workers.
    pub fn webhooks(&self) -> &WakeUps {
        self.events().webhooks()
    }

    /// Addresses to which webhooks may be sent.
    pub fn webhook_addresses(&self) -> &AllowedAddresses {
        &self.shared.webhook_addresses
    }

    /// Random id of the store.
    pub fn installation(&self) -> &str {
        self.events().installation()
    }

    /// Roles that this process has.
    pub fn roles(&self) -> Roles {
        self.shared.roles
    }

    pub fn bus(&self) -> Option<&Connection> {
        self.events().bus()
    }

    /// Events that this server is publishing at present.
    pub fn in_flight(&self) -> &InFlight {
        self.events().in_flight()
    }

    /// Outcome of the last probe of the store.
    pub fn probed(&self) -> &Probed {
        &self.shared.probed
    }

    pub fn gate_cache(&self) -> &GateCache {
        &self.shared.gate_cache
    }

    /// Evaluates a query on committed state.
    pub async fn query<T>(&self, ask: impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>) -> Result<T, Problem> {
        Ok(self.engine().query(ask).await?)
    }

    /// Returns the records of a list.
    pub async fn list<R: Record>(&self, list: List) -> Result<Vec<R>, Problem> {
        Ok(self.events().list(list).await?)
    }

    /// Returns the records of a list, each with its key.
    pub async fn list_with_keys<R: Record>(&self, list: List) -> Result<Vec<(R::Key, R)>, Problem> {
        Ok(self.events().list_with_keys(list).await?)
    }

    /// Returns a permit to generate slots in the background; `None` if all were in use for `GENERATION_WAIT_MAX`.
    pub async fn permit_generation(&self) -> Option<OwnedSemaphorePermit> {
        let permit = self.shared.generations.clone().acquire_owned();
        tokio::time::timeout(GENERATION_WAIT_MAX, permit).await.ok()?.ok()
    }

    /// Time that a request waits for its slots to be generated. A larger generation goes on in the background.
    pub fn generate_wait(&self) -> Duration {
        self.shared.generate_wait
    }

    /// Runs work that outlives the request which started it, and not on a thread that drives connections.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> task::JoinHandle<T> {
        self.events().spawn(work)
    }

    /// Stops the jobs and the open event streams.
    pub fn stop(&self) {
        self.events().stop();
    }

    pub async fn stopped(&self) {
        self.events().stopped().await;
    }

    pub fn is_stopping(&self) -> bool {
        self.events().is_stopping()
    }
}

//! State shared by all handlers; starts and stops the engine and the background jobs.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use holdfast_bus::Connection;
use holdfast_core::calendar::confirm::RecoverLock;
use holdfast_core::id::UserId;
use holdfast_core::idempotency::{self, IdempotencyRecordId, KeepAnswer};
use holdfast_core::schema::{List, Record};
use holdfast_core::shop::payment::RecoverOrder;
use holdfast_core::stay::hold::RecoverStayHold;
use holdfast_core::ticket::EventId;
use holdfast_core::ticket::hold::RecoverSeatHold;
use holdfast_core::unit::Kind;
use holdfast_core::{Command, Context, Decision, WorkingSet};
use holdfast_engine::store::{Keep, RecoveredAttempt};
use holdfast_engine::{Answer, Engine, Once, Store};
use holdfast_waiting_room::WaitingRoom;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task;

use crate::answer_backpressure::UnreadAnswers;
use crate::calendar;
use crate::caller::{Auth, Caller};
use crate::config::Config;
use crate::ids::IdMaker;
use crate::keyed_mutex::{KeyedMutex, Turn};
use crate::ops;
use crate::problem::{Language, Problem};
use crate::readiness::{self, Probed};
use crate::record_quota::RecordQuota;
use crate::relay::{InFlight, Leases};
use crate::request::Mutation;
use crate::roles::{Role, Roles};
use crate::stream::Stream;
use crate::tee;
use crate::tickets::queue_gate::GateCache;
use crate::webhooks::target::AllowedAddresses;
use crate::webhooks::{WakeUps, delivery_worker, fan_out, hold_fan_out};

/// Handle to the shared state. Cheap to clone; every handler has one.
#[derive(Clone, Debug)]
pub struct App {
    shared: Arc<Shared>,
}

struct Shared {
    stream: Arc<Stream>,
    auth: Auth,
    ids: IdMaker,
    metrics: PrometheusHandle,
    request_seconds: metrics::Histogram,
    /// Language of errors for requests without `Accept-Language`.
    language: Language,
    stopping: watch::Sender<bool>,
    /// Permits for generating many slots at once.
    generations: Arc<Semaphore>,
    generate_wait: Duration,
    room: Arc<dyn WaitingRoom>,
    gate_cache: GateCache,
    webhooks: WakeUps,
    webhook_addresses: AllowedAddresses,
    installation: String,
    roles: Roles,
    bus: Option<Connection>,
    keep: Keep,
    in_flight: InFlight,
    probed: Probed,
    leases: Leases,
    keys_in_use: KeyedMutex<IdempotencyRecordId>,
    record_quota: RecordQuota,
    unread: UnreadAnswers,
    entries_in_use: KeyedMutex<(EventId, UserId)>,
    /// Runtime that the app was started on. It runs work that no connection waits for.
    runtime: Handle,
    /// The last field, and so dropped last: once its thread is joined, the store and the waiting room may be reopened.
    engine: Engine,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("engine", &self.engine).field("auth", &self.auth).finish_non_exhaustive()
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
const BUS_WITHIN: Duration = Duration::from_secs(2);
/// Interval of garbage collection in the store while there is little to delete.
const PURGE_EVERY: Duration = Duration::from_mins(1);
/// Interval at which in-doubt holds are recovered: those whose confirmation was prepared and not finished.
const RECOVER_EVERY: Duration = Duration::from_secs(1);
/// Interval at which the outbox is read: for events that other servers committed, or only to see whether it is readable.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
const FOLLOW_OWN_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of requests that generate slots in the background.
const GENERATIONS_AT_ONCE_MAX: usize = 4;
/// Maximum time that a further such request waits for a permit.
const GENERATION_WAIT_MAX: Duration = Duration::from_secs(2);
/// Interval at which the waiting room ends expired entries that no request touches.
const PURGE_ROOMS_EVERY: Duration = Duration::from_secs(1);
/// Header that marks an answer replayed under the same idempotency key.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Minimum weight of a command whose answer may be large.
const LARGE_WEIGHT_MIN: usize = 16;
const METRICS_UPKEEP_EVERY: Duration = Duration::from_secs(5);

impl App {
    /// Starts the engine and the jobs. Joining the thread after the last `App` is dropped waits until all writes are done.
    pub async fn start(config: &Config, parts: Parts) -> Result<(Self, JoinHandle<()>), StartError> {
        let metrics = ops::metrics_handle();
        let auth = Auth::from_config(&config.auth).map_err(StartError::Setting)?;
        let probed = Probed::first(&*parts.store).await;
        let first_ephemeral = parts.ids.number() >> 16;
        let installation = parts.store.installation().await?;
        let stream = Stream::new(parts.store.outbox_last().await?, first_ephemeral, parts.store.is_split());
        let stream = Arc::new(stream.configured(&config.events.source, config.stream.keep));
        let leases = Leases::new(parts.ids.number() >> 11);
        let (engine, thread) = Engine::start(parts.store, stream.clone(), config.engine_settings())?;
        let shared = Shared {
            engine,
            stream,
            auth,
            ids: parts.ids,
            request_seconds: metrics::histogram!("holdfast_http_request_seconds"),
            metrics,
            language: config.server.language,
            stopping: watch::Sender::new(false),
            generations: Arc::new(Semaphore::new(GENERATIONS_AT_ONCE_MAX)),
            generate_wait: config.calendar.generate_wait,
            room: parts.room,
            gate_cache: GateCache::default(),
            webhooks: WakeUps::default(),
            webhook_addresses: AllowedAddresses::new(config.auth_is_off(), &config.webhook.allow_networks),
            installation,
            roles: config.roles(),
            bus: parts.bus,
            keep: config.keep(),
            in_flight: InFlight::default(),
            probed,
            leases,
            keys_in_use: KeyedMutex::default(),
            record_quota: RecordQuota::new(config.engine.idempotency_bytes_max),
            unread: UnreadAnswers::new(config.server.answer_bytes_max),
            entries_in_use: KeyedMutex::default(),
            runtime: Handle::current(),
        };
        let app = Self { shared: Arc::new(shared) };
        if let Some(bus) = app.bus()
            && let Err(error) = bus.prepare(BUS_WITHIN).await
        {
            tracing::warn!(%error, "[Bus] starting without NATS; bookings wait until NATS is available");
        }
        tokio::spawn(readiness::run(app.clone()));
        tokio::spawn(app.clone().purge_periodically());
        if app.roles().has(Role::Api) {
            tokio::spawn(calendar::job::run(app.clone()));
            tokio::spawn(app.clone().tidy_rooms());
        }
        let keeper = app.clone();
        tokio::spawn(async move { keeper.leases().keep(&keeper).await });
        tee::start(&app, &config.tee);
        let feed_reader = app.ids().number() >> 11;
        tokio::spawn(fan_out::run(app.clone(), config.webhook.poll));
        tokio::spawn(hold_fan_out::run(app.clone(), feed_reader));
        tokio::spawn(delivery_worker::run(app.clone(), config.webhook.clone()));
        if app.store().is_split() {
            tokio::spawn(app.clone().recover_periodically());
        }
        tokio::spawn(app.clone().follow_outbox());
        Ok((app, thread))
    }

    pub fn auth(&self) -> &Auth {
        &self.shared.auth
    }

    pub fn ids(&self) -> &IdMaker {
        &self.shared.ids
    }

    pub fn stream(&self) -> &Arc<Stream> {
        &self.shared.stream
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
        &self.shared.engine
    }

    pub fn store(&self) -> &dyn Store {
        self.shared.engine.store()
    }

    pub fn room(&self) -> &dyn WaitingRoom {
        &*self.shared.room
    }

    /// Wake-ups of the webhook workers.
    pub fn webhooks(&self) -> &WakeUps {
        &self.shared.webhooks
    }

    /// Addresses to which webhooks may be sent.
    pub fn webhook_addresses(&self) -> &AllowedAddresses {
        &self.shared.webhook_addresses
    }

    /// Random id of the store.
    pub fn installation(&self) -> &str {
        &self.shared.installation
    }

    /// Roles that this process has.
    pub fn roles(&self) -> Roles {
        self.shared.roles
    }

    pub fn bus(&self) -> Option<&Connection> {
        self.shared.bus.as_ref()
    }

    /// Events that this server is publishing at present.
    pub fn in_flight(&self) -> &InFlight {
        &self.shared.in_flight
    }

    /// Outcome of the last probe of the store.
    pub fn probed(&self) -> &Probed {
        &self.shared.probed
    }

    /// Partitions of the outbox that this server may publish.
    pub fn leases(&self) -> &Leases {
        &self.shared.leases
    }

    pub fn gate_cache(&self) -> &GateCache {
        &self.shared.gate_cache
    }

    /// Returns the records of a list.
    pub async fn list<R: Record>(&self, list: List) -> Result<Vec<R>, Problem> {
        Ok(holdfast_engine::store::list(self.store(), list).await?)
    }

    /// Returns the records of a list, each with its key.
    pub async fn list_with_keys<R: Record>(&self, list: List) -> Result<Vec<(R::Key, R)>, Problem> {
        let listed = self.store().list(list).await?;
        listed.into_iter().map(|row| row.read::<R>().ok_or_else(Problem::internal)).collect()
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

    /// Does the same as [`Self::run`] and returns the outcome beside the reply, so that work after the commit needs no read
    /// that could fail. A replayed reply has no outcome, but still has its [`Reply::records`].
    pub async fn run_with_outcome<C: Command>(
        &self,
        caller: &Caller,
        request: &Mutation,
        command: C,
        render: impl Fn(&C::Outcome) -> Reply + Send + 'static,
    ) -> Result<(Reply, Option<C::Outcome>), Problem>
    where
        C::Outcome: Clone + Send + 'static,
    {
        let rendered = Arc::new(Mutex::new(None));
        let keep = rendered.clone();
        let reply = self.run_for_reply(caller, request, command, move |outcome: &C::Outcome| {
            // A command is decided again after a conflict; the last outcome is the committed one.
            *keep.lock() = Some(outcome.clone());
            render(outcome)
        });
        let reply = reply.await?;
        let outcome = rendered.lock().take();
        let outcome = outcome.filter(|_| !reply.is_replayed);
        Ok((reply, outcome))
    }

    /// Executes a command, once per idempotency key. `render` makes the answer from the outcome.
    pub async fn run<C: Command>(
        &self,
        caller: &Caller,
        request: &Mutation,
        command: C,
        render: impl Fn(&C::Outcome) -> Reply + Send + 'static,
    ) -> Result<Response, Problem> {
        Ok(self.run_for_reply(caller, request, command, render).await?.into_response())
    }

    /// Does the same as [`Self::run`] and returns the reply, with its [`Reply::records`].
    pub async fn run_for_reply<C: Command>(
        &self,
        caller: &Caller,
        request: &Mutation,
        command: C,
        render: impl Fn(&C::Outcome) -> Reply + Send + 'static,
    ) -> Result<Reply, Problem> {
        let Some((id, fingerprint)) = request.receipt(caller)? else {
            return match self.shared.engine.run_for(caller.flow(), command, None).await? {
                Answer::Fresh(outcome) => {
                    self.stream().activity().changed(C::NAME);
                    Ok(render(&outcome))
                }
                Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("no record is kept without a key"),
            };
        };
        if command.weight() >= LARGE_WEIGHT_MIN {
            self.check_record_quota(&id, &fingerprint).await?;
        }
        let render = Box::new(move |outcome: &C::Outcome| Some(render(outcome).to_bytes()));
        let once = Once { id: id.clone(), fingerprint, render };
        let answer = self.shared.engine.run_for(caller.flow(), command, Some(once)).await?;
        self.stream().activity().changed(C::NAME);
        if let Answer::Recorded(bytes) = &answer {
            self.count_record(&id, bytes.len());
        }
        kept_reply(answer)
    }

    /// Runs an action other than an engine command once per idempotency key. The action must be idempotent: the server may
    /// end after it and before its answer is recorded, and another server may run it at the same time.
    pub async fn once(
        &self,
        caller: &Caller,
        request: &Mutation,
        act: impl Future<Output = Result<Reply, Problem>> + Send,
    ) -> Result<Response, Problem> {
        let Some((id, fingerprint)) = request.receipt(caller)? else { return Ok(act.await?.into_response()) };
        let _turn = self.shared.keys_in_use.take(id.clone()).await?;
        if let Some(replayed) = self.replay_of(&id, &fingerprint).await? {
            return Ok(replayed.into_response());
        }
        let reply = act.await?;
        let bytes = reply.to_bytes();
        let once = Once { id, fingerprint, render: Box::new(move |()| Some(bytes.clone())) };
        match self.shared.engine.run_for(caller.flow(), KeepAnswer, Some(once)).await {
            Ok(answer) => Ok(kept_reply(answer)?.into_response()),
            // The action has succeeded, so the client gets its answer. A retry runs the action again, which is safe.
            Err(error) => {
                tracing::warn!(%error, "cannot keep the idempotency record of an answer; a retry runs the action again");
                Ok(reply.into_response())
            }
        }
    }

    /// Rejects a large request under an idempotency key if its caller has used up its quota of records. A request that
    /// already has a record is always accepted.
    pub(crate) async fn check_record_quota(
        &self,
        id: &IdempotencyRecordId,
        fingerprint: &[u8; 32],
    ) -> Result<(), Problem> {
        let quota = &self.shared.record_quota;
        let Some(wait) = quota.wait(&id.caller, Instant::now()) else { return Ok(()) };
        match self.query(|rows, at| idempotency::find(rows, at, id, fingerprint)).await? {
            Some(_) => Ok(()),
            None => Err(Problem::record_quota_used_up(quota.bytes_max(), wait)),
        }
    }

    /// Counts a kept idempotency record against the quota of its caller.
    pub(crate) fn count_record(&self, id: &IdempotencyRecordId, bytes: usize) {
        self.shared.record_quota.count(&id.caller, bytes, Instant::now());
    }

    /// Large answers that clients have not read yet.
    pub(crate) fn unread(&self) -> &UnreadAnswers {
        &self.shared.unread
    }

    /// Returns the recorded answer for the idempotency key of a request, if there is one.
    pub async fn replay(&self, caller: &Caller, request: &Mutation) -> Result<Option<Response>, Problem> {
        let Some((id, fingerprint)) = request.receipt(caller)? else { return Ok(None) };
        Ok(self.replay_of(&id, &fingerprint).await?.map(IntoResponse::into_response))
    }

    async fn replay_of(&self, id: &IdempotencyRecordId, fingerprint: &[u8; 32]) -> Result<Option<Reply>, Problem> {
        let found = self.query(|rows, at| idempotency::find(rows, at, id, fingerprint)).await?;
        found.map(|bytes| kept_reply(Answer::<()>::Replayed(bytes))).transpose()
    }

    /// Locks the entry of a user to an event, so that concurrent requests cannot use the same entry.
    pub(crate) async fn spending(&self, event: EventId, user: UserId) -> Result<Turn<'_, (EventId, UserId)>, Problem> {
        Ok(self.shared.entries_in_use.take((event, user)).await?)
    }

    /// Evaluates a query on committed state.
    pub async fn query<T>(&self, ask: impl FnMut(&mut WorkingSet, &Context<'_>) -> Decision<T>) -> Result<T, Problem> {
        Ok(self.shared.engine.query(ask).await?)
    }

    /// Recovers in-doubt holds: those that a server prepared and did not commit or abort before it ended.
    async fn recover_periodically(self) {
        let mut due = tokio::time::interval(RECOVER_EVERY);
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = due.tick() => {}
            }
            let resolved = match self.store().recover_in_doubt().await {
                Ok(resolved) => resolved,
                Err(error) => {
                    tracing::warn!(%error, "cannot read in-doubt holds; retrying");
                    continue;
                }
            };
            // Concurrently, so that the engine can put them into one batch.
            futures_util::future::join_all(resolved.into_iter().map(|one| self.recover(one))).await;
        }
    }

    async fn recover(&self, RecoveredAttempt { kind, of, record }: RecoveredAttempt) {
        tracing::warn!(hold = %of.hold, ?record, "recovering an in-doubt hold of a server that ended");
        metrics::counter!("holdfast_confirm_attempts_recovered_total").increment(1);
        let settled = match kind {
            Kind::Stay => self.engine().run(RecoverStayHold { of, record }, None).await,
            Kind::Shop => self.engine().run(RecoverOrder { of, record }, None).await,
            Kind::Room => self.engine().run(RecoverLock { of, record }, None).await,
            Kind::Ticket => self.engine().run(RecoverSeatHold { of, record }, None).await,
        };
        if let Err(error) = settled {
            tracing::warn!(hold = %of.hold, %error, "cannot recover an in-doubt hold; retrying");
        }
    }

    /// Ends expired entries and places of the waiting room, so that subscribers receive the change.
    async fn tidy_rooms(self) {
        let mut due = tokio::time::interval(PURGE_ROOMS_EVERY);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = due.tick() => {}
            }
            if let Err(error) = self.room().tidy().await {
                tracing::warn!(%error, "cannot end expired entries of the waiting room; retrying");
            }
        }
    }

    /// Publishes events of all servers to the subscribers of this one, in the order of the outbox.
    async fn follow_outbox(self) {
        let mut committed = self.stream().committed();
        let is_shared = self.store().is_split();
        let every = if is_shared { FOLLOW_EVERY } else { FOLLOW_OWN_EVERY };
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = committed.changed(), if is_shared => {}
                () = tokio::time::sleep(every) => {}
            }
            if let Err(error) = self.stream().follow(self.store()).await {
                tracing::warn!(%error, "cannot read the outbox; retrying");
            }
        }
    }

    async fn purge_periodically(self) {
        let mut tidy = tokio::time::interval(PURGE_EVERY);
        let mut upkeep = tokio::time::interval(METRICS_UPKEEP_EVERY);
        loop {
            tokio::select! {
                () = self.stopped() => return,
                _ = upkeep.tick() => self.metrics().run_upkeep(),
                _ = tidy.tick() => loop {
                    match self.store().purge(self.shared.keep).await {
                        // A pause between two slices, in which other work can use the store.
                        Ok(true) if !self.is_stopping() => tokio::time::sleep(Duration::from_millis(20)).await,
                        Ok(_) => break,
                        Err(error) => {
                            tracing::warn!(%error, "cannot delete expired rows; retrying at the next interval");
                            break;
                        }
                    }
                },
            }
        }
    }
}

/// Returns the reply to a command that ran under an idempotency key.
fn kept_reply<T>(answer: Answer<T>) -> Result<Reply, Problem> {
    let (bytes, is_replayed) = match answer {
        Answer::Fresh(_) => unreachable!("every answer under a key is kept"),
        Answer::Recorded(bytes) => (bytes, false),
        Answer::Replayed(bytes) => (bytes, true),
    };
    let reply = Reply::from_bytes(&bytes).ok_or_else(Problem::internal)?;
    Ok(Reply { is_replayed, ..reply })
}

/// Successful answer that can be kept in an idempotency record and replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    status: StatusCode,
    body: Vec<u8>,
    records: Vec<u64>,
    is_replayed: bool,
}

/// Bit of the status in an idempotency record that is set if numbers of records follow. HTTP statuses are below it.
const HAS_RECORDS: u16 = 1 << 15;

impl Reply {
    pub fn json(status: StatusCode, body: &impl serde::Serialize) -> Self {
        Self::written(status, serde_json::to_vec(body).expect("wire types serialize to JSON"))
    }

    /// Makes a reply from a body that is already JSON.
    pub fn written(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, body, records: Vec::new(), is_replayed: false }
    }

    pub fn no_content() -> Self {
        Self::written(StatusCode::NO_CONTENT, Vec::new())
    }

    /// Keeps the numbers of the records that the reply shows beside it, for a handler that goes on with them after a replay.
    #[must_use]
    pub fn about(self, records: impl IntoIterator<Item = u64>) -> Self {
        Self { records: records.into_iter().collect(), ..self }
    }

    pub fn records(&self) -> &[u64] {
        &self.records
    }

    /// Replaces the body, for a newer state of the same record.
    #[must_use]
    pub fn with_json(self, body: &impl serde::Serialize) -> Self {
        Self { body: Self::json(self.status, body).body, ..self }
    }

    /// Encodes the status, the number of records and each of them if there are any, and the body.
    fn to_bytes(&self) -> Vec<u8> {
        let status = self.status.as_u16();
        if self.records.is_empty() {
            return [&status.to_le_bytes(), &self.body[..]].concat();
        }
        let mut bytes = (status | HAS_RECORDS).to_le_bytes().to_vec();
        bytes.extend((self.records.len() as u32).to_le_bytes());
        bytes.extend(self.records.iter().flat_map(|record| record.to_le_bytes()));
        bytes.extend(&self.body);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (status, mut body) = bytes.split_first_chunk()?;
        let status = u16::from_le_bytes(*status);
        let mut records = Vec::new();
        if status & HAS_RECORDS != 0 {
            let (count, rest) = body.split_first_chunk()?;
            let (numbers, rest) = rest.split_at_checked(u32::from_le_bytes(*count) as usize * size_of::<u64>())?;
            let (numbers, _) = numbers.as_chunks();
            records.extend(numbers.iter().copied().map(u64::from_le_bytes));
            body = rest;
        }
        let status = StatusCode::from_u16(status & !HAS_RECORDS).ok()?;
        Some(Self { status, body: body.to_vec(), records, is_replayed: false })
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = if self.body.is_empty() {
            self.status.into_response()
        } else {
            let json = HeaderValue::from_static("application/json");
            (self.status, [(header::CONTENT_TYPE, json)], self.body).into_response()
        };
        if self.is_replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_is_restored_from_its_bytes() {
        for records in [&[][..], &[7], &[1, u64::MAX, 0]] {
            for body in [&b""[..], b"{\"id\":7}"] {
                let reply = Reply::written(StatusCode::CREATED, body.to_vec()).about(records.iter().copied());
                assert_eq!(Reply::from_bytes(&reply.to_bytes()), Some(reply));
            }
        }
        let cut = Reply::no_content().about([7]).to_bytes();
        assert!((0..cut.len()).all(|len| Reply::from_bytes(&cut[..len]).is_none()));
    }
}

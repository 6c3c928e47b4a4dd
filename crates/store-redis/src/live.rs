//! Live tier: versioned rows, read together.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use holdfast_connect::TlsRoots;
use holdfast_core::audit::Audit;
use holdfast_core::calendar::RoomId;
use holdfast_core::hold::HOLD_TTL_MAX;
use holdfast_core::idempotency::IdempotencyRecord;
use holdfast_core::stay::{DAYS_AHEAD_MAX, HOLD_NIGHTS_MAX};
use holdfast_core::table::{Key, Scan, Table};
use holdfast_core::ticket::SeatsOf;
use holdfast_core::time::{Span, date_ordinal};
use holdfast_core::unit::{Kind, Unit, Units};
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::{Clock, StoreError};
use redis::{Cmd, Pipeline, Value};

use crate::cache_versions::{self, CacheVersion};
use crate::connection::Connection;
use crate::epoch::{Epoch, FoundEpoch, KnownEpoch};
use crate::keys::Keys;
use crate::read_set::{LiveReadSet, Lookup};
use crate::tables::{self, Live, VisitorMut};

/// Maximum number of rows per command.
const ROWS_PER_COMMAND_MAX: usize = 4_096;
/// Time to live of the row that a probe writes.
const PROBE_KEPT: Span = Span::from_secs(10);
/// Maximum number of attempts of a read, which restarts after a new epoch was begun.
const READS_MAX: usize = 4;

/// Policy for lost data of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// Go on: lost holds may be sold again, first come, first served.
    Resume,
    /// Rejects new holds for this span, which should be the hold TTL.
    Quarantine(Span),
}

pub struct LiveOptions {
    /// The connection is encrypted if it begins with `rediss://`.
    pub url: String,
    /// Certificate authorities for the certificate of Redis.
    pub tls_roots: TlsRoots,
    /// Prefix of all keys.
    pub prefix: String,
    pub on_loss: OnLoss,
    /// No hold was ever placed: an empty Redis has lost none.
    pub is_first: bool,
    /// Age at which an unfinished confirm attempt counts as abandoned by its server.
    pub abandoned_after: Span,
    /// Random number of this server, from which versions are counted.
    pub nonce: u64,
    /// Replaces the time of Redis; for tests.
    pub clock: Option<Arc<dyn Clock>>,
}

impl std::fmt::Debug for LiveOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub struct LiveTier {
    shared: Arc<Shared>,
}

struct Shared {
    connection: Connection,
    keys: Keys,
    on_loss: OnLoss,
    abandoned_after: Span,
    clock: Option<Arc<dyn Clock>>,
    known_epoch: KnownEpoch,
    /// Latest time returned: time never runs backwards, also if the clock of Redis does.
    latest: AtomicI64,
    next_version: AtomicU64,
}

impl std::fmt::Debug for LiveTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveTier").field("keys", &self.shared.keys).finish_non_exhaustive()
    }
}

impl LiveTier {
    /// Connects on first use.
    pub fn new(options: LiveOptions) -> Result<Self, StoreError> {
        let connection = Connection::new(&options.url, &options.tls_roots)
            .map_err(|error| StoreError::Unavailable(format!("server.redis_url: {error}")))?;
        Ok(Self {
            shared: Arc::new(Shared {
                connection,
                keys: Keys { prefix: options.prefix },
                on_loss: options.on_loss,
                abandoned_after: options.abandoned_after,
                clock: options.clock,
                known_epoch: KnownEpoch::new(options.is_first),
                latest: AtomicI64::new(0),
                next_version: AtomicU64::new(options.nonce),
            }),
        })
    }

    /// Number of round trips so far.
    pub fn round_trips(&self) -> u64 {
        self.shared.connection.round_trips()
    }

    /// Verifies that Redis answers.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.shared.connection.ask(redis::pipe().cmd("TIME")).await.map(|_| ())
    }

    /// Whether Redis takes writes: a replica, a wrong node of a cluster, or a Redis without memory refuses them.
    pub async fn check_write(&self) -> Result<(), StoreError> {
        let mut probe = redis::pipe();
        probe.cmd("SET").arg(self.shared.keys.probe()).arg(1).arg("PX").arg(PROBE_KEPT.as_millis());
        self.shared.connection.ask(&probe).await.map(|_| ())
    }

    /// Supplies requested live rows and tells the time, in one round trip. Receipts that are not here may be elsewhere, and
    /// stay requested.
    pub async fn load(&self, rows: &mut WorkingSet, read_set: &mut LiveReadSet) -> Result<Timestamp, StoreError> {
        self.load_with_cache_versions(rows, read_set, &[]).await.map(|(now, _)| now)
    }

    /// Loads like [`load`](Self::load), and returns the cache versions of these rooms as of then or later.
    pub(crate) async fn load_with_cache_versions(
        &self,
        rows: &mut WorkingSet,
        read_set: &mut LiveReadSet,
        rooms: &[RoomId],
    ) -> Result<(Timestamp, Vec<CacheVersion>), StoreError> {
        let Shared { keys, .. } = &*self.shared;
        let scans = rows.held.take_scans_requested();
        let mut held = rows.held.take_requested();
        if !scans.is_empty() && self.shared.latest.load(Ordering::Acquire) == 0 {
            self.ask(&[], &[]).await?;
        }
        held.extend(scans.iter().flat_map(|scan| self.candidate_units(scan)));
        rows.held.request_elsewhere(sorted_unique(held));
        let seats_of = rows.ticket.by_seat.take_scans_requested();
        let mut seats = rows.ticket.by_seat.take_requested();
        for SeatsOf { event, seat_count } in &seats_of {
            seats.extend((1..=*seat_count).map(|position| event.seat(position)));
        }
        rows.ticket.by_seat.request_elsewhere(sorted_unique(seats));
        let idempotency_records = rows.idempotency_records.take_requested();
        let mut collector = CollectKeys { keys, names: Vec::new(), tables: Vec::new() };
        tables::visit_all_mut(rows, &mut collector);
        let CollectKeys { mut names, tables, .. } = collector;
        names.extend(idempotency_records.iter().map(|key| keys.idempotency_record(key)));
        if !names.is_empty() && names.len() + read_set.versions.len() <= ROWS_PER_COMMAND_MAX {
            // Re-reads the earlier rows, so that a decision rests on one snapshot. Rows beyond one command are left to
            // the validation at commit.
            names.extend(read_set.versions.keys().cloned());
        }
        let answer = self.ask(&names, rooms).await?;

        read_set.begin(&answer)?;
        rows.suspended_until = self.suspended_until(&answer.epoch);
        let mut found = names.into_iter().zip(answer.values);
        let mut filler = FillRows { tables: tables.into_iter(), found: &mut found, read_set, result: Ok(()) };
        tables::visit_all_mut(rows, &mut filler);
        filler.result?;
        for id in idempotency_records {
            // An expired record may have a successor in the other store.
            match read_set.record::<IdempotencyRecord>(found.next())?.filter(|receipt| receipt.expires_at > answer.now)
            {
                Some(receipt) => rows.idempotency_records.fill(id, Some(receipt)),
                None => rows.idempotency_records.request_elsewhere([id]),
            }
        }
        for (name, value) in found {
            read_set.check_unchanged(&name, value.as_deref())?;
        }
        for scan in scans {
            rows.held.fill_scan(scan);
        }
        for scan in seats_of {
            rows.ticket.by_seat.fill_scan(scan);
        }
        Ok((answer.now, answer.cache_versions))
    }

    /// Passes the holds on these units to the auditor.
    pub(crate) async fn audit(&self, units: &[Units], audit: &mut Audit) -> Result<(), StoreError> {
        let mut rows = WorkingSet::default();
        for units in units {
            rows.held.scan(units).ok();
        }
        let now = self.load(&mut rows, &mut LiveReadSet::default()).await?;
        for (unit, tally) in rows.held.rows() {
            audit.held(*unit, tally.live(now), tally.prepared() > 0);
        }
        Ok(())
    }

    /// Reads the rows of these names, the time and the epoch; last the cache versions of these rooms.
    async fn ask(&self, names: &[String], rooms: &[RoomId]) -> Result<ReadResponse, StoreError> {
        let Shared { connection, keys, known_epoch, .. } = &*self.shared;
        let mut pipeline = redis::pipe();
        pipeline.cmd("TIME").get(keys.clock()).get(keys.epoch());
        for names in names.chunks(ROWS_PER_COMMAND_MAX) {
            let mut command = Cmd::new();
            command.arg("MGET");
            for name in names {
                command.arg(name);
            }
            pipeline.add_command(command);
        }
        for room in rooms {
            pipeline.add_command(cache_versions::ask(&keys.room_cache_version(*room)));
        }
        for _ in 0..READS_MAX {
            let mut answers = connection.ask(&pipeline).await?.into_iter();
            let (Some(time), Some(latest), Some(found)) = (answers.next(), answers.next(), answers.next()) else {
                return Err(unexpected(&answers));
            };
            let latest: Option<i64> = redis::from_redis_value(latest).map_err(|_| unexpected(&time))?;
            let read_at = micros_of(&time)?.max(latest.unwrap_or_default());
            let now = self.shared.monotonic_now(read_at);
            let found: Option<String> = redis::from_redis_value(found).map_err(|_| unexpected(&time))?;
            match known_epoch.look(found.as_deref(), self.shared.next_version(), now) {
                FoundEpoch::Same(epoch) => {
                    let mut values = Vec::with_capacity(names.len());
                    for part in answers.by_ref().take(names.len().div_ceil(ROWS_PER_COMMAND_MAX)) {
                        let part: Vec<Option<Vec<u8>>> =
                            redis::from_redis_value(part).map_err(|_| unexpected(&time))?;
                        values.extend(part);
                    }
                    let cache_versions =
                        answers.map(|hash| cache_versions::read(&hash, now)).collect::<Result<_, _>>()?;
                    return Ok(ReadResponse { now, read_at, epoch, values, cache_versions });
                }
                FoundEpoch::Missing(epoch) => self.begin_epoch(&epoch).await?,
            }
        }
        Err(StoreError::Unavailable("Redis does not keep written keys".into()))
    }

    async fn begin_epoch(&self, epoch: &Epoch) -> Result<(), StoreError> {
        let mut pipeline: Pipeline = redis::pipe();
        pipeline.cmd("SET").arg(self.shared.keys.epoch()).arg(&epoch.value).arg("NX");
        self.shared.connection.ask(&pipeline).await.map(|_| ())
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.shared.connection
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.shared.keys
    }

    pub(crate) fn latest_now(&self) -> Timestamp {
        self.shared.latest_now()
    }

    pub(crate) fn next_version(&self) -> u64 {
        self.shared.next_version()
    }

    pub(crate) fn abandoned_after(&self) -> Span {
        self.shared.abandoned_after
    }

    pub(crate) fn has_clock_override(&self) -> bool {
        self.shared.clock.is_some()
    }

    fn suspended_until(&self, epoch: &Epoch) -> Option<Timestamp> {
        match self.shared.on_loss {
            OnLoss::Resume => None,
            OnLoss::Quarantine(span) => epoch.lost_at.map(|lost_at| lost_at + span),
        }
    }

    /// Returns all units that may be held. Redis has no list of those that are, only their names.
    fn candidate_units(&self, scan: &Units) -> Vec<Unit> {
        let from = scan.first;
        match from.kind {
            Kind::Stay => {
                // The hotel's today is within a day of UTC's, and a hold may outlive its night.
                let days_past = (HOLD_TTL_MAX.as_millis() / Span::from_days(1).as_millis()) as u32 + 3;
                let today = self.shared.latest_now().to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
                let first = today.saturating_sub(jiff::Span::new().days(days_past));
                let days = days_past + DAYS_AHEAD_MAX + HOLD_NIGHTS_MAX + 3;
                let dates = first.series(jiff::Span::new().days(1)).take(days as usize);
                dates.map(|date| Unit { part: date_ordinal(date), ..from }).collect()
            }
            Kind::Shop => vec![from],
            // The caller names existing units.
            Kind::Room | Kind::Ticket => (from.part..=scan.last_part).map(|part| Unit { part, ..from }).collect(),
        }
    }
}

impl Shared {
    fn monotonic_now(&self, read_at: i64) -> Timestamp {
        let now = self.clock.as_ref().map_or(read_at / 1_000, |clock| clock.now().as_millis());
        Timestamp::from_millis(self.latest.fetch_max(now, Ordering::AcqRel).max(now))
    }

    fn latest_now(&self) -> Timestamp {
        Timestamp::from_millis(self.latest.load(Ordering::Acquire))
    }

    fn next_version(&self) -> u64 {
        self.next_version.fetch_add(1, Ordering::Relaxed)
    }
}

/// Response of Redis.
pub(crate) struct ReadResponse {
    pub now: Timestamp,
    pub read_at: i64,
    pub epoch: Epoch,
    values: Vec<Option<Vec<u8>>>,
    cache_versions: Vec<CacheVersion>,
}

/// Collects the requested keys of each table, and their names in Redis.
struct CollectKeys<'a> {
    keys: &'a Keys,
    names: Vec<String>,
    /// Keys of each table, in visiting order.
    tables: Vec<Box<dyn Any + Send>>,
}

impl VisitorMut for CollectKeys<'_> {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &mut Table<K, V, S>) {
        let requested = table.take_requested();
        self.names.extend(requested.iter().map(|key| V::name(self.keys, key)));
        self.tables.push(Box::new(requested));
    }
}

/// Fills requested rows with the values of these names.
struct FillRows<'a, F> {
    tables: std::vec::IntoIter<Box<dyn Any + Send>>,
    found: &'a mut F,
    read_set: &'a mut LiveReadSet,
    result: Result<(), StoreError>,
}

impl<F: Iterator<Item = Lookup>> VisitorMut for FillRows<'_, F> {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &mut Table<K, V, S>) {
        let requested = self.tables.next().and_then(|keys| keys.downcast::<Vec<K>>().ok());
        for key in *requested.expect("tables are walked in the same order") {
            match self.read_set.record(self.found.next()) {
                Ok(row) => table.fill(key, row),
                Err(error) => self.result = Err(error),
            }
        }
    }
}

fn sorted_unique<K: Ord>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

pub(crate) fn micros_of(time: &Value) -> Result<i64, StoreError> {
    let (seconds, micros): (i64, i64) = redis::from_redis_value_ref(time).map_err(|_| unexpected(time))?;
    Ok(seconds * 1_000_000 + micros)
}

pub(crate) fn unexpected(what: &impl std::fmt::Debug) -> StoreError {
    tracing::debug!(response = ?what, "unexpected response from Redis");
    StoreError::Damaged("unexpected response from Redis; the log has it at level debug".into())
}

//! Live tier: versioned rows, read together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use holdfast_connect::TlsRoots;
use holdfast_core::audit::Audit;
use holdfast_core::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use holdfast_core::near_term::PartId;
use holdfast_core::schema::{StoredRow, TableAccess, TableRow as _, TableTier, ValueReader};
use holdfast_core::table::decode_row;
use holdfast_core::time::Span;
use holdfast_core::unit::Units;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::{Clock, StoreError};
use redis::{Cmd, Pipeline, Value};

use crate::cache_versions::{self, CacheVersion};
use crate::connection::Connection;
use crate::epoch::{Epoch, FoundEpoch, KnownEpoch};
use crate::keys::Keys;
use crate::read_set::{self, LiveReadSet, Lookup};

/// Maximum number of rows per command.
const ROWS_PER_COMMAND_MAX: usize = 4_096;
/// Time to live of the row that a probe writes.
const PROBE_TTL: Span = Span::from_secs(10);
/// Maximum number of attempts of a read, which restarts after a new epoch was begun.
const READ_ATTEMPTS_MAX: usize = 4;

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
        probe.cmd("SET").arg(self.shared.keys.probe()).arg(1).arg("PX").arg(PROBE_TTL.as_millis());
        self.shared.connection.ask(&probe).await.map(|_| ())
    }

    /// Fills requested live rows and returns the time, in one round trip. Idempotency records that are not here may be
    /// elsewhere, and stay requested.
    pub async fn load(&self, rows: &mut WorkingSet, read_set: &mut LiveReadSet) -> Result<Timestamp, StoreError> {
        self.load_with_cache_versions(rows, read_set, &[]).await.map(|(now, _)| now)
    }

    /// Loads like [`load`](Self::load), and returns the cache versions of these parts, at least as new as the loaded rows.
    pub(crate) async fn load_with_cache_versions(
        &self,
        rows: &mut WorkingSet,
        read_set: &mut LiveReadSet,
        parts: &[PartId],
    ) -> Result<(Timestamp, Vec<CacheVersion>), StoreError> {
        let Shared { keys, .. } = &*self.shared;
        // Which rows of a range may exist depends on the time.
        if has_range_requests(rows) && self.shared.latest.load(Ordering::Acquire) == 0 {
            self.ask(&[], &[]).await?;
        }
        let idempotency_records = rows.idempotency_records.take_requested();
        let (mut names, mut counts) = (Vec::new(), VecDeque::new());
        rows.visit_mut(&mut |tier, table| {
            if tier == TableTier::Live && table.has_requests() {
                let known = names.len();
                table.requested_names(&keys.prefix, self.latest_now(), &mut names);
                counts.push_back(names.len() - known);
            }
        });
        names.extend(idempotency_records.iter().map(|id| keys.row::<_, IdempotencyRecord>(id)));
        if !names.is_empty() && names.len() + read_set.versions.len() <= ROWS_PER_COMMAND_MAX {
            // Re-reads the earlier rows, so that a decision rests on one snapshot. Rows beyond one command are left to
            // the validation at commit.
            names.extend(read_set.versions.keys().cloned());
        }
        let answer = self.ask(&names, parts).await?;

        read_set.begin(&answer)?;
        rows.suspended_until = self.suspended_until(&answer.epoch);
        let mut found = names.into_iter().zip(answer.values);
        let mut result = Ok(());
        rows.visit_mut(&mut |tier, table| {
            if result.is_ok() && tier == TableTier::Live && table.has_requests() {
                let count = counts.pop_front().expect("tables are visited in the same order");
                result = fill(table, found.by_ref().take(count), read_set);
            }
        });
        result?;
        for (id, (name, value)) in idempotency_records.into_iter().zip(found.by_ref()) {
            let (version, encoded) = read_set::split(&name, value.as_deref())?;
            let record = match encoded {
                Some(encoded) => Some(idempotency_record(&id, encoded).ok_or_else(|| read_set::damaged(&name))?),
                None => None,
            };
            read_set.record(name, version)?;
            // An expired record may have a successor in the other store.
            match record.filter(|record| record.expires_at > answer.now) {
                Some(record) => rows.idempotency_records.fill(id, Some(record)),
                None => rows.idempotency_records.request_elsewhere([id]),
            }
        }
        for (name, value) in found {
            read_set.check_unchanged(&name, value.as_deref())?;
        }
        Ok((answer.now, answer.cache_versions))
    }

    /// Passes the held quantities of these units to the auditor.
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

    /// Reads the rows of these names, the time and the epoch; last the cache versions of these parts.
    async fn ask(&self, names: &[String], parts: &[PartId]) -> Result<ReadResponse, StoreError> {
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
        for part in parts {
            pipeline.add_command(cache_versions::ask(&keys.cache_version(*part)));
        }
        for _ in 0..READ_ATTEMPTS_MAX {
            let mut answers = connection.ask(&pipeline).await?.into_iter();
            let (Some(time), Some(latest), Some(found)) = (answers.next(), answers.next(), answers.next()) else {
                return Err(unexpected(&answers));
            };
            let latest: Option<i64> = redis::from_redis_value(latest).map_err(|error| unreadable("clock", &error))?;
            let read_at = micros_of(&time)?.max(latest.unwrap_or_default());
            let now = self.shared.monotonic_now(read_at);
            let found: Option<String> = redis::from_redis_value(found).map_err(|error| unreadable("epoch", &error))?;
            match known_epoch.look(found.as_deref(), self.shared.next_version(), now) {
                FoundEpoch::Same(epoch) => {
                    let mut values = Vec::with_capacity(names.len());
                    for part in answers.by_ref().take(names.len().div_ceil(ROWS_PER_COMMAND_MAX)) {
                        let part: Vec<Option<Vec<u8>>> =
                            redis::from_redis_value(part).map_err(|error| unreadable("rows", &error))?;
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

/// Whether ranges of live rows are requested.
fn has_range_requests(rows: &WorkingSet) -> bool {
    let mut has_ranges = false;
    rows.visit(&mut |tier, table| has_ranges |= tier == TableTier::Live && table.has_range_requests());
    has_ranges
}

/// Fills in the requested rows of a table, in the order of their requests, and records their versions.
fn fill(
    table: &mut dyn TableAccess,
    found: impl Iterator<Item = Lookup>,
    read_set: &mut LiveReadSet,
) -> Result<(), StoreError> {
    for (position, (name, value)) in found.enumerate() {
        let (version, encoded) = read_set::split(&name, value.as_deref())?;
        let decode = |encoded| decode_row(table.spec(), encoded).ok_or_else(|| read_set::damaged(&name));
        let row = encoded.map(decode).transpose()?;
        table.fill_at(position, row).map_err(|_| read_set::damaged(&name))?;
        read_set.record(name, version)?;
    }
    table.finish();
    Ok(())
}

fn idempotency_record(id: &IdempotencyRecordId, encoded: &[u8]) -> Option<IdempotencyRecord> {
    let StoredRow { values, lines } = decode_row(IdempotencyRecord::SPEC, encoded)?;
    IdempotencyRecord::take(id, &mut ValueReader::new(values), lines)
}

pub(crate) fn micros_of(time: &Value) -> Result<i64, StoreError> {
    let (seconds, micros): (i64, i64) = redis::from_redis_value_ref(time).map_err(|_| unexpected(time))?;
    Ok(seconds * 1_000_000 + micros)
}

fn unreadable(what: &str, error: &redis::ParsingError) -> StoreError {
    StoreError::Damaged(format!("Redis: the {what} cannot be read: {error}"))
}

pub(crate) fn unexpected(what: &impl std::fmt::Debug) -> StoreError {
    tracing::debug!(response = ?what, "unexpected response from Redis");
    StoreError::Damaged("unexpected response from Redis; the log has it at level debug".into())
}

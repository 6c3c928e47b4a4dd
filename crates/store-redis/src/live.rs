//! The live tier: rows with versions, read together and written by compare-and-set.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use holdfast_core::audit::Audit;
use holdfast_core::calendar::RoomId;
use holdfast_core::command::Attempt;
use holdfast_core::hold::{Claim, Hold, HoldState, Remembered, TryId};
use holdfast_core::id::HoldId;
use holdfast_core::receipt::Receipt;
use holdfast_core::stay::{DAYS_AHEAD_MAX, HOLD_NIGHTS_MAX};
use holdfast_core::table::{Key, Scan, Table};
use holdfast_core::ticket::SeatsOf;
use holdfast_core::time::{Span, date_ordinal};
use holdfast_core::unit::{Kind, Unit, Units};
use holdfast_core::{Rows, Timestamp};
use holdfast_engine::{Clock, StoreError};
use holdfast_records::Record;
use holdfast_records::walk::{self, HoldVisitor, HoldVisitorMut};
use redis::{Cmd, Pipeline, Value};
use uuid::Uuid;

use crate::codec::Stored;
use crate::connection::{Connection, Order};
use crate::incarnation::{Found, Incarnation, Witness};
use crate::keys::{self, Keys};
use crate::stamps::{self, Stamp};
use crate::tables::{self, Live, Visitor, VisitorMut};

const SCRIPT: &str = include_str!("compare_and_set.lua");

/// How old a read may be when something is written because of it.
const READ_AGE_MAX: Span = Span::from_secs(10);
/// Every row stays at least so long, also when it says nothing any more: see the script.
const ROW_KEPT_MIN: Span = Span::from_secs(30);
/// Rows that do not end by time are kept so long. Somebody finishes what was begun long before.
const PINNED_KEPT: Span = Span::from_hours(7 * 24);
/// A try to confirm that is not finished by then has lost its server. It is longer than any answer may take.
pub const ABANDONED_AFTER: Span = Span::from_secs(6);
const TRIES_AT_ONCE_MAX: isize = 200;
/// Rows asked for with one command.
const ROWS_AT_ONCE_MAX: usize = 4_096;
/// How often a read begins anew because the incarnation had to be made.
const READS_MAX: usize = 4;

/// What to do when Redis has lost its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// Go on: what was held is sold again, first come, first served.
    Resume,
    /// Take no new holds for so long, the time a hold lives.
    Quarantine(Span),
}

pub struct LiveOptions {
    pub url: String,
    /// Stands before all keys.
    pub prefix: String,
    pub on_loss: OnLoss,
    /// A try to confirm that is not finished by then has lost its server.
    pub abandoned_after: Span,
    /// A number no other server has drawn: versions are counted from it.
    pub nonce: u64,
    /// Tells the time instead of Redis; for tests.
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
    witness: Witness,
    /// The latest time told: it never runs backwards, whatever Redis says.
    latest: AtomicI64,
    next_version: AtomicU64,
}

/// What was read, and has to be the same when something is written because of it.
#[derive(Debug, Default)]
pub struct Seen {
    versions: HashMap<String, Option<Version>>,
    /// When the first row was read: by Redis's clock in microseconds, and as it was told.
    read_at: i64,
    now: Timestamp,
    incarnation: Option<Incarnation>,
}

type Version = [u8; 16];

impl std::fmt::Debug for LiveTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveTier").field("keys", &self.shared.keys).finish_non_exhaustive()
    }
}

impl LiveTier {
    /// Connects when it is first used.
    pub fn new(options: LiveOptions) -> Result<Self, StoreError> {
        let connection = Connection::new(&options.url)
            .map_err(|error| StoreError::Unavailable(format!("server.redis_url: {error}")))?;
        Ok(Self {
            shared: Arc::new(Shared {
                connection,
                keys: Keys { prefix: options.prefix },
                on_loss: options.on_loss,
                abandoned_after: options.abandoned_after,
                clock: options.clock,
                witness: Witness::default(),
                latest: AtomicI64::new(0),
                next_version: AtomicU64::new(options.nonce),
            }),
        })
    }

    /// How often Redis was asked.
    pub fn round_trips(&self) -> u64 {
        self.shared.connection.round_trips()
    }

    /// Whether Redis answers.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.shared.connection.ask(redis::pipe().cmd("TIME")).await.map(|_| ())
    }

    /// Supplies wanted live rows and tells the time, in one round trip. Receipts that are not here may be elsewhere, and
    /// stay wanted.
    pub async fn load(&self, rows: &mut Rows, seen: &mut Seen) -> Result<Timestamp, StoreError> {
        self.load_with_stamps(rows, seen, &[]).await.map(|(now, _)| now)
    }

    /// The same, and the stamps of these rooms as they were then or later.
    pub(crate) async fn load_with_stamps(
        &self,
        rows: &mut Rows,
        seen: &mut Seen,
        rooms: &[RoomId],
    ) -> Result<(Timestamp, Vec<Stamp>), StoreError> {
        let Shared { keys, .. } = &*self.shared;
        let scans = rows.held.take_scans_wanted();
        let mut held = rows.held.take_wanted();
        if !scans.is_empty() && self.shared.latest.load(Ordering::Acquire) == 0 {
            self.ask(&[], &[]).await?;
        }
        held.extend(scans.iter().flat_map(|scan| self.units_of(scan)));
        rows.held.want_elsewhere(each_once(held));
        let seats_of = rows.ticket.by_seat.take_scans_wanted();
        let mut seats = rows.ticket.by_seat.take_wanted();
        for SeatsOf { event, seat_count } in &seats_of {
            seats.extend((1..=*seat_count).map(|position| event.seat(position)));
        }
        rows.ticket.by_seat.want_elsewhere(each_once(seats));
        let receipts = rows.receipts.take_wanted();
        let mut asking = Asking { keys, names: Vec::new(), tables: Vec::new() };
        tables::walk_mut(rows, &mut asking);
        let Asking { mut names, tables, .. } = asking;
        names.extend(receipts.iter().map(|key| keys.receipt(key)));
        if !names.is_empty() && names.len() + seen.versions.len() <= ROWS_AT_ONCE_MAX {
            // Once more what was read before: all that a decision rests on was so at one moment. What does not fit into one
            // command would not be, and is left to the check of the commit.
            names.extend(seen.versions.keys().cloned());
        }
        let answer = self.ask(&names, rooms).await?;

        seen.begin(&answer)?;
        rows.suspended_until = self.suspended_until(&answer.incarnation);
        let mut found = names.into_iter().zip(answer.values);
        let mut supplying = Supplying { tables: tables.into_iter(), found: &mut found, seen, result: Ok(()) };
        tables::walk_mut(rows, &mut supplying);
        supplying.result?;
        for id in receipts {
            // One that has run out may have been followed by another, elsewhere.
            match seen.note::<Receipt>(found.next())?.filter(|receipt| receipt.expires_at > answer.now) {
                Some(receipt) => rows.receipts.supply(id, Some(receipt)),
                None => rows.receipts.want_elsewhere([id]),
            }
        }
        for (name, value) in found {
            seen.must_be_the_same(&name, value.as_deref())?;
        }
        for scan in scans {
            rows.held.supply_scan(scan);
        }
        for scan in seats_of {
            rows.ticket.by_seat.supply_scan(scan);
        }
        Ok((answer.now, answer.stamps))
    }

    /// Writes all changes of live rows, and receipts, if nothing that was seen has changed: all or nothing.
    pub async fn commit(&self, rows: &Rows, seen: &Seen) -> Result<(), StoreError> {
        let shared = &*self.shared;
        let keys = &shared.keys;
        let mut writes = Writes { shared, now: shared.latest_now(), list: Vec::new() };
        tables::walk(rows, &mut writes);
        Visitor::visit(&mut writes, &rows.receipts);
        let Tries { noted, struck, mut age_max, .. } = Tries::of(rows, seen.now);
        if shared.clock.is_some() {
            // The test's clock stands still meanwhile.
            age_max = READ_AGE_MAX;
        }
        let Some(incarnation) = &seen.incarnation else { return Ok(()) };

        let mut order = Order::new(SCRIPT);
        order.key(&keys.incarnation()).key(&keys.clock()).key(&keys.unfinished());
        order.arg(&incarnation.value).arg(seen.read_at).arg(age_max.as_millis() * 1_000);
        order.arg(seen.versions.len()).arg(writes.list.len()).arg(noted.len()).arg(struck.len());
        for (name, version) in &seen.versions {
            order.key(name).arg(version.as_ref().map_or(&[][..], |version| &version[..]));
        }
        for (name, value, kept) in &writes.list {
            order.key(name).arg(&value[..]).arg(kept.as_millis());
        }
        for member in noted.iter().chain(&struck) {
            order.arg(member);
        }
        match shared.connection.order(&order).await? {
            Value::Int(1) => Ok(()),
            Value::Int(0 | -1) => Err(StoreError::Conflict),
            other => Err(StoreError::Damaged(format!("Redis answered {other:?}"))),
        }
    }

    /// Shows the auditor what is held of these units.
    pub(crate) async fn audit(&self, units: &[Units], audit: &mut Audit) -> Result<(), StoreError> {
        let mut rows = Rows::default();
        for units in units {
            rows.held.scan(units).ok();
        }
        let now = self.load(&mut rows, &mut Seen::default()).await?;
        for (unit, tally) in rows.held.rows() {
            audit.held(*unit, tally.live(now), tally.pinned() > 0);
        }
        Ok(())
    }

    /// Tries to confirm whose server must have died; a bounded number.
    pub async fn abandoned(&self) -> Result<Vec<(Kind, TryId)>, StoreError> {
        let unfinished = self.shared.keys.unfinished();
        let mut pipeline = redis::pipe();
        pipeline.cmd("TIME").zrange_withscores(unfinished, 0, TRIES_AT_ONCE_MAX);
        let answer: Vec<Value> = self.shared.connection.ask(&pipeline).await?;
        let [time, tries] = &answer[..] else { return Err(strange(&answer)) };
        let now_seconds = micros_of(time)? / 1_000_000;
        let tries: Vec<(String, f64)> = redis::from_redis_value_ref(tries).map_err(|_| strange(tries))?;
        let oldest = (now_seconds - self.shared.abandoned_after.as_millis() / 1_000) as f64;
        let old = tries.into_iter().filter(|(_, began)| *began <= oldest).map(|(member, _)| member);
        let (mut abandoned, mut left_over) = (Vec::new(), Vec::new());
        let mut open = Open { tries: Vec::new(), open: HashSet::new() };
        let mut rows = Rows::default();
        let tries: Vec<_> = old.map(|member| (parse_try(&member), member)).collect();
        open.tries.extend(tries.iter().filter_map(|(parsed, _)| *parsed));
        if !tries.is_empty() {
            walk::holds_mut(&mut rows, &mut open);
            self.load(&mut rows, &mut Seen::default()).await?;
            walk::holds(&rows, &mut open);
        }
        for (parsed, member) in tries {
            match parsed {
                Some((kind, of)) if open.open.contains(&of) => abandoned.push((kind, of)),
                // Its hold was lost, or the note outlived it: nothing is left to end.
                _ => left_over.push(member),
            }
        }
        if !left_over.is_empty() {
            let mut pipeline = redis::pipe();
            pipeline.zrem(self.shared.keys.unfinished(), left_over);
            self.shared.connection.ask(&pipeline).await?;
        }
        Ok(abandoned)
    }

    /// Reads the rows of these names, the time and the incarnation; last the stamps of these rooms.
    async fn ask(&self, names: &[String], rooms: &[RoomId]) -> Result<Answer, StoreError> {
        let Shared { connection, keys, witness, .. } = &*self.shared;
        let mut pipeline = redis::pipe();
        pipeline.cmd("TIME").get(keys.clock()).get(keys.incarnation());
        for names in names.chunks(ROWS_AT_ONCE_MAX) {
            let mut command = Cmd::new();
            command.arg("MGET");
            for name in names {
                command.arg(name);
            }
            pipeline.add_command(command);
        }
        for room in rooms {
            pipeline.add_command(stamps::ask(&keys.room_stamp(*room)));
        }
        for _ in 0..READS_MAX {
            let mut answers = connection.ask(&pipeline).await?.into_iter();
            let (Some(time), Some(latest), Some(found)) = (answers.next(), answers.next(), answers.next()) else {
                return Err(strange(&answers));
            };
            let latest: Option<i64> = redis::from_redis_value(latest).map_err(|_| strange(&time))?;
            let read_at = micros_of(&time)?.max(latest.unwrap_or_default());
            let now = self.shared.tell_time(read_at);
            let found: Option<String> = redis::from_redis_value(found).map_err(|_| strange(&time))?;
            match witness.look(found.as_deref(), self.shared.next_version(), now) {
                Found::Same(incarnation) => {
                    let mut values = Vec::with_capacity(names.len());
                    for part in answers.by_ref().take(names.len().div_ceil(ROWS_AT_ONCE_MAX)) {
                        let part: Vec<Option<Vec<u8>>> = redis::from_redis_value(part).map_err(|_| strange(&time))?;
                        values.extend(part);
                    }
                    let stamps = answers.map(|hash| stamps::read(&hash, now)).collect::<Result<_, _>>()?;
                    return Ok(Answer { now, read_at, incarnation, values, stamps });
                }
                Found::Missing(incarnation) => self.begin_incarnation(&incarnation).await?,
            }
        }
        Err(StoreError::Unavailable("Redis does not keep what is written to it".into()))
    }

    async fn begin_incarnation(&self, incarnation: &Incarnation) -> Result<(), StoreError> {
        let mut pipeline: Pipeline = redis::pipe();
        pipeline.cmd("SET").arg(self.shared.keys.incarnation()).arg(&incarnation.value).arg("NX");
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

    fn suspended_until(&self, incarnation: &Incarnation) -> Option<Timestamp> {
        match self.shared.on_loss {
            OnLoss::Resume => None,
            OnLoss::Quarantine(span) => incarnation.lost_at.map(|lost_at| lost_at + span),
        }
    }

    /// All units that can be held now. There is no list of those that are, only their names.
    fn units_of(&self, scan: &Units) -> Vec<Unit> {
        let from = scan.first;
        match from.kind {
            Kind::Stay => {
                // Wherever the hotel is, its today is within a day of ours, and a hold may outlive its night by one more.
                let today = self.shared.latest_now().to_jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
                let first = today.saturating_sub(jiff::Span::new().days(3));
                let days = DAYS_AHEAD_MAX + HOLD_NIGHTS_MAX + 6;
                let dates = first.series(jiff::Span::new().days(1)).take(days as usize);
                dates.map(|date| Unit { part: date_ordinal(date), ..from }).collect()
            }
            Kind::Shop => vec![from],
            // Whoever asks names what there is.
            Kind::Room | Kind::Ticket => (from.part..=scan.last_part).map(|part| Unit { part, ..from }).collect(),
        }
    }
}

impl Shared {
    fn tell_time(&self, read_at: i64) -> Timestamp {
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

/// What Redis said.
struct Answer {
    now: Timestamp,
    read_at: i64,
    incarnation: Incarnation,
    values: Vec<Option<Vec<u8>>>,
    stamps: Vec<Stamp>,
}

impl Seen {
    fn begin(&mut self, answer: &Answer) -> Result<(), StoreError> {
        if self.incarnation.is_none() {
            (self.read_at, self.now) = (answer.read_at, answer.now);
        }
        if self.incarnation.get_or_insert_with(|| answer.incarnation.clone()) != &answer.incarnation {
            return Err(StoreError::Conflict);
        }
        Ok(())
    }

    fn must_be_the_same(&self, name: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        let version = value.and_then(|value| value.first_chunk().copied());
        if self.versions.get(name) == Some(&version) { Ok(()) } else { Err(StoreError::Conflict) }
    }

    /// Notes the version of a row, and reads it. What is decided rests on what was read first, so a row that was read before
    /// must be the same still.
    fn note<V: Stored>(&mut self, found: Option<(String, Option<Vec<u8>>)>) -> Result<Option<V>, StoreError> {
        let (name, value) = found.ok_or_else(|| strange(&"fewer rows than were asked for"))?;
        let damaged = |name: &str| StoreError::Damaged(format!("Redis: {name} cannot be read"));
        let (version, row) = match &value {
            None => (None, None),
            Some(value) => {
                let (version, payload) = value.split_first_chunk().ok_or_else(|| damaged(&name))?;
                let decode = |payload| V::decode(payload).ok_or_else(|| damaged(&name));
                (Some(*version), Some(payload).filter(|payload| !payload.is_empty()).map(decode).transpose()?)
            }
        };
        match self.versions.insert(name, version) {
            Some(before) if before != version => Err(StoreError::Conflict),
            Some(_) | None => Ok(row),
        }
    }
}

type Lookup = (String, Option<Vec<u8>>);

/// Takes the keys of what is wanted, and says what it is called.
struct Asking<'a> {
    keys: &'a Keys,
    names: Vec<String>,
    /// The keys of each table, in the order of the walk.
    tables: Vec<Box<dyn Any + Send>>,
}

impl VisitorMut for Asking<'_> {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &mut Table<K, V, S>) {
        let wanted = table.take_wanted();
        self.names.extend(wanted.iter().map(|key| V::name(self.keys, key)));
        self.tables.push(Box::new(wanted));
    }
}

/// Supplies what was found under these names.
struct Supplying<'a, F> {
    tables: std::vec::IntoIter<Box<dyn Any + Send>>,
    found: &'a mut F,
    seen: &'a mut Seen,
    result: Result<(), StoreError>,
}

impl<F: Iterator<Item = Lookup>> VisitorMut for Supplying<'_, F> {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &mut Table<K, V, S>) {
        let wanted = self.tables.next().and_then(|keys| keys.downcast::<Vec<K>>().ok());
        for key in *wanted.expect("tables are walked in the same order") {
            match self.seen.note(self.found.next()) {
                Ok(row) => table.supply(key, row),
                Err(error) => self.result = Err(error),
            }
        }
    }
}

/// Rows to be written: name, value, and how long it is kept.
struct Writes<'a> {
    shared: &'a Shared,
    now: Timestamp,
    list: Vec<(String, Vec<u8>, Span)>,
}

impl Visitor for Writes<'_> {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &Table<K, V, S>) {
        for change in table.changes() {
            let mut value = format!("{:016x}", self.shared.next_version()).into_bytes();
            let mut kept = ROW_KEPT_MIN;
            if let Some(row) = change.row {
                row.encode(&mut value);
                let until = row.kept_until(self.now);
                let rest = until.map(|until| Span::from_millis(until.as_millis() - self.now.as_millis()));
                let rest = rest.map_or(PINNED_KEPT, |rest| rest.max(Span::from_millis(0)));
                kept = Span::from_millis(kept.as_millis() + rest.as_millis());
            }
            self.list.push((V::name(&self.shared.keys, change.key), value, kept));
        }
    }
}

/// The tries that begin with a commit, and those that end.
struct Tries {
    noted: Vec<String>,
    struck: Vec<String>,
    read_at: Timestamp,
    /// How old the read may be that they rest on.
    age_max: Span,
}

impl Tries {
    fn of(rows: &Rows, read_at: Timestamp) -> Self {
        let mut tries = Self { noted: Vec::new(), struck: Vec::new(), read_at, age_max: READ_AGE_MAX };
        walk::holds(rows, &mut tries);
        tries
    }
}

impl<'a> HoldVisitor<'a> for Tries {
    fn visit<C: Claim>(&mut self, table: &'a Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Remembered,
    {
        for change in table.changes() {
            let Some(hold) = change.row.filter(|hold| hold.attempts > Attempt::default()) else { continue };
            let member = format!("{} {} {}", keys::kind(C::KIND), hold.id, hold.attempts.0);
            if hold.state != HoldState::Confirming {
                self.struck.push(member);
                continue;
            }
            self.noted.push(member);
            // A hold must be pinned before it ends: others may count on its end from then on, and would not notice.
            let left = Span::from_millis(hold.expires_at.as_millis() - self.read_at.as_millis());
            self.age_max = self.age_max.min(left);
        }
    }
}

/// Which of these tries have not ended.
struct Open {
    tries: Vec<(Kind, TryId)>,
    open: HashSet<TryId>,
}

/// Wants their holds.
impl HoldVisitorMut for Open {
    fn visit<C: Claim>(&mut self, table: &mut Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Remembered,
    {
        for (_, of) in self.tries.iter().filter(|(kind, _)| *kind == C::KIND) {
            table.want(&of.hold);
        }
    }
}

/// Looks at what became of them.
impl<'a> HoldVisitor<'a> for Open {
    fn visit<C: Claim>(&mut self, table: &'a Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Remembered,
    {
        let confirming = table.rows().filter(|(_, hold)| hold.state == HoldState::Confirming);
        self.open.extend(confirming.map(|(id, hold)| TryId { hold: *id, attempt: hold.attempts }));
    }
}

fn each_once<K: Ord>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn parse_try(member: &str) -> Option<(Kind, TryId)> {
    let mut words = member.split(' ');
    let kind = keys::kind_of(words.next()?)?;
    let hold = HoldId(Uuid::try_parse(words.next()?).ok()?);
    Some((kind, TryId { hold, attempt: Attempt(words.next()?.parse().ok()?) }))
}

fn micros_of(time: &Value) -> Result<i64, StoreError> {
    let (seconds, micros): (i64, i64) = redis::from_redis_value_ref(time).map_err(|_| strange(time))?;
    Ok(seconds * 1_000_000 + micros)
}

pub(crate) fn strange(what: &impl std::fmt::Debug) -> StoreError {
    StoreError::Damaged(format!("Redis gave a strange answer: {what:?}"))
}

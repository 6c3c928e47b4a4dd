//! Conditional commit: writes all rows if the read set is unchanged, or none.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use holdfast_core::table::{Key, Scan, Table};
use holdfast_core::time::Span;
use holdfast_core::{Rows, Timestamp};
use holdfast_engine::StoreError;
use redis::Value;

use crate::connection::{Order, Script};
use crate::incarnation::Incarnation;
use crate::keys::Keys;
use crate::live::LiveTier;
use crate::seen::{READ_AGE_MAX, Seen};
use crate::tables::{self, Live, Visitor};
use crate::tries::Tries;

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("compare_and_set.lua")));

/// Minimum time to live of every row, also of one without effect: see the script.
const ROW_KEPT_MIN: Span = Span::from_secs(30);
/// Time to live of rows that do not expire by themselves. Recovery finishes abandoned attempts long before.
const PINNED_KEPT: Span = Span::from_hours(7 * 24);

impl LiveTier {
    /// Checks that nothing that was seen has changed.
    pub(crate) async fn validate(&self, seen: &Seen) -> Result<(), StoreError> {
        if seen.versions.is_empty() { Ok(()) } else { self.commit(&Rows::default(), seen).await }
    }

    /// Writes all changes of live rows, and receipts, if nothing that was seen has changed: all or nothing.
    pub async fn commit(&self, rows: &Rows, seen: &Seen) -> Result<(), StoreError> {
        let Some(incarnation) = &seen.incarnation else { return Ok(()) };
        let mut writes = Writes { tier: self, now: self.latest_now(), list: Vec::new() };
        tables::walk(rows, &mut writes);
        Visitor::visit(&mut writes, &rows.receipts);
        let mut tries = Tries::of(rows, seen.now);
        if self.has_clock_of_its_own() {
            // A test's clock stands still meanwhile.
            tries.age_max = READ_AGE_MAX;
        }
        let order = order(self.keys(), incarnation, seen, &writes.list, &tries);
        match self.connection().order(order).await? {
            Value::Int(1) => Ok(()),
            Value::Int(0 | -1) => Err(StoreError::Conflict),
            other => Err(StoreError::Damaged(format!("the script returned {other:?}"))),
        }
    }
}

/// Row to be written.
struct Write {
    name: String,
    value: Vec<u8>,
    kept: Span,
}

struct Writes<'a> {
    tier: &'a LiveTier,
    now: Timestamp,
    list: Vec<Write>,
}

impl Visitor for Writes<'_> {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &Table<K, V, S>) {
        for change in table.changes() {
            let mut value = format!("{:016x}", self.tier.next_version()).into_bytes();
            let mut kept = ROW_KEPT_MIN;
            if let Some(row) = change.row {
                row.encode(&mut value);
                let until = row.kept_until(self.now);
                let rest = until.map(|until| Span::from_millis(until.as_millis() - self.now.as_millis()));
                let rest = rest.map_or(PINNED_KEPT, |rest| rest.max(Span::from_millis(0)));
                kept = Span::from_millis(kept.as_millis() + rest.as_millis());
            }
            self.list.push(Write { name: V::name(self.tier.keys(), change.key), value, kept });
        }
    }
}

/// Builds the script's call, which groups rows by what to compare and what to write.
fn order(keys: &Keys, incarnation: &Incarnation, seen: &Seen, writes: &[Write], tries: &Tries) -> Order {
    let mut unread: HashMap<&str, &Write, RandomState> = writes.iter().map(|write| (&*write.name, write)).collect();
    let (mut absent, mut created) = (Vec::new(), Vec::new());
    let (mut replaced, mut present) = (Vec::new(), Vec::new());
    for (name, version) in &seen.versions {
        match (unread.remove(&**name), version) {
            (None, None) => absent.push(&**name),
            (Some(write), None) => created.push(write),
            (Some(write), Some(version)) => replaced.push((write, version)),
            (None, Some(version)) => present.push((&**name, version)),
        }
    }
    let put: Vec<&Write> = unread.into_values().collect();
    let counts = [absent.len(), created.len(), put.len(), replaced.len(), present.len()];
    let written = || created.iter().chain(&put).copied().chain(replaced.iter().map(|(write, _)| *write));

    let mut order = Order::new(&SCRIPT, 3 + counts.iter().sum::<usize>());
    order.arg(keys.incarnation()).arg(keys.clock()).arg(keys.unfinished());
    order.args(&absent).args(written().map(|write| &*write.name)).args(present.iter().map(|(name, _)| *name));
    order.arg(&incarnation.value).arg(seen.read_at).arg(tries.age_max.as_millis() * 1_000);
    order.args(counts).arg(tries.noted.len()).arg(tries.struck.len());
    let versions = replaced.iter().map(|(_, version)| *version).chain(present.iter().map(|(_, version)| *version));
    order.args(versions.map(|version| &version[..]));
    for write in written() {
        order.arg(&write.value[..]).arg(write.kept.as_millis());
    }
    order.args(&tries.noted).args(&tries.struck);
    order
}

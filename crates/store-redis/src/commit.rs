//! Conditional commit: writes all rows if the read set is unchanged, or none.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use holdfast_core::schema::{LiveChange, TableAccess as _, TableTier};
use holdfast_core::time::Span;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::StoreError;
use redis::{Script, ScriptInvocation, Value};

use crate::confirm_attempts::ConfirmAttempts;
use crate::epoch::Epoch;
use crate::keys::Keys;
use crate::live::{LiveTier, unexpected};
use crate::read_set::{LiveReadSet, READ_AGE_MAX};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("compare_and_set.lua")));

/// Time to live added to each written row, so that a deleted or ended one still conflicts with older reads.
const ROW_TTL_MIN: Span = Span::from_secs(30);
/// Time to live of rows that do not expire by themselves. Recovery finishes abandoned attempts long before.
const PREPARED_TTL: Span = Span::from_hours(7 * 24);

impl LiveTier {
    /// Checks that the read set is unchanged.
    pub(crate) async fn validate(&self, read_set: &LiveReadSet) -> Result<(), StoreError> {
        if read_set.versions.is_empty() { Ok(()) } else { self.commit(&WorkingSet::default(), read_set).await }
    }

    /// Writes all changes of live rows, and idempotency records, if the read set is unchanged: all or nothing.
    pub async fn commit(&self, rows: &WorkingSet, read_set: &LiveReadSet) -> Result<(), StoreError> {
        let Some(epoch) = &read_set.epoch else { return Ok(()) };
        let (now, mut writes) = (self.latest_now(), Vec::new());
        let mut write = |change: &dyn LiveChange| writes.push(self.write(change, now));
        rows.visit(&mut |tier, table| {
            if tier == TableTier::Live && table.is_changed() {
                table.live_changes(&mut write);
            }
        });
        rows.idempotency_records.live_changes(&mut write);
        let mut attempts = ConfirmAttempts::of(rows, read_set.now);
        if self.has_clock_override() {
            // A test's clock does not advance between read and commit.
            attempts.age_max = READ_AGE_MAX;
        }
        let call = call(self.keys(), epoch, read_set, &writes, &attempts);
        match self.connection().invoke(&call).await? {
            Value::Int(1) => Ok(()),
            Value::Int(0 | -1) => Err(StoreError::Conflict),
            other => Err(unexpected(&other)),
        }
    }

    fn write(&self, change: &dyn LiveChange, now: Timestamp) -> Write {
        let mut name = self.keys().prefix.clone();
        change.write_name(&mut name);
        let mut value = format!("{:016x}", self.next_version()).into_bytes();
        let mut kept = ROW_TTL_MIN;
        if !change.is_deleted() {
            change.encode(&mut value);
            let rest = change.kept_until(now).map(|until| Span::from_millis(until.as_millis() - now.as_millis()));
            let rest = rest.map_or(PREPARED_TTL, |rest| rest.max(Span::from_millis(0)));
            kept = Span::from_millis(kept.as_millis() + rest.as_millis());
        }
        Write { name, value, kept }
    }
}

/// Row to be written.
struct Write {
    name: String,
    value: Vec<u8>,
    kept: Span,
}

/// Builds the script's call, which groups rows by what to compare and what to write.
fn call(
    keys: &Keys,
    epoch: &Epoch,
    read_set: &LiveReadSet,
    writes: &[Write],
    attempts: &ConfirmAttempts,
) -> ScriptInvocation<'static> {
    let mut unread: HashMap<&str, &Write, RandomState> = writes.iter().map(|write| (&*write.name, write)).collect();
    let (mut absent, mut created) = (Vec::new(), Vec::new());
    let (mut replaced, mut present) = (Vec::new(), Vec::new());
    for (name, version) in &read_set.versions {
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

    let mut call = SCRIPT.prepare_invoke();
    call.key(keys.epoch()).key(keys.clock()).key(keys.unfinished());
    call.key(&absent);
    for write in written() {
        call.key(&write.name);
    }
    for (name, _) in &present {
        call.key(*name);
    }
    call.arg(&epoch.value).arg(read_set.read_at).arg(attempts.age_max.as_millis() * 1_000);
    call.arg(&counts).arg(attempts.noted.len()).arg(attempts.struck.len());
    for version in replaced.iter().map(|(_, version)| *version).chain(present.iter().map(|(_, version)| *version)) {
        call.arg(&version[..]);
    }
    for write in written() {
        call.arg(&write.value[..]).arg(write.kept.as_millis());
    }
    call.arg(&attempts.noted).arg(&attempts.struck);
    call
}

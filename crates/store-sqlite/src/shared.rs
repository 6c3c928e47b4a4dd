//! SQL of tables that all verticals share: sequences, idempotency keys, outbox, commit counter.

use holdfast_core::Timestamp;
use holdfast_core::id::{ID_MAX, IdRange, UserId};
use holdfast_core::idempotency::IdempotencyRecord;
use holdfast_core::schema::sequence;
use holdfast_core::working_set::Tables;
use holdfast_engine::store::{Keep, OutboxRecord};
use holdfast_engine::{OutboxEntry, Trace};
use rusqlite::{Connection, OptionalExtension, params};

use crate::codec::{Moment, Owner};

pub(crate) fn load(connection: &Connection, tables: &mut Tables) -> rusqlite::Result<()> {
    for sequence in tables.ids.take_requested() {
        let next = connection
            .prepare_cached("SELECT next FROM sequence WHERE name = ?1")?
            .query_row([sequence::name(sequence)], |row| row.get(0))
            .optional()?;
        tables.ids.fill(sequence, Some(IdRange { next: next.unwrap_or(1), last: ID_MAX }));
    }
    for id in tables.idempotency_records.take_requested() {
        let receipt = connection
            .prepare_cached(
                "SELECT fingerprint, response, expires_at FROM idempotency_key WHERE caller = ?1 AND key = ?2",
            )?
            .query_row([&id.caller, &id.key], |row| {
                let Moment(expires_at) = row.get(2)?;
                Ok(IdempotencyRecord { fingerprint: row.get(0)?, response: row.get(1)?, expires_at })
            })
            .optional()?;
        tables.idempotency_records.fill(id, receipt);
    }
    Ok(())
}

pub(crate) fn write(connection: &Connection, tables: &Tables) -> rusqlite::Result<()> {
    for change in tables.ids.changes() {
        let range = change.row.expect("sequences are never deleted");
        write_sequence(connection, sequence::name(*change.key), range.next)?;
    }
    for change in tables.idempotency_records.changes() {
        let (id, receipt) =
            (change.key, change.row.expect("idempotency records expire and are never deleted by commands"));
        connection
            .prepare_cached("INSERT OR REPLACE INTO idempotency_key VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![id.caller, id.key, receipt.fingerprint, receipt.response, Moment(receipt.expires_at)])?;
    }
    Ok(())
}

/// Appends to the outbox. Returns the ids assigned.
pub(crate) fn append_outbox(connection: &Connection, outbox: &[OutboxEntry]) -> rusqlite::Result<Vec<u64>> {
    if outbox.is_empty() {
        return Ok(Vec::new());
    }
    let first = outbox_last(connection)? + 1;
    let next = first + outbox.len() as u64;
    write_sequence(connection, "outbox", next)?;
    let mut insert = connection.prepare_cached("INSERT INTO outbox VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (id, entry) in (first..).zip(outbox) {
        let trace = entry.trace.map(|trace| trace.to_string());
        let owner = entry.owner.as_ref().map(UserId::to_string);
        let OutboxEntry { event_type, at, data, imported, .. } = entry;
        insert.execute(params![id, event_type, owner, Moment(*at), data, trace, imported])?;
    }
    Ok((first..next).collect())
}

pub(crate) fn outbox_after(connection: &Connection, id: u64, limit: usize) -> rusqlite::Result<Vec<OutboxRecord>> {
    let sql = "SELECT id, event_type, user_id, created_at, data, trace, imported FROM outbox
        WHERE id > ?1 ORDER BY id LIMIT ?2";
    outbox(connection, sql, id, limit)
}

pub(crate) fn outbox_before(connection: &Connection, id: u64, limit: usize) -> rusqlite::Result<Vec<OutboxRecord>> {
    let sql = "SELECT id, event_type, user_id, created_at, data, trace, imported FROM outbox
        WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
    outbox(connection, sql, id, limit)
}

fn outbox(connection: &Connection, sql: &str, id: u64, limit: usize) -> rusqlite::Result<Vec<OutboxRecord>> {
    connection
        .prepare_cached(sql)?
        .query_map(params![id, limit], |row| {
            let Moment(at) = row.get(3)?;
            let trace = row.get::<_, Option<String>>(5)?.and_then(|text| Trace::parse(&text));
            let (id, event_type, Owner(owner)) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(OutboxRecord { id, event_type, owner, at, data: row.get(4)?, trace, imported: row.get(6)? })
        })?
        .collect()
}

pub(crate) fn outbox_last(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT COALESCE((SELECT next FROM sequence WHERE name = 'outbox'), 1) - 1")?
        .query_row([], |row| row.get(0))
}

pub(crate) fn installation(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT id FROM installation", [], |row| row.get(0))
}

pub(crate) fn commits(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT count FROM commits")?.query_row([], |row| row.get(0))
}

pub(crate) fn count_commit(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE commits SET count = count + 1, last_at = ?1")?.execute([Moment(now)]).map(|_| ())
}

/// Writes a later time, to test whether the file is writable. An unchanged row would not be written.
pub(crate) fn write_time(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    connection.execute("UPDATE commits SET last_at = max(last_at + 1, ?1)", [Moment(now)]).map(|_| ())
}

/// Returns the time of the last commit.
pub(crate) fn last_commit_at(connection: &Connection) -> rusqlite::Result<Timestamp> {
    connection.query_row("SELECT last_at FROM commits", [], |row| row.get(0)).map(|Moment(at)| at)
}

/// Deletes at most `limit` rows of each table. Returns their number.
pub(crate) fn purge(connection: &Connection, now: Timestamp, keep: Keep, limit: usize) -> rusqlite::Result<usize> {
    let idempotency_records = connection
        .prepare_cached(
            "DELETE FROM idempotency_key WHERE (caller, key) IN
               (SELECT caller, key FROM idempotency_key WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
        )?
        .execute(params![Moment(now), limit])?;
    let outbox = connection
        .prepare_cached(
            // Keeps unpublished entries. Without a publisher, all entries count as published.
            "DELETE FROM outbox WHERE id IN
               (SELECT id FROM outbox WHERE id NOT IN (SELECT outbox_id FROM outbox_trouble) ORDER BY id LIMIT ?2)
             AND created_at < ?1 AND id <= COALESCE((SELECT min(sent_up_to) FROM outbox_relay), id)",
        )?
        .execute(params![Moment(now - keep.outbox), limit])?;
    Ok(idempotency_records + outbox)
}

fn write_sequence(connection: &Connection, name: &str, next: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO sequence VALUES (?1, ?2) ON CONFLICT DO UPDATE SET next = excluded.next")?
        .execute(params![name, next])
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::{OpenOptions, open_writer};

    #[test]
    fn write_probe_writes_a_page() {
        let directory = tempfile::tempdir().unwrap();
        let writer = open_writer(&OpenOptions::new(directory.path())).unwrap();
        let log = directory.path().join("holdfast.db-wal");
        let size = || std::fs::metadata(&log).unwrap().len();
        let before = size();
        for _ in 0..2 {
            write_time(&writer, Timestamp::from_millis(5)).unwrap();
        }
        assert!(size() > before + 4_096, "a page each time, {before} to {}", size());
        assert_eq!(last_commit_at(&writer).unwrap(), Timestamp::from_millis(6));
    }
}

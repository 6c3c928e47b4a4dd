//! Which versions of stays' rows a batch rests on, for servers that share the database.
//!
//! Nothing is locked while a batch is decided. At the commit everything that was read is locked, in the order of tables
//! and keys, and compared: the batch stands only if nothing has moved.

use std::collections::BTreeMap;

use holdfast_core::stay::{NightId, NightsFrom, RoomTypeId, StayReservationId, Tables};
use holdfast_core::table::{Key, Row, Scan, Table};

use crate::codec::Col;
use crate::pipeline::{Pipeline, column, params};

const LOCK_ROOM_TYPES: &str = "SELECT lock_room_types($1, $2, $3)";
const LOCK_NIGHTS: &str = "SELECT lock_nights($1, $2, $3, $4)";
const LOCK_RESERVATIONS: &str = "SELECT lock_stay_reservations($1, $2, $3)";
const EXPECT_NIGHTS_FROM: &str = "SELECT expect_version(count(*), $3) FROM room_type_stock
    WHERE room_type_id = $1 AND target_date >= $2";

pub(super) const STATEMENTS: &[&str] = &[LOCK_ROOM_TYPES, LOCK_NIGHTS, LOCK_RESERVATIONS, EXPECT_NIGHTS_FROM];

/// The version of a row; `None` if it was not there.
type Version = Option<i64>;

/// What a batch has read, in the order in which it will be locked.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    room_types: BTreeMap<RoomTypeId, Version>,
    nights: BTreeMap<NightId, Version>,
    reservations: BTreeMap<StayReservationId, Version>,
    ranges: Vec<(NightsFrom, usize)>,
}

/// The first version counts: it is what the working set has kept, whatever was read later.
impl Seen {
    pub(super) fn room_type(&mut self, id: RoomTypeId, version: Version) {
        self.room_types.entry(id).or_insert(version);
    }

    pub(super) fn night(&mut self, id: NightId, version: Version) {
        self.nights.entry(id).or_insert(version);
    }

    pub(super) fn reservation(&mut self, id: StayReservationId, version: Version) {
        self.reservations.entry(id).or_insert(version);
    }

    /// All nights from one on, and how many there are.
    pub(super) fn nights_from(&mut self, scan: NightsFrom, rows: usize) {
        self.ranges.push((scan, rows));
    }

    /// Locks all of it until the end of the transaction, and refuses if anything has moved.
    pub(crate) fn lock(&self, pipeline: &mut Pipeline<'_>, tables: &Tables) {
        let rows = with_writes(&self.room_types, &tables.room_types);
        if !rows.is_empty() {
            let ids = column(&rows, |(id, ..)| Col(id));
            pipeline.send(LOCK_ROOM_TYPES, vec![ids, column(&rows, |row| row.1), column(&rows, |row| row.2)]);
        }
        let rows = with_writes(&self.nights, &tables.nights);
        if !rows.is_empty() {
            let room_types = column(&rows, |(id, ..)| Col(id.room_type));
            let dates = column(&rows, |(id, ..)| Col(id.date));
            let versions = column(&rows, |row| row.1);
            pipeline.send(LOCK_NIGHTS, vec![room_types, dates, versions, column(&rows, |row| row.2)]);
        }
        let rows = with_writes(&self.reservations, &tables.reservations);
        if !rows.is_empty() {
            let ids = column(&rows, |(id, ..)| Col(id));
            pipeline.send(LOCK_RESERVATIONS, vec![ids, column(&rows, |row| row.1), column(&rows, |row| row.2)]);
        }
        // Last: nobody adds a night without the lock of its room type, which is ours by now if we are to write it.
        for (NightsFrom(from), rows) in &self.ranges {
            pipeline.send(EXPECT_NIGHTS_FROM, params![Col(from.room_type), Col(from.date), *rows as i64]);
        }
    }
}

/// Each row with its version, and whether the batch writes it.
fn with_writes<K: Key + Copy, V: Row, S: Scan<K>>(
    seen: &BTreeMap<K, Version>,
    table: &Table<K, V, S>,
) -> Vec<(K, Version, bool)> {
    let mut written = table.changes().into_iter().map(|change| *change.key).peekable();
    let is_written = |key: &K| {
        while written.next_if(|change| change < key).is_some() {}
        written.peek() == Some(key)
    };
    // Both are in the order of keys.
    let mut is_written = is_written;
    seen.iter().map(|(key, version)| (*key, *version, is_written(key))).collect()
}

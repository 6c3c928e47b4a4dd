//! [`TableAccess`] of a table, and the encoding of live rows.

use super::{Change, Key, Row, Scan, Table};
use crate::audit::Audit;
use crate::schema::access::{ChangeKind, Damaged, KeySink, LiveChange, RowChange, RowSink, TableAccess};
use crate::schema::row::{StoredRow, TableRow};
use crate::schema::spec::TableSpec;
use crate::schema::{Value, ValueReader, Values, codec};
use crate::time::Timestamp;

/// Version of the encoding of live rows.
const VERSION: u8 = 1;

impl<K, V, S> TableAccess for Table<K, V, S>
where
    K: Key + Send + Sync + 'static,
    V: TableRow<K>,
    S: Scan<K> + Sync,
{
    fn spec(&self) -> &'static TableSpec {
        V::SPEC
    }

    fn has_requests(&self) -> bool {
        !self.requested.is_empty() || !self.scans_requested.is_empty()
    }

    fn has_range_requests(&self) -> bool {
        !self.scans_requested.is_empty()
    }

    fn is_changed(&self) -> bool {
        !self.journal.is_empty()
    }

    fn requests(&mut self, sink: &mut dyn KeySink) {
        self.sort_requested();
        let mut values = Values::with_capacity(V::SPEC.key.len());
        for slot in &self.requested {
            values.0.clear();
            V::put_key(self.key(*slot), &mut values);
            sink.key(&values.0);
        }
        for scan in &self.scans_requested {
            let range = scan.range();
            let (mut first, mut last) = (Values::default(), Values::default());
            V::put_key(range.start(), &mut first);
            V::put_key(range.end(), &mut last);
            sink.range(&first.0, &last.0);
        }
    }

    fn requested_names(&mut self, prefix: &str, now: Timestamp, names: &mut Vec<String>) {
        for scan in std::mem::take(&mut self.scans_requested) {
            // Known rows too: reading them again shows whether they have changed.
            self.request_elsewhere(scan.candidates(now));
            self.scans_requested.push(scan);
        }
        self.sort_requested();
        names.reserve(self.requested.len());
        for slot in &self.requested {
            let mut name = String::with_capacity(prefix.len() + 64);
            name.push_str(prefix);
            V::write_name(self.key(*slot), &mut name);
            names.push(name);
        }
    }

    fn fill(&mut self, row: StoredRow<'_>) -> Result<(), Damaged> {
        let (key, row) = row.read().ok_or_else(damaged::<K, V>)?;
        Table::fill(self, key, Some(row));
        Ok(())
    }

    fn fill_at(&mut self, position: usize, row: Option<StoredRow<'_>>) -> Result<(), Damaged> {
        let slot = self.requested[position];
        let read = |row: StoredRow<'_>| V::take(self.key(slot), &mut ValueReader::new(row.values), row.lines);
        let row = row.map(|row| read(row).ok_or_else(damaged::<K, V>)).transpose()?;
        if self.fill_slot(slot, row) {
            self.filled.push(slot);
        }
        Ok(())
    }

    fn finish(&mut self) {
        for slot in std::mem::take(&mut self.requested) {
            if self.fill_slot(slot, None) {
                self.filled.push(slot);
            }
        }
        self.scans_known.append(&mut self.scans_requested);
    }

    fn changes<'a>(&'a self, sink: &mut dyn RowSink<'a>) {
        let mut values = Values::with_capacity(V::SPEC.columns().count());
        for change in Table::changes(self) {
            let kind = match (change.is_new, change.row) {
                (true, Some(_)) => ChangeKind::Insert,
                (false, Some(_)) if change.is_remade => ChangeKind::Replace,
                (false, Some(_)) => ChangeKind::Update,
                (false, None) => ChangeKind::Delete,
                // Created and deleted in the same batch.
                (true, None) => continue,
            };
            values.0.clear();
            V::put_key(change.key, &mut values);
            let mut lines = Vec::new();
            if let Some(row) = change.row {
                row.put(&mut values);
                if kind != ChangeKind::Update {
                    row.put_child_rows(&mut lines);
                }
            }
            if sink.change(RowChange { kind, values: &mut values.0, lines }).is_break() {
                return;
            }
        }
    }

    fn live_changes(&self, sink: &mut dyn FnMut(&dyn LiveChange)) {
        for change in Table::changes(self) {
            sink(&change);
        }
    }

    fn show(&self, row: StoredRow<'_>, audit: &mut Audit) -> Result<(), Damaged> {
        let (key, row) = row.read().ok_or_else(damaged::<K, V>)?;
        V::show(&key, &row, audit);
        Ok(())
    }
}

impl<K: Key, V: Row, S: Scan<K>> Table<K, V, S> {
    fn sort_requested(&mut self) {
        let states = &self.states;
        let key = |slot: &usize| states.get_index(*slot).expect("a slot lasts as long as the working set").0;
        self.requested.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.requested.dedup();
    }
}

fn damaged<K, V: TableRow<K>>() -> Damaged {
    Damaged { table: V::SPEC.table }
}

impl<K, V: TableRow<K>> LiveChange for Change<'_, K, V> {
    fn write_name(&self, name: &mut String) {
        V::write_name(self.key, name);
    }

    fn is_deleted(&self) -> bool {
        self.row.is_none()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if let Some(row) = self.row {
            encode_row(row, out);
        }
    }

    fn kept_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.row.and_then(|row| row.kept_until(now))
    }
}

/// Appends the encoding of a live row: the columns that follow the key, then each child row as a sequence of its own.
fn encode_row<K, V: TableRow<K>>(row: &V, out: &mut Vec<u8>) {
    let (mut values, mut lines) = (Values::with_capacity(V::SPEC.columns().count()), Vec::new());
    row.put(&mut values);
    row.put_child_rows(&mut lines);
    values.0.extend(lines.iter().map(|line| Value::Bytes(codec::encode(VERSION, &line.0).into())));
    codec::encode_into(VERSION, &values.0, out);
}

/// Decodes a live row as [`LiveChange::encode`] wrote it. `None` if the bytes are damaged, or of another version.
pub fn decode_row<'a>(spec: &TableSpec, encoded: &'a [u8]) -> Option<StoredRow<'a>> {
    let mut values = decode(encoded)?;
    let width = spec.fixed.len() + spec.changing.len();
    if values.len() < width {
        return None;
    }
    let lines = values.split_off(width);
    let line = |line: &Value<'a>| match line {
        Value::Bytes(std::borrow::Cow::Borrowed(line)) => decode(line).map(ValueReader::new),
        _ => None,
    };
    let lines = lines.iter().map(line).collect::<Option<_>>()?;
    Some(StoredRow { values, lines })
}

fn decode(encoded: &[u8]) -> Option<Vec<Value<'_>>> {
    let (version, values) = codec::decode(encoded)?;
    (version == VERSION).then_some(values)
}

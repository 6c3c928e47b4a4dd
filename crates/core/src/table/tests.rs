//! Tables as working set and as in-memory state.

use super::ranges::Ranges;
use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Text(&'static str, Option<i64>);

impl Row for Text {
    fn ends_at(&self) -> Option<Timestamp> {
        self.1.map(|second| Timestamp::from_millis(second * 1_000))
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Upto(u32);

impl Scan<u32> for Upto {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<u32> {
        0..=self.0
    }

    fn prefetch(key: &u32) -> Option<Self> {
        Some(Self(key / 10 * 10 + 9))
    }
}

type Texts = Table<u32, Text, Upto>;
type TextState = TableState<u32, Text, Upto>;

fn commit(memory: &mut TextState, key: u32, row: Option<Text>) {
    memory.put(key, row);
}

/// Purges until every shard has been searched.
fn sweep(memory: &mut TextState, now: Timestamp) {
    for _ in 0..SWEEPS {
        memory.purge(now, 0);
    }
}

fn lasting(text: &'static str) -> Text {
    Text(text, None)
}

#[test]
fn unknown_row_is_requested_once() {
    let mut table = Texts::default();
    assert!(table.get(&1).is_err());
    assert!(table.get(&1).is_err());
    assert_eq!(table.take_requested(), [1]);
    table.fill(1, Some(lasting("one")));
    assert_eq!(table.get(&1).unwrap(), Some(&lasting("one")));
}

#[test]
fn roll_back_restores_rows_before_stamp() {
    let mut table = Texts::default();
    table.fill(1, Some(lasting("old")));
    table.request(&4);
    table.begin(1);
    table.insert(2, lasting("kept"));
    table.begin(2);
    table.put(1, lasting("new"));
    table.delete(2);
    table.insert(3, lasting("gone"));
    table.insert(4, lasting("gone"));
    table.roll_back(2);
    assert!(table.get(&4).is_err(), "a requested row stays requested");
    assert_eq!(table.get(&1).unwrap(), Some(&lasting("old")));
    assert_eq!(table.changes(), [Change { is_new: true, is_remade: false, key: &2, row: Some(&lasting("kept")) }]);
    assert!(table.get(&3).is_err(), "a row that was only written is unknown again");
}

#[test]
fn change_tells_whether_row_is_new() {
    let mut table = Texts::default();
    table.fill(1, Some(lasting("old")));
    table.fill(2, None);
    table.insert(3, lasting("new"));
    for key in [2, 1, 1] {
        table.put(key, lasting("new"));
    }
    let is_new: Vec<_> = table.changes().iter().map(|change| (*change.key, change.is_new)).collect();
    assert_eq!(is_new, [(1, false), (2, true), (3, true)]);
}

#[test]
fn replaced_row_differs_from_changed_row() {
    let mut table = Texts::default();
    for key in 1..=4 {
        table.fill(key, Some(lasting("old")));
    }
    table.put(1, lasting("changed"));
    for key in 2..=4 {
        table.delete(key);
    }
    table.insert(3, lasting("new"));
    table.insert(4, lasting("new"));
    table.delete(4);
    table.insert(5, lasting("new"));
    table.delete(5);
    table.insert(5, lasting("newer"));
    let reported =
        |change: &Change<'_, u32, Text>| (*change.key, change.is_new, change.is_remade, change.row.is_some());
    let reported: Vec<_> = table.changes().iter().map(reported).collect();
    assert_eq!(
        reported,
        [
            (1, false, false, true),
            (2, false, false, false),
            (3, false, true, true),
            (4, false, false, false),
            (5, true, false, true)
        ]
    );
}

#[test]
fn scan_sees_own_writes() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(lasting("one")));
    commit(&mut memory, 2, Some(lasting("two")));
    commit(&mut memory, 9, Some(lasting("nine")));
    let mut table = Texts::default();
    table.insert(3, lasting("three"));
    table.fill(1, Some(lasting("one")));
    table.delete(1);
    assert!(table.scan(&Upto(5)).is_err());
    table.fill_from(&memory);
    assert_eq!(table.scan(&Upto(5)).unwrap(), [2, 3]);
}

#[test]
fn absent_row_in_known_range_does_not_exist() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(lasting("one")));
    let mut table = Texts::default();
    assert!(table.scan(&Upto(5)).is_err());
    table.fill_from(&memory);
    assert_eq!(table.get(&2).unwrap(), None);
    assert!(table.is_loaded());
    table.put(2, lasting("two"));
    assert_eq!(table.changes(), [Change { is_new: true, is_remade: false, key: &2, row: Some(&lasting("two")) }]);
    assert!(table.get(&6).is_err(), "beyond the range no row is known");
}

#[test]
fn complete_table_purges_ended_rows_only() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(Text("short", Some(10))));
    commit(&mut memory, 2, Some(Text("prolonged", Some(10))));
    commit(&mut memory, 2, Some(Text("prolonged", Some(20))));
    sweep(&mut memory, Timestamp::from_millis(9_999));
    assert_eq!(memory.rows().count(), 2);
    sweep(&mut memory, Timestamp::from_millis(10_000));
    assert_eq!(memory.rows().map(|(key, _)| *key).collect::<Vec<_>>(), [2]);
    sweep(&mut memory, Timestamp::from_millis(20_000));
    assert_eq!((memory.rows().count(), memory.scan(&Upto(9)).unwrap().len()), (0, 0));
}

#[test]
fn prepared_row_is_kept_until_it_ends_again() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(Text("ends", Some(10))));
    commit(&mut memory, 1, Some(lasting("prepared")));
    sweep(&mut memory, Timestamp::from_millis(20_000));
    assert_eq!(memory.get(&1).unwrap(), Some(&lasting("prepared")));
    commit(&mut memory, 1, Some(Text("ends", Some(30))));
    sweep(&mut memory, Timestamp::from_millis(30_000));
    assert_eq!(memory.get(&1).unwrap(), None);
}

#[test]
fn scan_sees_all_rows_and_no_deleted_ones() {
    let mut table = Texts::default();
    table.fill(5, Some(lasting("before the scan")));
    assert!(table.scan(&Upto(9)).is_err());
    table.fill(3, Some(lasting("filled")));
    table.fill(4, None);
    table.fill_scan(Upto(9));
    table.request(&6);
    table.begin(1);
    table.insert(2, lasting("written"));
    table.delete(5);
    assert_eq!(table.scan(&Upto(9)).unwrap(), [2, 3]);
    table.roll_back(1);
    assert_eq!(table.scan(&Upto(9)).unwrap(), [3, 5]);
    let mut other = Texts::default();
    assert!(other.scan(&Upto(9)).is_err());
    other.copy_known(&table);
    assert_eq!(other.scan(&Upto(9)).unwrap(), [3, 5]);
}

#[test]
fn scan_finds_row_that_was_written_again() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(Text("first", Some(10))));
    commit(&mut memory, 1, None);
    assert_eq!(memory.scan(&Upto(9)).unwrap(), [0; 0]);
    commit(&mut memory, 1, Some(Text("second", Some(12))));
    assert_eq!(memory.scan(&Upto(9)).unwrap(), [1]);
    sweep(&mut memory, Timestamp::from_millis(10_000));
    assert_eq!(memory.get(&1).unwrap(), Some(&Text("second", Some(12))), "its end has moved");
}

#[test]
fn load_never_overwrites_own_write() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(lasting("old")));
    let mut table = Texts::default();
    assert!(table.scan(&Upto(5)).is_err());
    table.request(&1);
    table.insert(1, lasting("new"));
    table.fill_from(&memory);
    assert_eq!(table.get(&1).unwrap(), Some(&lasting("new")));
}

#[test]
#[should_panic(expected = "is written before it was read")]
fn blind_write_panics() {
    let mut table = Texts::default();
    table.request(&1);
    table.put(1, lasting("blind"));
}

#[test]
fn purge_removes_ended_rows_in_steps() {
    let mut memory = TextState::complete();
    for key in 0..1_000 {
        commit(&mut memory, key, Some(Text("ends", Some(10 + i64::from(key % 2)))));
    }
    commit(&mut memory, 1_000, Some(lasting("stays")));
    let mut count = || {
        memory.purge(Timestamp::from_millis(10_000), usize::MAX);
        memory.rows().count()
    };
    let counts: Vec<usize> = (0..SWEEPS).map(|_| count()).collect();
    assert!(counts[0] > 501, "not all at once: {counts:?}");
    assert_eq!(counts.last(), Some(&501));
    assert_eq!(scanned(&memory, 8), Some(vec![1, 3, 5, 7]));
}

#[test]
fn deleted_row_leaves_complete_table() {
    let mut memory = TextState::complete();
    commit(&mut memory, 1, Some(Text("gone", Some(10))));
    commit(&mut memory, 1, None);
    assert_eq!((memory.rows().count(), scanned(&memory, 9)), (0, Some(vec![])));
}

#[test]
fn final_value_of_row_written_twice_is_applied() {
    let mut memory = TextState::complete();
    let mut table = Texts::default();
    table.insert(1, lasting("first"));
    table.put(1, lasting("second"));
    memory.apply(&mut table);
    assert_eq!(memory.get(&1).unwrap(), Some(&lasting("second")));
}

/// Returns a working set that has read these rows and the range up to `upto` from a store.
fn read(rows: &[(u32, &'static str)], upto: u32) -> Texts {
    let mut read = Texts::default();
    assert!(read.scan(&Upto(upto)).is_err());
    for (key, text) in rows {
        read.fill(*key, Some(lasting(text)));
    }
    read.take_scans_requested();
    read.fill_scan(Upto(upto));
    read
}

fn scanned(memory: &TextState, upto: u32) -> Option<Vec<u32>> {
    let mut request = Texts::default();
    assert!(request.scan(&Upto(upto)).is_err());
    let is_answered = request.is_covered_by(memory);
    request.fill_from(memory);
    assert_eq!(request.is_loaded(), is_answered);
    is_answered.then(|| request.scan(&Upto(upto)).unwrap())
}

#[test]
fn cache_has_rows_read_and_committed_since() {
    let mut memory = TextState::cached();
    memory.cache_read(&read(&[(2, "two"), (5, "five")], 9), 100);
    assert_eq!(scanned(&memory, 9), Some(vec![2, 5]));
    assert_eq!(scanned(&memory, 4), Some(vec![2]), "a part of a known range is known");
    assert_eq!(scanned(&memory, 10), None);

    let mut committed = Texts::default();
    committed.fill(5, Some(lasting("five")));
    committed.delete(5);
    committed.insert(7, lasting("seven"));
    memory.apply(&mut committed);
    assert_eq!(scanned(&memory, 9), Some(vec![2, 7]));
}

#[test]
fn read_never_overwrites_newer_cached_row() {
    let mut memory = TextState::cached();
    let mut committed = Texts::default();
    committed.insert(2, lasting("new"));
    memory.apply(&mut committed);
    memory.cache_read(&read(&[(2, "old")], 9), 100);
    assert_eq!(memory.get(&2).unwrap(), Some(&lasting("new")));
}

#[test]
fn full_cache_adds_nothing_and_is_evicted() {
    let mut memory = TextState::cached();
    memory.cache_read(&read(&[(1, "one"), (2, "two")], 9), 2);
    memory.cache_read(&read(&[(12, "twelve")], 19), 2);
    assert_eq!(scanned(&memory, 9), Some(vec![1, 2]));
    assert_eq!(scanned(&memory, 19), None);
    memory.purge(Timestamp::default(), 2);
    assert_eq!(scanned(&memory, 9), None);
}

#[test]
fn overlapping_ranges_are_merged() {
    let mut ranges = Ranges::default();
    for (first, last) in [(10, 19), (30, 39), (50, 59)] {
        ranges.add(first..=last);
    }
    assert!(ranges.cover(&(12..=19)) && !ranges.cover(&(19..=30)) && !ranges.cover(&(9..=12)));
    ranges.add(15..=35);
    assert!(ranges.cover(&(10..=39)) && ranges.cover(&(50..=59)) && !ranges.cover(&(39..=50)));
    assert_eq!(ranges.len(), 2);
    ranges.add(0..=99);
    assert_eq!(ranges.len(), 1);
}

#[test]
fn prefetch_adds_ranges_unless_cache_is_full() {
    let mut memory = TextState::cached();
    let mut request = Texts::default();
    request.request(&2);
    request.request(&3);
    assert_eq!(request.prefetch(&memory, 100).take_scans_requested(), [Upto(9)]);
    memory.cache_read(&read(&[(1, "one"), (2, "two")], 9), 100);
    assert!(request.is_covered_by(&memory), "an absent row in a known range does not exist");
    request.fill_from(&memory);
    assert_eq!(request.get(&2).unwrap(), Some(&lasting("two")));
    assert_eq!(request.get(&3).unwrap(), None);
    assert!(request.prefetch(&memory, 100).is_loaded(), "no row is requested any more");
    request.request(&12);
    assert_eq!(request.prefetch(&memory, 100).take_scans_requested(), [Upto(19)]);
    assert!(request.prefetch(&memory, 2).is_loaded(), "the cache is full");
}

#[derive(Clone, Debug, PartialEq)]
struct NotCachedOnInsert(u32);

impl Row for NotCachedOnInsert {
    const CACHED_ON_INSERT: bool = false;
}

#[test]
fn uncached_insert_is_applied_to_known_rows_only() {
    let mut memory = TableState::<u32, NotCachedOnInsert, Upto>::cached();
    let mut read = Table::default();
    read.fill_scan(Upto(9));
    memory.cache_read(&read, 100);
    let mut committed = Table::default();
    committed.insert(5, NotCachedOnInsert(5));
    assert!(memory.apply(&mut committed), "the cache knew that the row did not exist");
    committed.insert(15, NotCachedOnInsert(15));
    committed.put(15, NotCachedOnInsert(16));
    committed.fill(25, Some(NotCachedOnInsert(25)));
    committed.put(25, NotCachedOnInsert(26));
    assert!(!memory.apply(&mut committed));
    assert_eq!((memory.peek(&5), memory.peek(&15)), (Some(Some(&NotCachedOnInsert(5))), None));
    assert_eq!(memory.peek(&25), Some(Some(&NotCachedOnInsert(26))), "the row was read");
}

#[test]
fn absence_of_shared_rows_is_not_cached() {
    let mut state = TableState::<u32, Text>::existing();
    let mut read = Table::default();
    for (key, row) in [(1, Some(Text("plan", None))), (2, None)] {
        read.get(&key).unwrap_err();
        read.fill(key, row);
    }
    state.cache_read(&read, 10);
    assert_eq!(state.get(&1), Ok(Some(&Text("plan", None))));
    assert_eq!(state.get(&2), Err(NeedRows));
}

//! What a table does, as a working set and as a store's memory.

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

    fn around(key: &u32) -> Option<Self> {
        Some(Self(key / 10 * 10 + 9))
    }
}

type Texts = Table<u32, Text, Upto>;

fn keep(table: &mut Texts, key: u32, row: Option<Text>) {
    table.memory.as_mut().unwrap().keep(key, row);
}

/// Tidies until everything has been looked at.
fn sweep(memory: &mut Texts, now: Timestamp) {
    for _ in 0..SWEEPS {
        memory.tidy(now, 0);
    }
}

fn lasting(text: &'static str) -> Text {
    Text(text, None)
}

#[test]
fn an_unknown_row_is_asked_for_once_and_then_known() {
    let mut table = Texts::default();
    assert!(table.get(&1).is_err());
    assert!(table.get(&1).is_err());
    assert_eq!(table.take_wanted(), [1]);
    table.supply(1, Some(lasting("one")));
    assert_eq!(table.get(&1).unwrap(), Some(&lasting("one")));
}

#[test]
fn undoing_restores_what_was_there_and_keeps_earlier_writes() {
    let mut table = Texts::default();
    table.supply(1, Some(lasting("old")));
    table.want(&4);
    table.begin(1);
    table.insert(2, lasting("kept"));
    table.begin(2);
    table.put(1, lasting("new"));
    table.delete(2);
    table.insert(3, lasting("gone"));
    table.insert(4, lasting("gone"));
    table.roll_back(2);
    assert!(table.get(&4).is_err(), "a row that was asked for is asked for again");
    assert_eq!(table.get(&1).unwrap(), Some(&lasting("old")));
    assert_eq!(table.changes(), [Change { is_new: true, is_remade: false, key: &2, row: Some(&lasting("kept")) }]);
    assert!(table.get(&3).is_err(), "a row that was only written is unknown again");
}

#[test]
fn a_change_tells_whether_the_store_had_the_row_before() {
    let mut table = Texts::default();
    table.supply(1, Some(lasting("old")));
    table.supply(2, None);
    table.insert(3, lasting("new"));
    for key in [2, 1, 1] {
        table.put(key, lasting("new"));
    }
    let is_new: Vec<_> = table.changes().iter().map(|change| (*change.key, change.is_new)).collect();
    assert_eq!(is_new, [(1, false), (2, true), (3, true)]);
}

#[test]
fn a_row_that_is_made_anew_in_the_place_of_a_deleted_one_is_told_from_one_that_changed() {
    let mut table = Texts::default();
    for key in 1..=4 {
        table.supply(key, Some(lasting("old")));
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
    let told = |change: &Change<'_, u32, Text>| (*change.key, change.is_new, change.is_remade, change.row.is_some());
    let told: Vec<_> = table.changes().iter().map(told).collect();
    assert_eq!(
        told,
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
fn a_scan_sees_what_the_working_set_wrote() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(lasting("one")));
    keep(&mut memory, 2, Some(lasting("two")));
    keep(&mut memory, 9, Some(lasting("nine")));
    let mut table = Texts::default();
    table.insert(3, lasting("three"));
    table.supply(1, Some(lasting("one")));
    table.delete(1);
    assert!(table.scan(&Upto(5)).is_err());
    table.answer_from(&memory);
    assert_eq!(table.scan(&Upto(5)).unwrap(), [2, 3]);
}

#[test]
fn what_a_known_range_does_not_have_does_not_exist_and_is_not_asked_for() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(lasting("one")));
    let mut table = Texts::default();
    assert!(table.scan(&Upto(5)).is_err());
    table.answer_from(&memory);
    assert_eq!(table.get(&2).unwrap(), None);
    assert!(table.is_settled());
    table.put(2, lasting("two"));
    assert_eq!(table.changes(), [Change { is_new: true, is_remade: false, key: &2, row: Some(&lasting("two")) }]);
    assert!(table.get(&6).is_err(), "beyond the range nothing is known");
}

#[test]
fn a_complete_table_forgets_a_row_when_it_has_ended_and_not_before() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(Text("short", Some(10))));
    keep(&mut memory, 2, Some(Text("prolonged", Some(10))));
    keep(&mut memory, 2, Some(Text("prolonged", Some(20))));
    sweep(&mut memory, Timestamp::from_millis(9_999));
    assert_eq!(memory.rows().count(), 2);
    sweep(&mut memory, Timestamp::from_millis(10_000));
    assert_eq!(memory.rows().map(|(key, _)| *key).collect::<Vec<_>>(), [2]);
    sweep(&mut memory, Timestamp::from_millis(20_000));
    assert_eq!((memory.rows().count(), memory.scan(&Upto(9)).unwrap().len()), (0, 0));
}

#[test]
fn a_row_that_has_no_end_for_the_moment_is_kept_until_it_has_one_again() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(Text("ends", Some(10))));
    keep(&mut memory, 1, Some(lasting("pinned")));
    sweep(&mut memory, Timestamp::from_millis(20_000));
    assert_eq!(memory.get(&1).unwrap(), Some(&lasting("pinned")));
    keep(&mut memory, 1, Some(Text("ends", Some(30))));
    sweep(&mut memory, Timestamp::from_millis(30_000));
    assert_eq!(memory.get(&1).unwrap(), None);
}

#[test]
fn a_scan_sees_rows_however_they_came_and_none_that_is_not_there() {
    let mut table = Texts::default();
    table.supply(5, Some(lasting("before it was asked for")));
    assert!(table.scan(&Upto(9)).is_err());
    table.supply(3, Some(lasting("supplied")));
    table.supply(4, None);
    table.supply_scan(Upto(9));
    table.want(&6);
    table.begin(1);
    table.insert(2, lasting("written"));
    table.delete(5);
    assert_eq!(table.scan(&Upto(9)).unwrap(), [2, 3]);
    table.roll_back(1);
    assert_eq!(table.scan(&Upto(9)).unwrap(), [3, 5]);
    let mut other = Texts::default();
    assert!(other.scan(&Upto(9)).is_err());
    other.answer_from(&table);
    assert_eq!(other.scan(&Upto(9)).unwrap(), [3, 5]);
}

#[test]
fn a_row_that_was_emptied_and_written_again_is_found_by_scans() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(Text("first", Some(10))));
    keep(&mut memory, 1, None);
    assert_eq!(memory.scan(&Upto(9)).unwrap(), [0; 0]);
    keep(&mut memory, 1, Some(Text("second", Some(12))));
    assert_eq!(memory.scan(&Upto(9)).unwrap(), [1]);
    sweep(&mut memory, Timestamp::from_millis(10_000));
    assert_eq!(memory.get(&1).unwrap(), Some(&Text("second", Some(12))), "its end has moved");
}

#[test]
fn an_answer_never_overwrites_what_was_written_meanwhile() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(lasting("old")));
    let mut table = Texts::default();
    assert!(table.scan(&Upto(5)).is_err());
    table.want(&1);
    table.insert(1, lasting("new"));
    table.answer_from(&memory);
    assert_eq!(table.get(&1).unwrap(), Some(&lasting("new")));
}

#[test]
#[should_panic(expected = "is written before it was looked for")]
fn a_row_that_may_be_there_is_not_written_before_it_is_known() {
    let mut table = Texts::default();
    table.want(&1);
    table.put(1, lasting("blind"));
}

#[test]
fn a_complete_memory_forgets_what_has_ended_a_part_at_a_time_and_keeps_the_rest() {
    let mut memory = Texts::complete();
    for key in 0..1_000 {
        keep(&mut memory, key, Some(Text("ends", Some(10 + i64::from(key % 2)))));
    }
    keep(&mut memory, 1_000, Some(lasting("stays")));
    let mut count = || {
        memory.tidy(Timestamp::from_millis(10_000), usize::MAX);
        memory.rows().count()
    };
    let counts: Vec<usize> = (0..SWEEPS).map(|_| count()).collect();
    assert!(counts[0] > 501, "not all at once: {counts:?}");
    assert_eq!(counts.last(), Some(&501));
    assert_eq!(scanned(&memory, 8), Some(vec![1, 3, 5, 7]));
}

#[test]
fn a_row_that_is_deleted_leaves_nothing_behind_in_a_complete_memory() {
    let mut memory = Texts::complete();
    keep(&mut memory, 1, Some(Text("gone", Some(10))));
    keep(&mut memory, 1, None);
    assert_eq!((memory.rows().count(), scanned(&memory, 9)), (0, Some(vec![])));
}

#[test]
fn memory_takes_over_the_final_value_of_a_row_written_twice() {
    let mut memory = Texts::complete();
    let mut table = Texts::default();
    table.insert(1, lasting("first"));
    table.put(1, lasting("second"));
    memory.absorb(&mut table);
    assert_eq!(memory.get(&1).unwrap(), Some(&lasting("second")));
}

/// A working set that has read these rows and the range up to `upto` from a store.
fn read(rows: &[(u32, &'static str)], upto: u32) -> Texts {
    let mut read = Texts::default();
    assert!(read.scan(&Upto(upto)).is_err());
    for (key, text) in rows {
        read.supply(*key, Some(lasting(text)));
    }
    read.take_scans_wanted();
    read.supply_scan(Upto(upto));
    read
}

fn scanned(memory: &Texts, upto: u32) -> Option<Vec<u32>> {
    let mut asks = Texts::default();
    assert!(asks.scan(&Upto(upto)).is_err());
    let is_answered = asks.is_answered_by(memory);
    asks.answer_from(memory);
    assert_eq!(asks.is_settled(), is_answered);
    is_answered.then(|| asks.scan(&Upto(upto)).unwrap())
}

#[test]
fn a_memory_knows_what_it_learned_from_a_query_and_what_was_committed_since() {
    let mut memory = Texts::cache();
    memory.learn(&read(&[(2, "two"), (5, "five")], 9), 100);
    assert_eq!(scanned(&memory, 9), Some(vec![2, 5]));
    assert_eq!(scanned(&memory, 4), Some(vec![2]), "a part of what is known is known");
    assert_eq!(scanned(&memory, 10), None);

    let mut committed = Texts::default();
    committed.supply(5, Some(lasting("five")));
    committed.delete(5);
    committed.insert(7, lasting("seven"));
    memory.absorb(&mut committed);
    assert_eq!(scanned(&memory, 9), Some(vec![2, 7]));
}

#[test]
fn a_memory_does_not_learn_what_it_knows_better() {
    let mut memory = Texts::cache();
    let mut committed = Texts::default();
    committed.insert(2, lasting("new"));
    memory.absorb(&mut committed);
    memory.learn(&read(&[(2, "old")], 9), 100);
    assert_eq!(memory.get(&2).unwrap(), Some(&lasting("new")));
}

#[test]
fn a_memory_that_is_full_learns_nothing_and_forgets_all_at_once() {
    let mut memory = Texts::cache();
    memory.learn(&read(&[(1, "one"), (2, "two")], 9), 2);
    memory.learn(&read(&[(12, "twelve")], 19), 2);
    assert_eq!(scanned(&memory, 9), Some(vec![1, 2]));
    assert_eq!(scanned(&memory, 19), None);
    memory.tidy(Timestamp::default(), 2);
    assert_eq!(scanned(&memory, 9), None);
}

#[test]
fn ranges_that_meet_are_one() {
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
fn what_lies_around_a_wanted_row_is_read_along_unless_memory_is_full() {
    let mut memory = Texts::cache();
    let mut asks = Texts::default();
    asks.want(&2);
    asks.want(&3);
    assert_eq!(asks.around(&memory, 100).take_scans_wanted(), [Upto(9)]);
    memory.learn(&read(&[(1, "one"), (2, "two")], 9), 100);
    assert!(asks.is_answered_by(&memory), "in a range that is known, a row that is not there does not exist");
    asks.answer_from(&memory);
    assert_eq!(asks.get(&2).unwrap(), Some(&lasting("two")));
    assert_eq!(asks.get(&3).unwrap(), None);
    assert!(asks.around(&memory, 100).is_settled(), "nothing is wanted any more");
    asks.want(&12);
    assert_eq!(asks.around(&memory, 100).take_scans_wanted(), [Upto(19)]);
    assert!(asks.around(&memory, 2).is_settled(), "it would learn nothing");
}

#[derive(Clone, Debug, PartialEq)]
struct MadeAhead(u32);

impl Row for MadeAhead {
    const KEPT_WHEN_MADE: bool = false;
}

#[test]
fn what_was_made_ahead_is_left_out_of_a_memory_that_knew_nothing_of_it() {
    let mut memory = Table::<u32, MadeAhead, Upto>::cache();
    let mut read = Table::default();
    read.supply_scan(Upto(9));
    memory.learn(&read, 100);
    let mut committed = Table::default();
    committed.insert(5, MadeAhead(5));
    assert!(memory.absorb(&mut committed), "it knew that there was no such row, and has to know better");
    committed.insert(15, MadeAhead(15));
    committed.put(15, MadeAhead(16));
    committed.supply(25, Some(MadeAhead(25)));
    committed.put(25, MadeAhead(26));
    assert!(!memory.absorb(&mut committed));
    assert_eq!((memory.peek(&5), memory.peek(&15)), (Some(Some(&MadeAhead(5))), None));
    assert_eq!(memory.peek(&25), Some(Some(&MadeAhead(26))), "somebody has asked for it");
}

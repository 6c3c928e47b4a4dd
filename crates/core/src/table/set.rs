//! Tables together: what can be done to one can be done to all of them at once.

use crate::time::Timestamp;

/// What tables, and structs made of tables, can all do. Implement it for such a struct with
/// [`table_set!`](crate::table_set).
pub trait TableSet {
    /// Journal what follows under `stamp`. Stamps only grow.
    fn begin(&mut self, stamp: u64);
    /// Undo everything written under `stamp` or a later one.
    fn roll_back(&mut self, stamp: u64);
    /// Whether nothing is wanted.
    fn is_settled(&self) -> bool;
    /// Whether anything was written.
    fn has_changes(&self) -> bool;
    /// Whether `memory` knows everything that is wanted here.
    fn is_answered_by(&self, memory: &Self) -> bool;
    /// Fill in what `memory` knows of what is wanted here. Another working set is a memory too.
    fn answer_from(&mut self, memory: &Self);
    /// An empty working set that wants the same.
    #[must_use]
    fn copy_wants(&self) -> Self;
    /// An empty working set that wants what lies around the rows wanted here, for `memory` to learn; nothing where that is
    /// full.
    #[must_use]
    fn around(&self, memory: &Self, cached_max: usize) -> Self;
    /// As a store's memory: take over what a committed working set learned and changed. False if something that was made
    /// has been left out, as if it had been forgotten at once.
    fn absorb(&mut self, committed: &mut Self) -> bool;
    /// As a store's memory: remember rows and ranges that a query had to read from the store, unless there is too much
    /// already. Whatever was written since they were read must be known here.
    fn learn(&mut self, read: &Self, cached_max: usize);
    /// Forget everything, and keep room for as many rows of each table, for the next time.
    fn clear(&mut self, kept: usize);
    /// As a store's memory: forget some of the rows that have ended, and cached rows beyond `cached_max` per table, or a
    /// multiple of it. Says whether cached rows were forgotten.
    fn tidy(&mut self, now: Timestamp, cached_max: usize) -> bool;
}

/// Implements [`TableSet`] for a struct by doing the same to each of its fields. A field left out does not compile.
#[macro_export]
macro_rules! table_set {
    ($set:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::table::TableSet for $set {
            fn begin(&mut self, stamp: u64) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::begin($field, stamp);)+
            }
            fn roll_back(&mut self, stamp: u64) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::roll_back($field, stamp);)+
            }
            fn is_settled(&self) -> bool {
                let Self { $($field),+ } = self;
                true $(&& $crate::table::TableSet::is_settled($field))+
            }
            fn has_changes(&self) -> bool {
                let Self { $($field),+ } = self;
                false $(|| $crate::table::TableSet::has_changes($field))+
            }
            fn is_answered_by(&self, memory: &Self) -> bool {
                let Self { $($field),+ } = self;
                true $(&& $crate::table::TableSet::is_answered_by($field, &memory.$field))+
            }
            fn answer_from(&mut self, memory: &Self) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::answer_from($field, &memory.$field);)+
            }
            fn copy_wants(&self) -> Self {
                let Self { $($field),+ } = self;
                Self { $($field: $crate::table::TableSet::copy_wants($field)),+ }
            }
            fn around(&self, memory: &Self, cached_max: usize) -> Self {
                let Self { $($field),+ } = self;
                Self { $($field: $crate::table::TableSet::around($field, &memory.$field, cached_max)),+ }
            }
            fn absorb(&mut self, committed: &mut Self) -> bool {
                let Self { $($field),+ } = self;
                // Each of them, whatever the others say.
                true $(& $crate::table::TableSet::absorb($field, &mut committed.$field))+
            }
            fn learn(&mut self, read: &Self, cached_max: usize) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::learn($field, &read.$field, cached_max);)+
            }
            fn clear(&mut self, kept: usize) {
                let Self { $($field),+ } = self;
                $($crate::table::TableSet::clear($field, kept);)+
            }
            fn tidy(&mut self, now: $crate::time::Timestamp, cached_max: usize) -> bool {
                let Self { $($field),+ } = self;
                false $(| $crate::table::TableSet::tidy($field, now, cached_max))+
            }
        }
    };
}

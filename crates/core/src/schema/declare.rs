//! Macros that declare tables: [`tables!`](crate::tables), which uses `table_row!`, and `child_row!`.

/// Declares a set of tables: their rows, columns, keys and policies, each once.
///
/// The macro defines a struct of tables for the working set (`Tables`) and one for in-memory state (`State`), and derives
/// from each declaration how a row becomes values, and values a row. Tables are visited, and locked, in the order of their
/// declaration, so referenced tables come first.
///
/// ```text
/// nights: Table<NightId, Night, NightsFrom> => durable cached {
///     table "room_type_stock";
///     key { room_type as room_type_id, date as target_date };
///     changing { total_quantity, reserved as reserved_count, closed };
///     audit |key, row, audit| audit.stay.night(*key, *row);
/// },
/// ```
///
/// - `durable` or `live`: the tier of the rows. Then what in-memory state keeps of them: `cached`, `uncached`, or
///   `complete`, which is for indexes: their rows follow from others, so that SQL stores have no table of them.
/// - `table`: name of the SQL table.
/// - `key`: its columns. Either the name of the only one, or the fields of the key in braces. `=> id` names the field of
///   the row that repeats the key.
/// - `fixed`, `changing`: fields of the row that are never updated, and those that are. `field as column` names a column
///   that is not called as its field, `field as (a, b)` those of a field with several; see [`Columns`]. Types follow from
///   the fields. Instead of both, `row (a, b)` stores the row as if it were a field.
/// - `computed`: columns that follow from the fields: written, and compared when they are read.
/// - `lines`: field whose elements are child rows, see `child_row!`; their table, and its column with the parent's key.
/// - `month`: column with the date by which the table is partitioned.
/// - `purge`: column with the time by which old rows are purged, and their retention.
/// - `name`: key of a live row in Redis, without the common prefix.
/// - `audit`: how a row is passed to the auditor.
///
/// `{ by_hand; }` is for a row with its own [`TableRow`](crate::schema::TableRow) implementation, `{ declared_above; }`
/// for a second table of the same rows. A table without braces is not visited: stores handle it separately.
///
/// [`Columns`]: crate::schema::Columns
#[macro_export]
macro_rules! tables {
    (
        $(#[$doc:meta])*
        {
            $(
                $(#[$field_doc:meta])*
                $field:ident: Table<$key:ident, $row:ident $(, $scan:ident)?> => $tier:ident $kept:ident
                    $({ $($declared:tt)* })?
            ),* $(,)?
        }
        $(sets { $($set:ident),+ $(,)? })?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct Tables {
            $($(#[$field_doc])* pub $field: $crate::table::Table<$key, $row $(, $scan)?>,)*
            $($(pub $set: $set::Tables,)+)?
        }

        /// The same tables in the in-memory state of a store.
        #[derive(Debug)]
        pub struct State {
            $($(#[$field_doc])* pub $field: $crate::table::TableState<$key, $row $(, $scan)?>,)*
            $($(pub $set: $set::State,)+)?
        }

        $($($crate::schema::declare::table_row! { $row by $key, $kept { $($declared)* } })?)*

        impl Tables {
            /// Passes the declared tables to a visitor, in the order of their declaration.
            pub fn visit<'a>(&'a self, visitor: &mut dyn FnMut($crate::schema::TableTier, &'a dyn $crate::schema::TableAccess)) {
                $($crate::tables!(@visit visitor, $tier &self.$field, $({ $($declared)* })?);)*
                $($(self.$set.visit(visitor);)+)?
            }

            /// Passes the declared tables to a visitor, in the order of their declaration.
            pub fn visit_mut(&mut self, visitor: &mut dyn FnMut($crate::schema::TableTier, &mut dyn $crate::schema::TableAccess)) {
                $($crate::tables!(@visit visitor, $tier &mut self.$field, $({ $($declared)* })?);)*
                $($(self.$set.visit_mut(visitor);)+)?
            }

            /// Moves the live rows into tables of their own.
            pub(crate) fn take_live(&mut self) -> Self {
                Self {
                    $($field: $crate::tables!(@take $tier self.$field),)*
                    $($($set: self.$set.take_live(),)+)?
                }
            }
        }

        impl State {
            /// Returns the empty state of a single-writer store.
            pub(crate) fn of_store() -> Self {
                Self {
                    $($field: $crate::table::TableState::$kept(),)*
                    $($($set: $set::State::of_store(),)+)?
                }
            }

            /// Returns an empty state that keeps all rows, for tests and tools without a store.
            pub(crate) fn complete() -> Self {
                Self {
                    $($field: $crate::table::TableState::complete(),)*
                    $($($set: $set::State::complete(),)+)?
                }
            }

            /// Returns an empty state that caches immutable rows only.
            pub(crate) fn of_immutable_rows() -> Self {
                Self {
                    $($field: $crate::tables!(@immutable $row by $key, $({ $($declared)* })?),)*
                    $($($set: $set::State::of_immutable_rows(),)+)?
                }
            }
        }

        impl $crate::table::TableSet for Tables {
            type State = State;

            fn begin(&mut self, savepoint: u64) {
                $($crate::table::TableSet::begin(&mut self.$field, savepoint);)*
                $($($crate::table::TableSet::begin(&mut self.$set, savepoint);)+)?
            }
            fn roll_back(&mut self, savepoint: u64) {
                $($crate::table::TableSet::roll_back(&mut self.$field, savepoint);)*
                $($($crate::table::TableSet::roll_back(&mut self.$set, savepoint);)+)?
            }
            fn is_loaded(&self) -> bool {
                true $(&& $crate::table::TableSet::is_loaded(&self.$field))*
                    $($(&& $crate::table::TableSet::is_loaded(&self.$set))+)?
            }
            fn has_changes(&self) -> bool {
                false $(|| $crate::table::TableSet::has_changes(&self.$field))*
                    $($(|| $crate::table::TableSet::has_changes(&self.$set))+)?
            }
            fn is_covered_by(&self, state: &State) -> bool {
                true $(&& $crate::table::TableSet::is_covered_by(&self.$field, &state.$field))*
                    $($(&& $crate::table::TableSet::is_covered_by(&self.$set, &state.$set))+)?
            }
            fn fill_from(&mut self, state: &State) {
                $($crate::table::TableSet::fill_from(&mut self.$field, &state.$field);)*
                $($($crate::table::TableSet::fill_from(&mut self.$set, &state.$set);)+)?
            }
            fn copy_known(&mut self, other: &Self) {
                $($crate::table::TableSet::copy_known(&mut self.$field, &other.$field);)*
                $($($crate::table::TableSet::copy_known(&mut self.$set, &other.$set);)+)?
            }
            fn copy_requests(&self) -> Self {
                Self {
                    $($field: $crate::table::TableSet::copy_requests(&self.$field),)*
                    $($($set: $crate::table::TableSet::copy_requests(&self.$set),)+)?
                }
            }
            fn prefetch(&self, state: &State, cached_max: usize) -> Self {
                Self {
                    $($field: $crate::table::TableSet::prefetch(&self.$field, &state.$field, cached_max),)*
                    $($($set: $crate::table::TableSet::prefetch(&self.$set, &state.$set, cached_max),)+)?
                }
            }
            fn clear(&mut self, kept: usize) {
                $($crate::table::TableSet::clear(&mut self.$field, kept);)*
                $($($crate::table::TableSet::clear(&mut self.$set, kept);)+)?
            }
        }

        impl $crate::table::StateSet for State {
            type Working = Tables;

            fn apply(&mut self, committed: &mut Tables) -> bool {
                // No short circuit: every table applies its rows.
                true $(& $crate::table::StateSet::apply(&mut self.$field, &mut committed.$field))*
                    $($(& $crate::table::StateSet::apply(&mut self.$set, &mut committed.$set))+)?
            }
            fn cache_read(&mut self, read: &Tables, cached_max: usize) {
                $($crate::table::StateSet::cache_read(&mut self.$field, &read.$field, cached_max);)*
                $($($crate::table::StateSet::cache_read(&mut self.$set, &read.$set, cached_max);)+)?
            }
            fn purge(&mut self, now: $crate::time::Timestamp, cached_max: usize) -> bool {
                false $(| $crate::table::StateSet::purge(&mut self.$field, now, cached_max))*
                    $($(| $crate::table::StateSet::purge(&mut self.$set, now, cached_max))+)?
            }
        }
    };
    (@visit $visitor:ident, $tier:ident $table:expr,) => {};
    (@visit $visitor:ident, live $table:expr, { $($declared:tt)* }) => {
        $visitor($crate::schema::TableTier::Live, $table)
    };
    (@visit $visitor:ident, durable $table:expr, { $($declared:tt)* }) => {
        $visitor($crate::schema::TableTier::Durable, $table)
    };
    (@take live $self:ident . $field:ident) => { std::mem::take(&mut $self.$field) };
    (@take durable $self:ident . $field:ident) => { Default::default() };
    (@immutable $row:ident by $key:ident,) => { $crate::table::TableState::uncached() };
    (@immutable $row:ident by $key:ident, { $($declared:tt)* }) => {
        if <$row as $crate::schema::TableRow<$key>>::SPEC.is_immutable {
            $crate::table::TableState::existing()
        } else {
            $crate::table::TableState::uncached()
        }
    };
}

/// Implements `TableRow` for a row from its declaration, and `Record` unless the table is an index.
macro_rules! table_row {
    ($row:ident by $key:ident, $kept:ident { declared_above; }) => {};
    ($row:ident by $key:ident, $kept:ident { by_hand; }) => {
        impl $crate::schema::Record for $row {
            type Key = $key;
        }
    };
    ($row:ident by $key:ident, complete { $($declared:tt)* }) => {
        $crate::schema::declare::table_row! { @impl $row by $key, true { $($declared)* } }
    };
    ($row:ident by $key:ident, $kept:ident { $($declared:tt)* }) => {
        $crate::schema::declare::table_row! { @impl $row by $key, false { $($declared)* } }

        impl $crate::schema::Record for $row {
            type Key = $key;
        }
    };
    // A row that is stored as if it were a field.
    (@impl $row:ident by $key:ident, $is_index:literal {
        table $table:literal;
        key $columns:tt;
        row ($($column:ident),+);
        $(name |$name_key:pat_param| $name:expr;)?
        $(audit |$audit_key:pat_param, $audit_row:pat_param, $audit:ident| $show:expr;)?
    }) => {
        impl $crate::schema::TableRow<$key> for $row {
            const SPEC: &'static $crate::schema::TableSpec = {
                use $crate::schema::column::{Column, ColumnGroup, flatten, group, width};
                const KEY: &[ColumnGroup] = &$crate::schema::declare::key!(@groups $key $columns);
                const KEY_COLUMNS: [Column; width(KEY)] = flatten(KEY);
                const CHANGING: &[ColumnGroup] = &[group(&[$(stringify!($column)),+], |row: &$row| row)];
                const CHANGING_COLUMNS: [Column; width(CHANGING)] = flatten(CHANGING);
                &$crate::schema::TableSpec {
                    table: $table,
                    is_index: $is_index,
                    is_immutable: false,
                    key: &KEY_COLUMNS,
                    fixed: &[],
                    changing: &CHANGING_COLUMNS,
                    child_rows: None,
                    month: None,
                    purge: None,
                }
            };

            $crate::schema::declare::key! { @convert $key $columns }

            fn put<'a>(&'a self, values: &mut $crate::schema::Values<'a>) {
                $crate::schema::Columns::put(self, values);
            }

            fn take(
                _key: &$key,
                values: &mut $crate::schema::ValueReader<'_>,
                _lines: Vec<$crate::schema::ValueReader<'_>>,
            ) -> Option<Self> {
                values.take()
            }

            $crate::schema::declare::table_row! { @name $key $(|$name_key| $name)? }
            $crate::schema::declare::table_row! { @audit $key $(|$audit_key, $audit_row, $audit| $show)? }
        }
    };
    (@impl $row:ident by $key:ident, $is_index:literal {
        table $table:literal;
        key $columns:tt $(=> $key_in_row:ident)?;
        $(fixed { $($fixed:ident $(as $fixed_as:tt)?),+ $(,)? };)?
        $(changing { $($changing:ident $(as $changing_as:tt)?),+ $(,)? };)?
        $(computed { $($computed:ident = |$computed_row:ident| $compute:expr),+ $(,)? };)?
        $(lines $lines:ident in $lines_table:literal by $owner:literal;)?
        $(month $month:literal;)?
        $(purge $purge_column:literal after $retention:ident;)?
        $(name |$name_key:pat_param| $name:expr;)?
        $(audit |$audit_key:pat_param, $audit_row:pat_param, $audit:ident| $show:expr;)?
    }) => {
        impl $crate::schema::TableRow<$key> for $row {
            const SPEC: &'static $crate::schema::TableSpec = {
                use $crate::schema::column::{Column, ColumnGroup, flatten, width};
                const KEY: &[ColumnGroup] = &$crate::schema::declare::key!(@groups $key $columns);
                const KEY_COLUMNS: [Column; width(KEY)] = flatten(KEY);
                const FIXED: &[ColumnGroup] = &[
                    $($($crate::schema::column::group($crate::schema::column::column_names!($fixed $($fixed_as)?), |row: &$row| &row.$fixed),)+)?
                ];
                const FIXED_COLUMNS: [Column; width(FIXED)] = flatten(FIXED);
                const CHANGING: &[ColumnGroup] = &[
                    $($($crate::schema::column::group($crate::schema::column::column_names!($changing $($changing_as)?), |row: &$row| &row.$changing),)+)?
                    $($($crate::schema::column::computed(&[stringify!($computed)], |$computed_row: &$row| $compute),)+)?
                ];
                const CHANGING_COLUMNS: [Column; width(CHANGING)] = flatten(CHANGING);
                &$crate::schema::TableSpec {
                    table: $table,
                    is_index: $is_index,
                    is_immutable: false,
                    key: &KEY_COLUMNS,
                    fixed: &FIXED_COLUMNS,
                    changing: &CHANGING_COLUMNS,
                    child_rows: $crate::schema::declare::table_row!(@option $(
                        $crate::schema::ChildRows::of($lines_table, $owner, |row: &$row| &row.$lines)
                    )?),
                    month: $crate::schema::declare::table_row!(@option $($month)?),
                    purge: $crate::schema::declare::table_row!(@option $($crate::schema::Purge {
                        column: $purge_column,
                        after: $crate::schema::Retention::$retention,
                    })?),
                }
            };

            $crate::schema::declare::key! { @convert $key $columns }

            fn put<'a>(&'a self, values: &mut $crate::schema::Values<'a>) {
                let _ = &*values;
                $($($crate::schema::Columns::put(&self.$fixed, values);)+)?
                $($($crate::schema::Columns::put(&self.$changing, values);)+)?
                $($({
                    let $computed_row = self;
                    values.add_computed(&$compute);
                })+)?
            }

            $(
                fn put_child_rows<'a>(&'a self, lines: &mut Vec<$crate::schema::Values<'a>>) {
                    $crate::schema::row::put_lines(&self.$lines, lines);
                }
            )?

            fn take(
                key: &$key,
                values: &mut $crate::schema::ValueReader<'_>,
                lines: Vec<$crate::schema::ValueReader<'_>>,
            ) -> Option<Self> {
                let _ = (key, &*values, &lines);
                $crate::schema::declare::table_row!(@take key values lines
                    [$($key_in_row)?] [$($($fixed)+)? $($($changing)+)?]
                    [$($($computed = |$computed_row| $compute),+)?] [$($lines)?])
            }

            $crate::schema::declare::table_row! { @name $key $(|$name_key| $name)? }
            $crate::schema::declare::table_row! { @audit $key $(|$audit_key, $audit_row, $audit| $show)? }
        }
    };
    (@option) => { None };
    (@option $value:expr) => { Some($value) };
    // Fields are read in the order of columns.
    (@take $key:ident $values:ident $lines:ident
        [$($key_in_row:ident)?] [$($field:ident)*] [] [$($line_field:ident)?]) => {
        Some(Self {
            $($key_in_row: $key.clone(),)?
            $($field: $values.take()?,)*
            $($line_field: $crate::schema::row::take_lines($lines)?,)?
        })
    };
    (@take $key:ident $values:ident $lines:ident
        [$($key_in_row:ident)?] [$($field:ident)*] [$($computed:ident = |$computed_row:ident| $compute:expr),+]
        [$($line_field:ident)?]) => {{
        let row = Self {
            $($key_in_row: $key.clone(),)?
            $($field: $values.take()?,)*
            $($line_field: $crate::schema::row::take_lines($lines)?,)?
        };
        let is_same = true $(&& {
            let $computed_row = &row;
            $values.next_value()? == $crate::schema::ToValue::to_value(&$compute)
        })+;
        is_same.then_some(row)
    }};
    (@name $key:ident) => {};
    (@name $key:ident |$name_key:pat_param| $name:expr) => {
        fn write_name($name_key: &$key, name: &mut String) {
            use std::fmt::Write as _;
            write!(name, "{}", $name).expect("writing to a string cannot fail");
        }
    };
    (@audit $key:ident) => {};
    (@audit $key:ident |$audit_key:pat_param, $audit_row:pat_param, $audit:ident| $show:expr) => {
        fn show($audit_key: &$key, $audit_row: &Self, $audit: &mut $crate::audit::Audit) {
            $show;
        }
    };
}
pub(crate) use table_row;

/// Conversions of a key: one value, or a struct of fields.
macro_rules! key {
    (@groups $key:ident { $($field:ident $(as $column:tt)?),+ $(,)? }) => {
        [$($crate::schema::column::group(
            $crate::schema::column::column_names!($field $($column)?),
            |key: &$key| &key.$field,
        )),+]
    };
    (@groups $key:ident $column:ident) => {
        [$crate::schema::column::group(&[stringify!($column)], |key: &$key| key)]
    };
    (@convert $key:ident { $($field:ident $(as $column:tt)?),+ $(,)? }) => {
        fn put_key<'a>(key: &'a $key, values: &mut $crate::schema::Values<'a>) {
            $($crate::schema::Columns::put(&key.$field, values);)+
        }

        fn take_key(values: &mut $crate::schema::ValueReader<'_>) -> Option<$key> {
            Some($key { $($field: values.take()?),+ })
        }
    };
    (@convert $key:ident $column:ident) => {
        fn put_key<'a>(key: &'a $key, values: &mut $crate::schema::Values<'a>) {
            $crate::schema::Columns::put(key, values);
        }

        fn take_key(values: &mut $crate::schema::ValueReader<'_>) -> Option<$key> {
            values.take()
        }
    };
}
pub(crate) use key;

/// Declares the columns of a line, which is stored in a child table.
macro_rules! child_row {
    ($line:ident { $($field:ident $(as $column:tt)?),+ $(,)? }) => {
        impl $crate::schema::ChildRow for $line {
            const COLUMNS: &'static [$crate::schema::Column] = {
                use $crate::schema::column::{Column, ColumnGroup, flatten, width};
                const GROUPS: &[ColumnGroup] =
                    &[$($crate::schema::column::group($crate::schema::column::column_names!($field $($column)?), |line: &$line| &line.$field)),+];
                const COLUMNS: [Column; width(GROUPS)] = flatten(GROUPS);
                &COLUMNS
            };

            fn put<'a>(&'a self, values: &mut $crate::schema::Values<'a>) {
                $($crate::schema::Columns::put(&self.$field, values);)+
            }

            fn take(values: &mut $crate::schema::ValueReader<'_>) -> Option<Self> {
                Some(Self { $($field: values.take()?),+ })
            }
        }
    };
}
pub(crate) use child_row;

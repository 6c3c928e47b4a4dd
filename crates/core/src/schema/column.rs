//! Columns of a declared row: names come from the declaration, types from the fields.

use crate::schema::value::{FromValue, ToValue, ValueReader, Values};

/// SQL type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    /// 32-bit integer.
    Int,
    Big,
    Text,
    Bytes,
    Date,
    Moment,
    Uuid,
}

/// A named column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Type,
    pub is_nullable: bool,
}

/// A column without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    pub kind: Type,
    pub is_nullable: bool,
}

/// Returns the column type of values of `T`.
pub const fn type_of<T: FromValue>() -> ColumnType {
    ColumnType { kind: T::TYPE, is_nullable: T::IS_NULLABLE }
}

/// Returns the column type of values of `T` that may be absent.
pub const fn nullable<T: FromValue>() -> ColumnType {
    ColumnType { kind: T::TYPE, is_nullable: true }
}

/// Returns a column of values of `T`.
pub const fn named<T: FromValue>(name: &'static str) -> Column {
    Column { name, kind: T::TYPE, is_nullable: T::IS_NULLABLE }
}

/// Field that is stored in one or more columns. Every type with a [`ToValue`] and [`FromValue`] conversion is stored in
/// one.
pub trait Columns: Sized {
    const TYPES: &'static [ColumnType];

    /// Appends the value of each column.
    fn put<'a>(&'a self, values: &mut Values<'a>);

    /// Reads the value of each column. `None` if they are not valid.
    fn take(values: &mut ValueReader<'_>) -> Option<Self>;
}

impl<T: ToValue + FromValue> Columns for T {
    const TYPES: &'static [ColumnType] = &[type_of::<T>()];

    fn put<'a>(&'a self, values: &mut Values<'a>) {
        values.add(self);
    }

    fn take(values: &mut ValueReader<'_>) -> Option<Self> {
        values.take_value()
    }
}

/// Column names of one field, with its types.
#[derive(Clone, Copy, Debug)]
pub struct ColumnGroup {
    names: &'static [&'static str],
    types: &'static [ColumnType],
}

/// Returns the columns of a field. The field is given to infer its type.
pub const fn group<R, T: Columns>(names: &'static [&'static str], _field: fn(&R) -> &T) -> ColumnGroup {
    assert!(names.len() == T::TYPES.len(), "a field has a name for each of its columns");
    ColumnGroup { names, types: T::TYPES }
}

/// Returns the columns of a computed value.
pub const fn computed<R, T: Columns>(names: &'static [&'static str], _compute: fn(&R) -> T) -> ColumnGroup {
    assert!(names.len() == T::TYPES.len(), "a computed value has a name for each of its columns");
    ColumnGroup { names, types: T::TYPES }
}

/// Returns the number of columns.
pub const fn width(groups: &[ColumnGroup]) -> usize {
    let (mut width, mut at) = (0, 0);
    while at < groups.len() {
        width += groups[at].names.len();
        at += 1;
    }
    width
}

/// Returns all columns in order; there are `N`.
pub const fn flatten<const N: usize>(groups: &[ColumnGroup]) -> [Column; N] {
    let mut columns = [Column { name: "", kind: Type::Bool, is_nullable: false }; N];
    let (mut column, mut at) = (0, 0);
    while at < groups.len() {
        let ColumnGroup { names, types } = groups[at];
        let mut of_group = 0;
        while of_group < names.len() {
            let ColumnType { kind, is_nullable } = types[of_group];
            columns[column] = Column { name: names[of_group], kind, is_nullable };
            (column, of_group) = (column + 1, of_group + 1);
        }
        at += 1;
    }
    columns
}

/// Names of the columns of a field: its own name, or those behind `as`.
macro_rules! column_names {
    ($field:ident) => {
        &[stringify!($field)]
    };
    ($field:ident ($($column:ident),+)) => {
        &[$(stringify!($column)),+]
    };
    ($field:ident $column:ident) => {
        &[stringify!($column)]
    };
}
pub(crate) use column_names;

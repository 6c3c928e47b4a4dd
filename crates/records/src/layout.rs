//! Tables and columns.

/// How a database keeps a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    /// Up to 2^31.
    Int,
    Big,
    Text,
    Date,
    Moment,
    Uuid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Type,
}

/// Where the rows of a record lie. The order of columns is: key, fixed, changing.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    pub table: &'static str,
    /// What a row is found by, in the order in which keys sort.
    pub key: &'static [Column],
    /// Written once.
    pub fixed: &'static [Column],
    /// Written again when the row changes.
    pub changing: &'static [Column],
    /// The lines of a row, if it has any.
    pub parts: Option<Parts>,
}

/// Lines that belong to a row: written with it, never changed, gone with it. They are found by the row's key, which is
/// one column, and kept in order by `line_no`.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts {
    pub table: &'static str,
    /// The column that names the row they belong to.
    pub owner: &'static str,
    pub columns: &'static [Column],
}

/// The column that keeps lines in order.
pub const LINE_NO: &str = "line_no";

impl Layout {
    /// Key, fixed, changing.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        self.key.iter().chain(self.fixed).chain(self.changing).copied()
    }
}

macro_rules! columns {
    ($($make:ident => $kind:ident),+) => { $(
        pub const fn $make(name: &'static str) -> Column {
            Column { name, kind: Type::$kind }
        }
    )+ };
}
columns!(boolean => Bool, int => Int, big => Big, text => Text, date => Date, moment => Moment, uuid => Uuid);

//! Pages of long lists, in order of key.

use crate::schema::row::{Record, StoredRow};
use crate::schema::spec::TableSpec;
use crate::schema::value::{Value, ValueReader, Values};

/// Direction in which a list runs through its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Ascending,
    Descending,
}

/// At most `limit` rows after the key `after`, in the direction `order`.
#[derive(Clone, Debug)]
pub struct List {
    pub spec: &'static TableSpec,
    /// Column with an index that ends in the key, and the value to match.
    pub by: Option<(&'static str, Value<'static>)>,
    pub filters: Vec<Filter>,
    pub order: Order,
    /// Key after which the page begins: a lower bound in ascending order, an upper one in descending order.
    pub after: Option<Vec<Value<'static>>>,
    /// Last key of a list within a range: an upper bound in ascending order, a lower one in descending order.
    pub until: Option<Vec<Value<'static>>>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub enum Filter {
    Is(&'static str, Value<'static>),
    /// The column has another text; written into the statement, so that a partial index with this condition serves.
    IsNot(&'static str, &'static str),
    Above(&'static str, Value<'static>),
    Below(&'static str, Value<'static>),
    IsNull(&'static str),
    IsNotNull(&'static str),
    /// A child row has this value in an indexed column.
    HasChildRow(&'static str, Value<'static>),
}

/// A row of a list, as read.
#[derive(Debug)]
pub struct Listed {
    pub values: Vec<Value<'static>>,
    pub lines: Vec<Vec<Value<'static>>>,
}

impl List {
    pub fn of<R: Record>(after: Option<&R::Key>, limit: usize) -> Self {
        Self { after: after.map(|key| owned_key::<R>(key)), ..Self::all(R::SPEC, limit) }
    }

    /// Restricts the list to rows with this value in a column whose index ends in the key.
    #[must_use]
    pub fn by(self, column: &'static str, value: impl Into<Value<'static>>) -> Self {
        Self { by: Some((column, value.into())), ..self }
    }

    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Returns the list in this direction. Its bounds are not exchanged.
    #[must_use]
    pub fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Restricts the list to keys up to this one, in the direction of the list.
    #[must_use]
    pub fn until<R: Record>(self, key: &R::Key) -> Self {
        Self { until: Some(owned_key::<R>(key)), ..self }
    }
}

fn owned_key<R: Record>(key: &R::Key) -> Vec<Value<'static>> {
    let mut values = Values::default();
    R::put_key(key, &mut values);
    values.0.into_iter().map(Value::into_owned).collect()
}

impl List {
    /// Lists all rows of a table.
    pub fn all(spec: &'static TableSpec, limit: usize) -> Self {
        Self { spec, by: None, filters: Vec::new(), order: Order::Ascending, after: None, until: None, limit }
    }
}

impl Listed {
    /// Converts into a record; `None` if a value is not valid.
    pub fn read<R: Record>(self) -> Option<(R::Key, R)> {
        self.into_stored().read()
    }

    pub fn into_stored(self) -> StoredRow<'static> {
        StoredRow { values: self.values, lines: self.lines.into_iter().map(ValueReader::new).collect() }
    }
}

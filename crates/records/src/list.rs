//! Parts of long lists, in ascending order of key.

use crate::cell::{Cells, Taken, Value};
use crate::layout::Layout;
use crate::record::Record;

/// What follows `after` of a table, at most `limit` of it.
#[derive(Clone, Debug)]
pub struct List {
    pub layout: &'static Layout,
    /// A condition that has an index of its own, ending in the key.
    pub by: Option<(&'static str, Value<'static>)>,
    pub filters: Vec<Filter>,
    /// The key after which to begin.
    pub after: Option<Vec<Value<'static>>>,
    /// The last key to give, for lists within a range.
    pub until: Option<Vec<Value<'static>>>,
    pub limit: usize,
}

#[derive(Clone, Debug)]
pub enum Filter {
    Is(&'static str, Value<'static>),
    Above(&'static str, Value<'static>),
    Below(&'static str, Value<'static>),
    IsNull(&'static str),
    IsNotNull(&'static str),
    /// One of its lines has this value in a column that has an index of its own.
    HasLine(&'static str, Value<'static>),
}

/// A row of a list as it was read.
#[derive(Debug)]
pub struct Listed {
    pub cells: Vec<Value<'static>>,
    pub lines: Vec<Vec<Value<'static>>>,
}

impl List {
    pub fn of<R: Record>(after: Option<&R::Key>, limit: usize) -> Self {
        let after = after.map(|key| owned_key::<R>(key));
        Self { layout: R::LAYOUT, by: None, filters: Vec::new(), after, until: None, limit }
    }

    /// Only those with this value in a column that has an index of its own.
    #[must_use]
    pub fn by(self, column: &'static str, value: impl Into<Value<'static>>) -> Self {
        Self { by: Some((column, value.into())), ..self }
    }

    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Only up to this key.
    #[must_use]
    pub fn until<R: Record>(self, key: &R::Key) -> Self {
        Self { until: Some(owned_key::<R>(key)), ..self }
    }
}

fn owned_key<R: Record>(key: &R::Key) -> Vec<Value<'static>> {
    let mut cells = Cells::default();
    R::put_key(key, &mut cells);
    cells.0.into_iter().map(Value::into_owned).collect()
}

impl Listed {
    /// `None` if no rule could have written it.
    pub fn read<R: Record>(self) -> Option<(R::Key, R)> {
        R::take(&mut Taken::new(self.cells), self.lines.into_iter().map(Taken::new).collect())
    }
}

//! Pages of lists, and cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdfast_core::Fault;
use holdfast_core::schema::{Order, Record};

use super::List;
use crate::params::ListParams;
use crate::parse::{InvalidField, list_limit};

/// Last byte of a cursor of a list in descending order. A cursor is the number of the last entry, eight bytes, and this.
const DESCENDING: u8 = b'd';

/// At most `limit` records after `after`, in the direction `order`.
#[derive(Clone, Copy, Debug)]
pub struct Page<Id> {
    pub after: Option<Id>,
    pub order: Order,
    pub limit: usize,
}

impl<Id: Copy> Page<Id> {
    /// Requests all records of a type.
    pub fn of<R: Record<Key = Id>>(&self) -> holdfast_core::schema::List {
        self.list(|after, limit| holdfast_core::schema::List::of::<R>(after.as_ref(), limit))
    }

    /// Requests the records of a list that is made from its begin and its limit. The limit is one more than the page's,
    /// to know whether there is another page.
    pub fn list(
        &self,
        make: impl FnOnce(Option<Id>, usize) -> holdfast_core::schema::List,
    ) -> holdfast_core::schema::List {
        make(self.after, self.limit + 1).ordered(self.order)
    }
}

impl ListParams {
    /// Parses `limit`, `order` and `cursor`.
    pub fn page<Id>(self, new: fn(u64) -> Option<Id>) -> Result<Page<Id>, InvalidField> {
        let order = match self.order.as_deref() {
            None | Some("asc") => Order::Ascending,
            Some("desc") => Order::Descending,
            Some(_) => return Err(InvalidField::new("order", Fault::UnknownValue)),
        };
        let after = self.cursor.filter(|cursor| !cursor.is_empty()).map(|cursor| {
            let number = number_of(&cursor, order).and_then(new);
            number.ok_or_else(|| InvalidField::new("cursor", Fault::Malformed))
        });
        Ok(Page { after: after.transpose()?, order, limit: list_limit(self.limit.as_deref())? })
    }
}

/// Parses a cursor; `None` if it is malformed or belongs to a list in the other order.
fn number_of(cursor: &str, order: Order) -> Option<u64> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let number = match order {
        Order::Ascending => &bytes[..],
        Order::Descending => bytes.strip_suffix(&[DESCENDING])?,
    };
    Some(u64::from_be_bytes(number.try_into().ok()?))
}

impl<T> List<T> {
    /// Cursor that continues after this number.
    pub fn cursor(number: u64, order: Order) -> String {
        let mut bytes = number.to_be_bytes().to_vec();
        if order == Order::Descending {
            bytes.push(DESCENDING);
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// `records` has one record more than the page's limit if there is another page. `number` is the key of the list.
    pub fn new<R, Id>(
        mut records: Vec<R>,
        page: &Page<Id>,
        number: impl Fn(&R) -> u64,
        show: impl Fn(&R) -> T,
    ) -> Self {
        let more = records.len() > page.limit;
        records.truncate(page.limit);
        let last = records.last().filter(|_| more).map(number);
        let next_cursor = last.map(|number| Self::cursor(number, page.order));
        Self { items: records.iter().map(show).collect(), next_cursor }
    }
}

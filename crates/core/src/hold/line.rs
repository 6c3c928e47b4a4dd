//! Lines of a hold, and the trait by which a vertical takes part in its life.

use crate::calendar::SlotsItem;
use crate::command::{Context, Decision};
use crate::hold::{Hold, Origin};
use crate::id::Sequence;
use crate::shop::StockItem;
use crate::stay::StayItem;
use crate::ticket::SeatsItem;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

/// A vertical's part of a hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Position in the request that placed the hold; never changes.
    pub index: u16,
    pub state: LineState,
    /// Price of the whole line, fixed when the hold is placed.
    pub price: i64,
    pub item: Item,
}

/// Stored state of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// Follows the state of its hold.
    Held,
    Released,
    Confirmed {
        record: u64,
    },
    /// Its record was cancelled.
    Cancelled {
        record: u64,
    },
}

/// Claim of a line, by type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Stay(StayItem),
    Stock(StockItem),
    Seats(SeatsItem),
    Slots(SlotsItem),
}

/// A vertical's part in the life of a hold.
pub trait LineItem: Clone + std::fmt::Debug + PartialEq + Send + 'static {
    const KIND: Kind;

    /// Returns the item if it is of this type.
    fn of(item: &Item) -> Option<&Self>;

    /// Returns each claimed unit once, with its quantity.
    fn units(&self) -> impl Iterator<Item = (Unit, u32)>;

    /// Requests the index entries that the other methods write.
    fn request_indexes(&self, hold: &Hold, rows: &mut WorkingSet);

    /// Writes the index entries of a new hold, or of one that is read at start.
    fn insert_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()>;

    /// Rewrites the index entries after a change of [`Hold::counted_until`].
    fn update_indexes(&self, before: &Hold, after: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()>;

    /// Deletes the index entries of a hold that ends before its time.
    fn delete_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()>;
}

/// An item whose vertical has an endpoint for holds with one such line, which become one record.
pub trait EndpointItem: LineItem {
    /// Record that confirming makes.
    type Record: Clone + Send + 'static;

    const ORIGIN: Origin;
    /// Numbers of the records.
    const SEQUENCE: Sequence;
    /// Name of the confirming command in metrics and logs.
    const CONFIRM: &'static str;
    /// Name of the cancelling command in metrics and logs.
    const CANCEL: &'static str;

    /// Requests the durable rows that [`confirm`](Self::confirm) changes.
    fn request_record(&self, hold: &Hold, rows: &mut WorkingSet);

    /// Counts the units durably and inserts the record. A live hold can always be confirmed; only after a loss of live
    /// rows may its units be gone.
    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Record>;

    fn number(record: &Self::Record) -> u64;
}

/// Evaluates an expression on the item of any type.
macro_rules! each {
    ($item:expr, $name:ident => $value:expr) => {
        match $item {
            Item::Stay($name) => $value,
            Item::Stock($name) => $value,
            Item::Seats($name) => $value,
            Item::Slots($name) => $value,
        }
    };
}

impl Item {
    pub fn kind(&self) -> Kind {
        fn kind_of<I: LineItem>(_: &I) -> Kind {
            I::KIND
        }
        each!(self, item => kind_of(item))
    }

    /// Returns each claimed unit once, with its quantity.
    pub fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        let (mut stay, mut stock, mut seats, mut slots) = (None, None, None, None);
        match self {
            Self::Stay(item) => stay = Some(item.units()),
            Self::Stock(item) => stock = Some(item.units()),
            Self::Seats(item) => seats = Some(item.units()),
            Self::Slots(item) => slots = Some(item.units()),
        }
        let (stay, stock) = (stay.into_iter().flatten(), stock.into_iter().flatten());
        stay.chain(stock).chain(seats.into_iter().flatten()).chain(slots.into_iter().flatten())
    }

    pub(super) fn request_indexes(&self, hold: &Hold, rows: &mut WorkingSet) {
        each!(self, item => item.request_indexes(hold, rows));
    }

    pub(super) fn insert_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        each!(self, item => item.insert_indexes(hold, rows, now))
    }

    pub(super) fn update_indexes(
        &self,
        before: &Hold,
        after: &Hold,
        rows: &mut WorkingSet,
        now: Timestamp,
    ) -> Decision<()> {
        each!(self, item => item.update_indexes(before, after, rows, now))
    }

    pub(super) fn delete_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        each!(self, item => item.delete_indexes(hold, rows, now))
    }
}

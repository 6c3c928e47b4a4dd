//! Lines of a hold, and the trait by which a vertical takes part in its life.

use crate::actor::Actor;
use crate::calendar::SlotsItem;
use crate::command::{Context, Decision, Limits};
use crate::hold::{Hold, LineRequest, Origin};
use crate::id::{Sequence, UserId};
use crate::money::Currency;
use crate::shop::StockItem;
use crate::stay::StayItem;
use crate::ticket::SeatsItem;
use crate::time::{Span, Timestamp};
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
    /// Line as a client requests it.
    type Request: Clone + std::fmt::Debug + Send + Sync + 'static;
    /// Record that confirming makes.
    type Record: Clone + Send + 'static;

    const KIND: Kind;
    const RECORD: RecordType;
    /// Numbers of the records.
    const SEQUENCE: Sequence;

    /// Returns the item if it is of this type.
    fn of(item: &Item) -> Option<&Self>;

    /// Returns the TTL of a hold with such a line, if the client names none.
    fn ttl(limits: &Limits) -> Span;

    /// Requests all rows that [`check`](Self::check) and [`claim`](Self::claim) read.
    fn request_rows(request: &Self::Request, owner: &UserId, rows: &mut WorkingSet);

    /// Checks a request against the vertical's own rules, apart from availability. `earlier` lists the requests of the
    /// lines before it in the same hold. Returns the currency of its price.
    fn check(
        request: &Self::Request,
        owner: &UserId,
        earlier: &[LineRequest],
        rows: &mut WorkingSet,
        at: &Context<'_>,
    ) -> Decision<Currency>;

    /// Resolves a checked request to units that are available, and their price. The caller counts them.
    fn claim(request: &Self::Request, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(i64, Self)>;

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

    /// Requests the durable rows that [`confirm`](Self::confirm) changes.
    fn request_record(&self, hold: &Hold, rows: &mut WorkingSet);

    /// Counts the units durably and inserts the record. A live hold can always be confirmed; only after a loss of live
    /// rows may its units be gone.
    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Record>;

    fn number(record: &Self::Record) -> u64;

    /// Cancels a record, and returns its units.
    fn cancel(number: u64, actor: &Actor, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()>;

    /// Returns the time at which the first unit begins; `None` if units have no beginning.
    fn begins_at(&self, rows: &mut WorkingSet) -> Decision<Option<Timestamp>>;
}

/// An item whose vertical has an endpoint for holds with one such line, which become one record.
pub trait EndpointItem: LineItem {
    const ORIGIN: Origin;
    /// Name of the confirming command in metrics and logs.
    const CONFIRM: &'static str;
    /// Name of the cancelling command in metrics and logs.
    const CANCEL: &'static str;
}

/// Type of the record that a confirmed line becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordType {
    StayReservation,
    Order,
    StockSale,
    RoomReservation,
    SeatReservation,
}

/// Record of a confirmed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRecord {
    /// Index of the line.
    pub line: u16,
    pub record: RecordType,
    pub number: u64,
}

impl RecordType {
    /// Returns the name of the type on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::StayReservation => "stay.reservation",
            Self::Order => "shop.order",
            Self::StockSale => "stock.sale",
            Self::RoomReservation => "room.reservation",
            Self::SeatReservation => "seat.reservation",
        }
    }
}

/// Formats as a noun.
impl std::fmt::Display for RecordType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::StayReservation => "stay reservation",
            Self::Order => "order",
            Self::StockSale => "stock sale",
            Self::RoomReservation => "room reservation",
            Self::SeatReservation => "seat reservation",
        })
    }
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

    /// Returns the type of the record that the item becomes in a hold of this origin.
    pub fn record_type(&self, origin: Origin) -> RecordType {
        fn of<I: LineItem>(_: &I) -> RecordType {
            I::RECORD
        }
        // A cart is paid for as a whole.
        if origin == Origin::Cart { RecordType::Order } else { each!(self, item => of(item)) }
    }

    /// Makes the record of a line, and returns its number.
    pub(crate) fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<u64> {
        fn number<I: LineItem>(
            item: &I,
            hold: &Hold,
            line: &Line,
            rows: &mut WorkingSet,
            at: &Context<'_>,
        ) -> Decision<u64> {
            Ok(I::number(&item.confirm(hold, line, rows, at)?))
        }
        each!(self, item => number(item, hold, line, rows, at))
    }

    pub(crate) fn request_record(&self, hold: &Hold, rows: &mut WorkingSet) {
        fn request<I: LineItem>(item: &I, hold: &Hold, rows: &mut WorkingSet) {
            rows.ids.request(&I::SEQUENCE);
            item.request_record(hold, rows);
        }
        each!(self, item => request(item, hold, rows));
    }

    /// Cancels the record of a line.
    pub(crate) fn cancel(&self, number: u64, actor: &Actor, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        fn cancel<I: LineItem>(
            _: &I,
            number: u64,
            actor: &Actor,
            rows: &mut WorkingSet,
            at: &Context<'_>,
        ) -> Decision<()> {
            I::cancel(number, actor, rows, at)
        }
        each!(self, item => cancel(item, number, actor, rows, at))
    }

    pub(crate) fn begins_at(&self, rows: &mut WorkingSet) -> Decision<Option<Timestamp>> {
        each!(self, item => item.begins_at(rows))
    }

    pub(crate) fn request_indexes(&self, hold: &Hold, rows: &mut WorkingSet) {
        each!(self, item => item.request_indexes(hold, rows));
    }

    pub(crate) fn insert_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        each!(self, item => item.insert_indexes(hold, rows, now))
    }

    pub(crate) fn update_indexes(
        &self,
        before: &Hold,
        after: &Hold,
        rows: &mut WorkingSet,
        now: Timestamp,
    ) -> Decision<()> {
        each!(self, item => item.update_indexes(before, after, rows, now))
    }

    pub(crate) fn delete_indexes(&self, hold: &Hold, rows: &mut WorkingSet, now: Timestamp) -> Decision<()> {
        each!(self, item => item.delete_indexes(hold, rows, now))
    }
}

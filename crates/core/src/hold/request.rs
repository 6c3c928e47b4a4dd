//! Lines as clients request them.

use std::collections::HashSet;

use crate::calendar::{SlotsItem, SlotsRequest};
use crate::command::{Context, Decision, Limits};
use crate::hold::{Item, LineItem};
use crate::id::UserId;
use crate::money::Currency;
use crate::shop::{StockItem, StockRequest};
use crate::stay::{StayDates, StayItem, StayRequest};
use crate::ticket::{SeatsItem, SeatsRequest};
use crate::time::Span;
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Line of a hold as a client requests it, by type.
#[derive(Clone, Debug)]
pub enum LineRequest {
    Stay(StayRequest),
    Stock(StockRequest),
    Seats(SeatsRequest),
    Slots(SlotsRequest),
}

/// Evaluates an expression on the request of any type; `I` is its item.
macro_rules! each {
    ($request:expr, $name:ident, $item:ident => $value:expr) => {
        match $request {
            LineRequest::Stay($name) => {
                type $item = StayItem;
                $value
            }
            LineRequest::Stock($name) => {
                type $item = StockItem;
                $value
            }
            LineRequest::Seats($name) => {
                type $item = SeatsItem;
                $value
            }
            LineRequest::Slots($name) => {
                type $item = SlotsItem;
                $value
            }
        }
    };
}

impl LineRequest {
    pub fn kind(&self) -> Kind {
        each!(self, _request, I => I::KIND)
    }

    /// Returns the number of units; 0 if the request is not valid.
    pub fn unit_count(&self) -> usize {
        match self {
            Self::Stay(request) => request.dates().map_or(0, |dates| dates.nights().count()),
            Self::Stock(_) => 1,
            Self::Seats(request) => request.seat_count(),
            Self::Slots(request) => request.starts.len(),
        }
    }

    /// Returns the number of different units of the requests. Seats and slots are never requested twice.
    pub fn different_units(requests: &[Self]) -> usize {
        let (mut nights, mut options, mut others) = (HashSet::new(), HashSet::new(), 0);
        for request in requests {
            match request {
                Self::Stay(stay) => nights
                    .extend(stay.dates().into_iter().flat_map(StayDates::nights).map(|date| (stay.room_type, date))),
                Self::Stock(stock) => drop(options.insert(stock.option)),
                Self::Seats(_) | Self::Slots(_) => others += request.unit_count(),
            }
        }
        nights.len() + options.len() + others
    }

    pub(crate) fn ttl(&self, limits: &Limits) -> Span {
        each!(self, _request, I => I::ttl(limits))
    }

    pub(crate) fn request_rows(&self, owner: &UserId, rows: &mut WorkingSet) {
        each!(self, request, I => I::request_rows(request, owner, rows));
    }

    pub(crate) fn check(
        &self,
        owner: &UserId,
        earlier: &[Self],
        rows: &mut WorkingSet,
        at: &Context<'_>,
    ) -> Decision<Currency> {
        each!(self, request, I => I::check(request, owner, earlier, rows, at))
    }

    /// Returns price and item of available units.
    pub(crate) fn claim(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(i64, Item)> {
        Ok(match self {
            Self::Stay(request) => {
                let (price, item) = StayItem::claim(request, rows, at)?;
                (price, Item::Stay(item))
            }
            Self::Stock(request) => {
                let (price, item) = StockItem::claim(request, rows, at)?;
                (price, Item::Stock(item))
            }
            Self::Seats(request) => {
                let (price, item) = SeatsItem::claim(request, rows, at)?;
                (price, Item::Seats(item))
            }
            Self::Slots(request) => {
                let (price, item) = SlotsItem::claim(request, rows, at)?;
                (price, Item::Slots(item))
            }
        })
    }
}

//! Seat plan of an event, given at its creation. A plan never changes, so it is shared instead of copied, and may be
//! cached without invalidation.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::best::{self, SeatRow};
use super::{EventId, ReservedSeat, SEATS_MAX, SeatId};
use crate::money::check_price;
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::text::check_text;

pub const SEAT_TEXT_CHARS_MAX: usize = 100;

/// A seat of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSeat {
    pub label: Arc<str>,
    pub section: Option<Arc<str>>,
    pub price: i64,
}

/// All seats of an event, in the order of their positions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SeatPlan {
    seats: Arc<[PlannedSeat]>,
    /// Adjacent seats, computed on first use.
    rows: Arc<OnceLock<Vec<SeatRow>>>,
}

impl Row for SeatPlan {}

impl PartialEq for SeatPlan {
    fn eq(&self, other: &Self) -> bool {
        self.seats == other.seats
    }
}

impl SeatPlan {
    pub fn new(seats: impl Into<Arc<[PlannedSeat]>>) -> Self {
        Self { seats: seats.into(), rows: Arc::default() }
    }

    /// Returns the seats in the order of positions; the first has position 1.
    pub fn seats(&self) -> &Arc<[PlannedSeat]> {
        &self.seats
    }

    /// Returns the seat with this id, which belongs to the plan's event.
    pub fn seat(&self, id: SeatId) -> Option<&PlannedSeat> {
        self.seats.get(id.position() as usize - 1)
    }

    /// Returns the rows of adjacent seats, in the order of the plan.
    pub fn rows(&self) -> &[SeatRow] {
        self.rows.get_or_init(|| best::rows_of(&self.seats))
    }

    pub fn has_section(&self, section: &str) -> bool {
        self.seats.iter().any(|seat| seat.section.as_deref() == Some(section))
    }

    /// Returns the copy of a seat for a hold or reservation.
    pub(super) fn reserved_seat(&self, id: SeatId) -> Option<ReservedSeat> {
        let PlannedSeat { label, section, price } = self.seat(id)?.clone();
        Some(ReservedSeat { seat: id, label, section, price })
    }

    /// Returns the ids of the seats at these indexes, counted from 0.
    pub(super) fn ids(event: EventId, indexes: &[u32]) -> Vec<SeatId> {
        indexes.iter().map(|index| event.seat(index + 1)).collect()
    }
}

/// Fields of a seat of a new event.
#[derive(Clone, Debug, Default)]
pub struct SeatDraft {
    pub label: String,
    pub section: Option<String>,
    pub price: i64,
}

/// Validates a plan. The pair of section and label is unique.
pub(super) fn check_plan(drafts: &[SeatDraft]) -> Result<SeatPlan, Rejection> {
    if drafts.is_empty() {
        return Err(Rejection::invalid("seats", Fault::Blank));
    }
    if drafts.len() > SEATS_MAX as usize {
        return Err(Rejection::invalid("seats", Fault::TooManyItems { max: SEATS_MAX as usize }));
    }
    let mut sections: HashMap<&str, Arc<str>> = HashMap::new();
    let mut labels = HashSet::with_capacity(drafts.len());
    let mut seats = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let label = check_seat_text("seats.label", &draft.label)?;
        let section = draft.section.as_deref().map(|text| check_seat_text("seats.section", text)).transpose()?;
        let price = check_price("seats.price", draft.price)?;
        if !labels.insert((section, label)) {
            return Err(Rejection::invalid("seats", Fault::Duplicate));
        }
        // Thousands of seats share the text of their section.
        let section = section.map(|text| sections.entry(text).or_insert_with(|| text.into()).clone());
        seats.push(PlannedSeat { label: label.into(), section, price });
    }
    Ok(SeatPlan::new(seats))
}

fn check_seat_text<'a>(field: &'static str, text: &'a str) -> Result<&'a str, Rejection> {
    if text.trim().is_empty() {
        return Err(Rejection::invalid(field, Fault::Blank));
    }
    check_text(field, text, SEAT_TEXT_CHARS_MAX)
}

//! The seats of an event, as they were given when it was created. A plan never changes, so it is shared, not copied, and
//! whoever has read it once may keep it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::best::{self, SeatRow};
use super::{EventId, ReservedSeat, SEATS_MAX, SeatId};
use crate::money::check_price;
use crate::rejection::{Fault, Rejection};
use crate::table::Row;
use crate::text::check_text;

pub const SEAT_TEXT_CHARS_MAX: usize = 100;

/// A seat as it stands in the plan.
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
    /// Which seats stand side by side; worked out when it is first asked for.
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

    /// In the order of positions; the first one has position 1.
    pub fn seats(&self) -> &Arc<[PlannedSeat]> {
        &self.seats
    }

    /// The seat of that id, if the plan is its event's.
    pub fn seat(&self, id: SeatId) -> Option<&PlannedSeat> {
        self.seats.get(id.position() as usize - 1)
    }

    /// Seats that stand side by side, in the order of the plan.
    pub fn rows(&self) -> &[SeatRow] {
        self.rows.get_or_init(|| best::rows_of(&self.seats))
    }

    pub fn has_section(&self, section: &str) -> bool {
        self.seats.iter().any(|seat| seat.section.as_deref() == Some(section))
    }

    /// What is written of a seat into a hold or reservation.
    pub(super) fn reserved_seat(&self, id: SeatId) -> Option<ReservedSeat> {
        let PlannedSeat { label, section, price } = self.seat(id)?.clone();
        Some(ReservedSeat { seat: id, label, section, price })
    }

    /// The ids of these places, counted from 0.
    pub(super) fn ids(event: EventId, indexes: &[u32]) -> Vec<SeatId> {
        indexes.iter().map(|index| event.seat(index + 1)).collect()
    }
}

/// What is said of a seat when its event is created.
#[derive(Clone, Debug, Default)]
pub struct SeatDraft {
    pub label: String,
    pub section: Option<String>,
    pub price: i64,
}

/// The plan of these seats; each can be told from all others by its section and label.
pub(super) fn check_plan(drafts: &[SeatDraft]) -> Result<SeatPlan, Rejection> {
    if drafts.is_empty() {
        return Err(Rejection::invalid("seats", Fault::Blank));
    }
    if drafts.len() > SEATS_MAX as usize {
        return Err(Rejection::invalid("seats", Fault::TooManyItems { max: SEATS_MAX as usize }));
    }
    let mut sections: HashMap<&str, Arc<str>> = HashMap::new();
    let mut seen = HashSet::with_capacity(drafts.len());
    let mut seats = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let label = check_seat_text("seats.label", &draft.label)?;
        let section = draft.section.as_deref().map(|text| check_seat_text("seats.section", text)).transpose()?;
        let price = check_price("seats.price", draft.price)?;
        if !seen.insert((section, label)) {
            return Err(Rejection::invalid("seats", Fault::Duplicate));
        }
        // Thousands of seats share the name of their section.
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

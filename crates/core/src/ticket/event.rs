//! Ticketed events: settings, and remaining seats.

use std::sync::Arc;

use super::plan::{SeatDraft, check_plan};
use super::{CONCURRENT_DEFAULT, CONCURRENT_MAX, EventId, SEATS_MAX, SEATS_PER_USER_DEFAULT, SeatPlan, event_unit};
use crate::command::{Command, Context, Decision, writes};
use crate::hold;
use crate::id::Sequence;
use crate::money::Currency;
use crate::rejection::{Fault, Rejection, TicketRejection};
use crate::table::Row;
use crate::text::check_name;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// An event with seats for sale. Cheap to clone, because its texts are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketEvent {
    pub id: EventId,
    pub name: Arc<str>,
    pub starts_at: Option<Timestamp>,
    /// Start of holding and reserving; `None` if on sale from the creation.
    pub sales_open_at: Option<Timestamp>,
    pub currency: Currency,
    /// Maximum number of users whom the waiting room admits at a time.
    pub max_concurrent: u32,
    /// Whether users must enter through the waiting room.
    pub queue_enabled: bool,
    /// Maximum number of seats that a user may hold and have reserved, in total.
    pub max_seats_per_user: u32,
    pub seat_count: u32,
    /// Whether the waiting room admits no further users at present.
    pub paused: bool,
    /// Number of changes, by which the waiting room ignores outdated settings.
    pub revision: u64,
}

impl Row for TicketEvent {}

/// Durable count of an event's reserved seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventSales {
    pub reserved: u32,
}

impl Row for EventSales {}

/// Fields of a new or changed event. An absent field keeps its value, or takes its default.
#[derive(Clone, Debug, Default)]
pub struct EventDraft {
    pub name: Option<String>,
    /// `Some(None)` removes it.
    pub starts_at: Option<Option<Timestamp>>,
    /// `Some(None)` removes it.
    pub sales_open_at: Option<Option<Timestamp>>,
    pub max_concurrent: Option<u32>,
    pub queue_enabled: Option<bool>,
    pub max_seats_per_user: Option<u32>,
}

/// Creates an event with all its seats. Seats and currency never change.
#[derive(Clone, Debug)]
pub struct CreateEvent {
    pub draft: EventDraft,
    pub currency: Option<String>,
    pub seats: Vec<SeatDraft>,
}

impl Command for CreateEvent {
    type Outcome = TicketEvent;
    const NAME: &'static str = "ticket.event.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<TicketEvent> {
        // Drawn first, so that the dry run stops before a long plan is validated.
        let number = rows.next_id(Sequence::TicketEvent)?;
        self.draft.name.as_ref().ok_or_else(|| Rejection::invalid("name", Fault::Missing))?;
        let currency = match &self.currency {
            Some(code) => {
                Currency::parse(code).ok_or_else(|| Rejection::invalid("currency", Fault::UnknownCurrency))?
            }
            None => Currency::KRW,
        };
        let template = TicketEvent {
            id: EventId::new(number).expect("the sequence of events stays below nine thousand million"),
            name: "".into(),
            starts_at: None,
            sales_open_at: None,
            currency,
            max_concurrent: CONCURRENT_DEFAULT,
            queue_enabled: true,
            max_seats_per_user: SEATS_PER_USER_DEFAULT,
            seat_count: self.seats.len() as u32,
            paused: false,
            revision: 1,
        };
        let event = self.draft.apply_to(&template)?;
        let plan = check_plan(&self.seats)?;
        rows.ticket.events.insert(event.id, event.clone());
        rows.ticket.plans.insert(event.id, plan);
        Ok(event)
    }

    fn weight(&self) -> usize {
        1 + self.seats.len().min(SEATS_MAX as usize) / 64
    }
}

/// Changes the settings of an event. Existing holds and reservations stay, even if they exceed new limits.
#[derive(Clone, Debug)]
pub struct ChangeEvent {
    pub id: EventId,
    pub draft: EventDraft,
}

impl Command for ChangeEvent {
    type Outcome = EventView;
    const NAME: &'static str = "ticket.event.change";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<EventView> {
        request_remaining(rows, self.id);
        let old = find(rows, self.id)?;
        write(rows, at, &old, self.draft.apply_to(&old)?)
    }
}

/// Pauses or resumes admission. Admitted users stay.
#[derive(Clone, Debug)]
pub struct SetPaused {
    pub event: EventId,
    pub paused: bool,
}

impl Command for SetPaused {
    type Outcome = EventView;
    const NAME: &'static str = "ticket.event.set_paused";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<EventView> {
        request_remaining(rows, self.event);
        let old = find(rows, self.event)?;
        write(rows, at, &old, TicketEvent { paused: self.paused, ..old.clone() })
    }
}

/// Writes an event if it has changed.
fn write(rows: &mut WorkingSet, at: &Context<'_>, old: &TicketEvent, mut new: TicketEvent) -> Decision<EventView> {
    // Reads all rows before the write.
    let view = view(rows, at, old.id)?;
    if new != *old {
        new.revision += 1;
        rows.ticket.events.put(new.id, new.clone());
    }
    Ok(EventView { event: new, ..view })
}

/// An event, and its remaining seats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventView {
    pub event: TicketEvent,
    /// Number of seats that are neither held nor reserved.
    pub remaining: u32,
    /// Next time at which time alone changes `remaining`: the end of a hold.
    pub remaining_until: Option<Timestamp>,
}

impl std::ops::Deref for EventView {
    type Target = TicketEvent;

    fn deref(&self) -> &TicketEvent {
        &self.event
    }
}

pub fn view(rows: &mut WorkingSet, at: &Context<'_>, id: EventId) -> Decision<EventView> {
    request_remaining(rows, id);
    let event = find(rows, id)?;
    let remaining = remaining(rows, &event, at.now)?;
    let remaining_until = rows.held.get(&event_unit(id))?.and_then(|tally| tally.next_end(at.now));
    Ok(EventView { event, remaining, remaining_until })
}

/// Returns the event, or rejects an unknown one.
pub fn find(rows: &mut WorkingSet, id: EventId) -> Decision<TicketEvent> {
    Ok(rows.ticket.events.get(&id)?.cloned().ok_or(TicketRejection::EventNotFound)?)
}

/// Returns the number of seats that are neither held nor reserved, without reading seats.
pub fn remaining(rows: &mut WorkingSet, event: &TicketEvent, now: Timestamp) -> Decision<u32> {
    request_remaining(rows, event.id);
    let reserved = sales(rows, event.id)?.reserved;
    hold::available(rows, event_unit(event.id), event.seat_count, reserved, now)
}

/// Returns the sales of an event; one without sales has no row.
pub fn sales(rows: &mut WorkingSet, id: EventId) -> Decision<EventSales> {
    Ok(rows.ticket.sales.get(&id)?.copied().unwrap_or_default())
}

/// Returns the plan of an existing event.
pub fn plan(rows: &mut WorkingSet, id: EventId) -> Decision<SeatPlan> {
    Ok(rows.ticket.plans.get(&id)?.cloned().expect("every event was created with a plan"))
}

/// Requests the rows from which the remaining seats are computed.
pub(super) fn request_remaining(rows: &mut WorkingSet, id: EventId) {
    rows.ticket.events.request(&id);
    rows.ticket.sales.request(&id);
    rows.held.request(&event_unit(id));
}

impl EventDraft {
    fn apply_to(&self, old: &TicketEvent) -> Result<TicketEvent, Rejection> {
        let mut new = old.clone();
        if let Some(name) = &self.name {
            new.name = check_name("name", name)?.into();
        }
        new.starts_at = self.starts_at.unwrap_or(old.starts_at);
        new.sales_open_at = self.sales_open_at.unwrap_or(old.sales_open_at);
        new.queue_enabled = self.queue_enabled.unwrap_or(old.queue_enabled);
        if let Some(count) = self.max_concurrent {
            new.max_concurrent = check_count("maxConcurrent", count, CONCURRENT_MAX)?;
        }
        if let Some(count) = self.max_seats_per_user {
            new.max_seats_per_user = check_count("maxSeatsPerUser", count, SEATS_MAX)?;
        }
        Ok(new)
    }
}

fn check_count(field: &'static str, count: u32, max: u32) -> Result<u32, Rejection> {
    if (1..=max).contains(&count) {
        Ok(count)
    } else {
        Err(Rejection::invalid(field, Fault::OutOfRange { min: 1, max: max.into() }))
    }
}

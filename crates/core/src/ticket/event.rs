//! What is put on sale: events, their settings, and how much of them is left.

use std::sync::Arc;

use super::plan::{SeatDraft, check_plan};
use super::{CONCURRENT_DEFAULT, CONCURRENT_MAX, EventId, SEATS_MAX, SEATS_PER_USER_DEFAULT, SeatPlan, event_unit};
use crate::command::{Command, Context, Decision, Writes};
use crate::hold;
use crate::id::Sequence;
use crate::money::Currency;
use crate::rejection::{Fault, Rejection, TicketRejection};
use crate::rows::Rows;
use crate::table::Row;
use crate::text::check_name;
use crate::time::Timestamp;

/// Something people buy seats for. Cheap to clone: what is long in it is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TicketEvent {
    pub id: EventId,
    pub name: Arc<str>,
    pub starts_at: Option<Timestamp>,
    /// Nothing is held or reserved before; `None`: on sale from the beginning.
    pub sales_open_at: Option<Timestamp>,
    pub currency: Currency,
    /// How many people the waiting room lets in at a time.
    pub max_concurrent: u32,
    /// Whether one has to come in through the waiting room.
    pub queue_enabled: bool,
    /// How many seats one user may hold and have reserved, together.
    pub max_seats_per_user: u32,
    pub seat_count: u32,
    /// Whether the waiting room lets nobody in at present.
    pub paused: bool,
    /// Counts the changes, so that the waiting room can tell new settings from old ones that arrive late.
    pub revision: u64,
}

impl Row for TicketEvent {}

/// The durable count of an event: how many of its seats are reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventSales {
    pub reserved: u32,
}

impl Row for EventSales {}

/// What may be said of an event; what is left out stays as it is, or takes its default.
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

/// Puts an event on sale, with all its seats. Those and the currency of their prices never change.
#[derive(Clone, Debug)]
pub struct CreateEvent {
    pub draft: EventDraft,
    pub currency: Option<String>,
    pub seats: Vec<SeatDraft>,
}

impl Command for CreateEvent {
    type Outcome = TicketEvent;
    const NAME: &'static str = "ticket.event.create";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, _at: &Context<'_>) -> Decision<TicketEvent> {
        // Drawn first, so that a long plan is looked through once and not for naming rows too.
        let number = rows.next_id(Sequence::TicketEvent)?;
        self.draft.name.as_ref().ok_or_else(|| Rejection::invalid("name", Fault::Missing))?;
        let currency = match &self.currency {
            Some(code) => {
                Currency::parse(code).ok_or_else(|| Rejection::invalid("currency", Fault::UnknownCurrency))?
            }
            None => Currency::KRW,
        };
        let blank = TicketEvent {
            id: EventId::new(number).expect("nobody creates nine thousand million events"),
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
        let event = self.draft.apply_to(&blank)?;
        let plan = check_plan(&self.seats)?;
        rows.ticket.events.insert(event.id, event.clone());
        rows.ticket.plans.insert(event.id, plan);
        Ok(event)
    }

    fn weight(&self) -> usize {
        1 + self.seats.len().min(SEATS_MAX as usize) / 64
    }
}

/// Changes the settings of an event. What is held or reserved stays, whatever the new limits are.
#[derive(Clone, Debug)]
pub struct ChangeEvent {
    pub id: EventId,
    pub draft: EventDraft,
}

impl Command for ChangeEvent {
    type Outcome = EventView;
    const NAME: &'static str = "ticket.event.change";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<EventView> {
        want_remaining(rows, self.id);
        let old = find(rows, self.id)?;
        write(rows, at, &old, self.draft.apply_to(&old)?)
    }
}

/// Lets nobody in any more, or lets people in again. Those inside stay.
#[derive(Clone, Debug)]
pub struct SetPaused {
    pub event: EventId,
    pub paused: bool,
}

impl Command for SetPaused {
    type Outcome = EventView;
    const NAME: &'static str = "ticket.event.set_paused";
    const WRITES: Writes = Writes::Durable;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<EventView> {
        want_remaining(rows, self.event);
        let old = find(rows, self.event)?;
        write(rows, at, &old, TicketEvent { paused: self.paused, ..old.clone() })
    }
}

/// Writes an event down if anything of it is new.
fn write(rows: &mut Rows, at: &Context<'_>, old: &TicketEvent, mut new: TicketEvent) -> Decision<EventView> {
    let remaining = remaining(rows, old, at.now)?;
    if new != *old {
        new.revision += 1;
        rows.ticket.events.put(new.id, new.clone());
    }
    Ok(EventView { event: new, remaining })
}

/// An event, and what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventView {
    pub event: TicketEvent,
    /// Seats that are neither held nor reserved.
    pub remaining: u32,
}

impl std::ops::Deref for EventView {
    type Target = TicketEvent;

    fn deref(&self) -> &TicketEvent {
        &self.event
    }
}

pub fn view(rows: &mut Rows, at: &Context<'_>, id: EventId) -> Decision<EventView> {
    want_remaining(rows, id);
    let event = find(rows, id)?;
    let remaining = remaining(rows, &event, at.now)?;
    Ok(EventView { event, remaining })
}

/// The event, or the refusal that there is none.
pub fn find(rows: &mut Rows, id: EventId) -> Decision<TicketEvent> {
    Ok(rows.ticket.events.get(&id)?.cloned().ok_or(TicketRejection::EventNotFound)?)
}

/// How many seats of an event are neither held nor reserved. No seat is looked at.
pub fn remaining(rows: &mut Rows, event: &TicketEvent, now: Timestamp) -> Decision<u32> {
    want_remaining(rows, event.id);
    let reserved = sales(rows, event.id)?.reserved;
    hold::available(rows, event_unit(event.id), event.seat_count, reserved, now)
}

/// What is sold of an event; one nobody bought of yet has no row.
pub fn sales(rows: &mut Rows, id: EventId) -> Decision<EventSales> {
    Ok(rows.ticket.sales.get(&id)?.copied().unwrap_or_default())
}

/// The seats of an event that was found.
pub fn plan(rows: &mut Rows, id: EventId) -> Decision<SeatPlan> {
    Ok(rows.ticket.plans.get(&id)?.cloned().expect("every event was created with a plan"))
}

/// Says which rows it takes to know what remains of an event.
pub(super) fn want_remaining(rows: &mut Rows, id: EventId) {
    rows.ticket.events.want(&id);
    rows.ticket.sales.want(&id);
    rows.held.want(&event_unit(id));
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

//! The tee times' part of the contract. Here all services share one set of tables, as in one process; in [`protocol`]
//! each has its own.

mod audits;
mod bookings;
mod cancellations;
mod closing;
mod courses;
mod imports;
mod messages;
mod notifications;
mod protocol;
mod refunds;
mod reserving;
mod states;

use jiff::civil::{Date, date};

use super::attendance::{CompleteBooking, NoShowBooking};
use super::audit::TeeAudit;
use super::booking::BookingView;
use super::cancel::{self, CancelBooking};
use super::course::CreateCourse;
use super::create::{BookingCreated, CreateBooking};
use super::inbox::Receive;
use super::saga::TimeOutBooking;
use super::slot::{CloseSlot, CreateSlots, ReopenSlot, SlotDraft};
use super::*;
use crate::actor::Actor;
use crate::command::{Command, Context, Writes};
use crate::event::Event;
use crate::id::UserId;
use crate::rejection::{Fault, Rejection, TeeRejection};
use crate::testing::World;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

/// A golf club on tables of its own.
struct Club {
    world: World,
    /// Number of messages delivered or dropped.
    delivered: usize,
    keys: u32,
}

impl Club {
    fn new() -> Self {
        Self { world: World::new(), delivered: 0, keys: 0 }
    }

    fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        self.world.run(command)
    }

    fn course(&mut self) -> CourseId {
        self.run(&CreateCourse { name: "한강파크골프장".into(), time_zone: None }).unwrap().id
    }

    /// Creates a slot for this number of players, at 10,000 each, sixteen days from now, with its replica.
    fn slot(&mut self, max_players: u32) -> TeeSlotId {
        let course = self.course();
        self.slot_of(course, SlotDraft { max_players, ..draft() })
    }

    fn slot_of(&mut self, course: CourseId, draft: SlotDraft) -> TeeSlotId {
        let slots = self.run(&CreateSlots { course, slots: vec![draft] }).unwrap();
        self.deliver();
        slots[0].id
    }

    /// Creates a pending booking under a new key.
    fn book(&mut self, slot: TeeSlotId, players: u32) -> Booking {
        self.try_book(slot, players).unwrap().booking
    }

    fn try_book(&mut self, slot: TeeSlotId, players: u32) -> Result<BookingCreated, Rejection> {
        self.keys += 1;
        let key = key(&self.keys.to_string());
        self.run(&CreateBooking { user: user(1), key, slot, players })
    }

    /// Creates a confirmed booking.
    fn confirmed(&mut self, slot: TeeSlotId, players: u32) -> Booking {
        let booking = self.book(slot, players);
        self.deliver();
        let booking = self.booking(booking.id);
        assert_eq!(booking.status(), BookingStatus::Confirmed);
        booking
    }

    fn cancel(&mut self, id: BookingId, by: By) -> Result<Booking, Rejection> {
        self.run(&CancelBooking { id, by, reason: None })
    }

    fn quote(&self, id: BookingId, by: &By) -> Result<Refund, Rejection> {
        self.world.ask(|rows, at| cancel::quote(rows, at, id, by))
    }

    fn receive(&mut self, message: Message) -> Handled {
        self.run(&Receive::new(message)).unwrap()
    }

    /// Returns the next undelivered message.
    fn next_message(&mut self) -> Option<Message> {
        let Event::Tee(message) = self.world.events.get(self.delivered)?.clone() else {
            panic!("tee times emit messages only")
        };
        self.delivered += 1;
        Some(message)
    }

    /// Drops and returns all undelivered messages.
    fn drop_messages(&mut self) -> Vec<Message> {
        std::iter::from_fn(|| self.next_message()).collect()
    }

    fn drop_subjects(&mut self) -> Vec<&'static str> {
        self.drop_messages().iter().map(|message| message.subject().as_str()).collect()
    }

    /// Delivers all messages, including those that their handlers cause.
    fn deliver(&mut self) {
        while let Some(message) = self.next_message() {
            while self.receive(message.clone()) == Handled::More {}
        }
    }

    fn purge_inbox(&mut self) {
        purge_inbox(&mut self.world);
    }

    fn find_slot(&self, id: TeeSlotId) -> TeeSlot {
        self.world.ask(|rows, _| slot::find(rows, id)).unwrap()
    }

    fn booked(&self, id: TeeSlotId) -> u32 {
        self.find_slot(id).booked
    }

    fn view(&self, id: BookingId) -> BookingView {
        self.world.ask(|rows, _| booking::view(rows, id, &Actor::Admin)).unwrap()
    }

    fn booking(&self, id: BookingId) -> Booking {
        self.view(id).booking
    }

    fn status(&self, id: BookingId) -> BookingStatus {
        self.booking(id).status()
    }

    fn actions(&self, id: BookingId) -> Vec<BookingAction> {
        self.view(id).history.iter().map(|entry| entry.action).collect()
    }

    /// Asserts that the store is consistent after all messages are delivered.
    fn inspect(&mut self) {
        self.deliver();
        let mut audit = TeeAudit::new();
        pass_records(&self.world, &mut audit);
        audit.at_rest();
        let findings = audit.finish();
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

/// Passes all records to an auditor.
fn pass_records(world: &World, audit: &mut TeeAudit) {
    let tables = &world.memory.tee;
    tables.courses.rows().for_each(|(_, row)| audit.course(row));
    tables.slots.rows().for_each(|(_, row)| audit.slot(row));
    tables.slot_times.rows().for_each(|(id, row)| audit.slot_time(*id, *row));
    tables.slot_bookings.rows().for_each(|(id, row)| audit.slot_booking(*id, *row));
    tables.bookings.rows().for_each(|(_, row)| audit.booking(row));
    tables.booking_keys.rows().for_each(|(_, row)| audit.key_use(*row));
    tables.slot_replicas.rows().for_each(|(id, row)| audit.slot_replica(*id, *row));
    tables.by_slot.rows().for_each(|(id, _)| audit.open_booking(*id));
    tables.history.rows().for_each(|(id, _)| audit.history(*id));
    tables.notifications.rows().for_each(|(_, row)| audit.notification(row));
    tables.notices.rows().for_each(|(id, row)| audit.notice(*id, *row));
}

/// Purges the inbox, as a store may do with old records.
fn purge_inbox(world: &mut World) {
    let ids: Vec<InboxId> = world.memory.tee.inbox.rows().map(|(id, _)| id.clone()).collect();
    let purge = |rows: &mut WorkingSet, _: &Context<'_>| {
        for id in &ids {
            rows.tee.inbox.request(id);
        }
        for id in &ids {
            rows.tee.inbox.get(id)?;
            rows.tee.inbox.delete(id.clone());
        }
        Ok(())
    };
    world.step(Writes::Durable, purge).unwrap();
}

fn draft() -> SlotDraft {
    SlotDraft { date: date(2025, 11, 20), start: start("07:30"), max_players: 4, price: 10_000, currency: None }
}

fn start(text: &str) -> StartTime {
    StartTime::parse(text).unwrap()
}

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::parse("idempotencyKey", text).unwrap()
}

fn timestamp(text: &str) -> Timestamp {
    Timestamp::from_millis(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn unknown_slot() -> TeeSlotId {
    TeeSlotId::new(999).unwrap()
}

fn unknown_booking() -> BookingId {
    BookingId::new(999).unwrap()
}

fn invalid<T: std::fmt::Debug>(result: Result<T, Rejection>) -> (&'static str, Fault) {
    match result {
        Err(Rejection::InvalidInput { field, fault }) => (field, fault),
        other => panic!("{other:?}"),
    }
}

fn tee_rejection<T: std::fmt::Debug>(result: Result<T, Rejection>) -> TeeRejection {
    match result {
        Err(Rejection::Tee(rejection)) => rejection,
        other => panic!("{other:?}"),
    }
}

//! What happened, for those who listen. How an event looks on the wire is the server's business.

use std::sync::Arc;

use crate::calendar::{BlockStatus, RoomId, RoomLock, RoomReservation, SlotStart};
use crate::id::UserId;
use crate::shop::{Order, OrderHold};
use crate::stay::{StayHold, StayReservation};
use crate::tee::{BookingTold, Message};
use crate::ticket::{QueueAdmission, SeatHold, SeatReservation};

/// A change that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    StayHoldPlaced(StayHold),
    StayHoldCancelled(StayHold),
    StayHoldReplaced(StayHold),
    StayReservationConfirmed(StayReservation),
    StayReservationCancelled(StayReservation),
    OrderReserved(OrderHold),
    /// Given back, or exchanged for another.
    OrderReleased(OrderHold),
    OrderPaid(Order),
    OrderCancelled(Order),
    RoomSlotsLocked(RoomLock),
    RoomSlotsReleased(RoomLock),
    RoomSlotsReserved(RoomReservation),
    RoomSlotsCancelled(RoomReservation),
    RoomSlotsBlocked {
        room: RoomId,
        slots: Arc<[SlotStart]>,
        status: BlockStatus,
    },
    SeatsHeld(SeatHold),
    /// The hold was cancelled or replaced.
    SeatsReleased(SeatHold),
    SeatsReserved(SeatReservation),
    SeatsCancelled(SeatReservation),
    /// Somebody was let in by the waiting room.
    QueueAdmitted(QueueAdmission),
    /// What the services of tee times tell each other, and others.
    Tee(Message),
    /// What a booking service elsewhere told. It is not ours to hand on.
    BookingTold(BookingTold),
}

impl Event {
    /// Whose event this is; nobody's, if it is about what belongs to no customer.
    pub fn owner(&self) -> Option<UserId> {
        match self {
            Self::StayHoldPlaced(hold) | Self::StayHoldCancelled(hold) | Self::StayHoldReplaced(hold) => {
                Some(hold.owner)
            }
            Self::StayReservationConfirmed(reservation) | Self::StayReservationCancelled(reservation) => {
                Some(reservation.user)
            }
            Self::OrderReserved(hold) | Self::OrderReleased(hold) => Some(hold.owner),
            Self::OrderPaid(order) | Self::OrderCancelled(order) => Some(order.user),
            Self::RoomSlotsLocked(lock) | Self::RoomSlotsReleased(lock) => Some(lock.owner),
            Self::RoomSlotsReserved(reservation) | Self::RoomSlotsCancelled(reservation) => Some(reservation.user),
            Self::RoomSlotsBlocked { .. } => None,
            Self::SeatsHeld(hold) | Self::SeatsReleased(hold) => Some(hold.owner),
            Self::SeatsReserved(reservation) | Self::SeatsCancelled(reservation) => Some(reservation.user),
            Self::QueueAdmitted(admission) => Some(admission.user),
            Self::Tee(message) => message.owner(),
            Self::BookingTold(told) => Some(told.user),
        }
    }

    /// Whether the event goes through the outbox, in the same commit as its cause, and is never lost. Events of holds
    /// are told to whoever listens now.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::StayHoldPlaced(_)
            | Self::StayHoldCancelled(_)
            | Self::StayHoldReplaced(_)
            | Self::OrderReserved(_)
            | Self::OrderReleased(_)
            | Self::RoomSlotsLocked(_)
            | Self::RoomSlotsReleased(_)
            | Self::SeatsHeld(_)
            | Self::SeatsReleased(_) => false,
            Self::StayReservationConfirmed(_)
            | Self::StayReservationCancelled(_)
            | Self::OrderPaid(_)
            | Self::OrderCancelled(_)
            | Self::RoomSlotsReserved(_)
            | Self::RoomSlotsCancelled(_)
            | Self::RoomSlotsBlocked { .. }
            | Self::SeatsReserved(_)
            | Self::SeatsCancelled(_)
            | Self::QueueAdmitted(_)
            | Self::Tee(_)
            | Self::BookingTold(_) => true,
        }
    }
}

/// The events of a batch, in order. Those of a refused command are undone with it.
#[derive(Debug, Default)]
pub struct EventLog {
    stamp: u64,
    entries: Vec<(u64, Event)>,
}

impl EventLog {
    pub fn push(&mut self, event: Event) {
        self.entries.push((self.stamp, event));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.entries).into_iter().map(|(_, event)| event).collect()
    }

    pub(crate) fn begin(&mut self, stamp: u64) {
        self.stamp = stamp;
    }

    pub(crate) fn roll_back(&mut self, stamp: u64) {
        while self.entries.pop_if(|(entry, _)| *entry >= stamp).is_some() {}
    }
}

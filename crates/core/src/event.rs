//! Events of committed changes. The server defines their wire format.

use std::sync::Arc;

use crate::calendar::{BlockStatus, RoomId, RoomReservation, SlotStart};
use crate::hold::Hold;
use crate::id::UserId;
use crate::shop::{Order, StockSale};
use crate::stay::StayReservation;
use crate::tee::{BookingPublished, Message};
use crate::ticket::{QueueAdmission, SeatReservation};

/// A committed change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    HoldPlaced(Hold),
    HoldCancelled(Hold),
    HoldReplaced(Hold),
    ClaimExtended(Hold),
    ClaimChanged(Hold),
    ClaimConfirmed(Hold),
    /// Records of a confirmed claim were cancelled.
    ClaimCancelled(Hold),
    StayReservationConfirmed(StayReservation),
    StayReservationCancelled(StayReservation),
    OrderPaid(Order),
    OrderCancelled(Order),
    StockSold(StockSale),
    StockReturned(StockSale),
    RoomSlotsReserved(RoomReservation),
    RoomSlotsCancelled(RoomReservation),
    RoomSlotsBlocked {
        room: RoomId,
        slots: Arc<[SlotStart]>,
        status: BlockStatus,
    },
    SeatsReserved(SeatReservation),
    SeatsCancelled(SeatReservation),
    /// Admitted by the waiting room.
    QueueAdmitted(QueueAdmission),
    /// A message between the services of tee times, which webhooks and streams receive too.
    Tee(Message),
    /// An event of a booking service in another process. This process does not publish it again.
    BookingPublished(BookingPublished),
}

impl Event {
    /// Returns the user whom the event concerns; `None` for events about resources of the operator.
    pub fn owner(&self) -> Option<&UserId> {
        match self {
            Self::HoldPlaced(hold)
            | Self::HoldCancelled(hold)
            | Self::HoldReplaced(hold)
            | Self::ClaimExtended(hold)
            | Self::ClaimChanged(hold)
            | Self::ClaimConfirmed(hold)
            | Self::ClaimCancelled(hold) => Some(&hold.owner),
            Self::StayReservationConfirmed(reservation) | Self::StayReservationCancelled(reservation) => {
                Some(&reservation.user)
            }
            Self::OrderPaid(order) | Self::OrderCancelled(order) => Some(&order.user),
            Self::StockSold(sale) | Self::StockReturned(sale) => Some(&sale.user),
            Self::RoomSlotsReserved(reservation) | Self::RoomSlotsCancelled(reservation) => Some(&reservation.user),
            Self::RoomSlotsBlocked { .. } => None,
            Self::SeatsReserved(reservation) | Self::SeatsCancelled(reservation) => Some(&reservation.user),
            Self::QueueAdmitted(admission) => Some(&admission.user),
            Self::Tee(message) => message.owner(),
            Self::BookingPublished(event) => Some(&event.user),
        }
    }

    /// Whether the event goes through the outbox, in the same commit as its cause. Other events are published after the
    /// commit, best effort.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::HoldPlaced(_)
            | Self::HoldCancelled(_)
            | Self::HoldReplaced(_)
            | Self::ClaimExtended(_)
            | Self::ClaimChanged(_) => false,
            Self::ClaimConfirmed(_)
            | Self::ClaimCancelled(_)
            | Self::StayReservationConfirmed(_)
            | Self::StayReservationCancelled(_)
            | Self::OrderPaid(_)
            | Self::OrderCancelled(_)
            | Self::StockSold(_)
            | Self::StockReturned(_)
            | Self::RoomSlotsReserved(_)
            | Self::RoomSlotsCancelled(_)
            | Self::RoomSlotsBlocked { .. }
            | Self::SeatsReserved(_)
            | Self::SeatsCancelled(_)
            | Self::QueueAdmitted(_)
            | Self::Tee(_)
            | Self::BookingPublished(_) => true,
        }
    }
}

/// Events of a batch, in order. Those of a rejected command are rolled back with it.
#[derive(Debug, Default)]
pub struct EventLog {
    savepoint: u64,
    entries: Vec<(u64, Event)>,
}

impl EventLog {
    pub fn push(&mut self, event: Event) {
        self.entries.push((self.savepoint, event));
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

    pub(crate) fn begin(&mut self, savepoint: u64) {
        self.savepoint = savepoint;
    }

    pub(crate) fn roll_back(&mut self, savepoint: u64) {
        while self.entries.pop_if(|(entry, _)| *entry >= savepoint).is_some() {}
    }
}

//! What rows are called in Redis. A common prefix may stand before all of them; in a Redis Cluster it must be a hash tag.

use holdfast_core::calendar::{RoomId, SlotId};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::receipt::ReceiptId;
use holdfast_core::stay::{ClientKey, DatesKey, StayDates, night_of};
use holdfast_core::ticket::{BuyerId, SeatId, seat_of};
use holdfast_core::unit::{Holder, Kind, Resource, Unit};

#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub prefix: String,
}

impl Keys {
    pub(crate) fn incarnation(&self) -> String {
        format!("{}incarnation", self.prefix)
    }

    /// Written to find out whether Redis takes writes; never read.
    pub(crate) fn probe(&self) -> String {
        format!("{}probe", self.prefix)
    }

    /// The latest time that something was written at, in microseconds.
    pub(crate) fn clock(&self) -> String {
        format!("{}clock", self.prefix)
    }

    /// Tries to confirm that have begun and not ended, by the second in which they began.
    pub(crate) fn unfinished(&self) -> String {
        format!("{}hold:confirming", self.prefix)
    }

    pub(crate) fn held(&self, unit: &Unit) -> String {
        match unit.kind {
            Kind::Stay => {
                let night = night_of(*unit);
                format!("{}hold-count:{}:{}", self.prefix, night.room_type, night.date)
            }
            Kind::Shop => format!("{}stock-reserved:{}", self.prefix, unit.resource),
            Kind::Room => format!("{}lock-count:{}", self.prefix, slot(SlotId::of(*unit))),
            // The seats of an event that are held, as a whole and one by one.
            Kind::Ticket => match seat_of(*unit) {
                None => format!("{}seat:count:{}", self.prefix, unit.resource),
                Some(seat) => format!("{}seat:held:{seat}", self.prefix),
            },
        }
    }

    pub(crate) fn holder(&self, holder: Holder) -> String {
        format!("{}hold-count:user:{}:{}", self.prefix, kind(holder.kind), holder.user)
    }

    pub(crate) fn limit(&self, resource: Resource) -> String {
        format!("{}hold-limit:{}:{}", self.prefix, kind(resource.kind), resource.id)
    }

    pub(crate) fn receipt(&self, id: &ReceiptId) -> String {
        format!("{}idempotency:{}:{}", self.prefix, id.caller, id.key)
    }

    pub(crate) fn hold(&self, of: Kind, id: &HoldId) -> String {
        match of {
            Kind::Stay => format!("{}hold:{id}", self.prefix),
            Kind::Shop => format!("{}order-hold:{id}", self.prefix),
            Kind::Room => format!("{}lock:{id}", self.prefix),
            Kind::Ticket => format!("{}seat-hold:{id}", self.prefix),
        }
    }

    pub(crate) fn order_by_user(&self, user: UserId) -> String {
        format!("{}order-hold:user:{user}", self.prefix)
    }

    pub(crate) fn lock_by_slot(&self, id: SlotId) -> String {
        format!("{}locks:{}", self.prefix, slot(id))
    }

    /// Whether what servers keep of a room's slots is still so.
    pub(crate) fn room_stamp(&self, room: RoomId) -> String {
        format!("{}slots:{room}", self.prefix)
    }

    /// The hold on a seat.
    pub(crate) fn seat(&self, seat: SeatId) -> String {
        format!("{}seat:hold:{seat}", self.prefix)
    }

    /// How many seats of an event a user holds.
    pub(crate) fn buyer(&self, buyer: BuyerId) -> String {
        format!("{}seat:count:{}:{}", self.prefix, buyer.event, buyer.user)
    }

    pub(crate) fn stay_by_dates(&self, key: &DatesKey) -> String {
        let StayDates { check_in, check_out } = key.dates;
        format!("{}hold:idx:{}:{}:{check_in}:{check_out}", self.prefix, key.user, key.room_type)
    }

    pub(crate) fn stay_by_client_key(&self, key: &ClientKey) -> String {
        let StayDates { check_in, check_out } = key.dates;
        format!("{}hold:snapshot:{}:{}:{check_in}:{check_out}", self.prefix, key.key, key.room_type)
    }
}

/// A room, a date and a time. Each slot has a key of its own, because each ends at its own time.
fn slot(id: SlotId) -> String {
    format!("{}:{}:{}", id.room, id.start.date(), id.start.time())
}

/// What a kind is called in keys.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Stay => "stay",
        Kind::Shop => "shop",
        Kind::Room => "room",
        Kind::Ticket => "ticket",
    }
}

/// The kind of that name.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|known| kind(*known) == name)
}

//! Names of rows in Redis. An optional common prefix precedes all of them; in a Redis Cluster it must be a hash tag.

use holdfast_core::calendar::{RoomId, SlotId};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::stay::{ClientKey, DatesKey, StayDates, night_of};
use holdfast_core::ticket::{BuyerId, SeatId, seat_of};
use holdfast_core::unit::{Holder, Kind, Resource, Unit};

#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub prefix: String,
}

impl Keys {
    pub(crate) fn epoch(&self) -> String {
        format!("{}epoch", self.prefix)
    }

    /// Written to find out whether Redis takes writes; never read.
    pub(crate) fn probe(&self) -> String {
        format!("{}probe", self.prefix)
    }

    /// The latest time that something was written at, in microseconds.
    pub(crate) fn clock(&self) -> String {
        format!("{}clock", self.prefix)
    }

    /// Unfinished confirm attempts, by the second in which they began.
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
            // Held seats of an event, in total and one by one.
            Kind::Ticket => match seat_of(*unit) {
                None => format!("{}seat:count:{}", self.prefix, unit.resource),
                Some(seat) => format!("{}seat:held:{seat}", self.prefix),
            },
        }
    }

    pub(crate) fn holder(&self, holder: &Holder) -> String {
        format!("{}hold-count:user:{}:{}", self.prefix, kind(holder.kind), holder.user.key_part())
    }

    pub(crate) fn limit(&self, resource: Resource) -> String {
        format!("{}hold-limit:{}:{}", self.prefix, kind(resource.kind), resource.id)
    }

    pub(crate) fn idempotency_record(&self, id: &IdempotencyRecordId) -> String {
        format!("{}idempotency:{}:{}", self.prefix, id.caller, id.key)
    }

    pub(crate) fn hold(&self, id: &HoldId) -> String {
        format!("{}hold:{id}", self.prefix)
    }

    pub(crate) fn order_by_user(&self, user: &UserId) -> String {
        format!("{}order-hold:user:{}", self.prefix, user.key_part())
    }

    pub(crate) fn lock_by_slot(&self, id: SlotId) -> String {
        format!("{}locks:{}", self.prefix, slot(id))
    }

    /// Cache versions and invalidation intents of a room's slots.
    pub(crate) fn room_cache_version(&self, room: RoomId) -> String {
        format!("{}slots:{room}", self.prefix)
    }

    /// Hold on a seat.
    pub(crate) fn seat(&self, seat: SeatId) -> String {
        format!("{}seat:hold:{seat}", self.prefix)
    }

    /// Number of seats of an event that a user holds.
    pub(crate) fn buyer(&self, buyer: &BuyerId) -> String {
        format!("{}seat:count:{}:{}", self.prefix, buyer.event, buyer.user.key_part())
    }

    pub(crate) fn stay_by_dates(&self, key: &DatesKey) -> String {
        let StayDates { check_in, check_out } = key.dates;
        format!("{}hold:idx:{}:{}:{check_in}:{check_out}", self.prefix, key.user.key_part(), key.room_type)
    }

    pub(crate) fn stay_by_client_key(&self, key: &ClientKey) -> String {
        let StayDates { check_in, check_out } = key.dates;
        format!("{}hold:snapshot:{}:{}:{check_in}:{check_out}", self.prefix, key.key, key.room_type)
    }
}

/// Room, date and time. Each slot has a key of its own, because each expires at its own time.
fn slot(id: SlotId) -> String {
    format!("{}:{}:{}", id.room, id.start.date(), id.start.time())
}

/// Name of a kind in keys.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Stay => "stay",
        Kind::Shop => "shop",
        Kind::Room => "room",
        Kind::Ticket => "ticket",
    }
}

//! Conversions from and to the types of the rules.

use holdfast_core::Timestamp;
use holdfast_core::calendar::{
    BlockStatus, LockedSlot, RoomId, RoomReservation, RoomReservationState, SlotStart, SlotsItem,
};
use holdfast_core::hold::{Hold, Status};

use super::{BlockedStatus, BlockedView, LineView, LockStatus, LockView, RoomReservationStatus, RoomReservationView};
use crate::calendar::slot::SlotRefBody;

impl LineView {
    fn new(start: SlotStart, minutes: u16, price: i64) -> Self {
        Self { date: start.date(), time: start.time().to_string(), minutes, price }
    }
}

impl LineView {
    /// Returns a slot of a lock.
    pub(crate) fn of_locked(slot: &LockedSlot) -> Self {
        Self::new(slot.start, slot.minutes, slot.price)
    }
}

impl LockView {
    pub fn new(lock: &Hold, now: Timestamp) -> Self {
        let item = lock.item::<SlotsItem>();
        let status = match lock.status(now) {
            // A prepared confirmation is shown as locked: it is decided within a moment.
            Status::Held | Status::Prepared => LockStatus::Locked,
            Status::Confirmed => LockStatus::Confirmed,
            Status::Cancelled => LockStatus::Released,
            Status::Replaced => LockStatus::Replaced,
            Status::Expired => LockStatus::Expired,
        };
        Self {
            lock_id: lock.id.0,
            room_id: item.room.get(),
            user_id: (&lock.owner).into(),
            slots: item.slots.iter().map(LineView::of_locked).collect(),
            total_price: lock.total(),
            currency: lock.currency.as_str().to_owned(),
            status,
            created_at: lock.created_at.to_jiff(),
            expires_at: lock.ends_at().to_jiff(),
            reservation_id: lock.record(),
        }
    }

    /// State of the lock when it was placed.
    pub fn placed(lock: &Hold) -> Self {
        Self::new(lock, lock.created_at)
    }
}

impl RoomReservationView {
    pub fn new(reservation: &RoomReservation) -> Self {
        let (status, cancelled_at) = match reservation.state {
            RoomReservationState::Confirmed => (RoomReservationStatus::Reserved, None),
            RoomReservationState::Cancelled { at } => (RoomReservationStatus::Cancelled, Some(at.to_jiff())),
        };
        let line = |slot: &holdfast_core::calendar::ReservedSlot| LineView::new(slot.start, slot.minutes, slot.price);
        Self {
            reservation_id: reservation.id.get(),
            lock_id: reservation.lock.0,
            room_id: reservation.room.get(),
            user_id: (&reservation.user).into(),
            slots: reservation.slots.iter().map(line).collect(),
            total_price: reservation.total,
            currency: reservation.currency.as_str().to_owned(),
            status,
            confirmed_at: reservation.confirmed_at.to_jiff(),
            cancelled_at,
        }
    }
}

impl BlockedView {
    pub fn new(room: RoomId, slots: &[SlotStart], status: BlockStatus) -> Self {
        Self {
            room_id: room.get(),
            slots: slots.iter().map(|start| SlotRefBody::new(*start)).collect(),
            status: match status {
                BlockStatus::Blocked => BlockedStatus::Blocked,
                BlockStatus::Maintenance => BlockedStatus::Maintenance,
            },
        }
    }
}

//! A command as callers send it, and what they hear back, as far as it can be foretold: numbers of reservations may have gaps.

use holdfast_core::Rejection;
use holdfast_core::calendar::block::{BlockSlots, UnblockSlots};
use holdfast_core::calendar::confirm::ConfirmLock;
use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::lock::{LockSlots, ReleaseLock};
use holdfast_core::calendar::reservation::CancelRoomReservation;
use holdfast_core::calendar::{RoomReservationId, SlotStart};
use holdfast_core::id::HoldId;
use holdfast_engine::Batch;
use jiff::civil::Date;

use crate::answer::{Waiting, join};

#[derive(Clone, Debug)]
pub enum Call {
    Generate(GenerateSlots),
    Lock(LockSlots),
    Confirm(ConfirmLock),
    Release(ReleaseLock),
    Cancel(CancelRoomReservation),
    Block(BlockSlots),
    Unblock(UnblockSlots),
}

/// What a caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// How many slots were made, and the last day that has some.
    Generated(u32, Option<Date>),
    Locked(HoldId, Vec<SlotStart>),
    Reserved(RoomReservationId, Vec<SlotStart>),
    /// Nobody hears this: the model would have reserved, and there is no reservation.
    Unnumbered,
    Released,
    Cancelled(RoomReservationId),
    /// How many slots have their new status.
    Changed(usize),
    Rejected(Rejection),
}

impl From<Rejection> for Reply {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl Call {
    /// Puts the command into a batch of the engine.
    pub fn join(&self, batch: &mut Batch) -> Waiting<Reply> {
        match self {
            Self::Generate(command) => join(batch, command, |it| Reply::Generated(it.created, it.generated_until)),
            Self::Lock(command) => {
                join(batch, command, |lock| Reply::Locked(lock.id, lock.slots.iter().map(|slot| slot.start).collect()))
            }
            Self::Confirm(command) => {
                join(batch, command, |it| Reply::Reserved(it.id, it.slots.iter().map(|slot| slot.start).collect()))
            }
            Self::Release(command) => join(batch, command, |()| Reply::Released),
            Self::Cancel(command) => join(batch, command, |reservation| Reply::Cancelled(reservation.id)),
            Self::Block(command) => join(batch, command, |slots| Reply::Changed(slots.len())),
            Self::Unblock(command) => join(batch, command, |slots| Reply::Changed(slots.len())),
        }
    }
}

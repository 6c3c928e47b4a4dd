//! Commands and replies of a room by the hour. Replies contain only what the model can predict: reservation numbers may
//! have gaps.

use holdfast_core::Rejection;
use holdfast_core::calendar::block::{BlockSlots, UnblockSlots};
use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::lock::LockSlots;
use holdfast_core::calendar::reservation::CancelRoomReservation;
use holdfast_core::calendar::{ConfirmLock, ReleaseLock, RoomReservationId, SlotStart, SlotsItem};
use holdfast_core::id::HoldId;
use holdfast_engine::Batch;
use jiff::civil::Date;

use crate::submit::{PendingReply, submit};

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

/// Reply to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Number of generated slots, and the last day that has slots.
    Generated(u32, Option<Date>),
    Locked(HoldId, Vec<SlotStart>),
    Reserved(RoomReservationId, Vec<SlotStart>),
    /// Only predicted by the model: a reservation whose number does not exist, which no call receives.
    Unnumbered,
    Released,
    Cancelled(RoomReservationId),
    /// Number of slots with the requested status.
    Changed(usize),
    Rejected(Rejection),
}

impl From<Rejection> for Reply {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl Call {
    /// Adds the command to a batch of the engine.
    pub fn submit(&self, batch: &mut Batch) -> PendingReply<Reply> {
        match self {
            Self::Generate(command) => submit(batch, command, |it| Reply::Generated(it.created, it.generated_until)),
            Self::Lock(command) => submit(batch, command, |lock| {
                Reply::Locked(lock.id, lock.item::<SlotsItem>().slots.iter().map(|slot| slot.start).collect())
            }),
            Self::Confirm(command) => {
                submit(batch, command, |it| Reply::Reserved(it.id, it.slots.iter().map(|slot| slot.start).collect()))
            }
            Self::Release(command) => submit(batch, command, |()| Reply::Released),
            Self::Cancel(command) => submit(batch, command, |reservation| Reply::Cancelled(reservation.id)),
            Self::Block(command) => submit(batch, command, |slots| Reply::Changed(slots.len())),
            Self::Unblock(command) => submit(batch, command, |slots| Reply::Changed(slots.len())),
        }
    }
}

//! Meeting rooms without HTTP: commands of a server on slots.

use holdfast_core::actor::Actor;
use holdfast_core::calendar::block::{BlockSlots, UnblockSlots};
use holdfast_core::calendar::generation::{GenerateSlots, Generated};
use holdfast_core::calendar::lock::LockSlots;
use holdfast_core::calendar::rebuild::SetOperatingHours;
use holdfast_core::calendar::reservation::CancelRoomReservation;
use holdfast_core::calendar::room::{CreateRoom, RoomDraft};
use holdfast_core::calendar::{
    BlockStatus, ConfirmLock, Generation, LocalTime, OpenInterval, ReleaseLock, RoomId, RoomReservation,
    RoomReservationId, SlotStart, SlotStatus, slot,
};
use holdfast_core::hold::Hold;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::time::Span;
use holdfast_engine::Refused;

use crate::support::{Server, TODAY, random, tomorrow};

/// Life of a lock.
pub(crate) const LOCK_LIFE: Span = Span::from_secs(300);

impl Server {
    /// Creates a room that is open from nine to noon, with slots for today and tomorrow.
    pub(crate) async fn meeting_room(&self) -> RoomId {
        let room = self.unmade_room().await;
        self.make_slots(room).await.unwrap();
        room
    }

    /// Creates the room without slots.
    pub(crate) async fn unmade_room(&self) -> RoomId {
        let draft = RoomDraft {
            name: Some("회의실".into()),
            slot_minutes: Some(60),
            base_price: Some(10_000),
            ..RoomDraft::default()
        };
        let room = self.run(CreateRoom(draft)).await.unwrap().id;
        let open = OpenInterval { from: at(9), to: at(12) };
        let hours = SetOperatingHours { room, weekly: std::array::from_fn(|_| vec![open]), exceptions: Vec::new() };
        self.run(hours).await.unwrap();
        room
    }

    pub(crate) async fn make_slots(&self, room: RoomId) -> Result<Generated, Refused> {
        self.run(GenerateSlots { room, until: Some(tomorrow()) }).await
    }

    /// Locks slots, named by the hours of tomorrow.
    pub(crate) async fn lock(&self, user: u64, room: RoomId, hours: &[u32]) -> Result<Hold, Refused> {
        let user = UserId::new(user).unwrap();
        self.run(LockSlots { random: random(), room, user, slots: starts(hours), ttl: None }).await
    }

    pub(crate) async fn confirm_lock(&self, id: HoldId) -> Result<RoomReservation, Refused> {
        self.run(ConfirmLock::new(id, Actor::Admin)).await
    }

    pub(crate) async fn release_lock(&self, id: HoldId) -> Result<(), Refused> {
        self.run(ReleaseLock::new(id, Actor::Admin)).await
    }

    pub(crate) async fn cancel_room(&self, id: RoomReservationId) -> Result<RoomReservation, Refused> {
        self.run(CancelRoomReservation { id, actor: Actor::Admin }).await
    }

    pub(crate) async fn maintain(&self, room: RoomId, hours: &[u32]) -> Result<(), Refused> {
        let (slots, status) = (starts(hours), BlockStatus::Maintenance);
        self.run(BlockSlots { random: random(), room, slots, status }).await.map(|_| ())
    }

    pub(crate) async fn unblock(&self, room: RoomId, hours: &[u32]) -> Result<(), Refused> {
        self.run(UnblockSlots { room, slots: starts(hours) }).await.map(|_| ())
    }

    /// Returns the states of tomorrow's slots.
    pub(crate) async fn slots(&self, room: RoomId) -> Vec<SlotStatus> {
        let ids = self.ask(|rows, _| slot::ids(rows, room, tomorrow(), tomorrow())).await.unwrap();
        let views = self.ask(|rows, at| slot::views(rows, at, room, &ids)).await.unwrap();
        views.into_iter().map(|view| view.status).collect()
    }

    /// Returns the number of slots, and the number that the log reports as created.
    pub(crate) async fn slots_made(&self, room: RoomId) -> (usize, u32) {
        let slots = self.ask(|rows, _| slot::ids(rows, room, TODAY, tomorrow())).await.unwrap();
        let log =
            holdfast_core::schema::calendar::generations(room, holdfast_core::schema::Order::Ascending, None, 100);
        let log: Vec<Generation> = holdfast_engine::store::list(&self.store, log).await.unwrap();
        (slots.len(), log.iter().map(|entry| entry.slots_created).sum())
    }

    pub(crate) async fn room_reservations(&self, room: RoomId) -> Vec<RoomReservation> {
        let of_room = holdfast_core::schema::calendar::RoomReservationFilter { user: None, room: Some(room) };
        holdfast_engine::store::list(&self.store, of_room.list(None, 100)).await.unwrap()
    }
}

fn at(hour: u32) -> LocalTime {
    LocalTime::parse_end(&format!("{hour:02}:00")).unwrap()
}

fn starts(hours: &[u32]) -> Vec<SlotStart> {
    hours.iter().map(|hour| SlotStart::new(tomorrow(), at(*hour)).unwrap()).collect()
}

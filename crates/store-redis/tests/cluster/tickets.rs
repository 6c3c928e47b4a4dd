//! Concert without HTTP: commands of a server at a sale.

use holdfast_core::actor::Actor;
use holdfast_core::hold::Hold;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::ticket::event::{self, CreateEvent, EventDraft};
use holdfast_core::ticket::place::{HoldBest, HoldSeats};
use holdfast_core::ticket::plan::SeatDraft;
use holdfast_core::ticket::reservation::CancelSeatReservation;
use holdfast_core::ticket::reserve::ReserveSeats;
use holdfast_core::ticket::seat::{SeatStatus, seat_map};
use holdfast_core::ticket::{CancelSeatHold, ConfirmSeatHold, EventId, SeatReservation, SeatReservationId};
use holdfast_core::time::Span;
use holdfast_engine::Refused;

use crate::support::{Server, random};

/// Life of a hold on seats.
pub(crate) const SEATS_LIFE: Span = Span::from_secs(300);

impl Server {
    /// Creates a concert with so many seats in one row, without a waiting room.
    pub(crate) async fn concert(&self, seats: u32) -> EventId {
        let draft = EventDraft { name: Some("콘서트".into()), queue_enabled: Some(false), ..EventDraft::default() };
        let seat = |number| SeatDraft { label: format!("A{number}"), section: None, price: 1_000 };
        let create = CreateEvent { draft, currency: None, seats: (1..=seats).map(seat).collect() };
        self.run(create).await.unwrap().id
    }

    /// Holds seats, named by their places in the row.
    pub(crate) async fn hold_seats(&self, user: u64, event: EventId, places: &[u32]) -> Result<Hold, Refused> {
        self.run(HoldSeats { random: random(), event, user: user_id(user), seats: seats(event, places) }).await
    }

    pub(crate) async fn hold_best(&self, user: u64, event: EventId, count: u32) -> Result<Hold, Refused> {
        self.run(HoldBest { random: random(), event, user: user_id(user), count, section: None }).await
    }

    pub(crate) async fn reserve_seats(
        &self,
        user: u64,
        event: EventId,
        places: &[u32],
    ) -> Result<SeatReservation, Refused> {
        self.run(ReserveSeats { random: random(), event, user: user_id(user), seats: seats(event, places) }).await
    }

    pub(crate) async fn confirm_seats(&self, id: HoldId) -> Result<SeatReservation, Refused> {
        self.run(ConfirmSeatHold::new(id, Actor::Admin)).await
    }

    pub(crate) async fn give_seats_back(&self, id: HoldId) -> Result<(), Refused> {
        self.run(CancelSeatHold::new(id, Actor::Admin)).await
    }

    pub(crate) async fn cancel_seats(&self, id: SeatReservationId) -> Result<SeatReservation, Refused> {
        self.run(CancelSeatReservation { id, actor: Actor::Admin }).await
    }

    /// Returns the numbers of held and reserved seats. The remaining count must agree with the seats.
    pub(crate) async fn taken(&self, event: EventId) -> (usize, usize) {
        let map = self.ask(|rows, at| seat_map(rows, at, event)).await.unwrap();
        let count = |status| map.statuses.iter().filter(|found| **found == status).count();
        let remaining = self.ask(|rows, at| event::view(rows, at, event)).await.unwrap().remaining;
        assert_eq!(remaining as usize, count(SeatStatus::Available), "{:?}", map.statuses);
        (count(SeatStatus::Held), count(SeatStatus::Reserved))
    }

    pub(crate) async fn seat_reservations(&self, user: u64) -> Vec<SeatReservation> {
        let list = holdfast_core::schema::ticket::reservations(Some(user_id(user)), None, None, 100);
        holdfast_engine::store::list(&self.store, list).await.unwrap()
    }
}

fn seats(event: EventId, places: &[u32]) -> Vec<u64> {
    places.iter().map(|place| event.seat(*place).get()).collect()
}

fn user_id(user: u64) -> UserId {
    UserId::new(user).unwrap()
}

//! What must be true of the pure core for any commands at any times. Commands are generated as data, so that a failing
//! list shrinks to the few that matter.

use holdfast_core::hold::HoldState;
use holdfast_core::id::UserId;
use holdfast_core::stay::hold::{CancelHold, ConfirmHold, PlaceHold};
use holdfast_core::stay::reservation::CancelReservation;
use holdfast_core::stay::room_type::{ChangeRoomType, CreateRoomType, RoomTypeDraft, SetNightsClosed};
use holdfast_core::stay::{ClientHoldKey, ReservationState, RoomTypeId, StayDates, StayReservationId};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Context, Limits, Timestamp, stay};
use holdfast_sim::auditor::Auditor;
use holdfast_sim::call::{Call, Outcome, Reply, Request, hold_id};
use holdfast_sim::look::{Scope, View};
use holdfast_sim::model::Model;
use holdfast_sim::pure::Pure;
use jiff::ToSpan;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::Index;
use uuid::Uuid;

const TODAY: Date = date(2026, 6, 1);
/// Ten minutes before midnight in UTC, and not on a full second.
const START_MILLIS: i64 = 1_780_357_800_250;
const TTL: Span = Span::from_millis(90_500);
static LIMITS: Limits = Limits { holds_per_user_max: 4, stay: stay::Limits { hold_ttl: TTL }, ..Limits::DEFAULT };

/// One thing somebody does. What is picked by index is picked among all there ever was.
#[derive(Clone, Debug)]
enum Deed {
    Place { user: u64, room_type: u64, day: i32, nights: i32, key: u128 },
    Replace(Index),
    Confirm(Index),
    Cancel(Index),
    CancelReservation(Index),
    SetQuantity { room_type: u64, quantity: u32 },
    SetClosed { room_type: u64, day: i32, closed: bool },
    Pass(i64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let ttl = TTL.as_millis();
    let pass = prop_oneof![
        1..1_000_i64,
        1_000..ttl,
        Just(ttl - 1),
        Just(ttl),
        Just(ttl + 1),
        Just(ttl + 999),
        Just(600_000_i64)
    ];
    let deed = prop_oneof![
        8 => (1..=3_u64, 1..=2_u64, 0..4, 1..=3, 0..3_u128)
            .prop_map(|(user, room_type, day, nights, key)| Deed::Place { user, room_type, day, nights, key }),
        2 => any::<Index>().prop_map(Deed::Replace),
        4 => any::<Index>().prop_map(Deed::Confirm),
        3 => any::<Index>().prop_map(Deed::Cancel),
        2 => any::<Index>().prop_map(Deed::CancelReservation),
        2 => (1..=2_u64, 0..4_u32).prop_map(|(room_type, quantity)| Deed::SetQuantity { room_type, quantity }),
        1 => (1..=2_u64, 0..5, any::<bool>())
            .prop_map(|(room_type, day, closed)| Deed::SetClosed { room_type, day, closed }),
        4 => pass.prop_map(Deed::Pass),
    ];
    proptest::collection::vec(deed, 0..60)
}

/// Core and model side by side.
struct Play {
    pure: Pure,
    model: Model,
    now: Timestamp,
    /// What was placed, and when.
    placed: Vec<(PlaceHold, Timestamp)>,
    /// What core said.
    replies: Vec<Reply>,
    /// What the model said.
    expected: Vec<Reply>,
    scope: Scope,
}

impl Play {
    /// Two room types, one with one room and one with two.
    fn begin() -> Self {
        let mut play = Self {
            pure: Pure::new(LIMITS.clone()),
            model: Model::new(LIMITS.clone()),
            now: Timestamp::from_millis(START_MILLIS),
            placed: Vec::new(),
            replies: Vec::new(),
            expected: Vec::new(),
            scope: Scope::around(TODAY),
        };
        for quantity in [1, 2] {
            let draft = RoomTypeDraft {
                name: Some("Room".into()),
                total_quantity: Some(quantity),
                base_price: Some(1_000),
                time_zone: Some("UTC".into()),
                ..RoomTypeDraft::default()
            };
            play.call(Request::CreateRoomType(CreateRoomType(draft)));
        }
        play
    }

    /// Runs all deeds; `each` looks at the play after every one of them.
    fn run(deeds: &[Deed], mut each: impl FnMut(&Self) -> Result<(), TestCaseError>) -> Result<Self, TestCaseError> {
        let mut play = Self::begin();
        for deed in deeds {
            play.act(deed);
            each(&play)?;
        }
        Ok(play)
    }

    fn act(&mut self, deed: &Deed) {
        let (holds, reservations) = (self.placed.len(), self.model.reservations().len());
        match *deed {
            Deed::Pass(millis) => self.now = self.now + Span::from_millis(millis),
            Deed::Place { user, room_type, day, nights, key } => self.place(PlaceHold {
                random: self.random(),
                user: UserId::new(user).expect("positive"),
                room_type: room_type_id(room_type),
                check_in: day_after(day),
                check_out: day_after(day + nights),
                client_key: ClientHoldKey::Uuid(Uuid::from_u128(key)),
            }),
            Deed::SetQuantity { room_type, quantity } => {
                let draft = RoomTypeDraft { total_quantity: Some(quantity), ..RoomTypeDraft::default() };
                self.call(Request::ChangeRoomType(ChangeRoomType { id: room_type_id(room_type), draft }));
            }
            Deed::SetClosed { room_type, day, closed } => {
                let (from, to) = (day_after(day), day_after(day + 1));
                let room_type = room_type_id(room_type);
                self.call(Request::SetNightsClosed(SetNightsClosed { room_type, from, to, closed }));
            }
            Deed::Replace(index) if holds > 0 => {
                let random = self.random();
                self.place(PlaceHold { random, ..self.placed[index.index(holds)].0.clone() });
            }
            Deed::Confirm(index) if holds > 0 => {
                let (place, at) = &self.placed[index.index(holds)];
                let (id, actor) = (hold_id(place, *at), Actor::User(place.user));
                self.call(Request::Confirm(ConfirmHold { id, actor }));
            }
            Deed::Cancel(index) if holds > 0 => {
                let (place, at) = &self.placed[index.index(holds)];
                let (id, actor) = (hold_id(place, *at), Actor::User(place.user));
                self.call(Request::Cancel(CancelHold { id, actor }));
            }
            Deed::CancelReservation(index) if reservations > 0 => {
                let number = index.index(reservations) as u64 + 1;
                let id = StayReservationId::new(number).expect("positive");
                self.call(Request::CancelReservation(CancelReservation { id, actor: Actor::Admin }));
            }
            Deed::Replace(_) | Deed::Confirm(_) | Deed::Cancel(_) | Deed::CancelReservation(_) => {}
        }
    }

    fn place(&mut self, place: PlaceHold) {
        self.placed.push((place.clone(), self.now));
        self.call(Request::Place(place));
    }

    fn call(&mut self, request: Request) {
        let call = Call::plain(request);
        self.scope.add(&call, self.now);
        self.replies.push(self.pure.run(&call, self.now));
        self.expected.push(self.model.apply(&call, self.now));
    }

    fn random(&self) -> [u8; 10] {
        let mut random = [0; 10];
        random[8..].copy_from_slice(&(self.placed.len() as u16).to_be_bytes());
        random
    }

    fn at(&self) -> Context<'static> {
        Context { now: self.now, limits: &LIMITS }
    }

    fn view(&self) -> View {
        View::of(&self.pure, &self.at(), &self.scope).expect("memory can always be read")
    }
}

fn room_type_id(number: u64) -> RoomTypeId {
    RoomTypeId::new(number).expect("positive")
}

fn day_after(day: i32) -> Date {
    TODAY.saturating_add(day.days())
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn core_says_and_keeps_what_the_naive_model_says_and_keeps(deeds in deeds()) {
        Play::run(&deeds, |play| {
            prop_assert_eq!(play.replies.last(), play.expected.last());
            prop_assert_eq!(play.view(), play.model.view(&play.scope, play.now));
            Ok(())
        })?;
    }

    #[test]
    fn no_night_to_come_is_ever_oversold(deeds in deeds()) {
        Play::run(&deeds, |play| {
            let view = play.view();
            let today = play.now.to_jiff().to_zoned(TimeZone::UTC).date();
            for (id, room_type) in &view.room_types {
                for day in (0..8).map(day_after).filter(|day| *day >= today) {
                    let is_on = |of, dates: StayDates| of == *id && dates.check_in <= day && day < dates.check_out;
                    let held = view.holds.values().filter(|hold| {
                        hold.state == HoldState::Held && play.now < hold.expires_at && is_on(hold.room_type, hold.dates)
                    });
                    let reserved = view.reservations.values().filter(|reservation| {
                        reservation.state == ReservationState::Confirmed
                            && is_on(reservation.room_type, reservation.dates)
                    });
                    prop_assert!(held.count() + reserved.count() <= room_type.total_quantity as usize);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn when_every_ttl_has_passed_all_that_is_not_reserved_is_free(deeds in deeds()) {
        let mut play = Play::run(&deeds, |_| Ok(()))?;
        play.now = play.now + TTL + Span::from_millis(1_000);
        for all in play.view().availability {
            for night in all.nights {
                prop_assert_eq!(night.held, 0);
                let free = if night.closed { 0 } else { night.total_quantity.saturating_sub(night.reserved) };
                prop_assert_eq!(night.available, free);
            }
        }
    }

    #[test]
    fn a_live_hold_can_always_be_confirmed_and_so_can_all_of_them(deeds in deeds()) {
        Play::run(&deeds, |play| {
            let kept = Auditor::default().inspect_promises(&play.pure, &play.view(), &play.at());
            prop_assert!(kept.is_ok(), "{}", kept.unwrap_err());
            Ok(())
        })?;
    }

    #[test]
    fn the_same_commands_and_times_give_the_same_answers_and_the_same_state(deeds in deeds()) {
        let (one, other) = (Play::run(&deeds, |_| Ok(()))?, Play::run(&deeds, |_| Ok(()))?);
        prop_assert_eq!(one.view(), other.view());
        prop_assert_eq!(one.replies, other.replies);
    }
}

/// The play itself must be worth watching: deeds that are all refused would prove nothing.
#[test]
fn most_plays_make_reservations() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let plays = (0..100).map(|_| {
        let deeds = deeds().new_tree(&mut runner).unwrap().current();
        Play::run(&deeds, |_| Ok(())).unwrap()
    });
    let made = plays.filter(|play| {
        let is_made = |reply: &Reply| matches!(reply, Reply::Done(Outcome::Reservation(_)));
        play.replies.iter().any(is_made)
    });
    assert!(made.count() > 50);
}

//! Properties of the pure core for any commands at any times. Commands are generated as data, so that a failing list
//! shrinks to the relevant ones.

use holdfast_core::hold::{ExtendHold, NewEnd};
use holdfast_core::id::UserId;
use holdfast_core::stay::place::PlaceStayHold;
use holdfast_core::stay::reservation::CancelStayReservation;
use holdfast_core::stay::room_type::{ChangeRoomType, CreateRoomType, RoomTypeDraft, SetNightsClosed};
use holdfast_core::stay::{
    CancelStayHold, ClientHoldKey, ConfirmStayHold, RoomTypeId, StayDates, StayReservationId, StayReservationState,
};
use holdfast_core::time::Span;
use holdfast_core::{Actor, Context, Limits, Timestamp, stay};
use holdfast_sim::stay::auditor::Auditor;
use holdfast_sim::stay::call::{Call, Outcome, Reply, Request, hold_id};
use holdfast_sim::stay::model::{Model, is_live, stay};
use holdfast_sim::stay::pure::Pure;
use holdfast_sim::stay::view::{Scope, View};
use jiff::ToSpan;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::Index;
use uuid::Uuid;

const TODAY: Date = date(2026, 6, 1);
/// Ten minutes before midnight in UTC, and not at a full second.
const START_MILLIS: i64 = 1_780_357_800_250;
const TTL: Span = Span::from_millis(90_500);
static LIMITS: Limits = Limits { holds_per_user_max: 4, stay: stay::Limits { hold_ttl: TTL }, ..Limits::DEFAULT };

/// One action of a user, or an advance of the clock. An index chooses among all holds or reservations so far.
#[derive(Clone, Debug)]
enum Action {
    Place { user: u64, room_type: u64, day: i32, nights: i32, key: u128 },
    Replace(Index),
    Confirm(Index),
    Cancel(Index),
    Extend(Index, i64),
    CancelReservation(Index),
    SetQuantity { room_type: u64, quantity: u32 },
    SetClosed { room_type: u64, day: i32, closed: bool },
    AdvanceClock(i64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
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
    let action = prop_oneof![
        8 => (1..=3_u64, 1..=2_u64, 0..4, 1..=3, 0..3_u128)
            .prop_map(|(user, room_type, day, nights, key)| Action::Place { user, room_type, day, nights, key }),
        2 => any::<Index>().prop_map(Action::Replace),
        4 => any::<Index>().prop_map(Action::Confirm),
        3 => any::<Index>().prop_map(Action::Cancel),
        3 => (any::<Index>(), 0..2 * ttl).prop_map(|(index, millis)| Action::Extend(index, millis)),
        2 => any::<Index>().prop_map(Action::CancelReservation),
        2 => (1..=2_u64, 0..4_u32).prop_map(|(room_type, quantity)| Action::SetQuantity { room_type, quantity }),
        1 => (1..=2_u64, 0..5, any::<bool>())
            .prop_map(|(room_type, day, closed)| Action::SetClosed { room_type, day, closed }),
        4 => pass.prop_map(Action::AdvanceClock),
    ];
    proptest::collection::vec(action, 0..60)
}

/// Core and model side by side.
struct Session {
    pure: Pure,
    model: Model,
    now: Timestamp,
    /// Placed holds, and when.
    placed: Vec<(PlaceStayHold, Timestamp)>,
    /// Replies of core.
    replies: Vec<Reply>,
    /// Replies of the model.
    expected: Vec<Reply>,
    scope: Scope,
}

impl Session {
    /// Creates two room types, one with one room and one with two.
    fn start() -> Self {
        let mut session = Self {
            pure: Pure::new(LIMITS.clone()),
            model: Model::new(LIMITS.clone()),
            now: Timestamp::from_millis(START_MILLIS),
            placed: Vec::new(),
            replies: Vec::new(),
            expected: Vec::new(),
            scope: Scope::prefetch(TODAY),
        };
        for quantity in [1, 2] {
            let draft = RoomTypeDraft {
                name: Some("Room".into()),
                total_quantity: Some(quantity),
                base_price: Some(1_000),
                time_zone: Some("UTC".into()),
                ..RoomTypeDraft::default()
            };
            session.call(Request::CreateRoomType(CreateRoomType(draft)));
        }
        session
    }

    /// Runs all actions; `each` checks the session after every one.
    fn run(
        actions: &[Action],
        mut each: impl FnMut(&Self) -> Result<(), TestCaseError>,
    ) -> Result<Self, TestCaseError> {
        let mut session = Self::start();
        for action in actions {
            session.run_action(action);
            each(&session)?;
        }
        Ok(session)
    }

    fn run_action(&mut self, action: &Action) {
        let (holds, reservations) = (self.placed.len(), self.model.reservations().len());
        match *action {
            Action::AdvanceClock(millis) => self.now = self.now + Span::from_millis(millis),
            Action::Place { user, room_type, day, nights, key } => self.place(PlaceStayHold {
                quantity: 1,
                random: self.random(),
                user: UserId::new(user).expect("positive"),
                room_type: room_type_id(room_type),
                check_in: day_after(day),
                check_out: day_after(day + nights),
                client_key: ClientHoldKey::Uuid(Uuid::from_u128(key)),
            }),
            Action::SetQuantity { room_type, quantity } => {
                let draft = RoomTypeDraft { total_quantity: Some(quantity), ..RoomTypeDraft::default() };
                self.call(Request::ChangeRoomType(ChangeRoomType { id: room_type_id(room_type), draft }));
            }
            Action::SetClosed { room_type, day, closed } => {
                let (from, to) = (day_after(day), day_after(day + 1));
                let room_type = room_type_id(room_type);
                self.call(Request::SetNightsClosed(SetNightsClosed { room_type, from, to, closed }));
            }
            Action::Replace(index) if holds > 0 => {
                let random = self.random();
                self.place(PlaceStayHold { random, ..self.placed[index.index(holds)].0.clone() });
            }
            Action::Confirm(index) if holds > 0 => {
                let (place, at) = &self.placed[index.index(holds)];
                let (id, actor) = (hold_id(place, *at), Actor::User(place.user.clone()));
                self.call(Request::Confirm(ConfirmStayHold::new(id, actor)));
            }
            Action::Cancel(index) if holds > 0 => {
                let (place, at) = &self.placed[index.index(holds)];
                let (id, actor) = (hold_id(place, *at), Actor::User(place.user.clone()));
                self.call(Request::Cancel(CancelStayHold::new(id, actor)));
            }
            Action::Extend(index, millis) if holds > 0 => {
                let (place, at) = &self.placed[index.index(holds)];
                let (id, actor) = (hold_id(place, *at), Actor::User(place.user.clone()));
                let end = NewEnd::Later(Span::from_millis(millis));
                self.call(Request::Extend(ExtendHold { version: None, id, actor, end }));
            }
            Action::CancelReservation(index) if reservations > 0 => {
                let number = index.index(reservations) as u64 + 1;
                let id = StayReservationId::new(number).expect("positive");
                self.call(Request::CancelReservation(CancelStayReservation { id, actor: Actor::Admin }));
            }
            Action::Replace(_)
            | Action::Confirm(_)
            | Action::Cancel(_)
            | Action::Extend(..)
            | Action::CancelReservation(_) => {}
        }
    }

    fn place(&mut self, place: PlaceStayHold) {
        self.placed.push((place.clone(), self.now));
        self.call(Request::Place(place));
    }

    fn call(&mut self, request: Request) {
        let call = Call::without_key(request);
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
        View::of(&self.pure, &self.at(), &self.scope).expect("tables in memory are readable")
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
    fn core_equals_the_naive_model(actions in actions()) {
        Session::run(&actions, |session| {
            prop_assert_eq!(session.replies.last(), session.expected.last());
            prop_assert_eq!(session.view(), session.model.view(&session.scope, session.now));
            Ok(())
        })?;
    }

    #[test]
    fn no_future_night_is_oversold(actions in actions()) {
        Session::run(&actions, |session| {
            let view = session.view();
            let today = session.now.to_jiff().to_zoned(TimeZone::UTC).date();
            for (id, room_type) in &view.room_types {
                for day in (0..8).map(day_after).filter(|day| *day >= today) {
                    let is_on = |of, dates: StayDates| of == *id && dates.check_in <= day && day < dates.check_out;
                    let held = view.holds.values().filter(|hold| {
                        is_live(hold, session.now) && is_on(stay(hold).room_type, stay(hold).dates)
                    });
                    let reserved = view.reservations.values().filter(|reservation| {
                        reservation.state == StayReservationState::Confirmed
                            && is_on(reservation.room_type, reservation.dates)
                    });
                    prop_assert!(held.count() + reserved.count() <= room_type.total_quantity as usize);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn unreserved_units_are_free_after_last_end(actions in actions()) {
        let mut session = Session::run(&actions, |_| Ok(()))?;
        session.now = session.now + LIMITS.hold.lifetime_max + Span::from_millis(1_000);
        for room_type_availability in session.view().availability {
            for night in room_type_availability.nights {
                prop_assert_eq!(night.held, 0);
                let free = if night.closed { 0 } else { night.total_quantity.saturating_sub(night.reserved) };
                prop_assert_eq!(night.available, free);
            }
        }
    }

    #[test]
    fn all_live_holds_can_be_confirmed(actions in actions()) {
        Session::run(&actions, |session| {
            let kept = Auditor::default().inspect_confirmability(&session.pure, &session.view(), &session.at());
            prop_assert!(kept.is_ok(), "{}", kept.unwrap_err());
            Ok(())
        })?;
    }

    #[test]
    fn same_commands_give_same_replies_and_state(actions in actions()) {
        let (one, other) = (Session::run(&actions, |_| Ok(()))?, Session::run(&actions, |_| Ok(()))?);
        prop_assert_eq!(one.view(), other.view());
        prop_assert_eq!(one.replies, other.replies);
    }
}

/// Guards against actions that are all rejected, which would prove nothing.
#[test]
fn most_histories_confirm_reservations() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let sessions = (0..100).map(|_| {
        let actions = actions().new_tree(&mut runner).unwrap().current();
        Session::run(&actions, |_| Ok(())).unwrap()
    });
    let with_reservation = sessions.filter(|session| {
        let is_reservation = |reply: &Reply| matches!(reply, Reply::Done(Outcome::Reservation(_)));
        session.replies.iter().any(is_reservation)
    });
    assert!(with_reservation.count() > 50);
}

//! Moving the end of a hold.

use super::*;
use crate::calendar::lock::LockSlots;
use crate::hold::NewEnd::{At, Later};
use crate::rejection::{Fault, ShopRejection};
use crate::shop::cart::PutCartItem;
use crate::shop::reservation::ReserveOrder;
use crate::shop::user::CreateUser;
use crate::stay::place::PlaceStayHold;
use crate::table::TableState;
use crate::ticket::place::HoldSeats;
use crate::unit::Tally;

const MINUTE: NewEnd = Later(Span::from_secs(60));

fn rejected<T>(rejection: ClaimRejection) -> Decision<T> {
    Err(rejection.into())
}

fn limit<T>(max_until: Timestamp) -> Decision<T> {
    rejected(ClaimRejection::ExtensionLimit { max_until })
}

/// Returns the ends of a tally with their quantities.
fn ends(tally: Option<&Tally>) -> Vec<(i64, u32)> {
    tally.map_or(Vec::new(), |tally| tally.lines().collect())
}

impl Market {
    /// Sets the clock to this many milliseconds before a moment.
    fn wait_until(&mut self, millis: i64, before: Timestamp) {
        self.world.now = before - Span::from_millis(millis);
    }

    /// Returns the ends of all counts of a hold's units, owner and buyer.
    fn ends_of(&self, hold: &Hold) -> Vec<Vec<(i64, u32)>> {
        let memory = &self.world.memory;
        let mut tallies: Vec<_> = hold.units().map(|(unit, _)| ends(memory.held.get(&unit).unwrap())).collect();
        tallies.extend(memory.owner_holds.rows().map(|(_, row)| {
            let mut ends: Vec<_> = row.listed().iter().map(|hold| (hold.ends_at.as_secs(), 1)).collect();
            ends.sort_unstable();
            ends
        }));
        tallies.extend(memory.ticket.buyers_held.rows().map(|(_, tally)| ends(Some(tally))));
        tallies
    }
}

#[test]
fn extended_hold_has_new_end_and_version() {
    for (origin, claims) in every_type() {
        let mut market = Market::new(9);
        let hold = market.hold(origin, &claims);
        market.world.wait(Span::from_secs(10));
        let extended = market.extend(&hold, Actor::Admin, MINUTE).unwrap();
        let expires_at = hold.expires_at + Span::from_secs(60);
        assert_eq!(extended, Hold { expires_at, version: 1, extensions: 1, ..hold });
        assert_eq!(market.world.hold(extended.id), extended);
        let again = market.extend(&extended, Actor::Admin, MINUTE).unwrap();
        let expires_at = expires_at + Span::from_secs(60);
        assert_eq!(again, Hold { expires_at, version: 2, extensions: 2, ..extended });
    }
}

#[test]
fn counts_move_to_the_new_end() {
    for (origin, claims) in every_type() {
        let mut market = Market::new(9);
        let hold = market.hold(origin, &claims);
        let before = market.ends_of(&hold);
        assert!(before.iter().all(|ends| ends.len() == 1 && ends[0].0 == hold.expires_at.as_secs()), "{before:?}");
        let extended = market.extend(&hold, Actor::Admin, MINUTE).unwrap();
        let moved: Vec<Vec<_>> = before.iter().map(|ends| vec![(ends[0].0 + 60, ends[0].1)]).collect();
        assert_eq!(market.ends_of(&hold), moved, "{origin:?}");
        let live = market.derived();
        assert!(!live.is_empty());
        market.wait_until(1, extended.expires_at);
        assert_eq!(market.derived(), live, "{origin:?}: until the last millisecond");
        market.wait_until(0, extended.expires_at);
        assert_eq!(market.derived(), [""; 0], "{origin:?}");
    }
}

#[test]
fn index_entries_move_to_the_new_end() {
    let mut market = Market::new(9);
    for (origin, claims) in every_type() {
        let hold = market.hold(origin, &claims);
        market.extend(&hold, Actor::Admin, MINUTE).unwrap();
        let end = hold.expires_at + Span::from_secs(60);
        let memory = &market.world.memory;
        let stays = memory.stay.by_dates.rows().map(|(_, entry)| (entry.hold, entry.expires_at));
        let keys = memory.stay.by_client_key.rows().map(|(_, entry)| (entry.hold, entry.expires_at));
        let slots = memory.calendar.by_slot.rows().map(|(_, entry)| (entry.hold, entry.expires_at));
        let seats = memory.ticket.by_seat.rows().map(|(_, entry)| (entry.hold, entry.expires_at.unwrap()));
        let carts = memory.shop.last_holds.rows().map(|(_, entry)| (entry.hold, entry.kept_until - ENDED_HOLD_KEPT));
        let entries = stays.chain(keys).chain(slots).chain(seats).chain(carts);
        let own: Vec<Timestamp> = entries.filter(|(id, _)| *id == hold.id).map(|(_, end)| end).collect();
        let expected = match origin {
            Origin::Stay | Origin::Seats | Origin::Lock => 2,
            Origin::Cart => 1,
            _ => 3 + 3,
        };
        assert_eq!(own, vec![end; expected], "{origin:?}");
        market.cancel(&hold, &Actor::Admin).unwrap();
    }
}

#[test]
fn other_holds_with_same_end_stay() {
    let mut market = Market::new(9);
    let claims = [Claim::Stock { option: 0, quantity: 2 }];
    let [first, second] = [(); 2].map(|()| market.hold(Origin::Claim, &claims));
    assert_eq!(first.expires_at, second.expires_at);
    market.extend(&first, Actor::Admin, Later(Span::from_secs(1))).unwrap();
    let end = second.expires_at.as_secs();
    assert_eq!(market.ends_of(&second), [[(end, 2), (end + 1, 2)], [(end, 1), (end + 1, 1)]]);
    market.wait_until(0, second.expires_at);
    market.cancel(&first, &Actor::Admin).unwrap();
    assert_eq!(market.derived(), [""; 0]);
}

#[test]
fn only_owner_and_operator_extend() {
    let mut market = Market::new(9);
    let (origin, claims) = every_type().pop().unwrap();
    let hold = market.hold(origin, &claims);
    let (before, counts) = (market.world.hold(hold.id), market.derived());
    let other = market.extend(&hold, Actor::User(user(2)), MINUTE);
    assert_eq!(other, Err(Rejection::Forbidden.into()));
    assert_eq!((market.world.hold(hold.id), market.derived()), (before, counts));
    market.extend(&hold, Actor::User(user(1)), MINUTE).unwrap();
    market.extend(&hold, Actor::Admin, MINUTE).unwrap();
    let unknown = Hold { id: HoldId::new(market.world.now, [9; 10]), ..hold };
    assert_eq!(market.extend(&unknown, Actor::Admin, MINUTE), rejected(ClaimRejection::ClaimNotFound));
}

#[test]
fn ended_hold_is_not_extended() {
    for (origin, claims) in every_type() {
        let mut market = Market::new(9);
        let replaced = market.hold(origin, &claims);
        let terms = Terms { owner: user(1), origin, ttl: Span::from_secs(60), claims: claims.clone() };
        let cancelled = market.place(terms, std::slice::from_ref(&replaced));
        market.cancel(&cancelled, &Actor::Admin).unwrap();
        let expired = market.hold(origin, &claims);
        market.wait_until(0, expired.expires_at);
        let confirmed = market.hold(origin, &claims);
        market.world.run(&ConfirmLines { id: confirmed.id, origin, released: None }).unwrap();
        let records = market.world.hold(confirmed.id).records();
        for (hold, rejection) in [
            (replaced, ClaimRejection::ClaimExpired),
            (expired, ClaimRejection::ClaimExpired),
            (cancelled, ClaimRejection::ClaimAlreadyProcessed { records: Vec::new() }),
            (confirmed, ClaimRejection::ClaimAlreadyProcessed { records }),
        ] {
            assert_eq!(market.extend(&hold, Actor::Admin, MINUTE), rejected(rejection), "{origin:?}");
        }
    }
}

#[test]
fn hold_is_extended_until_its_last_millisecond() {
    let mut market = Market::new(9);
    let hold = market.hold(Origin::Claim, &[Claim::Slots(vec![9])]);
    market.wait_until(1, hold.expires_at);
    market.extend(&hold, Actor::Admin, Later(Span::from_secs(1))).unwrap();
}

#[test]
fn extension_backs_off_from_prepared_hold() {
    for (origin, claims) in every_type() {
        let mut market = Market::new(9);
        let hold = market.hold(origin, &claims);
        let confirm = ConfirmLines { id: hold.id, origin, released: None };
        let attempt = market.world.prepare(&confirm).unwrap();
        assert_eq!(market.extend(&hold, Actor::Admin, MINUTE), Err(Stop::Retry));
        market.wait_until(0, hold.expires_at);
        assert_eq!(market.extend(&hold, Actor::Admin, MINUTE), Err(Stop::Retry), "it does not end by time");
        market.world.finish(&confirm, attempt, None);
        assert_eq!(market.extend(&hold, Actor::Admin, MINUTE), rejected(ClaimRejection::ClaimExpired));
    }
}

/// In the Redis cluster the live row of a confirmed hold is evicted.
#[test]
fn confirmed_hold_of_durable_tier_is_processed() {
    let mut market = Market::new(9);
    let (origin, claims) = every_type().pop().unwrap();
    let hold = market.hold(origin, &claims);
    market.world.run_in_steps(&ConfirmLines { id: hold.id, origin, released: None }).unwrap();
    market.world.memory.holds = TableState::complete();
    let records = market.world.memory.confirmed_holds.get(&hold.id).unwrap().unwrap().records();
    let processed = ClaimRejection::ClaimAlreadyProcessed { records };
    assert_eq!(market.extend(&hold, Actor::Admin, MINUTE), rejected(processed));
}

#[test]
fn extensions_are_limited() {
    for max in [0, 3] {
        let mut market = Market::new(9);
        market.world.limits.hold.extensions_max = max;
        let hold = market.hold(Origin::Claim, &[Claim::Slots(vec![9])]);
        for _ in 0..max {
            market.extend(&hold, Actor::Admin, MINUTE).unwrap();
        }
        let (before, counts) = (market.world.hold(hold.id), market.derived());
        assert_eq!((before.extensions, before.version), (max, u32::from(max)));
        let max_until = (hold.created_at + Span::from_hours(2)).rounded_up_to_second();
        assert_eq!(market.extend(&hold, Actor::Admin, MINUTE), limit(max_until));
        assert_eq!((market.world.hold(hold.id), market.derived()), (before, counts));
    }
}

#[test]
fn lifetime_is_limited() {
    let mut market = Market::new(9);
    market.world.limits.hold.lifetime_max = Span::from_secs(90);
    let hold = market.hold(Origin::Claim, &[Claim::Slots(vec![9])]);
    let max_until = (hold.created_at + Span::from_secs(90)).rounded_up_to_second();
    assert_eq!(max_until - Span::from_millis(750), hold.created_at + Span::from_secs(90), "rounded up like an end");
    market.world.wait(Span::from_secs(30));
    for too_late in [MINUTE, At(max_until + Span::from_millis(1))] {
        assert_eq!(market.extend(&hold, Actor::Admin, too_late), limit(max_until));
    }
    let extended = market.extend(&hold, Actor::Admin, At(max_until)).unwrap();
    assert_eq!(extended.expires_at, max_until);
    assert_eq!(market.extend(&hold, Actor::Admin, Later(Span::from_secs(1))), limit(max_until));
}

#[test]
fn longer_hold_than_lifetime_is_not_extended() {
    let mut market = Market::new(9);
    let ttl = Span::from_days(31);
    let claims = vec![Claim::Slots(vec![9])];
    let hold = market.place(Terms { owner: user(1), origin: Origin::Claim, ttl, claims }, &[]);
    let max_until = (hold.created_at + Span::from_hours(2)).rounded_up_to_second();
    for end in [MINUTE, Later(Span::from_millis(i64::MAX)), At(Timestamp::from_millis(i64::MAX))] {
        assert_eq!(market.extend(&hold, Actor::Admin, end), limit(max_until));
    }
}

#[test]
fn new_end_is_rounded_up_to_a_second() {
    for (millis, seconds) in [(1, 1), (999, 1), (1_000, 1), (1_001, 2)] {
        for is_relative in [true, false] {
            let mut market = Market::new(9);
            let hold = market.hold(Origin::Claim, &[Claim::Slots(vec![9])]);
            let later = Span::from_millis(millis);
            let end = if is_relative { Later(later) } else { At(hold.expires_at + later) };
            let extended = market.extend(&hold, Actor::Admin, end).unwrap();
            assert_eq!(extended.expires_at, hold.expires_at + Span::from_secs(seconds));
        }
    }
}

#[test]
fn new_end_must_be_after_the_present_one() {
    let mut market = Market::new(9);
    let hold = market.hold(Origin::Claim, &[Claim::Slots(vec![9])]);
    let (before, counts) = (market.world.hold(hold.id), market.derived());
    let earlier = |millis| hold.expires_at - Span::from_millis(millis);
    for (end, field) in [
        (Later(Span::from_millis(0)), "seconds"),
        (Later(Span::from_secs(-1)), "seconds"),
        (Later(Span::from_millis(i64::MIN)), "seconds"),
        (At(hold.expires_at), "until"),
        (At(earlier(999)), "until"),
        (At(earlier(1_000)), "until"),
        (At(market.world.now), "until"),
        (At(Timestamp::default()), "until"),
    ] {
        let expected = Err(Rejection::invalid(field, Fault::EmptyRange).into());
        assert_eq!(market.extend(&hold, Actor::Admin, end), expected, "{end:?}");
    }
    assert_eq!((market.world.hold(hold.id), market.derived()), (before, counts));
}

#[test]
fn units_stay_held_across_the_old_end() {
    let mut market = Market::new(1);
    let rival = market.world.run(&CreateUser { id: None, name: "Rival".into(), currency: None }).unwrap().id;
    let (stay, option) = (Claim::Stay { from: 1, to: 3, key: None }, market.option(0));
    market.world.run(&PutCartItem { user: rival.clone(), option, quantity: 1 }).unwrap();
    let claims = [stay, Claim::Stock { option: 0, quantity: 1 }, Claim::Seats(vec![3]), Claim::Slots(vec![9])];
    let hold = market.hold(Origin::Claim, &claims);
    let extended = market.extend(&hold, Actor::Admin, MINUTE).unwrap();
    let random = [7; 10];
    let rooms = PlaceStayHold {
        quantity: 1,
        random,
        user: user(9),
        room_type: market.room_type,
        check_in: day(2),
        check_out: day(4),
        client_key: ClientHoldKey::Uuid(Uuid::nil()),
    };
    let cart = ReserveOrder { random, user: rival, replace: false };
    let seat = market.event.seat(3).get();
    let seats = HoldSeats { random, event: market.event, user: user(9), seats: vec![seat] };
    let slots = LockSlots { random, room: market.room, user: user(9), slots: vec![slot_start(9)], ttl: None };
    for now in [hold.expires_at, extended.expires_at - Span::from_millis(1)] {
        market.world.now = now;
        assert_eq!(
            market.world.run(&rooms),
            Err(StayRejection::RoomNotAvailable { available: 0, date: day(2) }.into())
        );
        let shortage = ShopRejection::InsufficientAvailableStock { option, available: 0 };
        assert_eq!(market.world.run(&cart), Err(shortage.into()));
        assert_eq!(market.world.run(&seats), Err(TicketRejection::SeatHeldByAnother { seat }.into()));
        let (date, time) = (slot_start(9).date(), slot_start(9).time());
        assert_eq!(market.world.run(&slots), Err(CalendarRejection::SlotNotAvailable { date, time }.into()));
    }
    market.world.now = extended.expires_at;
    market.world.run(&rooms).unwrap();
    market.world.run(&cart).unwrap();
    market.world.run(&seats).unwrap();
    market.world.run(&slots).unwrap();
}

#[test]
fn extended_hold_is_confirmed_after_its_old_end() {
    for (origin, claims) in every_type() {
        for in_steps in [false, true] {
            let mut market = Market::new(9);
            let hold = market.hold(origin, &claims);
            let extended = market.extend(&hold, Actor::Admin, MINUTE).unwrap();
            market.wait_until(1, extended.expires_at);
            let confirm = ConfirmLines { id: hold.id, origin, released: None };
            let lines = if in_steps { market.world.run_in_steps(&confirm) } else { market.world.run(&confirm) };
            let confirmed = market.world.hold(hold.id);
            assert_eq!((confirmed.state, confirmed.version), (HoldState::Confirmed, 2));
            assert_eq!(*confirmed.lines, *lines.unwrap());
            assert_eq!(market.derived(), [""; 0]);
        }
    }
}

/// The entries by which an endpoint finds the hold that it replaces last until the new end.
#[test]
fn extended_hold_is_replaced_after_its_old_end() {
    let mut market = Market::new(1);
    let command = PlaceStayHold {
        quantity: 1,
        random: [7; 10],
        user: user(1),
        room_type: market.room_type,
        check_in: day(1),
        check_out: day(3),
        client_key: ClientHoldKey::Uuid(Uuid::nil()),
    };
    let hold = market.world.run(&command).unwrap();
    market.extend(&hold, Actor::Admin, MINUTE).unwrap();
    market.world.now = hold.expires_at;
    let new = market.world.run(&command).unwrap();
    assert_eq!(market.world.hold(hold.id).state, HoldState::Replaced { by: new.id });
    assert_eq!(market.world.hold(hold.id).version, 2);
}

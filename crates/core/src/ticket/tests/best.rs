//! Holding the best free seats.

use super::*;
use crate::command::{Context, Stop, Writes};
use crate::rejection::Fault;
use crate::table::TableSet as _;
use crate::working_set::WorkingSet;

#[test]
fn best_seats_are_adjacent_and_leave_no_single() {
    let mut hall = Hall::new(Mode::SingleCommit, &[3, 5]);
    hall.hold_best(1, 2).unwrap();
    assert_eq!(hall.map(), "...hh...");
    hall.hold_best(1, 3).unwrap();
    assert_eq!(hall.map(), "hhhhh...", "other holds of the user stay");
    hall.reserve(2, &[7]).unwrap();
    let hold = hall.hold_best(2, 2).unwrap();
    assert_eq!((hall.map().as_str(), hold.total()), ("hhhhhhRh", 2_000), "the remaining seats, in two blocks");
    assert_eq!(hall.hold_best(2, 1), Err(TicketRejection::NotEnoughSeats { available: 0 }.into()));
}

/// Returns an event with sections `left` and `right` of two seats each.
fn two_sections() -> Hall {
    let mut hall = Hall::new(Mode::SingleCommit, &[1]);
    let seat = |section: &str, label: &str| SeatDraft { label: label.into(), section: Some(section.into()), price: 1 };
    let seats = vec![seat("left", "1"), seat("left", "2"), seat("right", "1"), seat("right", "2")];
    let draft = EventDraft { name: Some("Opera".into()), ..EventDraft::default() };
    hall.event = hall.run(&CreateEvent { draft, currency: None, seats }).unwrap().id;
    hall
}

fn best_in(hall: &mut Hall, section: &str, count: u32) -> HoldBest {
    HoldBest { random: hall.draw(), event: hall.event, user: id(1), count, section: Some(section.into()) }
}

#[test]
fn best_seats_are_chosen_in_given_section() {
    let mut hall = two_sections();
    let three = best_in(&mut hall, "right", 3);
    assert_eq!(hall.run(&three), Err(TicketRejection::NotEnoughSeats { available: 2 }.into()));
    let two = best_in(&mut hall, "right", 2);
    hall.run(&two).unwrap();
    assert_eq!(hall.map(), "..hh");
    assert_eq!(hall.run(&two), Err(TicketRejection::NotEnoughSeats { available: 0 }.into()));
    let unknown = best_in(&mut hall, "middle", 1);
    assert_eq!(hall.run(&unknown), Err(Rejection::invalid("section", Fault::UnknownValue)));
    hall.hold(2, &[1, 2]).unwrap();
    assert_eq!(hall.run(&two), Err(TicketRejection::NotEnoughSeats { available: 0 }.into()));
}

#[test]
fn prepared_seats_make_best_seats_retry() {
    let mut hall = two_sections();
    let hold = hall.hold(2, &[1]).unwrap();
    hall.world.prepare(&ConfirmSeatHold::new(hold.id, Actor::Admin)).unwrap();
    let two = best_in(&mut hall, "left", 2);
    assert_eq!(hall.world.step(Writes::Live, |rows, at| two.decide(rows, at)), Err(Stop::Retry));
    let three = best_in(&mut hall, "left", 3);
    assert_eq!(
        hall.run(&three),
        Err(TicketRejection::NotEnoughSeats { available: 1 }.into()),
        "too few whatever the attempt's outcome"
    );
}

#[test]
fn checks_are_in_documented_order() {
    let mut hall = Hall::new(Mode::SingleCommit, &[4]);
    let known = hall.event;
    hall.event = EventId::new(77).unwrap();
    assert_eq!(hall.hold_best(1, 0), Err(TicketRejection::EventNotFound.into()));
    hall.event = known;
    let opens_at = hall.world.now + Span::from_secs(1);
    let sale =
        |opens_at| EventDraft { sales_open_at: Some(opens_at), max_seats_per_user: Some(2), ..EventDraft::default() };
    hall.run(&event::ChangeEvent { id: known, draft: sale(Some(opens_at)) }).unwrap();
    let range = || Err(Rejection::invalid("count", Fault::OutOfRange { min: 1, max: 1_000 }));
    assert_eq!(hall.hold_best(1, 0), range());
    assert_eq!(hall.hold_best(1, 1_001), Err(TicketRejection::SeatLimitReached { max: 2 }.into()));
    let many = EventDraft { max_seats_per_user: Some(1_001), ..EventDraft::default() };
    hall.run(&event::ChangeEvent { id: known, draft: many }).unwrap();
    assert_eq!(hall.hold_best(1, 1_001), range());
    hall.run(&event::ChangeEvent { id: known, draft: sale(Some(opens_at)) }).unwrap();
    assert_eq!(hall.hold_best(1, 5), Err(TicketRejection::SalesNotOpen { opens_at }.into()));
    hall.world.wait(Span::from_secs(1));
    assert_eq!(hall.hold_best(1, 5), Err(TicketRejection::NotEnoughSeats { available: 4 }.into()));
    assert_eq!(hall.hold_best(1, 3), Err(TicketRejection::SeatLimitReached { max: 2 }.into()));
    hall.world.limits.holds_per_user_max = 0;
    assert_eq!(hall.hold_best(1, 2), Err(Rejection::TooManyHolds { max: 0 }));
    hall.world.limits.holds_per_user_max = 50;
    hall.reserve(1, &[1, 2]).unwrap();
    hall.reserve(2, &[3, 4]).unwrap();
    assert_eq!(hall.hold_best(1, 5), Err(TicketRejection::SoldOut.into()));
}

#[test]
fn ended_hold_frees_its_seats() {
    let mut hall = Hall::new(Mode::SingleCommit, &[2]);
    hall.hold_best(1, 2).unwrap();
    hall.world.wait(Span::from_secs(300));
    hall.hold_best(2, 2).unwrap();
}

/// In one batch, each command sees the seats chosen by the earlier ones, and must find others without further load
/// rounds.
#[test]
fn many_in_one_batch_share_two_load_rounds() {
    let mut hall = Hall::new(Mode::SingleCommit, &[50, 50]);
    hall.hold(99, &[3]).unwrap();
    let commands: Vec<HoldBest> = (1..=45)
        .map(|user| HoldBest { random: [user as u8; 10], event: hall.event, user: id(user), count: 2, section: None })
        .collect();
    let at = Context { now: hall.world.now, limits: &hall.world.limits };
    let mut rows = WorkingSet::default();
    let mut undecided: Vec<&HoldBest> = commands.iter().collect();
    let mut taken = Vec::new();
    for _ in 0..3 {
        undecided.retain(|command| match rows.attempt(|rows| command.decide(rows, &at)) {
            Ok(hold) => {
                taken.extend(hold.item::<SeatsItem>().seats.iter().map(|seat| seat.seat));
                false
            }
            Err(Stop::NeedRows) => true,
            Err(stop) => panic!("{stop:?}"),
        });
        rows.fill_from(&hall.world.memory);
    }
    assert_eq!(undecided.len(), 0);
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), 90, "no seat is held twice");
}

#[test]
fn best_seats_of_fifty_thousand() {
    let mut hall = Hall::new(Mode::SingleCommit, &[2_500; 20]);
    hall.hold(1, &[1]).unwrap();
    let hold = hall.hold_best(2, 10).unwrap();
    assert_eq!(hold.item::<SeatsItem>().seats[0].seat.position(), 2);
    assert_eq!(hall.remaining(), 49_989);
}

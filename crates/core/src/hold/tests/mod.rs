//! The life of a hold, for lines of all types, alone and mixed in one hold.

mod encoding;
mod extend;
mod histories;
mod model;
mod owner;
mod recover;

use std::hash::{BuildHasher as _, Hasher as _};

use jiff::civil::{Date, date};
use proptest::test_runner::{Config, RngSeed};
use uuid::Uuid;

use super::owner::OwnerPage;
use super::*;
use crate::calendar::generation::GenerateSlots;
use crate::calendar::hours::OpenInterval;
use crate::calendar::local_time::{LocalTime, SlotStart};
use crate::calendar::rebuild::SetOperatingHours;
use crate::calendar::room::{CreateRoom, RoomDraft, RoomId};
use crate::calendar::{LockedSlot, SlotsItem};
use crate::command::{Command, Context, TwoPhase, Writes, writes};
use crate::id::Sequence;
use crate::shop::product::{CreateProduct, OptionDraft};
use crate::shop::{InventoryReservationId, LastHold, ProductOptionId, StockItem};
use crate::stay::room_type::{CreateRoomType, RoomTypeDraft};
use crate::stay::{ClientHoldKey, RoomTypeId, StayDates, StayItem};
use crate::testing::World;
use crate::ticket::event::{CreateEvent, EventDraft};
use crate::ticket::plan::SeatDraft;
use crate::ticket::{EventId, ReservedSeat, SeatsItem};
use crate::unit::Kind;

/// Date of the clock in Seoul.
const TODAY: Date = date(2025, 11, 4);
const PRICE: i64 = 1_000;
const OPTIONS: u64 = 3;
const SEATS: u32 = 8;

/// Claim of a line, relative to the catalog of a [`Market`].
#[derive(Clone, Debug)]
enum Claim {
    /// Nights counted from today, and the number of the client's key if the endpoint of stays places the hold.
    Stay { from: i32, to: i32, key: Option<u8> },
    /// Number of the option, and quantity.
    Stock { option: u64, quantity: u32 },
    /// Positions of the seats, ascending.
    Seats(Vec<u32>),
    /// Hours of tomorrow, ascending.
    Slots(Vec<u16>),
}

/// A catalog of all types on tables of its own: a room type, options, an event of eight seats, and a room with a slot
/// for each hour of tomorrow.
struct Market {
    world: World,
    room_type: RoomTypeId,
    first_option: ProductOptionId,
    event: EventId,
    room: RoomId,
    placed: u64,
}

impl Market {
    /// Creates the catalog with this number of rooms, and of pieces of each option.
    fn new(capacity: u32) -> Self {
        let mut world = World::new();
        world.limits.calendar.days_ahead = 1;
        let rooms = RoomTypeDraft {
            name: Some("Double".into()),
            total_quantity: Some(capacity),
            base_price: Some(PRICE),
            ..RoomTypeDraft::default()
        };
        let room_type = world.run(&CreateRoomType(rooms)).unwrap().id;
        let option = |number| OptionDraft {
            option_code: format!("OPTION-{number}"),
            price: PRICE,
            stock_quantity: capacity,
            is_active: true,
        };
        let options = (0..OPTIONS).map(option).collect();
        let product = world.run(&CreateProduct { name: "Coffee".into(), currency: None, options }).unwrap().product;
        let seat = |number| SeatDraft { label: format!("A{number}"), section: None, price: PRICE };
        let draft =
            EventDraft { name: Some("Concert".into()), max_seats_per_user: Some(SEATS), ..EventDraft::default() };
        let seats = (1..=SEATS).map(seat).collect();
        let event = world.run(&CreateEvent { draft, currency: None, seats }).unwrap().id;
        let draft = RoomDraft {
            name: Some("Meeting room".into()),
            slot_minutes: Some(60),
            base_price: Some(PRICE),
            ..RoomDraft::default()
        };
        let room = world.run(&CreateRoom(draft)).unwrap().id;
        let all_day = OpenInterval { from: LocalTime::from_minutes(0).unwrap(), to: LocalTime::MIDNIGHT_AFTER };
        let weekly = std::array::from_fn(|_| vec![all_day]);
        world.run(&SetOperatingHours { room, weekly, exceptions: Vec::new() }).unwrap();
        while !world.run(&GenerateSlots { room, until: None }).unwrap().done {}
        world.events.clear();
        // Not a full second.
        world.wait(Span::from_millis(250));
        Self { world, room_type, first_option: product.first_option, event, room, placed: 0 }
    }

    /// Places a hold with these lines, without the checks of an endpoint, in place of `replaced` holds.
    fn place(&mut self, terms: Terms, replaced: &[Hold]) -> Hold {
        let Terms { owner, origin, ttl, claims } = terms;
        let lines: Vec<_> = claims.iter().map(|claim| self.line(claim)).collect();
        let (created_at, currency) = (self.world.now, Currency::KRW);
        let expires_at = (created_at + ttl).rounded_up_to_second();
        let id = HoldId::new(created_at, self.random());
        let hold = Placement { extras: Extras::default(), id, owner, origin, created_at, expires_at, currency, lines }
            .into_hold();
        let write = |rows: &mut WorkingSet, at: &Context<'_>| {
            replaced.iter().chain([&hold]).for_each(|hold| place::request_indexes(rows, hold));
            for old in replaced {
                rows.holds.get(&old.id)?;
                cancel::replace(rows, old, id, at.now)?;
            }
            if origin == Origin::Cart {
                // Written by the endpoint of carts.
                rows.shop.last_holds.get(&hold.owner)?;
                rows.shop.last_holds.put(hold.owner.clone(), LastHold::of(&hold));
            }
            place::insert(rows, &hold, at.now)
        };
        self.world.step(Writes::Live, write).unwrap();
        hold
    }

    /// Places a hold of user 1 for a minute.
    fn hold(&mut self, origin: Origin, claims: &[Claim]) -> Hold {
        self.place(Terms { owner: user(1), origin, ttl: Span::from_secs(60), claims: claims.to_vec() }, &[])
    }

    /// Cancels a hold as the endpoint of its origin does.
    fn cancel(&mut self, hold: &Hold, actor: &Actor) -> Decision<()> {
        let (id, origin) = (hold.id, hold.origin);
        self.world.step(Writes::Live, |rows, at| {
            let hold = find_live(rows, id, actor, origin, at.now)?;
            cancel::cancel(rows, &hold, at.now)
        })
    }

    fn extend(&mut self, hold: &Hold, actor: Actor, end: NewEnd) -> Decision<Hold> {
        let command = ExtendHold { version: None, id: hold.id, actor, end };
        self.world.step(Writes::Live, |rows, at| command.decide(rows, at))
    }

    /// Returns price and item of a line.
    fn line(&mut self, claim: &Claim) -> (i64, Item) {
        match claim {
            Claim::Stay { from, to, key } => {
                let dates = StayDates { check_in: day(*from), check_out: day(*to) };
                let client_key = key.map(|key| ClientHoldKey::Uuid(Uuid::from_bytes([key; 16])));
                (
                    PRICE * i64::from(to - from),
                    Item::Stay(StayItem { quantity: 1, room_type: self.room_type, dates, client_key }),
                )
            }
            Claim::Stock { option, quantity } => {
                self.placed += 1;
                let item = StockItem {
                    reservation: InventoryReservationId::new(self.placed).unwrap(),
                    option: self.option(*option),
                    product_name: "Coffee".into(),
                    option_code: format!("OPTION-{option}").into(),
                    quantity: *quantity,
                    unit_price: PRICE,
                };
                (item.amount(), Item::Stock(item))
            }
            Claim::Seats(positions) => {
                let seat = |position: &u32| ReservedSeat {
                    seat: self.event.seat(*position),
                    label: format!("A{position}").into(),
                    section: None,
                    price: PRICE,
                };
                let seats: Arc<[_]> = positions.iter().map(seat).collect();
                (PRICE * seats.len() as i64, Item::Seats(SeatsItem { event: self.event, seats }))
            }
            Claim::Slots(hours) => {
                let slot = |hour: &u16| LockedSlot { start: slot_start(*hour), minutes: 60, price: PRICE };
                let slots: Arc<[_]> = hours.iter().map(slot).collect();
                (PRICE * slots.len() as i64, Item::Slots(SlotsItem { room: self.room, slots }))
            }
        }
    }

    fn option(&self, number: u64) -> ProductOptionId {
        ProductOptionId::new(self.first_option.get() + number).unwrap()
    }

    fn random(&mut self) -> [u8; 10] {
        self.placed += 1;
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.placed.to_be_bytes());
        random
    }

    /// Returns the effective counts of holds and their index entries as text, with the end of each entry.
    fn derived(&self) -> Vec<String> {
        let (memory, now) = (&self.world.memory, self.world.now);
        let mut rows: Vec<String> = Vec::new();
        rows.extend(memory.held.rows().map(|(unit, tally)| format!("{unit:?} {}", tally.live(now))));
        rows.extend(memory.held.rows().map(|(unit, tally)| format!("{unit:?} prepared {}", tally.prepared())));
        rows.extend(memory.owner_holds.rows().flat_map(|(OwnerPage { kind, user, .. }, row)| {
            let live = row.listed().iter().filter(|hold| now < hold.ends_at);
            live.map(move |hold| format!("{kind:?} {user:?} {} {:?}", hold.id, hold.ends_at))
        }));
        let buyers = memory.ticket.buyers_held.rows();
        rows.extend(buyers.map(|(buyer, tally)| format!("held by {buyer:?} {}", tally.live(now))));
        rows.retain(|row| !row.ends_with(" 0"));
        let by_dates = memory.stay.by_dates.rows().filter(|(_, entry)| entry.expires_at > now);
        rows.extend(by_dates.map(|row| format!("{row:?}")));
        let by_client_key = memory.stay.by_client_key.rows().filter(|(_, entry)| entry.expires_at > now);
        rows.extend(by_client_key.map(|row| format!("{row:?}")));
        let by_slot = memory.calendar.by_slot.rows().filter(|(_, entry)| entry.expires_at > now);
        rows.extend(by_slot.map(|row| format!("{row:?}")));
        let by_seat = memory.ticket.by_seat.rows().filter(|(_, entry)| entry.is_live(now));
        rows.extend(by_seat.map(|row| format!("{row:?}")));
        rows.sort();
        rows
    }
}

/// Terms of a new hold.
#[derive(Clone, Debug)]
struct Terms {
    owner: UserId,
    origin: Origin,
    ttl: Span,
    claims: Vec<Claim>,
}

/// Confirms a hold of any origin, all lines or some, as a command over lines of all types does.
#[derive(Clone, Debug)]
struct ConfirmLines {
    id: HoldId,
    origin: Origin,
    /// Index of a line that is released instead; the only line never is.
    released: Option<u16>,
}

impl Command for ConfirmLines {
    /// The confirmed lines.
    type Outcome = Vec<Line>;
    const NAME: &'static str = "test.confirm_lines";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Vec<Line>> {
        let hold = find_live(rows, self.id, &Actor::Admin, self.origin, at.now)?;
        let lines = self.record_lines(rows, at, &hold)?;
        confirm::end(rows, &hold, Records::Lines(&lines), at.now)?;
        Ok(lines)
    }
}

impl TwoPhase for ConfirmLines {
    type Prepared = AttemptId;

    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<AttemptId> {
        let hold = find_live(rows, self.id, &Actor::Admin, self.origin, at.now)?;
        confirm::prepare(rows, &hold, at.now)
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &AttemptId) -> Decision<Vec<Line>> {
        let hold = confirm::find_prepared(rows, *prepared)?.ok_or(Stop::Retry)?;
        assert_eq!(confirm::recorded(rows, *prepared)?, None, "the attempt is recorded once");
        let lines = self.record_lines(rows, at, &hold)?;
        confirm::commit(rows, &hold, Records::Lines(&lines));
        Ok(lines)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        at: &Context<'_>,
        prepared: &AttemptId,
        outcome: Option<&Vec<Line>>,
    ) -> Decision<()> {
        confirm::finish(rows, *prepared, outcome.map(|lines| Records::Lines(lines)), at.now)
    }
}

impl ConfirmLines {
    /// A cart becomes one record, which its payment makes; these tests draw a number for each of its lines.
    fn record_lines(&self, rows: &mut WorkingSet, at: &Context<'_>, hold: &Hold) -> Decision<Vec<Line>> {
        let is_confirmed = |line: &&Line| hold.lines.len() == 1 || Some(line.index) != self.released;
        let chosen: Vec<u16> = hold.held_lines().filter(is_confirmed).map(|line| line.index).collect();
        let mut confirmed = if hold.origin == Origin::Cart {
            hold.lines.to_vec()
        } else {
            confirm::record_lines(rows, hold, Some(&chosen), at)?
        };
        if hold.origin == Origin::Cart {
            for line in confirmed.iter_mut().filter(|line| chosen.contains(&line.index)) {
                line.state = LineState::Confirmed { record: rows.next_id(Sequence::Order)? };
            }
        }
        confirmed.retain(|line| line.state.record().is_some());
        Ok(confirmed)
    }
}

/// Returns a hold's claims and origin for each type of line, and for all types mixed, twice each.
fn every_type() -> Vec<(Origin, Vec<Claim>)> {
    let stay = |key| Claim::Stay { from: 1, to: 3, key };
    let stock = |option| Claim::Stock { option, quantity: 2 };
    let mixed = [
        stay(None),
        stock(0),
        Claim::Seats(vec![1, 2]),
        Claim::Slots(vec![9, 11]),
        stay(None),
        stock(0),
        Claim::Seats(vec![4]),
        Claim::Slots(vec![10]),
    ];
    vec![
        (Origin::Stay, vec![stay(Some(1))]),
        (Origin::Cart, vec![stock(0), stock(1)]),
        (Origin::Seats, vec![Claim::Seats(vec![2, 5])]),
        (Origin::Lock, vec![Claim::Slots(vec![9, 10])]),
        (Origin::Claim, mixed.to_vec()),
    ]
}

/// Configuration of a property test. It prints its seed, and `PROPTEST_RNG_SEED=<seed> cargo test -p holdfast-core
/// hold::tests` replays a failure.
fn config(cases: u32) -> Config {
    let default = Config::default();
    let seed = match default.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => std::hash::RandomState::new().build_hasher().finish(),
    };
    eprintln!("PROPTEST_RNG_SEED={seed}");
    Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..default }
}

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

fn day(days: i32) -> Date {
    TODAY.saturating_add(jiff::Span::new().days(days))
}

/// Returns the start of an hour of tomorrow.
fn slot_start(hour: u16) -> SlotStart {
    SlotStart::new(day(1), LocalTime::from_minutes(hour * 60).unwrap()).unwrap()
}

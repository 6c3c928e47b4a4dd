//! Random histories of one life cycle for all types, compared with a naive model after each step.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::encoding::assert_round_trip;
use super::model::{Model, single_units};
use super::*;
use crate::event::Event;
use crate::hold::audit::HoldAudit;
use crate::table::{SWEEPS, StateSet as _, TableState};

/// Number of latest holds among which an action chooses.
const RECENT: usize = 8;

#[derive(Clone, Debug)]
enum Action {
    Place {
        owner: u64,
        ttl_millis: i64,
        placed: (Origin, Vec<Claim>),
    },
    /// By a user, or by an operator instead of user 0.
    Extend {
        hold: Index,
        by: u64,
        is_relative: bool,
        millis: i64,
    },
    Cancel {
        hold: Index,
        by: u64,
    },
    /// Confirms in one commit, or prepares to.
    Confirm {
        hold: Index,
        released: Option<u16>,
        in_steps: bool,
    },
    /// Records a prepared attempt, or decides that it is aborted.
    Decide {
        attempt: Index,
        is_committed: bool,
    },
    /// Finishes an attempt, in the same server or as a recovery.
    Finish {
        attempt: Index,
        is_recovery: bool,
    },
    /// Moves the end to that of a payment, or back.
    Pay {
        hold: Index,
        millis: Option<i64>,
    },
    Wait(i64),
    Purge,
    /// Rebuilds all secondary indexes.
    Restart,
}

fn claims() -> impl Strategy<Value = (Origin, Vec<Claim>)> {
    let stay =
        |key| (0..4_i32, 1..4_i32, key).prop_map(|(from, nights, key)| Claim::Stay { from, to: from + nights, key });
    let stock = || (0..OPTIONS, 1..4_u32).prop_map(|(option, quantity)| Claim::Stock { option, quantity });
    let seats = || subsequence((1..=SEATS).collect::<Vec<_>>(), 1..=3).prop_map(Claim::Seats);
    let slots = || subsequence((8..14).collect::<Vec<_>>(), 1..=3).prop_map(Claim::Slots);
    let any_claim = prop_oneof![stay(Just(None).boxed()), stock(), seats(), slots()];
    let one = |origin, claim: BoxedStrategy<Claim>| claim.prop_map(move |claim| (origin, vec![claim]));
    prop_oneof![
        1 => one(Origin::Stay, stay((0..3_u8).prop_map(Some).boxed()).boxed()),
        1 => one(Origin::Seats, seats().boxed()),
        1 => one(Origin::Lock, slots().boxed()),
        1 => proptest::collection::vec(stock(), 1..4).prop_map(|claims| (Origin::Cart, claims)),
        3 => proptest::collection::vec(any_claim, 1..6).prop_map(|claims| (Origin::Claim, claims)),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let hold = any::<Index>;
    let millis = || prop_oneof![1..1_000_i64, Just(1_000), 1_000..60_000_i64];
    let action = prop_oneof![
        8 => (1..4_u64, millis(), claims())
            .prop_map(|(owner, ttl_millis, placed)| Action::Place { owner, ttl_millis: ttl_millis.max(1_000), placed }),
        5 => (hold(), 0..4_u64, any::<bool>(), -2_000..40_000_i64)
            .prop_map(|(hold, by, is_relative, millis)| Action::Extend { hold, by, is_relative, millis }),
        2 => (hold(), 0..4_u64).prop_map(|(hold, by)| Action::Cancel { hold, by }),
        5 => (hold(), proptest::option::of(0..5_u16), any::<bool>())
            .prop_map(|(hold, released, in_steps)| Action::Confirm { hold, released, in_steps }),
        3 => (hold(), proptest::bool::weighted(0.7))
            .prop_map(|(attempt, is_committed)| Action::Decide { attempt, is_committed }),
        4 => (hold(), any::<bool>()).prop_map(|(attempt, is_recovery)| Action::Finish { attempt, is_recovery }),
        2 => (hold(), proptest::option::of(millis())).prop_map(|(hold, millis)| Action::Pay { hold, millis }),
        4 => millis().prop_map(Action::Wait),
        1 => Just(Action::Purge),
        1 => Just(Action::Restart),
    ];
    proptest::collection::vec(action, 1..60)
}

/// A market and its model.
struct History {
    market: Market,
    model: Model,
    pending: Vec<Pending>,
    /// Numbers that stand for orders, which these tests do not make.
    orders: Vec<(u64, HoldId)>,
}

/// A prepared attempt that is not finished.
struct Pending {
    command: ConfirmLines,
    attempt: AttemptId,
    decided: Option<Option<Vec<Line>>>,
}

impl History {
    fn new() -> Self {
        let mut market = Market::new(10_000);
        market.world.limits.hold = Limits { extensions_max: 3, lifetime_max: Span::from_secs(90), ..Limits::DEFAULT };
        Self { market, model: Model::default(), pending: Vec::new(), orders: Vec::new() }
    }

    /// Returns the position of one of the latest holds.
    fn pick(&self, index: Index) -> Option<usize> {
        let count = self.model.holds.len();
        (count > 0).then(|| count - 1 - index.index(count.min(RECENT)))
    }

    fn run(&mut self, action: Action) {
        let now = self.market.world.now;
        match action {
            Action::Place { owner, ttl_millis, placed: (origin, claims) } => {
                let ttl = Span::from_millis(ttl_millis);
                self.place(Terms { owner: user(owner), origin, ttl, claims });
            }
            Action::Extend { hold, by, is_relative, millis } => {
                if let Some(index) = self.pick(hold) {
                    self.extend(index, actor(by), is_relative, Span::from_millis(millis));
                }
            }
            Action::Cancel { hold, by } => {
                if let Some(index) = self.pick(hold) {
                    self.cancel(index, &actor(by));
                }
            }
            Action::Confirm { hold, released, in_steps } => {
                if let Some(index) = self.pick(hold) {
                    self.confirm(index, released, in_steps);
                }
            }
            Action::Decide { attempt, is_committed } => {
                if !self.pending.is_empty() {
                    self.decide(attempt.index(self.pending.len()), is_committed);
                }
            }
            Action::Finish { attempt, is_recovery } => {
                if !self.pending.is_empty() {
                    self.finish(attempt.index(self.pending.len()), is_recovery);
                }
            }
            Action::Pay { hold, millis } => {
                if let Some(index) = self.pick(hold).filter(|index| self.model.holds[*index].is_live(now)) {
                    self.pay(index, millis);
                }
            }
            Action::Wait(millis) => self.market.world.wait(Span::from_millis(millis)),
            Action::Purge => self.purge(),
            Action::Restart => self.restart(),
        }
    }

    /// Places a hold, without the lines that claim the same seat or slot as an earlier one.
    fn place(&mut self, mut terms: Terms) {
        let now = self.market.world.now;
        let mut taken = Vec::new();
        terms.claims.retain(|claim| {
            let units = single_units(&self.market.line(claim).1);
            let is_free = units.iter().all(|unit| !taken.contains(unit));
            taken.extend(units);
            is_free
        });
        let draft = Placement {
            extras: Extras::default(),
            id: HoldId::new(now, [0; 10]),
            owner: terms.owner.clone(),
            origin: terms.origin,
            created_at: now,
            expires_at: now,
            currency: Currency::KRW,
            lines: terms.claims.iter().map(|claim| self.market.line(claim)).collect::<Vec<_>>(),
        }
        .into_hold();
        if self.model.is_blocked(&draft, now) {
            return;
        }
        let replaced = self.model.replaced_by(&draft, now);
        self.market.world.events.clear();
        let hold = self.market.place(terms, &replaced);
        let replace = |old: &Hold| self.model.end(old.id, HoldState::Replaced { by: hold.id }).clone();
        let events: Vec<Event> = replaced.iter().map(replace).map(Event::HoldReplaced).collect();
        assert_eq!(self.market.world.events, events);
        self.model.holds.push(hold);
    }

    fn extend(&mut self, index: usize, actor: Actor, is_relative: bool, span: Span) {
        let hold = self.model.holds[index].clone();
        if hold.pay_by.is_some() {
            return;
        }
        let end = if is_relative { NewEnd::Later(span) } else { NewEnd::At(hold.expires_at + span) };
        let now = self.market.world.now;
        let expected = self.model.extended(index, &actor, end, &self.market.world.limits.hold, now);
        assert_eq!(self.market.extend(&hold, actor, end), expected);
        if let Ok(extended) = expected {
            self.model.holds[index] = extended;
        }
    }

    fn cancel(&mut self, index: usize, actor: &Actor) {
        let (id, now) = (self.model.holds[index].id, self.market.world.now);
        let expected = self.model.find_live(index, actor, now).map(|_| ());
        assert_eq!(self.market.cancel(&self.model.holds[index], actor), expected);
        if expected.is_ok() {
            let cancelled = self.model.end(id, HoldState::Cancelled).clone();
            assert_eq!(self.market.world.events.last(), Some(&Event::HoldCancelled(cancelled)));
        }
    }

    fn confirm(&mut self, index: usize, released: Option<u16>, in_steps: bool) {
        let Hold { id, origin, attempt, .. } = self.model.holds[index];
        let command = ConfirmLines { id, origin, released };
        let expected = self.model.find_live(index, &Actor::Admin, self.market.world.now).map(|_| ());
        if in_steps {
            let of = AttemptId { hold: id, attempt: Attempt(attempt.0 + 1) };
            assert_eq!(self.market.world.prepare(&command), expected.clone().map(|()| of));
            if expected.is_ok() {
                let hold = &mut self.model.holds[index];
                (hold.state, hold.attempt) = (HoldState::Prepared, of.attempt);
                self.pending.push(Pending { command, attempt: of, decided: None });
            }
        } else {
            let confirmed = self.market.world.step(Writes::Both, |rows, at| command.decide(rows, at));
            assert_eq!(confirmed.as_ref().map(|_| ()), expected.as_ref().copied());
            if let Ok(lines) = confirmed {
                self.add_orders(id, &lines);
                self.model.confirm(id, &lines);
            }
        }
    }

    /// Decides a prepared attempt, unless it is decided.
    fn decide(&mut self, index: usize, is_committed: bool) {
        let pending = &mut self.pending[index];
        if pending.decided.is_some() {
            return;
        }
        let (world, attempt) = (&mut self.market.world, pending.attempt);
        if is_committed {
            let lines = world.record(&pending.command, attempt).expect("a prepared hold can be recorded");
            pending.decided = Some(Some(lines.clone()));
            self.add_orders(attempt.hold, &lines);
        } else {
            world.decide_attempt(attempt, None);
            pending.decided = Some(None);
        }
    }

    /// Finishes an attempt as decided. An undecided one is aborted.
    fn finish(&mut self, index: usize, is_recovery: bool) {
        let Pending { command, attempt, decided } = self.pending.swap_remove(index);
        let lines = decided.flatten();
        if is_recovery {
            self.market.world.run(&RecoverHold { of: attempt, is_committed: lines.is_some() }).unwrap();
        } else {
            self.market.world.finish(&command, attempt, lines.as_ref());
        }
        match lines {
            Some(lines) => self.model.confirm(attempt.hold, &lines),
            None => self.model.get_mut(attempt.hold).state = HoldState::Held,
        }
    }

    /// Moves the end of a live hold as beginning a payment does, or its failure.
    fn pay(&mut self, index: usize, millis: Option<i64>) {
        let before = self.model.holds[index].clone();
        let pay_by = millis.map(|millis| (self.market.world.now + Span::from_millis(millis)).rounded_up_to_second());
        let after = Hold { pay_by, version: before.version + 1, ..before.clone() };
        let update = |rows: &mut WorkingSet, at: &Context<'_>| {
            place::request_indexes(rows, &before);
            rows.holds.get(&before.id)?;
            place::update(rows, &before, after.clone(), at.now)
        };
        self.market.world.step(Writes::Live, update).unwrap();
        self.model.holds[index] = after;
    }

    fn purge(&mut self) {
        for _ in 0..SWEEPS {
            self.market.world.memory.purge(self.market.world.now, usize::MAX);
        }
    }

    /// Rebuilds all secondary indexes from the live holds, latest first. Stores that do so have no prepared holds.
    fn restart(&mut self) {
        if !self.pending.is_empty() {
            return;
        }
        let memory = &mut self.market.world.memory;
        (memory.held, memory.owner_holds) = (TableState::complete(), TableState::complete());
        (memory.stay.by_dates, memory.stay.by_client_key) = (TableState::complete(), TableState::complete());
        (memory.ticket.by_seat, memory.ticket.buyers_held) = (TableState::complete(), TableState::complete());
        memory.calendar.by_slot = TableState::complete();
        for hold in self.market.world.live_holds().iter().rev() {
            self.market.world.index(hold);
        }
    }

    fn add_orders(&mut self, id: HoldId, lines: &[Line]) {
        if self.market.world.hold(id).origin != Origin::Cart {
            return;
        }
        let stock = lines.iter().filter(|line| matches!(line.item, Item::Stock(_)));
        self.orders.extend(stock.map(|line| (line.state.record().expect("the line is confirmed"), id)));
    }

    /// Asserts all invariants.
    fn check(&self) {
        let (world, now) = (&self.market.world, self.market.world.now);
        let mut rows: Vec<Hold> = world.memory.holds.rows().map(|(_, hold)| hold.clone()).collect();
        rows.sort_by_key(|hold| self.model.holds.iter().position(|placed| placed.id == hold.id));
        assert_eq!(rows, self.model.holds);
        assert_eq!(self.market.derived(), self.model.derived(now));
        let last = world.memory.shop.last_holds.rows().filter(|(_, entry)| now < entry.kept_until);
        assert_eq!(
            last.map(|(user, entry)| (user.clone(), *entry)).collect::<BTreeMap<_, _>>(),
            self.model.last_carts(now)
        );
        self.check_records();
    }

    /// Asserts that records and confirmed lines match, one to one and at the same price.
    fn check_records(&self) {
        let memory = &self.market.world.memory;
        let mut audit = HoldAudit::default();
        memory.holds.rows().for_each(|(_, hold)| audit.hold(hold));
        for (id, confirmed) in memory.confirmed_holds.rows() {
            audit.hold(confirmed);
            let live = self.market.world.hold(*id);
            assert!(live.state == HoldState::Prepared || live == *confirmed, "{live:?} is not {confirmed:?}");
        }
        let stays = memory.stay.reservations.rows();
        let stays = stays.map(|(_, it)| (RecordType::StayReservation, it.id.get(), it.hold, it.user.clone(), it.price));
        let seats = memory.ticket.reservations.rows();
        let seats = seats.map(|(_, it)| (RecordType::SeatReservation, it.id.get(), it.hold, it.user.clone(), it.total));
        let slots = memory.calendar.reservations.rows();
        let slots = slots.map(|(_, it)| (RecordType::RoomReservation, it.id.get(), it.lock, it.user.clone(), it.total));
        let sales = memory.shop.sales.rows();
        let sales = sales.map(|(_, it)| (RecordType::StockSale, it.id.get(), it.hold, it.user.clone(), it.price));
        for (record, number, id, owner, price) in stays.chain(seats).chain(slots).chain(sales) {
            audit.record(record, number, id);
            let hold = self.market.world.hold(id);
            assert_eq!(hold.owner, owner);
            let is_its = |it: &LineRecord| it.record == record && it.number == number;
            let line = hold.records().into_iter().find(is_its).map(|it| &hold.lines[usize::from(it.line)]);
            assert!(hold.state == HoldState::Prepared || line.is_some_and(|line| line.price == price), "{hold:?}");
        }
        self.orders.iter().for_each(|(number, id)| audit.record(RecordType::Order, *number, *id));
        assert_eq!(audit.finish(), [""; 0]);
    }

    /// Finishes all attempts, lets all holds end, and asserts that no count and no index entry is left.
    fn check_no_leak(mut self) {
        while !self.pending.is_empty() {
            self.finish(0, self.pending.len().is_multiple_of(2));
            self.check();
        }
        let end = self.model.holds.iter().map(Hold::ends_at).max().unwrap_or_default();
        self.market.world.now = self.market.world.now.max(end);
        self.check();
        assert_eq!(self.market.derived(), [""; 0]);
        self.purge();
        self.check();
        let memory = &self.market.world.memory;
        assert_eq!((memory.held.rows().count(), memory.owner_holds.rows().count()), (0, 0));
        assert_eq!((memory.stay.by_dates.rows().count(), memory.stay.by_client_key.rows().count()), (0, 0));
        assert_eq!((memory.ticket.by_seat.rows().count(), memory.ticket.buyers_held.rows().count()), (0, 0));
        assert_eq!(memory.calendar.by_slot.rows().count(), 0);
        self.market.world.wait(ENDED_HOLD_KEPT);
        self.purge();
        assert_eq!(self.market.world.memory.shop.last_holds.rows().count(), 0);
    }
}

/// Returns a user as an actor; 0 is an operator.
fn actor(by: u64) -> Actor {
    UserId::new(by).map_or(Actor::Admin, Actor::User)
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn one_life_cycle_equals_naive_model(actions in actions()) {
        let mut history = History::new();
        for action in actions {
            history.run(action);
            history.check();
            history.model.holds.iter().rev().take(RECENT).for_each(assert_round_trip);
        }
        history.model.holds.iter().for_each(assert_round_trip);
        history.check_no_leak();
    }
}

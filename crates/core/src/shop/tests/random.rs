//! Random histories: money and pieces are conserved in any order of commands.

use super::*;
use crate::command::{Decision, Stop, TwoPhase, WriteMode as _};
use crate::hold::{HoldState, RecoverHold};
use crate::rejection::ShopRejection;
use crate::table::{SWEEPS, StateSet as _};
use crate::testing::Dice;
use crate::time::Span;

const USERS: u64 = 5;
const OPTIONS: u64 = 4;
const STEPS: usize = 600;

/// Concurrent servers on one shop: steps of different commands interleave, and some are never finished.
struct History {
    shop: Shop,
    dice: Dice,
    users: Vec<UserId>,
    options: Vec<ProductOptionId>,
    charged: i64,
    orders: Vec<OrderId>,
    payments: Vec<InProgress<PayOrder>>,
    changes: Vec<InProgress<ChangeOption>>,
}

/// A prepared command, and its record if decided.
struct InProgress<C: TwoPhase> {
    command: C,
    prepared: C::Prepared,
    recorded: Option<Decision<C::Outcome>>,
}

impl History {
    fn new(seed: u64, in_steps: bool) -> Self {
        let mut shop = Shop::new(in_steps);
        let users = (0..USERS).map(|_| shop.user(0)).collect();
        let options = (0..OPTIONS).map(|number| shop.option(700 * number as i64, 6)).collect();
        shop.coupon("PERCENT", Discount::Percent(33), 3);
        shop.coupon("AMOUNT", Discount::Amount(1_000), 3);
        let dice = Dice::new(seed);
        let (orders, payments, changes) = (Vec::new(), Vec::new(), Vec::new());
        Self { shop, dice, users, options, charged: 0, orders, payments, changes }
    }

    fn user(&mut self) -> UserId {
        self.users[self.dice.roll(USERS) as usize].clone()
    }

    fn option(&mut self) -> ProductOptionId {
        self.options[self.dice.roll(OPTIONS) as usize]
    }

    fn coupon(&mut self) -> &'static str {
        ["PERCENT", "AMOUNT", "NONE"][self.dice.roll(3) as usize]
    }

    fn step(&mut self) {
        match self.dice.roll(20) {
            0..=1 => self.charge(),
            2..=5 => self.put(),
            6..=9 => self.reserve(),
            10 => {
                let user = self.user();
                self.try_to(&ReleaseOrder { user });
            }
            11..=14 => self.pay(),
            15 => self.cancel(),
            16 => {
                let (user, code) = (self.user(), code(self.coupon()));
                self.try_to(&IssueCoupon { code, user });
            }
            17 => self.change(),
            18 => {
                let millis = [1, 999, 60_000, 900_000][self.dice.roll(4) as usize];
                self.shop.world.wait(Span::from_millis(millis));
                if self.dice.roll(2) == 0 {
                    for _ in 0..SWEEPS {
                        self.shop.world.memory.purge(self.shop.world.now, usize::MAX);
                    }
                }
            }
            _ if self.shop.in_steps => self.recover(),
            _ => self.shop.restart(),
        }
        if self.shop.in_steps {
            self.advance_one();
        }
    }

    /// Runs a command that may be rejected or back off; either must leave the shop consistent.
    fn try_to<C: Command>(&mut self, command: &C) -> Option<C::Outcome> {
        self.shop.world.step(C::Writes::WRITES, |rows, at| command.decide(rows, at)).ok()
    }

    fn charge(&mut self) {
        let (user, amount) = (self.user(), 1 + self.dice.roll(9_000) as i64);
        self.shop.run(&AddBalance { user, amount }).unwrap();
        self.charged += amount;
    }

    fn put(&mut self) {
        let (user, option, quantity) = (self.user(), self.option(), self.dice.roll(4) as u32);
        self.shop.put(&user, option, quantity);
    }

    fn reserve(&mut self) {
        let (random, user, replace) = (self.shop.random(), self.user(), self.dice.roll(2) == 0);
        self.try_to(&ReserveOrder { random, user, replace });
    }

    fn pay(&mut self) {
        let user = self.user();
        let coupon = (self.dice.roll(2) == 0).then(|| code(self.coupon()));
        let command = PayOrder { coupon, ..payment_of(&user) };
        if self.shop.in_steps {
            if let Ok(prepared) = self.shop.world.prepare(&command) {
                self.payments.push(InProgress { command, prepared, recorded: None });
            }
            return;
        }
        match self.shop.run(&command) {
            Ok(paid) => self.orders.push(paid.order.id),
            Err(rejected) => check_goods_available(&rejected),
        }
    }

    fn cancel(&mut self) {
        if !self.orders.is_empty() {
            let order = self.orders[self.dice.roll(self.orders.len() as u64) as usize];
            self.try_to(&CancelOrder { id: order, actor: Actor::Admin });
        }
    }

    fn change(&mut self) {
        let stock = match self.dice.roll(2) {
            0 => StockChange::Set(self.dice.roll(8) as u32),
            _ => StockChange::Delta(self.dice.roll(9) as i64 - 4),
        };
        let command = ChangeOption { id: self.option(), price: None, is_active: None, stock: Some(stock) };
        if !self.shop.in_steps {
            self.try_to(&command);
        } else if let Ok(prepared) = self.shop.world.prepare(&command) {
            self.changes.push(InProgress { command, prepared, recorded: None });
        }
    }

    /// Executes the next step of a random command in progress.
    fn advance_one(&mut self) {
        let world = &mut self.shop.world;
        if let Some(index) = pick_index(&mut self.dice, self.payments.len()) {
            if self.payments[index].advance(world) {
                self.payments.swap_remove(index);
            } else if let Some(Ok(paid)) = &self.payments[index].recorded {
                self.orders.push(paid.order.id);
            } else if let Some(Err(Stop::Rejected(rejected))) = &self.payments[index].recorded {
                check_goods_available(rejected);
            }
        }
        if let Some(index) = pick_index(&mut self.dice, self.changes.len())
            && self.changes[index].advance(world)
        {
            self.changes.swap_remove(index);
        }
    }

    /// Finishes a payment as another server does after a crash.
    fn recover(&mut self) {
        let Some(index) = pick_index(&mut self.dice, self.payments.len()) else { return };
        let command = self.payments.swap_remove(index);
        let of = command.prepared;
        let is_committed = matches!(command.recorded, Some(Ok(_)));
        self.shop.run(&RecoverHold { of, is_committed }).unwrap();
    }

    fn inspect(&mut self) {
        let shop = &self.shop;
        let balances: i64 = self.users.iter().map(|user| shop.balance(user)).sum();
        let orders = shop.world.memory.shop.orders.rows().map(|(_, order)| order);
        let paid: i64 = orders.filter(|order| order.state == OrderState::Paid).map(|order| order.paid).sum();
        assert_eq!(balances + paid, self.charged, "Σ balances + Σ paid = Σ charged");
        let none_recorded = self.payments.iter().all(|command| command.recorded.is_none());
        for option in &self.options {
            let view = shop.world.ask(|rows, at| stock::view(rows, at, *option)).unwrap();
            let Inventory { received, sold } = view.inventory;
            assert!(sold <= received);
            // A capacity fence lowers the availability, and a payment that is recorded and not finished counts twice.
            if none_recorded && self.changes.is_empty() {
                assert_eq!(view.available + sold + view.held, received, "stock + sold + held = received");
            }
        }
        if none_recorded {
            shop.inspect();
        }
    }
}

impl<C: TwoPhase<Prepared: Copy>> InProgress<C> {
    /// Whether it is done.
    fn advance(&mut self, world: &mut World) -> bool {
        match &self.recorded {
            None => {
                self.recorded = Some(world.record(&self.command, self.prepared));
                false
            }
            Some(recorded) => {
                world.finish(&self.command, self.prepared, recorded.as_ref().ok());
                true
            }
        }
    }
}

fn pick_index(dice: &mut Dice, count: usize) -> Option<usize> {
    (count > 0 && dice.roll(2) == 0).then(|| dice.roll(count as u64) as usize)
}

/// Asserts that reserved goods are available to a payment.
fn check_goods_available(rejected: &Rejection) {
    assert!(!matches!(rejected, Rejection::Shop(ShopRejection::InsufficientAvailableStock { .. })), "{rejected:?}");
}

#[test]
fn money_and_pieces_are_conserved() {
    let (mut orders, mut cancelled) = (0, 0);
    for seed in 1..=40 {
        let mut history = History::new(seed, seed % 2 == 0);
        for _ in 0..STEPS {
            history.step();
            history.inspect();
        }
        while !history.payments.is_empty() || !history.changes.is_empty() {
            history.advance_one();
        }
        history.shop.world.wait(Span::from_secs(1_801));
        history.inspect();
        let now = history.shop.world.now;
        for _ in 0..SWEEPS {
            history.shop.world.memory.purge(now, usize::MAX);
        }
        let tables = &history.shop.world.memory.shop;
        orders += tables.orders.rows().count();
        cancelled += tables.orders.rows().filter(|(_, order)| order.state != OrderState::Paid).count();
        assert!(history.shop.world.memory.holds.rows().all(|(_, hold)| hold.state != HoldState::Prepared));
        assert!(history.shop.world.memory.held.rows().next().is_none(), "no unit stays held");
    }
    assert!(orders > 300 && cancelled > 100, "histories reach enough orders and cancellations: {orders}, {cancelled}");
}

#[test]
fn steps_and_single_commit_give_same_result() {
    for seed in 1..=10 {
        let [whole, steps] = [false, true].map(|in_steps| {
            let mut shop = Shop::new(in_steps);
            let mut dice = Dice::new(seed);
            let users: Vec<_> = (0..3).map(|_| shop.user(4_000)).collect();
            let option = shop.option(700, 5);
            let mut answers = Vec::new();
            for _ in 0..200 {
                let user = &users[dice.roll(3) as usize];
                answers.push(match dice.roll(6) {
                    0 => format!(
                        "{:?}",
                        shop.run(&PutCartItem { user: user.clone(), option, quantity: dice.roll(4) as u32 })
                    ),
                    1 => format!("{:?}", shop.replace(user)),
                    2 => format!("{:?}", shop.pay(user)),
                    3 => format!("{:?}", shop.set_stock(option, StockChange::Set(dice.roll(6) as u32))),
                    4 => format!("{:?}", shop.cancel(OrderId::new(1 + dice.roll(20)).unwrap())),
                    _ => {
                        shop.world.wait(Span::from_secs(dice.roll(900) as i64));
                        String::new()
                    }
                });
            }
            answers
        });
        // Only the number of prepared attempts may differ.
        let without_attempts =
            |answers: Vec<String>| answers.into_iter().map(|answer| strip_attempts(&answer)).collect::<Vec<_>>();
        assert_eq!(without_attempts(whole), without_attempts(steps));
    }
}

fn strip_attempts(answer: &str) -> String {
    answer.split("attempt: Attempt(").map(|part| part.trim_start_matches(|char: char| char.is_ascii_digit())).collect()
}

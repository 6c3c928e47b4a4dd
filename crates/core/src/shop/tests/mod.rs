//! The shop's part of the contract. Tests of commands with several steps run both in one commit and in steps.

mod accounts;
mod audits;
mod carts;
mod catalog;
mod coupons;
mod orders;
mod payments;
mod random;
mod reservations;
mod steps;

use super::cart::PutCartItem;
use super::coupon::{CreateCoupon, IssueCoupon};
use super::order::CancelOrder;
use super::payment::PayOrder;
use super::product::{CreateProduct, OptionDraft};
use super::reservation::{ReleaseOrder, ReserveOrder};
use super::stock::{ChangeOption, StockChange};
use super::user::{AddBalance, CreateUser};
use super::*;
use crate::actor::Actor;
use crate::audit::Audit;
use crate::command::Command;
use crate::event::Event;
use crate::hold::{Hold, RecordType};
use crate::id::UserId;
use crate::rejection::{Fault, Rejection};
use crate::table::StateSet as _;
use crate::testing::World;
use crate::working_set::{InMemoryState, WorkingSet};

/// A shop on tables of its own.
struct Shop {
    world: World,
    /// Whether commands are executed in steps.
    in_steps: bool,
    randoms: u64,
}

/// Runs a test on a shop that decides in one commit, and on one that decides in steps.
fn both(test: impl Fn(&mut Shop)) {
    for in_steps in [false, true] {
        let mut shop = Shop::new(in_steps);
        test(&mut shop);
        shop.inspect();
    }
}

impl Shop {
    fn new(in_steps: bool) -> Self {
        Self { world: World::new(), in_steps, randoms: 0 }
    }

    fn run<C: Command>(&mut self, command: &C) -> Result<C::Outcome, Rejection> {
        if self.in_steps { self.world.run_in_steps(command) } else { self.world.run(command) }
    }

    /// Creates a user with this balance.
    fn user(&mut self, balance: i64) -> UserId {
        let account = self.run(&CreateUser { id: None, name: "손님 하나".into(), currency: None }).unwrap();
        if balance > 0 {
            self.run(&AddBalance { user: account.id.clone(), amount: balance }).unwrap();
        }
        account.id
    }

    /// Creates an option with this price and stock.
    fn option(&mut self, price: i64, stock_quantity: u32) -> ProductOptionId {
        let option = OptionDraft { option_code: "ETH-HD-200".into(), price, stock_quantity, is_active: true };
        let name = "에티오피아 예가체프 G1".into();
        let view = self.run(&CreateProduct { name, currency: None, options: vec![option] }).unwrap();
        view.product.first_option
    }

    fn put(&mut self, user: &UserId, option: ProductOptionId, quantity: u32) {
        self.run(&PutCartItem { user: user.clone(), option, quantity }).unwrap();
    }

    fn reserve(&mut self, user: &UserId) -> Result<ReservedOrder, Rejection> {
        self.reserve_with(user, false)
    }

    fn replace(&mut self, user: &UserId) -> Result<ReservedOrder, Rejection> {
        self.reserve_with(user, true)
    }

    fn reserve_with(&mut self, user: &UserId, replace: bool) -> Result<ReservedOrder, Rejection> {
        let random = self.random();
        self.run(&ReserveOrder { random, user: user.clone(), replace })
    }

    fn random(&mut self) -> [u8; 10] {
        self.randoms += 1;
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.randoms.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        random
    }

    fn release(&mut self, user: &UserId) -> Result<(), Rejection> {
        self.run(&ReleaseOrder { user: user.clone() })
    }

    fn pay(&mut self, user: &UserId) -> Result<PaidOrder, Rejection> {
        self.run(&payment_of(user))
    }

    fn pay_with(&mut self, user: &UserId, coupon: &str) -> Result<PaidOrder, Rejection> {
        self.run(&PayOrder { coupon: Some(code(coupon)), ..payment_of(user) })
    }

    fn cancel(&mut self, order: OrderId) -> Result<Order, Rejection> {
        self.run(&CancelOrder { id: order, actor: Actor::Admin })
    }

    fn set_stock(&mut self, id: ProductOptionId, stock: StockChange) -> Result<StockView, Rejection> {
        self.run(&ChangeOption { id, price: None, is_active: None, stock: Some(stock) })
    }

    fn coupon(&mut self, name: &str, discount: Discount, max_uses: u32) {
        self.run(&CreateCoupon { code: code(name), discount, currency: None, max_uses, valid_until: None }).unwrap();
    }

    fn issue(&mut self, name: &str, user: &UserId) -> Result<Coupon, Rejection> {
        self.run(&IssueCoupon { code: code(name), user: user.clone() })
    }

    fn balance(&self, user: &UserId) -> i64 {
        self.world.ask(|rows, _| user::find(rows, user)).unwrap().balance
    }

    fn cart(&self, user: &UserId) -> Vec<(ProductOptionId, u32)> {
        let cart = self.world.ask(|rows, _| cart::view(rows, user)).unwrap();
        cart.items.iter().map(|line| (line.option.id, line.quantity)).collect()
    }

    /// Returns stock, held and available quantities.
    fn stock(&self, option: ProductOptionId) -> (u32, u32, u32) {
        let view = self.world.ask(|rows, at| stock::view(rows, at, option)).unwrap();
        (view.inventory.stock(), view.held, view.available)
    }

    fn reservation(&self, user: &UserId) -> Result<ReservedOrder, Rejection> {
        self.world.ask(|rows, at| reservation::view(rows, at, user))
    }

    /// Rebuilds the secondary indexes from the holds, like a store at start.
    fn restart(&mut self) {
        let mut durable = WorkingSet::default();
        let old = &self.world.memory;
        old.ids.rows().for_each(|(id, row)| durable.ids.insert(*id, *row));
        old.shop.users.rows().for_each(|(id, row)| durable.shop.users.insert(id.clone(), row.clone()));
        old.shop.products.rows().for_each(|(id, row)| durable.shop.products.insert(*id, row.clone()));
        old.shop.options.rows().for_each(|(id, row)| durable.shop.options.insert(*id, row.clone()));
        old.shop.inventory.rows().for_each(|(id, row)| durable.shop.inventory.insert(*id, *row));
        old.shop.cart.rows().for_each(|(id, row)| durable.shop.cart.insert(id.clone(), *row));
        old.shop.coupons.rows().for_each(|(id, row)| durable.shop.coupons.insert(id.clone(), row.clone()));
        old.shop.user_coupons.rows().for_each(|(id, row)| durable.shop.user_coupons.insert(id.clone(), *row));
        old.shop.last_holds.rows().for_each(|(id, row)| durable.shop.last_holds.insert(id.clone(), *row));
        old.holds.rows().for_each(|(id, row)| durable.holds.insert(*id, row.clone()));
        old.shop.orders.rows().for_each(|(id, row)| durable.shop.orders.insert(*id, row.clone()));
        let mut memory = InMemoryState::complete();
        memory.apply(&mut durable);
        self.world.memory = memory;
        for hold in self.world.live_holds() {
            self.world.index(&hold);
        }
    }

    fn audit(&self) -> Audit {
        let tables = &self.world.memory.shop;
        let mut audit = self.world.audit_holds();
        tables.users.rows().for_each(|(_, row)| audit.shop.user(row));
        tables.options.rows().for_each(|(_, row)| audit.shop.option(row));
        tables.inventory.rows().for_each(|(id, row)| audit.shop.inventory(*id, *row));
        tables.cart.rows().for_each(|(id, _)| audit.shop.cart_item(id));
        tables.coupons.rows().for_each(|(_, row)| audit.shop.coupon(row));
        tables.user_coupons.rows().for_each(|(id, row)| audit.shop.user_coupon(id, *row));
        tables.orders.rows().for_each(|(_, row)| audit_order(&mut audit, row));
        audit
    }

    /// Asserts that the store is consistent.
    fn inspect(&self) {
        let findings = self.audit().finish();
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

/// Adds an order to all auditors that it concerns.
fn audit_order(audit: &mut Audit, order: &Order) {
    audit.shop.order(order);
    audit.holds.record(RecordType::Order, order.id.get(), order.hold);
}

/// Returns the numbers of the lines of a reservation.
fn reservation_ids(hold: &Hold) -> Vec<InventoryReservationId> {
    hold.items::<StockItem>().map(|item| item.reservation).collect()
}

fn payment_of(user: &UserId) -> PayOrder {
    PayOrder { user: user.clone(), coupon: None, expected_amount: None, reservation_ids: None }
}

fn code(name: &str) -> CouponCode {
    CouponCode::parse("code", name).unwrap()
}

fn unknown_user() -> UserId {
    UserId::new(999).unwrap()
}

fn unknown_option() -> ProductOptionId {
    ProductOptionId::new(999).unwrap()
}

fn invalid<T: std::fmt::Debug>(result: Result<T, Rejection>) -> (&'static str, Fault) {
    match result {
        Err(Rejection::InvalidInput { field, fault }) => (field, fault),
        other => panic!("{other:?}"),
    }
}

//! Plans the steps of a history: few users, few goods and little money, so that calls conflict. It reads the model,
//! never the store, to find useful calls. The same seed plans the same history.

use std::collections::BTreeMap;

use holdfast_core::actor::Actor;
use holdfast_core::id::UserId;
use holdfast_core::shop::cart::PutCartItem;
use holdfast_core::shop::coupon::{CreateCoupon, IssueCoupon};
use holdfast_core::shop::order::CancelOrder;
use holdfast_core::shop::payment::PayOrder;
use holdfast_core::shop::product::{CreateProduct, OptionDraft};
use holdfast_core::shop::reservation::{ReleaseOrder, ReserveOrder};
use holdfast_core::shop::stock::{ChangeOption, StockChange};
use holdfast_core::shop::user::AddBalance;
use holdfast_core::shop::{self, CouponCode, Discount, OrderId, ProductOptionId};
use holdfast_core::time::Span;
use holdfast_core::{Limits, Timestamp};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::call::Call;
use super::model::{Coupon, Goods, Model, User};
use crate::disk::Crash;
use crate::plan::Plan;

#[derive(Debug)]
pub struct Workload {
    rng: StdRng,
    hold_ttl: Span,
    users: u64,
    goods: Vec<OptionDraft>,
    coupons: Vec<CreateCoupon>,
}

const CALLS_PER_BATCH_MAX: usize = 4;
/// 2026-06-01T00:00 in UTC. The clock advances in whole seconds.
const STARTS_AT_MILLIS: i64 = 1_780_272_000_000;

impl Workload {
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let hold_ttl = Span::from_secs(*[5, 600, 1_800].choose(&mut rng).expect("the list is not empty"));
        let users = rng.random_range(2..=4);
        let goods = (0..rng.random_range(1..=4)).map(|number| OptionDraft {
            option_code: format!("O-{number}"),
            price: *[0, 100, 333, 1_000].choose(&mut rng).expect("the list is not empty"),
            stock_quantity: rng.random_range(0..=6),
            is_active: rng.random_bool(0.95),
        });
        let goods = goods.collect();
        let coupon = |name: &str, discount, currency: Option<&str>, max_uses| CreateCoupon {
            code: CouponCode::parse("code", name).expect("a code"),
            discount,
            currency: currency.map(str::to_owned),
            max_uses,
            valid_until: None,
        };
        let coupons = vec![
            coupon("PART", Discount::Percent(33), None, 1),
            coupon("SUM", Discount::Amount(500), None, 2),
            coupon("DOLLARS", Discount::Amount(500), Some("USD"), 2),
        ];
        Self { rng, hold_ttl, users, goods, coupons }
    }

    pub fn starts_at(&self) -> Timestamp {
        Timestamp::from_millis(STARTS_AT_MILLIS)
    }

    pub fn limits(&self) -> Limits {
        Limits { shop: shop::Limits { hold_ttl: self.hold_ttl }, ..Limits::DEFAULT }
    }

    pub fn users(&self) -> u64 {
        self.users
    }

    pub fn product(&self) -> CreateProduct {
        CreateProduct { name: "원두".into(), currency: None, options: self.goods.clone() }
    }

    pub fn coupons(&self) -> &[CreateCoupon] {
        &self.coupons
    }

    /// Returns the model of the initial state.
    pub fn opening(&self, users: Vec<UserId>, options: Vec<ProductOptionId>) -> Model {
        let goods = |draft: &OptionDraft| Goods {
            price: draft.price,
            is_active: draft.is_active,
            received: draft.stock_quantity,
        };
        let coupon = |it: &CreateCoupon| {
            let is_foreign = it.currency.as_ref().is_some_and(|currency| currency != "KRW");
            (
                it.code.clone(),
                Coupon { discount: it.discount, is_foreign, max: it.max_uses, issued_to: BTreeMap::new() },
            )
        };
        Model {
            hold_ttl: self.hold_ttl,
            users: users.into_iter().map(|id| (id, User::default())).collect(),
            options: options.into_iter().zip(self.goods.iter().map(goods)).collect(),
            coupons: self.coupons.iter().map(coupon).collect(),
            orders: BTreeMap::new(),
        }
    }

    pub fn next(&mut self, model: &Model, now: Timestamp) -> Plan<Call> {
        match self.rng.random_range(0..100) {
            0..80 => {
                let calls =
                    (0..self.rng.random_range(1..=CALLS_PER_BATCH_MAX)).map(|_| self.plan_call(model)).collect();
                let crash = self.rng.random_bool(0.15).then(|| Crash::plan(&mut self.rng));
                Plan::Batch { calls, crash }
            }
            80..93 => Plan::AdvanceClock(self.plan_span(model, now)),
            93..96 => Plan::Purge,
            _ => Plan::Restart,
        }
    }

    /// Mostly until a reservation ends, and a second before and after.
    fn plan_span(&mut self, model: &Model, now: Timestamp) -> Span {
        let ends = model.users.values().filter_map(|user| user.reservation.as_ref());
        let ends = ends.flat_map(|it| [-1_000, 0, 1_000].map(|shift| it.ends_at.as_millis() + shift - now.as_millis()));
        let future: Vec<i64> = ends.filter(|span| *span > 0).collect();
        let day = Span::from_hours(24).as_millis();
        match self.rng.random_range(0..10) {
            0..6 => Span::from_millis(future.choose(&mut self.rng).copied().unwrap_or(1_000)),
            6..9 => Span::from_secs(self.rng.random_range(1..100)),
            _ => Span::from_millis(day + self.rng.random_range(-1..=2) * 1_000),
        }
    }

    fn plan_call(&mut self, model: &Model) -> Call {
        let (user, option) = (self.one_of(model.users.keys()), self.one_of(model.options.keys()));
        // Mostly a user with a cart or a reservation.
        let buyer = self.one_with(model, &user, |user| !user.cart.is_empty());
        let payer = self.one_with(model, &user, |user| user.reservation.is_some());
        match self.rng.random_range(0..100) {
            0..10 => Call::Charge(AddBalance { user, amount: self.rng.random_range(1..=5_000) }),
            10..32 => Call::Put(PutCartItem { user, option, quantity: self.rng.random_range(0..=3) }),
            32..38 => Call::Issue(IssueCoupon { code: self.code(), user }),
            38..60 => Call::Reserve(ReserveOrder {
                random: self.rng.random(),
                user: buyer,
                replace: self.rng.random_bool(0.4),
            }),
            60..64 => Call::Release(ReleaseOrder { user }),
            64..86 => {
                let coupon = self.rng.random_bool(0.4).then(|| self.code());
                let expected_amount = self.rng.random_bool(0.1).then(|| self.rng.random_range(0..=1_000));
                Call::Pay(PayOrder { user: payer, coupon, expected_amount, reservation_ids: None })
            }
            86..94 => {
                let ids: Vec<OrderId> = model.orders.keys().copied().collect();
                let unknown = OrderId::new(1_000_000).expect("a number");
                let id = ids.choose(&mut self.rng).copied().unwrap_or(unknown);
                Call::Cancel(CancelOrder { id, actor: Actor::Admin })
            }
            _ => self.plan_change(option),
        }
    }

    fn plan_change(&mut self, id: ProductOptionId) -> Call {
        let stock = match self.rng.random_range(0..3) {
            0 => None,
            1 => Some(StockChange::Set(self.rng.random_range(0..=6))),
            _ => Some(StockChange::Delta(self.rng.random_range(-3..=3))),
        };
        let price = self.rng.random_bool(0.3).then(|| self.rng.random_range(0..=1_000));
        let is_active = self.rng.random_bool(0.3).then(|| self.rng.random_bool(0.8));
        Call::Change(ChangeOption { id, price, is_active, stock })
    }

    fn one_with(&mut self, model: &Model, otherwise: &UserId, is_suitable: impl Fn(&User) -> bool) -> UserId {
        let suitable: Vec<UserId> =
            model.users.iter().filter(|(_, user)| is_suitable(user)).map(|(id, _)| id.clone()).collect();
        let chosen = suitable.choose(&mut self.rng).cloned().filter(|_| self.rng.random_bool(0.8));
        chosen.unwrap_or_else(|| otherwise.clone())
    }

    fn one_of<'a, T: Clone + 'a>(&mut self, all: impl Iterator<Item = &'a T>) -> T {
        let all: Vec<&T> = all.collect();
        T::clone(all.choose(&mut self.rng).expect("the list is not empty"))
    }

    fn code(&mut self) -> CouponCode {
        let name = *["PART", "SUM", "SUM", "DOLLARS", "NONE"].choose(&mut self.rng).expect("there are some");
        CouponCode::parse("code", name).expect("a code")
    }
}

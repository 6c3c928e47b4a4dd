//! Naive, independent implementation of the rules of the shop, without caches, counters or steps. It uses the types of
//! core, but none of its logic. The clock advances in whole seconds.

use std::collections::BTreeMap;

use holdfast_core::id::UserId;
use holdfast_core::shop::order::CancelOrder;
use holdfast_core::shop::payment::PayOrder;
use holdfast_core::shop::stock::{ChangeOption, StockChange};
use holdfast_core::shop::{CouponCode, Discount, OrderId, ProductOptionId};
use holdfast_core::time::Span;
use holdfast_core::{Rejection, ShopRejection, Timestamp};

use super::call::{Call, Line, Paid, Reply};

/// Time after the end of a reservation for which a payment is rejected as expired.
const EXPIRY_REPORTED_TIME: Span = Span::from_hours(24);

#[derive(Clone, Debug)]
pub struct Model {
    pub hold_ttl: Span,
    pub users: BTreeMap<UserId, User>,
    pub options: BTreeMap<ProductOptionId, Goods>,
    pub coupons: BTreeMap<CouponCode, Coupon>,
    pub orders: BTreeMap<OrderId, Order>,
}

#[derive(Clone, Debug, Default)]
pub struct User {
    pub balance: i64,
    pub charged: i64,
    pub cart: BTreeMap<ProductOptionId, u32>,
    /// Latest reservation, unless it was paid or released.
    pub reservation: Option<Reservation>,
}

#[derive(Clone, Debug)]
pub struct Reservation {
    pub lines: Vec<Line>,
    pub ends_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct Goods {
    pub price: i64,
    pub is_active: bool,
    pub received: u32,
}

#[derive(Clone, Debug)]
pub struct Coupon {
    pub discount: Discount,
    /// In another currency than all goods, so never usable.
    pub is_foreign: bool,
    pub max: u32,
    /// Users who have the coupon, and whether it is used.
    pub issued_to: BTreeMap<UserId, bool>,
}

#[derive(Clone, Debug)]
pub struct Order {
    pub user: UserId,
    pub lines: Vec<Line>,
    pub paid: i64,
    pub coupon: Option<CouponCode>,
    pub is_cancelled: bool,
}

impl Model {
    /// Executes a call and returns the expected reply. `number` is that of a new order, because it cannot be predicted.
    pub fn apply(&mut self, call: &Call, number: Option<OrderId>, now: Timestamp) -> Reply {
        let reply = match call {
            Call::Charge(charge) => {
                let user = self.user(&charge.user);
                user.balance += charge.amount;
                user.charged += charge.amount;
                Ok(Reply::Balance(user.balance))
            }
            Call::Put(put) => {
                let cart = &mut self.user(&put.user).cart;
                if put.quantity == 0 {
                    cart.remove(&put.option);
                } else {
                    cart.insert(put.option, put.quantity);
                }
                Ok(Reply::Cart(cart.iter().map(|(option, quantity)| (*option, *quantity)).collect()))
            }
            Call::Issue(issue) => self.issue(&issue.code, &issue.user),
            Call::Reserve(reserve) => self.reserve(&reserve.user, reserve.replace, now),
            Call::Release(release) => match self.live(&release.user, now) {
                Some(_) => {
                    self.user(&release.user).reservation = None;
                    Ok(Reply::Released)
                }
                None => Err(ShopRejection::OrderReservationNotFound),
            },
            Call::Pay(pay) => self.pay(pay, number, now),
            Call::Cancel(cancel) => self.cancel(cancel),
            Call::Change(change) => self.change(change, now),
        };
        reply.unwrap_or_else(|rejection| Reply::Rejected(Rejection::Shop(rejection)))
    }

    fn user(&mut self, id: &UserId) -> &mut User {
        self.users.get_mut(id).expect("the workload plans calls of existing users only")
    }

    pub fn live(&self, user: &UserId, now: Timestamp) -> Option<&Reservation> {
        self.users[user].reservation.as_ref().filter(|reservation| now < reservation.ends_at)
    }

    pub fn held(&self, option: ProductOptionId, now: Timestamp) -> u32 {
        let live = self.users.keys().filter_map(|user| self.live(user, now));
        live.flat_map(|reservation| &reservation.lines).filter(|it| it.option == option).map(|it| it.quantity).sum()
    }

    pub fn sold(&self, option: ProductOptionId) -> u32 {
        let paid = self.orders.values().filter(|order| !order.is_cancelled);
        paid.flat_map(|order| &order.lines).filter(|it| it.option == option).map(|it| it.quantity).sum()
    }

    pub fn available(&self, option: ProductOptionId, now: Timestamp) -> u32 {
        self.options[&option].received - self.sold(option) - self.held(option, now)
    }

    fn issue(&mut self, code: &CouponCode, user: &UserId) -> Result<Reply, ShopRejection> {
        let coupon = self.coupons.get_mut(code).ok_or(ShopRejection::CouponNotFound)?;
        if coupon.issued_to.contains_key(user) {
            return Err(ShopRejection::CouponAlreadyIssued);
        }
        if coupon.issued_to.len() == coupon.max as usize {
            return Err(ShopRejection::CouponSoldOut);
        }
        coupon.issued_to.insert(user.clone(), false);
        Ok(Reply::Issued(coupon.issued_to.len() as u32))
    }

    fn reserve(&mut self, user: &UserId, replace: bool, now: Timestamp) -> Result<Reply, ShopRejection> {
        let cart = self.users[user].cart.clone();
        if cart.is_empty() {
            return Err(ShopRejection::CartEmpty);
        }
        if let Some(option) = cart.keys().find(|option| !self.options[option].is_active) {
            return Err(ShopRejection::ProductOptionInactive { option: *option });
        }
        let old = self.live(user, now).cloned();
        if old.is_some() && !replace {
            return Err(ShopRejection::DuplicateReservation);
        }
        let mut left = Vec::new();
        for (option, quantity) in &cart {
            let own = old.iter().flat_map(|old| &old.lines).filter(|line| line.option == *option);
            let available = self.available(*option, now) + own.map(|line| line.quantity).sum::<u32>();
            match available.checked_sub(*quantity) {
                Some(rest) => left.push(rest),
                None => return Err(ShopRejection::InsufficientAvailableStock { option: *option, available }),
            }
        }
        let line = |(option, quantity): (&ProductOptionId, &u32)| Line {
            option: *option,
            quantity: *quantity,
            unit_price: self.options[option].price,
        };
        let lines: Vec<Line> = cart.iter().map(line).collect();
        let reservation = Reservation { lines: lines.clone(), ends_at: (now + self.hold_ttl).rounded_up_to_second() };
        self.user(user).reservation = Some(reservation);
        Ok(Reply::Reserved(lines, left))
    }

    fn pay(&mut self, pay: &PayOrder, number: Option<OrderId>, now: Timestamp) -> Result<Reply, ShopRejection> {
        let user = &self.users[&pay.user];
        let reservation = match &user.reservation {
            Some(reservation) if now < reservation.ends_at => reservation.clone(),
            Some(ended) if now < ended.ends_at + EXPIRY_REPORTED_TIME => {
                return Err(ShopRejection::OrderReservationExpired);
            }
            Some(_) | None => return Err(ShopRejection::OrderReservationNotFound),
        };
        let total: i64 = reservation.lines.iter().map(|line| line.unit_price * i64::from(line.quantity)).sum();
        let discount = match &pay.coupon {
            None => 0,
            Some(code) => match self.coupons.get(code) {
                Some(coupon) if !coupon.is_foreign && coupon.issued_to.get(&pay.user) == Some(&false) => {
                    match coupon.discount {
                        Discount::Percent(percent) => total * i64::from(percent) / 100,
                        Discount::Amount(amount) => amount.min(total),
                    }
                }
                Some(_) | None => return Err(ShopRejection::CouponNotUsable),
            },
        };
        let (paid, balance) = (total - discount, user.balance);
        if pay.expected_amount.is_some_and(|expected| expected != paid) {
            return Err(ShopRejection::AmountChanged { amount: paid });
        }
        if balance < paid {
            return Err(ShopRejection::InsufficientBalance { balance, needed: paid });
        }
        let user = self.user(&pay.user);
        user.balance -= paid;
        user.reservation = None;
        for line in &reservation.lines {
            let left = user.cart.get(&line.option).map_or(0, |quantity| quantity.saturating_sub(line.quantity));
            if left == 0 {
                user.cart.remove(&line.option);
            } else {
                user.cart.insert(line.option, left);
            }
        }
        if let Some(coupon) = pay.coupon.as_ref().and_then(|code| self.coupons.get_mut(code)) {
            coupon.issued_to.insert(pay.user.clone(), true);
        }
        // Without such an order, the call cannot have been executed here.
        let Some(order) = number.filter(|number| !self.orders.contains_key(number)) else {
            return Ok(Reply::Unnumbered);
        };
        let lines = reservation.lines;
        let order_row = Order {
            user: pay.user.clone(),
            lines: lines.clone(),
            paid,
            coupon: pay.coupon.clone(),
            is_cancelled: false,
        };
        self.orders.insert(order, order_row);
        Ok(Reply::Paid(Paid { order, lines, discount, paid, balance_after: balance - paid }))
    }

    fn cancel(&mut self, cancel: &CancelOrder) -> Result<Reply, ShopRejection> {
        let order = self.orders.get_mut(&cancel.id).ok_or(ShopRejection::OrderNotFound)?;
        if order.is_cancelled {
            return Err(ShopRejection::OrderAlreadyCancelled);
        }
        order.is_cancelled = true;
        let Order { user, paid, coupon, .. } = order.clone();
        self.user(&user).balance += paid;
        if let Some(coupon) = coupon.and_then(|code| self.coupons.get_mut(&code)) {
            coupon.issued_to.insert(user, false);
        }
        Ok(Reply::Cancelled(cancel.id))
    }

    fn change(&mut self, change: &ChangeOption, now: Timestamp) -> Result<Reply, ShopRejection> {
        let (sold, held) = (i64::from(self.sold(change.id)), self.held(change.id, now));
        let goods = self.options.get_mut(&change.id).ok_or(ShopRejection::ProductOptionNotFound)?;
        let received = match change.stock {
            None => i64::from(goods.received),
            Some(StockChange::Set(stock)) => sold + i64::from(stock),
            Some(StockChange::Delta(delta)) => i64::from(goods.received) + delta,
        };
        if received < i64::from(goods.received) && received < sold + i64::from(held) {
            return Err(ShopRejection::StockInUse { in_use: held });
        }
        goods.received = u32::try_from(received).expect("received covers sold");
        goods.price = change.price.unwrap_or(goods.price);
        goods.is_active = change.is_active.unwrap_or(goods.is_active);
        Ok(Reply::Stock((received - sold) as u32))
    }
}

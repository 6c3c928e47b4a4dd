//! Consistency rules of the shop: money and pieces are conserved; every sold piece, used coupon and confirmed hold has
//! its order.

use std::collections::BTreeMap;

use super::cart::CartItemId;
use super::coupon::{Coupon, CouponCode, CouponState, UserCoupon, UserCouponId};
use super::line::StockItem;
use super::order::{Order, OrderId, OrderState};
use super::product::{ProductOption, ProductOptionId};
use super::sale::{StockSale, StockSaleState};
use super::stock::Inventory;
use super::user::UserAccount;
use super::{CART_LINES_MAX, stock_unit};
use crate::hold::{Hold, Line, Origin, Status};
use crate::id::{HoldId, UserId};
use crate::time::Timestamp;
use crate::unit::Units;

/// Collects records in any order; [`finish`](Self::finish) returns the violations.
#[derive(Debug)]
pub struct ShopAudit {
    now: Timestamp,
    accounts: BTreeMap<UserId, Account>,
    goods: BTreeMap<ProductOptionId, Goods>,
    coupons: BTreeMap<CouponCode, Issued>,
    coupons_used: BTreeMap<UserCouponId, OrderId>,
    orders: BTreeMap<OrderId, OrderSummary>,
    findings: Vec<String>,
    records: u64,
}

#[derive(Debug, Default)]
struct Account {
    row: Option<(i64, i64)>,
    paid: i64,
    cart_lines: usize,
    live_hold: Option<HoldId>,
}

#[derive(Debug, Default)]
struct Goods {
    has_option: bool,
    row: Option<Inventory>,
    sold: u64,
    held: u64,
}

#[derive(Debug, Default)]
struct Issued {
    row: Option<(u32, u32)>,
    found: u32,
}

#[derive(Debug)]
struct OrderSummary {
    /// Coupon that the order uses while it is paid.
    coupon: Option<UserCouponId>,
}

impl ShopAudit {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            accounts: BTreeMap::new(),
            goods: BTreeMap::new(),
            coupons: BTreeMap::new(),
            coupons_used: BTreeMap::new(),
            orders: BTreeMap::new(),
            findings: Vec::new(),
            records: 0,
        }
    }

    pub fn user(&mut self, account: &UserAccount) {
        self.records += 1;
        self.accounts.entry(account.id.clone()).or_default().row = Some((account.balance, account.charged));
    }

    pub fn option(&mut self, option: &ProductOption) {
        self.records += 1;
        self.goods.entry(option.id).or_default().has_option = true;
    }

    pub fn inventory(&mut self, id: ProductOptionId, inventory: Inventory) {
        self.records += 1;
        self.goods.entry(id).or_default().row = Some(inventory);
    }

    pub fn cart_item(&mut self, id: &CartItemId) {
        self.records += 1;
        self.accounts.entry(id.user.clone()).or_default().cart_lines += 1;
        self.goods.entry(id.option).or_default();
    }

    pub fn coupon(&mut self, coupon: &Coupon) {
        self.records += 1;
        self.coupons.entry(coupon.code.clone()).or_default().row = Some((coupon.issued, coupon.max_uses));
    }

    pub fn user_coupon(&mut self, id: &UserCouponId, coupon: UserCoupon) {
        self.records += 1;
        self.coupons.entry(id.code.clone()).or_default().found += 1;
        if let CouponState::Used { order } = coupon.state {
            self.coupons_used.insert(id.clone(), order);
        }
    }

    pub fn line(&mut self, hold: &Hold, line: &Line, item: &StockItem) {
        match hold.status(self.now) {
            Status::Held | Status::Prepared => {
                self.goods.entry(item.option).or_default().held += u64::from(item.quantity);
                if hold.origin == Origin::Cart
                    && let Some(other) = self.accounts.entry(hold.owner.clone()).or_default().live_hold.replace(hold.id)
                    && other != hold.id
                {
                    self.findings.push(format!("hold {}: live at the same time as {other} of the same user", hold.id));
                }
            }
            Status::Confirmed | Status::Cancelled | Status::Replaced | Status::Expired => {}
        }
        if item.amount() != line.price {
            self.findings.push(format!("hold {}: its total differs from the sum of its lines", hold.id));
        }
    }

    /// Adds the quantity that is counted as held of an option, where holds cannot be listed.
    pub fn held(&mut self, id: ProductOptionId, quantity: u32) {
        self.records += 1;
        self.goods.entry(id).or_default().held += u64::from(quantity);
    }

    pub fn order(&mut self, order: &Order) {
        self.records += 1;
        let is_paid = order.state == OrderState::Paid;
        let account = self.accounts.entry(order.user.clone()).or_default();
        if is_paid {
            account.paid += order.paid;
            for item in order.items.iter() {
                self.goods.entry(item.option).or_default().sold += u64::from(item.quantity);
            }
        }
        let coupon =
            order.coupon.clone().filter(|_| is_paid).map(|code| UserCouponId { code, user: order.user.clone() });
        self.orders.insert(order.id, OrderSummary { coupon });
        let total: i64 = order.items.iter().map(StockItem::amount).sum();
        if total != order.total || order.total - order.discount != order.paid || order.paid < 0 {
            self.findings.push(format!("order {}: its amounts do not add up", order.id));
        }
    }

    pub fn sale(&mut self, sale: &StockSale) {
        self.records += 1;
        if sale.state == StockSaleState::Sold {
            self.goods.entry(sale.option).or_default().sold += u64::from(sale.quantity);
        }
    }

    pub(crate) fn units(&self) -> Vec<Units> {
        self.goods.keys().map(|id| Units { first: stock_unit(*id), last_part: 0 }).collect()
    }

    /// Returns the number of records collected.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns one sentence per violation; empty if the store is consistent.
    pub fn finish(mut self) -> Vec<String> {
        self.check_accounts();
        self.check_goods();
        self.check_coupons();
        self.findings.sort();
        self.findings
    }

    fn check_accounts(&mut self) {
        for (id, account) in &self.accounts {
            let Some((balance, charged)) = account.row else {
                self.findings.push(format!("user {id}: has a cart, a hold or an order, but no account"));
                continue;
            };
            let paid = account.paid;
            if balance < 0 || balance + paid != charged {
                self.findings
                    .push(format!("user {id}: balance {balance} + paid {paid} is not the {charged} deposited"));
            }
            if account.cart_lines > CART_LINES_MAX {
                self.findings.push(format!("user {id}: {} lines in the cart", account.cart_lines));
            }
        }
    }

    fn check_goods(&mut self) {
        for (id, goods) in &self.goods {
            let (Some(row), true) = (goods.row, goods.has_option) else {
                self.findings.push(format!("product option {id}: the option or its inventory does not exist"));
                continue;
            };
            let (recorded, found, held) = (u64::from(row.sold), goods.sold, goods.held);
            if recorded != found {
                self.findings.push(format!("product option {id}: {recorded} counted as sold, but {found} in orders"));
            }
            if recorded + held > u64::from(row.received) {
                let received = row.received;
                let finding = format!("product option {id}: oversold: {recorded} sold + {held} held of {received}");
                self.findings.push(finding);
            }
        }
    }

    fn check_coupons(&mut self) {
        for (code, issues) in &self.coupons {
            let found = issues.found;
            match issues.row {
                None => self.findings.push(format!("coupon {code}: issued, but does not exist")),
                Some((issued, _)) if issued != found => {
                    self.findings.push(format!("coupon {code}: {issued} counted as issued, but {found} found"));
                }
                Some((issued, max)) if issued > max => {
                    self.findings.push(format!("coupon {code}: {issued} issued of {max}"));
                }
                Some(_) => {}
            }
        }
        for (id, order) in &self.coupons_used {
            if self.orders.get(order).and_then(|order| order.coupon.as_ref()) != Some(id) {
                let UserCouponId { code, user } = id;
                self.findings.push(format!("coupon {code} of user {user}: used, but not by order {order}"));
            }
        }
        for (number, order) in &self.orders {
            if order.coupon.as_ref().is_some_and(|id| self.coupons_used.get(id) != Some(number)) {
                self.findings.push(format!("order {number}: its coupon is not marked as used by it"));
            }
        }
    }
}

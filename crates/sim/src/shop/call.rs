//! A command as callers send it, and what they hear back, as far as it can be foretold: numbers of orders and of lines may
//! have gaps.

use holdfast_core::Rejection;
use holdfast_core::shop::cart::PutCartItem;
use holdfast_core::shop::coupon::IssueCoupon;
use holdfast_core::shop::order::CancelOrder;
use holdfast_core::shop::payment::PayOrder;
use holdfast_core::shop::reservation::{ReleaseOrder, ReserveOrder};
use holdfast_core::shop::stock::ChangeOption;
use holdfast_core::shop::user::AddBalance;
use holdfast_core::shop::{OrderHold, OrderId, ProductOptionId};
use holdfast_engine::Batch;

use crate::answer::{Waiting, join};

#[derive(Clone, Debug)]
pub enum Call {
    Charge(AddBalance),
    Put(PutCartItem),
    Issue(IssueCoupon),
    Reserve(ReserveOrder),
    Release(ReleaseOrder),
    Pay(PayOrder),
    Cancel(CancelOrder),
    Change(ChangeOption),
}

/// What a caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Balance(i64),
    Cart(Vec<(ProductOptionId, u32)>),
    Issued(u32),
    /// The lines, and how much is left of each.
    Reserved(Vec<Line>, Vec<u32>),
    Released,
    Paid(Paid),
    /// Nobody hears this: the model would have paid, and there is no order.
    Unnumbered,
    Cancelled(OrderId),
    /// What is physically there.
    Stock(u32),
    Rejected(Rejection),
}

/// Of a reservation or an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub option: ProductOptionId,
    pub quantity: u32,
    pub unit_price: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paid {
    pub order: OrderId,
    pub lines: Vec<Line>,
    pub discount: i64,
    pub paid: i64,
    pub balance_after: i64,
}

impl From<Rejection> for Reply {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl Call {
    /// Puts the command into a batch of the engine.
    pub fn join(&self, batch: &mut Batch) -> Waiting<Reply> {
        match self {
            Self::Charge(command) => join(batch, command, |account| Reply::Balance(account.balance)),
            Self::Put(command) => join(batch, command, |cart| {
                Reply::Cart(cart.items.iter().map(|line| (line.option.id, line.quantity)).collect())
            }),
            Self::Issue(command) => join(batch, command, |coupon| Reply::Issued(coupon.issued)),
            Self::Reserve(command) => join(batch, command, |it| Reply::Reserved(lines(&it.hold), it.available)),
            Self::Release(command) => join(batch, command, |()| Reply::Released),
            Self::Pay(command) => join(batch, command, |it| {
                Reply::Paid(Paid {
                    order: it.order.id,
                    lines: order_lines(&it.order),
                    discount: it.order.discount,
                    paid: it.order.paid,
                    balance_after: it.balance_after,
                })
            }),
            Self::Cancel(command) => join(batch, command, |order| Reply::Cancelled(order.id)),
            Self::Change(command) => join(batch, command, |view| Reply::Stock(view.inventory.stock())),
        }
    }
}

pub fn lines(hold: &OrderHold) -> Vec<Line> {
    hold.lines.iter().map(line).collect()
}

pub fn order_lines(order: &holdfast_core::shop::Order) -> Vec<Line> {
    order.items.iter().map(line).collect()
}

fn line(line: &holdfast_core::shop::OrderLine) -> Line {
    Line { option: line.option, quantity: line.quantity, unit_price: line.unit_price }
}

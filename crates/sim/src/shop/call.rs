//! Commands and replies of the shop. Replies contain only what the model can predict: numbers of orders and lines may
//! have gaps.

use holdfast_core::Rejection;
use holdfast_core::hold::Hold;
use holdfast_core::shop::cart::PutCartItem;
use holdfast_core::shop::coupon::IssueCoupon;
use holdfast_core::shop::order::CancelOrder;
use holdfast_core::shop::payment::PayOrder;
use holdfast_core::shop::reservation::{ReleaseOrder, ReserveOrder};
use holdfast_core::shop::stock::ChangeOption;
use holdfast_core::shop::user::AddBalance;
use holdfast_core::shop::{OrderId, ProductOptionId, StockItem};
use holdfast_engine::Batch;

use crate::submit::{PendingReply, submit};

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

/// Reply to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Balance(i64),
    Cart(Vec<(ProductOptionId, u32)>),
    Issued(u32),
    /// Lines, and the remaining availability of each.
    Reserved(Vec<Line>, Vec<u32>),
    Released,
    Paid(Paid),
    /// Only predicted by the model: an order whose number does not exist, which no call receives.
    Unnumbered,
    Cancelled(OrderId),
    /// Quantity physically in stock.
    Stock(u32),
    Rejected(Rejection),
}

/// Line of a reservation or an order.
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
    /// Adds the command to a batch of the engine.
    pub fn submit(&self, batch: &mut Batch) -> PendingReply<Reply> {
        match self {
            Self::Charge(command) => submit(batch, command, |account| Reply::Balance(account.balance)),
            Self::Put(command) => submit(batch, command, |cart| {
                Reply::Cart(cart.items.iter().map(|line| (line.option.id, line.quantity)).collect())
            }),
            Self::Issue(command) => submit(batch, command, |coupon| Reply::Issued(coupon.issued)),
            Self::Reserve(command) => submit(batch, command, |it| Reply::Reserved(lines(&it.hold), it.available)),
            Self::Release(command) => submit(batch, command, |()| Reply::Released),
            Self::Pay(command) => submit(batch, command, |it| {
                Reply::Paid(Paid {
                    order: it.order.id,
                    lines: order_lines(&it.order),
                    discount: it.order.discount,
                    paid: it.order.paid,
                    balance_after: it.balance_after,
                })
            }),
            Self::Cancel(command) => submit(batch, command, |order| Reply::Cancelled(order.id)),
            Self::Change(command) => submit(batch, command, |view| Reply::Stock(view.inventory.stock())),
        }
    }
}

pub fn lines(hold: &Hold) -> Vec<Line> {
    hold.items().map(line).collect()
}

pub fn order_lines(order: &holdfast_core::shop::Order) -> Vec<Line> {
    order.items.iter().map(line).collect()
}

fn line(line: &StockItem) -> Line {
    Line { option: line.option, quantity: line.quantity, unit_price: line.unit_price }
}

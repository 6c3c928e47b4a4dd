//! Sales of stock: confirmed lines of holds that no cart became.

use super::line::StockItem;
use super::product::ProductOptionId;
use super::stock::{self, Inventory};
use crate::actor::Actor;
use crate::command::Decision;
use crate::event::Event;
use crate::hold::{Hold, Line};
use crate::id::{HoldId, Sequence, UserId, number_id};
use crate::money::Currency;
use crate::rejection::ShopRejection;
use crate::table::Row;
use crate::time::Timestamp;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a sale.
    StockSaleId
);

/// Sold quantity of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockSale {
    pub id: StockSaleId,
    pub hold: HoldId,
    /// Index of the line of the hold.
    pub line: u16,
    pub user: UserId,
    pub option: ProductOptionId,
    pub quantity: u32,
    pub price: i64,
    pub currency: Currency,
    pub sold_at: Timestamp,
    pub state: StockSaleState,
}

impl Row for StockSale {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockSaleState {
    Sold,
    Cancelled { at: Timestamp },
}

/// Returns the sale to its owner or an operator.
pub fn find(rows: &mut WorkingSet, id: StockSaleId, actor: &Actor) -> Decision<StockSale> {
    let sale = rows.shop.sales.get(&id)?.cloned().ok_or(ShopRejection::StockSaleNotFound)?;
    actor.must_own(&sale.user)?;
    Ok(sale)
}

/// Takes the stock of a line, and inserts its sale.
pub(super) fn sell(
    rows: &mut WorkingSet,
    hold: &Hold,
    line: &Line,
    item: &StockItem,
    now: Timestamp,
) -> Decision<StockSale> {
    let number = rows.next_id(Sequence::StockSale)?;
    stock::take(rows, item)?;
    let sale = StockSale {
        id: StockSaleId::new(number).expect("sequence numbers are valid ids"),
        hold: hold.id,
        line: line.index,
        user: hold.owner.clone(),
        option: item.option,
        quantity: item.quantity,
        price: line.price,
        currency: hold.currency,
        sold_at: now,
        state: StockSaleState::Sold,
    };
    rows.shop.sales.insert(sale.id, sale.clone());
    rows.emit(Event::StockSold(sale.clone()));
    Ok(sale)
}

/// Cancels a sale, and returns its quantity to stock.
pub(super) fn cancel(rows: &mut WorkingSet, id: StockSaleId, actor: &Actor, now: Timestamp) -> Decision<()> {
    let sale = find(rows, id, actor)?;
    assert_eq!(sale.state, StockSaleState::Sold, "a confirmed line has a sale that is not cancelled");
    let old = stock::inventory(rows, sale.option)?;
    let sold = old.sold.checked_sub(sale.quantity).expect("a sale is counted as sold");
    rows.shop.inventory.put(sale.option, Inventory { sold, ..old });
    let cancelled = StockSale { state: StockSaleState::Cancelled { at: now }, ..sale };
    rows.shop.sales.put(id, cancelled.clone());
    rows.emit(Event::StockReturned(cancelled));
    Ok(())
}

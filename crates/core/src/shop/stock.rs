//! Stock of product options. Received and sold quantities are counted, never the remainder, so that a stocktaking and a
//! concurrent sale cannot overwrite each other.

use super::line::StockItem;
use super::product::{self, ProductOption, ProductOptionId};
use super::{RECEIVED_MAX, STOCK_MAX, resource, stock_unit};
use crate::capacity_fence;
use crate::command::{Command, Context, Decision, Stop, TwoPhase, writes};
use crate::hold;
use crate::money::check_price;
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::table::Row;
use crate::unit::CapacityFence;
use crate::working_set::WorkingSet;

/// Durable counts of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// Total quantity ever received: the unit's capacity.
    pub received: u32,
    /// Quantity paid for and not cancelled.
    pub sold: u32,
}

impl Row for Inventory {}

impl Inventory {
    /// Returns the quantity physically in stock.
    pub fn stock(self) -> u32 {
        self.received.saturating_sub(self.sold)
    }
}

/// An option and its stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockView {
    pub option: ProductOption,
    pub inventory: Inventory,
    pub held: u32,
    pub available: u32,
}

/// Changes the price, activity and stock of an option.
#[derive(Clone, Debug)]
pub struct ChangeOption {
    pub id: ProductOptionId,
    pub price: Option<i64>,
    pub is_active: Option<bool>,
    pub stock: Option<StockChange>,
}

/// Change of the stock: its new value, or a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockChange {
    Set(u32),
    Delta(i64),
}

impl Command for ChangeOption {
    type Outcome = StockView;
    const NAME: &'static str = "shop.option.change";
    type Writes = writes::Both;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StockView> {
        let change = self.change(rows)?;
        if change.is_lower() {
            change.check_covers_held(rows, at)?;
        }
        change.write(rows, at)
    }
}

impl TwoPhase for ChangeOption {
    type Prepared = Option<CapacityFence>;

    /// Sets a capacity fence, which also binds holds that are decided on the old stock.
    fn prepare(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Option<CapacityFence>> {
        let change = self.change(rows)?;
        if !change.is_lower() {
            return Ok(None);
        }
        capacity_fence::check_unfenced(rows, resource(self.id), at.now)?;
        let capacity = change.check_covers_held(rows, at)?;
        Ok(Some(capacity_fence::set(rows, resource(self.id), capacity, at.now)))
    }

    fn record(&self, rows: &mut WorkingSet, at: &Context<'_>, prepared: &Option<CapacityFence>) -> Decision<StockView> {
        let change = self.change(rows)?;
        if change.is_lower() {
            // Requires this attempt's own fence and a capacity no lower than it, because held quantities were checked
            // against it. Orders cancelled since then make the same stock a lower capacity, and more may be held:
            // prepare again.
            let capacity = capacity_fence::fenced_capacity(rows, resource(self.id), *prepared, at.now)?;
            if change.received < i64::from(capacity) {
                return Err(Stop::Retry);
            }
        }
        change.write(rows, at)
    }

    fn finish(
        &self,
        rows: &mut WorkingSet,
        _at: &Context<'_>,
        prepared: &Option<CapacityFence>,
        _outcome: Option<&StockView>,
    ) -> Decision<()> {
        capacity_fence::remove(rows, resource(self.id), *prepared)
    }
}

/// Present and changed values.
struct Change {
    option: ProductOption,
    old: Inventory,
    /// May be negative, if the change is not possible.
    received: i64,
}

impl ChangeOption {
    fn change(&self, rows: &mut WorkingSet) -> Decision<Change> {
        self.check_input()?;
        request_rows(rows, self.id);
        let old = product::find_option(rows, self.id)?;
        let option = ProductOption {
            price: self.price.unwrap_or(old.price),
            is_active: self.is_active.unwrap_or(old.is_active),
            ..old
        };
        let old = inventory(rows, self.id)?;
        Ok(Change { option, old, received: self.received(old)? })
    }

    fn check_input(&self) -> Result<(), Rejection> {
        if let Some(price) = self.price {
            check_price("price", price)?;
        }
        let max = i64::from(STOCK_MAX);
        match self.stock {
            Some(StockChange::Set(stock)) if stock > STOCK_MAX => {
                Err(Rejection::invalid("stockQuantity", out_of_range(STOCK_MAX)))
            }
            Some(StockChange::Delta(delta)) if !(-max..=max).contains(&delta) => {
                Err(Rejection::invalid("stockDelta", Fault::OutOfRange { min: -max, max }))
            }
            Some(StockChange::Set(_) | StockChange::Delta(_)) | None => Ok(()),
        }
    }

    fn received(&self, old: Inventory) -> Result<i64, Rejection> {
        match self.stock {
            None => Ok(old.received.into()),
            Some(StockChange::Set(stock)) => {
                let free_max = RECEIVED_MAX.saturating_sub(old.sold);
                if stock > free_max {
                    return Err(Rejection::invalid("stockQuantity", out_of_range(free_max)));
                }
                Ok(i64::from(old.sold) + i64::from(stock))
            }
            Some(StockChange::Delta(delta)) => {
                let free_max = STOCK_MAX.saturating_sub(old.stock()).min(RECEIVED_MAX.saturating_sub(old.received));
                if delta > free_max.into() {
                    let fault = Fault::OutOfRange { min: -i64::from(STOCK_MAX), max: free_max.into() };
                    return Err(Rejection::invalid("stockDelta", fault));
                }
                Ok(i64::from(old.received) + delta)
            }
        }
    }
}

impl Change {
    fn is_lower(&self) -> bool {
        self.received < self.old.received.into()
    }

    /// Checks that the changed capacity covers sold and held quantities, and returns it.
    fn check_covers_held(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<u32> {
        let unit = stock_unit(self.option.id);
        let held = hold::held(rows, unit, at.now)?;
        let in_use = i64::from(self.old.sold) + i64::from(held);
        if self.received >= in_use {
            return Ok(self.received as u32);
        }
        if hold::has_prepared(rows, unit)? {
            return Err(Stop::Retry);
        }
        Err(ShopRejection::StockInUse { in_use: held }.into())
    }

    fn write(self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StockView> {
        let id = self.option.id;
        // The fence ensures this. Only after a loss of live rows may more have been sold since.
        if self.received < self.old.sold.into() {
            return Err(ShopRejection::StockInUse { in_use: hold::held(rows, stock_unit(id), at.now)? }.into());
        }
        rows.shop.options.put(id, self.option);
        rows.shop.inventory.put(id, Inventory { received: self.received as u32, ..self.old });
        view(rows, at, id)
    }
}

/// Returns the current state of an option and its stock.
pub fn view(rows: &mut WorkingSet, at: &Context<'_>, id: ProductOptionId) -> Decision<StockView> {
    request_rows(rows, id);
    let option = product::find_option(rows, id)?;
    let inventory = inventory(rows, id)?;
    let held = hold::held(rows, stock_unit(id), at.now)?;
    Ok(StockView { option, inventory, held, available: available(rows, at, id)? })
}

/// Requests the rows of an option and its stock.
pub(super) fn request_rows(rows: &mut WorkingSet, id: ProductOptionId) {
    rows.shop.options.request(&id);
    rows.shop.inventory.request(&id);
    rows.held.request(&stock_unit(id));
    rows.fences.request(&resource(id));
}

/// Returns the quantity that can still be reserved.
pub(super) fn available(rows: &mut WorkingSet, at: &Context<'_>, id: ProductOptionId) -> Decision<u32> {
    let inventory = inventory(rows, id)?;
    let capacity = hold::effective_capacity(rows, resource(id), inventory.received, at.now)?;
    hold::available(rows, stock_unit(id), capacity, inventory.sold, at.now)
}

/// Returns the counts of an existing option.
pub(super) fn inventory(rows: &mut WorkingSet, id: ProductOptionId) -> Decision<Inventory> {
    Ok(*rows.shop.inventory.get(&id)?.expect("every option has its inventory"))
}

/// Counts the quantity of a line as sold. A live hold can always be confirmed; only after a loss of live rows may its
/// goods have been sold to another user.
pub(super) fn take(rows: &mut WorkingSet, item: &StockItem) -> Decision<()> {
    let old = inventory(rows, item.option)?;
    if old.stock() < item.quantity {
        let (option, available) = (item.option, old.stock());
        return Err(ShopRejection::InsufficientAvailableStock { option, available }.into());
    }
    rows.shop.inventory.put(item.option, Inventory { sold: old.sold + item.quantity, ..old });
    Ok(())
}

pub(super) fn out_of_range(max: u32) -> Fault {
    Fault::OutOfRange { min: 0, max: max.into() }
}

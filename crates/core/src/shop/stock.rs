//! How much of an option there is. What came in and what was sold are counted, never what is left: a stock-taking and a sale
//! at the same moment cannot overwrite each other.

use super::product::{self, ProductOption, ProductOptionId};
use super::{RECEIVED_MAX, STOCK_MAX, resource, stock_unit};
use crate::command::{Attempt, Command, Context, Decision, Stop, Writes};
use crate::hold;
use crate::limit;
use crate::money::check_price;
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::rows::Rows;
use crate::table::Row;

/// The durable count of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// All that ever came in: the unit's capacity.
    pub received: u32,
    /// What is paid for and not cancelled.
    pub sold: u32,
}

impl Row for Inventory {}

impl Inventory {
    /// What is physically there.
    pub fn stock(self) -> u32 {
        self.received.saturating_sub(self.sold)
    }
}

/// An option and what there is of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockView {
    pub option: ProductOption,
    pub inventory: Inventory,
    pub held: u32,
    pub available: u32,
}

/// Changes the price of an option, whether it is sold, and how much of it there is.
#[derive(Clone, Debug)]
pub struct ChangeOption {
    pub id: ProductOptionId,
    pub price: Option<i64>,
    pub is_active: Option<bool>,
    pub stock: Option<StockChange>,
}

/// What is said of the stock: how much is there, or how much came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockChange {
    Set(u32),
    Delta(i64),
}

impl Command for ChangeOption {
    type Outcome = StockView;
    const NAME: &'static str = "shop.option.change";
    const WRITES: Writes = Writes::Both;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<StockView> {
        let change = self.change(rows)?;
        if change.is_lower() {
            change.check_covers_held(rows, at)?;
        }
        change.write(rows, at)
    }

    /// Nobody may hold more from now on, also those who still see the old stock.
    fn prepare(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<Attempt> {
        let change = self.change(rows)?;
        if !change.is_lower() {
            return Ok(limit::NO_LIMIT);
        }
        limit::check_free(rows, resource(self.id), at.now)?;
        let capacity = change.check_covers_held(rows, at)?;
        Ok(limit::bind(rows, resource(self.id), capacity, at.now))
    }

    fn record(&self, rows: &mut Rows, at: &Context<'_>, attempt: Attempt) -> Decision<StockView> {
        let change = self.change(rows)?;
        if change.is_lower() {
            // Only under a limit of its own, and no lower than that: what is held was counted against it. If orders were
            // cancelled since this was prepared, the same stock is a lower capacity, and more may be held: prepare again.
            let capacity = limit::bound(rows, resource(self.id), attempt, at.now)?;
            if change.received < i64::from(capacity) {
                return Err(Stop::Busy);
            }
        }
        change.write(rows, at)
    }

    fn finish(
        &self,
        rows: &mut Rows,
        _at: &Context<'_>,
        attempt: Attempt,
        _outcome: Option<&StockView>,
    ) -> Decision<()> {
        limit::unbind(rows, resource(self.id), attempt)
    }
}

/// What is, and what shall be.
struct Change {
    option: ProductOption,
    old: Inventory,
    /// May be impossible: less than nothing.
    received: i64,
}

impl ChangeOption {
    fn change(&self, rows: &mut Rows) -> Decision<Change> {
        self.check_input()?;
        want(rows, self.id);
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
                let room = RECEIVED_MAX.saturating_sub(old.sold);
                if stock > room {
                    return Err(Rejection::invalid("stockQuantity", out_of_range(room)));
                }
                Ok(i64::from(old.sold) + i64::from(stock))
            }
            Some(StockChange::Delta(delta)) => {
                let room = STOCK_MAX.saturating_sub(old.stock()).min(RECEIVED_MAX.saturating_sub(old.received));
                if delta > room.into() {
                    let fault = Fault::OutOfRange { min: -i64::from(STOCK_MAX), max: room.into() };
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

    /// What is left must be enough for what is sold and held. Says the new capacity.
    fn check_covers_held(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<u32> {
        let unit = stock_unit(self.option.id);
        let held = hold::held(rows, unit, at.now)?;
        let in_use = i64::from(self.old.sold) + i64::from(held);
        if self.received >= in_use {
            return Ok(self.received as u32);
        }
        if hold::is_in_doubt(rows, unit)? {
            return Err(Stop::Busy);
        }
        Err(ShopRejection::StockInUse { in_use: held }.into())
    }

    fn write(self, rows: &mut Rows, at: &Context<'_>) -> Decision<StockView> {
        let id = self.option.id;
        // Under a limit this is always so. Only if live rows were lost may more have been sold since.
        if self.received < self.old.sold.into() {
            return Err(ShopRejection::StockInUse { in_use: hold::held(rows, stock_unit(id), at.now)? }.into());
        }
        rows.shop.options.put(id, self.option);
        rows.shop.inventory.put(id, Inventory { received: self.received as u32, ..self.old });
        view(rows, at, id)
    }
}

/// The option and its stock as they stand now.
pub fn view(rows: &mut Rows, at: &Context<'_>, id: ProductOptionId) -> Decision<StockView> {
    want(rows, id);
    let option = product::find_option(rows, id)?;
    let inventory = inventory(rows, id)?;
    let held = hold::held(rows, stock_unit(id), at.now)?;
    Ok(StockView { option, inventory, held, available: available(rows, at, id)? })
}

/// Says which rows tell what is there of an option.
pub(super) fn want(rows: &mut Rows, id: ProductOptionId) {
    rows.shop.options.want(&id);
    rows.shop.inventory.want(&id);
    rows.held.want(&stock_unit(id));
    rows.limits.want(&resource(id));
}

/// What can still be reserved.
pub(super) fn available(rows: &mut Rows, at: &Context<'_>, id: ProductOptionId) -> Decision<u32> {
    let inventory = inventory(rows, id)?;
    let capacity = hold::limited(rows, resource(id), inventory.received, at.now)?;
    hold::available(rows, stock_unit(id), capacity, inventory.sold, at.now)
}

/// The counts of an option that exists.
pub(super) fn inventory(rows: &mut Rows, id: ProductOptionId) -> Decision<Inventory> {
    Ok(*rows.shop.inventory.get(&id)?.expect("every option has its inventory"))
}

pub(super) fn out_of_range(max: u32) -> Fault {
    Fault::OutOfRange { min: 0, max: max.into() }
}

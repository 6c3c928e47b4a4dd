//! The line of a hold on stock: a quantity of one option.

use std::sync::Arc;

use super::product::ProductOptionId;
use super::stock_unit;
use crate::command::Decision;
use crate::hold::{ENDED_HOLD_KEPT, Hold, Item, LineItem, Origin};
use crate::id::{HoldId, number_id};
use crate::table::Row;
use crate::time::Timestamp;
use crate::unit::{Kind, Unit};
use crate::working_set::WorkingSet;

number_id!(
    /// Number of one line of a reservation.
    InventoryReservationId
);

/// Quantity of one option, at its price when reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockItem {
    pub reservation: InventoryReservationId,
    pub option: ProductOptionId,
    pub product_name: Arc<str>,
    pub option_code: Arc<str>,
    pub quantity: u32,
    pub unit_price: i64,
}

impl StockItem {
    pub fn amount(&self) -> i64 {
        self.unit_price * i64::from(self.quantity)
    }
}

/// Index entry of a user's latest hold on a cart, in any state. It outlives the hold, so that a payment can be rejected
/// as expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastHold {
    pub hold: HoldId,
    pub kept_until: Timestamp,
}

impl LastHold {
    pub(crate) fn of(hold: &Hold) -> Self {
        Self { hold: hold.id, kept_until: hold.ends_at() + ENDED_HOLD_KEPT }
    }
}

impl Row for LastHold {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.kept_until)
    }
}

impl LineItem for StockItem {
    const KIND: Kind = Kind::Shop;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Stock(item) => Some(item),
            _ => None,
        }
    }

    fn units(&self) -> impl Iterator<Item = (Unit, u32)> {
        std::iter::once((stock_unit(self.option), self.quantity))
    }

    fn request_indexes(&self, hold: &Hold, rows: &mut WorkingSet) {
        if hold.origin == Origin::Cart {
            rows.shop.last_holds.request(&hold.owner);
        }
    }

    /// The entry is a row of its own, written when the cart is reserved: a store that starts finds it there.
    fn insert_indexes(&self, _hold: &Hold, _rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        Ok(())
    }

    /// Moves the end of the entry that all lines of a cart share.
    fn update_indexes(&self, before: &Hold, after: &Hold, rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        if after.origin == Origin::Cart && before.ends_at() != after.ends_at() {
            let entry = LastHold::of(after);
            if rows.shop.last_holds.get(&after.owner)? != Some(&entry) {
                rows.shop.last_holds.put(after.owner.clone(), entry);
            }
        }
        Ok(())
    }

    /// Keeps the entry: the state of the hold tells that it has ended.
    fn delete_indexes(&self, _hold: &Hold, _rows: &mut WorkingSet, _now: Timestamp) -> Decision<()> {
        Ok(())
    }
}

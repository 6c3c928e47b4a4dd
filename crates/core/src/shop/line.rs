//! The line of a hold on stock: a quantity of one option.

use std::sync::Arc;

use super::product::{self, ProductOptionId};
use super::sale::{self, StockSale, StockSaleId};
use super::{LINE_QUANTITY_MAX, stock, stock_unit};
use crate::actor::Actor;
use crate::command::{Context, Decision, Limits, Stop};
use crate::hold::{self, ENDED_HOLD_KEPT, Hold, Item, Line, LineItem, LineRequest, Origin, RecordType};
use crate::id::{HoldId, Sequence, UserId, number_id};
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::table::Row;
use crate::time::{Span, Timestamp};
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

/// Quantity of one option as a client requests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockRequest {
    pub option: ProductOptionId,
    pub quantity: u32,
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
    type Request = StockRequest;
    type Record = StockSale;

    const KIND: Kind = Kind::Shop;
    const RECORD: RecordType = RecordType::StockSale;
    const SEQUENCE: Sequence = Sequence::StockSale;

    fn of(item: &Item) -> Option<&Self> {
        match item {
            Item::Stock(item) => Some(item),
            _ => None,
        }
    }

    fn ttl(limits: &Limits) -> Span {
        limits.shop.hold_ttl
    }

    fn request_rows(request: &StockRequest, _owner: &UserId, rows: &mut WorkingSet) {
        rows.ids.request(&Sequence::InventoryReservation);
        stock::request_rows(rows, request.option);
    }

    fn check(
        request: &StockRequest,
        _owner: &UserId,
        _earlier: &[LineRequest],
        rows: &mut WorkingSet,
        _at: &Context<'_>,
    ) -> Decision<Currency> {
        let option = product::find_option(rows, request.option)?;
        // The price of a line is at most the largest amount.
        let max = LINE_QUANTITY_MAX.into();
        let max = if option.price > 0 { (AMOUNT_MAX / option.price).min(max) } else { max };
        if !(1..=max).contains(&request.quantity.into()) {
            return Err(Rejection::invalid("quantity", Fault::OutOfRange { min: 1, max }).into());
        }
        if !option.is_active {
            return Err(ShopRejection::ProductOptionInactive { option: option.id }.into());
        }
        Ok(option.currency)
    }

    fn claim(request: &StockRequest, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<(i64, Self)> {
        let StockRequest { option: id, quantity } = *request;
        let available = stock::available(rows, at, id)?;
        if available < quantity {
            if hold::has_prepared(rows, stock_unit(id))? {
                return Err(Stop::Retry);
            }
            return Err(ShopRejection::InsufficientAvailableStock { option: id, available }.into());
        }
        let option = product::find_option(rows, id)?;
        let number = rows.next_id(Sequence::InventoryReservation)?;
        let item = Self {
            reservation: InventoryReservationId::new(number).expect("sequence numbers are valid ids"),
            option: id,
            product_name: option.product_name,
            option_code: option.option_code,
            quantity,
            unit_price: option.price,
        };
        Ok((item.amount(), item))
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

    fn request_record(&self, _hold: &Hold, rows: &mut WorkingSet) {
        rows.shop.inventory.request(&self.option);
    }

    fn confirm(&self, hold: &Hold, line: &Line, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<StockSale> {
        sale::sell(rows, hold, line, self, at.now)
    }

    fn number(record: &StockSale) -> u64 {
        record.id.get()
    }

    fn cancel(number: u64, actor: &Actor, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        let id = StockSaleId::new(number).expect("a record number is a sale id");
        sale::cancel(rows, id, actor, at.now)
    }

    fn begins_at(&self, _rows: &mut WorkingSet) -> Decision<Option<Timestamp>> {
        Ok(None)
    }
}

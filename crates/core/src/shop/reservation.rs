//! Holds on carts: reserving, replacing and releasing. A user has at most one live reservation.

use std::sync::Arc;

use super::cart::{self, Cart, CartLine};
use super::product::ProductOptionId;
use super::{stock, stock_unit, user};
use crate::command::{Attempt, Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Claim, ENDED_HOLD_KEPT, Hold, HoldState, Indexed, Status};
use crate::id::{HoldId, Sequence, UserId, number_id};
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::table::Row;
use crate::time::{Span, Timestamp};
use crate::unit::{Holder, Kind, Unit};
use crate::working_set::WorkingSet;

number_id!(
    /// Number of one line of a reservation.
    InventoryReservationId
);

/// A hold on all lines of a cart.
pub type OrderHold = Hold<OrderClaim>;

/// Claim of an order's hold, and its terms. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderClaim {
    /// Ascending by option, each option once.
    pub lines: Arc<[OrderLine]>,
    pub currency: Currency,
    pub total: i64,
}

/// Quantity of one option, at its price when reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderLine {
    pub reservation: InventoryReservationId,
    pub option: ProductOptionId,
    pub product_name: Arc<str>,
    pub option_code: Arc<str>,
    pub quantity: u32,
    pub unit_price: i64,
}

impl OrderLine {
    pub fn amount(&self) -> i64 {
        self.unit_price * i64::from(self.quantity)
    }
}

impl Claim for OrderClaim {
    const KIND: Kind = Kind::Shop;

    fn lines(&self) -> impl Iterator<Item = (Unit, u32)> {
        self.lines.iter().map(|line| (stock_unit(line.option), line.quantity))
    }
}

/// Index entry of a user's latest hold that was neither paid nor released. It outlives the hold, so that a payment can
/// be rejected as expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastHold {
    pub hold: HoldId,
    pub kept_until: Timestamp,
}

impl Row for LastHold {
    fn ends_at(&self) -> Option<Timestamp> {
        Some(self.kept_until)
    }
}

/// A reservation, and the remaining availability of each line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedOrder {
    pub hold: OrderHold,
    /// One value per line of the hold.
    pub available: Vec<u32>,
}

/// Holds all lines of the user's cart, or none.
#[derive(Clone, Debug)]
pub struct ReserveOrder {
    /// Random part of the hold's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub user: UserId,
    /// Whether a live reservation is replaced in the same commit.
    pub replace: bool,
}

impl Command for ReserveOrder {
    type Outcome = ReservedOrder;
    const NAME: &'static str = "shop.order.reserve";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<ReservedOrder> {
        self.request_rows(rows);
        let account = user::find(rows, &self.user)?;
        let cart = self.cart(rows)?;
        let id = HoldId::new(at.now, self.random);
        if let Some(old) = find_live(rows, &self.user, at.now)? {
            if !self.replace {
                return Err(ShopRejection::DuplicateReservation.into());
            }
            // Frees the quantities for the new hold. It is rolled back if that is rejected.
            release(rows, &old, HoldState::Replaced { by: id }, at.now)?;
        }
        hold::check_hold_limit(rows, at, Kind::Shop, &self.user)?;
        let available = check_stock(rows, at, &cart)?;
        let total = total_of(&cart)?;
        let claim = OrderClaim { lines: to_order_lines(rows, cart)?, currency: account.currency, total };
        let hold = OrderHold {
            id,
            owner: self.user.clone(),
            created_at: at.now,
            expires_at: at.end_after(at.limits.shop.hold_ttl),
            state: HoldState::Held,
            attempts: Attempt::default(),
            claim,
        };
        OrderHold::index(rows, &hold, at.now)?;
        rows.shop.holds.insert(hold.id, hold.clone());
        rows.emit(Event::OrderReserved(hold.clone()));
        Ok(ReservedOrder { hold, available })
    }

    fn weight(&self) -> usize {
        2
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

impl ReserveOrder {
    /// The lines of the cart lead to further rows, which are requested once the lines are known.
    fn request_rows(&self, rows: &mut WorkingSet) {
        rows.ids.request(&Sequence::InventoryReservation);
        rows.holders.request(&Holder { kind: Kind::Shop, user: self.user.clone() });
        request_last_hold(rows, &self.user);
        cart::request_rows(rows, &self.user);
        if let Ok(lines) = cart::lines(rows, &self.user) {
            for line in lines {
                stock::request_rows(rows, line.option);
            }
        }
    }

    /// Returns the cart, if it is not empty and all its options are active.
    fn cart(&self, rows: &mut WorkingSet) -> Decision<Cart> {
        let cart = cart::contents(rows, &self.user)?;
        if cart.items.is_empty() {
            return Err(ShopRejection::CartEmpty.into());
        }
        match cart.items.iter().find(|line| !line.option.is_active) {
            Some(line) => Err(ShopRejection::ProductOptionInactive { option: line.option.id }.into()),
            None => Ok(cart),
        }
    }
}

/// Copies the lines of a cart, with their current prices.
fn to_order_lines(rows: &mut WorkingSet, cart: Cart) -> Decision<Arc<[OrderLine]>> {
    let first = rows.next_ids(Sequence::InventoryReservation, cart.items.len())?;
    let line = |(number, line): (u64, CartLine)| OrderLine {
        reservation: InventoryReservationId::new(number).expect("sequence numbers are valid ids"),
        option: line.option.id,
        product_name: line.option.product_name,
        option_code: line.option.option_code,
        quantity: line.quantity,
        unit_price: line.option.price,
    };
    Ok((first..).zip(cart.items).map(line).collect())
}

/// Returns the remaining availability of each line, or rejects the first line that exceeds it.
fn check_stock(rows: &mut WorkingSet, at: &Context<'_>, cart: &Cart) -> Decision<Vec<u32>> {
    let mut left = Vec::with_capacity(cart.items.len());
    for line in &cart.items {
        let option = line.option.id;
        let available = stock::available(rows, at, option)?;
        match available.checked_sub(line.quantity) {
            Some(rest) => left.push(rest),
            None if hold::has_prepared(rows, stock_unit(option))? => return Err(Stop::Retry),
            None => return Err(ShopRejection::InsufficientAvailableStock { option, available }.into()),
        }
    }
    Ok(left)
}

/// Returns the total of a cart, at most [`AMOUNT_MAX`]. The bounds of price, quantity and lines allow larger ones.
fn total_of(cart: &Cart) -> Result<i64, Rejection> {
    let total = cart.items.iter().try_fold(0_i64, |sum, line| {
        let amount = line.option.price.checked_mul(line.quantity.into())?;
        sum.checked_add(amount).filter(|sum| *sum <= AMOUNT_MAX)
    });
    total.ok_or_else(|| Rejection::invalid("totalAmount", Fault::OutOfRange { min: 0, max: AMOUNT_MAX }))
}

/// Releases the user's live reservation.
#[derive(Clone, Debug)]
pub struct ReleaseOrder {
    pub user: UserId,
}

impl Command for ReleaseOrder {
    type Outcome = ();
    const NAME: &'static str = "shop.order.release";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<()> {
        request_last_hold(rows, &self.user);
        let Some(hold) = find_live(rows, &self.user, at.now)? else {
            return reject(rows, &self.user, ShopRejection::OrderReservationNotFound);
        };
        release(rows, &hold, HoldState::Cancelled, at.now)
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

/// Returns the user's live reservation, including one that is being paid.
pub fn view(rows: &mut WorkingSet, at: &Context<'_>, user: &UserId) -> Decision<ReservedOrder> {
    request_last_hold(rows, user);
    let is_open = |hold: &OrderHold| matches!(hold.status(at.now), Status::Held | Status::Prepared);
    let Some(hold) = last_hold(rows, user, at.now)?.filter(is_open) else {
        return reject(rows, user, ShopRejection::OrderReservationNotFound);
    };
    for line in hold.lines.iter() {
        stock::request_rows(rows, line.option);
    }
    let available = hold.lines.iter().map(|line| stock::available(rows, at, line.option)).collect::<Decision<_>>()?;
    Ok(ReservedOrder { hold, available })
}

/// Counts of a live hold, and the entry of the latest hold, which outlives it.
impl Indexed for OrderHold {
    const AFTER_END: Span = ENDED_HOLD_KEPT;

    fn request_indexes(rows: &mut WorkingSet, hold: &Self) {
        hold::request_counts(rows, &hold.owner, &hold.claim);
        rows.shop.by_user.request(&hold.owner);
    }

    fn index(rows: &mut WorkingSet, hold: &Self, now: Timestamp) -> Decision<()> {
        let entry = LastHold { hold: hold.id, kept_until: hold.expires_at + ENDED_HOLD_KEPT };
        match hold.status(now) {
            Status::Held | Status::Prepared => {
                hold::count(rows, hold, now)?;
                rows.shop.by_user.put(hold.owner.clone(), entry);
            }
            Status::Expired if now < entry.kept_until => {
                rows.shop.by_user.put(hold.owner.clone(), entry);
            }
            Status::Confirmed { .. } | Status::Cancelled => {
                // Earlier holds are no longer reported as expired. Ids of the same millisecond do not tell which came
                // first.
                let first_of_moment = HoldId::earliest_at(hold.created_at);
                if rows.shop.by_user.get(&hold.owner)?.is_some_and(|entry| entry.hold < first_of_moment) {
                    rows.shop.by_user.delete(hold.owner.clone());
                }
            }
            Status::Expired | Status::Replaced => {}
        }
        Ok(())
    }
}

/// Ends an open hold before its time, and deletes its index entries.
pub(super) fn end(rows: &mut WorkingSet, hold: &OrderHold, state: HoldState, now: Timestamp) -> Decision<()> {
    OrderHold::request_indexes(rows, hold);
    hold::uncount(rows, hold, now)?;
    if rows.shop.by_user.get(&hold.owner)?.is_some_and(|entry| entry.hold == hold.id) {
        rows.shop.by_user.delete(hold.owner.clone());
    }
    rows.shop.holds.put(hold.id, OrderHold { state, ..hold.clone() });
    Ok(())
}

/// Returns the user's latest hold, in any state.
pub(super) fn last_hold(rows: &mut WorkingSet, user: &UserId, now: Timestamp) -> Decision<Option<OrderHold>> {
    match rows.shop.by_user.get(user)?.copied() {
        Some(entry) if now < entry.kept_until => Ok(rows.shop.holds.get(&entry.hold)?.cloned()),
        Some(_) | None => Ok(None),
    }
}

/// Requests the latest hold of a user as soon as its id is known.
pub(super) fn request_last_hold(rows: &mut WorkingSet, user: &UserId) {
    if let Ok(Some(entry)) = rows.shop.by_user.get(user).map(Option::<&LastHold>::copied) {
        rows.shop.holds.request(&entry.hold);
        if let Ok(Some(hold)) = rows.shop.holds.get(&entry.hold).map(Option::<&OrderHold>::cloned) {
            OrderHold::request_indexes(rows, &hold);
        }
    }
}

/// Rejects, with `UserNotFound` if the user does not exist. Only existing users have reservations, so the account is
/// read only on this path.
pub(super) fn reject<T>(rows: &mut WorkingSet, user: &UserId, rejection: ShopRejection) -> Decision<T> {
    user::find(rows, user)?;
    Err(rejection.into())
}

/// Returns the user's live hold; backs off while it is being paid.
fn find_live(rows: &mut WorkingSet, user: &UserId, now: Timestamp) -> Decision<Option<OrderHold>> {
    match last_hold(rows, user, now)? {
        Some(hold) if hold.state == HoldState::Prepared => Err(Stop::Retry),
        Some(hold) => Ok(Some(hold).filter(|hold| hold.is_live(now))),
        None => Ok(None),
    }
}

fn release(rows: &mut WorkingSet, hold: &OrderHold, state: HoldState, now: Timestamp) -> Decision<()> {
    end(rows, hold, state, now)?;
    rows.emit(Event::OrderReleased(Hold { state, ..hold.clone() }));
    Ok(())
}

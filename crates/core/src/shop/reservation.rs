//! Holds on carts: reserving, replacing and releasing. A user has at most one live reservation.

use super::cart::{self, Cart, CartLine};
use super::line::{InventoryReservationId, LastHold, StockItem};
use super::{stock, stock_unit, user};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Extras, Hold, HoldState, Item, Origin, Placement, Status, cancel, owner, place};
use crate::id::{HoldId, Sequence, UserId};
use crate::money::AMOUNT_MAX;
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::time::Timestamp;
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// A reservation, and the remaining availability of each line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedOrder {
    pub hold: Hold,
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
            cancel::replace(rows, &old, id, at.now)?;
        }
        hold::check_hold_limit(rows, at, Kind::Shop, &self.user)?;
        let available = check_stock(rows, at, &cart)?;
        check_total(&cart)?;
        let hold = Placement {
            id,
            owner: self.user.clone(),
            origin: Origin::Cart,
            created_at: at.now,
            expires_at: at.end_after(at.limits.shop.hold_ttl),
            currency: account.currency,
            lines: to_lines(rows, cart)?,
            extras: Extras::of_new_hold(&at.limits.hold),
        }
        .into_hold();
        place::insert(rows, &hold, at.now)?;
        rows.shop.last_holds.put(self.user.clone(), LastHold::of(&hold));
        rows.emit(Event::HoldPlaced(hold.clone()));
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
        owner::request(rows, Kind::Shop, &self.user);
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

/// Converts the contents of a cart into priced lines, ascending by option.
fn to_lines(rows: &mut WorkingSet, cart: Cart) -> Decision<Vec<(i64, Item)>> {
    let first = rows.next_ids(Sequence::InventoryReservation, cart.items.len())?;
    let line = |(number, line): (u64, CartLine)| {
        let item = StockItem {
            reservation: InventoryReservationId::new(number).expect("sequence numbers are valid ids"),
            option: line.option.id,
            product_name: line.option.product_name,
            option_code: line.option.option_code,
            quantity: line.quantity,
            unit_price: line.option.price,
        };
        (item.amount(), Item::Stock(item))
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

/// Checks that the total of a cart is at most [`AMOUNT_MAX`]. The bounds of price, quantity and lines allow larger ones.
fn check_total(cart: &Cart) -> Result<(), Rejection> {
    let total = cart.items.iter().try_fold(0_i64, |sum, line| {
        let amount = line.option.price.checked_mul(line.quantity.into())?;
        sum.checked_add(amount).filter(|sum| *sum <= AMOUNT_MAX)
    });
    let too_large = || Rejection::invalid("totalAmount", Fault::OutOfRange { min: 0, max: AMOUNT_MAX });
    total.map(|_| ()).ok_or_else(too_large)
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
        cancel::cancel(rows, &hold, at.now)
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

/// Returns the user's live reservation, including one that is being paid.
pub fn view(rows: &mut WorkingSet, at: &Context<'_>, user: &UserId) -> Decision<ReservedOrder> {
    request_last_hold(rows, user);
    let is_open = |hold: &Hold| matches!(hold.status(at.now), Status::Held | Status::Prepared);
    let Some(hold) = last_hold(rows, user, at.now)?.filter(is_open) else {
        return reject(rows, user, ShopRejection::OrderReservationNotFound);
    };
    for item in hold.items::<StockItem>() {
        stock::request_rows(rows, item.option);
    }
    let available = hold.items::<StockItem>().map(|item| stock::available(rows, at, item.option));
    let available = available.collect::<Decision<_>>()?;
    Ok(ReservedOrder { hold, available })
}

/// Returns the user's latest hold, in any state.
pub(super) fn last_hold(rows: &mut WorkingSet, user: &UserId, now: Timestamp) -> Decision<Option<Hold>> {
    match rows.shop.last_holds.get(user)?.copied() {
        Some(entry) if now < entry.kept_until => Ok(rows.holds.get(&entry.hold)?.cloned()),
        Some(_) | None => Ok(None),
    }
}

/// Requests the latest hold of a user as soon as its id is known.
pub(super) fn request_last_hold(rows: &mut WorkingSet, user: &UserId) {
    if let Ok(Some(entry)) = rows.shop.last_holds.get(user).map(Option::<&LastHold>::copied) {
        rows.holds.request(&entry.hold);
        if let Ok(Some(hold)) = rows.holds.get(&entry.hold).map(Option::<&Hold>::cloned) {
            place::request_indexes(rows, &hold);
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
fn find_live(rows: &mut WorkingSet, user: &UserId, now: Timestamp) -> Decision<Option<Hold>> {
    match last_hold(rows, user, now)? {
        Some(hold) if hold.state == HoldState::Prepared => Err(Stop::Retry),
        Some(hold) => Ok(Some(hold).filter(|hold| hold.is_live(now))),
        None => Ok(None),
    }
}

//! Holding a cart: reserving, exchanging and giving back. A user has at most one live reservation.

use std::sync::Arc;

use super::cart::{self, Cart, CartLine};
use super::product::ProductOptionId;
use super::{stock, stock_unit, user};
use crate::command::{Attempt, Command, Context, Decision, Stop, Writes};
use crate::event::Event;
use crate::hold::{self, Claim, ENDED_HOLD_KEPT, Hold, HoldState, Remembered, Status};
use crate::id::{HoldId, Sequence, UserId, number_id};
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::rows::Rows;
use crate::table::Row;
use crate::time::{Span, Timestamp};
use crate::unit::{Holder, Kind, Unit};

number_id!(
    /// The number of one line of a reservation.
    InventoryReservationId
);

/// A hold on all that was in a cart.
pub type OrderHold = Hold<OrderClaim>;

/// What an order's hold claims, and on which terms. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderClaim {
    /// Ascending by option, each option once.
    pub lines: Arc<[OrderLine]>,
    pub currency: Currency,
    pub total: i64,
}

/// So many of an option, at the price of the moment they were reserved.
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

/// A pointer to the latest hold of a user who neither paid nor gave it back. It outlives the hold, so that the user can be
/// told that it ended.
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

/// A reservation, and how much more of each line could be reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedOrder {
    pub hold: OrderHold,
    /// One for each line of the hold.
    pub available: Vec<u32>,
}

/// Holds all that is in the user's cart, or nothing.
#[derive(Clone, Debug)]
pub struct ReserveOrder {
    /// Makes the hold's id, together with the time of the decision.
    pub random: [u8; 10],
    pub user: UserId,
    /// Whether a live reservation is exchanged for this one, in the same step.
    pub replace: bool,
}

impl Command for ReserveOrder {
    type Outcome = ReservedOrder;
    const NAME: &'static str = "shop.order.reserve";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<ReservedOrder> {
        self.want(rows);
        let account = user::find(rows, self.user)?;
        let cart = self.cart(rows)?;
        let id = HoldId::new(at.now, self.random);
        if let Some(old) = live_hold(rows, self.user, at.now)? {
            if !self.replace {
                return Err(ShopRejection::DuplicateReservation.into());
            }
            // What it holds is free for the new one. If that is refused, this is undone with it.
            release(rows, &old, HoldState::Replaced { by: id }, at.now)?;
        }
        hold::check_holder(rows, at, Kind::Shop, self.user)?;
        let available = check_stock(rows, at, &cart)?;
        let total = total_of(&cart)?;
        let claim = OrderClaim { lines: freeze(rows, cart)?, currency: account.currency, total };
        let hold = OrderHold {
            id,
            owner: self.user,
            created_at: at.now,
            expires_at: at.now + at.limits.shop.hold_ttl,
            state: HoldState::Held,
            attempts: Attempt::default(),
            claim,
        };
        OrderHold::remember(rows, &hold, at.now)?;
        rows.shop.holds.insert(hold.id, hold.clone());
        rows.emit(Event::OrderReserved(hold.clone()));
        Ok(ReservedOrder { hold, available })
    }

    fn weight(&self) -> usize {
        2
    }

    fn user(&self) -> Option<UserId> {
        Some(self.user)
    }
}

impl ReserveOrder {
    /// What is in the cart leads to further rows; they are named as soon as that is known.
    fn want(&self, rows: &mut Rows) {
        rows.ids.want(&Sequence::InventoryReservation);
        rows.holders.want(&Holder { kind: Kind::Shop, user: self.user });
        want_last_hold(rows, self.user);
        cart::want(rows, self.user);
        if let Ok(lines) = cart::lines(rows, self.user) {
            for line in lines {
                stock::want(rows, line.option);
            }
        }
    }

    /// What is in the cart, if there is anything, and all of it is for sale.
    fn cart(&self, rows: &mut Rows) -> Decision<Cart> {
        let cart = cart::contents(rows, self.user)?;
        if cart.items.is_empty() {
            return Err(ShopRejection::CartEmpty.into());
        }
        match cart.items.iter().find(|line| !line.option.is_active) {
            Some(line) => Err(ShopRejection::ProductOptionInactive { option: line.option.id }.into()),
            None => Ok(cart),
        }
    }
}

/// Freezes what is in a cart, at the prices of now.
fn freeze(rows: &mut Rows, cart: Cart) -> Decision<Arc<[OrderLine]>> {
    let first = rows.next_ids(Sequence::InventoryReservation, cart.items.len())?;
    let line = |(number, line): (u64, CartLine)| OrderLine {
        reservation: InventoryReservationId::new(number).expect("sequences give ids"),
        option: line.option.id,
        product_name: line.option.product_name,
        option_code: line.option.option_code,
        quantity: line.quantity,
        unit_price: line.option.price,
    };
    Ok((first..).zip(cart.items).map(line).collect())
}

/// What will be left of each line, or the first line of which there is not enough.
fn check_stock(rows: &mut Rows, at: &Context<'_>, cart: &Cart) -> Decision<Vec<u32>> {
    let mut left = Vec::with_capacity(cart.items.len());
    for line in &cart.items {
        let option = line.option.id;
        let available = stock::available(rows, at, option)?;
        match available.checked_sub(line.quantity) {
            Some(rest) => left.push(rest),
            None if hold::is_in_doubt(rows, stock_unit(option))? => return Err(Stop::Busy),
            None => return Err(ShopRejection::InsufficientAvailableStock { option, available }.into()),
        }
    }
    Ok(left)
}

/// A line is bounded by price and quantity, a cart by its lines; what they come to together is bounded here.
fn total_of(cart: &Cart) -> Result<i64, Rejection> {
    let total = cart.items.iter().try_fold(0_i64, |sum, line| {
        let amount = line.option.price.checked_mul(line.quantity.into())?;
        sum.checked_add(amount).filter(|sum| *sum <= AMOUNT_MAX)
    });
    total.ok_or_else(|| Rejection::invalid("totalAmount", Fault::OutOfRange { min: 0, max: AMOUNT_MAX }))
}

/// Gives the user's live reservation back.
#[derive(Clone, Debug)]
pub struct ReleaseOrder {
    pub user: UserId,
}

impl Command for ReleaseOrder {
    type Outcome = ();
    const NAME: &'static str = "shop.order.release";
    const WRITES: Writes = Writes::Live;

    fn decide(&self, rows: &mut Rows, at: &Context<'_>) -> Decision<()> {
        want_last_hold(rows, self.user);
        let Some(hold) = live_hold(rows, self.user, at.now)? else {
            return refuse(rows, self.user, ShopRejection::OrderReservationNotFound);
        };
        release(rows, &hold, HoldState::Cancelled, at.now)
    }

    fn user(&self) -> Option<UserId> {
        Some(self.user)
    }
}

/// The user's live reservation. One that is just being paid is shown until that is done.
pub fn view(rows: &mut Rows, at: &Context<'_>, user: UserId) -> Decision<ReservedOrder> {
    want_last_hold(rows, user);
    let is_open = |hold: &OrderHold| matches!(hold.status(at.now), Status::Held | Status::Confirming);
    let Some(hold) = last_hold(rows, user, at.now)?.filter(is_open) else {
        return refuse(rows, user, ShopRejection::OrderReservationNotFound);
    };
    for line in hold.lines.iter() {
        stock::want(rows, line.option);
    }
    let available = hold.lines.iter().map(|line| stock::available(rows, at, line.option)).collect::<Decision<_>>()?;
    Ok(ReservedOrder { hold, available })
}

/// The counts of a live one, and the pointer to the latest, which outlives it.
impl Remembered for OrderHold {
    const AFTER_END: Span = ENDED_HOLD_KEPT;

    fn want_derived(rows: &mut Rows, hold: &Self) {
        hold::want_counts(rows, hold.owner, &hold.claim);
        rows.shop.by_user.want(&hold.owner);
    }

    fn remember(rows: &mut Rows, hold: &Self, now: Timestamp) -> Decision<()> {
        let pointer = LastHold { hold: hold.id, kept_until: hold.expires_at + ENDED_HOLD_KEPT };
        match hold.status(now) {
            Status::Held | Status::Confirming => {
                hold::count(rows, hold, now)?;
                rows.shop.by_user.put(hold.owner, pointer);
            }
            Status::Expired if now < pointer.kept_until => {
                rows.shop.by_user.put(hold.owner, pointer);
            }
            Status::Confirmed { .. } | Status::Cancelled => {
                // What came before it is no longer told of. Ids of the same moment say nothing about which came first.
                let began = HoldId::earliest_at(hold.created_at);
                if rows.shop.by_user.get(&hold.owner)?.is_some_and(|pointer| pointer.hold < began) {
                    rows.shop.by_user.delete(hold.owner);
                }
            }
            Status::Expired | Status::Replaced => {}
        }
        Ok(())
    }
}

/// Ends an open hold before its time, and with it everything derived from it.
pub(super) fn end(rows: &mut Rows, hold: &OrderHold, state: HoldState, now: Timestamp) -> Decision<()> {
    OrderHold::want_derived(rows, hold);
    hold::uncount(rows, hold, now)?;
    if rows.shop.by_user.get(&hold.owner)?.is_some_and(|pointer| pointer.hold == hold.id) {
        rows.shop.by_user.delete(hold.owner);
    }
    rows.shop.holds.put(hold.id, OrderHold { state, ..hold.clone() });
    Ok(())
}

/// The hold that the pointer of a user points at, whatever has become of it.
pub(super) fn last_hold(rows: &mut Rows, user: UserId, now: Timestamp) -> Decision<Option<OrderHold>> {
    match rows.shop.by_user.get(&user)?.copied() {
        Some(pointer) if now < pointer.kept_until => Ok(rows.shop.holds.get(&pointer.hold)?.cloned()),
        Some(_) | None => Ok(None),
    }
}

/// Names the hold of a user as soon as it is known which one it is.
pub(super) fn want_last_hold(rows: &mut Rows, user: UserId) {
    if let Ok(Some(pointer)) = rows.shop.by_user.get(&user).map(Option::<&LastHold>::copied) {
        rows.shop.holds.want(&pointer.hold);
        if let Ok(Some(hold)) = rows.shop.holds.get(&pointer.hold).map(Option::<&OrderHold>::cloned) {
            OrderHold::want_derived(rows, &hold);
        }
    }
}

/// Says what is wrong with the reservation of a user, unless it is that there is no such user. Only who has an account can
/// have a reservation, so the account is looked at only then.
pub(super) fn refuse<T>(rows: &mut Rows, user: UserId, rejection: ShopRejection) -> Decision<T> {
    user::find(rows, user)?;
    Err(rejection.into())
}

/// The user's live hold. While one is being paid, nobody knows yet whether there is one.
fn live_hold(rows: &mut Rows, user: UserId, now: Timestamp) -> Decision<Option<OrderHold>> {
    match last_hold(rows, user, now)? {
        Some(hold) if hold.state == HoldState::Confirming => Err(Stop::Busy),
        Some(hold) => Ok(Some(hold).filter(|hold| hold.is_live(now))),
        None => Ok(None),
    }
}

fn release(rows: &mut Rows, hold: &OrderHold, state: HoldState, now: Timestamp) -> Decision<()> {
    end(rows, hold, state, now)?;
    rows.emit(Event::OrderReleased(Hold { state, ..hold.clone() }));
    Ok(())
}

//! Carts: what a user intends to buy. A cart claims nothing; its lines may be out of stock or no longer sold.

use std::ops::RangeInclusive;

use super::product::{self, ProductOption, ProductOptionId};
use super::{CART_LINES_MAX, LINE_QUANTITY_MAX, user};
use crate::command::{Command, Context, Decision, writes};
use crate::id::{ID_MAX, UserId};
use crate::rejection::{Fault, Rejection};
use crate::table::{Row, Scan};
use crate::working_set::WorkingSet;

/// Key of one line of a user's cart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CartItemId {
    pub user: UserId,
    pub option: ProductOptionId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CartItem {
    pub quantity: u32,
}

impl Row for CartItem {}

/// Scan of all lines of a user's cart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CartOf(pub UserId);

impl Scan<CartItemId> for CartOf {
    const ORDERED: bool = true;

    fn range(&self) -> RangeInclusive<CartItemId> {
        let [first, last] = [1, ID_MAX].map(|number| ProductOptionId::new(number).expect("both bounds are valid ids"));
        CartItemId { user: self.0.clone(), option: first }..=CartItemId { user: self.0.clone(), option: last }
    }
}

/// A user's cart and its lines, ascending by option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    pub user: UserId,
    pub items: Vec<CartLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CartLine {
    pub option: ProductOption,
    pub quantity: u32,
}

/// Sets the quantity of an option in the cart; zero removes the line.
#[derive(Clone, Debug)]
pub struct PutCartItem {
    pub user: UserId,
    pub option: ProductOptionId,
    pub quantity: u32,
}

impl Command for PutCartItem {
    type Outcome = Cart;
    const NAME: &'static str = "shop.cart.put";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Cart> {
        if self.quantity > LINE_QUANTITY_MAX {
            let fault = Fault::OutOfRange { min: 0, max: LINE_QUANTITY_MAX.into() };
            return Err(Rejection::invalid("quantity", fault).into());
        }
        let id = CartItemId { user: self.user.clone(), option: self.option };
        rows.shop.options.request(&self.option);
        rows.shop.cart.request(&id);
        request_rows(rows, &self.user);
        let account = user::find(rows, &self.user)?;
        let option = product::find_option(rows, self.option)?;
        if self.quantity == 0 {
            if rows.shop.cart.get(&id)?.is_some() {
                rows.shop.cart.delete(id);
            }
        } else {
            if option.currency != account.currency {
                let fault = Fault::OtherCurrency { expected: account.currency };
                return Err(Rejection::invalid("productOptionId", fault).into());
            }
            let others = lines(rows, &self.user)?.iter().filter(|line| **line != id).count();
            if others >= CART_LINES_MAX {
                return Err(Rejection::invalid("items", Fault::TooManyItems { max: CART_LINES_MAX }).into());
            }
            rows.shop.cart.get(&id)?;
            rows.shop.cart.put(id, CartItem { quantity: self.quantity });
        }
        // Changing a cart and paying both write the user's row, so they conflict. The bound of the lines thus holds
        // across servers, and a cart does not change during a payment.
        rows.shop.users.put(account.id.clone(), account);
        contents(rows, &self.user)
    }

    fn weight(&self) -> usize {
        2
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.user)
    }
}

/// Returns the cart of a user.
pub fn view(rows: &mut WorkingSet, user: &UserId) -> Decision<Cart> {
    request_rows(rows, user);
    user::find(rows, user)?;
    contents(rows, user)
}

/// Requests the rows of a cart, as far as they are known before it is loaded.
pub(super) fn request_rows(rows: &mut WorkingSet, user: &UserId) {
    rows.shop.users.request(user);
    if let Ok(lines) = rows.shop.cart.scan(&CartOf(user.clone())) {
        for line in lines {
            rows.shop.cart.request(&line);
            rows.shop.options.request(&line.option);
        }
    }
}

/// Returns the lines of a cart, ascending by option.
pub(super) fn lines(rows: &mut WorkingSet, user: &UserId) -> Decision<Vec<CartItemId>> {
    Ok(rows.shop.cart.scan(&CartOf(user.clone()))?)
}

/// Returns the cart of an existing user.
pub(super) fn contents(rows: &mut WorkingSet, user: &UserId) -> Decision<Cart> {
    let mut items = Vec::new();
    for line in lines(rows, user)? {
        let quantity = rows.shop.cart.get(&line)?.expect("a scanned line exists").quantity;
        items.push(CartLine { option: product::find_option(rows, line.option)?, quantity });
    }
    Ok(Cart { user: user.clone(), items })
}

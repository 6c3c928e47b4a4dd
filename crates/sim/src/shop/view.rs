//! The readable state of a shop as one value, so that a store and the model can be compared by `==`.

use std::collections::BTreeMap;

use holdfast_core::actor::Actor;
use holdfast_core::id::UserId;
use holdfast_core::shop::{OrderId, OrderState, ProductOptionId, cart, order, reservation, stock, user};
use holdfast_core::{Context, Timestamp};

use super::call::{Line, lines};
use super::model::Model;
use crate::query::{Source, query};
use crate::{Finding, ensure};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub balances: BTreeMap<UserId, i64>,
    pub carts: BTreeMap<UserId, Vec<(ProductOptionId, u32)>>,
    pub reservations: BTreeMap<UserId, Vec<Line>>,
    /// Stock, held and available quantities.
    pub stocks: BTreeMap<ProductOptionId, (u32, u32, u32)>,
    /// Owner, amount paid, and whether the order is active.
    pub orders: BTreeMap<OrderId, (UserId, i64, bool)>,
}

impl View {
    /// Reads from the store all that the model contains.
    pub fn of(source: &impl Source, at: &Context<'_>, model: &Model) -> Result<Self, Finding> {
        let unexpected = |subject: String| move |rejection| Finding(format!("{subject} is rejected: {rejection:?}"));
        let mut view = Self::default();
        for id in model.users.keys() {
            let account = query(source, at, |rows, _| user::find(rows, id))?;
            view.balances.insert(id.clone(), account.map_err(unexpected(format!("account {id}")))?.balance);
            let cart = query(source, at, |rows, _| cart::view(rows, id))?;
            let items = cart.map_err(unexpected(format!("cart {id}")))?.items;
            view.carts.insert(id.clone(), items.iter().map(|line| (line.option.id, line.quantity)).collect());
            if let Ok(reserved) = query(source, at, |rows, at| reservation::view(rows, at, id))? {
                view.reservations.insert(id.clone(), lines(&reserved.hold));
            }
        }
        for id in model.options.keys().copied() {
            let actual = query(source, at, |rows, at| stock::view(rows, at, id))?;
            let actual = actual.map_err(unexpected(format!("option {id}")))?;
            view.stocks.insert(id, (actual.inventory.stock(), actual.held, actual.available));
        }
        for id in model.orders.keys().copied() {
            let order = query(source, at, |rows, _| order::find(rows, id, &Actor::Admin))?;
            let order = order.map_err(unexpected(format!("order {id}")))?;
            view.orders.insert(id, (order.user, order.paid, order.state == OrderState::Paid));
        }
        Ok(view)
    }

    pub fn expected(model: &Model, now: Timestamp) -> Self {
        let mut view = Self::default();
        for (id, user) in &model.users {
            view.balances.insert(id.clone(), user.balance);
            view.carts.insert(id.clone(), user.cart.iter().map(|(option, quantity)| (*option, *quantity)).collect());
            if let Some(reservation) = model.live(id, now) {
                view.reservations.insert(id.clone(), reservation.lines.clone());
            }
        }
        for (id, goods) in &model.options {
            let stock = goods.received - model.sold(*id);
            view.stocks.insert(*id, (stock, model.held(*id, now), model.available(*id, now)));
        }
        for (id, order) in &model.orders {
            view.orders.insert(*id, (order.user.clone(), order.paid, !order.is_cancelled));
        }
        view
    }

    /// Checks the invariants: money and pieces are conserved.
    pub fn inspect(&self, model: &Model) -> Result<(), Finding> {
        let balances: i64 = self.balances.values().sum();
        let paid: i64 = self.orders.values().filter(|(.., is_paid)| *is_paid).map(|(_, paid, _)| paid).sum();
        let charged: i64 = model.users.values().map(|user| user.charged).sum();
        ensure(balances + paid == charged, || {
            format!("balances {balances} + paid {paid} is not the {charged} deposited")
        })?;
        for (id, (stock, held, available)) in &self.stocks {
            let (sold, received) = (model.sold(*id), model.options[id].received);
            ensure(stock + sold == received && available + held == *stock, || {
                format!("option {id}: {available} free + {held} held + {sold} sold of {received}, {stock} in stock")
            })?;
        }
        Ok(())
    }
}

//! Everything that can be read of a shop, in one value: so that a store and the model can be compared by `==`.

use std::collections::BTreeMap;

use holdfast_core::actor::Actor;
use holdfast_core::id::UserId;
use holdfast_core::shop::{OrderId, OrderState, ProductOptionId, cart, order, reservation, stock, user};
use holdfast_core::{Context, Timestamp};

use super::call::{Line, lines};
use super::model::Model;
use crate::look::{Source, ask};
use crate::{Finding, must};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub balances: BTreeMap<UserId, i64>,
    pub carts: BTreeMap<UserId, Vec<(ProductOptionId, u32)>>,
    pub reservations: BTreeMap<UserId, Vec<Line>>,
    /// What is there, what of it is held, what can be had.
    pub stocks: BTreeMap<ProductOptionId, (u32, u32, u32)>,
    /// What was paid, and whether it still is.
    pub orders: BTreeMap<OrderId, (UserId, i64, bool)>,
}

impl View {
    /// What the store shows of all that the model knows.
    pub fn of(source: &impl Source, at: &Context<'_>, known: &Model) -> Result<Self, Finding> {
        let unexpected = |what: String| move |rejection| Finding(format!("{what} is refused: {rejection:?}"));
        let mut view = Self::default();
        for id in known.users.keys().copied() {
            let account = ask(source, at, |rows, _| user::find(rows, id))?;
            view.balances.insert(id, account.map_err(unexpected(format!("account {id}")))?.balance);
            let cart = ask(source, at, |rows, _| cart::view(rows, id))?;
            let items = cart.map_err(unexpected(format!("cart {id}")))?.items;
            view.carts.insert(id, items.iter().map(|line| (line.option.id, line.quantity)).collect());
            if let Ok(reserved) = ask(source, at, |rows, at| reservation::view(rows, at, id))? {
                view.reservations.insert(id, lines(&reserved.hold));
            }
        }
        for id in known.options.keys().copied() {
            let shown = ask(source, at, |rows, at| stock::view(rows, at, id))?;
            let shown = shown.map_err(unexpected(format!("option {id}")))?;
            view.stocks.insert(id, (shown.inventory.stock(), shown.held, shown.available));
        }
        for id in known.orders.keys().copied() {
            let order = ask(source, at, |rows, _| order::find(rows, id, Actor::Admin))?;
            let order = order.map_err(unexpected(format!("order {id}")))?;
            view.orders.insert(id, (order.user, order.paid, order.state == OrderState::Paid));
        }
        Ok(view)
    }

    pub fn expected(model: &Model, now: Timestamp) -> Self {
        let mut view = Self::default();
        for (id, user) in &model.users {
            view.balances.insert(*id, user.balance);
            view.carts.insert(*id, user.cart.iter().map(|(option, quantity)| (*option, *quantity)).collect());
            if let Some(reservation) = model.live(*id, now) {
                view.reservations.insert(*id, reservation.lines.clone());
            }
        }
        for (id, goods) in &model.options {
            let stock = goods.received - model.sold(*id);
            view.stocks.insert(*id, (stock, model.held(*id, now), model.available(*id, now)));
        }
        for (id, order) in &model.orders {
            view.orders.insert(*id, (order.user, order.paid, !order.is_cancelled));
        }
        view
    }

    /// What must be true whatever happened: no money and no piece is lost or made.
    pub fn inspect(&self, model: &Model) -> Result<(), Finding> {
        let balances: i64 = self.balances.values().sum();
        let paid: i64 = self.orders.values().filter(|(.., is_paid)| *is_paid).map(|(_, paid, _)| paid).sum();
        let charged: i64 = model.users.values().map(|user| user.charged).sum();
        must(balances + paid == charged, || format!("balances {balances} + paid {paid} is not {charged}, as charged"))?;
        for (id, (stock, held, available)) in &self.stocks {
            let (sold, received) = (model.sold(*id), model.options[id].received);
            must(stock + sold == received && available + held == *stock, || {
                format!("option {id}: {available} free + {held} held + {sold} sold of {received}, {stock} there")
            })?;
        }
        Ok(())
    }
}

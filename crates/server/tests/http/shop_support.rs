//! Buyers and goods for tests of the shop.

use std::ops::Deref;

use holdfast_client::{
    Client, NewProduct, NewProductOption, Order, Payment, ProductOption, ProductOptionChange, UserId,
};
use serde_json::Value;

use crate::support::{RawResponse, TestApp};

/// Client of a user with an account.
pub(crate) struct Buyer {
    pub(crate) id: UserId,
    client: Client,
}

impl Deref for Buyer {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Creates an account with this balance.
pub(crate) async fn buyer(app: &TestApp, balance: i64) -> Buyer {
    buyer_of(&app.admin(), balance).await
}

pub(crate) async fn buyer_of(admin: &Client, balance: i64) -> Buyer {
    let id = admin.create_account("손님 하나").await.unwrap().id;
    if balance > 0 {
        admin.add_balance(&id, balance).await.unwrap();
    }
    Buyer { client: admin.as_user(&id), id }
}

/// Creates a product with one option and this stock. Returns the option's id.
pub(crate) async fn option(app: &TestApp, price: i64, stock: u32) -> u64 {
    let new = NewProduct::new("에티오피아 예가체프 G1", vec![NewProductOption::new("ETH-HD-200", price, stock)]);
    app.admin().create_product(&new).await.unwrap().options[0].id
}

/// Returns stock, reserved quantity and available quantity.
pub(crate) async fn counts(app: &TestApp, option: u64) -> (u32, u32, u32) {
    let ProductOption { stock_quantity, reserved_quantity, available_stock, .. } =
        app.admin().product_option(option).await.unwrap();
    (stock_quantity, reserved_quantity, available_stock)
}

pub(crate) async fn set_active(app: &TestApp, option: u64, is_active: bool) {
    let change = ProductOptionChange { is_active: Some(is_active), ..ProductOptionChange::default() };
    app.admin().change_product_option(option, &change).await.unwrap();
}

pub(crate) async fn set_price(app: &TestApp, option: u64, price: i64) {
    let change = ProductOptionChange { price: Some(price), ..ProductOptionChange::default() };
    app.admin().change_product_option(option, &change).await.unwrap();
}

impl Buyer {
    /// Puts into the cart and reserves.
    pub(crate) async fn reserve(&self, option: u64, quantity: u32) {
        self.put_cart_item(option, quantity).await.unwrap();
        self.reserve_order().await.unwrap();
    }

    /// Puts into the cart, reserves and pays.
    pub(crate) async fn buy(&self, option: u64, quantity: u32) -> Order {
        self.reserve(option, quantity).await;
        self.pay_order(&Payment::default()).await.unwrap()
    }

    pub(crate) async fn balance(&self) -> i64 {
        self.account(&self.id).await.unwrap().balance
    }

    /// Returns the contents of the cart: options and quantities.
    pub(crate) async fn in_cart(&self) -> Vec<(u64, u32)> {
        self.cart().await.unwrap().items.iter().map(|item| (item.product_option_id, item.quantity)).collect()
    }
}

/// Sends JSON unchanged.
pub(crate) async fn send(app: &TestApp, method: &str, path: &str, body: &Value) -> RawResponse {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    app.send(method, path, &[("content-type", "application/json")], &body).await
}

//! The shop: accounts, products, carts, coupons, reservations, orders.

use jiff::Timestamp;
use reqwest::{Method, RequestBuilder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Client, Error, List, read};

/// Envelope of this family's successes.
#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Account {
    pub id: u64,
    pub name: String,
    pub balance: i64,
    pub currency: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct NewProduct {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    pub options: Vec<NewProductOption>,
}

impl NewProduct {
    pub fn new(name: impl Into<String>, options: Vec<NewProductOption>) -> Self {
        Self { name: name.into(), currency: None, options }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewProductOption {
    pub option_code: String,
    pub price: i64,
    pub stock_quantity: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
}

impl NewProductOption {
    pub fn new(option_code: impl Into<String>, price: i64, stock_quantity: u32) -> Self {
        Self { option_code: option_code.into(), price, stock_quantity, is_active: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Product {
    pub id: u64,
    pub name: String,
    pub currency: String,
    pub options: Vec<ProductOption>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductOption {
    pub id: u64,
    pub product_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub price: i64,
    pub currency: String,
    pub is_active: bool,
    pub stock_quantity: u32,
    pub reserved_quantity: u32,
    pub available_stock: u32,
}

/// Fields that are `None` stay as they are. Of the stock, set either the quantity or the change.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductOptionChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock_quantity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock_delta: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cart {
    pub user_id: u64,
    pub items: Vec<CartItem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CartItem {
    pub product_option_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub quantity: u32,
    pub price: i64,
    pub is_active: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewCoupon {
    pub code: String,
    pub discount_type: DiscountType,
    pub value: i64,
    /// An ISO 4217 code: the only currency it discounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    pub max_uses: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}

impl NewCoupon {
    pub fn percent(code: impl Into<String>, percent: i64, max_uses: u32) -> Self {
        let discount_type = DiscountType::Percent;
        Self { code: code.into(), discount_type, value: percent, currency: None, max_uses, valid_until: None }
    }

    pub fn amount(code: impl Into<String>, amount: i64, max_uses: u32) -> Self {
        Self { discount_type: DiscountType::Amount, ..Self::percent(code, amount, max_uses) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DiscountType {
    Percent,
    Amount,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coupon {
    pub code: String,
    pub discount_type: DiscountType,
    pub value: i64,
    /// The only currency it discounts; `None` if it discounts any.
    pub currency: Option<String>,
    pub max_uses: u32,
    pub issued_count: u32,
    pub valid_until: Option<Timestamp>,
    /// User it was just issued to.
    pub user_id: Option<u64>,
}

/// One line of a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InventoryReservation {
    pub reservation_id: u64,
    pub product_option_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub quantity: u32,
    pub status: InventoryReservationStatus,
    pub available_stock: u32,
    pub reserved_at: Timestamp,
    pub expires_at: Timestamp,
    /// Present when a live reservation is read.
    pub unit_price: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InventoryReservationStatus {
    Reserved,
}

/// Live reservation with its prices.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderReservation {
    pub reservations: Vec<InventoryReservation>,
    pub total_amount: i64,
    pub currency: String,
    pub expires_at: Timestamp,
}

/// Payment; every field is optional.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupon_code: Option<String>,
    /// Total the payment must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_amount: Option<i64>,
    /// Reservations the payment must match exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation_ids: Option<Vec<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub order_id: u64,
    pub user_id: u64,
    pub status: OrderStatus,
    pub items: Vec<OrderItem>,
    pub total_amount: i64,
    pub discount_amount: i64,
    pub paid_amount: i64,
    pub coupon_code: Option<String>,
    pub currency: String,
    /// Present right after payment.
    pub balance_after: Option<i64>,
    pub created_at: Timestamp,
    pub cancelled_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrderStatus {
    Paid,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderItem {
    pub reservation_id: u64,
    pub product_option_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub quantity: u32,
    pub unit_price: i64,
    pub amount: i64,
}

impl Client {
    pub async fn create_account(&self, name: &str) -> Result<Account, Error> {
        self.shop(Method::POST, "/api/users", |request| request.json(&json!({ "name": name }))).await
    }

    pub async fn account(&self, id: u64) -> Result<Account, Error> {
        self.shop(Method::GET, &format!("/api/users/{id}"), |request| request).await
    }

    /// Adds money to an account.
    pub async fn add_balance(&self, id: u64, amount: i64) -> Result<Account, Error> {
        let body = json!({ "amount": amount });
        self.shop(Method::POST, &format!("/api/users/{id}/balance"), |request| request.json(&body)).await
    }

    pub async fn create_product(&self, product: &NewProduct) -> Result<Product, Error> {
        self.shop(Method::POST, "/api/products", |request| request.json(product)).await
    }

    pub async fn product(&self, id: u64) -> Result<Product, Error> {
        self.shop(Method::GET, &format!("/api/products/{id}"), |request| request).await
    }

    /// `query` accepts `limit` and `cursor`.
    pub async fn products(&self, query: &[(&str, String)]) -> Result<List<Product>, Error> {
        self.shop(Method::GET, "/api/products", |request| request.query(query)).await
    }

    pub async fn product_option(&self, id: u64) -> Result<ProductOption, Error> {
        self.shop(Method::GET, &format!("/api/product-options/{id}"), |request| request).await
    }

    pub async fn change_product_option(&self, id: u64, change: &ProductOptionChange) -> Result<ProductOption, Error> {
        self.shop(Method::PATCH, &format!("/api/product-options/{id}"), |request| request.json(change)).await
    }

    /// Sets the quantity of an option in the caller's cart; 0 removes it.
    pub async fn put_cart_item(&self, product_option_id: u64, quantity: u32) -> Result<Cart, Error> {
        let body = json!({ "productOptionId": product_option_id, "quantity": quantity });
        self.shop(Method::PUT, "/api/cart/items", |request| request.json(&body)).await
    }

    pub async fn cart(&self) -> Result<Cart, Error> {
        self.shop(Method::GET, "/api/cart", |request| request).await
    }

    pub async fn create_coupon(&self, coupon: &NewCoupon) -> Result<Coupon, Error> {
        self.shop(Method::POST, "/api/coupons", |request| request.json(coupon)).await
    }

    /// Issues a coupon to the caller.
    pub async fn take_coupon(&self, code: &str) -> Result<Coupon, Error> {
        self.shop(Method::POST, &format!("/api/coupons/{code}/issue"), |request| request).await
    }

    /// Reserves the contents of the caller's cart.
    pub async fn reserve_order(&self) -> Result<Vec<InventoryReservation>, Error> {
        self.reserve("/api/order/reserve").await
    }

    /// Reserves like [`reserve_order`](Self::reserve_order), replacing a live reservation.
    pub async fn replace_order_reservation(&self) -> Result<Vec<InventoryReservation>, Error> {
        self.reserve("/api/order/reserve?replace=true").await
    }

    async fn reserve(&self, path: &str) -> Result<Vec<InventoryReservation>, Error> {
        #[derive(Deserialize)]
        struct Reserved {
            reservations: Vec<InventoryReservation>,
        }
        let reserved: Reserved = self.shop(Method::POST, path, |request| request).await?;
        Ok(reserved.reservations)
    }

    /// Returns the caller's live reservation.
    pub async fn order_reservation(&self) -> Result<OrderReservation, Error> {
        self.shop(Method::GET, "/api/order/reserve", |request| request).await
    }

    /// Releases the caller's live reservation.
    pub async fn release_order(&self) -> Result<(), Error> {
        read(self.call(Method::DELETE, "/api/order/reserve")).await
    }

    /// Pays for the caller's live reservation.
    pub async fn pay_order(&self, payment: &Payment) -> Result<Order, Error> {
        self.shop(Method::POST, "/api/order", |request| request.json(payment)).await
    }

    pub async fn order(&self, id: u64) -> Result<Order, Error> {
        self.shop(Method::GET, &format!("/api/orders/{id}"), |request| request).await
    }

    /// `query` accepts `userId`, `limit` and `cursor`.
    pub async fn orders(&self, query: &[(&str, String)]) -> Result<List<Order>, Error> {
        self.shop(Method::GET, "/api/orders", |request| request.query(query)).await
    }

    pub async fn cancel_order(&self, id: u64) -> Result<Order, Error> {
        self.shop(Method::POST, &format!("/api/orders/{id}/cancel"), |request| request).await
    }

    async fn shop<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<T, Error> {
        let answer: Data<T> = read(fill(self.call(method, path))).await?;
        Ok(answer.data)
    }
}

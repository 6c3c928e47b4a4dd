//! The shop: accounts, products, carts, coupons, reservations, orders.

pub use holdfast_api::shop::{
    CartLineView as CartItem, CartView as Cart, CouponView as Coupon, DiscountType, InventoryReservationStatus,
    LiveReservationView as OrderReservation, NewOptionBody as NewProductOption, NewProductBody as NewProduct,
    OptionChangeBody as ProductOptionChange, OptionView as ProductOption, OrderItemView as OrderItem, OrderStatus,
    OrderView as Order, PaymentBody as Payment, ProductView as Product, ReservationView as InventoryReservation,
    UserView as Account,
};
use holdfast_api::shop::{Data, ReservationsView};

use std::fmt::Write as _;

use jiff::Timestamp;
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{Client, Error, List, UserId, read};

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

impl Client {
    pub async fn create_account(&self, name: &str) -> Result<Account, Error> {
        self.shop(Method::POST, "/api/users", |request| request.json(&json!({ "name": name }))).await
    }

    /// Creates an account under an id that the caller chooses.
    pub async fn create_account_of(&self, id: impl Into<UserId> + Send, name: &str) -> Result<Account, Error> {
        let body = json!({ "id": id.into(), "name": name });
        self.shop(Method::POST, "/api/users", |request| request.json(&body)).await
    }

    pub async fn account(&self, id: impl Into<UserId> + Send) -> Result<Account, Error> {
        self.shop(Method::GET, &account_path(&id.into()), |request| request).await
    }

    /// Adds money to an account.
    pub async fn add_balance(&self, id: impl Into<UserId> + Send, amount: i64) -> Result<Account, Error> {
        let body = json!({ "amount": amount });
        self.shop(Method::POST, &format!("{}/balance", account_path(&id.into())), |request| request.json(&body)).await
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
        let reserved: ReservationsView = self.shop(Method::POST, path, |request| request).await?;
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

/// Returns the path of an account. Its id may be any visible ASCII text, so it is percent-encoded.
fn account_path(id: &UserId) -> String {
    let mut path = String::from("/api/users/");
    for byte in id.to_string().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    path
}

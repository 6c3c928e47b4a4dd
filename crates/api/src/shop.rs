//! The shop in JSON. Successes of this family are wrapped in `data`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{OrderId, OrderReservationId, ProductId, ProductOptionId};

#[cfg(feature = "core")]
mod convert;

/// Success.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Data<T> {
    pub data: T,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewUser))]
pub struct NewUserBody {
    /// Chosen by the caller; without it the account gets a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    /// ISO 4217; `KRW` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BalanceCharge))]
pub struct BalanceBody {
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000_000_000_000_i64))]
    pub amount: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = User))]
pub struct UserView {
    pub id: UserId,
    pub name: String,
    pub balance: i64,
    pub currency: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewProduct))]
pub struct NewProductBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    pub options: Vec<NewOptionBody>,
}

impl NewProductBody {
    pub fn new(name: impl Into<String>, options: Vec<NewOptionBody>) -> Self {
        Self { name: name.into(), currency: None, options }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewProductOption))]
pub struct NewOptionBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub option_code: String,
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_i64))]
    pub price: i64,
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000))]
    pub stock_quantity: u32,
    /// `true` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
}

impl NewOptionBody {
    pub fn new(option_code: impl Into<String>, price: i64, stock_quantity: u32) -> Self {
        Self { option_code: option_code.into(), price, stock_quantity, is_active: None }
    }
}

/// Omitted fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ProductOptionChange))]
pub struct OptionChangeBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_i64))]
    pub price: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// New stock; not together with `stockDelta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000))]
    pub stock_quantity: Option<u32>,
    /// Change of the stock; negative to reduce it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = -1_000_000_000_i64, maximum = 1_000_000_000_i64))]
    pub stock_delta: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Product))]
pub struct ProductView {
    #[cfg_attr(feature = "openapi", schema(value_type = ProductId))]
    pub id: u64,
    pub name: String,
    pub currency: String,
    pub options: Vec<OptionView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ProductOption))]
pub struct OptionView {
    #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
    pub id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = ProductId))]
    pub product_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub price: i64,
    pub currency: String,
    pub is_active: bool,
    /// Physical stock, reserved or not.
    pub stock_quantity: u32,
    pub reserved_quantity: u32,
    pub available_stock: u32,
    /// Paid and not cancelled.
    pub sold_quantity: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CartItemChange))]
pub struct CartItemBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
    pub product_option_id: u64,
    /// 0 removes the option.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000))]
    pub quantity: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Cart))]
pub struct CartView {
    pub user_id: UserId,
    pub items: Vec<CartLineView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CartItem))]
pub struct CartLineView {
    #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
    pub product_option_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub quantity: u32,
    pub price: i64,
    pub is_active: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewCoupon))]
pub struct NewCouponBody {
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 64))]
    pub code: String,
    /// `PERCENT` or `AMOUNT`.
    pub discount_type: String,
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub value: i64,
    /// ISO 4217: the only currency it discounts. Left out, an `AMOUNT` is in `KRW` and a `PERCENT` discounts any currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000_000))]
    pub max_uses: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub valid_until: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Coupon))]
pub struct CouponView {
    pub code: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub discount_type: DiscountType,
    pub value: i64,
    /// The only currency it discounts; absent if it discounts any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    pub max_uses: u32,
    pub issued_count: u32,
    #[serde(serialize_with = "crate::optional_time")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub valid_until: Option<Timestamp>,
    /// User it was just issued to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

/// User of the request, if no header or token names the caller.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NamedUser))]
pub struct NamedUserBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OrderReservations))]
pub struct ReservationsView {
    pub reservations: Vec<ReservationView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InventoryReservation))]
pub struct ReservationView {
    #[cfg_attr(feature = "openapi", schema(value_type = OrderReservationId))]
    pub reservation_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
    pub product_option_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub quantity: u32,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: InventoryReservationStatus,
    /// After this reservation.
    pub available_stock: u32,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub reserved_at: Timestamp,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}

/// Live reservation with its prices.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LiveOrderReservation))]
pub struct LiveReservationView {
    pub reservations: Vec<PricedReservationView>,
    pub total_amount: i64,
    pub currency: String,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PricedInventoryReservation))]
pub struct PricedReservationView {
    #[serde(flatten)]
    pub reservation: ReservationView,
    pub unit_price: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Payment))]
pub struct PaymentBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupon_code: Option<String>,
    /// Total that the payment must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1_000_000_000_000_000_i64))]
    pub expected_amount: Option<i64>,
    /// Reservations that the payment must match exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<OrderReservationId>>, max_items = 100))]
    pub reservation_ids: Option<Vec<u64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Order))]
pub struct OrderView {
    #[cfg_attr(feature = "openapi", schema(value_type = OrderId))]
    pub order_id: u64,
    pub user_id: UserId,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: OrderStatus,
    pub items: Vec<OrderItemView>,
    pub total_amount: i64,
    pub discount_amount: i64,
    pub paid_amount: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupon_code: Option<String>,
    pub currency: String,
    /// Only in the response to the payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_after: Option<i64>,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::optional_time", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub cancelled_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OrderItem))]
pub struct OrderItemView {
    #[cfg_attr(feature = "openapi", schema(value_type = OrderReservationId))]
    pub reservation_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
    pub product_option_id: u64,
    pub product_name: String,
    pub option_code: String,
    pub quantity: u32,
    pub unit_price: i64,
    pub amount: i64,
}

/// Reservation in an event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservationEventView {
    pub user_id: UserId,
    pub items: Vec<OrderItemView>,
    pub total_amount: i64,
    pub currency: String,
    #[serde(serialize_with = "crate::time")]
    pub expires_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DiscountType {
    Percent,
    Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InventoryReservationStatus {
    Reserved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrderStatus {
    Paid,
    Cancelled,
}

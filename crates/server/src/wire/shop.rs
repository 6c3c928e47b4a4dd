//! The shop in JSON. Successes of this family are wrapped in `data`.

use crate::wire::ids::{OrderId, OrderReservationId, ProductId, ProductOptionId, UserId};
use holdfast_core::Timestamp;
use holdfast_core::shop::product::ProductView as CoreProduct;
use holdfast_core::shop::{
    Cart, Coupon, Discount, Order, OrderHold, OrderLine, OrderState, PaidOrder, ReservedOrder, StockView, UserAccount,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Success.
#[derive(Serialize, ToSchema)]
pub struct Data<T> {
    pub data: T,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewUser)]
pub struct NewUserBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// ISO 4217; `KRW` by default.
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[schema(as = BalanceCharge)]
pub struct BalanceBody {
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_i64)]
    pub amount: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = User)]
pub struct UserView {
    #[schema(value_type = UserId)]
    id: u64,
    name: String,
    balance: i64,
    currency: String,
}

impl UserView {
    pub fn new(account: &UserAccount) -> Self {
        Self {
            id: account.id.get(),
            name: account.name.to_string(),
            balance: account.balance,
            currency: account.currency.as_str().to_owned(),
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewProduct)]
pub struct NewProductBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    #[schema(min_items = 1, max_items = 100)]
    pub options: Vec<NewOptionBody>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewProductOption)]
pub struct NewOptionBody {
    #[schema(min_length = 1, max_length = 200)]
    pub option_code: String,
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub price: i64,
    #[schema(maximum = 1_000_000_000)]
    pub stock_quantity: u32,
    /// `true` by default.
    pub is_active: Option<bool>,
}

/// Omitted fields stay as they are.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProductOptionChange)]
pub struct OptionChangeBody {
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub price: Option<i64>,
    pub is_active: Option<bool>,
    /// New stock; not together with `stockDelta`.
    #[schema(maximum = 1_000_000_000)]
    pub stock_quantity: Option<u32>,
    /// Change of the stock; negative to reduce it.
    #[schema(minimum = -1_000_000_000_i64, maximum = 1_000_000_000_i64)]
    pub stock_delta: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Product)]
pub struct ProductView {
    #[schema(value_type = ProductId)]
    id: u64,
    name: String,
    currency: String,
    options: Vec<OptionView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProductOption)]
pub struct OptionView {
    #[schema(value_type = ProductOptionId)]
    id: u64,
    #[schema(value_type = ProductId)]
    product_id: u64,
    product_name: String,
    option_code: String,
    price: i64,
    currency: String,
    is_active: bool,
    /// Physical stock, reserved or not.
    stock_quantity: u32,
    reserved_quantity: u32,
    available_stock: u32,
    /// Paid and not cancelled.
    sold_quantity: u32,
}

impl ProductView {
    pub fn new(view: &CoreProduct) -> Self {
        Self {
            id: view.product.id.get(),
            name: view.product.name.to_string(),
            currency: view.product.currency.as_str().to_owned(),
            options: view.options.iter().map(OptionView::new).collect(),
        }
    }
}

impl OptionView {
    pub fn new(view: &StockView) -> Self {
        let option = &view.option;
        Self {
            id: option.id.get(),
            product_id: option.product.get(),
            product_name: option.product_name.to_string(),
            option_code: option.option_code.to_string(),
            price: option.price,
            currency: option.currency.as_str().to_owned(),
            is_active: option.is_active,
            stock_quantity: view.inventory.stock(),
            reserved_quantity: view.held,
            available_stock: view.available,
            sold_quantity: view.inventory.sold,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CartItemChange)]
pub struct CartItemBody {
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    #[schema(value_type = ProductOptionId)]
    pub product_option_id: u64,
    /// 0 removes the option.
    #[schema(maximum = 1_000_000)]
    pub quantity: u32,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Cart)]
pub struct CartView {
    #[schema(value_type = UserId)]
    user_id: u64,
    items: Vec<CartLineView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CartItem)]
pub struct CartLineView {
    #[schema(value_type = ProductOptionId)]
    product_option_id: u64,
    product_name: String,
    option_code: String,
    quantity: u32,
    price: i64,
    is_active: bool,
}

impl CartView {
    pub fn new(cart: &Cart) -> Self {
        let items = cart.items.iter().map(|line| CartLineView {
            product_option_id: line.option.id.get(),
            product_name: line.option.product_name.to_string(),
            option_code: line.option.option_code.to_string(),
            quantity: line.quantity,
            price: line.option.price,
            is_active: line.option.is_active,
        });
        Self { user_id: cart.user.get(), items: items.collect() }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewCoupon)]
pub struct NewCouponBody {
    #[schema(min_length = 1, max_length = 64)]
    pub code: String,
    /// `PERCENT` or `AMOUNT`.
    pub discount_type: String,
    #[schema(minimum = 1)]
    pub value: i64,
    /// ISO 4217: the only currency it discounts. Left out, an `AMOUNT` is in `KRW` and a `PERCENT` discounts any currency.
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub max_uses: u32,
    #[schema(format = DateTime)]
    pub valid_until: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Coupon)]
pub struct CouponView {
    code: String,
    discount_type: &'static str,
    value: i64,
    /// The only currency it discounts; absent if it discounts any.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    max_uses: u32,
    issued_count: u32,
    #[serde(serialize_with = "super::optional_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_until: Option<Timestamp>,
    /// User it was just issued to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserId>)]
    user_id: Option<u64>,
}

impl CouponView {
    pub fn new(coupon: &Coupon) -> Self {
        let (discount_type, value) = match coupon.discount {
            Discount::Percent(percent) => ("PERCENT", percent.into()),
            Discount::Amount(amount) => ("AMOUNT", amount),
        };
        Self {
            code: coupon.code.as_str().to_owned(),
            discount_type,
            value,
            currency: coupon.currency.map(|currency| currency.as_str().to_owned()),
            max_uses: coupon.max_uses,
            issued_count: coupon.issued,
            valid_until: coupon.valid_until,
            user_id: None,
        }
    }

    pub fn issued(coupon: &Coupon, user: u64) -> Self {
        Self { user_id: Some(user), ..Self::new(coupon) }
    }
}

/// User of the request, if no header or token names the caller.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NamedUser)]
#[expect(dead_code, reason = "only its schema is used; who is named is read with the caller")]
pub struct NamedUserBody {
    #[schema(value_type = Option<UserId>)]
    user_id: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OrderReservations)]
pub struct ReservationsView {
    reservations: Vec<ReservationView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InventoryReservation)]
pub struct ReservationView {
    #[schema(value_type = OrderReservationId)]
    reservation_id: u64,
    #[schema(value_type = ProductOptionId)]
    product_option_id: u64,
    product_name: String,
    option_code: String,
    quantity: u32,
    status: &'static str,
    /// After this reservation.
    available_stock: u32,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    reserved_at: Timestamp,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl ReservationView {
    fn new(hold: &OrderHold, line: &OrderLine, available_stock: u32) -> Self {
        Self {
            reservation_id: line.reservation.get(),
            product_option_id: line.option.get(),
            product_name: line.product_name.to_string(),
            option_code: line.option_code.to_string(),
            quantity: line.quantity,
            status: "RESERVED",
            available_stock,
            reserved_at: hold.created_at,
            expires_at: hold.expires_at,
        }
    }
}

impl ReservationsView {
    pub fn new(reserved: &ReservedOrder) -> Self {
        let lines = reserved.hold.lines.iter().zip(&reserved.available);
        let view = |(line, available): (&OrderLine, &u32)| ReservationView::new(&reserved.hold, line, *available);
        Self { reservations: lines.map(view).collect() }
    }
}

/// Live reservation with its prices.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LiveOrderReservation)]
pub struct LiveReservationView {
    reservations: Vec<PricedReservationView>,
    total_amount: i64,
    currency: String,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PricedInventoryReservation)]
pub struct PricedReservationView {
    #[serde(flatten)]
    reservation: ReservationView,
    unit_price: i64,
}

impl LiveReservationView {
    pub fn new(reserved: &ReservedOrder) -> Self {
        let hold = &reserved.hold;
        let priced = |(line, available): (&OrderLine, &u32)| PricedReservationView {
            reservation: ReservationView::new(hold, line, *available),
            unit_price: line.unit_price,
        };
        Self {
            reservations: hold.lines.iter().zip(&reserved.available).map(priced).collect(),
            total_amount: hold.total,
            currency: hold.currency.as_str().to_owned(),
            expires_at: hold.expires_at,
        }
    }
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Payment)]
pub struct PaymentBody {
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    pub coupon_code: Option<String>,
    /// Total that the payment must match.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_000_i64)]
    pub expected_amount: Option<i64>,
    /// Reservations that the payment must match exactly.
    #[schema(value_type = Option<Vec<OrderReservationId>>, max_items = 100)]
    pub reservation_ids: Option<Vec<u64>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Order)]
pub struct OrderView {
    #[schema(value_type = OrderId)]
    order_id: u64,
    #[schema(value_type = UserId)]
    user_id: u64,
    status: &'static str,
    items: Vec<OrderItemView>,
    total_amount: i64,
    discount_amount: i64,
    paid_amount: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    coupon_code: Option<String>,
    currency: String,
    /// Only in the response to the payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    balance_after: Option<i64>,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(serialize_with = "super::optional_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrderItem)]
pub struct OrderItemView {
    #[schema(value_type = OrderReservationId)]
    reservation_id: u64,
    #[schema(value_type = ProductOptionId)]
    product_option_id: u64,
    product_name: String,
    option_code: String,
    quantity: u32,
    unit_price: i64,
    amount: i64,
}

impl OrderItemView {
    fn new(line: &OrderLine) -> Self {
        Self {
            reservation_id: line.reservation.get(),
            product_option_id: line.option.get(),
            product_name: line.product_name.to_string(),
            option_code: line.option_code.to_string(),
            quantity: line.quantity,
            unit_price: line.unit_price,
            amount: line.amount(),
        }
    }
}

impl OrderView {
    pub fn new(order: &Order) -> Self {
        let (status, cancelled_at) = match order.state {
            OrderState::Paid => ("PAID", None),
            OrderState::Cancelled { at } => ("CANCELLED", Some(at)),
        };
        Self {
            order_id: order.id.get(),
            user_id: order.user.get(),
            status,
            items: order.items.iter().map(OrderItemView::new).collect(),
            total_amount: order.total,
            discount_amount: order.discount,
            paid_amount: order.paid,
            coupon_code: order.coupon.as_ref().map(|code| code.as_str().to_owned()),
            currency: order.currency.as_str().to_owned(),
            balance_after: None,
            created_at: order.created_at,
            cancelled_at,
        }
    }

    pub fn paid(paid: &PaidOrder) -> Self {
        Self { balance_after: Some(paid.balance_after), ..Self::new(&paid.order) }
    }
}

/// Reservation in an event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservationEventView {
    user_id: u64,
    items: Vec<OrderItemView>,
    total_amount: i64,
    currency: String,
    #[serde(serialize_with = "super::time")]
    expires_at: Timestamp,
}

impl ReservationEventView {
    pub fn new(hold: &OrderHold) -> Self {
        Self {
            user_id: hold.owner.get(),
            items: hold.lines.iter().map(OrderItemView::new).collect(),
            total_amount: hold.total,
            currency: hold.currency.as_str().to_owned(),
            expires_at: hold.expires_at,
        }
    }
}

//! Conversions from and to the types of the rules.

use holdfast_core::Timestamp;
use holdfast_core::hold::Hold;
use holdfast_core::id::UserId;
use holdfast_core::shop::product::ProductView as CoreProduct;
use holdfast_core::shop::{
    Cart, Coupon, Discount, Order, OrderState, PaidOrder, ReservedOrder, StockItem, StockView, UserAccount,
};

use super::{
    CartLineView, CartView, CouponView, DiscountType, InventoryReservationStatus, LiveReservationView, OptionView,
    OrderItemView, OrderStatus, OrderView, PricedReservationView, ProductView, ReservationEventView, ReservationView,
    ReservationsView, UserView,
};

impl UserView {
    pub fn new(account: &UserAccount) -> Self {
        Self {
            id: (&account.id).into(),
            name: account.name.to_string(),
            balance: account.balance,
            currency: account.currency.as_str().to_owned(),
        }
    }
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
        Self { user_id: (&cart.user).into(), items: items.collect() }
    }
}

impl CouponView {
    pub fn new(coupon: &Coupon) -> Self {
        let (discount_type, value) = match coupon.discount {
            Discount::Percent(percent) => (DiscountType::Percent, percent.into()),
            Discount::Amount(amount) => (DiscountType::Amount, amount),
        };
        Self {
            code: coupon.code.as_str().to_owned(),
            discount_type,
            value,
            currency: coupon.currency.map(|currency| currency.as_str().to_owned()),
            max_uses: coupon.max_uses,
            issued_count: coupon.issued,
            valid_until: coupon.valid_until.map(Timestamp::to_jiff),
            user_id: None,
        }
    }

    pub fn issued(coupon: &Coupon, user: &UserId) -> Self {
        Self { user_id: Some(user.into()), ..Self::new(coupon) }
    }
}

impl ReservationView {
    fn new(hold: &Hold, line: &StockItem, available_stock: u32) -> Self {
        Self {
            reservation_id: line.reservation.get(),
            product_option_id: line.option.get(),
            product_name: line.product_name.to_string(),
            option_code: line.option_code.to_string(),
            quantity: line.quantity,
            status: InventoryReservationStatus::Reserved,
            available_stock,
            reserved_at: hold.created_at.to_jiff(),
            expires_at: hold.ends_at().to_jiff(),
        }
    }
}

impl ReservationsView {
    pub fn new(reserved: &ReservedOrder) -> Self {
        let lines = reserved.hold.items::<StockItem>().zip(&reserved.available);
        let view = |(line, available): (&StockItem, &u32)| ReservationView::new(&reserved.hold, line, *available);
        Self { reservations: lines.map(view).collect() }
    }
}

impl LiveReservationView {
    pub fn new(reserved: &ReservedOrder) -> Self {
        let hold = &reserved.hold;
        let priced = |(line, available): (&StockItem, &u32)| PricedReservationView {
            reservation: ReservationView::new(hold, line, *available),
            unit_price: line.unit_price,
        };
        Self {
            reservations: hold.items::<StockItem>().zip(&reserved.available).map(priced).collect(),
            total_amount: hold.total(),
            currency: hold.currency.as_str().to_owned(),
            expires_at: hold.ends_at().to_jiff(),
        }
    }
}

impl OrderItemView {
    fn new(line: &StockItem) -> Self {
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
            OrderState::Paid => (OrderStatus::Paid, None),
            OrderState::Cancelled { at } => (OrderStatus::Cancelled, Some(at.to_jiff())),
        };
        Self {
            order_id: order.id.get(),
            user_id: (&order.user).into(),
            status,
            items: order.items.iter().map(OrderItemView::new).collect(),
            total_amount: order.total,
            discount_amount: order.discount,
            paid_amount: order.paid,
            coupon_code: order.coupon.as_ref().map(|code| code.as_str().to_owned()),
            currency: order.currency.as_str().to_owned(),
            balance_after: None,
            created_at: order.created_at.to_jiff(),
            cancelled_at,
        }
    }

    pub fn paid(paid: &PaidOrder) -> Self {
        Self { balance_after: Some(paid.balance_after), ..Self::new(&paid.order) }
    }
}

impl ReservationEventView {
    pub fn new(hold: &Hold) -> Self {
        Self {
            user_id: (&hold.owner).into(),
            items: hold.items::<StockItem>().map(OrderItemView::new).collect(),
            total_amount: hold.total(),
            currency: hold.currency.as_str().to_owned(),
            expires_at: hold.ends_at().to_jiff(),
        }
    }
}

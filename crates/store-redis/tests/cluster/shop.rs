//! Shop without HTTP: commands of a server.

use holdfast_core::actor::Actor;
use holdfast_core::id::UserId;
use holdfast_core::shop::cart::PutCartItem;
use holdfast_core::shop::coupon::{CouponCode, CreateCoupon, Discount, IssueCoupon};
use holdfast_core::shop::order::CancelOrder;
use holdfast_core::shop::payment::PayOrder;
use holdfast_core::shop::product::{CreateProduct, OptionDraft};
use holdfast_core::shop::reservation::{self, ReleaseOrder, ReserveOrder};
use holdfast_core::shop::stock::{self, ChangeOption, StockChange};
use holdfast_core::shop::user::{self, AddBalance, CreateUser};
use holdfast_core::shop::{Order, OrderId, PaidOrder, ProductOptionId, ReservedOrder};
use holdfast_core::time::Span;
use holdfast_engine::Refused;

use crate::support::{Server, random};

/// Life of a reservation.
pub(crate) const LIFE: Span = Span::from_secs(1_800);
/// Price of a piece, and initial balance of each account.
pub(crate) const PRICE: i64 = 1_000;
pub(crate) const BALANCE: i64 = 10_000;

pub(crate) fn coupon() -> CouponCode {
    CouponCode::parse("code", "HALF").unwrap()
}

impl Server {
    /// Creates a user with money, a coupon for half the price, and so many pieces in the cart.
    pub(crate) async fn buyer(&self, option: ProductOptionId, quantity: u32) -> UserId {
        let user = self.run(CreateUser { id: None, name: "손님 하나".into(), currency: None }).await.unwrap().id;
        self.run(AddBalance { user: user.clone(), amount: BALANCE }).await.unwrap();
        self.run(IssueCoupon { code: coupon(), user: user.clone() }).await.unwrap();
        self.run(PutCartItem { user: user.clone(), option, quantity }).await.unwrap();
        user
    }

    /// Creates goods with so much stock, and coupons for all users.
    pub(crate) async fn goods(&self, stock_quantity: u32) -> ProductOptionId {
        let discount = Discount::Percent(50);
        self.run(CreateCoupon { code: coupon(), discount, currency: None, max_uses: 1_000, valid_until: None })
            .await
            .unwrap();
        let option = OptionDraft { option_code: "ETH-HD-200".into(), price: PRICE, stock_quantity, is_active: true };
        let create = CreateProduct { name: "원두".into(), currency: None, options: vec![option] };
        self.run(create).await.unwrap().product.first_option
    }

    pub(crate) async fn reserve(&self, user: UserId) -> Result<ReservedOrder, Refused> {
        self.run(reserve(user, false)).await
    }

    pub(crate) async fn exchange(&self, user: UserId) -> Result<ReservedOrder, Refused> {
        self.run(reserve(user, true)).await
    }

    pub(crate) async fn give_back(&self, user: UserId) -> Result<(), Refused> {
        self.run(ReleaseOrder { user }).await
    }

    /// Pays half, with the coupon.
    pub(crate) async fn pay(&self, user: UserId) -> Result<PaidOrder, Refused> {
        self.run(payment(user)).await
    }

    pub(crate) async fn cancel_order(&self, id: OrderId) -> Result<Order, Refused> {
        self.run(CancelOrder { id, actor: Actor::Admin }).await
    }

    pub(crate) async fn set_stock(&self, id: ProductOptionId, stock: u32) -> Result<(), Refused> {
        let stock = Some(StockChange::Set(stock));
        self.run(ChangeOption { id, price: None, is_active: None, stock }).await.map(|_| ())
    }

    /// Returns stock, held quantity and available quantity.
    pub(crate) async fn stock(&self, option: ProductOptionId) -> (u32, u32, u32) {
        let view = self.ask(|rows, at| stock::view(rows, at, option)).await.unwrap();
        (view.inventory.stock(), view.held, view.available)
    }

    pub(crate) async fn balance(&self, user: UserId) -> i64 {
        self.ask(|rows, _| user::find(rows, &user)).await.unwrap().balance
    }

    pub(crate) async fn is_reserved(&self, user: UserId) -> bool {
        self.ask(|rows, at| reservation::view(rows, at, &user)).await.is_ok()
    }

    pub(crate) async fn orders(&self, user: UserId) -> Vec<Order> {
        let orders = holdfast_core::schema::shop::orders(Some(&user), None, 100);
        holdfast_engine::store::list(&self.store, orders).await.unwrap()
    }
}

/// Payment of half, with the coupon.
pub(crate) fn payment(user: UserId) -> PayOrder {
    PayOrder { user, coupon: Some(coupon()), expected_amount: None, reservation_ids: None }
}

pub(crate) fn reserve(user: UserId, replace: bool) -> ReserveOrder {
    ReserveOrder { random: random(), user, replace }
}

use super::*;
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::ShopRejection;

#[test]
fn new_account_is_empty_and_in_won() {
    both(|shop| {
        let account = shop.run(&CreateUser { name: "손님 하나".into(), currency: None }).unwrap();
        assert_eq!((account.balance, account.charged, account.currency), (0, 0, Currency::KRW));
        let other = shop.run(&CreateUser { name: "Kim".into(), currency: Some("EUR".into()) }).unwrap();
        assert_eq!(other.currency.as_str(), "EUR");
        assert_ne!(account.id, other.id);
    });
}

#[test]
fn account_requires_name_and_known_currency() {
    both(|shop| {
        let nameless = shop.run(&CreateUser { name: " ".into(), currency: None });
        assert_eq!(invalid(nameless), ("name", Fault::Blank));
        let unknown = shop.run(&CreateUser { name: "Kim".into(), currency: Some("won".into()) });
        assert_eq!(invalid(unknown), ("currency", Fault::UnknownCurrency));
    });
}

#[test]
fn deposit_is_added_to_balance() {
    both(|shop| {
        let user = shop.user(0);
        shop.run(&AddBalance { user, amount: 500 }).unwrap();
        let account = shop.run(&AddBalance { user, amount: 300 }).unwrap();
        assert_eq!((account.balance, account.charged), (800, 800));
    });
}

#[test]
fn deposit_is_positive_and_bounded() {
    both(|shop| {
        let user = shop.user(1_000);
        for amount in [0, -1, AMOUNT_MAX + 1, i64::MAX, i64::MIN] {
            let rejected = shop.run(&AddBalance { user, amount });
            assert_eq!(invalid(rejected), ("amount", Fault::OutOfRange { min: 1, max: AMOUNT_MAX }));
        }
        let rejected = shop.run(&AddBalance { user, amount: AMOUNT_MAX });
        assert_eq!(invalid(rejected), ("amount", Fault::OutOfRange { min: 1, max: AMOUNT_MAX - 1_000 }));
        shop.run(&AddBalance { user, amount: AMOUNT_MAX - 1_000 }).unwrap();
    });
}

#[test]
fn commands_of_unknown_user_are_rejected() {
    both(|shop| {
        let user = unknown_user();
        let option = shop.option(1_000, 5);
        shop.coupon("SPRING", Discount::Percent(10), 1);
        let not_found = Rejection::Shop(ShopRejection::UserNotFound);
        assert_eq!(shop.run(&AddBalance { user, amount: 1 }).unwrap_err(), not_found);
        assert_eq!(shop.run(&PutCartItem { user, option, quantity: 1 }).unwrap_err(), not_found);
        assert_eq!(shop.reserve(user).unwrap_err(), not_found);
        assert_eq!(shop.release(user).unwrap_err(), not_found);
        assert_eq!(shop.reservation(user).unwrap_err(), not_found);
        assert_eq!(shop.pay(user).unwrap_err(), not_found);
        assert_eq!(shop.issue("SPRING", user).unwrap_err(), not_found);
        assert_eq!(shop.world.ask(|rows, _| cart::view(rows, user)).unwrap_err(), not_found);
        assert_eq!(shop.world.ask(|rows, _| user::find(rows, user)).unwrap_err(), not_found);
    });
}

use super::*;
use crate::money::Currency;
use crate::rejection::ShopRejection;

#[test]
fn cart_is_sorted_with_current_names_and_prices() {
    both(|shop| {
        let (user, first, second) = (shop.user(0), shop.option(1_000, 5), shop.option(2_000, 0));
        shop.put(&user, second, 3);
        let cart = shop.run(&PutCartItem { user: user.clone(), option: first, quantity: 1 }).unwrap();
        assert_eq!(cart, shop.world.ask(|rows, _| cart::view(rows, &user)).unwrap());
        let lines: Vec<_> = cart.items.iter().map(|line| (line.option.id, line.quantity, line.option.price)).collect();
        assert_eq!(lines, [(first, 1, 1_000), (second, 3, 2_000)], "options out of stock may be in a cart");
    });
}

#[test]
fn put_replaces_quantity_and_zero_removes_line() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 5));
        shop.put(&user, option, 3);
        shop.put(&user, option, 2);
        assert_eq!(shop.cart(&user), [(option, 2)]);
        shop.put(&user, option, 0);
        shop.put(&user, option, 0);
        assert_eq!(shop.cart(&user), []);
    });
}

#[test]
fn carts_of_users_are_separate() {
    both(|shop| {
        let (one, other, option) = (shop.user(0), shop.user(0), shop.option(1_000, 5));
        shop.put(&one, option, 3);
        assert_eq!(shop.cart(&other), []);
    });
}

#[test]
fn put_checks_quantity_then_user_then_option() {
    both(|shop| {
        let (user, option) = (shop.user(0), unknown_option());
        let too_many = shop.run(&PutCartItem { user: unknown_user(), option, quantity: LINE_QUANTITY_MAX + 1 });
        assert_eq!(invalid(too_many), ("quantity", Fault::OutOfRange { min: 0, max: 1_000_000 }));
        for quantity in [0, 1] {
            let rejected = shop.run(&PutCartItem { user: unknown_user(), option, quantity }).unwrap_err();
            assert_eq!(rejected, Rejection::Shop(ShopRejection::UserNotFound));
            let rejected = shop.run(&PutCartItem { user: user.clone(), option, quantity }).unwrap_err();
            assert_eq!(rejected, Rejection::Shop(ShopRejection::ProductOptionNotFound));
        }
    });
}

#[test]
fn cart_has_at_most_a_hundred_lines() {
    both(|shop| {
        let user = shop.user(0);
        let options: Vec<_> = (0..101).map(|_| shop.option(10, 5)).collect();
        options[..100].iter().for_each(|option| shop.put(&user, *option, 1));
        let one_more = PutCartItem { user: user.clone(), option: options[100], quantity: 1 };
        assert_eq!(invalid(shop.run(&one_more)), ("items", Fault::TooManyItems { max: 100 }));
        shop.put(&user, options[7], 2);
        shop.put(&user, options[8], 0);
        shop.run(&one_more).unwrap();
        assert_eq!(shop.reserve(&user).unwrap().hold.lines.len(), 100);
    });
}

#[test]
fn option_in_other_currency_is_rejected() {
    both(|shop| {
        let user = shop.user(0);
        let option = OptionDraft { option_code: "A".into(), price: 5, stock_quantity: 5, is_active: true };
        let product = CreateProduct { name: "A".into(), currency: Some("EUR".into()), options: vec![option] };
        let option = shop.run(&product).unwrap().product.first_option;
        let rejected = shop.run(&PutCartItem { user: user.clone(), option, quantity: 1 });
        assert_eq!(invalid(rejected), ("productOptionId", Fault::OtherCurrency { expected: Currency::KRW }));
    });
}

use super::*;
use crate::money::Currency;
use crate::rejection::ShopRejection;

#[test]
fn a_cart_is_shown_by_ascending_option_with_names_and_prices_of_now() {
    both(|shop| {
        let (user, first, second) = (shop.user(0), shop.option(1_000, 5), shop.option(2_000, 0));
        shop.put(user, second, 3);
        let cart = shop.run(&PutCartItem { user, option: first, quantity: 1 }).unwrap();
        assert_eq!(cart, shop.world.ask(|rows, _| cart::view(rows, user)).unwrap());
        let lines: Vec<_> = cart.items.iter().map(|line| (line.option.id, line.quantity, line.option.price)).collect();
        assert_eq!(lines, [(first, 1, 1_000), (second, 3, 2_000)], "what is out of stock may be in a cart");
    });
}

#[test]
fn a_quantity_takes_the_place_of_the_old_one_and_zero_removes_the_line() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 5));
        shop.put(user, option, 3);
        shop.put(user, option, 2);
        assert_eq!(shop.cart(user), [(option, 2)]);
        shop.put(user, option, 0);
        shop.put(user, option, 0);
        assert_eq!(shop.cart(user), []);
    });
}

#[test]
fn carts_are_apart() {
    both(|shop| {
        let (one, other, option) = (shop.user(0), shop.user(0), shop.option(1_000, 5));
        shop.put(one, option, 3);
        assert_eq!(shop.cart(other), []);
    });
}

#[test]
fn first_the_quantity_is_looked_at_then_the_user_then_the_option() {
    both(|shop| {
        let (user, option) = (shop.user(0), no_option());
        let too_many = shop.run(&PutCartItem { user: nobody(), option, quantity: LINE_QUANTITY_MAX + 1 });
        assert_eq!(invalid(too_many), ("quantity", Fault::OutOfRange { min: 0, max: 1_000_000 }));
        for quantity in [0, 1] {
            let refused = shop.run(&PutCartItem { user: nobody(), option, quantity }).unwrap_err();
            assert_eq!(refused, Rejection::Shop(ShopRejection::UserNotFound));
            let refused = shop.run(&PutCartItem { user, option, quantity }).unwrap_err();
            assert_eq!(refused, Rejection::Shop(ShopRejection::ProductOptionNotFound));
        }
    });
}

#[test]
fn a_cart_has_at_most_a_hundred_lines() {
    both(|shop| {
        let user = shop.user(0);
        let options: Vec<_> = (0..101).map(|_| shop.option(10, 5)).collect();
        options[..100].iter().for_each(|option| shop.put(user, *option, 1));
        let one_more = PutCartItem { user, option: options[100], quantity: 1 };
        assert_eq!(invalid(shop.run(&one_more)), ("items", Fault::TooManyItems { max: 100 }));
        shop.put(user, options[7], 2);
        shop.put(user, options[8], 0);
        shop.run(&one_more).unwrap();
        assert_eq!(shop.reserve(user).unwrap().hold.lines.len(), 100);
    });
}

#[test]
fn what_is_sold_in_another_currency_than_the_account_has_does_not_go_into_the_cart() {
    both(|shop| {
        let user = shop.user(0);
        let option = OptionDraft { option_code: "A".into(), price: 5, stock_quantity: 5, is_active: true };
        let product = CreateProduct { name: "A".into(), currency: Some("EUR".into()), options: vec![option] };
        let option = shop.run(&product).unwrap().product.first_option;
        let refused = shop.run(&PutCartItem { user, option, quantity: 1 });
        assert_eq!(invalid(refused), ("productOptionId", Fault::OtherCurrency { expected: Currency::KRW }));
    });
}

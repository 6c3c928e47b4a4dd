use super::*;
use crate::money::PRICE_MAX;
use crate::rejection::ShopRejection;
use crate::table::StateSet as _;
use crate::time::Span;

fn draft(option_code: &str, price: i64, stock_quantity: u32) -> OptionDraft {
    OptionDraft { option_code: option_code.into(), price, stock_quantity, is_active: true }
}

fn product(options: Vec<OptionDraft>) -> CreateProduct {
    CreateProduct { name: "콜롬비아 수프리모".into(), currency: None, options }
}

#[test]
fn options_have_consecutive_numbers() {
    both(|shop| {
        shop.option(1, 1);
        let created = shop.run(&product(vec![draft("COL-WB-200", 9_000, 10), draft("COL-WB-500", 20_000, 0)])).unwrap();
        let shown = shop.world.ask(|rows, at| product::view(rows, at, created.product.id)).unwrap();
        assert_eq!(shown, created);
        let options: Vec<_> = shown.options.iter().map(|view| (&*view.option.option_code, view.available)).collect();
        assert_eq!(options, [("COL-WB-200", 10), ("COL-WB-500", 0)]);
        assert_eq!(created.product.options().map(ProductOptionId::get).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(&*shown.options[1].option.product_name, "콜롬비아 수프리모");
    });
}

#[test]
fn number_of_options_is_bounded() {
    both(|shop| {
        assert_eq!(invalid(shop.run(&product(vec![]))), ("options", Fault::Missing));
        let many = |count| product((0..count).map(|_| draft("A", 1, 1)).collect());
        assert_eq!(invalid(shop.run(&many(101))), ("options", Fault::TooManyItems { max: 100 }));
        assert_eq!(shop.run(&many(100)).unwrap().options.len(), 100);
    });
}

#[test]
fn names_prices_and_stocks_have_bounds() {
    both(|shop| {
        let blank = CreateProduct { name: String::new(), ..product(vec![draft("A", 1, 1)]) };
        assert_eq!(invalid(shop.run(&blank)), ("name", Fault::Blank));
        let unknown = CreateProduct { currency: Some("??".into()), ..product(vec![draft("A", 1, 1)]) };
        assert_eq!(invalid(shop.run(&unknown)), ("currency", Fault::UnknownCurrency));
        assert_eq!(invalid(shop.run(&product(vec![draft("", 1, 1)]))), ("optionCode", Fault::Blank));
        let price = Fault::OutOfRange { min: 0, max: PRICE_MAX };
        assert_eq!(invalid(shop.run(&product(vec![draft("A", -1, 1)]))), ("price", price.clone()));
        assert_eq!(invalid(shop.run(&product(vec![draft("A", PRICE_MAX + 1, 1)]))), ("price", price));
        let stock = Fault::OutOfRange { min: 0, max: STOCK_MAX.into() };
        assert_eq!(invalid(shop.run(&product(vec![draft("A", 0, STOCK_MAX + 1)]))), ("stockQuantity", stock));
    });
}

#[test]
fn unknown_product_and_option_are_not_found() {
    both(|shop| {
        let id = ProductId::new(9).unwrap();
        assert_eq!(
            shop.world.ask(|rows, at| product::view(rows, at, id)),
            Err(Rejection::Shop(ShopRejection::ProductNotFound))
        );
        let not_found = Rejection::Shop(ShopRejection::ProductOptionNotFound);
        assert_eq!(shop.world.ask(|rows, at| stock::view(rows, at, unknown_option())).unwrap_err(), not_found);
        assert_eq!(shop.set_stock(unknown_option(), StockChange::Set(1)).unwrap_err(), not_found);
    });
}

#[test]
fn price_and_activity_change_independently() {
    both(|shop| {
        let id = shop.option(1_000, 5);
        let change = ChangeOption { id, price: Some(2_000), is_active: None, stock: None };
        let view = shop.run(&change).unwrap();
        assert_eq!((view.option.price, view.option.is_active, view.available), (2_000, true, 5));
        let view = shop.run(&ChangeOption { price: None, is_active: Some(false), ..change.clone() }).unwrap();
        assert_eq!((view.option.price, view.option.is_active), (2_000, false));
        let rejected = shop.run(&ChangeOption { price: Some(-1), ..change });
        assert_eq!(invalid(rejected), ("price", Fault::OutOfRange { min: 0, max: PRICE_MAX }));
    });
}

#[test]
fn stock_excludes_sold_quantities() {
    both(|shop| {
        let (user, option) = (shop.user(100_000), shop.option(1_000, 10));
        shop.put(&user, option, 4);
        shop.reserve(&user).unwrap();
        assert_eq!(shop.stock(option), (10, 4, 6));
        shop.pay(&user).unwrap();
        assert_eq!(shop.stock(option), (6, 0, 6));
        let view = shop.set_stock(option, StockChange::Set(20)).unwrap();
        assert_eq!((view.inventory, view.available), (Inventory { received: 24, sold: 4 }, 20));
        shop.set_stock(option, StockChange::Delta(-5)).unwrap();
        assert_eq!(shop.stock(option), (15, 0, 15));
        shop.set_stock(option, StockChange::Delta(3)).unwrap();
        assert_eq!(shop.stock(option), (18, 0, 18));
    });
}

#[test]
fn stock_below_reserved_quantity_is_rejected() {
    both(|shop| {
        let (user, option) = (shop.user(100_000), shop.option(1_000, 10));
        shop.put(&user, option, 4);
        shop.reserve(&user).unwrap();
        let in_use = Rejection::Shop(ShopRejection::StockInUse { in_use: 4 });
        for change in [StockChange::Set(3), StockChange::Delta(-7), StockChange::Delta(-11)] {
            assert_eq!(shop.set_stock(option, change).unwrap_err(), in_use);
        }
        assert_eq!(shop.stock(option), (10, 4, 6), "a rejected change has no effect");
        shop.set_stock(option, StockChange::Set(4)).unwrap();
        assert_eq!(shop.stock(option), (4, 4, 0));
        shop.pay(&user).unwrap();
        assert_eq!(
            shop.set_stock(option, StockChange::Delta(-1)),
            Err(Rejection::Shop(ShopRejection::StockInUse { in_use: 0 }))
        );
        shop.set_stock(option, StockChange::Set(0)).unwrap();
        assert_eq!(shop.stock(option), (0, 0, 0));
    });
}

#[test]
fn stock_can_be_lowered_after_expiry() {
    both(|shop| {
        let (user, option) = (shop.user(0), shop.option(1_000, 10));
        shop.put(&user, option, 4);
        shop.reserve(&user).unwrap();
        shop.world.wait(Span::from_secs(1_801));
        shop.set_stock(option, StockChange::Set(0)).unwrap();
        assert_eq!(shop.stock(option), (0, 0, 0));
    });
}

#[test]
fn stock_and_changes_are_bounded() {
    both(|shop| {
        let option = shop.option(0, 10);
        let max = i64::from(STOCK_MAX);
        let range = Fault::OutOfRange { min: 0, max };
        assert_eq!(invalid(shop.set_stock(option, StockChange::Set(STOCK_MAX + 1))), ("stockQuantity", range));
        for delta in [max + 1, -max - 1, i64::MAX, i64::MIN] {
            let range = Fault::OutOfRange { min: -max, max };
            assert_eq!(invalid(shop.set_stock(option, StockChange::Delta(delta))), ("stockDelta", range));
        }
        let range = Fault::OutOfRange { min: -max, max: max - 10 };
        assert_eq!(invalid(shop.set_stock(option, StockChange::Delta(max - 9))), ("stockDelta", range));
        shop.set_stock(option, StockChange::Delta(max - 10)).unwrap();
    });
}

#[test]
fn received_quantity_is_bounded() {
    // Such quantities take too many sales to reach, so the row is written directly.
    let mut shop = Shop::new(false);
    let option = shop.option(0, 0);
    let mut rows = WorkingSet::default();
    rows.shop.inventory.fill(option, Some(Inventory { received: RECEIVED_MAX - 5, sold: RECEIVED_MAX - 8 }));
    shop.world.memory.apply(&mut rows);
    assert_eq!(invalid(shop.set_stock(option, StockChange::Set(9))), ("stockQuantity", stock::out_of_range(8)));
    let range = Fault::OutOfRange { min: -i64::from(STOCK_MAX), max: 5 };
    assert_eq!(invalid(shop.set_stock(option, StockChange::Delta(6))), ("stockDelta", range));
    shop.set_stock(option, StockChange::Set(8)).unwrap();
}

use super::*;
use crate::command::Stop;
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::ShopRejection;
use crate::table::TableSet as _;

#[test]
fn new_account_is_empty_and_in_won() {
    both(|shop| {
        let account = shop.run(&CreateUser { id: None, name: "손님 하나".into(), currency: None }).unwrap();
        assert_eq!((account.balance, account.charged, account.currency), (0, 0, Currency::KRW));
        let other = shop.run(&CreateUser { id: None, name: "Kim".into(), currency: Some("EUR".into()) }).unwrap();
        assert_eq!(other.currency.as_str(), "EUR");
        assert_ne!(account.id, other.id);
    });
}

#[test]
fn account_requires_name_and_known_currency() {
    both(|shop| {
        let nameless = shop.run(&CreateUser { id: None, name: " ".into(), currency: None });
        assert_eq!(invalid(nameless), ("name", Fault::Blank));
        let unknown = shop.run(&CreateUser { id: None, name: "Kim".into(), currency: Some("won".into()) });
        assert_eq!(invalid(unknown), ("currency", Fault::UnknownCurrency));
    });
}

#[test]
fn caller_may_choose_the_id() {
    both(|shop| {
        for id in [UserId::parse_text("auth0|5f7c8ec7").unwrap(), UserId::new(70).unwrap()] {
            let create = CreateUser { id: Some(id.clone()), name: "Kim".into(), currency: None };
            assert_eq!(shop.run(&create).unwrap().id, id);
            assert_eq!(shop.run(&create).unwrap_err(), Rejection::Shop(ShopRejection::UserAlreadyExists));
            shop.run(&AddBalance { user: id.clone(), amount: 500 }).unwrap();
            assert_eq!(shop.balance(&id), 500);
        }
    });
}

#[test]
fn numbers_of_accounts_skip_taken_ids() {
    both(|shop| {
        let taken = |number| CreateUser { id: UserId::new(number), name: "Kim".into(), currency: None };
        for number in [1, 3, 4].into_iter().chain(100..1_000) {
            shop.run(&taken(number)).unwrap();
        }
        let drawn: Vec<UserId> = (0..200).map(|_| shop.user(0)).collect();
        let distinct: std::collections::BTreeSet<&UserId> = drawn.iter().collect();
        assert_eq!(distinct.len(), 200);
        assert!(drawn.contains(&UserId::new(2).unwrap()) && drawn.contains(&UserId::new(99).unwrap()));
    });
}

#[test]
fn account_without_free_number_is_rejected() {
    both(|shop| {
        for distance in user::DISTANCES {
            let id = UserId::new(1 + distance);
            shop.run(&CreateUser { id, name: "Kim".into(), currency: None }).unwrap();
        }
        let rejected = shop.run(&CreateUser { id: None, name: "Kim".into(), currency: None }).unwrap_err();
        assert_eq!(rejected, Rejection::Shop(ShopRejection::UserAlreadyExists));
    });
}

#[test]
fn deposit_is_added_to_balance() {
    both(|shop| {
        let user = shop.user(0);
        shop.run(&AddBalance { user: user.clone(), amount: 500 }).unwrap();
        let account = shop.run(&AddBalance { user: user.clone(), amount: 300 }).unwrap();
        assert_eq!((account.balance, account.charged), (800, 800));
    });
}

#[test]
fn deposit_is_positive_and_bounded() {
    both(|shop| {
        let user = shop.user(1_000);
        for amount in [0, -1, AMOUNT_MAX + 1, i64::MAX, i64::MIN] {
            let rejected = shop.run(&AddBalance { user: user.clone(), amount });
            assert_eq!(invalid(rejected), ("amount", Fault::OutOfRange { min: 1, max: AMOUNT_MAX }));
        }
        let rejected = shop.run(&AddBalance { user: user.clone(), amount: AMOUNT_MAX });
        assert_eq!(invalid(rejected), ("amount", Fault::OutOfRange { min: 1, max: AMOUNT_MAX - 1_000 }));
        shop.run(&AddBalance { user: user.clone(), amount: AMOUNT_MAX - 1_000 }).unwrap();
    });
}

#[test]
fn commands_of_unknown_user_are_rejected() {
    both(|shop| {
        let user = unknown_user();
        let option = shop.option(1_000, 5);
        shop.coupon("SPRING", Discount::Percent(10), 1);
        let not_found = Rejection::Shop(ShopRejection::UserNotFound);
        assert_eq!(shop.run(&AddBalance { user: user.clone(), amount: 1 }).unwrap_err(), not_found);
        assert_eq!(shop.run(&PutCartItem { user: user.clone(), option, quantity: 1 }).unwrap_err(), not_found);
        assert_eq!(shop.reserve(&user).unwrap_err(), not_found);
        assert_eq!(shop.release(&user).unwrap_err(), not_found);
        assert_eq!(shop.reservation(&user).unwrap_err(), not_found);
        assert_eq!(shop.pay(&user).unwrap_err(), not_found);
        assert_eq!(shop.issue("SPRING", &user).unwrap_err(), not_found);
        assert_eq!(shop.world.ask(|rows, _| cart::view(rows, &user)).unwrap_err(), not_found);
        assert_eq!(shop.world.ask(|rows, _| user::find(rows, &user)).unwrap_err(), not_found);
    });
}

#[test]
fn batch_of_accounts_needs_few_loads() {
    // Without accounts of chosen ids, and with a run of them at the next numbers.
    for (taken, keys_max) in [(0, 20_000), (20_000, 70_000)] {
        let mut shop = Shop::new(false);
        for number in 1..=taken {
            shop.run(&CreateUser { id: UserId::new(number), name: "Kim".into(), currency: None }).unwrap();
        }
        let world = &shop.world;
        let create = CreateUser { id: None, name: "Kim".into(), currency: None };
        let at = crate::Context { now: world.now, limits: &world.limits };
        let mut rows = WorkingSet::default();
        let mut created = 0;
        for _ in 0..16 {
            while created < 5_000 && rows.attempt(|rows| create.decide(rows, &at)).is_ok() {
                created += 1;
            }
            // The other commands of the batch are decided in the same round.
            (0..10).for_each(|_| drop(rows.attempt(|rows| create.decide(rows, &at).and(Err::<(), _>(Stop::NeedRows)))));
            rows.fill_from(&world.memory);
        }
        assert_eq!(created, 5_000, "beyond {taken} accounts");
        assert!(rows.shop.users.key_count() < keys_max);
    }
}

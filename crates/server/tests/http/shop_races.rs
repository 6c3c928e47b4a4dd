//! Concurrent clients of the shop. After each test the store is audited: no money and no piece is lost or created.

use futures_util::future::join_all;
use holdfast_client::{Client, Error, NewCoupon, NewProduct, NewProductOption, Payment};
use holdfast_testkit::{Profile, profiles};

use crate::shop_support::{Buyer, buyer_of, counts, option};
use crate::support::{TestApp, with_app};

async fn buyers(admin: &Client, count: usize, balance: i64) -> Vec<Buyer> {
    join_all((0..count).map(|_| buyer_of(admin, balance))).await
}

profiles!(concurrent_buyers_sell_stock_exactly);
async fn concurrent_buyers_sell_stock_exactly(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 50).await;
        let users = buyers(&app.admin(), 300, 1_000).await;
        join_all(users.iter().map(|user| async { user.put_cart_item(option, 1).await.unwrap() })).await;
        let orders = join_all(users.iter().map(|user| async {
            user.reserve_order().await?;
            user.pay_order(&Payment::default()).await
        }))
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = orders.into_iter().partition(Result::is_ok);
        let codes: Vec<_> = lost.into_iter().map(|one| one.unwrap_err().code().map(str::to_owned)).collect();
        assert!(codes.iter().all(|code| code.as_deref() == Some("INSUFFICIENT_AVAILABLE_STOCK")), "{codes:?}");
        assert_eq!(won.len(), 50);
        assert_eq!(counts(app, option).await, (0, 0, 0));
        let balances = join_all(users.iter().map(Buyer::balance)).await;
        assert_eq!(balances.iter().sum::<i64>(), 250 * 1_000);
    })
    .await;
}

/// Fills carts with the same options, in opposite order.
async fn opposite_carts(app: &TestApp, users: &[Buyer], options: &[u64]) {
    join_all(users.iter().enumerate().map(|(number, user)| async move {
        let mut options = options.to_vec();
        if number % 2 == 1 {
            options.reverse();
        }
        for option in options {
            user.put_cart_item(option, 1).await.unwrap();
        }
    }))
    .await;
    assert_eq!(counts(app, options[0]).await.1, 0);
}

profiles!(opposite_carts_never_deadlock_or_oversell);
async fn opposite_carts_never_deadlock_or_oversell(profile: Profile) {
    with_app(profile, async |app| {
        const PIECES: u32 = 30;
        let options = (0..6).map(|number| NewProductOption::new(format!("O-{number}"), 100, PIECES));
        let made = app.admin().create_product(&NewProduct::new("원두", options.collect())).await.unwrap();
        let options: Vec<u64> = made.options.iter().map(|option| option.id).collect();
        let users = buyers(&app.admin(), 80, 10_000).await;
        opposite_carts(app, &users, &options).await;
        let ended = join_all(users.iter().map(|user| async {
            user.reserve_order().await?;
            user.pay_order(&Payment::default()).await
        }))
        .await;
        let mut won = 0;
        for order in ended {
            match order {
                Ok(order) => {
                    assert!(order.items.len() == 6 && order.paid_amount == 600);
                    won += 1;
                }
                Err(error) => assert_eq!(error.code(), Some("INSUFFICIENT_AVAILABLE_STOCK"), "{error}"),
            }
        }
        assert_eq!(won, PIECES);
        for option in options {
            assert_eq!(counts(app, option).await, (0, 0, 0));
        }
    })
    .await;
}

profiles!(concurrent_payments_have_one_winner);
async fn concurrent_payments_have_one_winner(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer_of(&app.admin(), 10_000).await;
        user.reserve(option, 2).await;
        let payment = Payment::default();
        let tries = join_all((0..30).map(|_| user.pay_order(&payment))).await;
        let (won, lost): (Vec<_>, Vec<_>) = tries.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        assert!(lost.into_iter().all(|one| one.unwrap_err().code() == Some("RESERVATION_NOT_FOUND")));
        assert_eq!((user.balance().await, counts(app, option).await), (8_000, (8, 0, 8)));
        let order = won.into_iter().next().unwrap().unwrap().order_id;
        let tries = join_all((0..30).map(|_| user.cancel_order(order))).await;
        assert_eq!(tries.iter().filter(|one| one.is_ok()).count(), 1, "the order is cancelled once");
        assert_eq!((user.balance().await, counts(app, option).await), (10_000, (10, 0, 10)));
    })
    .await;
}

profiles!(concurrent_reserves_of_user_have_one_winner);
async fn concurrent_reserves_of_user_have_one_winner(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 100).await;
        let user = buyer_of(&app.admin(), 0).await;
        user.put_cart_item(option, 3).await.unwrap();
        let tries = join_all((0..30).map(|_| user.reserve_order())).await;
        let (won, lost): (Vec<_>, Vec<_>) = tries.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        assert!(lost.into_iter().all(|one| one.unwrap_err().code() == Some("DUPLICATE_RESERVATION")));
        assert_eq!(counts(app, option).await, (100, 3, 97));
    })
    .await;
}

profiles!(mixed_load_conserves_money_and_stock);
/// All operations at once: for any outcomes, the audit must account for all money and all pieces.
async fn mixed_load_conserves_money_and_stock(profile: Profile) {
    with_app(profile, async |app| {
        const PIECES: u32 = 40;
        let admin = app.admin();
        let options = (0..4).map(|number| NewProductOption::new(format!("O-{number}"), 300, PIECES));
        let made = admin.create_product(&NewProduct::new("원두", options.collect())).await.unwrap();
        let options: Vec<u64> = made.options.iter().map(|option| option.id).collect();
        let options = &options;
        admin.create_coupon(&NewCoupon::percent("TEN", 10, 12)).await.unwrap();
        let users = buyers(&admin, 40, 5_000).await;
        let paid = join_all(users.iter().enumerate().map(|(number, user)| async move {
            let coupon = user.take_coupon("TEN").await.ok().map(|coupon| coupon.code);
            let mut paid = 0;
            for round in 0..6 {
                for step in 0..2 {
                    user.put_cart_item(options[(number + round + step * 3) % 4], 1 + step as u32).await.unwrap();
                }
                match user.reserve_order().await {
                    Ok(_) => {}
                    Err(error) => {
                        assert_eq!(error.code(), Some("INSUFFICIENT_AVAILABLE_STOCK"), "{error}");
                        continue;
                    }
                }
                if (number + round) % 5 == 0 {
                    user.release_order().await.unwrap();
                    continue;
                }
                let coupon_code = coupon.clone().filter(|_| round == 2);
                match user.pay_order(&Payment { coupon_code, ..Payment::default() }).await {
                    Ok(order) if (number + round) % 3 == 0 => drop(user.cancel_order(order.order_id).await.unwrap()),
                    Ok(order) => paid += order.paid_amount,
                    Err(Error::Problem(problem)) if problem.code == "COUPON_NOT_USABLE" => {
                        user.release_order().await.unwrap();
                    }
                    Err(error) => {
                        assert_eq!(
                            error.code(),
                            Some("INSUFFICIENT_BALANCE"),
                            "a live reservation can be paid: {error}"
                        );
                        user.release_order().await.unwrap();
                    }
                }
            }
            paid
        }))
        .await;
        let balances = join_all(users.iter().map(Buyer::balance)).await;
        assert_eq!(balances.iter().sum::<i64>() + paid.iter().sum::<i64>(), 40 * 5_000);
        let mut sold = vec![0; 4];
        let mut cursor = None;
        loop {
            let page =
                admin.orders(&cursor.map(|cursor| ("cursor", cursor)).into_iter().collect::<Vec<_>>()).await.unwrap();
            for order in page.items.iter().filter(|order| order.status == holdfast_client::OrderStatus::Paid) {
                for item in &order.items {
                    sold[options.iter().position(|option| *option == item.product_option_id).unwrap()] += item.quantity;
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        for (option, sold) in options.iter().zip(sold) {
            assert_eq!(counts(app, *option).await, (PIECES - sold, 0, PIECES - sold));
        }
    })
    .await;
}

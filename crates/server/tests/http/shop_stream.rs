//! Shop events on `/v1/stream`.

use holdfast_client::Payment;
use holdfast_testkit::{Profile, profiles};
use serde_json::json;

use crate::shop_support::{Buyer, buyer, option};
use crate::stream::Listening;
use crate::support::with_app;

/// Reserves, replaces, releases, reserves, pays, cancels.
async fn one_of_everything(user: &Buyer, option: u64) -> u64 {
    user.reserve(option, 2).await;
    user.replace_order_reservation().await.unwrap();
    user.release_order().await.unwrap();
    user.reserve_order().await.unwrap();
    let order = user.pay_order(&Payment::default()).await.unwrap().order_id;
    user.cancel_order(order).await.unwrap();
    order
}

const EVERYTHING: [&str; 7] = [
    "order.reserved",
    "order.released",
    "order.reserved",
    "order.released",
    "order.reserved",
    "order.paid",
    "order.cancelled",
];

profiles!(order_events_arrive_once_and_in_order);
async fn order_events_arrive_once_and_in_order(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let (first, second) = (buyer(app, 10_000).await, buyer(app, 10_000).await);
        let mut all = Listening::open(&app.admin(), "?types=order.", None).await;
        let mut seconds = Listening::open(&second, "", None).await;
        let mut paid = Listening::open(&app.admin(), "?types=order.paid", None).await;
        // Durable events may follow those of holds by a moment, so the users act one after the other.
        let order = one_of_everything(&first, option).await;
        assert_eq!(all.next_types(7).await, EVERYTHING);
        one_of_everything(&second, option).await;
        assert_eq!(all.next_types(7).await, EVERYTHING);
        for expected in EVERYTHING {
            let (_, event) = seconds.next().await;
            assert_eq!((event["type"].as_str(), &event["data"]["userId"]), (Some(expected), &json!(second.id)));
        }
        let (_, event) = paid.next().await;
        let data = &event["data"];
        assert_eq!(
            (&data["orderId"], &data["paidAmount"], &data["status"]),
            (&json!(order), &json!(2_000), &json!("PAID"))
        );
        assert_eq!(data["items"][0]["quantity"], json!(2));
    })
    .await;
}

profiles!(durable_order_events_are_never_missed);
async fn durable_order_events_are_never_missed(profile: Profile) {
    with_app(profile, async |app| {
        let option = option(app, 1_000, 10).await;
        let user = buyer(app, 10_000).await;
        let mut listening = Listening::open(&app.admin(), "?types=order.paid", None).await;
        one_of_everything(&user, option).await;
        let paid = listening.next().await.0;
        drop(listening);
        one_of_everything(&user, option).await;
        let mut back = Listening::open(&app.admin(), "?types=order.", Some(&paid)).await;
        assert_eq!(back.next_types(3).await, ["order.cancelled", "order.paid", "order.cancelled"]);
    })
    .await;
}

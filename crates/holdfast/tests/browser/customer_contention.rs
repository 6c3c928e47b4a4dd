//! Customer pages under contention: queue, race for one seat, sold-out states.

use holdfast_client::{Client, EventChange, Method};
use serde_json::json;

use super::Demo;
use super::driver::{Browser, Look};

const EVENT: u64 = 1;

/// Sets the limit of users inside, and lifts the limit of seats per user.
async fn let_in(demo: &Demo, max_concurrent: u32) -> Client {
    let change =
        EventChange { max_concurrent: Some(max_concurrent), max_seats_per_user: Some(104), ..EventChange::default() };
    demo.server.client().change_event(EVENT, &change).await.unwrap();
    // A user without a browser.
    demo.server.client().as_user(900_001)
}

async fn enter(user: &Client) {
    user.join_queue(EVENT).await.unwrap();
    user.enter_queue(EVENT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_entry_and_keyboard_seat_choice() {
    let demo = Demo::start(&[]);
    let other = let_in(&demo, 1).await;
    enter(&other).await;
    let browser = Browser::open(Look::KOREAN).await;
    browser.go(&demo.url("/demo/concert")).await;
    browser.click("#join").await;
    browser.until_shown("줄 서 있습니다").await;
    browser.until("document.querySelector('#place').textContent == '1'").await;
    browser.picture("demo-line").await;
    browser.set_look(Look { language: "ko-KR", dark: true, phone: true }).await;
    browser.picture("demo-line-phone").await;
    browser.set_look(Look::KOREAN).await;

    other.leave_queue(EVENT).await.unwrap();
    browser.until_shown("차례가 되었습니다").await;
    browser.picture("demo-turn").await;
    // The button has the focus, then the first seat: Enter, right, down, space.
    browser.until("document.activeElement?.id == 'enter'").await;
    browser.press("\u{E007}").await;
    browser.until("document.activeElement?.dataset.seat == 'A1'").await;
    browser.press("\u{E014}\u{E015} ").await;
    browser.until("document.querySelector('[data-seat=\"B2\"]').getAttribute('aria-pressed') == 'true'").await;
    browser.click("#hold").await;
    browser.until_shown("맡아 두었습니다").await;
    browser.click("#let-go").await;
    browser.until("document.querySelector('[data-seat=\"B2\"]')").await;

    // Leaves and joins again, behind a user who buys everything.
    browser.run("[...document.querySelectorAll('.side button')].at(-1).click()").await;
    browser.until_shown("줄에서 나왔습니다").await;
    enter(&other).await;
    browser.click("#join").await;
    browser.until_shown("줄 서 있습니다").await;
    let seats = demo.server.client().seats(EVENT).await.unwrap();
    let all: Vec<u64> = seats.iter().map(|seat| seat.id).collect();
    let (most, rest) = all.split_at(100);
    let holds = [other.hold_seats(EVENT, most).await.unwrap(), other.hold_seats(EVENT, rest).await.unwrap()];
    other.confirm_seat_hold(holds[0].hold_id).await.unwrap();
    let bought = other.confirm_seat_hold(holds[1].hold_id).await.unwrap();
    // The user still gets a turn once other users leave, and finds the sold-out notice.
    browser.until("document.querySelector('#sold-out') || document.querySelector('#enter')").await;
    if browser.run("return Boolean(document.querySelector('#enter'))").await == json!(true) {
        browser.click("#enter").await;
    }
    browser.until_shown("매진되었습니다").await;
    browser.picture("demo-sold-out").await;
    other.cancel_seat_reservation(bought.reservation_id).await.unwrap();
    browser.until("document.querySelector('#join')").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_race_has_one_winner() {
    let demo = Demo::start(&[]);
    let (mut one, mut two) = tokio::join!(Browser::open(Look::ENGLISH), Browser::open(Look::KOREAN));
    for browser in [&mut one, &mut two] {
        browser.expect("409 (Conflict)");
        browser.go(&demo.url("/demo/concert")).await;
        browser.click("#join").await;
        browser.click("[data-seat='D4']").await;
        // Hidden pages get no updates, so that neither sees the other's choice too early.
        browser.run("Object.defineProperty(document, 'hidden', { value: true })").await;
    }
    tokio::join!(one.click("#hold"), two.click("#hold"));
    let ended = "document.querySelector('#pay') || document.querySelector('.said .note')";
    tokio::join!(one.until(ended), two.until(ended));
    let has_it = "return Boolean(document.querySelector('#pay'))";
    let (first, second) = (one.run(has_it).await == json!(true), two.run(has_it).await == json!(true));
    assert_ne!(first, second, "exactly one has the seat");
    let (winner, loser, kind_word) =
        if first { (&one, &two, "간발의 차로") } else { (&two, &one, "a moment faster with seat D4") };
    loser.until_shown(kind_word).await;
    loser.picture("demo-lost-the-race").await;
    // The loser sees who holds the seat now, and can take another one.
    loser.until("document.querySelector('[data-seat=\"D4\"]').className.includes('held')").await;
    loser.click("[data-seat='D5']").await;
    loser.click("#hold").await;
    for browser in [winner, loser] {
        browser.click("#pay").await;
        browser.until("document.querySelector('#done')").await;
    }
    one.close().await;
    two.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_guest_is_offered_other_dates() {
    let demo = Demo::start(&[]);
    let (one, mut two) = tokio::join!(Browser::open(Look::ENGLISH), Browser::open(Look::ENGLISH));
    let room = "[data-room='3'] button.primary";
    for browser in [&one, &two] {
        browser.go(&demo.url("/demo/hotel")).await;
        browser.until(&format!("document.querySelector(\"{room}\")")).await;
        browser.run("Object.defineProperty(document, 'hidden', { value: true })").await;
    }
    two.expect("409 (Conflict)");
    one.click(room).await;
    one.until_shown("Held for you").await;
    two.click(room).await;
    two.until_shown("Another guest was a moment faster").await;
    two.picture("demo-hotel-late").await;
    two.click(".said .row button").await;
    two.until_shown("Available from").await;
    two.click(room).await;
    two.until_shown("Held for you").await;
    one.close().await;
    two.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_slot_and_low_balance_show_next_step() {
    let demo = Demo::start(&[]);
    let other = demo.server.client().as_user(2);
    let mut browser = Browser::open(Look::ENGLISH).await;
    browser.expect("409 (Conflict)");

    // The last places are taken while this page is hidden.
    browser.go(&demo.url("/demo/golf")).await;
    browser.until("document.querySelector('[data-slot] button')").await;
    browser.run("Object.defineProperty(document, 'hidden', { value: true, configurable: true })").await;
    let slot = browser.run("return Number(document.querySelector('[data-slot]').dataset.slot)").await;
    let body = json!({ "idempotencyKey": "all of it", "gameTimeSlotId": slot, "playerCount": 4 });
    let booked = other.request(Method::POST, "/bookings").header("prefer", "wait=4").json(&body).send().await.unwrap();
    assert!(booked.text().await.unwrap().contains("CONFIRMED"));
    browser.click("[data-slot] button").await;
    browser.run("delete document.hidden").await;
    browser.until_shown("this time has just filled up").await;
    browser.picture("demo-golf-full").await;

    // The last beans are reserved by another user by now.
    browser.go(&demo.url("/demo/shop")).await;
    browser.click("[data-key='add-6']").await;
    browser.until("document.querySelector('[data-line=\"6\"]')").await;
    other.put_cart_item(6, 1).await.unwrap();
    other.reserve_order().await.unwrap();
    browser.click("#reserve").await;
    browser.until_shown("reserved the last one").await;
    browser.picture("demo-shop-late").await;
    browser.click(".said .row button").await;
    browser.until("!document.querySelector('[data-line=\"6\"]')").await;

    // Costs more than the balance until money is added.
    for count in 1..=3 {
        browser.click("[data-key='add-3']").await;
        browser.until(&format!("document.querySelector('[data-line=\"3\"] output').textContent == '{count}'")).await;
    }
    browser.click("#reserve").await;
    browser.click("#pay").await;
    browser.until_shown("Your balance is too low").await;
    browser.picture("demo-shop-short").await;
    browser.click("#add-money").await;
    browser.until("document.querySelector('#balance').textContent.includes('200,000')").await;
    browser.click("#pay").await;
    browser.until_shown("Thank you for your order").await;
    browser.close().await;
}

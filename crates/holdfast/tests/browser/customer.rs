//! Customer pages of the demo, each followed to its end: in Korean on a light desktop, in English on a dark phone.

use holdfast_client::{OrderStatus, ReservationStatus, SeatReservationStatus};
use serde_json::Value;

use super::driver::{Browser, Look};
use super::support::Process;
use super::{Demo, accessibility};

/// Maximum size of all files of a page on the wire.
const PAGE_BYTES_MAX: u64 = 150 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn customer_journeys_complete_in_korean() {
    let words = Words {
        held: "맡아 두었습니다", refund: "100 %", let_go: "반납했습니다", free: "취소되었습니다"
    };
    walk(Look::KOREAN, "demo-desk", &words).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_journeys_complete_on_dark_phone() {
    let words = Words { held: "Held for you", refund: "100 %", let_go: "Released", free: "Cancelled" };
    walk(Look { language: "en-US", dark: true, phone: true }, "demo-phone", &words).await;
}

struct Words {
    held: &'static str,
    refund: &'static str,
    let_go: &'static str,
    free: &'static str,
}

async fn walk(look: Look, name: &str, words: &Words) {
    let demo = Demo::start(&[]);
    let browser = Browser::open(look).await;
    let visit = Visit { demo: &demo, browser: &browser, name };
    visit.index().await;
    visit.hotel(words).await;
    visit.shop().await;
    visit.golf(words).await;
    visit.meeting_room().await;
    visit.concert().await;
    browser.close().await;
}

struct Visit<'a> {
    demo: &'a Demo,
    browser: &'a Browser,
    name: &'a str,
}

impl Visit<'_> {
    /// Opens a page and waits until it contains the selector.
    async fn open(&self, path: &str, selector: &str) {
        self.browser.go(&self.demo.url(path)).await;
        self.browser.until(&format!("document.querySelector({})", Value::from(selector))).await;
    }

    /// Checks the current page: width, accessibility, size.
    async fn look(&self, what: &str) {
        let wide = self.browser.run("return document.documentElement.scrollWidth - innerWidth").await;
        assert!(wide.as_i64().unwrap() <= 0, "{what} is {wide} pixels too wide");
        accessibility::check(self.browser, what).await;
        let bytes = self.browser.run(BYTES).await.as_u64().unwrap();
        assert!((1..=PAGE_BYTES_MAX).contains(&bytes), "{what} weighs {bytes} bytes");
        self.browser.picture(&format!("{}-{what}", self.name)).await;
    }

    /// Returns the number on the last card.
    async fn number(&self) -> u64 {
        self.browser.until("document.querySelector('#number')").await;
        self.browser.text("#number").await.parse().unwrap()
    }

    async fn customer(&self) -> u64 {
        self.browser.until("sessionStorage.getItem('holdfast.customer')").await;
        let number = self.browser.run("return sessionStorage.getItem('holdfast.customer')").await;
        number.as_str().unwrap().parse().unwrap()
    }

    async fn index(&self) {
        self.open("/demo", "#start-sale").await;
        self.browser.until("document.querySelector('#customer')").await;
        self.look("index").await;
    }

    /// Hold, release; hold again across a reload, pay.
    async fn hotel(&self, words: &Words) {
        let room = "[data-room='2'] button.primary";
        self.open("/demo/hotel", room).await;
        self.look("hotel").await;
        self.browser.click(room).await;
        self.browser.until_shown(words.held).await;
        self.browser.click("#let-go").await;
        self.browser.until_shown(words.let_go).await;
        self.browser.click(room).await;
        self.browser.until_shown(words.held).await;
        self.open("/demo/hotel", "#pay").await;
        self.look("hotel-held").await;
        self.browser.click("#pay").await;
        let number = self.number().await;
        self.look("hotel-paid").await;
        let guest = self.demo.server.client().as_user(self.customer().await);
        assert_eq!(guest.reservation(number).await.unwrap().status, ReservationStatus::Confirmed);
    }

    /// Cart, reservation, coupon, balance too low, deposit, payment.
    async fn shop(&self) {
        self.open("/demo/shop", "#cart").await;
        // One after the other: a button in progress ignores clicks.
        for count in 1..=2 {
            self.browser.click("[data-key='add-5']").await;
            let shown = format!("document.querySelector('[data-line=\"5\"] output').textContent == '{count}'");
            self.browser.until(&shown).await;
        }
        self.browser.click("[data-key='add-3']").await;
        self.browser.until("document.querySelector('[data-line=\"3\"]')").await;
        self.look("shop").await;
        self.browser.click("#reserve").await;
        self.browser.click("#get-coupon").await;
        self.browser.until("document.querySelector('#coupon')").await;
        self.look("shop-reserved").await;
        // Two at 32,000 and one at 45,000, minus 10 %, are 98,100 of the 100,000 that a new guest has.
        self.browser.click("#pay").await;
        let number = self.number().await;
        self.look("shop-paid").await;
        let guest = self.demo.server.client().as_user(self.customer().await);
        let order = guest.order(number).await.unwrap();
        assert_eq!((order.status, order.paid_amount), (OrderStatus::Paid, 98_100));
    }

    /// Request, confirmation, quote, cancellation.
    async fn golf(&self, words: &Words) {
        self.open("/demo/golf", "[data-slot] button").await;
        self.look("golf").await;
        self.browser.click("[data-slot] button").await;
        self.browser.until("document.querySelector('[data-booking=\"CONFIRMED\"]')").await;
        self.look("golf-confirmed").await;
        self.browser.click("#cancel").await;
        self.browser.until_shown(words.refund).await;
        self.browser.click("#yes").await;
        self.browser.until("document.querySelector('[data-booking=\"CANCELLED\"]')").await;
        self.browser.until_shown(words.free).await;
        self.look("golf-cancelled").await;
    }

    async fn meeting_room(&self) {
        self.open("/demo/rooms", "[data-time='10:00']").await;
        self.browser.click("[data-time='10:00']").await;
        self.browser.click("[data-time='11:00']").await;
        self.look("rooms").await;
        self.browser.click("#hold").await;
        self.browser.until("document.querySelector('#pay')").await;
        self.look("rooms-held").await;
        self.browser.click("#pay").await;
        let number = self.number().await;
        let guest = self.demo.server.client().as_user(self.customer().await);
        assert_eq!(guest.room_reservation(number).await.unwrap().slots.len(), 2);
    }

    /// No other customer queues: enters at once, holds two seats, pays.
    async fn concert(&self) {
        self.open("/demo/concert", "#join").await;
        self.look("concert").await;
        self.browser.click("#join").await;
        self.browser.click("[data-seat='C7']").await;
        self.browser.click("[data-seat='C8']").await;
        self.look("concert-seats").await;
        self.browser.click("#hold").await;
        self.browser.until("document.querySelector('#pay')").await;
        self.look("concert-held").await;
        self.browser.click("#pay").await;
        let number = self.number().await;
        self.look("concert-paid").await;
        let guest = self.demo.server.client().as_user(self.customer().await);
        let reservation = guest.seat_reservation(number).await.unwrap();
        assert_eq!((reservation.status, reservation.seats.len()), (SeatReservationStatus::Reserved, 2));
    }
}

/// Size of the page and every script, style and picture it loaded, without responses of the API.
const BYTES: &str = r"
    const parts = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    return parts.filter((it) => it.initiatorType !== 'fetch').reduce((sum, it) => sum + it.encodedBodySize, 0)";

#[tokio::test(flavor = "multi_thread")]
async fn expired_hold_offers_next_step() {
    let demo = Demo::start(&[("HOLDFAST_STAY_HOLD_TTL", "3s"), ("HOLDFAST_CALENDAR_LOCK_TTL", "3s")]);
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/demo/hotel")).await;
    browser.click("[data-room='3'] button.primary").await;
    browser.until("document.querySelector('.time').textContent.startsWith('0:0')").await;
    browser.until_shown("Your hold has expired").await;
    browser.picture("demo-time-is-up").await;
    browser.click("#again").await;
    browser.click("#pay").await;
    browser.until_shown("Booking confirmed").await;
    browser.go(&demo.url("/demo/rooms")).await;
    browser.click("[data-time='15:00']").await;
    browser.click("#hold").await;
    browser.until_shown("Your hold has expired").await;
    browser.click("#again").await;
    browser.click("#pay").await;
    browser.until_shown("Booking confirmed").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sale_starts_by_button_and_ends_with_report() {
    let demo = Demo::start(&[]);
    let browser = Browser::open(Look::ENGLISH).await;
    browser.go(&demo.url("/demo")).await;
    browser.fill("#sale input", "60").await;
    browser.click("#start-sale").await;
    browser.until("['gathering', 'selling'].includes(document.querySelector('#phase').dataset.phase)").await;
    browser.picture("demo-sale").await;
    browser.click("#report").await;
    browser.until_shown("Seats sold").await;
    let shown = browser.text("#oversold").await;
    let seats = demo.server.client().seats(1).await.unwrap();
    let sold = seats.iter().filter(|seat| seat.status == holdfast_client::SeatStatus::Reserved).count();
    assert_eq!((shown.as_str(), browser.text("#seats-sold").await), ("0", format!("{sold} of 104")));
    browser.picture("demo-sale-report").await;
    browser.set_look(Look { language: "en-US", dark: true, phone: true }).await;
    browser.picture("demo-sale-report-phone").await;
    // Operators have the same button, and see the same sale.
    browser.go(&demo.url("/")).await;
    browser.until("document.querySelector('#start-sale') && document.querySelector('#report')").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sale_at_a_time_can_be_stopped() {
    let demo = Demo::start(&[]);
    let http = reqwest::Client::new();
    let start = async |body: &'static str| {
        let sent = http.post(demo.url("/demo/sale")).body(body).send().await.unwrap();
        (sent.status().as_u16(), sent.json::<Value>().await.unwrap())
    };
    for (body, field) in
        [(r#"{"people":0}"#, "people"), (r#"{"people":20001}"#, "people"), (r#"{"thinkMs":60000}"#, "thinkMs")]
    {
        let (status, problem) = start(body).await;
        assert_eq!((status, &problem["field"]), (400, &Value::from(field)), "{body}: {problem}");
    }
    assert_eq!(http.get(demo.url("/demo/sale/report")).send().await.unwrap().status(), 404, "no sale has ended yet");
    // The thinking time is longer than the time until the stop.
    assert_eq!(start(r#"{"people":30,"thinkMs":30000}"#).await.0, 202);
    assert_eq!(start("{}").await.0, 200, "the running sale is returned, no other is started");
    assert_eq!(http.delete(demo.url("/demo/sale")).send().await.unwrap().status(), 204);
    let ended = async {
        loop {
            let sale: Value = http.get(demo.url("/demo/sale")).send().await.unwrap().json().await.unwrap();
            if sale["report"].is_string() {
                return sale;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let sale = tokio::time::timeout(std::time::Duration::from_secs(20), ended).await.unwrap();
    assert_eq!((&sale["phase"], &sale["people"], &sale["inside"]), (&"done".into(), &30.into(), &0.into()));
    let event = demo.server.client().event(1).await.unwrap();
    assert_eq!(event.sales_open_at, None, "sales are open again");
}

#[tokio::test(flavor = "multi_thread")]
async fn customer_pages_need_demo() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(data.path(), &[]);
    let http = reqwest::Client::new();
    for path in ["/demo", "/demo/hotel", "/demo/sale", "/demo/sale/report"] {
        let answer = http.get(format!("{}{path}", server.url)).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
    }
    let started = http.post(format!("{}/demo/sale", server.url)).body("{}").send().await.unwrap();
    assert_eq!(started.status(), 404);
}

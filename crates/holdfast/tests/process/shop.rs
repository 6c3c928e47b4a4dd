//! SIGKILL during orders, on every profile. Unanswered requests are retried under the same key, so every order, charge
//! and piece is accounted for in the end: no acknowledged result is lost, no order or charge happens twice.
//!
//! `FAULT_ROUNDS=200 cargo test -p holdfast --test process shop` runs it for longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use holdfast_client::{Client, NewCoupon, NewProduct, NewProductOption, Order, OrderStatus, Payment};
use holdfast_testkit::{PostgresOptions, PostgresServer};

use crate::cluster::Cluster;
use crate::retrying_client::{Clients, RetryingClient};
use crate::support::{Process, run, verify};

const BUYERS: usize = 24;
const OPTIONS: usize = 5;
const PIECES: u32 = 1_000_000;
const PRICE: i64 = 700;
/// Short life of a reservation, so that leftovers can be told from live ones.
const HOLD_TTL: (&str, &str) = ("HOLDFAST_SHOP_HOLD_TTL", "4s");
const QUIET: (&str, &str) = ("HOLDFAST_LOG_LEVEL", "off");

fn rounds(usual: u32) -> u32 {
    std::env::var("FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_survive_kills_embedded() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let start = || Process::start_with(&["--data", data.to_str().unwrap()], &[HOLD_TTL, QUIET]);
    let check = || verify(data);
    run_with_kills(start, check, rounds(8)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_survive_kills_postgres() {
    let postgres = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
    let database = postgres.postgres().database();
    let start = || Process::start_with(&["--database-url", database.url()], &[HOLD_TTL, QUIET]);
    let check = || run(&["verify", "--database-url", database.url()]);
    run_with_kills(start, check, rounds(6)).await;
}

/// Runs buyers on one server that is killed repeatedly.
async fn run_with_kills(start: impl Fn() -> Process, check: impl Fn() -> (i32, String), rounds: u32) {
    let mut process = start();
    let servers = Clients::default();
    servers.write().unwrap().push(process.client());
    let buyers = ShopLoad::open(servers.clone()).await;
    for round in 0..rounds {
        tokio::time::sleep(Duration::from_millis(300 + u64::from(round * 61 % 250))).await;
        process = tokio::task::block_in_place(|| {
            process.kill_9();
            let (code, findings) = check();
            assert_eq!(code, 0, "after round {round}: {findings}");
            start()
        });
        servers.write().unwrap()[0] = process.client();
    }
    buyers.leave_and_compare().await;
    process.kill_9();
    let (code, findings) = check();
    assert_eq!(code, 0, "{findings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_survive_faults_cluster() {
    let mut cluster = Cluster::start();
    let buyers = ShopLoad::open(cluster.clients.clone()).await;
    for round in 0..rounds(9) {
        tokio::time::sleep(Duration::from_millis(300 + u64::from(round * 37 % 200))).await;
        tokio::task::block_in_place(|| cluster.inject_fault(round));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    buyers.leave_and_compare().await;
    let (code, findings) = cluster.verify();
    assert_eq!(code, 0, "{findings}");
}

/// Concurrent buyers, each with an account, all on the same goods.
struct ShopLoad {
    servers: Clients,
    options: Arc<[u64]>,
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<Buyer>>,
}

/// Buyer that records every answer.
struct Buyer {
    client: RetryingClient,
    number: usize,
    options: Arc<[u64]>,
    charged: i64,
    orders: BTreeMap<u64, Order>,
}

impl ShopLoad {
    async fn open(servers: Clients) -> Self {
        let admin = servers.read().unwrap()[0].clone();
        let options = (0..OPTIONS).map(|number| NewProductOption::new(format!("O-{number}"), PRICE, PIECES));
        let made = admin.create_product(&NewProduct::new("원두", options.collect())).await.unwrap();
        let options: Arc<[u64]> = made.options.iter().map(|option| option.id).collect();
        admin.create_coupon(&NewCoupon::percent("TEN", 10, 1_000)).await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut buyers = Vec::new();
        for number in 0..BUYERS {
            let id = admin.create_account("손님 하나").await.unwrap().id;
            admin.as_user(id.clone()).take_coupon("TEN").await.unwrap();
            let buyer = Buyer {
                client: RetryingClient::new(servers.clone(), id, number),
                number,
                options: options.clone(),
                charged: 0,
                orders: BTreeMap::new(),
            };
            buyers.push(tokio::spawn(buyer.until_told_to_stop(stop.clone())));
        }
        Self { servers, options, stop, tasks: buyers }
    }

    /// Checks that the server's state equals what was answered to the buyers.
    async fn leave_and_compare(self) {
        self.stop.store(true, Ordering::Relaxed);
        let admin = self.servers.read().unwrap()[0].clone();
        let mut sold: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut orders, mut cancelled, mut requests) = (0, 0, 0);
        for buyer in self.tasks {
            let buyer = buyer.await.unwrap();
            let found = all_orders(&admin.as_user(buyer.client.user.clone())).await;
            let told: Vec<Order> = buyer.orders.values().cloned().collect();
            assert_eq!(found, told, "the orders of user {} are those that were acknowledged", buyer.client.user);
            let paid: i64 =
                told.iter().filter(|order| order.status == OrderStatus::Paid).map(|it| it.paid_amount).sum();
            let balance = admin.account(&buyer.client.user).await.unwrap().balance;
            assert_eq!(balance + paid, buyer.charged, "the money of user {}", buyer.client.user);
            for item in told.iter().filter(|order| order.status == OrderStatus::Paid).flat_map(|order| &order.items) {
                *sold.entry(item.product_option_id).or_default() += item.quantity;
            }
            orders += told.len();
            cancelled += told.iter().filter(|order| order.status == OrderStatus::Cancelled).count();
            requests += buyer.client.requests;
        }
        println!("{requests} requests were answered: {orders} orders, {cancelled} of them cancelled");
        assert!(orders > 60 && cancelled > 10, "there was load: {orders} orders, {cancelled} cancelled");
        let began = Instant::now();
        for option in &*self.options {
            let left = PIECES - sold.get(option).copied().unwrap_or_default();
            // Reservations expire, and unfinished attempts are resolved.
            loop {
                let shown = admin.product_option(*option).await.unwrap();
                assert_eq!(shown.stock_quantity, left, "the stock of option {option}");
                if shown.reserved_quantity == 0 {
                    assert_eq!(shown.available_stock, left);
                    break;
                }
                assert!(began.elapsed() < Duration::from_secs(30), "{shown:?}: still reserved without a reservation");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// Removes fields that appear only right after payment.
fn as_shown(order: Order) -> Order {
    Order { balance_after: None, ..order }
}

async fn all_orders(user: &Client) -> Vec<Order> {
    let (mut orders, mut cursor) = (Vec::new(), None);
    loop {
        let mut query = vec![("limit", "500".to_owned())];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page = user.orders(&query).await.unwrap();
        orders.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return orders;
        }
    }
}

impl Buyer {
    async fn until_told_to_stop(mut self, stop: Arc<AtomicBool>) -> Self {
        let mut round = self.number;
        while !stop.load(Ordering::Relaxed) {
            self.one_order(round).await;
            round += 1;
        }
        self
    }

    async fn one_order(&mut self, round: usize) {
        if round % 4 == self.number % 4 {
            let id = self.client.user.clone();
            self.client
                .answer(|server| {
                    let id = id.clone();
                    async move { server.add_balance(&id, 9_000).await }
                })
                .await
                .expect("money can always be added");
            self.charged += 9_000;
        }
        for step in 0..2 {
            let option = self.options[(round * 3 + step) % OPTIONS];
            let quantity = u32::try_from(1 + (round + step) % 3).unwrap();
            self.client
                .answer(move |server| async move { server.put_cart_item(option, quantity).await })
                .await
                .unwrap();
        }
        // A reservation left from the last round is replaced, if it is still live.
        self.client
            .answer(move |server| async move { server.replace_order_reservation().await })
            .await
            .expect("the stock suffices for all buyers");
        match round % 6 {
            4 => {
                // The reservation may have expired meanwhile.
                self.client.answer(move |server| async move { server.release_order().await }).await.ok();
            }
            5 => {}
            _ => self.pay_and_perhaps_cancel(round).await,
        }
    }

    async fn pay_and_perhaps_cancel(&mut self, round: usize) {
        let coupon_code = round.is_multiple_of(5).then(|| "TEN".to_owned());
        let payment = Payment { coupon_code, ..Payment::default() };
        let order = match self
            .client
            .answer(|server| {
                let payment = payment.clone();
                async move { server.pay_order(&payment).await }
            })
            .await
        {
            Ok(order) => order,
            Err(code) => {
                let refusals = ["INSUFFICIENT_BALANCE", "COUPON_NOT_USABLE", "RESERVATION_EXPIRED"];
                assert!(refusals.contains(&&*code), "a live reservation can always be paid: {code}");
                return;
            }
        };
        let number = order.order_id;
        let before = self.orders.insert(number, as_shown(order));
        assert_eq!(before, None, "ids are not reused");
        if round % 3 == 1 {
            let cancelled = self.client.answer(move |server| async move { server.cancel_order(number).await }).await;
            self.orders.insert(number, cancelled.expect("a paid order can be cancelled"));
        }
    }
}

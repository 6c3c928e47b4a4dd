//! The bus on a real NATS: no published message is lost, whichever process is killed.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt as _;
use holdfast_connect::TlsRoots;
use holdfast_events::nats::{BusError, Connection, Delivery, HeaderMap, Options, RequestMessage};
use holdfast_events::nats::{Publication, Reply, StreamOptions, Verdict};
use holdfast_testkit::certificate::CERTIFICATE;
use holdfast_testkit::{NatsOptions, NatsServer, nats};
use tokio::sync::{mpsc, oneshot, watch};

fn options(url: &str) -> Options {
    Options {
        url: url.into(),
        tls_roots: TlsRoots::default(),
        prefix: nats().prefix(),
        name: "test".into(),
        timeout: Duration::from_secs(2),
        age_max: Duration::from_hours(1),
        bytes_max: 1 << 20,
        streams: vec![StreamOptions {
            service: "course".into(),
            subjects: vec!["slot.reserve".into()],
            listeners: Vec::new(),
        }],
    }
}

async fn connect(options: Options) -> Connection {
    let connection = Connection::open(options).await.unwrap();
    until_there(&connection).await;
    connection
}

async fn until_there(connection: &Connection) {
    let there = async {
        while connection.check().is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), there).await.unwrap();
}

async fn publish(connection: &Connection, id: &str, key: u64) -> Result<(), BusError> {
    let payload = id.to_owned().into();
    connection.publish(&Publication { subject: "slot.reserve", id, key, headers: HeaderMap::new(), payload }).await
}

type Seen = mpsc::UnboundedReceiver<(String, u64)>;

/// Processes messages with `judge`, and reports each delivery.
fn consume(connection: &Connection, judge: fn(&str, u64) -> Verdict) -> (Seen, oneshot::Sender<()>) {
    let (seen, receiver) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let connection = connection.clone();
    tokio::spawn(async move {
        let handle = move |delivery: Delivery| {
            let seen = seen.clone();
            async move {
                assert_eq!(delivery.subject, "slot.reserve");
                let id = String::from_utf8(delivery.payload.to_vec()).unwrap();
                let verdict = judge(&id, delivery.deliveries);
                seen.send((id, delivery.deliveries)).ok();
                verdict
            }
        };
        connection.consume("course", handle, async { stopped.await.unwrap_or_default() }).await;
    });
    (receiver, stop)
}

async fn next(seen: &mut Seen) -> (String, u64) {
    tokio::time::timeout(Duration::from_secs(20), seen.recv()).await.expect("a message arrives").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_arrive_once_and_in_key_order() {
    let connection = connect(options(nats().url())).await;
    // NATS stores the messages: no consumer reads them yet.
    for number in 0..30 {
        publish(&connection, &number.to_string(), number % 3).await.unwrap();
        publish(&connection, &number.to_string(), number % 3).await.unwrap();
    }
    let (mut seen, _stop) = consume(&connection, |_, _| Verdict::Processed);
    let mut orders: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for _ in 0..30 {
        let number: u64 = next(&mut seen).await.0.parse().unwrap();
        orders.entry(number % 3).or_default().push(number);
    }
    assert!(orders.values().all(|order| order.is_sorted() && order.len() == 10), "{orders:?}");
    publish(&connection, "last", 1).await.unwrap();
    assert_eq!(next(&mut seen).await.0, "last", "no message arrived twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_message_is_redelivered() {
    let connection = connect(options(nats().url())).await;
    let (mut seen, _stop) = consume(&connection, |id, tries| match (id, tries) {
        ("wrong", _) => Verdict::Discard,
        ("late", 1 | 2) => Verdict::Retry,
        _ => Verdict::Processed,
    });
    publish(&connection, "wrong", 1).await.unwrap();
    assert_eq!(next(&mut seen).await, ("wrong".into(), 1));
    publish(&connection, "late", 1).await.unwrap();
    for tries in 1..=3 {
        assert_eq!(next(&mut seen).await, ("late".into(), tries));
    }
}

/// Options under which work on a message may take much longer than NATS waits for a sign of it.
fn patient_options() -> Options {
    Options { timeout: Duration::from_secs(30), ..options(nats().url()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn message_of_dead_consumer_comes_again_soon() {
    let connection = connect(patient_options()).await;
    connection.prepare(Duration::from_secs(20)).await.unwrap();
    publish(&connection, "1", 1).await.unwrap();
    // A consumer that dies with the message.
    let client = async_nats::connect(nats().url()).await.unwrap();
    let jetstream = async_nats::jetstream::new(client.clone());
    let stream = connection.options().stream("course");
    let consumer: PullConsumer = jetstream.get_consumer_from_stream("course", stream).await.unwrap();
    consumer.fetch().max_messages(1).messages().await.unwrap().next().await.unwrap().unwrap();
    let died = Instant::now();
    let (mut seen, _stop) = consume(&connection, |_, _| Verdict::Processed);
    assert_eq!(next(&mut seen).await, ("1".into(), 2));
    assert!(died.elapsed() < Duration::from_secs(5), "3 s are promised; after {:?}", died.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn message_in_progress_is_not_delivered_again() {
    let connection = connect(patient_options()).await;
    connection.prepare(Duration::from_secs(20)).await.unwrap();
    // The second waits in its lane while the first is being acted on, for longer than the ack wait.
    for id in ["1", "2"] {
        publish(&connection, id, 1).await.unwrap();
    }
    let (seen, mut receiver) = mpsc::unbounded_channel();
    for _ in 0..2 {
        let (connection, seen) = (connection.clone(), seen.clone());
        tokio::spawn(async move {
            let slow = connection.options().ack_wait() * 2;
            let handle = move |delivery: Delivery| {
                let seen = seen.clone();
                async move {
                    seen.send((String::from_utf8(delivery.payload.to_vec()).unwrap(), delivery.deliveries)).ok();
                    tokio::time::sleep(slow).await;
                    Verdict::Processed
                }
            };
            connection.consume("course", handle, std::future::pending()).await;
        });
    }
    let mut acted = [next(&mut receiver).await, next(&mut receiver).await];
    acted.sort();
    assert_eq!(acted, [("1".into(), 1), ("2".into(), 1)]);
    let again = tokio::time::timeout(connection.options().ack_wait() * 3, receiver.recv()).await;
    assert!(again.is_err(), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_consumer_returns_its_messages() {
    let connection = connect(patient_options()).await;
    connection.prepare(Duration::from_secs(20)).await.unwrap();
    let (seen, mut first) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let (go_on, waiting) = watch::channel(false);
    let stopping = connection.clone();
    let consuming = tokio::spawn(async move {
        let handle = move |delivery: Delivery| {
            let (seen, mut waiting) = (seen.clone(), waiting.clone());
            async move {
                seen.send((String::from_utf8(delivery.payload.to_vec()).unwrap(), delivery.deliveries)).ok();
                waiting.wait_for(|go_on| *go_on).await.unwrap();
                Verdict::Processed
            }
        };
        stopping.consume("course", handle, async { stopped.await.unwrap_or_default() }).await;
    });
    // All messages have one key: the first is being handled, the rest wait behind it.
    for id in 0..20 {
        publish(&connection, &id.to_string(), 1).await.unwrap();
    }
    assert_eq!(next(&mut first).await, ("0".into(), 1));
    let (mut seen, _stop) = consume(&connection, |_, _| Verdict::Processed);
    stop.send(()).unwrap();
    let mut rest: BTreeSet<_> = (1..20).map(|id| id.to_string()).collect();
    // The other consumer gets all of them while the first message is still being acted on.
    while !rest.is_empty() {
        rest.remove(&next(&mut seen).await.0);
    }
    assert!(!consuming.is_finished(), "the first message is under way");
    go_on.send_replace(true);
    consuming.await.unwrap();
    assert!(first.recv().await.is_none(), "no other message has begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn full_stream_rejects_and_drops_nothing() {
    let connection = connect(options(nats().url())).await;
    let publish = async |id: &str, bytes: usize| {
        let payload = vec![b'x'; bytes].into();
        let headers = HeaderMap::new();
        connection.publish(&Publication { subject: "slot.reserve", id, key: 1, headers, payload }).await
    };
    let mut taken = 0;
    let refused = loop {
        match publish(&taken.to_string(), 200 << 10).await {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 10, "the stream holds at most 1 MiB");
    };
    assert!(matches!(refused, BusError::Refused(_)), "{refused}");
    let (mut seen, _stop) = consume(&connection, |_, _| Verdict::Processed);
    for _ in 0..taken {
        next(&mut seen).await;
    }
    assert_eq!(publish("too large", 2 << 20).await, Err(BusError::TooLarge { max: 1 << 20 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_restart_loses_no_message() {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let connection = connect(options(server.url())).await;
    let (mut seen, _stop) = consume(&connection, |_, _| Verdict::Processed);
    let mut published = 0;
    for round in 0..4 {
        for _ in 0..50 {
            // Retries until the message is stored, as the relay does.
            while publish(&connection, &published.to_string(), published % 7).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            published += 1;
        }
        if round < 3 {
            tokio::task::block_in_place(|| server.restart().unwrap());
        }
    }
    let mut acted = BTreeSet::new();
    while acted.len() < published as usize {
        acted.insert(next(&mut seen).await.0);
    }
}

/// NATS 2.9 keeps such messages when it is killed, and never delivers them again.
#[tokio::test(flavor = "multi_thread")]
async fn unacknowledged_message_survives_nats_kill() {
    delivered_and_then_killed(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repair_works_with_lagging_consumer() {
    delivered_and_then_killed(&["api"]).await;
}

async fn delivered_and_then_killed(listeners: &[&str]) {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let mut options = options(server.url());
    options.streams[0].listeners = listeners.iter().map(|name| (*name).to_owned()).collect();
    let stream = options.stream("course");
    let connection = connect(options).await;
    connection.prepare(Duration::from_secs(20)).await.unwrap();
    let mut unacknowledged = BTreeSet::new();
    for number in 0..100_u64 {
        publish(&connection, &number.to_string(), number).await.unwrap();
        unacknowledged.insert(number.to_string());
    }
    // Stands for a client that acknowledges the first ten, then every other one of fifty, and is killed, too.
    let client = async_nats::connect(server.url()).await.unwrap();
    let jetstream = async_nats::jetstream::new(client.clone());
    let consumer: PullConsumer = jetstream.get_consumer_from_stream("course", stream).await.unwrap();
    let mut messages = consumer.fetch().max_messages(60).messages().await.unwrap();
    for number in 0..60 {
        let message = messages.next().await.unwrap().unwrap();
        if number < 10 || number % 2 == 0 {
            message.double_ack().await.unwrap();
            unacknowledged.remove(std::str::from_utf8(&message.payload).unwrap());
        }
    }
    client.drain().await.ok();
    // Time for NATS to store the delivery state.
    tokio::time::sleep(Duration::from_millis(500)).await;
    tokio::task::block_in_place(|| server.restart().unwrap());
    until_there(&connection).await;

    let (mut seen, _stop) = consume(&connection, |_, _| Verdict::Processed);
    while !unacknowledged.is_empty() {
        unacknowledged.remove(&next(&mut seen).await.0);
    }
}

/// The connection reconnects, and consuming continues.
#[tokio::test(flavor = "multi_thread")]
async fn delayed_redelivery_survives_nats_kill() {
    static IS_KILLED: AtomicBool = AtomicBool::new(false);
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    let connection = connect(options(server.url())).await;
    let (mut seen, _stop) = consume(&connection, |id, _| {
        let is_hard = id.parse::<u64>().unwrap() >= 10;
        if is_hard && !IS_KILLED.load(Ordering::SeqCst) { Verdict::Retry } else { Verdict::Processed }
    });
    for number in 0..30_u64 {
        publish(&connection, &number.to_string(), number).await.unwrap();
    }
    // By then the next delivery is more than a second away, and NATS has stored that.
    let mut hard: BTreeSet<_> = (10..30).map(|number: u64| number.to_string()).collect();
    while !hard.is_empty() {
        let (id, tries) = next(&mut seen).await;
        if tries == 4 {
            hard.remove(&id);
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    IS_KILLED.store(true, Ordering::SeqCst);
    tokio::task::block_in_place(|| server.restart().unwrap());
    let mut waiting: BTreeSet<_> = (10..30).map(|number: u64| number.to_string()).collect();
    while !waiting.is_empty() {
        waiting.remove(&next(&mut seen).await.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_in_address_are_used() {
    let server = NatsServer::start_guarded(&NatsOptions { jetstream: true }).unwrap();
    let connection = connect(options(server.url())).await;
    connection.prepare(Duration::from_secs(20)).await.unwrap();
    publish(&connection, "1", 1).await.unwrap();
    let host = server.url().split('@').nth(1).unwrap();
    for wrong in [format!("nats://{host}"), format!("nats://tester:wrong@{host}")] {
        let refused = Connection::open(options(&wrong)).await.unwrap();
        assert!(refused.prepare(Duration::from_millis(500)).await.is_err(), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_or_plain_nats_is_rejected() {
    let encrypted = NatsServer::start_encrypted(&NatsOptions { jetstream: true }).unwrap();
    let trusted = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(trusted.path(), CERTIFICATE).unwrap();
    let tls_roots = TlsRoots::file(trusted.path()).unwrap();
    let trusting = |url: &str| Options { tls_roots: tls_roots.clone(), ..options(url) };
    let connection = connect(trusting(encrypted.url())).await;
    connection.prepare(Duration::from_secs(20)).await.unwrap();
    publish(&connection, "1", 1).await.unwrap();

    let numbered = encrypted.url().replace("localhost", "127.0.0.1");
    let plain = nats().url().replace("nats://127.0.0.1", "tls://localhost");
    // One address that requires TLS makes it required for all.
    let mixed = format!("tls://localhost:1,{}", nats().url());
    for wrong in [options(encrypted.url()), trusting(&numbered), trusting(&plain), trusting(&mixed)] {
        let url = wrong.url.clone();
        let refused = Connection::open(wrong).await.unwrap();
        assert!(refused.prepare(Duration::from_millis(500)).await.is_err(), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_is_answered_or_has_no_responder() {
    let connection = connect(options(nats().url())).await;
    let ask = async |text: &str| {
        connection.request("echo", HeaderMap::new(), text.to_owned().into(), Duration::from_secs(1)).await
    };
    assert_eq!(ask("a").await.unwrap_err(), BusError::NoSubscriber);
    let (_stop, stopped) = oneshot::channel::<()>();
    let listening = connection.clone();
    let answering = tokio::spawn(async move {
        let handle = |asked: RequestMessage| async move {
            match &*asked.payload {
                b"much" => Reply { headers: HeaderMap::new(), payload: vec![0; 2 << 20].into() },
                b"never" => std::future::pending().await,
                _ => Reply { headers: HeaderMap::new(), payload: asked.payload },
            }
        };
        let too_large = |max: usize| Reply { headers: HeaderMap::new(), payload: max.to_string().into() };
        listening.respond("echo", handle, too_large, async { stopped.await.unwrap_or_default() }).await;
    });
    while ask("a").await == Err(BusError::NoSubscriber) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(&*ask("a").await.unwrap().payload, b"a");
    assert_eq!(&*ask("much").await.unwrap().payload, (1 << 20).to_string().as_bytes());
    assert_eq!(ask("never").await.unwrap_err(), BusError::TimedOut);
    answering.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_opens_while_nats_is_down() {
    let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
    server.kill();
    let connection = Connection::open(options(server.url())).await.unwrap();
    let at = server.url().trim_start_matches("nats://").to_owned();
    let unavailable = BusError::Unavailable { at: at.clone() };
    assert_eq!(unavailable.to_string(), format!("NATS at {at} is unavailable"));
    assert_eq!(connection.check(), Err(unavailable.clone()));
    assert_eq!(publish(&connection, "a", 1).await, Err(unavailable));
    tokio::task::block_in_place(|| server.restart().unwrap());
    until_there(&connection).await;
    publish(&connection, "a", 1).await.unwrap();
    assert!(matches!(Connection::open(options("nats://:x:y")).await, Err(BusError::Address(_))));
}

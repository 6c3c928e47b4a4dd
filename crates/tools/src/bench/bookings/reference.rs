//! Reference implementation: sequential commits, and a saga of three commits with two NATS messages between them. The
//! latter is a lower bound for a booking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hdrhistogram::Histogram;
use holdfast_connect::TlsRoots;
use holdfast_events::nats::{Connection, Delivery, HeaderMap, Options, Publication, StreamOptions, Verdict};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Statement};

use super::super::load::Measured;
use super::super::stores::Database;

/// Number of commits, and of sagas, measured.
const COMMITS: u32 = 300;
/// About the size of a booking's messages.
const MESSAGE: &[u8] = &[b' '; 400];
const SAGA_TIMEOUT: Duration = Duration::from_secs(5);

/// Connection that inserts a row and commits it.
struct Writer {
    client: Client,
    insert: Statement,
}

impl Writer {
    async fn connect(database: &Database) -> anyhow::Result<Self> {
        let client = database.connect().await?;
        client.batch_execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, text text)").await?;
        let insert = client.prepare("INSERT INTO bare (text) VALUES ('as short as can be')").await?;
        Ok(Self { client, insert })
    }

    async fn write(&self) -> anyhow::Result<()> {
        self.client.execute(&self.insert, &[]).await?;
        Ok(())
    }
}

pub(super) async fn commits(database: &Database) -> anyhow::Result<Measured> {
    let writer = Writer::connect(database).await?;
    sequentially(async || writer.write().await).await
}

pub(super) async fn sagas(database: &Database, nats_url: &str) -> anyhow::Result<Measured> {
    let stream = |service: &str, subject: &str| StreamOptions {
        service: service.into(),
        subjects: vec![subject.into()],
        listeners: Vec::new(),
    };
    let options = Options {
        url: nats_url.into(),
        tls_roots: TlsRoots::default(),
        prefix: "by-hand".into(),
        name: "reference".into(),
        timeout: SAGA_TIMEOUT,
        age_max: Duration::from_hours(1),
        bytes_max: 1 << 30,
        streams: vec![stream("course", "slot.reserve"), stream("booking", "slot.reserved")],
    };
    let bus = Connection::open(options).await?;
    bus.prepare(SAGA_TIMEOUT).await?;
    let (done, mut ended) = mpsc::channel(1);
    let publisher = bus.clone();
    let reserve = move || {
        let bus = publisher.clone();
        async move { Ok(publish(&bus, "slot.reserved").await?) }
    };
    let confirm = move || {
        let done = done.clone();
        async move { Ok(done.send(()).await?) }
    };
    let course = spawn_consumer(&bus, "course", Writer::connect(database).await?, reserve);
    let booking = spawn_consumer(&bus, "booking", Writer::connect(database).await?, confirm);

    let writer = Writer::connect(database).await?;
    let measured = sequentially(async || {
        writer.write().await?;
        let ends = async { ended.recv().await.context("the consumers have stopped") };
        // Waits for the publish acknowledgement and the consumers at the same time.
        let both = async { tokio::try_join!(async { Ok(publish(&bus, "slot.reserve").await?) }, ends) };
        tokio::time::timeout(SAGA_TIMEOUT, both).await?.map(|_| ())
    })
    .await;
    course.abort();
    booking.abort();
    measured
}

/// Consumer that commits for each message, then calls `then`.
fn spawn_consumer<T, F>(bus: &Connection, service: &'static str, writer: Writer, then: T) -> JoinHandle<()>
where
    T: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let bus = bus.clone();
    let (writer, then) = (Arc::new(writer), Arc::new(then));
    let handle = move |_: Delivery| {
        let (writer, then) = (writer.clone(), then.clone());
        async move { if writer.write().await.is_ok() && then().await.is_ok() { Verdict::Processed } else { Verdict::Retry } }
    };
    tokio::spawn(async move { bus.consume(service, handle, std::future::pending()).await })
}

async fn publish(bus: &Connection, subject: &str) -> Result<(), holdfast_events::nats::BusError> {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let id = SENT.fetch_add(1, Ordering::Relaxed).to_string();
    bus.publish(&Publication { subject, id: &id, key: 0, headers: HeaderMap::new(), payload: MESSAGE.into() }).await
}

async fn sequentially(mut each: impl AsyncFnMut() -> anyhow::Result<()>) -> anyhow::Result<Measured> {
    let mut latency = Histogram::new(3)?;
    let began = Instant::now();
    for _ in 0..COMMITS {
        let since = Instant::now();
        each().await?;
        latency.record(since.elapsed().as_micros() as u64)?;
    }
    Ok(Measured { per_second: f64::from(COMMITS) / began.elapsed().as_secs_f64(), latency })
}

//! What commits and messages cost without anybody's rules: a commit after another, and a saga of nothing but three of them with a
//! message through NATS before the second and the third. No booking can take less than the latter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hdrhistogram::Histogram;
use holdfast_bus::{Connection, Delivery, HeaderMap, Options, Publication, StreamOptions, Verdict};
use holdfast_dial::Trust;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Statement};

use super::super::load::Measured;
use super::super::stores::Database;

/// How many are measured.
const COMMITS: u32 = 300;
/// As large as the messages of a booking.
const MESSAGE: &[u8] = &[b' '; 400];
const WITHIN: Duration = Duration::from_secs(5);

/// Somebody who writes a row, and commits it.
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
    one_after_another(async || writer.write().await).await
}

pub(super) async fn sagas(database: &Database, nats_url: &str) -> anyhow::Result<Measured> {
    let stream = |service: &str, subject: &str| StreamOptions {
        service: service.into(),
        subjects: vec![subject.into()],
        listeners: Vec::new(),
    };
    let options = Options {
        url: nats_url.into(),
        trust: Trust::default(),
        prefix: "by-hand".into(),
        name: "by hand".into(),
        timeout: WITHIN,
        age_max: Duration::from_hours(1),
        bytes_max: 1 << 30,
        streams: vec![stream("course", "slot.reserve"), stream("booking", "slot.reserved")],
    };
    let bus = Connection::open(options).await?;
    bus.prepare(WITHIN).await?;
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
    let measured = one_after_another(async || {
        writer.write().await?;
        let ends = async { ended.recv().await.context("nobody is left") };
        // Whether NATS has it and who acts on it are waited for together.
        let both = async { tokio::try_join!(async { Ok(publish(&bus, "slot.reserve").await?) }, ends) };
        tokio::time::timeout(WITHIN, both).await?.map(|_| ())
    })
    .await;
    course.abort();
    booking.abort();
    measured
}

/// Commits for each message, and goes on.
fn spawn_consumer<T, F>(bus: &Connection, service: &'static str, writer: Writer, then: T) -> JoinHandle<()>
where
    T: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let bus = bus.clone();
    let (writer, then) = (Arc::new(writer), Arc::new(then));
    let handle = move |_: Delivery| {
        let (writer, then) = (writer.clone(), then.clone());
        async move { if writer.write().await.is_ok() && then().await.is_ok() { Verdict::Done } else { Verdict::Again } }
    };
    tokio::spawn(async move { bus.consume(service, handle, std::future::pending()).await })
}

async fn publish(bus: &Connection, subject: &str) -> Result<(), holdfast_bus::BusError> {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let id = SENT.fetch_add(1, Ordering::Relaxed).to_string();
    bus.publish(&Publication { subject, id: &id, key: 0, headers: HeaderMap::new(), payload: MESSAGE.into() }).await
}

async fn one_after_another(mut each: impl AsyncFnMut() -> anyhow::Result<()>) -> anyhow::Result<Measured> {
    let mut latency = Histogram::new(3)?;
    let began = Instant::now();
    for _ in 0..COMMITS {
        let since = Instant::now();
        each().await?;
        latency.record(since.elapsed().as_micros() as u64)?;
    }
    Ok(Measured { per_second: f64::from(COMMITS) / began.elapsed().as_secs_f64(), latency })
}

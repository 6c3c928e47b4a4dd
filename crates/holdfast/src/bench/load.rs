//! The load: connections that each send a request, wait for the answer, and send the next.
//!
//! It speaks just enough HTTP/1.1 for our own servers, to take as little of the machine as it can from them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What one measurement gave.
pub(crate) struct Measured {
    /// Rounds of the scenario per second.
    pub per_second: f64,
    /// Of single requests, in microseconds.
    pub latency: Histogram<u64>,
}

/// One connection's part: does one round each time it is called.
pub(crate) trait Scenario: Send + 'static {
    fn round(&mut self, connection: &mut Connection) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Runs `connections` scenarios at once, first unmeasured for a fifth of `time`.
pub(crate) async fn measure<S: Scenario>(
    name: &str,
    address: SocketAddr,
    connections: usize,
    time: Duration,
    scenario: impl Fn(usize) -> S,
) -> anyhow::Result<Measured> {
    let (measuring, stop, rounds) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for index in 0..connections {
        let mut connection = Connection::open(address).await?;
        let mut scenario = scenario(index);
        let (measuring, stop, rounds) = (measuring.clone(), stop.clone(), rounds.clone());
        tasks.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                scenario.round(&mut connection).await?;
                if measuring.load(Ordering::Relaxed) {
                    rounds.fetch_add(1, Ordering::Relaxed);
                } else {
                    connection.latency.reset();
                }
            }
            anyhow::Ok(connection.latency)
        }));
    }
    tokio::time::sleep(time / 5).await;
    measuring.store(true, Ordering::Relaxed);
    let began = Instant::now();
    show_progress(name, time, &rounds).await;
    let (done, elapsed) = (rounds.load(Ordering::Relaxed), began.elapsed());
    stop.store(true, Ordering::Relaxed);
    let mut latency = Histogram::new(3)?;
    for task in tasks {
        latency.add(task.await??)?;
    }
    Ok(Measured { per_second: done as f64 / elapsed.as_secs_f64(), latency })
}

async fn show_progress(name: &str, time: Duration, rounds: &AtomicU64) {
    let bar = ProgressBar::new(time.as_millis() as u64).with_message(name.to_owned());
    bar.set_style(ProgressStyle::with_template("  {msg:44} {bar:24} {prefix}").expect("the template is right"));
    let began = Instant::now();
    while began.elapsed() < time {
        tokio::time::sleep(Duration::from_millis(200).min(time.saturating_sub(began.elapsed()))).await;
        let rate = rounds.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
        bar.set_prefix(format!("{rate:.0}/s"));
        bar.set_position(began.elapsed().as_millis() as u64);
    }
    bar.finish_and_clear();
}

pub(crate) struct Connection {
    socket: TcpStream,
    /// What was received; the last answer's body is the part `body`.
    received: Vec<u8>,
    body: std::ops::Range<usize>,
    request: Vec<u8>,
    latency: Histogram<u64>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            received: Vec::with_capacity(16 << 10),
            body: 0..0,
            request: Vec::with_capacity(4 << 10),
            latency: Histogram::new(3)?,
        })
    }

    /// `user` is named in a header, if anyone is.
    pub(crate) async fn post(&mut self, path: &str, user: Option<u64>, body: &[u8]) -> anyhow::Result<u16> {
        use std::io::Write as _;
        self.request.clear();
        write!(self.request, "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")?;
        if let Some(user) = user {
            write!(self.request, "x-user-id: {user}\r\n")?;
        }
        write!(self.request, "content-length: {}\r\n\r\n", body.len())?;
        self.request.extend_from_slice(body);
        self.exchange().await
    }

    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<u16> {
        use std::io::Write as _;
        self.request.clear();
        write!(self.request, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
        self.exchange().await
    }

    /// The body of the last answer.
    pub(crate) fn body(&self) -> &[u8] {
        &self.received[self.body.clone()]
    }

    async fn exchange(&mut self) -> anyhow::Result<u16> {
        let began = Instant::now();
        self.socket.write_all(&self.request).await?;
        self.received.clear();
        let (status, head) = loop {
            if self.socket.read_buf(&mut self.received).await? == 0 {
                bail!("the server closed the connection");
            }
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                break (status(&self.received)?, end + 4);
            }
        };
        let length = content_length(&self.received[..head]).unwrap_or(0);
        while self.received.len() < head + length {
            if self.socket.read_buf(&mut self.received).await? == 0 {
                bail!("the server closed the connection");
            }
        }
        self.body = head..head + length;
        self.latency.record(began.elapsed().as_micros() as u64)?;
        Ok(status)
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn status(head: &[u8]) -> anyhow::Result<u16> {
    let digits = head.get(9..12).context("not an HTTP answer")?;
    Ok(std::str::from_utf8(digits)?.parse()?)
}

fn content_length(head: &[u8]) -> Option<usize> {
    let name = b"content-length: ";
    let start = find(head, name)? + name.len();
    let end = start + find(&head[start..], b"\r\n")?;
    std::str::from_utf8(&head[start..end]).ok()?.parse().ok()
}

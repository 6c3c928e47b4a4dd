//! HTTP clients of the servers under test.
//!
//! They implement a minimum of HTTP/1.1, to leave CPU time to the servers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::load::{self, Client, Measured};

/// Behaviour of one connection, one round per call.
pub(crate) trait Scenario: Send + 'static {
    fn round(&mut self, connection: &mut Connection) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Runs `connections` scenarios concurrently.
pub(crate) async fn measure<S: Scenario>(
    name: &str,
    address: SocketAddr,
    connections: usize,
    time: Duration,
    scenario: impl Fn(usize) -> S,
) -> anyhow::Result<Measured> {
    let mut clients = Vec::with_capacity(connections);
    for index in 0..connections {
        clients.push(HttpClient { connection: Connection::open(address).await?, scenario: scenario(index) });
    }
    load::measure(name, time, clients).await
}

struct HttpClient<S> {
    connection: Connection,
    scenario: S,
}

impl<S: Scenario> Client for HttpClient<S> {
    async fn round(&mut self) -> anyhow::Result<()> {
        self.scenario.round(&mut self.connection).await
    }

    fn latency(&mut self) -> &mut Histogram<u64> {
        &mut self.connection.latency
    }
}

pub(crate) struct Connection {
    socket: TcpStream,
    /// Received bytes; `body` is the range of the last response's body.
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

    /// Sends a POST request, with a user header if `user` is given.
    pub(crate) async fn post(&mut self, path: &str, user: Option<u64>, body: &[u8]) -> anyhow::Result<u16> {
        let user = user.map(|user| format!("x-user-id: {user}\r\n")).unwrap_or_default();
        self.post_with(path, &user, body).await
    }

    /// Sends a POST request with `Prefer: wait`, in seconds.
    pub(crate) async fn post_waiting(&mut self, path: &str, seconds: u8, body: &[u8]) -> anyhow::Result<u16> {
        self.post_with(path, &format!("prefer: wait={seconds}\r\n"), body).await
    }

    async fn post_with(&mut self, path: &str, header: &str, body: &[u8]) -> anyhow::Result<u16> {
        use std::io::Write as _;
        self.request.clear();
        write!(self.request, "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{header}")?;
        write!(self.request, "content-length: {}\r\n\r\n", body.len())?;
        self.request.extend_from_slice(body);
        self.exchange().await
    }

    pub(crate) async fn delete(&mut self, path: &str, user: u64) -> anyhow::Result<u16> {
        use std::io::Write as _;
        self.request.clear();
        write!(self.request, "DELETE {path} HTTP/1.1\r\nhost: localhost\r\nx-user-id: {user}\r\n\r\n")?;
        self.exchange().await
    }

    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<u16> {
        use std::io::Write as _;
        self.request.clear();
        write!(self.request, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
        self.exchange().await
    }

    /// Body of the last response.
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
    let digits = head.get(9..12).context("not an HTTP response")?;
    Ok(std::str::from_utf8(digits)?.parse()?)
}

fn content_length(head: &[u8]) -> Option<usize> {
    let name = b"content-length: ";
    let start = find(head, name)? + name.len();
    let end = start + find(&head[start..], b"\r\n")?;
    std::str::from_utf8(&head[start..end]).ok()?.parse().ok()
}

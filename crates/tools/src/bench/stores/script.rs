//! Reference implementation: one Lua script in Redis places one hold per call. Durability is that of Redis, there is no
//! server in front, and confirmed reservations are left out.
//!
//! Its clients speak just enough of the protocol, like the HTTP clients.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use hdrhistogram::Histogram;
use redis::{ConnectionAddr, ConnectionInfo, Script};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;

use super::redis::Redis;
use super::table::Workload;
use crate::bench::holds::{Night, QUANTITY, client_key, hot_night, spread_night};
use crate::bench::load::{self, Client, Measured};

pub(crate) const CONNECTIONS: usize = 32;
const TTL_SECONDS: &str = "600";
const SCRIPT: &str = include_str!("single_hold.lua");

pub(crate) async fn measure(
    name: &str,
    redis: &Redis,
    users: &Arc<AtomicU64>,
    workload: Workload,
    time: Duration,
) -> anyhow::Result<Measured> {
    let script = redis.load(&Script::new(SCRIPT)).await?;
    let mut clients = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        clients.push(HoldClient {
            connection: Connection::open(redis.connection_info()).await?,
            script: script.clone(),
            users: users.clone(),
            night: if workload == Workload::Hot { hot_night } else { spread_night },
            latency: Histogram::new(3)?,
        });
    }
    load::measure(name, time, clients).await
}

struct HoldClient {
    connection: Connection,
    script: String,
    users: Arc<AtomicU64>,
    night: fn(u64) -> Night,
    latency: Histogram<u64>,
}

impl Client for HoldClient {
    async fn round(&mut self) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        let (room_type, check_in) = (self.night)(user);
        let check_out = check_in.tomorrow()?;
        let (id, key) = (Uuid::from_u64_pair(0x7000, (1 << 63) | user), client_key(user));
        let stay = format!("{room_type}:{check_in}:{check_out}");
        let hold = format!(
            r#"{{"roomTypeId":{room_type},"checkIn":"{check_in}","checkOut":"{check_out}","userId":{user},"clientHoldKey":"{key}","createdAt":"2026-01-01T00:00:00Z","expiredAt":"2026-01-01T00:10:00Z"}}"#
        );
        let words = [
            "EVALSHA",
            &self.script,
            "4",
            &format!("hold:idx:{user}:{stay}"),
            &format!("hold:snapshot:{key}:{stay}"),
            &format!("hold:{id}"),
            &format!("hold-count:{room_type}:{check_in}"),
            &id.to_string(),
            &hold,
            TTL_SECONDS,
            &QUANTITY.to_string(),
        ];
        let began = Instant::now();
        let answer = self.connection.command(&words).await?;
        ensure!(answer == "+HELD", "the script answered {answer}");
        self.latency.record(began.elapsed().as_micros() as u64)?;
        Ok(())
    }

    fn latency(&mut self) -> &mut Histogram<u64> {
        &mut self.latency
    }
}

/// Connection for commands with a one-line response.
struct Connection {
    socket: TcpStream,
    request: String,
    received: Vec<u8>,
}

impl Connection {
    async fn open(info: &ConnectionInfo) -> anyhow::Result<Self> {
        let ConnectionAddr::Tcp(host, port) = info.addr() else { bail!("Redis is reached by TCP without TLS only") };
        let socket = TcpStream::connect((host.as_str(), *port)).await?;
        socket.set_nodelay(true)?;
        let mut connection = Self { socket, request: String::with_capacity(1 << 10), received: Vec::new() };
        let settings = info.redis_settings();
        if let Some(password) = settings.password() {
            connection.expect_ok(&["AUTH", settings.username().unwrap_or("default"), password]).await?;
        }
        connection.expect_ok(&["SELECT", &settings.db().to_string()]).await?;
        Ok(connection)
    }

    async fn expect_ok(&mut self, words: &[&str]) -> anyhow::Result<()> {
        let answer = self.command(words).await?;
        ensure!(answer == "+OK", "Redis answered {answer}");
        Ok(())
    }

    async fn command(&mut self, words: &[&str]) -> anyhow::Result<&str> {
        self.request.clear();
        write!(self.request, "*{}\r\n", words.len())?;
        for word in words {
            write!(self.request, "${}\r\n{word}\r\n", word.len())?;
        }
        self.socket.write_all(self.request.as_bytes()).await?;
        self.received.clear();
        while !self.received.ends_with(b"\r\n") {
            ensure!(self.socket.read_buf(&mut self.received).await? > 0, "Redis closed the connection");
        }
        Ok(std::str::from_utf8(&self.received)?.trim_end())
    }
}

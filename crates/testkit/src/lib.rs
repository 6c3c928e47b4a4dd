//! Real PostgreSQL, Redis and NATS servers for tests: private ones, on free ports, in temporary folders. Nothing that
//! already runs on the machine is touched, and no server outlives the process that started it, not even after `kill -9`.
//!
//! **Shared servers**, for most tests. Under `holdfast-testkit run COMMAND` (which `./test` uses) every test binary
//! shares those of the runner; otherwise each test process starts its own when it first asks.
//!
//! ```no_run
//! use holdfast_testkit::{postgres, redis};
//!
//! let empty = postgres().database();                // a new, empty database; dropped with the value
//! let url = empty.url();                            // postgres://postgres@127.0.0.1:PORT/NAME
//! let filled = postgres().database_from("schema", async |url| {
//!     // Runs once for all tests, whatever process they are in; every database from "schema" is a copy of this one.
//!     let _migrate = url;
//! });
//! let keys = redis().prefix();                      // put it before every key: no two calls give the same
//! let url = redis().url();                          // redis://127.0.0.1:PORT
//! # drop((filled, keys, url));
//! ```
//!
//! **Exclusive servers**, for tests that stop, kill or flush one. They stop when dropped.
//!
//! ```no_run
//! use holdfast_testkit::{NatsOptions, NatsServer, PostgresOptions, PostgresServer, RedisOptions, RedisServer};
//!
//! let postgres = PostgresServer::start(&PostgresOptions { durable: true }).unwrap();
//! let database = postgres.postgres().database();
//! postgres.stop_immediate();                        // as if it had crashed
//! postgres.restart().unwrap();                      // same port, same data
//!
//! let redis = RedisServer::start(&RedisOptions { appendonly: true }).unwrap();
//! redis.kill();
//! redis.restart().unwrap();                         // same port, same folder: what the AOF has is there again
//!
//! let nats = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
//! # drop((database, nats));
//! ```
//!
//! Everything here blocks, for a bounded time, and may be called from synchronous and asynchronous tests alike. What
//! goes wrong is said with the end of the server's log: exclusive servers return it, shared ones panic with it.

pub mod certificate;
mod database;
mod folder;
mod nats;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod redis;
mod server;
mod stores;

use std::sync::OnceLock;

pub use database::{Postgres, TestDatabase};
pub use nats::{Nats, NatsOptions, NatsServer};
pub use pgbouncer::{PgBouncer, PoolMode};
pub use postgres::{PostgresOptions, PostgresServer};
pub use redis::{Redis, RedisOptions, RedisServer};
pub use server::Error;
pub use stores::{Place, Profile};

/// Where the runner's servers are; set for the command it runs.
pub const POSTGRES_VARIABLE: &str = "HOLDFAST_TEST_POSTGRES_URL";
pub const REDIS_VARIABLE: &str = "HOLDFAST_TEST_REDIS_URL";
pub const NATS_VARIABLE: &str = "HOLDFAST_TEST_NATS_URL";

/// All of them. A test that starts `holdfast` takes them out of its environment, where every `HOLDFAST_*` is a setting.
pub const VARIABLES: [&str; 3] = [POSTGRES_VARIABLE, REDIS_VARIABLE, NATS_VARIABLE];

/// The PostgreSQL that tests share. It forgets what a crash interrupts: nothing is synced.
pub fn postgres() -> &'static Postgres {
    static SHARED: OnceLock<(Postgres, Option<PostgresServer>)> = OnceLock::new();
    let (postgres, _) = SHARED.get_or_init(|| match std::env::var(POSTGRES_VARIABLE) {
        Ok(url) => (Postgres::at(&url).unwrap_or_else(|| panic!("{POSTGRES_VARIABLE} is no database: {url}")), None),
        Err(_) => {
            let server = PostgresServer::start(&PostgresOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            (server.postgres().clone(), Some(server))
        }
    });
    postgres
}

/// The Redis that tests share. It keeps nothing on disk.
pub fn redis() -> &'static Redis {
    static SHARED: OnceLock<(Redis, Option<RedisServer>)> = OnceLock::new();
    let (redis, _) = SHARED.get_or_init(|| match std::env::var(REDIS_VARIABLE) {
        Ok(url) => (Redis::at(url), None),
        Err(_) => {
            let server = RedisServer::start(&RedisOptions::default()).unwrap_or_else(|error| panic!("{error}"));
            (server.redis().clone(), Some(server))
        }
    });
    redis
}

/// The NATS that tests share, with JetStream.
pub fn nats() -> &'static Nats {
    static SHARED: OnceLock<(Nats, Option<NatsServer>)> = OnceLock::new();
    let (nats, _) = SHARED.get_or_init(|| match std::env::var(NATS_VARIABLE) {
        Ok(url) => (Nats::at(url), None),
        Err(_) => {
            let server = NatsServer::start(&NatsOptions { jetstream: true }).unwrap_or_else(|error| panic!("{error}"));
            (server.nats().clone(), Some(server))
        }
    });
    nats
}

/// A name that nobody else uses: not in this process, nor in another on the same servers.
fn unique_name() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(random) & 0xffff_ffff;
    format!("t{process:08x}_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Names and ports must differ between processes; nothing a test decides depends on them.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}

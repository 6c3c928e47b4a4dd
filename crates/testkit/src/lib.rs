//! Private PostgreSQL, Redis and NATS servers for tests, on free ports, in temporary folders. Services of the machine are
//! left alone, and no server outlives the process that started it, not even after `kill -9`.
//!
//! **Shared servers**, for most tests. Under `holdfast-testkit run COMMAND` (which `./test` uses) every test binary
//! shares those of the runner; otherwise each test process starts its own on first use.
//!
//! ```no_run
//! use holdfast_testkit::{postgres, redis};
//!
//! let empty = postgres().database();                // a new, empty database; dropped with the value
//! let url = empty.url();                            // postgres://postgres@127.0.0.1:PORT/NAME
//! let filled = postgres().database_from("schema", async |url| {
//!     // Runs once for the tests of all processes; every database from "schema" is a copy of this one.
//!     let _migrate = url;
//! });
//! let keys = redis().prefix();                      // unique prefix for all keys of a test
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
//! redis.restart().unwrap();                         // same port, same folder: the AOF is loaded
//!
//! let nats = NatsServer::start(&NatsOptions { jetstream: true }).unwrap();
//! # drop((database, nats));
//! ```
//!
//! All calls block, for a bounded time, and may be made from synchronous and asynchronous tests alike. Errors include the
//! end of the server's log: exclusive servers return them, shared ones panic.

pub mod certificate;
mod database;
mod nats;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod profiles;
mod redis;
mod server;
mod stores;
mod temporary_directory;

use std::sync::OnceLock;

pub use database::{Postgres, TestDatabase};
pub use nats::{Nats, NatsOptions, NatsServer};
pub use pgbouncer::{PgBouncer, PoolMode};
pub use postgres::{PostgresOptions, PostgresServer};
pub use profiles::run_test;
pub use redis::{Redis, RedisOptions, RedisServer};
pub use server::Error;
pub use stores::{Place, Profile};

/// Addresses of the runner's servers; set for the command it runs.
pub const POSTGRES_VARIABLE: &str = "HOLDFAST_TEST_POSTGRES_URL";
pub const REDIS_VARIABLE: &str = "HOLDFAST_TEST_REDIS_URL";
pub const NATS_VARIABLE: &str = "HOLDFAST_TEST_NATS_URL";

/// All of them. A test that starts `holdfast` removes them from its environment, where every `HOLDFAST_*` is a setting.
pub const VARIABLES: [&str; 3] = [POSTGRES_VARIABLE, REDIS_VARIABLE, NATS_VARIABLE];

/// Shared PostgreSQL of all tests. It runs without fsync, so a crash loses data.
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

/// Shared Redis of all tests, without persistence.
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

/// Shared NATS of all tests, with JetStream.
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

/// Returns a name unique among all processes that share the servers.
fn unique_name() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let process = PROCESS.get_or_init(random) & 0xffff_ffff;
    format!("t{process:08x}_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Seed for names and ports, which must differ between processes; no test decides anything by it.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}

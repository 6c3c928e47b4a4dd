//! `PostgreSQL` in two roles: the store of one server that owns the database, and the durable tier of servers that share
//! it and keep live rows elsewhere.
//!
//! | module | contents |
//! | --- | --- |
//! | [`open`] | options, migrations, exclusion of other servers |
//! | [`store`] | [`PostgresStore`]: one server, one writer, secondary indexes in memory |
//! | [`tier`] | [`DurableTier`]: many servers, optimistic concurrency control, no in-memory state |
//! | `connection`, `pool`, `pipeline` | connections, and many statements in one round trip |
//! | `readers` | lists, outbox, audit, garbage collection, for both |
//! | `shared` | SQL of tables that all verticals share |
//! | `records` | SQL of records, derived from their schemas |
//! | `clock`, `codec`, `error` | conversion of the database's time, values and errors |
//!
//! No rule of a vertical is here.

#[cfg(test)]
mod baseline;
mod clock;
mod codec;
mod connection;
mod error;
pub mod open;
mod pipeline;
#[cfg(test)]
mod plans;
mod pool;
mod readers;
mod records;
mod shared;
pub mod store;
pub mod tier;

pub use open::{OpenError, PostgresOptions};
pub use store::PostgresStore;
pub use tier::{Drawn, DurableSession, DurableTier, ReadSet};

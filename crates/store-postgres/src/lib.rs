//! `PostgreSQL`, in two ways: as the store of one server that has the database to itself, and as the durable tier of
//! servers that share it and keep live rows elsewhere.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`open`] | options, migrations, who may use a database together with whom |
//! | [`store`] | [`PostgresStore`]: one server, one writer, derived rows in memory |
//! | [`tier`] | [`DurableTier`]: many servers, no memory, versions compared at commit |
//! | `connection`, `pool`, `pipeline` | connections, and many statements in one round trip |
//! | `readers` | lists, outbox, audit, tidying: the same for both |
//! | `shared` | SQL of what all verticals share |
//! | `records` | SQL of records, made from their layouts |
//! | `clock`, `codec`, `error` | the database's time, values and errors, in our terms |
//!
//! Nothing is decided here.

mod clock;
mod codec;
mod connection;
mod copy;
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
pub use tier::{Decision, Drawn, DurableSession, DurableTier, ReadSet};

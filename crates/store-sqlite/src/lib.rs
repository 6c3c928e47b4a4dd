//! Embedded store: one `SQLite` file, one writer, concurrent readers, secondary indexes in memory.
//!
//! | module | contents |
//! | --- | --- |
//! | [`open`] | the directory and its lock, settings of the file, migrations |
//! | [`store`] | the [`Store`](holdfast_engine::Store) itself: batches, reads, tidying |
//! | `log`, `checkpoint` | what is safe on disk; how the log is emptied |
//! | [`reserve`] | disk space set aside for opening a store on a full disk |
//! | `shared` | SQL of what all verticals share |
//! | `records` | SQL of records, made from their schemas |
//!
//! No rule of a vertical is here. Secondary indexes are never written to the file; they are rebuilt from live holds at start.

#[cfg(test)]
mod baseline;
mod checkpoint;
mod codec;
mod log;
pub mod open;
mod records;
pub mod reserve;
mod shared;
pub mod store;

pub use open::{OpenError, OpenOptions};
pub use store::SqliteStore;

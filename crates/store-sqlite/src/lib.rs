//! Embedded store: one `SQLite` file, one writer, concurrent readers, secondary indexes in memory.
//!
//! | module | contents |
//! | --- | --- |
//! | [`open`] | the directory and its lock, settings of the file, migrations |
//! | [`store`] | the [`Store`](holdfast_engine::Store) itself: batches, reads, garbage collection |
//! | `log`, `checkpoint` | durability of the write-ahead log; checkpoints |
//! | `shared` | SQL of tables that all verticals share |
//! | `records` | SQL of records, derived from their schemas |
//!
//! Nothing is decided here. Secondary indexes are never written to the file; they are rebuilt from live holds at start.

mod checkpoint;
mod codec;
mod log;
pub mod open;
mod records;
mod shared;
pub mod store;

pub use open::{OpenError, OpenOptions};
pub use store::SqliteStore;

//! The store on a real PostgreSQL.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod batches;
mod lost;
mod open;
mod support;
mod tier;

//! Tests of the store on a real PostgreSQL.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod batches;
mod cluster;
mod lost;
mod open;
mod reads;
mod same;
mod support;
mod tier;

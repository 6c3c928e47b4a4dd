//! Tests of every implementation: pure, in process on `SQLite` and on PostgreSQL, in Redis.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod conformance;
mod contract;
mod crash;
mod journal_failures;
mod large_queues;
mod model;
mod pure;
mod races;
mod redis;
mod restart;
mod support;

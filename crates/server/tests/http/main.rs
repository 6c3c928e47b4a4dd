//! The contract over HTTP, sentence by sentence, against a real server on a real store.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod auth;
mod bad_input;
mod conventions;
mod documents;
mod holds;
mod queue;
mod queue_stream;
mod races;
mod reservations;
mod room_types;
mod store_away;
mod stream;
mod support;
mod tickets;
mod tickets_input;
mod tickets_races;

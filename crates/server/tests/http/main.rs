//! The contract over HTTP, sentence by sentence, against a real server on a real store.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod auth;
mod bad_input;
mod calendar_admin;
mod calendar_job;
mod calendar_locks;
mod calendar_races;
mod calendar_rules;
mod calendar_slots;
mod calendar_support;
mod conventions;
mod documents;
mod holds;
mod queue;
mod queue_stream;
mod races;
mod reservations;
mod room_types;
mod shop_accounts;
mod shop_callers;
mod shop_carts;
mod shop_coupons;
mod shop_input;
mod shop_orders;
mod shop_payments;
mod shop_products;
mod shop_races;
mod shop_reservations;
mod shop_stream;
mod shop_support;
mod store_away;
mod stream;
mod support;
mod tickets;
mod tickets_input;
mod tickets_races;

//! Tests of the real process: start, stop, kill, and what it leaves behind.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod calendar;
mod cluster;
mod crash;
mod cut_off;
mod encrypted;
mod full_disk;
mod lifecycle;
mod network;
mod permissions;
mod pgbouncer;
mod retrying_client;
mod saga;
mod sale;
mod seats;
mod services;
mod shop;
mod support;
mod tickets;
mod verify;
mod verticals;
mod webhooks;

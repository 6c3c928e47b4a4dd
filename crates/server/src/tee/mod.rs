//! Tee times: handlers, the services behind them, and how messages get from one to the other.

pub mod bookings;
pub mod courses;
pub mod outbox;
pub mod services;

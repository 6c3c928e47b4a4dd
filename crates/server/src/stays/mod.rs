//! Handlers of stays: room types, holds, reservations.

mod batch;
pub mod holds;
pub mod reservations;
pub mod room_types;

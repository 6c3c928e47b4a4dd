//! Handlers of stays: room types, holds, reservations.

pub mod holds;
pub mod reservations;
pub mod room_types;

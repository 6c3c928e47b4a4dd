//! Rooms by the hour.

pub mod lock;
pub mod room;
pub mod slot;

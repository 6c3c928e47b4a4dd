//! Tee times. Each table belongs to one of three services, and none looks into another's; only what they have received from each
//! other lies in one for all.

mod booking;
mod course;
mod message;
mod notify;

pub use booking::bookings;
pub use notify::notifications;

//! Schema of tee times. Each table belongs to one of the three services, which never read each other's tables. The
//! inbox is shared, with rows per service.

mod booking;
mod course;
mod message;
mod notify;

pub use booking::bookings;
pub use notify::notifications;

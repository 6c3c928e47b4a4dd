//! NATS `JetStream` as the bus between services: what is published is kept until whoever it is for has acted on it; who asks
//! is answered within bounds.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`options`] | where NATS is, which streams there are, and their limits |
//! | [`connection`] | one connection: publishing, asking, whether it is there |
//! | [`streams`] | streams and their durable consumers, made by whoever needs them first |
//! | [`consume`] | acting on messages, in the order of what they are about |
//! | [`revive`] | what a NATS that was killed has forgotten to deliver |
//! | [`answer`] | answering those who ask |
//!
//! It knows subjects as text and messages as bytes, and nothing of bookings. That a message counts once is not its business:
//! it delivers at least once, and whoever receives a message knows it by its id.

pub mod answer;
pub mod connection;
pub mod consume;
pub mod headers;
pub mod options;
pub mod revive;
pub mod streams;

pub use answer::Asked;
pub use async_nats::HeaderMap;
pub use connection::{Connection, Publication, Reply, Response};
pub use consume::{Delivery, Verdict};
pub use headers::Headers;
pub use options::{Options, StreamOptions};

/// Why something did not get through.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    #[error("the address of NATS is not valid: {0}")]
    Address(String),
    #[error("NATS is away")]
    Away,
    #[error("NATS did not answer in time")]
    TimedOut,
    #[error("nobody listens")]
    NobodyListens,
    #[error("the message is larger than NATS takes: at most {max} bytes")]
    TooLarge { max: usize },
    #[error("NATS refused: {0}")]
    Refused(String),
}

//! NATS `JetStream` as the bus between services: published messages are stored until they are processed; requests are
//! answered within a timeout.
//!
//! | module | contents |
//! | --- | --- |
//! | [`options`] | addresses, streams, and their limits |
//! | [`connection`] | connection: publishing, requests, availability |
//! | [`streams`] | streams and their durable consumers, created on first use |
//! | [`consumer`] | processing of messages, in order per key |
//! | [`redelivery_repair`] | redelivery repair after NATS was killed |
//! | [`responder`] | responder of request and reply |
//!
//! Subjects are text and messages are bytes here; bookings are unknown. Delivery is at least once: consumers drop
//! duplicates by the id of a message.

pub mod connection;
pub mod consumer;
pub mod headers;
pub mod options;
pub mod redelivery_repair;
pub mod responder;
pub mod streams;

pub use async_nats::HeaderMap;
pub use connection::{Connection, Publication, Reply, ReplyMessage};
pub use consumer::{Delivery, Verdict};
pub use headers::Headers;
pub use options::{Options, StreamOptions};
pub use responder::RequestMessage;

/// Failure of the bus.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    #[error("the address of NATS is not valid: {0}")]
    Address(String),
    /// Host and port of each server.
    #[error("NATS at {at} is unavailable")]
    Unavailable { at: String },
    #[error("NATS did not answer in time")]
    TimedOut,
    #[error("no service answers requests on this subject")]
    NoSubscriber,
    #[error("the message exceeds the limit of NATS, {max} bytes")]
    TooLarge { max: usize },
    #[error("NATS rejected the request: {0}")]
    Refused(String),
}

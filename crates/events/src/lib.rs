//! Publishing and receiving of events.
//!
//! | module | contents |
//! | --- | --- |
//! | [`nats`] | NATS `JetStream` as the bus between services |

pub mod nats;

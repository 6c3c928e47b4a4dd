//! Inbox of the tee-time services: receives messages and applies each once.
//!
//! | module | contents |
//! | --- | --- |
//! | [`services`] | the services of this process; the bus between them without NATS |
//! | [`nats_consumer`] | consumers of NATS; import of events from other processes |
//! | [`log`] | log lines of the booking saga |
//!
//! The effect of a message and the record of its id are one commit, so a repeated message has no effect.

pub mod log;
pub mod nats_consumer;
pub mod services;

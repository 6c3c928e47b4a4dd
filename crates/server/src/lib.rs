//! The HTTP server in front of the engine.
//!
//! | module | content |
//! | --- | --- |
//! | [`config`] | every setting, its default and its validation |
//! | [`app`] | shared state of handlers; starting and stopping the parts |
//! | [`serve`] | listening, the life of a connection, clean shutdown |
//! | [`edge`] | handling common to every request: id, limits, language, metrics |
//! | [`router`] | all routes |
//! | [`caller`] | authentication |
//! | [`request`] | reading bodies, queries, idempotency keys |
//! | `record_quota`, `answer_backpressure` | bounds of idempotency records and of answers in memory |
//! | [`problem`] | all errors: status, code, sentence |
//! | [`event_stream`] | server-sent events |
//! | [`roles`], [`forwarding`] | roles of a process; forwarding requests to the others |
//! | [`stays`], [`calendar`] | handlers of stays, and of rooms by the hour |
//! | [`webhooks`] | handlers of webhooks |
//! | [`tee`] | handlers of tee times and of the outbox |
//! | [`docs`] | `/openapi.json` and `/docs` |
//! | [`demo`] | demo data |
//!
//! All handlers have one shape: the caller, the parameters, one command or query, a typed answer. They decide no rules.

mod answer_backpressure;
pub mod app;
pub mod calendar;
pub mod caller;
pub mod claims;
pub mod config;
pub mod demo;
pub mod docs;
pub mod edge;
pub mod event_stream;
pub mod forwarding;
mod keyed_mutex;
mod objects;
pub mod ops;
pub mod problem;
pub mod readiness;
mod record_quota;
pub mod request;
pub mod roles;
pub mod router;
pub mod serve;
pub mod shop;
pub mod stays;
pub mod tee;
pub mod tickets;
pub mod webhooks;

pub use app::{App, Parts};
pub use config::Config;

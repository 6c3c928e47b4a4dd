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
//! | [`activity`] | activity counters of holds, for display |
//! | [`stream`] | server-sent events |
//! | [`wire`] | JSON representations |
//! | [`relay`], [`dead_letters`] | publishing durable events; retrying dead letters |
//! | [`roles`], [`forward`] | roles of a process; forwarding requests to the others |
//! | [`stays`], [`calendar`] | handlers of stays, and of rooms by the hour |
//! | [`webhooks`] | delivery of events over HTTP to subscribers |
//! | [`docs`] | `/openapi.json` and `/docs` |
//! | [`demo`] | demo data |
//!
//! All handlers have one shape: the caller, the parameters, one command or query, a typed answer. They decide no rules.

pub mod activity;
mod answer_backpressure;
pub mod app;
pub mod calendar;
pub mod caller;
pub mod config;
pub mod dead_letters;
pub mod demo;
pub mod docs;
pub mod edge;
pub mod forward;
pub mod ids;
mod keyed_mutex;
mod objects;
pub mod ops;
mod outbox_cache;
pub mod problem;
pub mod readiness;
mod record_quota;
pub mod relay;
mod replay;
pub mod request;
pub mod roles;
pub mod router;
pub mod serve;
pub mod shop;
pub mod stays;
pub mod stream;
pub mod tee;
pub mod tickets;
pub mod webhooks;
pub mod wire;

pub use app::{App, Parts};
pub use config::Config;

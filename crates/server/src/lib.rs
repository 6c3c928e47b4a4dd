//! The edge: HTTP in front of the engine.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`config`] | every setting, its default and its validation |
//! | [`app`] | what handlers share; starting and stopping the parts |
//! | [`serve`] | listening, the life of a connection, clean shutdown |
//! | [`edge`] | what happens to every request: id, limits, language, metrics |
//! | [`router`] | all routes |
//! | [`caller`] | who calls |
//! | [`request`] | reading bodies, queries, idempotency keys |
//! | [`record_quota`], [`unread`] | bounds of idempotency records and of answers in memory |
//! | [`problem`] | every error there is: status, code, sentence |
//! | [`pulse`] | what became of holds, for people to look at |
//! | [`stream`] | server-sent events |
//! | [`wire`] | how things are written in JSON |
//! | [`relay`], [`given_up`] | handing durable events on; those that could not be |
//! | [`roles`], [`forward`] | which parts a process runs; how the others are reached |
//! | [`stays`], [`calendar`] | handlers of stays, and of rooms by the hour |
//! | [`webhooks`] | events, told by HTTP to whoever subscribed to them |
//! | [`docs`] | `/openapi.json` and `/docs` |
//! | [`console`] | pages for people |
//! | [`demo`] | something to look at |
//!
//! A handler has one shape: who calls, what is asked, one command or query, a typed answer. No rule is decided here.

pub mod app;
pub mod calendar;
pub mod caller;
pub mod config;
pub mod console;
pub mod demo;
pub mod docs;
pub mod edge;
pub mod forward;
pub mod given_up;
pub mod ids;
mod objects;
pub mod ops;
pub mod problem;
pub mod pulse;
pub mod readiness;
mod recent;
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
mod turns;
mod unread;
pub mod webhooks;
pub mod wire;

pub use app::{App, Parts};
pub use config::Config;

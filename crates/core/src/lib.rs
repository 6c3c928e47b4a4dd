//! The rules of Holdfast, as pure functions.
//!
//! A decision is a function of the rows it read, the command and `now`. It never does I/O, never waits, never reads a
//! clock or a random number, and knows no wire format. Rows that are not loaded are requested ([`NeedRows`]), a refusal
//! is returned as a value ([`Rejection`]), and changes are written to the working set ([`WorkingSet`]).
//!
//! | module | contents |
//! | --- | --- |
//! | [`mod@unit`] | the smallest claimable unit, and the [`Tally`] that counts holds by the second of their end |
//! | [`hold`] | the life of a hold: place, replace, confirm, release, expire |
//! | [`capacity_fence`] | the capacity fence: lowering a capacity in several commits |
//! | [`table`], [`working_set`] | the working set of a decision, with rollback |
//! | [`schema`] | tables and columns, declared once for all stores |
//! | [`command`] | commands, and the reasons why a decision stops |
//! | [`actor`] | on whose behalf a command runs |
//! | [`rejection`] | every business refusal |
//! | [`event`] | events of committed changes |
//! | [`idempotency`] | idempotency records |
//! | [`mod@audit`] | consistency rules of a whole store |
//! | [`relay`] | publishing durable events from the outbox |
//! | [`stay`] | hotel nights: room types, holds, reservations |
//! | [`shop`] | goods from stock: accounts, carts, coupons, reservations, orders |
//! | [`calendar`] | rooms by the hour: generated slots, locks, reservations |
//! | [`ticket`] | seats of events: seat plans, holds, best available, reservations |
//! | [`tee`] | tee times: courses and their slots, bookings, notifications, and the messages between them |
//! | [`webhook`] | webhook subscriptions and their deliveries |

pub mod actor;
pub mod audit;
pub mod calendar;
pub mod capacity_fence;
pub mod claim;
pub mod command;
pub mod event;
pub mod hold;
pub mod id;
pub mod idempotency;
pub mod map;
pub mod money;
pub mod rejection;
pub mod relay;
pub mod schema;
pub mod shop;
pub mod stay;
pub mod table;
pub mod tee;
#[cfg(test)]
mod testing;
pub mod text;
pub mod ticket;
pub mod time;
pub mod unit;
pub mod webhook;
pub mod working_set;

pub use actor::Actor;
pub use calendar::near_term;
pub use command::{Command, Context, Decision, Limits, NeedRows, Stop};
pub use event::Event;
pub use rejection::{
    CalendarRejection, ClaimRejection, Fault, Rejection, ShopRejection, StayRejection, TeeRejection, TicketRejection,
    WebhookRejection,
};
pub use time::Timestamp;
pub use unit::{Kind, Tally, Unit};
pub use working_set::{InMemoryState, WorkingSet};

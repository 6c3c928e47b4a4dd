//! The rules of Holdfast, and nothing else.
//!
//! A decision is a function of the rows it read, the command and `now`. It never does I/O, never waits, never asks for
//! the time or a random number, and knows no wire format. What it lacks it names ([`Missing`]); what it refuses it
//! says ([`Rejection`]); what it changes it writes into the [`Rows`] it was given.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`mod@unit`] | the smallest claimable thing, and the [`Tally`] that counts holds by the second in which they end |
//! | [`hold`] | the life of a claim: claim, replace, confirm, release, run out |
//! | [`limit`] | lowering a capacity in several steps |
//! | [`table`], [`rows`] | the working set a decision reads and writes, with rollback |
//! | [`command`] | what a command is, and how it stops |
//! | [`rejection`] | every business refusal there is |
//! | [`event`] | what happened, for those who listen |
//! | [`receipt`] | idempotency keys |
//! | [`relay`] | handing durable events on |
//! | [`stay`] | hotel nights: room types, holds, reservations |
//! | [`shop`] | goods from stock: accounts, carts, coupons, reservations, orders |
//! | [`calendar`] | rooms by the hour: slots made ahead, locks, reservations |
//! | [`ticket`] | seats of events: seat plans, holds, best available, reservations |
//! | [`tee`] | tee times: courses and their slots, bookings, notifications, and the messages between them |
//! | [`webhook`] | who is told of events by HTTP, and what became of telling them |

pub mod actor;
pub mod audit;
pub mod calendar;
pub mod command;
pub mod event;
pub mod hold;
pub mod id;
pub mod limit;
pub mod map;
pub mod money;
pub mod receipt;
pub mod rejection;
pub mod relay;
pub mod rows;
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

pub use actor::Actor;
pub use command::{Command, Context, Decision, Limits, Missing, Stop};
pub use event::Event;
pub use rejection::{
    CalendarRejection, Fault, Rejection, ShopRejection, StayRejection, TeeRejection, TicketRejection, WebhookRejection,
};
pub use rows::Rows;
pub use time::Timestamp;
pub use unit::{Kind, Tally, Unit};

//! A model of the protocol between the two tiers: rows in Redis (*live*), counts and decisions in `PostgreSQL`
//! (*durable*), and stateless servers between them that may pause, crash, lose an answer or have a wrong clock at any step.
//!
//! It is checked exhaustively: from a [`Scenario`] every order of steps, faults and ticks of the clock is tried, and in
//! every state what must be true is looked at ([`PROPERTIES`]). Each rule of the protocol is a [`Safeguard`] that can be
//! switched off; `tests/safeguards.rs` shows what then breaks, with the trace
//! (`cargo test -p holdfast-protocol-model -- --nocapture`).
//!
//! The model is about the order of steps, not about their contents. It has one unit and holds of quantity one: a hold of
//! many units is one compare-and-set and one transaction as well. It does not know how a store keeps versions from being
//! used again, nor that transactions wait for each other: a transaction happens when it commits. Not in it: a durable tier
//! that loses commits, a live tier that falls back to an older state, raising the capacity.
//!
//! | module | what |
//! | --- | --- |
//! | [`live`] | rows with versions, the one compare-and-set |
//! | [`durable`] | capacity, reservations, decisions |
//! | `turn` | one server doing one step: place, confirm, cancel, lower, resolve |
//! | [`world`] | all of it together: both tiers, the servers, what is in flight, what clients were told |
//! | [`protocol`] | which actions are possible, and what they do |
//! | [`properties`] | what must always be true, and what must be reachable |
//! | [`scenario`] | who wants what, and which faults may happen |
//! | [`safeguard`] | the rules that can be switched off |
//! | [`stamps`] | a model of its own: what servers keep of a room, and when it counts |

pub mod durable;
pub mod live;
pub mod properties;
pub mod protocol;
pub mod safeguard;
pub mod scenario;
pub mod stamps;
mod turn;
pub mod world;

pub use properties::{Mark, PROPERTIES};
pub use protocol::{Action, Protocol};
pub use safeguard::{Safeguard, Safeguards};
pub use scenario::{Op, SCENARIOS, Scenario};

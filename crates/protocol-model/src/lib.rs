//! A model of the protocol between the two tiers: rows in Redis (*live*), counts and decisions in `PostgreSQL`
//! (*durable*), and stateless servers between them. Servers may pause, crash, lose a reply or have a wrong clock at any
//! step.
//!
//! It is checked exhaustively: from a [`Scenario`] every order of steps, faults and clock ticks is explored, and the
//! invariants ([`PROPERTIES`]) are checked in every state. Each rule of the protocol is a [`Safeguard`] that can be
//! switched off; `tests/safeguards.rs` shows which property then fails, with the trace (`cargo test -p
//! holdfast-protocol-model -- --nocapture`).
//!
//! The model covers the order of steps, not their contents. It has one unit and holds of quantity one: a hold of many
//! units is also one compare-and-set and one transaction. It does not cover how a store keeps versions from being
//! reused, nor transactions that wait for each other: a transaction takes effect at its commit. Not covered: a durable
//! tier that loses commits, a live tier that falls back to an older state, raising the capacity.
//!
//! | module | contents |
//! | --- | --- |
//! | [`live`] | rows with versions, and the compare-and-set |
//! | [`durable`] | capacity, reservations, outcomes of attempts |
//! | `turn` | one step of one server: place, confirm, cancel, lower, recover |
//! | [`world`] | the whole state: both tiers, servers, transactions in flight, observations |
//! | [`protocol`] | possible actions and their effects |
//! | [`properties`] | invariants, and milestones that must be reachable |
//! | [`scenario`] | requests of clients, and possible faults |
//! | [`safeguard`] | rules that can be switched off |
//! | [`slot_cache`] | a separate model: validity of the near-term slot cache |

pub mod durable;
pub mod live;
pub mod properties;
pub mod protocol;
pub mod safeguard;
pub mod scenario;
pub mod slot_cache;
mod step;
pub mod world;

pub use properties::{Milestone, PROPERTIES};
pub use protocol::{Action, Protocol};
pub use safeguard::{Safeguard, Safeguards};
pub use scenario::{Op, SCENARIOS, Scenario};

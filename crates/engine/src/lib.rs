//! The command loop between the server's edge and the rules: takes queued commands, loads their read sets, lets `core`
//! decide them one after another, commits all writes at once, and then replies.
//!
//! | module | contents |
//! | --- | --- |
//! | [`engine`] | the handle: submit a command, run a query |
//! | [`batch`] | load → decide → commit → reply, for one batch |
//! | [`queue`] | waiting commands, shared fairly among callers |
//! | [`task`] | a command on its way through a batch |
//! | [`store`] | the port: what a store must do |
//! | [`memory`] | in-memory state of a single-writer store |
//! | [`sink`] | destination of committed events |
//! | [`trace`] | W3C trace context |
//! | [`clock`] | source of a store's time |
//! | [`ids`] | generator of ids and secrets |
//! | [`panics`] | the panic hook, and panics that are deferred |
//!
//! No rule of a vertical is here, and every wait has a bound.

pub mod batch;
pub mod clock;
pub mod engine;
pub mod ids;
pub mod memory;
pub mod panics;
pub mod queue;
pub mod sink;
pub mod store;
pub mod task;
pub mod trace;

pub use batch::Batch;
pub use clock::{Clock, ManualClock, SystemClock};
pub use engine::{Engine, EngineSettings};
pub use ids::IdMaker;
pub use memory::Memory;
pub use queue::FlowId;
pub use sink::{EventSink, NoSink, OutboxEntry, Published};
pub use store::{Store, StoreError};
pub use task::{Answer, Once, Pending, Refused};
pub use trace::Trace;

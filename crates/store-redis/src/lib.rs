//! Live rows in Redis beside durable ones in PostgreSQL, for any number of servers.
//!
//! | module | contents |
//! | --- | --- |
//! | [`store`] | the [`Store`](holdfast_engine::Store) of both tiers |
//! | [`live`] | the live tier: versioned rows, read together |
//! | [`read_set`] | read set of a commit |
//! | `commit` | conditional commit of rows |
//! | [`confirm_attempts`] | confirm attempts, and abandoned ones |
//! | `near_term_slots`, `cache_versions` | near-term slot cache, and its versions |
//! | [`fault`] | fault injection for tests |
//! | `epoch` | epoch of the data in Redis |
//! | `connection` | a connection that reconnects by itself |
//! | `tables` | all live tables, in visiting order |
//! | `keys` | names of rows in Redis |
//! | `codec` | encoding of rows in Redis |
//!
//! No rule is written in Lua. Redis provides the time, and a server's own clock decides nothing.

mod cache_versions;
mod codec;
mod commit;
pub mod confirm_attempts;
mod connection;
mod epoch;
pub mod fault;
mod keys;
pub mod live;
mod near_term_slots;
pub mod read_set;
pub mod store;
mod tables;

pub use live::{LiveOptions, LiveTier, OnLoss};
pub use store::ClusterStore;

//! Live rows in Redis beside durable ones in PostgreSQL, for any number of servers.
//!
//! | module | contents |
//! | --- | --- |
//! | [`store`] | the [`Store`](holdfast_engine::Store) of both tiers |
//! | [`live`] | the live tier: versioned rows, read together |
//! | [`read_set`] | read set of a commit |
//! | `commit` | conditional commit of rows |
//! | [`confirm_attempts`] | confirm attempts, and abandoned ones |
//! | `near_term_cache`, `cache_versions` | cache of near-term rows, and its versions |
//! | [`fault`] | fault injection for tests |
//! | `epoch` | epoch of the data in Redis |
//! | `connection` | a connection that reconnects by itself |
//! | `keys` | names of the store's own rows in Redis |
//!
//! No rule is written in Lua. Redis provides the time, and a server's own clock decides nothing.

mod cache_versions;
mod commit;
pub mod confirm_attempts;
mod connection;
mod epoch;
pub mod fault;
mod keys;
pub mod live;
mod near_term_cache;
pub mod read_set;
pub mod store;

pub use live::{LiveOptions, LiveTier, OnLoss};
pub use store::ClusterStore;

//! Live rows in Redis beside durable ones in PostgreSQL, for any number of servers.
//!
//! | module | contents |
//! | --- | --- |
//! | [`store`] | the [`Store`](holdfast_engine::Store) of both tiers |
//! | [`live`] | the live tier: versioned rows, read together |
//! | [`seen`] | read set of a commit |
//! | `commit` | conditional commit of rows |
//! | [`tries`] | confirm attempts, and abandoned ones |
//! | `hot`, `stamps` | near-term slot cache, and its versions |
//! | [`fault`] | fault injection for tests |
//! | `incarnation` | epoch of the data in Redis |
//! | `connection` | a connection that reconnects by itself |
//! | `tables` | all live tables, in visiting order |
//! | `keys` | names of rows in Redis |
//! | `codec` | encoding of rows in Redis |
//!
//! No rule is written in Lua. Redis provides the time, and a server's own clock decides nothing.

mod codec;
mod commit;
mod connection;
pub mod fault;
mod hot;
mod incarnation;
mod keys;
pub mod live;
pub mod seen;
mod stamps;
pub mod store;
mod tables;
pub mod tries;

pub use live::{LiveOptions, LiveTier, OnLoss};
pub use store::ClusterStore;

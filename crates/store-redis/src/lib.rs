//! Live rows in Redis beside durable ones in PostgreSQL, for any number of servers.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`store`] | the [`Store`](holdfast_engine::Store) of both tiers |
//! | [`live`] | the live tier: rows with versions, read together |
//! | [`seen`] | what was read, and has to be the same when something is written because of it |
//! | `commit` | writing by compare-and-set |
//! | [`tries`] | tries to confirm, and those whose server must have died |
//! | `hot`, `stamps` | slots of the coming days as each server keeps them, and how it knows that they are still so |
//! | [`fault`] | where a test can make something go wrong |
//! | `incarnation` | whether Redis still has the data it had |
//! | `connection` | one connection that comes back by itself |
//! | `tables` | all live tables, in one order |
//! | `keys` | what rows are called in Redis |
//! | `codec` | what rows look like in Redis |
//!
//! No rule is written in Lua. Redis tells the time, and a server's own clock decides nothing.

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

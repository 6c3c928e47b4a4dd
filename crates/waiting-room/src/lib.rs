//! Waiting room: admission to an event, in order and for a bounded time.
//!
//! Users join a queue, poll, enter when it is their turn, and give their entry back. At most `max_concurrent` are
//! inside. While users wait, exactly that many are inside or ready. Time alone ends an entry or a place: no job is
//! needed for a correct answer.
//!
//! | module | contents |
//! | --- | --- |
//! | [`waiting_room`] | the port that servers use: [`WaitingRoom`] |
//! | [`room`] | the rules, pure: one event's [`Room`] |
//! | `line`, `deadlines`, `rate` | data structures of a room: queue, deadlines, measured rate of admission |
//! | [`view`] | state of a user: rank, estimated wait, next poll |
//! | [`token`] | signed proofs of an entry |
//! | [`in_process`] | rooms in memory with a write-ahead journal |
//! | [`journal`] | storage of the journal: a `SQLite` file, or PostgreSQL |
//! | [`redis_room`] | rooms in Redis, for any number of servers |
//!
//! Seats, HTTP and JSON are unknown here.

mod deadlines;
pub mod in_process;
pub mod journal;
mod ranked_queue;
mod rate;
pub mod redis_room;
pub mod room;
pub mod settings;
pub mod token;
pub mod view;
pub mod waiting_room;
mod writer;

pub use in_process::{IdSource, InProcess, Options};
pub use journal::Journal;
pub use journal::postgres::PostgresJournal;
pub use journal::sqlite::SqliteJournal;
pub use redis_room::{RedisOptions, RedisRoom};
pub use room::Room;
pub use settings::{EventId, EventSettings, Timings};
pub use token::{Key, Keys};
pub use view::{Entry, Status, View};
pub use waiting_room::{Change, Entered, Error, Joined, Refusal, Stats, WaitingRoom};

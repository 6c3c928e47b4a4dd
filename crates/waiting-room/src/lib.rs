//! The waiting room: who may come in, in what order, and for how long.
//!
//! People join a line, poll, enter when it is their turn, and give their entry back. At most `max_concurrent` are inside,
//! and exactly that many are inside or asked in while people wait. Time alone ends an entry or a place: no job is needed
//! for an answer to be right.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`waiting_room`] | the port that servers use: [`WaitingRoom`] |
//! | [`room`] | the rules, pure: one event's [`Room`] |
//! | `line`, `deadlines`, `rate` | what a room is made of: order, deadlines, the measured rate of admission |
//! | [`view`] | what a person is told: rank, estimated wait, when to poll again |
//! | [`token`] | signed proofs of an entry |
//! | [`in_process`] | rooms in memory, each fact durable before it is answered |
//! | [`journal`] | where those facts lie: a `SQLite` file, or PostgreSQL |
//! | [`redis_room`] | rooms in Redis, for any number of servers |
//!
//! Nothing here knows seats, HTTP or JSON.

mod deadlines;
pub mod in_process;
pub mod journal;
mod line;
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

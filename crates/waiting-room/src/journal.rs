//! Durable record of the rooms in memory.
//!
//! Each place is one row, keyed by event and number. Joining inserts it, entering and renewing fill in the entry,
//! leaving or expiring deletes it: the rows are the state, and need no compaction. Polls of waiters are not written. A
//! number is not used again while a row with it may still be in flight.

pub mod postgres;
pub mod sqlite;

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;

use crate::settings::EventId;
use crate::view::Admission;
use crate::waiting_room::Error;

/// Change of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Joined {
        number: u64,
        user: UserId,
        at: Timestamp,
    },
    /// A user has entered, or the entry was renewed.
    Entered {
        number: u64,
        admission: Admission,
    },
    Ended {
        number: u64,
    },
}

/// Stored place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub event: EventId,
    pub number: u64,
    pub user: UserId,
    pub joined_at: Timestamp,
    pub admission: Option<Admission>,
}

/// Storage of records. It is used by one thread, which it may block.
pub trait Journal: Send + 'static {
    /// Returns all rows, by event and number. After a failed write this shows whether its records took effect.
    fn load(&mut self) -> Result<Vec<Row>, Error>;

    /// Writes all records in this order, or none. They are durable when it returns.
    fn append(&mut self, records: &[(EventId, Record)]) -> Result<(), Error>;
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::Damaged(format!("queue_place: {what}"))
}

/// Builds a row from its columns.
fn row(event: i64, number: i64, user: &str, joined_at: i64, entry: EntryColumns) -> Result<Row, Error> {
    let admission = match entry {
        (None, None, None) => None,
        (Some(id), Some(entered_at), Some(expires_at)) => Some(Admission {
            id: id.try_into().map_err(|_| damaged("an entry's id has sixteen bytes"))?,
            entered_at: Timestamp::from_millis(entered_at),
            expires_at: Timestamp::from_millis(expires_at),
        }),
        _ => return Err(damaged("an entry with some columns only")),
    };
    Ok(Row {
        event: EventId(event as u64),
        number: u64::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| damaged("a number below 1"))?,
        user: UserId::parse_text(user).ok_or_else(|| damaged("an invalid user id"))?,
        joined_at: Timestamp::from_millis(joined_at),
        admission,
    })
}

type EntryColumns = (Option<Vec<u8>>, Option<i64>, Option<i64>);

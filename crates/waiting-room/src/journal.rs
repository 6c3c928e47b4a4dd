//! What a room in memory must not forget, and where it is written.
//!
//! There is one row per place, under the event and the number of the place. Joining makes it, entering and renewing
//! fill in the entry, and whatever ends place or entry deletes it: so the rows are the state, and nothing piles up.
//! Polls of waiters are not written. Numbers are not used twice while a row with them may be on its way.

pub mod postgres;
pub mod sqlite;

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;

use crate::settings::EventId;
use crate::view::Admission;
use crate::waiting_room::Error;

/// Something that happened in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Joined {
        number: u64,
        user: UserId,
        at: Timestamp,
    },
    /// Entered, or renewed.
    Entered {
        number: u64,
        admission: Admission,
    },
    Ended {
        number: u64,
    },
}

/// A place as it was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub event: EventId,
    pub number: u64,
    pub user: UserId,
    pub joined_at: Timestamp,
    pub admission: Option<Admission>,
}

/// Where records are written. It is used by one thread, which it may block.
pub trait Journal: Send + 'static {
    /// Everything that is there, by event and number. Also after a failure: what could not be written for sure is then
    /// there or not, and that is how it was.
    fn load(&mut self) -> Result<Vec<Row>, Error>;

    /// All of them, in this order, or none. Durable when it returns.
    fn append(&mut self, records: &[(EventId, Record)]) -> Result<(), Error>;
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::Damaged(format!("queue_place: {what}"))
}

/// A row from its columns.
fn row(event: i64, number: i64, user: i64, joined_at: i64, entry: EntryColumns) -> Result<Row, Error> {
    let admission = match entry {
        (None, None, None) => None,
        (Some(id), Some(entered_at), Some(expires_at)) => Some(Admission {
            id: id.try_into().map_err(|_| damaged("an entry's id has sixteen bytes"))?,
            entered_at: Timestamp::from_millis(entered_at),
            expires_at: Timestamp::from_millis(expires_at),
        }),
        _ => return Err(damaged("half an entry")),
    };
    Ok(Row {
        event: EventId(event as u64),
        number: u64::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| damaged("a number below 1"))?,
        user: UserId::new(user as u64).ok_or_else(|| damaged("a user that cannot be"))?,
        joined_at: Timestamp::from_millis(joined_at),
        admission,
    })
}

type EntryColumns = (Option<Vec<u8>>, Option<i64>, Option<i64>);

//! State of a user in the queue: position, estimated wait, next poll. All implementations compute it here.

use holdfast_core::Timestamp;

use crate::settings::{EventId, Timings};
use crate::token::Keys;
use holdfast_core::id::UserId;

/// Lower bound of the poll interval, unless the configured deadlines are shorter.
const POLL_AFTER_MIN_MS: u64 = 1_000;
/// Upper bound of the poll interval.
const POLL_AFTER_MAX_MS: u64 = 30_000;
/// Added to the poll interval per user ahead.
const POLL_LATER_MS: u64 = 10;

/// State of a user at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserState {
    pub at: Timestamp,
    pub standing: Standing,
    pub entered: u64,
    pub max_concurrent: u32,
    pub sales_open_at: Option<Timestamp>,
    pub admitted_per_minute: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Waiting { rank: u64 },
    Ready { rank: u64, until: Timestamp },
    Entered(Admission),
}

/// Entry as the room stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Unique among all entries.
    pub id: [u8; 16],
    pub entered_at: Timestamp,
    pub expires_at: Timestamp,
}

/// An entry and the token that proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Contains the end of the entry when it was signed; so a renewed entry has a new token, with the same id.
    pub token: String,
    pub id: [u8; 16],
    pub entered_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Waiting,
    /// May enter until then, else loses the place.
    Ready {
        until: Timestamp,
    },
    Entered(Entry),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub status: Status,
    /// Number of users ahead; 0 once entered.
    pub rank: u64,
    /// 0 when ready or entered.
    pub estimated_wait_seconds: u64,
    /// Interval at which a user who polls never loses a place or, up to `entry_max`, an entry.
    pub poll_after_ms: u64,
}

impl Entry {
    pub fn sign(keys: &Keys, event: EventId, user: &UserId, admission: Admission) -> Self {
        let Admission { id, entered_at, expires_at } = admission;
        Self { token: keys.sign(event, user, &admission), id, entered_at, expires_at }
    }
}

impl View {
    pub fn new(keys: &Keys, timings: &Timings, event: EventId, user: &UserId, state: &UserState) -> Self {
        let (status, rank) = match state.standing {
            Standing::Waiting { rank } => (Status::Waiting, rank),
            Standing::Ready { rank, until } => (Status::Ready { until }, rank),
            Standing::Entered(admission) => (Status::Entered(Entry::sign(keys, event, user, admission)), 0),
        };
        Self {
            status,
            rank,
            estimated_wait_seconds: estimated_wait_seconds(timings, state),
            poll_after_ms: poll_after_ms(timings, state),
        }
    }
}

/// Number of admissions until it is the user's turn, its own included.
fn distance(state: &UserState) -> u64 {
    let Standing::Waiting { rank } = state.standing else { return 0 };
    (rank + 1).saturating_sub(u64::from(state.max_concurrent).saturating_sub(state.entered))
}

/// Estimates from the rate of the last minute. Without admissions then, assumes that every user inside stays for one
/// `entry_ttl`. Ignores pauses.
fn estimated_wait_seconds(timings: &Timings, state: &UserState) -> u64 {
    if !matches!(state.standing, Standing::Waiting { .. }) {
        return 0;
    }
    let opens_in_ms = state.sales_open_at.map_or(0, |at| at.as_millis() - state.at.as_millis()).max(0) as u64;
    let distance = distance(state);
    let turn_in = match state.admitted_per_minute {
        0 => {
            let turnover_ms = distance.saturating_mul(timings.entry_ttl.as_millis().max(0) as u64);
            turnover_ms.div_ceil(1_000 * u64::from(state.max_concurrent.max(1)))
        }
        rate => distance.saturating_mul(60).div_ceil(rate),
    };
    opens_in_ms.div_ceil(1_000).saturating_add(turn_in)
}

/// Grows with the distance. Bounded so that a user who obeys never loses the place: one who becomes ready just after a
/// poll learns it with half of `ready_ttl` left.
fn poll_after_ms(timings: &Timings, state: &UserState) -> u64 {
    let part = |span: holdfast_core::time::Span, of: u64| (span.as_millis().max(0) as u64) / of;
    let longest = match state.standing {
        Standing::Entered(_) => part(timings.entry_ttl.min(timings.entry_max), 3),
        Standing::Waiting { .. } | Standing::Ready { .. } => {
            part(timings.waiter_ttl, 2).min(part(timings.ready_ttl, 2))
        }
    };
    let longest = longest.clamp(1, POLL_AFTER_MAX_MS);
    let by_distance = match state.standing {
        Standing::Entered(_) => POLL_AFTER_MAX_MS,
        Standing::Ready { .. } => POLL_AFTER_MIN_MS,
        Standing::Waiting { .. } => POLL_AFTER_MIN_MS.saturating_add(distance(state).saturating_mul(POLL_LATER_MS)),
    };
    by_distance.min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_core::time::Span;

    fn waiting(rank: u64, admitted_per_minute: u64) -> UserState {
        UserState {
            at: Timestamp::from_millis(1_000_000),
            standing: Standing::Waiting { rank },
            entered: 100,
            max_concurrent: 100,
            sales_open_at: None,
            admitted_per_minute,
        }
    }

    #[test]
    fn wait_is_estimated_from_rate() {
        let seconds = |state: &UserState| estimated_wait_seconds(&Timings::default(), state);
        assert_eq!(seconds(&waiting(119, 60)), 120);
        assert_eq!(seconds(&waiting(99, 0)), 300, "a hundred inside leave within one entry_ttl");
        let opens = UserState { sales_open_at: Some(Timestamp::from_millis(1_060_000)), ..waiting(119, 60) };
        assert_eq!(seconds(&opens), 180, "the time until sales open comes first");
        let empty = UserState { entered: 0, ..opens };
        assert_eq!(seconds(&empty), 60 + 20);
        assert_eq!(seconds(&UserState { max_concurrent: 0, ..waiting(0, 0) }), 300);
        let ready = Standing::Ready { rank: 3, until: Timestamp::default() };
        assert_eq!(seconds(&UserState { standing: ready, ..waiting(0, 1) }), 0);
    }

    #[test]
    fn poll_interval_grows_within_bounds() {
        let timings = Timings::default();
        let after: Vec<u64> =
            [0, 100, 1_000, 10_000, 1_000_000].map(|rank| poll_after_ms(&timings, &waiting(rank, 0))).into();
        assert_eq!(after, [1_010, 2_010, 11_010, 30_000, 30_000]);
        for seconds in [1, 2, 7, 50] {
            let short = Timings { ready_ttl: Span::from_secs(seconds), waiter_ttl: Span::from_secs(9), ..timings };
            let after = poll_after_ms(&short, &waiting(1_000_000, 0)) as i64;
            assert!(after * 2 <= short.ready_ttl.as_millis().min(short.waiter_ttl.as_millis()));
        }
    }
}

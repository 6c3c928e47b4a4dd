//! What a person is told: where they stand, how long it may take, when to ask again. All rooms tell it the same way.

use holdfast_core::Timestamp;

use crate::settings::{EventId, Timings};
use crate::token::Keys;
use holdfast_core::id::UserId;

/// Nobody is asked to poll more often, unless the times set are shorter than that.
const POLL_AFTER_MIN_MS: u64 = 1_000;
/// Nor more rarely.
const POLL_AFTER_MAX_MS: u64 = 30_000;
/// How much later the next one in line polls.
const POLL_LATER_MS: u64 = 10;

/// What a room knows of a person at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
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

/// An entry as the room has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// No other entry has it.
    pub id: [u8; 16],
    pub entered_at: Timestamp,
    pub expires_at: Timestamp,
}

/// An entry and the token that proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Says until when the entry lasted when it was signed; so a renewed entry has a new one, with the same id.
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
    /// How many are ahead; 0 once entered.
    pub rank: u64,
    /// 0 when ready or entered.
    pub estimated_wait_seconds: u64,
    /// Who polls this often never loses a place or, up to `entry_max`, an entry.
    pub poll_after_ms: u64,
}

impl Entry {
    pub fn sign(keys: &Keys, event: EventId, user: UserId, admission: Admission) -> Self {
        let Admission { id, entered_at, expires_at } = admission;
        Self { token: keys.sign(event, user, &admission), id, entered_at, expires_at }
    }
}

impl View {
    pub fn new(keys: &Keys, timings: &Timings, event: EventId, user: UserId, sight: &Sight) -> Self {
        let (status, rank) = match sight.standing {
            Standing::Waiting { rank } => (Status::Waiting, rank),
            Standing::Ready { rank, until } => (Status::Ready { until }, rank),
            Standing::Entered(admission) => (Status::Entered(Entry::sign(keys, event, user, admission)), 0),
        };
        Self {
            status,
            rank,
            estimated_wait_seconds: estimated_wait_seconds(timings, sight),
            poll_after_ms: poll_after_ms(timings, sight),
        }
    }
}

/// How many have to be admitted until it is one's turn, oneself included.
fn distance(sight: &Sight) -> u64 {
    let Standing::Waiting { rank } = sight.standing else { return 0 };
    (rank + 1).saturating_sub(u64::from(sight.max_concurrent).saturating_sub(sight.entered))
}

/// At the rate of the last minute. If nobody was admitted then, as if everyone inside stayed for one `entry_ttl`. A pause is
/// not foreseen.
fn estimated_wait_seconds(timings: &Timings, sight: &Sight) -> u64 {
    if !matches!(sight.standing, Standing::Waiting { .. }) {
        return 0;
    }
    let opens_in_ms = sight.sales_open_at.map_or(0, |at| at.as_millis() - sight.at.as_millis()).max(0) as u64;
    let distance = distance(sight);
    let turn_in = match sight.admitted_per_minute {
        0 => {
            let turnover_ms = distance.saturating_mul(timings.entry_ttl.as_millis().max(0) as u64);
            turnover_ms.div_ceil(1_000 * u64::from(sight.max_concurrent.max(1)))
        }
        rate => distance.saturating_mul(60).div_ceil(rate),
    };
    opens_in_ms.div_ceil(1_000).saturating_add(turn_in)
}

/// Grows with the distance: who is far away has time. Never so long that one who obeys falls out: whoever becomes ready
/// just after a poll learns it with half of `ready_ttl` left.
fn poll_after_ms(timings: &Timings, sight: &Sight) -> u64 {
    let part = |span: holdfast_core::time::Span, of: u64| (span.as_millis().max(0) as u64) / of;
    let longest = match sight.standing {
        Standing::Entered(_) => part(timings.entry_ttl.min(timings.entry_max), 3),
        Standing::Waiting { .. } | Standing::Ready { .. } => {
            part(timings.waiter_ttl, 2).min(part(timings.ready_ttl, 2))
        }
    };
    let longest = longest.clamp(1, POLL_AFTER_MAX_MS);
    let wished = match sight.standing {
        Standing::Entered(_) => POLL_AFTER_MAX_MS,
        Standing::Ready { .. } => POLL_AFTER_MIN_MS,
        Standing::Waiting { .. } => POLL_AFTER_MIN_MS.saturating_add(distance(sight).saturating_mul(POLL_LATER_MS)),
    };
    wished.min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_core::time::Span;

    fn waiting(rank: u64, admitted_per_minute: u64) -> Sight {
        Sight {
            at: Timestamp::from_millis(1_000_000),
            standing: Standing::Waiting { rank },
            entered: 100,
            max_concurrent: 100,
            sales_open_at: None,
            admitted_per_minute,
        }
    }

    #[test]
    fn the_wait_is_estimated_from_the_measured_rate_and_guessed_before_there_is_one() {
        let seconds = |sight: &Sight| estimated_wait_seconds(&Timings::default(), sight);
        assert_eq!(seconds(&waiting(119, 60)), 120);
        assert_eq!(seconds(&waiting(99, 0)), 300, "a hundred inside leave within one entry_ttl");
        let opens = Sight { sales_open_at: Some(Timestamp::from_millis(1_060_000)), ..waiting(119, 60) };
        assert_eq!(seconds(&opens), 180, "the time until sales open comes first");
        let empty = Sight { entered: 0, ..opens };
        assert_eq!(seconds(&empty), 60 + 20);
        assert_eq!(seconds(&Sight { max_concurrent: 0, ..waiting(0, 0) }), 300);
        let ready = Standing::Ready { rank: 3, until: Timestamp::default() };
        assert_eq!(seconds(&Sight { standing: ready, ..waiting(0, 1) }), 0);
    }

    #[test]
    fn polls_are_rarer_with_distance_and_never_too_rare() {
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

//! The waiting room's types in those of the API.

use holdfast_api::queue::{EntryView, PlaceView, QueueStatus, StatsView};
use holdfast_waiting_room::{Entry, Stats, Status, View};

pub(super) fn place(view: &View, remaining_seats: u32) -> PlaceView {
    let (status, ready_until, expires_at) = match &view.status {
        Status::Waiting => (QueueStatus::Waiting, None, None),
        Status::Ready { until } => (QueueStatus::Ready, Some(until.to_jiff()), None),
        Status::Entered(entry) => (QueueStatus::Entered, None, Some(entry.expires_at.to_jiff())),
    };
    PlaceView {
        status,
        rank: view.rank,
        ahead_count: view.rank,
        estimated_wait_seconds: view.estimated_wait_seconds,
        poll_after_ms: view.poll_after_ms,
        remaining_seats,
        ready_until,
        expires_at,
    }
}

pub(super) fn entry(entry: &Entry) -> EntryView {
    EntryView { status: QueueStatus::Entered, token: entry.token.clone(), expires_at: entry.expires_at.to_jiff() }
}

pub(super) fn stats(stats: &Stats) -> StatsView {
    StatsView {
        waiting: stats.waiting,
        ready: stats.ready,
        entered: stats.entered,
        max_concurrent: stats.max_concurrent,
        paused: stats.paused,
        admitted_per_minute: stats.admitted_per_minute,
    }
}

//! The calendar job. It generates slots for the next day at midnight of each room, including missed days, and for rooms
//! with their first operating hours. It deletes old slots, and finishes rebuilds that new operating hours started.
//!
//! Every server runs it. The commands are idempotent and short, so several servers do the work only once. The rows of
//! rooms tell what is due. Until the next due time the job reads only the clock.

use std::collections::BTreeSet;
use std::time::Duration;

use holdfast_core::Timestamp;
use holdfast_core::calendar::hours::{self, OperatingHours};
use holdfast_core::calendar::rebuild::RebuildSlots;
use holdfast_core::calendar::{Limits, Room, RoomId, room};
use holdfast_core::schema::{Filter, List};
use holdfast_core::time::{Span, Zone};
use http::StatusCode;
use jiff::civil::Date;

use super::work::{self, ROOMS_AT_ONCE};
use crate::app::App;
use crate::problem::Problem;

/// Interval at which the clock is compared with the schedule.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Maximum interval between passes over all rooms, because rooms may have changed. New rooms cause a pass earlier.
const PASS_EVERY: Span = Span::from_secs(300);
/// Interval between searches for unfinished rebuilds.
const REBUILD_EVERY: Span = Span::from_secs(30);
/// Interval between searches for rooms with hours and without slots. Only a room found twice is filled: the client that
/// set its hours may be about to generate its slots, and expects their number in the response.
const FILL_EVERY: Span = Span::from_secs(20);
/// Time after which a room whose maintenance failed is tried again.
const RETRY_AFTER: Span = Span::from_secs(10);
/// Pause of the job after an error.
const PAUSE: Duration = Duration::from_secs(10);

/// Times at which the parts of the job are due.
#[derive(Debug, Default)]
struct Schedule {
    /// The next midnight in the time zone of any room, at most [`PASS_EVERY`] away.
    pass_at: Timestamp,
    rebuild_at: Timestamp,
    fill_at: Timestamp,
    /// Rooms that had hours and no slots at the last search.
    empty: BTreeSet<RoomId>,
    /// The newest room whose midnight is known.
    newest: Option<RoomId>,
}

pub(crate) async fn run(app: App) {
    let mut schedule = Schedule::default();
    let mut due = tokio::time::interval(CHECK_EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.stopped() => return,
            _ = due.tick() => {}
        }
        if let Err(problem) = run_due(&app, &mut schedule).await {
            tracing::warn!(code = problem.code.as_str(), "the calendar job failed; it runs again after a pause");
            tokio::select! {
                () = app.stopped() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }
}

async fn run_due(app: &App, schedule: &mut Schedule) -> Result<(), Problem> {
    let (now, limits) = app.query(|_, at| Ok((at.now, at.limits.calendar.clone()))).await?;
    if now >= schedule.rebuild_at {
        rebuild(app).await?;
        schedule.rebuild_at = now + REBUILD_EVERY;
    }
    if now >= schedule.fill_at {
        schedule.empty = fill(app, &schedule.empty).await?;
        schedule.fill_at = now + FILL_EVERY;
        if !app.list::<Room>(List::of::<Room>(schedule.newest.as_ref(), 1)).await?.is_empty() {
            schedule.pass_at = now;
        }
    }
    if now >= schedule.pass_at {
        (schedule.pass_at, schedule.newest) = maintain_all(app, &limits, now).await?;
    }
    Ok(())
}

/// Finishes rebuilds that new hours started. A rebuild waits for locked slots until their locks end.
async fn rebuild(app: &App) -> Result<(), Problem> {
    let mut after: Option<RoomId> = None;
    loop {
        let pending =
            List::of::<OperatingHours>(after.as_ref(), ROOMS_AT_ONCE).filter(Filter::IsNotNull("rebuild_next"));
        let pending = app.list_with_keys::<OperatingHours>(pending).await?;
        for (id, _) in &pending {
            let id = *id;
            if let Err(problem) = rebuild_room(app, id).await {
                log_unless_unavailable(problem, id)?;
            }
        }
        after = pending.last().map(|(id, _)| *id);
        if pending.len() < ROOMS_AT_ONCE || app.is_stopping() {
            return Ok(());
        }
    }
}

async fn rebuild_room(app: &App, id: RoomId) -> Result<(), Problem> {
    // An inactive room waits until it is active again.
    if app.query(|rows, _| room::find(rows, id)).await?.active {
        while !work::run(app, RebuildSlots { room: id }).await?.done && !app.is_stopping() {}
    }
    Ok(())
}

/// Generates the first slots of rooms that are in `empty`. Returns the other rooms that are empty now.
async fn fill(app: &App, empty: &BTreeSet<RoomId>) -> Result<BTreeSet<RoomId>, Problem> {
    let mut found = BTreeSet::new();
    let mut after: Option<RoomId> = None;
    loop {
        let ungenerated = List::of::<Room>(after.as_ref(), ROOMS_AT_ONCE).filter(Filter::IsNull("generated_until"));
        let rooms = app.list::<Room>(ungenerated).await?;
        let active: Vec<RoomId> = rooms.iter().filter(|room| room.active).map(|room| room.id).collect();
        for room in app.query(|rows, _| hours::given(rows, &active)).await? {
            if !empty.contains(&room) {
                found.insert(room);
            } else if let Err(refused) = work::generate(app, room, None, |_| {}).await {
                found.insert(room);
                log_unless_unavailable(refused.into(), room)?;
            }
        }
        after = rooms.last().map(|room| room.id);
        if rooms.len() < ROOMS_AT_ONCE || app.is_stopping() {
            return Ok(found);
        }
    }
}

/// Returns the problem if the store is unavailable. A problem of one room is logged and does not delay other rooms.
fn log_unless_unavailable(problem: Problem, room: RoomId) -> Result<(), Problem> {
    if problem.status == StatusCode::SERVICE_UNAVAILABLE {
        return Err(problem);
    }
    tracing::warn!(code = problem.code.as_str(), %room, "calendar maintenance of a room failed; it is tried again later");
    Ok(())
}

/// Maintains all rooms. Returns the time of the next pass, and the newest room.
async fn maintain_all(app: &App, limits: &Limits, now: Timestamp) -> Result<(Timestamp, Option<RoomId>), Problem> {
    let mut next = now + PASS_EVERY;
    let mut after = None;
    loop {
        let rooms = app.list::<Room>(List::of::<Room>(after.as_ref(), ROOMS_AT_ONCE)).await?;
        for room in &rooms {
            let today = room.zone.today(now);
            next = next.min(midnight_after(&room.zone, today));
            if (lacks_slots(room, limits, today) || has_old_slots(room, limits, today))
                && let Err(problem) = maintain(app, room.id, limits, now).await
            {
                next = next.min(now + RETRY_AFTER);
                log_unless_unavailable(problem, room.id)?;
            }
        }
        after = rooms.last().map(|room| room.id).or(after);
        if rooms.len() < ROOMS_AT_ONCE || app.is_stopping() {
            return Ok((next.max(now + Span::from_secs(1)), after));
        }
    }
}

/// Maintains one room. Its row is read again, because another server may have done the work meanwhile.
async fn maintain(app: &App, id: RoomId, limits: &Limits, now: Timestamp) -> Result<(), Problem> {
    let room = app.query(|rows, _| room::find(rows, id)).await?;
    let today = room.zone.today(now);
    if lacks_slots(&room, limits, today) {
        work::generate(app, id, None, |_| {}).await?;
    }
    if has_old_slots(&room, limits, today) {
        work::clear(app, id).await?;
    }
    Ok(())
}

/// Whether slots are missing. False for a room without any slots: `fill` finds those with hours.
fn lacks_slots(room: &Room, limits: &Limits, today: Date) -> bool {
    let until = today.saturating_add(jiff::Span::new().days(limits.days_ahead));
    room.active && room.generated_until.is_some_and(|last| last < until)
}

fn has_old_slots(room: &Room, limits: &Limits, today: Date) -> bool {
    let kept_from = today.saturating_sub(jiff::Span::new().days(limits.keep_days));
    room.kept_from.is_some_and(|first| first < kept_from)
}

fn midnight_after(zone: &Zone, today: Date) -> Timestamp {
    zone.moment_of(today.tomorrow().unwrap_or(today).at(0, 0, 0, 0)).reached()
}

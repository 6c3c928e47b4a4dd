//! What happens by itself: every midnight of a room its next day gets slots, also if some were missed; a room that was given
//! its first hours gets slots from today on; old slots are cleared; what new hours began is finished.
//!
//! Every server does this. The commands may be repeated and never get into each other's way for long, so it happens once
//! however many servers there are. What is due is told by the rows of rooms: most of the time nothing is, and then nothing but a
//! clock is looked at.

use std::collections::BTreeSet;
use std::time::Duration;

use holdfast_core::Timestamp;
use holdfast_core::calendar::hours::{self, OperatingHours};
use holdfast_core::calendar::rebuild::RebuildSlots;
use holdfast_core::calendar::{Limits, Room, RoomId, room};
use holdfast_core::time::{Span, Zone};
use holdfast_records::{Filter, List};
use http::StatusCode;
use jiff::civil::Date;

use super::work::{self, ROOMS_AT_ONCE};
use crate::app::App;
use crate::problem::Problem;

/// How often the clock is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often rooms are looked at although it is nowhere midnight: some may have changed. New ones are looked for more often.
const ROUND_EVERY: Span = Span::from_secs(300);
/// How often unfinished rebuilds are looked for.
const REBUILD_EVERY: Span = Span::from_secs(30);
/// How often rooms that have hours and no slots are looked for. One that is found twice is filled: before, whoever gave it
/// hours may be about to make its slots, and to be told how many there are.
const FILL_EVERY: Span = Span::from_secs(20);
/// A room that could not be looked after is looked at again then.
const AGAIN_AFTER: Span = Span::from_secs(10);
/// After something went wrong.
const PAUSE: Duration = Duration::from_secs(10);

/// When to look again.
#[derive(Debug, Default)]
struct Schedule {
    /// The next midnight in the zone of any room, or simply later.
    round_at: Timestamp,
    rebuild_at: Timestamp,
    fill_at: Timestamp,
    /// Rooms that had hours and no slots when they were looked for.
    empty: BTreeSet<RoomId>,
    /// The newest room whose midnight is known.
    newest: Option<RoomId>,
}

pub(crate) async fn run(app: App) {
    let mut schedule = Schedule::default();
    let mut due = tokio::time::interval(LOOK_EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = app.stopped() => return,
            _ = due.tick() => {}
        }
        if let Err(problem) = look(&app, &mut schedule).await {
            tracing::warn!(code = problem.code, "could not look after the calendar; trying again");
            tokio::select! {
                () = app.stopped() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }
}

async fn look(app: &App, schedule: &mut Schedule) -> Result<(), Problem> {
    let (now, limits) = app.query(|_, at| Ok((at.now, at.limits.calendar.clone()))).await?;
    if now >= schedule.rebuild_at {
        rebuild(app).await?;
        schedule.rebuild_at = now + REBUILD_EVERY;
    }
    if now >= schedule.fill_at {
        schedule.empty = fill(app, &schedule.empty).await?;
        schedule.fill_at = now + FILL_EVERY;
        if !app.list::<Room>(List::of::<Room>(schedule.newest.as_ref(), 1)).await?.is_empty() {
            schedule.round_at = now;
        }
    }
    if now >= schedule.round_at {
        (schedule.round_at, schedule.newest) = round(app, &limits, now).await?;
    }
    Ok(())
}

/// Finishes what new hours began. Slots that are locked are in its way, until their locks end.
async fn rebuild(app: &App) -> Result<(), Problem> {
    let mut after: Option<RoomId> = None;
    loop {
        let pending =
            List::of::<OperatingHours>(after.as_ref(), ROOMS_AT_ONCE).filter(Filter::IsNotNull("rebuild_next"));
        let pending = app.list_with_keys::<OperatingHours>(pending).await?;
        for (id, _) in &pending {
            let id = *id;
            if let Err(problem) = rebuild_room(app, id).await {
                give_up_if_away(problem, id)?;
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

/// Makes the first slots of rooms that were `empty` before. Tells which are now.
async fn fill(app: &App, empty: &BTreeSet<RoomId>) -> Result<BTreeSet<RoomId>, Problem> {
    let mut found = BTreeSet::new();
    let mut after: Option<RoomId> = None;
    loop {
        let unmade = List::of::<Room>(after.as_ref(), ROOMS_AT_ONCE).filter(Filter::IsNull("generated_until"));
        let rooms = app.list::<Room>(unmade).await?;
        let active: Vec<RoomId> = rooms.iter().filter(|room| room.active).map(|room| room.id).collect();
        for room in app.query(|rows, _| hours::given(rows, &active)).await? {
            if !empty.contains(&room) {
                found.insert(room);
            } else if let Err(refused) = work::generate(app, room, None, |_| {}).await {
                found.insert(room);
                give_up_if_away(refused.into(), room)?;
            }
        }
        after = rooms.last().map(|room| room.id);
        if rooms.len() < ROOMS_AT_ONCE || app.is_stopping() {
            return Ok(found);
        }
    }
}

/// What is wrong with one room keeps no other waiting; a store that is away is asked again later.
fn give_up_if_away(problem: Problem, room: RoomId) -> Result<(), Problem> {
    if problem.status == StatusCode::SERVICE_UNAVAILABLE {
        return Err(problem);
    }
    tracing::warn!(code = problem.code, %room, "could not look after a room; trying again later");
    Ok(())
}

/// Looks at all rooms, and does what is due. Tells when something may be due again, and which room is the newest.
async fn round(app: &App, limits: &Limits, now: Timestamp) -> Result<(Timestamp, Option<RoomId>), Problem> {
    let mut next = now + ROUND_EVERY;
    let mut after = None;
    loop {
        let rooms = app.list::<Room>(List::of::<Room>(after.as_ref(), ROOMS_AT_ONCE)).await?;
        for room in &rooms {
            let today = room.zone.today(now);
            next = next.min(midnight_after(&room.zone, today));
            if (lacks_slots(room, limits, today) || has_old_slots(room, limits, today))
                && let Err(problem) = look_after(app, room.id, limits, now).await
            {
                next = next.min(now + AGAIN_AFTER);
                give_up_if_away(problem, room.id)?;
            }
        }
        after = rooms.last().map(|room| room.id).or(after);
        if rooms.len() < ROOMS_AT_ONCE || app.is_stopping() {
            return Ok((next.max(now + Span::from_secs(1)), after));
        }
    }
}

/// Looked at once more: another server may have been first.
async fn look_after(app: &App, id: RoomId, limits: &Limits, now: Timestamp) -> Result<(), Problem> {
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

/// A room that never had slots is not looked after here: `fill` sees whether it has hours.
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

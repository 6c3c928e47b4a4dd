//! Calendar work that takes several commands. Each command creates or deletes a bounded number of slots, so that
//! bookings do not wait long for it. The work is idempotent and resumes where it stopped.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use holdfast_api::calendar::room::GeneratedView;
use holdfast_core::Command;
use holdfast_core::calendar::generation::{ClearOldSlots, GenerateSlots};
use holdfast_core::calendar::hours::OperatingHours;
use holdfast_core::calendar::rebuild::{RebuildSlots, SetOperatingHours};
use holdfast_core::calendar::reprice::RepriceSlots;
use holdfast_core::calendar::{Room, RoomId, RoomReservationId};
use holdfast_engine::{Answer, Refused};
use jiff::civil::Date;

use crate::app::App;
use crate::problem::Problem;

/// Time that a caller waits for a rebuild. The calendar job finishes the rest in the background.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// Rooms per page.
pub(super) const ROOMS_AT_ONCE: usize = 500;
/// Maximum number of attempts of a command that is refused for contention or overload.
const ATTEMPTS_MAX: u32 = 20;

/// Runs one command, without retries.
async fn run_once<C: Command>(app: &App, command: C) -> Result<C::Outcome, Refused> {
    match app.engine().run(command, None).await? {
        Answer::Fresh(outcome) => {
            app.stream().activity().changed(C::NAME);
            Ok(outcome)
        }
        Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
    }
}

/// Runs one command in the background: backs off and retries on contention and overload.
pub(super) async fn run<C: Command + Clone>(app: &App, command: C) -> Result<C::Outcome, Refused> {
    for attempt in 1..ATTEMPTS_MAX {
        match run_once(app, command.clone()).await {
            Err(Refused::LockTimeout | Refused::Overloaded) if !app.is_stopping() => {
                tokio::time::sleep(Duration::from_millis(20) * attempt).await;
            }
            ended => return ended,
        }
    }
    run_once(app, command).await
}

/// Sets operating hours and rebuilds slots. Returns the hours, and the reservations outside of them.
pub(super) async fn set_hours(
    app: &App,
    command: SetOperatingHours,
) -> Result<(OperatingHours, BTreeSet<RoomReservationId>), Problem> {
    let (room, began) = (command.room, Instant::now());
    let set = run_once(app, command).await?;
    let mut affected: BTreeSet<_> = set.rebuilt.affected.into_iter().collect();
    let mut done = set.rebuilt.done;
    // The hours are committed, so an error here does not fail the request: the calendar job finishes the rebuild.
    while !done && began.elapsed() < WAIT_MAX {
        let Ok(rebuilt) = run_once(app, RebuildSlots { room }).await else { break };
        affected.extend(rebuilt.affected);
        done = rebuilt.done;
    }
    Ok((set.hours, affected))
}

/// Recalculates the prices of slots. Returns the number of slots whose price changed.
pub(super) async fn reprice(app: &App, room: RoomId, from: Date, to: Date) -> Result<u64, Problem> {
    let (mut next, mut changed) = (Some(from), 0);
    while let Some(from) = next {
        let repriced =
            run_once(app, RepriceSlots { room, from, to }).await.map_err(|error| part_done(error, changed))?;
        changed += u64::from(repriced.changed);
        next = repriced.next;
    }
    Ok(changed)
}

/// Error of partially committed work: `OutcomeUnknown` where the original error would say "nothing was changed".
fn part_done(error: Refused, changed: u64) -> Refused {
    match error {
        Refused::Rejected(_) | Refused::OutcomeUnknown => error,
        _ if changed == 0 => error,
        _ => Refused::OutcomeUnknown,
    }
}

/// Progress of slot generation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) created: u64,
    pub(super) generated_until: Option<Date>,
}

impl Progress {
    fn add(&mut self, created: u32) {
        self.created += u64::from(created);
    }

    /// Records the last generated day of a room; of several rooms, the earliest counts.
    fn reached(&mut self, until: Option<Date>) {
        self.generated_until = match (self.generated_until, until) {
            (Some(before), Some(until)) => Some(before.min(until)),
            (before, until) => before.or(until),
        };
    }

    pub(super) fn view(self) -> GeneratedView {
        GeneratedView { slots_created: self.created, generated_until: self.generated_until }
    }
}

/// Generates the missing slots of a room, and returns its last generated day.
pub(super) async fn generate(
    app: &App,
    room: RoomId,
    until: Option<Date>,
    mut on_created: impl FnMut(u32),
) -> Result<Option<Date>, Refused> {
    loop {
        let generated = run(app, GenerateSlots { room, until }).await?;
        on_created(generated.created);
        if generated.done || app.is_stopping() {
            return Ok(generated.generated_until);
        }
    }
}

/// Generates the missing slots of one room, or of all active rooms, and publishes its progress.
pub(super) async fn generate_for(
    app: &App,
    room: Option<RoomId>,
    until: Option<Date>,
    progress: &tokio::sync::watch::Sender<Progress>,
) -> Result<(), Problem> {
    if let Some(room) = room {
        let until = generate(app, room, until, |created| progress.send_modify(|it| it.add(created))).await?;
        progress.send_modify(|it| it.reached(until));
        return Ok(());
    }
    let (mut after, mut is_any_generated, mut rejected) = (None, false, None);
    loop {
        let rooms = app.list::<Room>(holdfast_core::schema::List::of::<Room>(after.as_ref(), ROOMS_AT_ONCE)).await?;
        for room in rooms.iter().filter(|room| room.active) {
            match generate(app, room.id, until, |created| progress.send_modify(|it| it.add(created))).await {
                Ok(until) => {
                    is_any_generated = true;
                    progress.send_modify(|it| it.reached(until));
                }
                // `until` may be rejected in one time zone and valid in another. The request fails only if every room
                // rejects it.
                Err(Refused::Rejected(rejection)) => rejected = Some(rejection),
                Err(error) => return Err(error.into()),
            }
        }
        after = rooms.last().map(|room| room.id);
        if rooms.len() < ROOMS_AT_ONCE || app.is_stopping() {
            let rejected = rejected.filter(|_| !is_any_generated);
            return rejected.map_or(Ok(()), |rejection| Err(Refused::Rejected(rejection).into()));
        }
    }
}

/// Deletes the slots of a room that are older than the retention.
pub(super) async fn clear(app: &App, room: RoomId) -> Result<(), Refused> {
    while !run(app, ClearOldSlots { room }).await?.done && !app.is_stopping() {}
    Ok(())
}

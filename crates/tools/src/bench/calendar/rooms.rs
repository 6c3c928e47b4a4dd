//! Rooms with twenty slots a day, created in a store without a server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use holdfast_core::Command;
use holdfast_core::Limits;
use holdfast_core::calendar::rebuild::SetOperatingHours;
use holdfast_core::calendar::room::{CreateRoom, RoomDraft};
use holdfast_core::calendar::{LocalTime, OpenInterval};
use holdfast_engine::{Answer, Engine, EngineSettings, NoSink, Refused, Store};
use tokio::task::JoinSet;

use super::requests;
use crate::bench::server_process;

/// Days created by `make`; with today, sixty.
pub(super) const DAYS_AHEAD: u32 = 59;

pub(super) fn settings(days_ahead: u32) -> EngineSettings {
    let mut limits = Limits::DEFAULT;
    limits.calendar.days_ahead = days_ahead;
    EngineSettings { lock_wait: Duration::from_secs(1), queue_max: 100_000, limits }
}

/// Creates the rooms 1 to `count` and their slots. Returns the time that `holdfast calendar generate` took for the
/// slots; `place` has the arguments for its store.
pub(super) async fn make(store: Arc<dyn Store>, place: &[&str], count: u64) -> anyhow::Result<Duration> {
    let (engine, thread) = Engine::start(store, Arc::new(NoSink), settings(DAYS_AHEAD))?;
    let mut working = JoinSet::new();
    for _ in 0..count {
        working.spawn(make_room(engine.clone()));
        if working.len() >= 8 {
            working.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(made) = working.join_next().await {
        made??;
    }
    drop(engine);
    tokio::task::spawn_blocking(move || thread.join()).await.ok();
    let until = requests::today().saturating_add(jiff::Span::new().days(DAYS_AHEAD)).to_string();
    let mut command = server_process::holdfast()?;
    command.args(["calendar", "generate", "--until", &until]).args(place);
    let began = Instant::now();
    let status = tokio::task::spawn_blocking(move || command.status()).await??;
    ensure!(status.success(), "the slots could not be created: {status}");
    Ok(began.elapsed())
}

async fn make_room(engine: Engine) -> anyhow::Result<()> {
    let draft = RoomDraft {
        name: Some("room".into()),
        slot_minutes: Some(60),
        base_price: Some(20_000),
        ..RoomDraft::default()
    };
    let room = run(&engine, CreateRoom(draft)).await?.id;
    let time = |text| LocalTime::parse_end(text).expect("a time");
    let open = vec![OpenInterval { from: time("00:00"), to: time("20:00") }];
    let hours = SetOperatingHours { room, weekly: std::array::from_fn(|_| open.clone()), exceptions: Vec::new() };
    run(&engine, hours).await?;
    Ok(())
}

pub(super) async fn run<C: Command>(engine: &Engine, command: C) -> Result<C::Outcome, Refused> {
    match engine.run(command, None).await? {
        Answer::Fresh(outcome) => Ok(outcome),
        Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
    }
}

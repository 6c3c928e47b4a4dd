//! Random histories run on every implementation; every answer is compared with that of the pure rules.

use std::sync::Arc;

use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_engine::Clock as _;
use holdfast_waiting_room::{EventId, EventSettings, Timings, WaitingRoom};

use crate::support::{Backend, Kind, Random, clock, space, user};

/// Durations so short that deadlines pass within a history.
fn timings(ready_ttl_millis: i64) -> Timings {
    Timings {
        entry_ttl: Span::from_millis(300),
        entry_max: Span::from_millis(1_000),
        waiter_ttl: Span::from_millis(250),
        ready_ttl: Span::from_millis(ready_ttl_millis),
    }
}

#[derive(Clone, Debug)]
enum Call {
    Join(u64),
    Poll(u64),
    Enter(u64),
    Leave(u64),
    GiveBack(u64),
    Entry(u64),
    Stats,
    Configure,
    Tidy,
}

fn plan(random: &mut Random) -> Call {
    let user_number = 1 + random.below(25);
    match random.below(100) {
        0..25 => Call::Join(user_number),
        25..55 => Call::Poll(user_number),
        55..80 => Call::Enter(user_number),
        80..84 => Call::Leave(user_number),
        84..88 => Call::GiveBack(user_number),
        88..91 => Call::Entry(user_number),
        91..96 => Call::Stats,
        96..99 => Call::Configure,
        _ => Call::Tidy,
    }
}

async fn run(room: &dyn WaitingRoom, event: EventId, settings: &EventSettings, call: &Call) -> String {
    match *call {
        Call::Join(user_number) => format!("{:?}", room.join(event, settings, &user(user_number)).await),
        Call::Poll(user_number) => format!("{:?}", room.poll(event, settings, &user(user_number)).await),
        Call::Enter(user_number) => format!("{:?}", room.enter(event, settings, &user(user_number)).await),
        Call::Leave(user_number) => format!("{:?}", room.leave(event, settings, &user(user_number)).await),
        Call::GiveBack(user_number) => format!("{:?}", room.give_back(event, settings, &user(user_number)).await),
        Call::Entry(user_number) => format!("{:?}", room.entry(event, settings, &user(user_number)).await),
        Call::Stats => format!("{:?}", room.stats(event, settings).await),
        Call::Configure => format!("{:?}", room.configure(event, settings).await),
        Call::Tidy => format!("{:?}", room.tidy().await),
    }
}

fn change(random: &mut Random, settings: &mut EventSettings, now: Timestamp) {
    settings.revision += random.below(2);
    match random.below(4) {
        0 => settings.paused = !settings.paused,
        1 => settings.max_concurrent = random.below(9) as u32,
        2 => settings.sales_open_at = Some(now + Span::from_millis(random.below(400) as i64)),
        _ => *settings = EventSettings { paused: false, sales_open_at: None, max_concurrent: 4, ..settings.clone() },
    }
}

async fn compare(kinds: &[Kind], ready_ttl_millis: i64, seeds: std::ops::Range<u64>, calls: usize) {
    let clock = clock();
    let backends: Vec<(Kind, Backend)> = kinds.iter().map(|kind| (*kind, Backend::new(*kind))).collect();
    let mut rooms: Vec<(Kind, Arc<dyn WaitingRoom>)> = Vec::new();
    for (kind, backend) in &backends {
        rooms.push((*kind, backend.open(timings(ready_ttl_millis), clock.clone()).await));
    }
    for seed in seeds {
        let (mut random, event) = (Random::new(seed), EventId(seed + 1));
        let (mut settings, mut earlier) = (space(3), Vec::new());
        for step in 0..calls {
            // Most calls follow each other closely; from time to time all deadlines pass between two.
            let pace = [1, 5, 30, 120, 1, 5, 30, 700][random.below(8) as usize];
            clock.advance(Span::from_millis(random.below(pace) as i64));
            if random.below(20) == 0 {
                earlier.push(settings.clone());
                change(&mut random, &mut settings, clock.now());
            }
            // Some calls carry stale settings, as from a server that has not read the change yet.
            let is_stale = !earlier.is_empty() && random.below(10) == 0;
            let shown =
                if is_stale { earlier[random.below(earlier.len() as u64) as usize].clone() } else { settings.clone() };
            let call = plan(&mut random);
            let mut expected = None;
            for (kind, room) in &rooms {
                let answer = run(&**room, event, &shown, &call).await;
                let expected = expected.get_or_insert_with(|| answer.clone());
                assert_eq!(*expected, answer, "seed {seed}, step {step}: {call:?} on {kind:?} {shown:?}");
            }
        }
    }
}

#[tokio::test]
async fn all_implementations_agree() {
    compare(&Kind::ALL, 90, 0..12, 300).await;
}

#[tokio::test]
async fn redis_agrees_with_pure_rules() {
    compare(&[Kind::Pure, Kind::Redis], 90, 1_000..1_050, 400).await;
    // Several users become ready and lose their turn between two calls.
    compare(&[Kind::Pure, Kind::Redis], 12, 3_000..3_050, 400).await;
}

#[tokio::test]
async fn sqlite_agrees_with_pure_rules() {
    compare(&[Kind::Pure, Kind::Sqlite], 40, 2_000..2_060, 400).await;
}

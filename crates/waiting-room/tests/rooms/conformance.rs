//! The same random histories on every kind of room, and every answer compared with that of the pure rules.

use std::sync::Arc;

use holdfast_core::Timestamp;
use holdfast_core::time::Span;
use holdfast_engine::Clock as _;
use holdfast_waiting_room::{EventId, EventSettings, Timings, WaitingRoom};

use crate::support::{Kind, Place, Random, clock, space, user};

/// So short that everything ends now and then.
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
    let who = 1 + random.below(25);
    match random.below(100) {
        0..25 => Call::Join(who),
        25..55 => Call::Poll(who),
        55..80 => Call::Enter(who),
        80..84 => Call::Leave(who),
        84..88 => Call::GiveBack(who),
        88..91 => Call::Entry(who),
        91..96 => Call::Stats,
        96..99 => Call::Configure,
        _ => Call::Tidy,
    }
}

async fn run(room: &dyn WaitingRoom, event: EventId, settings: &EventSettings, call: &Call) -> String {
    match *call {
        Call::Join(who) => format!("{:?}", room.join(event, settings, user(who)).await),
        Call::Poll(who) => format!("{:?}", room.poll(event, settings, user(who)).await),
        Call::Enter(who) => format!("{:?}", room.enter(event, settings, user(who)).await),
        Call::Leave(who) => format!("{:?}", room.leave(event, settings, user(who)).await),
        Call::GiveBack(who) => format!("{:?}", room.give_back(event, settings, user(who)).await),
        Call::Entry(who) => format!("{:?}", room.entry(event, settings, user(who)).await),
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
    let places: Vec<(Kind, Place)> = kinds.iter().map(|kind| (*kind, Place::new(*kind))).collect();
    let mut rooms: Vec<(Kind, Arc<dyn WaitingRoom>)> = Vec::new();
    for (kind, place) in &places {
        rooms.push((*kind, place.open(timings(ready_ttl_millis), clock.clone()).await));
    }
    for seed in seeds {
        let (mut random, event) = (Random::new(seed), EventId(seed + 1));
        let (mut settings, mut earlier) = (space(3), Vec::new());
        for step in 0..calls {
            // Most calls follow each other closely; now and then nobody calls until everything is over.
            let pace = [1, 5, 30, 120, 1, 5, 30, 700][random.below(8) as usize];
            clock.advance(Span::from_millis(random.below(pace) as i64));
            if random.below(20) == 0 {
                earlier.push(settings.clone());
                change(&mut random, &mut settings, clock.now());
            }
            // Now and then a server does not know yet.
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
async fn all_kinds_of_rooms_give_the_same_answers() {
    compare(&Kind::ALL, 90, 0..12, 300).await;
}

#[tokio::test]
async fn redis_and_the_rules_give_the_same_answers() {
    compare(&[Kind::Pure, Kind::Redis], 90, 1_000..1_050, 400).await;
    // Several are asked in and fall out one after another while nobody looks.
    compare(&[Kind::Pure, Kind::Redis], 12, 3_000..3_050, 400).await;
}

#[tokio::test]
async fn a_file_and_the_rules_give_the_same_answers() {
    compare(&[Kind::Pure, Kind::Sqlite], 40, 2_000..2_060, 400).await;
}

//! Plans the steps of a history: few rooms, few users and few nights, so that calls conflict. It reads the model, never
//! the store, to find useful holds and times. The same seed plans the same history.

use holdfast_core::stay::RoomType;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft};
use holdfast_core::time::Span;
use holdfast_core::{Limits, Timestamp, hold, stay};
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::call::{Call, Request};
use super::model::{Model, is_live, today};
use crate::disk::Crash;
use crate::plan::Plan;

mod requests;

#[derive(Debug)]
pub struct Workload {
    rng: StdRng,
    limits: Limits,
    starts_at: Timestamp,
    room_types: Vec<RoomTypeDraft>,
    users: u64,
    /// Calls under a key, to be repeated.
    keyed: Vec<Call>,
    /// Keyed calls without a reply, to be retried.
    unanswered: Vec<Call>,
    requests_made: u64,
}

const CALLS_PER_BATCH_MAX: usize = 6;
const ZONES: [&str; 3] = ["Asia/Seoul", "UTC", "America/New_York"];
/// Ordinary days, a leap day, the end of a year, and the nights with clock changes in New York.
const FIRST_DAYS: [Date; 5] =
    [date(2026, 6, 1), date(2028, 2, 28), date(2026, 12, 30), date(2026, 3, 7), date(2026, 10, 31)];
const QUANTITIES: [u32; 6] = [0, 1, 1, 2, 2, 3];
const TTLS: [Span; 4] = [Span::from_millis(1_500), Span::from_secs(60), Span::from_secs(600), Span::from_hours(24)];

/// From less than most TTLs to the longest of all.
const LIFETIMES: [Span; 4] = [Span::from_secs(61), Span::from_hours(2), Span::from_hours(60), Span::from_days(31)];

impl Workload {
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let hold_ttl = *TTLS.choose(&mut rng).expect("the list is not empty");
        let limits = Limits {
            holds_per_user_max: rng.random_range(1..=6),
            hold: hold::Limits {
                extensions_max: rng.random_range(1..=3),
                lifetime_max: *LIFETIMES.choose(&mut rng).expect("the list is not empty"),
                ..hold::Limits::DEFAULT
            },
            stay: stay::Limits { hold_ttl },
            ..Limits::DEFAULT
        };
        let room_types = (0..rng.random_range(1..=3)).map(|number| RoomTypeDraft {
            name: Some(format!("Room type {number}")),
            total_quantity: QUANTITIES.choose(&mut rng).copied(),
            base_price: Some(rng.random_range(0..=200_000)),
            time_zone: rng.random_bool(0.7).then(|| ZONES[rng.random_range(0..ZONES.len())].to_owned()),
            ..RoomTypeDraft::default()
        });
        let room_types = room_types.collect();
        let starts_at = start(&mut rng, hold_ttl);
        let users = rng.random_range(2..=4);
        let (keyed, unanswered) = (Vec::new(), Vec::new());
        Self { rng, limits, starts_at, room_types, users, keyed, unanswered, requests_made: 0 }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn starts_at(&self) -> Timestamp {
        self.starts_at
    }

    /// Returns the calls that create the initial room types.
    pub fn opening(&self) -> Vec<Call> {
        let create = |draft: &RoomTypeDraft| Call::without_key(Request::CreateRoomType(CreateRoomType(draft.clone())));
        self.room_types.iter().map(create).collect()
    }

    pub fn next(&mut self, model: &Model, now: Timestamp) -> Plan<Call> {
        match self.rng.random_range(0..100) {
            0..64 => self.plan_batch(model, now),
            64..92 => Plan::AdvanceClock(self.plan_span(model, now)),
            92..95 => Plan::Purge,
            _ => Plan::Restart,
        }
    }

    /// Records that a call got no reply; one under a key will be retried.
    pub fn record_no_reply(&mut self, call: &Call) {
        if call.key.is_some() {
            self.unanswered.push(call.clone());
        }
    }

    fn plan_batch(&mut self, model: &Model, now: Timestamp) -> Plan<Call> {
        let mut calls = Vec::new();
        for _ in 0..self.rng.random_range(1..=CALLS_PER_BATCH_MAX) {
            let call = self.plan_call(model, now, &calls);
            calls.push(call);
        }
        let crash = self.rng.random_bool(0.12).then(|| Crash::plan(&mut self.rng));
        Plan::Batch { calls, crash }
    }

    /// Mostly until something changes, and one millisecond before and after.
    fn plan_span(&mut self, model: &Model, now: Timestamp) -> Span {
        let ttl = self.limits.stay.hold_ttl.as_millis();
        let span = match self.rng.random_range(0..100) {
            0..10 => 1,
            10..25 => self.rng.random_range(1..1_000),
            25..65 => {
                let ends = model.holds().iter().filter(|hold| is_live(hold, now)).flat_map(|hold| {
                    let end = hold.expires_at.as_millis();
                    [end - 1, end, end + 1]
                });
                let future: Vec<i64> = ends.map(|end| end - now.as_millis()).filter(|span| *span > 0).collect();
                future.choose(&mut self.rng).copied().unwrap_or(1_000)
            }
            65..78 => self.rng.random_range(1..=ttl),
            78..84 => ttl + self.rng.random_range(1..5_000),
            84..95 => {
                let room_type = model.room_types().choose(&mut self.rng).expect("something is on sale");
                (midnight(room_type, now) - now.as_millis() + self.rng.random_range(-1..=1)).max(1)
            }
            95..98 => Span::from_hours(24).as_millis() + self.rng.random_range(-1..=1),
            _ => Span::from_hours(49).as_millis(),
        };
        Span::from_millis(span)
    }
}

/// Starts half of all histories within a TTL before midnight, so that holds span it.
fn start(rng: &mut StdRng, hold_ttl: Span) -> Timestamp {
    let zone = TimeZone::get(ZONES[rng.random_range(0..ZONES.len())]).expect("these zones exist");
    let day = *FIRST_DAYS.choose(rng).expect("the list is not empty");
    let midnight = day.to_zoned(zone).expect("these days exist").timestamp().as_millisecond();
    let before = if rng.random_bool(0.5) { hold_ttl.as_millis() } else { Span::from_hours(24).as_millis() };
    Timestamp::from_millis(midnight - rng.random_range(0..before))
}

/// Returns the start of the next local day of the room type.
fn midnight(room_type: &RoomType, now: Timestamp) -> i64 {
    let zone = TimeZone::get(room_type.zone.name()).expect("room types have real zones");
    let tomorrow = today(room_type, now).tomorrow().expect("histories end before the year 9999");
    tomorrow.to_zoned(zone).expect("every day begins").timestamp().as_millisecond()
}

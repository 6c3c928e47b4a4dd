//! Plans the steps of a history: few users, few slots and short locks, so that calls conflict. It reads the model,
//! never the store, to find useful calls. The same seed plans the same history.

use holdfast_core::actor::Actor;
use holdfast_core::calendar::block::{BlockSlots, UnblockSlots};
use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::lock::LockSlots;
use holdfast_core::calendar::reservation::CancelRoomReservation;
use holdfast_core::calendar::room::{CreateRoom, RoomDraft};
use holdfast_core::calendar::{
    self, BlockStatus, ConfirmLock, LocalTime, OpenInterval, ReleaseLock, RoomId, RoomReservationId, SlotStart,
    rebuild::SetOperatingHours,
};
use holdfast_core::id::HoldId;
use holdfast_core::time::Span;
use holdfast_core::{Limits, Timestamp};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::call::Call;
use super::model::{HOURS, Model, start, today};
use crate::disk::Crash;
use crate::plan::Plan;

#[derive(Debug)]
pub struct Workload {
    rng: StdRng,
    lock_ttl: Span,
    days_ahead: u32,
    users: u64,
}

const CALLS_PER_BATCH_MAX: usize = 4;
/// 2026-06-01T08:00 in Seoul.
const STARTS_AT_MILLIS: i64 = 1_780_268_400_000;

impl Workload {
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let lock_ttl = Span::from_secs(*[5, 300, 3_600].choose(&mut rng).expect("there are some"));
        let (days_ahead, users) = (rng.random_range(1..=3), rng.random_range(2..=4));
        Self { rng, lock_ttl, days_ahead, users }
    }

    pub fn starts_at(&self) -> Timestamp {
        Timestamp::from_millis(STARTS_AT_MILLIS)
    }

    pub fn limits(&self) -> Limits {
        let calendar = calendar::Limits { lock_ttl: self.lock_ttl, days_ahead: self.days_ahead, keep_days: 92 };
        Limits { calendar, ..Limits::DEFAULT }
    }

    pub fn room(&self) -> CreateRoom {
        CreateRoom(RoomDraft {
            name: Some("회의실".into()),
            time_zone: Some("Asia/Seoul".into()),
            slot_minutes: Some(60),
            base_price: Some(10_000),
            ..RoomDraft::default()
        })
    }

    pub fn hours(&self, room: RoomId) -> SetOperatingHours {
        let time = |hour: u16| LocalTime::from_minutes(hour * 60).expect("an hour of a day");
        let open = OpenInterval { from: time(HOURS[0]), to: time(HOURS[HOURS.len() - 1] + 1) };
        SetOperatingHours { room, weekly: std::array::from_fn(|_| vec![open]), exceptions: Vec::new() }
    }

    pub fn opening(&self) -> Model {
        Model::new(self.lock_ttl, self.days_ahead)
    }

    pub fn next(&mut self, model: &Model, room: RoomId, now: Timestamp) -> Plan<Call> {
        match self.rng.random_range(0..100) {
            0..78 => {
                let count = self.rng.random_range(1..=CALLS_PER_BATCH_MAX);
                let calls = (0..count).map(|_| self.plan_call(model, room, now)).collect();
                let crash = self.rng.random_bool(0.15).then(|| Crash::plan(&mut self.rng));
                Plan::Batch { calls, crash }
            }
            78..93 => Plan::AdvanceClock(self.plan_span(model, now)),
            93..96 => Plan::Purge,
            _ => Plan::Restart,
        }
    }

    /// Mostly until a lock ends, and one millisecond before and after.
    fn plan_span(&mut self, model: &Model, now: Timestamp) -> Span {
        let ends = model.locks.values().filter(|lock| lock.is_live(now));
        let ends = ends.flat_map(|lock| [-1, 0, 1].map(|shift| lock.ends_at.as_millis() + shift - now.as_millis()));
        let future: Vec<i64> = ends.filter(|span| *span > 0).collect();
        match self.rng.random_range(0..10) {
            0..5 => Span::from_millis(future.choose(&mut self.rng).copied().unwrap_or(1_000)),
            5..8 => Span::from_millis(self.rng.random_range(1..100_000)),
            8 => Span::from_hours(1),
            _ => Span::from_hours(16),
        }
    }

    fn plan_call(&mut self, model: &Model, room: RoomId, now: Timestamp) -> Call {
        let actor = Actor::Admin;
        match self.rng.random_range(0..100) {
            0..8 => Call::Generate(GenerateSlots { room, until: None }),
            8..45 => {
                let user = crate::user(self.rng.random_range(1..=self.users));
                let ttl = self.rng.random_bool(0.3).then(|| Span::from_secs(self.rng.random_range(1..=10)));
                Call::Lock(LockSlots { random: self.rng.random(), room, user, slots: self.slots(now), ttl })
            }
            45..66 => Call::Confirm(ConfirmLock::new(self.lock(model, now), actor)),
            66..72 => Call::Release(ReleaseLock::new(self.lock(model, now), actor)),
            72..84 => {
                let ids: Vec<RoomReservationId> = model.reservations.keys().copied().collect();
                let unknown = RoomReservationId::new(1_000_000).expect("a number");
                let id = ids.choose(&mut self.rng).copied().unwrap_or(unknown);
                Call::Cancel(CancelRoomReservation { id, actor })
            }
            84..92 => {
                let status = *[BlockStatus::Blocked, BlockStatus::Maintenance].choose(&mut self.rng).expect("two");
                Call::Block(BlockSlots { random: self.rng.random(), room, slots: self.slots(now), status })
            }
            _ => Call::Unblock(UnblockSlots { room, slots: self.slots(now) }),
        }
    }

    /// Returns one to three slots of the next days, in any order; some do not exist.
    fn slots(&mut self, now: Timestamp) -> Vec<SlotStart> {
        let first = today(now);
        let count = self.rng.random_range(1..=3);
        let mut slots = Vec::new();
        while slots.len() < count {
            let date = first.saturating_add(jiff::Span::new().days(self.rng.random_range(0..=2_i64)));
            let hour = if self.rng.random_bool(0.03) { 20 } else { *HOURS.choose(&mut self.rng).expect("some") };
            let start = start(date, hour);
            if !slots.contains(&start) {
                slots.push(start);
            }
        }
        slots
    }

    /// Returns a lock, mostly a live one.
    fn lock(&mut self, model: &Model, now: Timestamp) -> HoldId {
        let all: Vec<(HoldId, bool)> = model.readable_locks(now).map(|(id, lock)| (*id, lock.is_live(now))).collect();
        let live: Vec<HoldId> = all.iter().filter(|(_, is_live)| *is_live).map(|(id, _)| *id).collect();
        let chosen = live.choose(&mut self.rng).copied().filter(|_| self.rng.random_bool(0.85));
        let any = chosen.or_else(|| all.choose(&mut self.rng).map(|(id, _)| *id));
        any.unwrap_or_else(|| HoldId::new(now, self.rng.random()))
    }
}

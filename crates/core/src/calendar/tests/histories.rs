//! Random histories: the invariants hold after any sequence of commands.

use std::collections::BTreeMap;

use super::*;
use crate::calendar::block::UnblockSlots;
use crate::calendar::generation::ClearOldSlots;
use crate::calendar::line::ReleaseLock;
use crate::calendar::reprice::RepriceSlots;
use crate::calendar::reservation::CancelRoomReservation;
use crate::calendar::room::ChangeRoom;
use crate::command::{Command, Stop, WriteMode as _};
use crate::table::{SWEEPS, StateSet as _};
use crate::testing::Dice;

const HOURS: [&str; 5] = ["09:00-12:00", "08:30-11:30", "10:00-15:00", "22:00-02:00 09:00-10:00", ""];

/// A prepared confirm attempt, as a failed server may leave it.
type PreparedAttempt = (ConfirmLock, hold::AttemptId);

struct History {
    world: World,
    dice: Dice,
    room: RoomId,
    in_steps: bool,
    locks: Vec<Hold>,
    reservations: Vec<RoomReservation>,
    prepared: Vec<PreparedAttempt>,
    commands: u64,
}

impl History {
    fn new(seed: u64, in_steps: bool) -> Self {
        let mut world = world();
        world.limits.calendar.days_ahead = 3;
        world.limits.calendar.keep_days = 2;
        let room = room(&mut world);
        let (locks, reservations, prepared) = (Vec::new(), Vec::new(), Vec::new());
        Self { world, dice: Dice::new(seed), room, in_steps, locks, reservations, prepared, commands: 0 }
    }

    /// Returns some starts of the next days, with or without a slot.
    fn some_slots(&mut self) -> Vec<SlotStart> {
        let today = Zone::parse("Asia/Seoul").unwrap().today(self.world.now);
        let date = local_time::days_after(today, self.dice.roll(3) as u32);
        let mut starts: Vec<SlotStart> = (0..=self.dice.roll(3))
            .map(|_| {
                let minutes = (8 * 60 + self.dice.roll(14) * 30) as u16;
                SlotStart::new(date, LocalTime::from_minutes(minutes).unwrap()).unwrap()
            })
            .collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    fn random(&mut self) -> [u8; 10] {
        self.commands += 1;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.commands.to_be_bytes());
        random
    }

    fn run<C: Command>(&mut self, command: &C) -> Option<C::Outcome> {
        // A command that must retry is dropped.
        let decided = if self.in_steps {
            self.world.decide_in_steps(command)
        } else {
            self.world.step(C::Writes::WRITES, |rows, at| command.decide(rows, at))
        };
        match decided {
            Ok(outcome) => Some(outcome),
            Err(stop) => no_outcome(&stop),
        }
    }

    fn step(&mut self) {
        let room = self.room;
        match self.dice.roll(20) {
            0..=5 => {
                let slots = self.some_slots();
                let by = 1 + self.dice.roll(4);
                let ttl = Some(Span::from_secs(1 + self.dice.roll(400) as i64));
                let command = LockSlots { ttl, random: self.random(), ..lock_command(&self.world, room, by, &slots) };
                let lock = self.run(&command);
                self.locks.extend(lock);
            }
            6..=8 if !self.locks.is_empty() => self.confirm(),
            9 if !self.locks.is_empty() => {
                let lock = &self.locks[self.dice.roll(self.locks.len() as u64) as usize];
                self.run(&ReleaseLock::new(lock.id, Actor::Admin));
            }
            10 if !self.reservations.is_empty() => {
                let index = self.dice.roll(self.reservations.len() as u64) as usize;
                let id = self.reservations[index].id;
                self.run(&CancelRoomReservation { id, actor: Actor::Admin });
            }
            11 => {
                let weekly = std::array::from_fn(|_| hours(HOURS[self.dice.roll(5) as usize]));
                self.run(&SetOperatingHours { room, weekly, exceptions: Vec::new() });
            }
            12 => {
                self.run(&GenerateSlots { room, until: None });
            }
            13 => {
                let slots = self.some_slots();
                let command = BlockSlots { random: self.random(), ..block_command(room, &slots, BlockStatus::Blocked) };
                self.run(&command);
            }
            14 => {
                let slots = self.some_slots();
                self.run(&UnblockSlots { room, slots });
            }
            15 => {
                let (minutes, price) = ([30, 60, 45][self.dice.roll(3) as usize], self.dice.roll(1_000) as i64);
                let active = Some(self.dice.roll(8) > 0);
                let draft =
                    RoomDraft { slot_minutes: Some(minutes), base_price: Some(price), active, ..RoomDraft::default() };
                self.run(&ChangeRoom { id: room, draft });
            }
            16 => {
                let today = Zone::parse("Asia/Seoul").unwrap().today(self.world.now);
                self.run(&RepriceSlots { room, from: today, to: local_time::days_after(today, 9) });
                self.run(&ClearOldSlots { room });
            }
            17 if !self.prepared.is_empty() => self.finish_one(),
            _ => {
                let millis = [1, 700, 20_000, 200_000, 3_600_000][self.dice.roll(5) as usize];
                self.world.wait(Span::from_millis(millis));
            }
        }
    }

    /// Confirms a random lock, which must succeed exactly if the lock is live.
    fn confirm(&mut self) {
        let lock = self.locks[self.dice.roll(self.locks.len() as u64) as usize].clone();
        let command = ConfirmLock::new(lock.id, Actor::Admin);
        let now = self.world.now;
        let is_live = self.world.memory.holds.rows().any(|(id, lock)| *id == command.id && lock.is_live(now));
        if self.in_steps && is_live && self.dice.roll(2) == 0 {
            let attempt = self.world.prepare(&command).expect("a live lock can always be confirmed");
            self.prepared.push((command, attempt));
            return;
        }
        let reservation = self.run(&command);
        assert_eq!(reservation.is_some(), is_live, "exactly live locks can be confirmed");
        self.reservations.extend(reservation);
    }

    fn finish_one(&mut self) {
        let (command, attempt) = self.prepared.swap_remove(self.dice.roll(self.prepared.len() as u64) as usize);
        let outcome = if self.dice.roll(4) == 0 {
            None
        } else {
            Some(self.world.record(&command, attempt).expect("a prepared lock can be recorded"))
        };
        self.world.finish(&command, attempt, outcome.as_ref());
        self.reservations.extend(outcome);
    }

    fn check(&mut self, label: &str) {
        assert_eq!(audit(&self.world), [""; 0], "{label}");
        let now = self.world.now;
        // All index entries follow from the live locks.
        let mut entries = BTreeMap::new();
        for (_, lock) in self.world.memory.holds.rows().filter(|(_, lock)| lock.is_live(now)) {
            for id in lock.items::<SlotsItem>().flat_map(SlotsItem::ids) {
                assert_eq!(entries.insert(id, lock.id), None, "{label}: one live lock per slot");
            }
        }
        for (id, lock) in &entries {
            let found = self.world.memory.calendar.by_slot.rows().find(|(other, _)| *other == id);
            assert_eq!(found.map(|(_, pointer)| pointer.hold), Some(*lock), "{label}");
            let held = self.world.memory.held.rows().find(|(unit, _)| **unit == id.unit());
            assert!(held.is_some_and(|(_, tally)| tally.live(now) >= 1), "{label}");
        }
    }
}

fn no_outcome<T>(stop: &Stop) -> Option<T> {
    assert_ne!(*stop, Stop::NeedRows);
    None
}

#[test]
fn random_commands_never_oversell_or_leak() {
    for seed in 1..=60 {
        for in_steps in [false, true] {
            let mut history = History::new(seed, in_steps);
            for step in 0..250 {
                history.step();
                history.check(&format!("seed {seed}, step {step}, in steps: {in_steps}"));
            }
            while !history.prepared.is_empty() {
                history.finish_one();
            }
            history.world.wait(Span::from_secs(400));
            for _ in 0..SWEEPS {
                history.world.memory.purge(history.world.now, usize::MAX);
            }
            assert_eq!(history.world.memory.held.rows().count(), 0, "seed {seed}: all that is not confirmed is free");
            assert_eq!(history.world.memory.owner_holds.rows().count(), 0, "seed {seed}");
            history.check(&format!("seed {seed}, at the end"));
        }
    }
}

#[test]
fn steps_and_single_commit_give_same_result() {
    for seed in 1..=40 {
        let mut histories = [false, true].map(|in_steps| History::new(seed, in_steps));
        for step in 0..200 {
            for history in &mut histories {
                // Every attempt is finished before the next command, so no command must retry.
                let lock_slots = history.dice.roll(2) == 0;
                if lock_slots {
                    let slots = history.some_slots();
                    let by = 1 + history.dice.roll(3);
                    let command = LockSlots {
                        random: history.random(),
                        ..lock_command(&history.world, history.room, by, &slots)
                    };
                    let lock = history.run(&command);
                    history.locks.extend(lock);
                } else if let Some(lock) = history.locks.pop() {
                    let reservation = history.run(&ConfirmLock::new(lock.id, Actor::Admin));
                    history.reservations.extend(reservation);
                } else {
                    let slots = history.some_slots();
                    let block = block_command(history.room, &slots, BlockStatus::Maintenance);
                    let command = BlockSlots { random: history.random(), ..block };
                    history.run(&command);
                }
                history.world.wait(Span::from_secs(7));
            }
            let [a, b] = &histories;
            assert_eq!(a.locks, b.locks, "seed {seed}, step {step}");
            assert_eq!(a.reservations, b.reservations, "seed {seed}, step {step}");
        }
        let [a, b] = histories;
        let slots = |history: &History| -> BTreeMap<SlotId, Slot> {
            history.world.memory.calendar.slots.rows().map(|(id, slot)| (*id, *slot)).collect()
        };
        assert_eq!(slots(&a), slots(&b));
        assert_eq!(a.world.events.len(), b.world.events.len());
    }
}

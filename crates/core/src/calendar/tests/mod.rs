//! The calendar's part of the contract, on complete tables in memory.

mod audits;
mod availability;
mod block;
mod confirm;
mod generation;
mod grid;
mod histories;
mod lock;
mod rebuild;
mod room;

use jiff::civil::{Date, date};

use super::block::{BlockSlots, BlockStatus};
use super::generation::GenerateSlots;
use super::hours::{Exception, OpenInterval};
use super::line::ConfirmLock;
use super::lock::LockSlots;
use super::rebuild::{HoursSet, RebuildSlots, Rebuilt, SetOperatingHours};
use super::room::{CreateRoom, RoomDraft};
use super::slot;
use super::*;
use crate::actor::Actor;
use crate::audit::Audit;
use crate::command::Decision;
use crate::hold::{self, Hold, Origin, RecordType};
use crate::id::{HoldId, UserId};
use crate::rejection::{CalendarRejection, Rejection};
use crate::testing::World;
use crate::time::Zone;
use crate::working_set::WorkingSet;

/// A Monday; every test begins on it at 08:00 in Seoul.
const TODAY: Date = date(2026, 6, 1);
const TOMORROW: Date = date(2026, 6, 2);

fn world() -> World {
    let mut world = World::new();
    world.now = slot_at(TODAY, "08:00").begins_at(&Zone::parse("Asia/Seoul").unwrap());
    world
}

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

fn time(text: &str) -> LocalTime {
    LocalTime::parse_end(text).unwrap()
}

fn slot_at(date: Date, text: &str) -> SlotStart {
    SlotStart::new(date, time(text)).unwrap()
}

fn slots_at(date: Date, times: &[&str]) -> Vec<SlotStart> {
    times.iter().map(|text| slot_at(date, text)).collect()
}

fn not_available(date: Date, text: &str) -> Rejection {
    CalendarRejection::SlotNotAvailable { date, time: time(text) }.into()
}

/// Parses `"09:00-12:00 13:00-18:00"`.
fn hours(text: &str) -> Vec<OpenInterval> {
    let opening = |text: &str| {
        let (from, to) = text.split_once('-').unwrap();
        OpenInterval { from: time(from), to: time(to) }
    };
    text.split_whitespace().map(opening).collect()
}

fn every_day(text: &str) -> [Vec<OpenInterval>; 7] {
    std::array::from_fn(|_| hours(text))
}

fn draft() -> RoomDraft {
    RoomDraft {
        name: Some("Meeting room".into()),
        slot_minutes: Some(60),
        base_price: Some(10_000),
        ..RoomDraft::default()
    }
}

fn set_hours(world: &mut World, room: RoomId, text: &str, exceptions: &[(Date, &str)]) -> HoursSet {
    let exception = |(date, text): &(Date, &str)| Exception { date: *date, hours: hours(text).into() };
    let exceptions = exceptions.iter().map(exception).collect();
    world.run(&SetOperatingHours { room, weekly: every_day(text), exceptions }).unwrap()
}

/// Sets new hours, and finishes the rebuild.
fn set_hours_and_rebuild(world: &mut World, room: RoomId, text: &str) -> Rebuilt {
    let mut all = set_hours(world, room, text, &[]).rebuilt;
    while !all.done {
        let more = world.run(&RebuildSlots { room }).unwrap();
        all.created += more.created;
        all.deleted += more.deleted;
        all.affected.extend(more.affected);
        all.done = more.done;
    }
    all
}

fn generate(world: &mut World, room: RoomId) -> u32 {
    let mut created = 0;
    loop {
        let generated = world.run(&GenerateSlots { room, until: None }).unwrap();
        created += generated.created;
        if generated.done {
            return created;
        }
    }
}

/// Creates a room that is open from 09:00 to 12:00, with generated slots.
fn room(world: &mut World) -> RoomId {
    room_open(world, "09:00-12:00")
}

fn room_open(world: &mut World, text: &str) -> RoomId {
    let room = world.run(&CreateRoom(draft())).unwrap().id;
    set_hours_and_rebuild(world, room, text);
    generate(world, room);
    room
}

fn lock_command(world: &World, room: RoomId, by: u64, slots: &[SlotStart]) -> LockSlots {
    // Unique per lock.
    let locks = world.memory.holds.rows().count() as u64;
    let mut random = [0; 10];
    random[..8].copy_from_slice(&locks.to_be_bytes());
    LockSlots { random, room, user: user(by), slots: slots.to_vec(), ttl: None }
}

fn lock(world: &mut World, room: RoomId, by: u64, slots: &[SlotStart]) -> Result<Hold, Rejection> {
    let command = lock_command(world, room, by, slots);
    world.run(&command)
}

fn confirm(world: &mut World, lock: &Hold) -> RoomReservation {
    world.run(&ConfirmLock::new(lock.id, Actor::User(lock.owner.clone()))).unwrap()
}

fn reserve(world: &mut World, room: RoomId, by: u64, slots: &[SlotStart]) -> RoomReservation {
    let lock = lock(world, room, by, slots).unwrap();
    confirm(world, &lock)
}

fn block_command(room: RoomId, slots: &[SlotStart], status: BlockStatus) -> BlockSlots {
    BlockSlots { random: [0xbb; 10], room, slots: slots.to_vec(), status }
}

/// Returns the times of a day's slots with their status, as `"09:00 10:00L 11:00R"`.
fn day(world: &mut World, room: RoomId, date: Date) -> String {
    let views = list(world, room, date, date).unwrap();
    let text = |view: &SlotView| {
        let status = match view.status {
            SlotStatus::Available => "",
            SlotStatus::Locked => "L",
            SlotStatus::Reserved => "R",
            SlotStatus::Blocked => "B",
            SlotStatus::Maintenance => "M",
        };
        format!("{}{status}", view.time)
    };
    views.iter().map(text).collect::<Vec<_>>().join(" ")
}

/// Returns the findings of the auditor for all rows.
fn audit(world: &World) -> Vec<String> {
    all_records(world).finish()
}

/// Returns an auditor that has all rows.
fn all_records(world: &World) -> Audit {
    let tables = &world.memory.calendar;
    let mut audit = world.audit_holds();
    tables.rooms.rows().for_each(|(_, room)| audit.calendar.room(room));
    tables.slots.rows().for_each(|(id, slot)| audit.calendar.slot(*id, *slot));
    tables.reservations.rows().for_each(|(_, reservation)| audit_reservation(&mut audit, reservation));
    audit
}

/// Adds a reservation to all auditors that it concerns.
fn audit_reservation(audit: &mut Audit, reservation: &RoomReservation) {
    audit.calendar.reservation(reservation);
    audit.holds.record(RecordType::RoomReservation, reservation.id.get(), reservation.lock);
}

/// Returns a lock as its endpoint shows it.
fn find(rows: &mut WorkingSet, id: HoldId, actor: &Actor) -> Decision<Hold> {
    hold::find(rows, id, actor, Origin::Lock)
}

/// Returns the slots of some days as clients see them.
fn list(world: &World, room: RoomId, from: Date, to: Date) -> Result<Vec<SlotView>, Rejection> {
    let ids = world.ask(|rows, _| slot::ids(rows, room, from, to))?;
    world.ask(|rows, at| slot::views(rows, at, room, &ids))
}

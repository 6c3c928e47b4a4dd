//! The room against a naive model: two plain lists, advanced millisecond by millisecond.

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_waiting_room::room::EnterOutcome;
use holdfast_waiting_room::view::Standing;
use holdfast_waiting_room::{EventSettings, Room, Timings};

use crate::support::{Random, user};

const TIMINGS: Timings = Timings {
    entry_ttl: Span::from_millis(60),
    entry_max: Span::from_millis(150),
    waiter_ttl: Span::from_millis(50),
    ready_ttl: Span::from_millis(20),
};

struct NaiveRoom {
    now: Timestamp,
    settings: EventSettings,
    line: Vec<(UserId, Timestamp, Option<Timestamp>)>,
    /// User, entered at, expires at.
    inside: Vec<(UserId, Timestamp, Timestamp)>,
}

impl NaiveRoom {
    fn advance(&mut self, now: Timestamp) {
        while self.now < now {
            self.now = self.now + Span::from_millis(1);
            let at = self.now;
            self.line.retain(|(_, waits, ready)| *waits > at && ready.is_none_or(|ready| ready > at));
            self.inside.retain(|(_, _, expires)| *expires > at);
            self.update_ready();
        }
    }

    fn update_ready(&mut self) {
        let (at, free) = (self.now, (self.settings.max_concurrent as usize).saturating_sub(self.inside.len()));
        for (rank, (_, _, ready)) in self.line.iter_mut().enumerate() {
            match (rank < free && self.settings.admits(at), &ready) {
                (true, None) => *ready = Some(at + TIMINGS.ready_ttl),
                (false, Some(_)) => *ready = None,
                _ => {}
            }
        }
    }

    fn refresh_waiter(&mut self, user: &UserId) {
        let waits = self.now + TIMINGS.waiter_ttl;
        self.line.iter_mut().filter(|(member, ..)| member == user).for_each(|(_, until, _)| *until = waits);
    }

    fn join(&mut self, user: &UserId) {
        self.refresh_waiter(user);
        if self.describe(user) == "gone" {
            self.line.push((user.clone(), self.now + TIMINGS.waiter_ttl, None));
        }
        self.update_ready();
    }

    fn poll(&mut self, user: &UserId) {
        self.refresh_waiter(user);
        for (member, entered, expires) in &mut self.inside {
            if member == user {
                *expires = (*expires).max((self.now + TIMINGS.entry_ttl).min(*entered + TIMINGS.entry_max));
            }
        }
    }

    fn enter(&mut self, user: &UserId) {
        self.refresh_waiter(user);
        if let Some(rank) = self.line.iter().position(|(member, _, ready)| member == user && ready.is_some()) {
            self.line.remove(rank);
            self.inside.push((user.clone(), self.now, self.now + TIMINGS.entry_ttl));
        }
        self.update_ready();
    }

    fn leave(&mut self, user: &UserId, with_place: bool) {
        self.line.retain(|(member, ..)| !with_place || member != user);
        self.inside.retain(|(member, ..)| member != user);
        self.update_ready();
    }

    fn describe(&self, user: &UserId) -> String {
        if let Some((_, entered, expires)) = self.inside.iter().find(|(member, ..)| member == user) {
            return format!("entered {entered:?} {expires:?}");
        }
        match self.line.iter().enumerate().find(|(_, (member, ..))| member == user) {
            Some((rank, (_, _, None))) => format!("waiting {rank}"),
            Some((rank, (_, _, Some(until)))) => format!("ready {rank} {until:?}"),
            None => "gone".into(),
        }
    }
}

fn describe(standing: Option<Standing>) -> String {
    match standing {
        None => "gone".into(),
        Some(Standing::Waiting { rank }) => format!("waiting {rank}"),
        Some(Standing::Ready { rank, until }) => format!("ready {rank} {until:?}"),
        Some(Standing::Entered(entry)) => format!("entered {:?} {:?}", entry.entered_at, entry.expires_at),
    }
}

fn history(seed: u64) {
    let mut random = Random::new(seed);
    let settings = EventSettings { revision: 0, max_concurrent: 3, paused: false, sales_open_at: None };
    let mut now = Timestamp::from_millis(1_000);
    let mut room = Room::new(TIMINGS);
    room.configure(&settings, now);
    let mut naive = NaiveRoom { now, settings, line: Vec::new(), inside: Vec::new() };
    for step in 0..200 {
        let pace = [1, 4, 15, 70][random.below(4) as usize];
        now = now + Span::from_millis(random.below(pace) as i64);
        naive.advance(now);
        let user = user(1 + random.below(12));
        let standing = match random.below(20) {
            0..6 => {
                naive.join(&user);
                describe(Some(room.join(&user, now).0.standing))
            }
            6..11 => {
                naive.poll(&user);
                describe(room.poll(&user, now).map(|state| state.standing))
            }
            11..16 => {
                naive.enter(&user);
                match room.enter(&user, [0; 16], now) {
                    EnterOutcome::Entered { state, .. } => describe(Some(state.standing)),
                    EnterOutcome::NotYet(state) => {
                        assert!(matches!(state.standing, Standing::Waiting { .. }));
                        describe(Some(state.standing))
                    }
                    EnterOutcome::NotInQueue => describe(None),
                }
            }
            16 => {
                naive.leave(&user, true);
                room.leave(&user, now);
                describe(None)
            }
            17 => {
                naive.leave(&user, false);
                naive.poll(&user);
                room.give_back(&user, now);
                describe(room.poll(&user, now).map(|state| state.standing))
            }
            18 => {
                let settings = &mut naive.settings;
                match random.below(3) {
                    0 => settings.paused = !settings.paused,
                    1 => settings.max_concurrent = random.below(6) as u32,
                    _ => settings.sales_open_at = Some(now + Span::from_millis(random.below(60) as i64)),
                }
                room.configure(settings, now);
                naive.update_ready();
                naive.describe(&user)
            }
            _ => naive.describe(&user),
        };
        assert_eq!(naive.describe(&user), standing, "seed {seed}, step {step}");
        check_counts(&mut room, &naive, now, seed);
    }
}

/// Compares the counts, and checks that users inside and ready fill up to exactly the limit.
fn check_counts(room: &mut Room, naive: &NaiveRoom, now: Timestamp, seed: u64) {
    let stats = room.stats(now);
    let ready = naive.line.iter().filter(|(_, _, ready)| ready.is_some()).count();
    let counts = (stats.waiting as usize, stats.ready as usize, stats.entered as usize);
    assert_eq!(counts, (naive.line.len() - ready, ready, naive.inside.len()), "seed {seed}");
    if naive.settings.admits(now) {
        let all = naive.line.len() + naive.inside.len();
        let full = (naive.settings.max_concurrent as usize).max(naive.inside.len());
        assert_eq!(ready + naive.inside.len(), full.min(all), "seed {seed}");
    } else {
        assert_eq!(ready, 0, "seed {seed}");
    }
}

#[test]
fn room_agrees_with_naive_model() {
    for seed in 1..4_000 {
        history(seed);
    }
}

//! The room against a naive one: two plain lists, looked through millisecond by millisecond.

use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_waiting_room::room::Tried;
use holdfast_waiting_room::view::Standing;
use holdfast_waiting_room::{EventSettings, Room, Timings};

use crate::support::{Random, user};

const TIMINGS: Timings = Timings {
    entry_ttl: Span::from_millis(60),
    entry_max: Span::from_millis(150),
    waiter_ttl: Span::from_millis(50),
    ready_ttl: Span::from_millis(20),
};

struct Naive {
    now: Timestamp,
    settings: EventSettings,
    line: Vec<(UserId, Timestamp, Option<Timestamp>)>,
    /// User, entered at, expires at.
    inside: Vec<(UserId, Timestamp, Timestamp)>,
}

impl Naive {
    fn advance(&mut self, now: Timestamp) {
        while self.now < now {
            self.now = self.now + Span::from_millis(1);
            let at = self.now;
            self.line.retain(|(_, waits, ready)| *waits > at && ready.is_none_or(|ready| ready > at));
            self.inside.retain(|(_, _, expires)| *expires > at);
            self.settle();
        }
    }

    fn settle(&mut self) {
        let (at, free) = (self.now, (self.settings.max_concurrent as usize).saturating_sub(self.inside.len()));
        for (rank, (_, _, ready)) in self.line.iter_mut().enumerate() {
            match (rank < free && self.settings.admits(at), &ready) {
                (true, None) => *ready = Some(at + TIMINGS.ready_ttl),
                (false, Some(_)) => *ready = None,
                _ => {}
            }
        }
    }

    fn hear_of(&mut self, user: UserId) {
        let waits = self.now + TIMINGS.waiter_ttl;
        self.line.iter_mut().filter(|(who, ..)| *who == user).for_each(|(_, until, _)| *until = waits);
    }

    fn join(&mut self, user: UserId) {
        self.hear_of(user);
        if self.look(user) == "gone" {
            self.line.push((user, self.now + TIMINGS.waiter_ttl, None));
        }
        self.settle();
    }

    fn poll(&mut self, user: UserId) {
        self.hear_of(user);
        for (who, entered, expires) in &mut self.inside {
            if *who == user {
                *expires = (*expires).max((self.now + TIMINGS.entry_ttl).min(*entered + TIMINGS.entry_max));
            }
        }
    }

    fn enter(&mut self, user: UserId) {
        self.hear_of(user);
        if let Some(rank) = self.line.iter().position(|(who, _, ready)| *who == user && ready.is_some()) {
            self.line.remove(rank);
            self.inside.push((user, self.now, self.now + TIMINGS.entry_ttl));
        }
        self.settle();
    }

    fn leave(&mut self, user: UserId, place_too: bool) {
        self.line.retain(|(who, ..)| !place_too || *who != user);
        self.inside.retain(|(who, ..)| *who != user);
        self.settle();
    }

    fn look(&self, user: UserId) -> String {
        if let Some((_, entered, expires)) = self.inside.iter().find(|(who, ..)| *who == user) {
            return format!("entered {entered:?} {expires:?}");
        }
        match self.line.iter().enumerate().find(|(_, (who, ..))| *who == user) {
            Some((rank, (_, _, None))) => format!("waiting {rank}"),
            Some((rank, (_, _, Some(until)))) => format!("ready {rank} {until:?}"),
            None => "gone".into(),
        }
    }
}

fn look(standing: Option<Standing>) -> String {
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
    let mut naive = Naive { now, settings, line: Vec::new(), inside: Vec::new() };
    for step in 0..200 {
        let pace = [1, 4, 15, 70][random.below(4) as usize];
        now = now + Span::from_millis(random.below(pace) as i64);
        naive.advance(now);
        let who = user(1 + random.below(12));
        let told = match random.below(20) {
            0..6 => {
                naive.join(who);
                look(Some(room.join(who, now).0.standing))
            }
            6..11 => {
                naive.poll(who);
                look(room.poll(who, now).map(|sight| sight.standing))
            }
            11..16 => {
                naive.enter(who);
                match room.enter(who, [0; 16], now) {
                    Tried::Entered { sight, .. } => look(Some(sight.standing)),
                    Tried::NotYet(sight) => {
                        assert!(matches!(sight.standing, Standing::Waiting { .. }));
                        look(Some(sight.standing))
                    }
                    Tried::NotInQueue => look(None),
                }
            }
            16 => {
                naive.leave(who, true);
                room.leave(who, now);
                look(None)
            }
            17 => {
                naive.leave(who, false);
                naive.poll(who);
                room.give_back(who, now);
                look(room.poll(who, now).map(|sight| sight.standing))
            }
            18 => {
                let settings = &mut naive.settings;
                match random.below(3) {
                    0 => settings.paused = !settings.paused,
                    1 => settings.max_concurrent = random.below(6) as u32,
                    _ => settings.sales_open_at = Some(now + Span::from_millis(random.below(60) as i64)),
                }
                room.configure(settings, now);
                naive.settle();
                naive.look(who)
            }
            _ => naive.look(who),
        };
        assert_eq!(naive.look(who), told, "seed {seed}, step {step}");
        check_counts(&mut room, &naive, now, seed);
    }
}

/// The counts agree, and inside and ready fill up to exactly what is allowed.
fn check_counts(room: &mut Room, naive: &Naive, now: Timestamp, seed: u64) {
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
fn thousands_of_random_histories_go_as_in_the_naive_room() {
    for seed in 1..4_000 {
        history(seed);
    }
}

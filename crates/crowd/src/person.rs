//! One of the crowd: asks the server, writes down how long it took, waits, and rolls dice.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use holdfast_client::{Client, Error};
use tokio::sync::Semaphore;

use crate::board::{Bell, Board, Count};
use crate::notes::{Call, Notes};

/// A call that could not be answered for now is repeated so often, each time after a longer wait.
const TRIES: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The server answers everything within five seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

pub(crate) struct Person {
    pub(crate) client: Client,
    pub(crate) board: Arc<Board>,
    /// How many calls may be under way at once: browsers are many, but this is one machine.
    pub(crate) lines: Arc<Semaphore>,
    pub(crate) think: Duration,
    pub(crate) dice: Dice,
}

impl Person {
    /// Asks until there is an answer: a refusal is one, having no time is none. All calls of the crowd are safe to repeat.
    pub(crate) async fn ask<T, F>(&self, call: Call, make: impl Fn(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut wait = FIRST_WAIT;
        for _ in 1..TRIES {
            match self.ask_once(call, make(self.client.clone())).await {
                Err(error) if is_for_now(&error) && self.board.bell() != Bell::Stop => {}
                answer => return answer,
            }
            self.board.wait(wait, &[Bell::Stop]).await;
            wait *= 2;
        }
        self.ask_once(call, make(self.client.clone())).await
    }

    async fn ask_once<T>(&self, call: Call, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let _line = self.lines.acquire().await;
        let began = Instant::now();
        let answer = answer.await;
        self.board.add(Count::Requests, 1);
        self.notes(|notes| notes.note_call(call, self.board.elapsed(), began.elapsed()));
        answer
    }

    pub(crate) fn notes<T>(&self, write: impl FnOnce(&mut Notes) -> T) -> T {
        write(&mut self.board.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Chooses, reads, looks for the purse: half as long to one and a half times as long as people do on average.
    pub(crate) async fn think(&mut self) {
        let percent = 50 + self.dice.below(101) as u32;
        self.board.wait(self.think * percent / 100, &[Bell::Stop]).await;
    }

    pub(crate) fn is_sent_home(&self) -> bool {
        self.board.bell() == Bell::Stop
    }
}

/// A client with bounds of its own: an answer that never comes must not keep a sale from ending.
pub(crate) fn client(url: &str) -> Client {
    Client::new(url).within(ANSWER_WITHIN)
}

fn is_for_now(error: &Error) -> bool {
    match error.code() {
        Some(code) => matches!(code, "OVERLOADED" | "LOCK_TIMEOUT" | "STORE_UNAVAILABLE"),
        None => true,
    }
}

/// Random enough for a crowd, and the same again for the same seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `bound`, which is not reached.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound.max(1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

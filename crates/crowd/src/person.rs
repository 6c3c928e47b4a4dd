//! Simulated customer: calls the server, measures latency, waits, draws random numbers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Client, Error};
use tokio::sync::Semaphore;

use crate::board::{Board, Count, PhaseSignal};
use crate::notes::{Call, Measurements};

/// Maximum attempts of a call that fails temporarily; the delay between them grows.
const ATTEMPTS_MAX: u32 = 6;
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Timeout; the server answers within five seconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Customer {
    pub(crate) client: Client,
    pub(crate) board: Arc<Board>,
    /// Bounds concurrent calls: browsers are many machines, this is one.
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) think: Duration,
    pub(crate) random: Random,
}

impl Customer {
    /// Calls until there is an answer; a rejection is one, an overloaded server's is not. All calls here are safe to
    /// repeat.
    pub(crate) async fn call<T, F>(&self, call: Call, make: impl Fn(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut wait = RETRY_DELAY;
        for _ in 1..ATTEMPTS_MAX {
            match self.call_once(call, make(self.client.clone())).await {
                Err(error) if is_temporary(&error) && self.board.signal() != PhaseSignal::Stop => {}
                answer => return answer,
            }
            self.board.wait(wait, &[PhaseSignal::Stop]).await;
            wait *= 2;
        }
        self.call_once(call, make(self.client.clone())).await
    }

    async fn call_once<T>(&self, call: Call, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let _permit = self.permits.acquire().await;
        let began = Instant::now();
        let answer = answer.await;
        self.board.add(Count::Requests, 1);
        self.notes(|notes| notes.record_call(call, self.board.elapsed(), began.elapsed()));
        answer
    }

    pub(crate) fn notes<T>(&self, write: impl FnOnce(&mut Measurements) -> T) -> T {
        write(&mut self.board.notes.lock())
    }

    /// Waits for a random thinking time: 0.5 to 1.5 times the average.
    pub(crate) async fn think(&mut self) {
        let percent = 50 + self.random.below(101) as u32;
        self.board.wait(self.think * percent / 100, &[PhaseSignal::Stop]).await;
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.board.signal() == PhaseSignal::Stop
    }
}

/// Creates a client with a timeout, so that a missing answer cannot keep a sale from ending.
pub(crate) fn client(url: &str) -> Client {
    Client::new(url).within(CALL_TIMEOUT)
}

fn is_temporary(error: &Error) -> bool {
    match error.code() {
        Some(code) => matches!(code, "OVERLOADED" | "LOCK_TIMEOUT" | "STORE_UNAVAILABLE"),
        None => true,
    }
}

/// Deterministic generator (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to, excluding, `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

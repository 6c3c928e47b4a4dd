//! Generator of ids: randomness enters the system only here.

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Generator of random ids and secrets.
#[derive(Debug)]
pub struct IdMaker {
    generator: Mutex<StdRng>,
}

impl IdMaker {
    pub fn new() -> Self {
        Self::with_generator(
            StdRng::try_from_rng(&mut rand::rngs::SysRng).expect("the operating system provides random numbers"),
        )
    }

    /// Creates a generator that yields the same ids every time, for tests.
    pub fn seeded(seed: u64) -> Self {
        Self::with_generator(StdRng::seed_from_u64(seed))
    }

    fn with_generator(generator: StdRng) -> Self {
        Self { generator: Mutex::new(generator) }
    }

    /// Returns the random part of a hold's id.
    pub fn random(&self) -> [u8; 10] {
        let mut random = [0; 10];
        self.generator.lock().fill_bytes(&mut random);
        random
    }

    /// Returns a secret that cannot be guessed.
    pub fn secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        self.generator.lock().fill_bytes(&mut secret);
        secret
    }

    pub fn number(&self) -> u64 {
        self.generator.lock().next_u64()
    }

    pub fn request_id(&self) -> String {
        format!("{:016x}", self.number())
    }
}

impl Default for IdMaker {
    fn default() -> Self {
        Self::new()
    }
}

//! Makes ids: the edge is where randomness enters.

use std::sync::{Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Makes what ids are made of.
#[derive(Debug)]
pub struct IdMaker {
    generator: Mutex<StdRng>,
}

impl IdMaker {
    pub fn new() -> Self {
        Self::with_generator(StdRng::try_from_rng(&mut rand::rngs::SysRng).expect("the system gives random numbers"))
    }

    /// For tests that must make the same ids every time.
    pub fn seeded(seed: u64) -> Self {
        Self::with_generator(StdRng::seed_from_u64(seed))
    }

    fn with_generator(generator: StdRng) -> Self {
        Self { generator: Mutex::new(generator) }
    }

    /// What makes a hold's id its own.
    pub fn random(&self) -> [u8; 10] {
        let mut random = [0; 10];
        self.generator.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut random);
        random
    }

    /// What nobody can guess.
    pub fn secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        self.generator.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut secret);
        secret
    }

    pub fn number(&self) -> u64 {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
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

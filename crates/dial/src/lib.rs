//! Connections to PostgreSQL, Redis and NATS: encrypted if the address requires it, and then only to servers with a
//! valid certificate for their name from a trusted authority.
//!
//! | module | contents |
//! |---|---|
//! | [`trust`] | TLS roots |
//! | [`jwt`] | tokens, signed and verified with the cryptography library of TLS |
//! | [`postgres`], [`redis`] | connecting to each |
//!
//! NATS connects by itself, with the configuration of [`Trust::tls`].

pub mod jwt;
pub mod postgres;
pub mod redis;
pub mod trust;

pub use trust::{NameCheck, Trust, TrustError};

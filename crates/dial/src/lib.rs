//! How PostgreSQL, Redis and NATS are reached: encrypted if their address says so, and then only if they show a certificate
//! that bears their name and is signed by somebody who is trusted.
//!
//! | module | what is in it |
//! |---|---|
//! | [`trust`] | who is trusted |
//! | [`jwt`] | tokens, signed and verified with the cryptography of TLS |
//! | [`postgres`], [`redis`] | how each is dialled |
//!
//! NATS dials by itself, with what [`Trust::tls`] says.

pub mod jwt;
pub mod postgres;
pub mod redis;
pub mod trust;

pub use trust::{NameCheck, Trust, TrustError};

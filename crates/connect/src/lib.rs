//! Connections to PostgreSQL, Redis and NATS: encrypted if the address requires it, and then only to servers with a
//! valid certificate for their name from a trusted authority.
//!
//! | module | contents |
//! |---|---|
//! | [`tls_roots`] | TLS roots |
//! | [`jwt`] | tokens, signed and verified with the cryptography library of TLS |
//! | [`postgres`], [`redis`] | connecting to each |
//!
//! NATS connects by itself, with the configuration of [`TlsRoots::tls`].

pub mod jwt;
pub mod postgres;
pub mod redis;
pub mod tls_roots;

pub use tls_roots::{NameCheck, TlsRoots, TlsRootsError};

//! Connections to Redis. An address that begins with `rediss://` is dialled with TLS.

use redis::{Client, RedisError, TlsCertificates};

use crate::Trust;

pub fn client(url: &str, trust: &Trust) -> Result<Client, RedisError> {
    match trust.pem() {
        Some(pem) if url.starts_with("rediss://") => {
            Client::build_with_tls(url, TlsCertificates { client_tls: None, root_cert: Some(pem.to_vec()) })
        }
        _ => Client::open(url),
    }
}

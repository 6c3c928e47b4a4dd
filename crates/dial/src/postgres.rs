//! Connections to PostgreSQL. An address with `sslmode=require` (or `verify-full`, which is equivalent here) connects
//! with TLS, any other without.

use std::pin::Pin;

use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Trust;

/// Future that drives the connection; it must be polled while the connection is used.
pub type Driving = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// Connects to one database.
#[derive(Clone)]
pub struct Dialler {
    tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for Dialler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialler").field("is_encrypted", &self.tls.is_some()).finish()
    }
}

/// Parses an address.
pub fn parse(url: &str) -> Result<Config, Error> {
    // Every encrypted connection verifies the server, so `require` means `verify-full`.
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let options: Vec<&str> = query
        .split('&')
        .map(|option| if option == "sslmode=verify-full" { "sslmode=require" } else { option })
        .collect();
    if query.is_empty() { place.parse() } else { format!("{place}?{}", options.join("&")).parse() }
}

impl Dialler {
    pub fn new(config: &Config, trust: &Trust) -> Self {
        let is_encrypted = config.get_ssl_mode() == SslMode::Require;
        Self { tls: is_encrypted.then(|| MakeRustlsConnect::new(trust.tls())) }
    }

    pub async fn connect(&self, config: &Config) -> Result<(Client, Driving), Error> {
        if let Some(tls) = &self.tls {
            let (client, connection) = config.connect(tls.clone()).await?;
            return Ok((client, Box::pin(connection)));
        }
        let (client, connection) = config.connect(NoTls).await?;
        Ok((client, Box::pin(connection)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_used_if_address_requires_it() {
        for (url, is_encrypted) in [
            ("postgres://db/holdfast", false),
            ("postgres://db/holdfast?sslmode=disable", false),
            ("postgres://db/holdfast?sslmode=prefer&connect_timeout=3", false),
            ("postgres://db/holdfast?sslmode=require", true),
            ("postgres://db/holdfast?connect_timeout=3&sslmode=verify-full", true),
        ] {
            let config = parse(url).expect("an address");
            assert_eq!(Dialler::new(&config, &Trust::default()).tls.is_some(), is_encrypted, "{url}");
        }
        assert!(parse("postgres://db/holdfast?sslmode=perhaps").is_err());
    }
}

//! Connections to PostgreSQL. An address with `sslmode=require`, `verify-full` or `verify-ca` connects with TLS; any other address
//! connects without. `require` means `verify-full` here: the certificate is checked, and the name in it. `verify-ca` skips the name.

use std::pin::Pin;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{NameCheck, TlsRoots};

const PORT_DEFAULT: u16 = 5_432;

/// Future that drives the connection; it must be polled while the connection is used.
pub type ConnectionDriver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// Connects to one database.
#[derive(Clone)]
pub struct Connector {
    tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("is_encrypted", &self.tls.is_some()).finish()
    }
}

/// Address of a database, and the certificate check that applies to it.
#[derive(Clone, Debug)]
pub struct Address {
    pub config: Config,
    name_check: NameCheck,
}

impl Address {
    pub fn parse(url: &str) -> Result<Self, Error> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut name_check = NameCheck::Required;
        // tokio-postgres supports only `require`. If an option is repeated, the last one wins.
        let options: Vec<&str> = query
            .split('&')
            .map(|option| match option.strip_prefix("sslmode=") {
                Some(mode) => {
                    name_check = if mode == "verify-ca" { NameCheck::Skipped } else { NameCheck::Required };
                    if matches!(mode, "verify-ca" | "verify-full") { "sslmode=require" } else { option }
                }
                None => option,
            })
            .collect();
        let config =
            if query.is_empty() { place.parse()? } else { format!("{place}?{}", options.join("&")).parse()? };
        Ok(Self { config, name_check })
    }

    /// Returns host and port, for error messages; several separated by commas. A socket is shown by its directory. Of a
    /// password with an `@` that is not percent-encoded, the library takes the rest for a part of the host: it is not shown.
    pub fn host_and_port(&self) -> String {
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        // One port applies to all hosts.
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(PORT_DEFAULT);
        let after_password = |name: &str| name.rsplit('@').next().unwrap_or_default().to_owned();
        let shown = hosts.iter().enumerate().map(|(at, host)| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]:{}", port(at)),
            Host::Tcp(name) => format!("{}:{}", after_password(name), port(at)),
            Host::Unix(directory) => format!("{}:{}", directory.display(), port(at)),
        });
        shown.collect::<Vec<_>>().join(",")
    }
}

impl Connector {
    pub fn new(address: &Address, tls_roots: &TlsRoots) -> Self {
        let is_encrypted = address.config.get_ssl_mode() == SslMode::Require;
        Self { tls: is_encrypted.then(|| MakeRustlsConnect::new(tls_roots.tls(address.name_check))) }
    }

    pub async fn connect(&self, config: &Config) -> Result<(Client, ConnectionDriver), Error> {
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
            ("postgres://db/holdfast?sslmode=verify-ca", true),
        ] {
            let address = Address::parse(url).expect("an address");
            assert_eq!(Connector::new(&address, &TlsRoots::default()).tls.is_some(), is_encrypted, "{url}");
        }
        assert!(Address::parse("postgres://db/holdfast?sslmode=perhaps").is_err());
    }

    #[test]
    fn host_and_port_omit_the_password() {
        for (url, shown) in [
            ("postgres://holdfast:secret@db/holdfast", "db:5432"),
            ("postgres://holdfast:sec@ret@db/holdfast", "db:5432"),
            ("postgres://db:6432/holdfast?sslmode=require", "db:6432"),
            ("postgres://one:1,two:2/holdfast", "one:1,two:2"),
            ("postgres://[::1]:6432/holdfast", "[::1]:6432"),
            ("postgres:///holdfast?host=/run/postgresql", "/run/postgresql:5432"),
        ] {
            assert_eq!(Address::parse(url).expect("an address").host_and_port(), shown);
        }
    }

    #[test]
    fn only_verify_ca_skips_the_name() {
        for (options, name_check) in [
            ("sslmode=require", NameCheck::Required),
            ("sslmode=verify-full", NameCheck::Required),
            ("sslmode=verify-ca", NameCheck::Skipped),
            ("connect_timeout=3&sslmode=verify-ca&application_name=x", NameCheck::Skipped),
            ("sslmode=verify-ca&sslmode=verify-full", NameCheck::Required),
        ] {
            let address = Address::parse(&format!("postgres://db/holdfast?{options}")).expect("an address");
            assert_eq!(address.name_check, name_check, "{options}");
        }
    }
}

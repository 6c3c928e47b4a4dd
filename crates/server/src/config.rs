//! All settings and their types.
//!
//! The defaults are `holdfast.toml`, which is embedded in the binary. A file, the environment and flags override them in
//! that order. An invalid setting is reported in one line that names it.

mod bus;
mod load;
mod names;
mod spelling;
#[cfg(test)]
mod tests;
mod validate;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_connect::TlsRoots;
use holdfast_core::claim::refund::RefundTiers;
use holdfast_core::time::Span;
use holdfast_core::{Limits, calendar, hold, relay, shop, stay, tee, ticket, webhook};
use holdfast_engine::EngineSettings;
use holdfast_events::webhooks::WebhookSettings;
use holdfast_events::webhooks::network::Network;
use holdfast_events::webhooks::target::AllowedAddresses;
use holdfast_waiting_room::token::SECRET_LEN_MIN;
use holdfast_waiting_room::{Key, Keys, Timings};
use serde::Deserialize;

pub use spelling::parse_duration;
use spelling::{
    Choice, address, choice, duration, durations, line_refund_tiers, networks, number, refund_tiers, tls_roots,
};

use crate::problem::Language;

/// The default settings, which are also the manual of settings.
pub const DEFAULTS: &str = include_str!("../../../holdfast.toml");

/// All settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub server: ServerConfig,
    pub redis: RedisConfig,
    pub nats: NatsConfig,
    pub booking: ServiceConfig,
    pub course: ServiceConfig,
    pub notify: ServiceConfig,
    pub log: LogConfig,
    pub auth: AuthConfig,
    pub engine: EngineConfig,
    pub claim: ClaimConfig,
    pub hold: RefundConfig,
    pub stay: StayConfig,
    pub shop: HoldConfig,
    pub ticket: HoldConfig,
    pub queue: QueueConfig,
    pub calendar: CalendarConfig,
    pub tee: TeeConfig,
    pub stream: StreamConfig,
    pub events: EventsConfig,
    pub webhook: WebhookConfig,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    pub data: PathBuf,
    pub database_url: Option<Secret>,
    pub redis_url: Option<Secret>,
    pub nats_url: Option<Secret>,
    /// Certificate authorities, in addition to the system's, for PostgreSQL, Redis and NATS.
    #[serde(default, deserialize_with = "tls_roots")]
    pub tls_ca_file: TlsRoots,
    /// Additional authorities for only one of the three.
    #[serde(default, deserialize_with = "tls_roots")]
    pub database_ca_file: TlsRoots,
    #[serde(default, deserialize_with = "tls_roots")]
    pub redis_ca_file: TlsRoots,
    #[serde(default, deserialize_with = "tls_roots")]
    pub nats_ca_file: TlsRoots,
    pub roles: String,
    /// Language of errors for callers without `Accept-Language`.
    #[serde(deserialize_with = "choice")]
    pub language: Language,
    #[serde(deserialize_with = "number")]
    pub connections_max: usize,
    #[serde(deserialize_with = "number")]
    pub answer_bytes_max: usize,
}

impl ServerConfig {
    pub fn database_tls_roots(&self) -> TlsRoots {
        self.tls_ca_file.and(&self.database_ca_file)
    }

    pub fn redis_tls_roots(&self) -> TlsRoots {
        self.tls_ca_file.and(&self.redis_ca_file)
    }

    pub fn nats_tls_roots(&self) -> TlsRoots {
        self.tls_ca_file.and(&self.nats_ca_file)
    }

    /// Reads all certificate authorities again, for connections made from now on. Returns an error for each file that cannot
    /// be used; its authorities stay as they were.
    pub fn reload_authorities(&self) -> Vec<ConfigError> {
        let files = [
            ("server.tls_ca_file", &self.tls_ca_file),
            ("server.database_ca_file", &self.database_ca_file),
            ("server.redis_ca_file", &self.redis_ca_file),
            ("server.nats_ca_file", &self.nats_ca_file),
        ];
        let reload =
            |(name, file): (&str, &TlsRoots)| file.reload().err().map(|error| ConfigError(format!("{name}: {error}")));
        files.into_iter().filter_map(reload).collect()
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    pub prefix: String,
    #[serde(deserialize_with = "choice")]
    pub on_loss: OnLoss,
}

/// Reaction to a loss of data in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    Resume,
    Quarantine,
}

impl Choice for OnLoss {
    const ALL: &[(&str, Self)] = &[("resume", Self::Resume), ("quarantine", Self::Quarantine)];
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatsConfig {
    pub prefix: String,
    #[serde(deserialize_with = "duration")]
    pub age_max: Duration,
    #[serde(deserialize_with = "number")]
    pub bytes_max: usize,
}

/// A tee time service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceConfig {
    /// Database of its rows; `server.database_url` if it is not set.
    pub database_url: Option<Secret>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    #[serde(deserialize_with = "choice")]
    pub format: LogFormat,
    pub level: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl Choice for LogFormat {
    const ALL: &[(&str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

impl Choice for Language {
    const ALL: &[(&str, Self)] = &[("ko", Self::Korean), ("en", Self::English)];
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthConfig {
    pub jwt_secret: Option<Secret>,
    pub jwt_public_key_file: Option<PathBuf>,
    pub audience: Option<String>,
    pub issuer: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineConfig {
    #[serde(deserialize_with = "duration")]
    pub lock_wait: Duration,
    #[serde(deserialize_with = "number")]
    pub queue_max: usize,
    #[serde(deserialize_with = "number")]
    pub holds_per_user_max: u32,
    #[serde(deserialize_with = "number")]
    pub idempotency_bytes_max: usize,
}

/// Limits of holds of any kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimConfig {
    #[serde(deserialize_with = "number")]
    pub extensions_max: usize,
    #[serde(deserialize_with = "duration")]
    pub lifetime_max: Duration,
    #[serde(deserialize_with = "duration")]
    pub ttl_max: Duration,
}

/// Refunds of cancelled lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefundConfig {
    #[serde(deserialize_with = "line_refund_tiers")]
    pub refund_tiers: RefundTiers,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StayConfig {
    #[serde(deserialize_with = "duration")]
    pub hold_ttl: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldConfig {
    #[serde(deserialize_with = "duration")]
    pub hold_ttl: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueConfig {
    #[serde(deserialize_with = "duration")]
    pub entry_ttl: Duration,
    #[serde(deserialize_with = "duration")]
    pub entry_max: Duration,
    #[serde(deserialize_with = "duration")]
    pub waiter_ttl: Duration,
    #[serde(deserialize_with = "duration")]
    pub ready_ttl: Duration,
    /// Signs entry tokens. Without it, a secret is generated and kept with the data.
    pub token_secret: Option<Secret>,
    /// Earlier secrets, separated by commas.
    pub token_secrets_old: Option<Secret>,
}

impl QueueConfig {
    pub fn timings(&self) -> Timings {
        Timings {
            entry_ttl: span(self.entry_ttl),
            entry_max: span(self.entry_max),
            waiter_ttl: span(self.waiter_ttl),
            ready_ttl: span(self.ready_ttl),
        }
    }

    /// Returns the keys of entry tokens: the configured secret, or `kept` if there is none.
    pub fn keys(&self, kept: &[u8]) -> Result<Keys, ConfigError> {
        let key = |name: &str, secret: &[u8]| {
            Key::new(secret).ok_or_else(|| ConfigError(format!("{name}: must have at least {SECRET_LEN_MIN} bytes")))
        };
        if self.token_secret.as_ref().is_some_and(|secret| secret.reveal().contains(',')) {
            // A secret with a comma could not be listed in `token_secrets_old` later.
            return Err(ConfigError("queue.token_secret: must not contain a comma".into()));
        }
        let current = self.token_secret.as_ref().map_or(kept, |secret| secret.reveal().as_bytes());
        let old = self.token_secrets_old.as_ref().map_or("", Secret::reveal);
        let old = old.split(',').map(str::trim).filter(|secret| !secret.is_empty());
        let mut previous =
            old.map(|secret| key("queue.token_secrets_old", secret.as_bytes())).collect::<Result<Vec<_>, _>>()?;
        if self.token_secret.is_some() {
            // Tokens signed before a secret was first configured stay valid.
            previous.extend(Key::new(kept));
        }
        Ok(Keys::new(key("queue.token_secret", current)?, previous))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalendarConfig {
    #[serde(deserialize_with = "duration")]
    pub lock_ttl: Duration,
    #[serde(deserialize_with = "number")]
    pub days_ahead: u32,
    #[serde(deserialize_with = "number")]
    pub keep_days: u32,
    /// Time that a request waits for its slots to be generated.
    #[serde(deserialize_with = "duration")]
    pub generate_wait: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeeConfig {
    #[serde(deserialize_with = "duration")]
    pub saga_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub idempotency_key_ttl: Duration,
    #[serde(deserialize_with = "duration")]
    pub outbox_poll: Duration,
    #[serde(deserialize_with = "number")]
    pub outbox_batch: usize,
    #[serde(deserialize_with = "number")]
    pub outbox_retries_max: usize,
    #[serde(deserialize_with = "duration")]
    pub bus_timeout: Duration,
    #[serde(deserialize_with = "number")]
    pub lock_retries_max: usize,
    #[serde(deserialize_with = "duration")]
    pub processed_ttl: Duration,
    #[serde(deserialize_with = "duration")]
    pub outbox_keep: Duration,
    #[serde(deserialize_with = "duration")]
    pub sweep_every: Duration,
    #[serde(deserialize_with = "refund_tiers")]
    pub refund_tiers: Vec<tee::RefundTier>,
    #[serde(deserialize_with = "number")]
    pub refund_last_day_percent: u8,
}

impl TeeConfig {
    /// Returns the refund policy; `None` if the tiers are invalid.
    fn refund(&self) -> Option<tee::RefundPolicy> {
        let last_day = tee::RefundTier { days: 0, percent: self.refund_last_day_percent };
        tee::RefundPolicy::new(&[&self.refund_tiers[..], &[last_day]].concat())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Age up to which events are replayed to subscribers.
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsConfig {
    /// Value of `source` in every `CloudEvent`.
    pub source: String,
}

/// Delivery of webhooks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    #[serde(deserialize_with = "durations")]
    pub retry_after: Vec<Duration>,
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    #[serde(deserialize_with = "number")]
    pub concurrency_max: usize,
    #[serde(deserialize_with = "number")]
    pub per_webhook_max: usize,
    #[serde(deserialize_with = "duration")]
    pub poll: Duration,
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
    /// Networks of private addresses to which webhooks may be sent while authentication is on.
    #[serde(deserialize_with = "networks")]
    pub allow_networks: Vec<Network>,
}

impl WebhookConfig {
    /// Returns the settings of the webhook jobs, which may send to these addresses.
    pub fn settings(&self, allowed: AllowedAddresses) -> WebhookSettings {
        WebhookSettings {
            connect_timeout: self.connect_timeout,
            timeout: self.timeout,
            concurrency_max: self.concurrency_max,
            per_webhook_max: self.per_webhook_max,
            poll: self.poll,
            keep: self.keep,
            allowed,
        }
    }

    pub fn limits(&self) -> webhook::Limits {
        webhook::Limits { retry_after: self.retry_after.iter().map(|wait| span(*wait)).collect() }
    }
}

/// Text that is redacted in logs.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Error of the settings, in one line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Config {
    /// Returns the defaults, for tests to change.
    pub fn defaults() -> Self {
        Self::load(None, std::iter::empty(), &[]).expect("the defaults are valid")
    }

    pub fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            lock_wait: self.engine.lock_wait,
            queue_max: self.engine.queue_max,
            limits: Limits {
                holds_per_user_max: self.engine.holds_per_user_max,
                hold: hold::Limits {
                    extensions_max: self.claim.extensions_max as u8,
                    lifetime_max: span(self.claim.lifetime_max),
                    ttl_max: span(self.claim.ttl_max),
                    refund: self.hold.refund_tiers,
                },
                relay: relay::Limits { retries_max: self.tee.outbox_retries_max as u32 },
                stay: stay::Limits { hold_ttl: span(self.stay.hold_ttl) },
                tee: tee::Limits {
                    saga_timeout: span(self.tee.saga_timeout),
                    key_ttl: span(self.tee.idempotency_key_ttl),
                    refund: self.tee.refund().unwrap_or(tee::RefundPolicy::DEFAULT),
                },
                shop: shop::Limits { hold_ttl: span(self.shop.hold_ttl) },
                calendar: calendar::Limits {
                    lock_ttl: span(self.calendar.lock_ttl),
                    days_ahead: self.calendar.days_ahead,
                    keep_days: self.calendar.keep_days,
                },
                ticket: ticket::Limits { hold_ttl: span(self.ticket.hold_ttl) },
                webhook: self.webhook.limits(),
            },
        }
    }

    pub fn auth_is_off(&self) -> bool {
        self.auth.jwt_secret.is_none() && self.auth.jwt_public_key_file.is_none()
    }
}

fn span(duration: Duration) -> Span {
    Span::from_millis(duration.as_millis() as i64)
}

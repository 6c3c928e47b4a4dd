//! Every setting, its default and its validation.
//!
//! The defaults are `holdfast.toml`, which is embedded in the binary. A file, the environment and flags are laid over it
//! in that order; whatever is then wrong is said in one line that names the setting.

mod bus;

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_core::hold::HOLD_TTL_MAX;
use holdfast_core::time::Span;
use holdfast_core::{Limits, calendar, relay, shop, stay, tee, ticket, webhook};
use holdfast_engine::EngineSettings;
use holdfast_waiting_room::token::SECRET_LEN_MIN;
use holdfast_waiting_room::{Key, Keys, Timings};
use serde::{Deserialize, Deserializer, de};
use toml::{Table, Value};

/// The default settings, and the manual.
pub const DEFAULTS: &str = include_str!("../../../holdfast.toml");

const ENVIRONMENT_PREFIX: &str = "HOLDFAST_";

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
    pub stay: StayConfig,
    pub shop: HoldConfig,
    pub ticket: HoldConfig,
    pub queue: QueueConfig,
    pub calendar: CalendarConfig,
    pub tee: TeeConfig,
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
    pub roles: String,
    pub connections_max: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisConfig {
    pub prefix: String,
    pub on_loss: OnLoss,
}

/// What to do when Redis has lost its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLoss {
    Resume,
    Quarantine,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatsConfig {
    pub prefix: String,
    #[serde(deserialize_with = "duration")]
    pub age_max: Duration,
    pub bytes_max: usize,
}

/// A service of tee times.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceConfig {
    /// Where its rows lie; with all others, if it is not set.
    pub database_url: Option<Secret>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    pub format: LogFormat,
    pub level: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
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
    pub queue_max: usize,
    pub holds_per_user_max: u32,
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
    /// Signs entry tokens; made and kept with the data if there is none.
    pub token_secret: Option<Secret>,
    /// Earlier ones, separated by commas.
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

    /// What tokens are signed with: the set secret, or `kept` if none is set.
    pub fn keys(&self, kept: &[u8]) -> Result<Keys, ConfigError> {
        let key = |name: &str, secret: &[u8]| {
            Key::new(secret).ok_or_else(|| ConfigError(format!("{name}: must have at least {SECRET_LEN_MIN} bytes")))
        };
        let current = self.token_secret.as_ref().map_or(kept, |secret| secret.reveal().as_bytes());
        let old = self.token_secrets_old.as_ref().map_or("", Secret::reveal);
        let old = old.split(',').map(str::trim).filter(|secret| !secret.is_empty());
        let mut previous =
            old.map(|secret| key("queue.token_secrets_old", secret.as_bytes())).collect::<Result<Vec<_>, _>>()?;
        if self.token_secret.is_some() {
            // Who sets a secret for the first time does not make the tokens of a moment ago worthless.
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
    pub days_ahead: u32,
    pub keep_days: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeeConfig {
    #[serde(deserialize_with = "duration")]
    pub saga_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub outbox_poll: Duration,
    pub outbox_batch: usize,
    pub outbox_retries_max: usize,
    #[serde(deserialize_with = "duration")]
    pub bus_timeout: Duration,
    pub lock_retries_max: usize,
    #[serde(deserialize_with = "duration")]
    pub processed_ttl: Duration,
    #[serde(deserialize_with = "duration")]
    pub outbox_keep: Duration,
    #[serde(deserialize_with = "duration")]
    pub sweep_every: Duration,
    #[serde(deserialize_with = "refund_tiers")]
    pub refund_tiers: Vec<tee::RefundTier>,
    pub refund_last_day_percent: u8,
}

impl TeeConfig {
    /// `None` if the tiers are none.
    fn refund(&self) -> Option<tee::RefundPolicy> {
        let last_day = tee::RefundTier { days: 0, percent: self.refund_last_day_percent };
        tee::RefundPolicy::new(&[&self.refund_tiers[..], &[last_day]].concat())
    }
}

/// Telling others of events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    #[serde(deserialize_with = "durations")]
    pub retry_after: Vec<Duration>,
    #[serde(deserialize_with = "duration")]
    pub connect_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    pub concurrency_max: usize,
    pub per_webhook_max: usize,
    #[serde(deserialize_with = "duration")]
    pub poll: Duration,
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
}

impl WebhookConfig {
    pub fn limits(&self) -> webhook::Limits {
        webhook::Limits { retry_after: self.retry_after.iter().map(|wait| span(*wait)).collect() }
    }
}

/// Text that does not show up in logs.
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

/// What is wrong with the settings, in one line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Config {
    /// `environment` are the process's variables, `flags` pairs of `section.key` and value.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
        flags: &[(&str, String)],
    ) -> Result<Self, ConfigError> {
        let mut table: Table = DEFAULTS.parse().expect("the embedded defaults are TOML");
        if let Some(path) = file {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|error| ConfigError(format!("cannot read {}: {error}", path.display())))?;
            let parsed: Result<Table, _> = text.parse();
            let over = parsed.map_err(|error| ConfigError(format!("{}: {}", path.display(), one_line(&error))))?;
            lay_over(&mut table, over);
        }
        let named = environment.filter(|(name, value)| name.starts_with(ENVIRONMENT_PREFIX) && !value.is_empty());
        for (name, value) in named {
            let spelled = name[ENVIRONMENT_PREFIX.len()..].to_lowercase();
            let Some((section, key)) = spelled.split_once('_') else {
                return Err(ConfigError(format!("{name}: there is no such setting; see holdfast.toml")));
            };
            set(&mut table, section, key, &value);
        }
        for (name, value) in flags {
            let (section, key) = name.split_once('.').expect("flags are named section.key");
            set(&mut table, section, key, value);
        }
        check_sections(&table)?;
        let config: Self = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| explain(&error))?;
        config.validate()?;
        Ok(config)
    }

    /// The defaults, for tests to change.
    pub fn defaults() -> Self {
        Self::load(None, std::iter::empty(), &[]).expect("the defaults are valid")
    }

    pub fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            lock_wait: self.engine.lock_wait,
            queue_max: self.engine.queue_max,
            limits: Limits {
                holds_per_user_max: self.engine.holds_per_user_max,
                relay: relay::Limits { retries_max: self.tee.outbox_retries_max as u32 },
                stay: stay::Limits { hold_ttl: span(self.stay.hold_ttl) },
                tee: tee::Limits {
                    saga_timeout: span(self.tee.saga_timeout),
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

    fn validate(&self) -> Result<(), ConfigError> {
        let between = |name: &str, value: Duration, min: Duration, max: Duration| {
            let ok = (min..=max).contains(&value);
            ok.then_some(()).ok_or_else(|| ConfigError(format!("{name}: must be from {min:?} to {max:?}")))
        };
        let within = |name: &str, value: usize, min: usize, max: usize| {
            let ok = (min..=max).contains(&value);
            ok.then_some(()).ok_or_else(|| ConfigError(format!("{name}: must be from {min} to {max}")))
        };
        let count = |name: &str, value: usize, max: usize| within(name, value, 1, max);
        let ttl_max = Duration::from_millis(HOLD_TTL_MAX.as_millis() as u64);
        let (moment, hour) = (Duration::from_millis(100), Duration::from_hours(1));
        between("engine.lock_wait", self.engine.lock_wait, Duration::from_millis(10), Duration::from_secs(1))?;
        for (name, ttl) in [
            ("stay.hold_ttl", self.stay.hold_ttl),
            ("shop.hold_ttl", self.shop.hold_ttl),
            ("ticket.hold_ttl", self.ticket.hold_ttl),
            ("calendar.lock_ttl", self.calendar.lock_ttl),
        ] {
            between(name, ttl, moment, ttl_max)?;
        }
        let days_ahead_max = calendar::DAYS_AHEAD_MAX as usize;
        count("calendar.days_ahead", self.calendar.days_ahead as usize, days_ahead_max)?;
        // Longer than a lock on an old slot may live.
        within("calendar.keep_days", self.calendar.keep_days as usize, 2, 3_660)?;
        let queue = &self.queue;
        for (name, span) in [
            ("queue.entry_ttl", queue.entry_ttl),
            ("queue.entry_max", queue.entry_max),
            ("queue.waiter_ttl", queue.waiter_ttl),
            ("queue.ready_ttl", queue.ready_ttl),
        ] {
            between(name, span, moment, Duration::from_hours(24))?;
        }
        queue.keys(&[0; SECRET_LEN_MIN])?;
        between("tee.saga_timeout", self.tee.saga_timeout, moment, hour)?;
        between("tee.sweep_every", self.tee.sweep_every, moment, hour)?;
        between("tee.outbox_poll", self.tee.outbox_poll, Duration::from_millis(10), Duration::from_mins(1))?;
        count("tee.outbox_batch", self.tee.outbox_batch, 500)?;
        if self.tee.lock_retries_max > 100 {
            return Err(ConfigError("tee.lock_retries_max: must be from 0 to 100".into()));
        }
        if self.tee.outbox_retries_max > 100 {
            return Err(ConfigError("tee.outbox_retries_max: must be from 0 to 100".into()));
        }
        if self.tee.refund_last_day_percent > 100 {
            return Err(ConfigError("tee.refund_last_day_percent: must be from 0 to 100".into()));
        }
        if self.tee.refund().is_none() {
            let (tiers, days) = (tee::REFUND_TIERS_MAX - 1, tee::REFUND_DAYS_MAX);
            return Err(ConfigError(format!(
                "tee.refund_tiers: at most {tiers}, each of fewer days than the one before, from {days}d to 1d and 0 to 100"
            )));
        }
        self.validate_webhooks()?;
        between("tee.bus_timeout", self.tee.bus_timeout, moment, Duration::from_mins(5))?;
        between("tee.processed_ttl", self.tee.processed_ttl, moment, Duration::from_hours(24 * 7))?;
        // Whoever listens to the stream may come back after a day.
        between("tee.outbox_keep", self.tee.outbox_keep, Duration::from_hours(24), Duration::from_hours(24 * 366))?;
        self.validate_profile()?;
        self.validate_bus()?;
        count("server.connections_max", self.server.connections_max, 100_000)?;
        count("engine.queue_max", self.engine.queue_max, 1_000_000)?;
        count("engine.holds_per_user_max", self.engine.holds_per_user_max as usize, 100_000)?;
        if self.auth.jwt_secret.as_ref().is_some_and(|secret| secret.reveal().is_empty()) {
            return Err(ConfigError("auth.jwt_secret: must not be empty".into()));
        }
        if self.auth_is_off() && (self.auth.audience.is_some() || self.auth.issuer.is_some()) {
            let name = if self.auth.audience.is_some() { "auth.audience" } else { "auth.issuer" };
            return Err(ConfigError(format!(
                "{name}: has no effect while auth is off; set auth.jwt_secret or auth.jwt_public_key_file too"
            )));
        }
        if self.auth_is_off() && !self.server.listen.ip().is_loopback() {
            return Err(ConfigError(format!(
                "server.listen: {} is not a loopback address, and auth is off; set auth.jwt_secret or \
                 auth.jwt_public_key_file first",
                self.server.listen
            )));
        }
        Ok(())
    }
}

impl Config {
    fn validate_webhooks(&self) -> Result<(), ConfigError> {
        let settings = &self.webhook;
        let (millisecond, day) = (Duration::from_millis(1), Duration::from_hours(24));
        let in_range = |name: &str, value: Duration, max: Duration| {
            let ok = (millisecond..=max).contains(&value);
            ok.then_some(())
                .ok_or_else(|| ConfigError(format!("webhook.{name}: must be from {millisecond:?} to {max:?}")))
        };
        if settings.retry_after.len() > 50 || settings.retry_after.iter().any(|wait| *wait > 7 * day) {
            return Err(ConfigError("webhook.retry_after: at most 50 waits, none longer than 7d".into()));
        }
        in_range("timeout", settings.timeout, Duration::from_mins(1))?;
        in_range("connect_timeout", settings.connect_timeout, settings.timeout)?;
        in_range("poll", settings.poll, Duration::from_mins(1))?;
        if !(Duration::from_hours(1)..=365 * day).contains(&settings.keep) {
            return Err(ConfigError("webhook.keep: must be from 1h to 365d".into()));
        }
        for (name, value, max) in [
            ("concurrency_max", settings.concurrency_max, webhook::AT_ONCE_MAX),
            ("per_webhook_max", settings.per_webhook_max, settings.concurrency_max),
        ] {
            if !(1..=max).contains(&value) {
                return Err(ConfigError(format!("webhook.{name}: must be from 1 to {max}")));
            }
        }
        Ok(())
    }

    /// Embedded, PostgreSQL, or PostgreSQL with live holds in Redis.
    fn validate_profile(&self) -> Result<(), ConfigError> {
        let server = &self.server;
        let postgres: &[&str] = &["postgres://", "postgresql://"];
        let schemes: [(&str, &Option<Secret>, &[&str]); 6] = [
            ("server.database_url", &server.database_url, postgres),
            ("booking.database_url", &self.booking.database_url, postgres),
            ("course.database_url", &self.course.database_url, postgres),
            ("notify.database_url", &self.notify.database_url, postgres),
            ("server.redis_url", &server.redis_url, &["redis://"]),
            ("server.nats_url", &server.nats_url, &["nats://", "tls://"]),
        ];
        for (name, url, schemes) in schemes {
            if url.as_ref().is_some_and(|url| !schemes.iter().any(|scheme| url.reveal().starts_with(scheme))) {
                return Err(ConfigError(format!("{name}: must begin with {}", schemes[0])));
            }
        }
        if server.redis_url.is_some() && server.database_url.is_none() {
            let why = "Redis keeps live holds only; set server.database_url too, for everything else";
            return Err(ConfigError(format!("server.redis_url: {why}")));
        }
        let prefix = &self.redis.prefix;
        if prefix.len() > 100 || prefix.contains(char::is_whitespace) {
            return Err(ConfigError("redis.prefix: must have at most 100 bytes and no space".into()));
        }
        Ok(())
    }
}

fn span(duration: Duration) -> Span {
    Span::from_millis(duration.as_millis() as i64)
}

fn lay_over(table: &mut Table, over: Table) {
    for (name, value) in over {
        match (table.get_mut(&name), value) {
            (Some(Value::Table(under)), Value::Table(over)) => lay_over(under, over),
            (_, value) => {
                table.insert(name, value);
            }
        }
    }
}

/// Text from the environment or a flag becomes a number where the default is one.
fn set(table: &mut Table, section: &str, key: &str, text: &str) {
    let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(section) = section else { return };
    let number = section.get(key).filter(|value| value.is_integer()).and_then(|_| text.parse().ok());
    section.insert(key.into(), number.map_or_else(|| Value::String(text.into()), Value::Integer));
}

/// A section that there is none of is named with what is said in it.
fn check_sections(table: &Table) -> Result<(), ConfigError> {
    let known: Table = DEFAULTS.parse().expect("the embedded defaults are TOML");
    let Some((section, value)) = table.iter().find(|(name, _)| !known.contains_key(*name)) else { return Ok(()) };
    let key = value.as_table().and_then(|keys| keys.keys().next());
    let full = key.map_or_else(|| section.clone(), |key| format!("{section}.{key}"));
    Err(ConfigError(format!("{full}: there is no such setting; see holdfast.toml")))
}

fn explain(error: &serde_path_to_error::Error<toml::de::Error>) -> ConfigError {
    let message = one_line(error.inner());
    let path = error.path().to_string();
    match message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((name, _)) => {
            let section = path.strip_suffix(name).unwrap_or(&path).trim_end_matches('.');
            let full = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            ConfigError(format!("{full}: there is no such setting; see holdfast.toml"))
        }
        None => ConfigError(format!("{path}: {message}")),
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}

/// `500ms`, `10s`, `30m`, `24h`, `7d`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(millis).map(Duration::from_millis)
}

/// Durations, separated by commas.
fn durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |part: &str| {
        de::Error::custom(format!(
            "{part:?} is not a duration; write them like 500ms, 10s, 30m, 24h or 7d, with commas between"
        ))
    };
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    parts.map(|part| parse_duration(part).ok_or_else(|| wrong(part))).collect()
}

/// `127.0.0.1:8080`, `[::1]:8080`, or a host that is looked up now: of several addresses the first, one of IPv4 if there is one.
fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if text.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        let wrong = format!("{text:?} is not an address; write it like 127.0.0.1:8080 or localhost:8080");
        return Err(de::Error::custom(wrong));
    }
    let found: Vec<SocketAddr> = text.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| de::Error::custom(format!("the host of {text:?} cannot be found")))
}

/// `7d:100, 3d:80`: so many days before tee-off, so many percent.
fn refund_tiers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<tee::RefundTier>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let tier = |part: &str| {
        let (days, percent) = part.split_once(':')?;
        let days = days.trim().strip_suffix('d')?.parse().ok()?;
        Some(tee::RefundTier { days, percent: percent.trim().parse().ok()? })
    };
    let wrong = |part: &str| {
        de::Error::custom(format!("{part:?} is not a tier; write them like 7d:100, 3d:80, with commas between"))
    };
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    parts.map(|part| tier(part).ok_or_else(|| wrong(part))).collect()
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).ok_or_else(|| {
        de::Error::custom(format!("{text:?} is not a duration; write it like 500ms, 10s, 30m, 24h or 7d"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, String> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let flags: Vec<_> = flags.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Config::load(None, environment, &flags).map_err(|error| error.to_string())
    }

    #[test]
    fn flag_beats_environment_beats_file_beats_default() {
        let file = std::env::temp_dir().join(format!("holdfast-config-{}.toml", std::process::id()));
        std::fs::write(&file, "[stay]\nhold_ttl = \"2s\"\n[engine]\nlock_wait = \"20ms\"\nqueue_max = 7\n").unwrap();
        let environment = [
            ("HOLDFAST_STAY_HOLD_TTL".to_owned(), "3s".to_owned()),
            ("HOLDFAST_ENGINE_LOCK_WAIT".to_owned(), "30ms".to_owned()),
        ];
        let config = Config::load(Some(&file), environment.into_iter(), &[("stay.hold_ttl", "4s".into())]).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(config.stay.hold_ttl, Duration::from_secs(4));
        assert_eq!(config.engine.lock_wait, Duration::from_millis(30));
        assert_eq!(config.engine.queue_max, 7);
        assert_eq!(config.engine.holds_per_user_max, 50);
    }

    #[test]
    fn a_bad_or_unknown_setting_is_named_in_one_line() {
        let cases: &[(&str, &str, &str)] = &[
            (
                "HOLDFAST_STAY_HOLD_TTL",
                "ten minutes",
                "stay.hold_ttl: \"ten minutes\" is not a duration; write it like 500ms, 10s, 30m, 24h or 7d",
            ),
            ("HOLDFAST_STAY_HOLD_TTL", "0s", "stay.hold_ttl: must be from 100ms to 86400s"),
            ("HOLDFAST_QUEUE_READY_TTL", "99ms", "queue.ready_ttl: must be from 100ms to 86400s"),
            ("HOLDFAST_TEE_BUS_TIMEOUT", "99ms", "tee.bus_timeout: must be from 100ms to 300s"),
            ("HOLDFAST_STAY_HOLD_TLT", "5s", "stay.hold_tlt: there is no such setting; see holdfast.toml"),
            ("HOLDFAST_HOTEL_STARS", "5", "hotel.stars: there is no such setting; see holdfast.toml"),
            ("HOLDFAST_NONSENSE", "5", "HOLDFAST_NONSENSE: there is no such setting; see holdfast.toml"),
            ("HOLDFAST_ENGINE_HOLDS_PER_USER_MAX", "0", "engine.holds_per_user_max: must be from 1 to 100000"),
            (
                "HOLDFAST_SERVER_REDIS_URL",
                "redis://x",
                "server.redis_url: Redis keeps live holds only; set server.database_url too, for everything else",
            ),
            ("HOLDFAST_SERVER_DATABASE_URL", "mysql://x", "server.database_url: must begin with postgres://"),
            ("HOLDFAST_SERVER_NATS_URL", "http://x", "server.nats_url: must begin with nats://"),
            (
                "HOLDFAST_SERVER_ROLES",
                "api,king",
                "server.roles: \"king\" is none of api, booking, course, notify, all",
            ),
            (
                "HOLDFAST_SERVER_ROLES",
                "booking",
                "server.roles: parts in separate processes need server.nats_url, to reach each other",
            ),
            (
                "HOLDFAST_COURSE_DATABASE_URL",
                "postgres://x",
                "course.database_url: services on separate databases need server.nats_url, to reach each other",
            ),
            (
                "HOLDFAST_NATS_PREFIX",
                "a.b",
                "nats.prefix: must have at most 50 characters, each a letter, a digit, - or _",
            ),
            ("HOLDFAST_TEE_OUTBOX_KEEP", "1h", "tee.outbox_keep: must be from 86400s to 31622400s"),
            ("HOLDFAST_TEE_REFUND_LAST_DAY_PERCENT", "101", "tee.refund_last_day_percent: must be from 0 to 100"),
            (
                "HOLDFAST_AUTH_ISSUER",
                "me",
                "auth.issuer: has no effect while auth is off; set auth.jwt_secret or auth.jwt_public_key_file too",
            ),
            ("HOLDFAST_WEBHOOK_KEEP", "1m", "webhook.keep: must be from 1h to 365d"),
            ("HOLDFAST_WEBHOOK_RETRY_AFTER", "5s,8d", "webhook.retry_after: at most 50 waits, none longer than 7d"),
            ("HOLDFAST_WEBHOOK_CONNECT_TIMEOUT", "16s", "webhook.connect_timeout: must be from 1ms to 15s"),
            ("HOLDFAST_WEBHOOK_PER_WEBHOOK_MAX", "129", "webhook.per_webhook_max: must be from 1 to 128"),
            (
                "HOLDFAST_TEE_REFUND_TIERS",
                "7d:100, 3:80",
                "tee.refund_tiers: \"3:80\" is not a tier; write them like 7d:100, 3d:80, with commas between",
            ),
            (
                "HOLDFAST_TEE_REFUND_TIERS",
                "3d:80, 7d:100",
                "tee.refund_tiers: at most 7, each of fewer days than the one before, from 3650d to 1d and 0 to 100",
            ),
            (
                "HOLDFAST_TEE_REFUND_TIERS",
                "7d:101",
                "tee.refund_tiers: at most 7, each of fewer days than the one before, from 3650d to 1d and 0 to 100",
            ),
            (
                "HOLDFAST_SERVER_LISTEN",
                "localhost",
                "server.listen: \"localhost\" is not an address; write it like 127.0.0.1:8080 or localhost:8080",
            ),
        ];
        for (name, value, expected) in cases {
            assert_eq!(load(&[(name, value)], &[]).unwrap_err(), *expected);
        }
        let error = load(&[("HOLDFAST_ENGINE_QUEUE_MAX", "many")], &[]).unwrap_err();
        assert!(error.starts_with("engine.queue_max: ") && !error.contains('\n'), "{error}");
        let error = load(&[("HOLDFAST_WEBHOOK_RETRY_AFTER", "5s,soon")], &[]).unwrap_err();
        assert!(
            error.starts_with("webhook.retry_after: \"soon\" is not a duration") && !error.contains('\n'),
            "{error}"
        );
        let error = load(&[], &[("server.listen", "somewhere")]).unwrap_err();
        assert!(error.starts_with("server.listen: ") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn what_lasts_a_moment_is_allowed() {
        for name in ["STAY_HOLD_TTL", "SHOP_HOLD_TTL", "TICKET_HOLD_TTL", "CALENDAR_LOCK_TTL", "QUEUE_ENTRY_MAX"] {
            load(&[(&format!("HOLDFAST_{name}"), "100ms")], &[]).unwrap();
        }
        for name in ["SAGA_TIMEOUT", "SWEEP_EVERY", "BUS_TIMEOUT", "PROCESSED_TTL"] {
            load(&[(&format!("HOLDFAST_TEE_{name}"), "100ms")], &[]).unwrap();
        }
    }

    #[test]
    fn an_empty_variable_is_as_good_as_none() {
        let config = load(&[("HOLDFAST_STAY_HOLD_TTL", ""), ("HOLDFAST_AUTH_JWT_SECRET", "")], &[]).unwrap();
        assert_eq!((config.stay.hold_ttl, config.auth_is_off()), (Duration::from_mins(10), true));
        assert_eq!(load(&[], &[("auth.jwt_secret", "")]).unwrap_err(), "auth.jwt_secret: must not be empty");
        assert!(load(&[("HOLDFAST_AUTH_JWT_SECRET", "short")], &[]).is_ok());
    }

    #[test]
    fn a_host_is_looked_up() {
        let listen = |text| load(&[], &[("server.listen", text)]).map(|config| config.server.listen);
        let found = listen("localhost:8081").unwrap();
        assert!(found.ip().is_loopback() && found.port() == 8081, "{found}");
        assert_eq!(listen("[::1]:8081").unwrap().to_string(), "[::1]:8081");
    }

    #[test]
    fn refunds_are_those_of_the_settings() {
        let refund = |tiers, last| {
            let flags = [("tee.refund_tiers", tiers), ("tee.refund_last_day_percent", last)];
            load(&[], &flags).unwrap().engine_settings().limits.tee.refund.to_string()
        };
        assert_eq!(Config::defaults().engine_settings().limits.tee.refund, tee::RefundPolicy::DEFAULT);
        assert_eq!(refund("14d:90,2d:40", "5"), "14:90 2:40 0:5");
        assert_eq!(refund("", "0"), "0:0");
    }

    #[test]
    fn without_auth_only_loopback_is_allowed() {
        let error = load(&[], &[("server.listen", "0.0.0.0:8080")]).unwrap_err();
        assert!(error.starts_with("server.listen: 0.0.0.0:8080 is not a loopback address"), "{error}");
        let secret = ("HOLDFAST_AUTH_JWT_SECRET", "0123456789abcdef0123456789abcdef");
        assert!(load(&[secret], &[("server.listen", "0.0.0.0:8080")]).is_ok());
    }

    #[test]
    fn every_setting_shown_in_the_file_is_one() {
        let uncommented: String = DEFAULTS
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = \"")).unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n");
        let table: Table = uncommented.parse().unwrap();
        assert_eq!(table["auth"].as_table().unwrap().len(), 4);
        assert!(table["server"].as_table().unwrap().contains_key("nats_url"));
        let _: Config = Value::Table(table).try_into().unwrap();
    }

    #[test]
    fn waits_are_separated_by_commas_and_may_be_none() {
        let waits = |text| load(&[], &[("webhook.retry_after", text)]).unwrap().webhook.retry_after;
        assert_eq!(waits("5s, 30m"), [Duration::from_secs(5), Duration::from_mins(30)]);
        assert_eq!(waits(""), [Duration::ZERO; 0]);
        let defaults = Config::defaults().webhook.limits().retry_after;
        assert_eq!(defaults, webhook::Limits::DEFAULT.retry_after);
    }

    #[test]
    fn durations_are_a_number_and_a_unit() {
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_duration("7d"), Some(Duration::from_hours(168)));
        for wrong in ["", "5", "s", "5 s", "-5s", "1.5s", "99999999999999999999s", "18446744073709551615d", "5w"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_stay_out_of_logs() {
        assert_eq!(format!("{:?}", Secret::new("hush")), "(secret)");
    }
}

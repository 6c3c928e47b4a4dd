//! Validation of settings.

use std::time::Duration;

use holdfast_core::hold::HOLD_TTL_MAX;
use holdfast_core::{calendar, tee, webhook};
use holdfast_waiting_room::token::SECRET_LEN_MIN;

use super::spelling::{is_uri_reference, show_duration};
use super::{Config, ConfigError, Secret};

/// Maximum length of `events.source`.
const SOURCE_CHARS_MAX: usize = 200;
/// Maximum number of networks in `webhook.allow_networks`.
const NETWORKS_MAX: usize = 100;

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let between = |name: &str, value: Duration, min: Duration, max: Duration| {
            let ok = (min..=max).contains(&value);
            ok.then_some(()).ok_or_else(|| {
                ConfigError(format!("{name}: must be from {} to {}", show_duration(min), show_duration(max)))
            })
        };
        let within = |name: &str, value: usize, min: usize, max: usize| {
            let ok = (min..=max).contains(&value);
            ok.then_some(()).ok_or_else(|| ConfigError(format!("{name}: must be from {min} to {max}")))
        };
        let count = |name: &str, value: usize, max: usize| within(name, value, 1, max);
        let ttl_max = Duration::from_hours(24);
        let (moment, hour) = (Duration::from_millis(100), Duration::from_hours(1));
        // Holds end on full seconds.
        let hold_ttl_min = Duration::from_secs(1);
        between("engine.lock_wait", self.engine.lock_wait, Duration::from_millis(10), Duration::from_secs(1))?;
        for (name, ttl) in [
            ("stay.hold_ttl", self.stay.hold_ttl),
            ("shop.hold_ttl", self.shop.hold_ttl),
            ("ticket.hold_ttl", self.ticket.hold_ttl),
            ("calendar.lock_ttl", self.calendar.lock_ttl),
        ] {
            between(name, ttl, hold_ttl_min, ttl_max)?;
        }
        within("claim.extensions_max", self.claim.extensions_max, 0, 100)?;
        let lifetime_max = Duration::from_millis(HOLD_TTL_MAX.as_millis() as u64);
        between("claim.lifetime_max", self.claim.lifetime_max, hold_ttl_min, lifetime_max)?;
        between("claim.ttl_max", self.claim.ttl_max, hold_ttl_min, lifetime_max)?;
        // The slots of a live claim must not be purged.
        let kept = Duration::from_hours(24 * u64::from(self.calendar.keep_days).saturating_sub(1).max(1));
        if self.claim.ttl_max.max(self.claim.lifetime_max) > kept {
            return Err(ConfigError(
                "calendar.keep_days: must be at least a day longer than claim.ttl_max and claim.lifetime_max".into(),
            ));
        }
        let days_ahead_max = calendar::DAYS_AHEAD_MAX as usize;
        count("calendar.days_ahead", self.calendar.days_ahead as usize, days_ahead_max)?;
        // At least 2 days, which is longer than a lock on an expired slot may live.
        within("calendar.keep_days", self.calendar.keep_days as usize, 2, 3_660)?;
        between("calendar.generate_wait", self.calendar.generate_wait, Duration::ZERO, Duration::from_secs(2))?;
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
        between("tee.idempotency_key_ttl", self.tee.idempotency_key_ttl, moment, Duration::from_hours(24 * 365))?;
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
        let source = &self.events.source;
        if source.is_empty() || source.len() > SOURCE_CHARS_MAX || !is_uri_reference(source) {
            return Err(ConfigError(format!(
                "events.source: must be a URI reference of at most {SOURCE_CHARS_MAX} characters, like /holdfast or \
                 https://shop.example.com"
            )));
        }
        between("tee.bus_timeout", self.tee.bus_timeout, moment, Duration::from_mins(5))?;
        between("tee.processed_ttl", self.tee.processed_ttl, moment, Duration::from_hours(24 * 7))?;
        between("tee.outbox_keep", self.tee.outbox_keep, Duration::from_hours(24), Duration::from_hours(24 * 366))?;
        between("stream.keep", self.stream.keep, Duration::from_mins(1), self.tee.outbox_keep)?;
        self.validate_profile()?;
        self.validate_bus()?;
        count("server.connections_max", self.server.connections_max, 100_000)?;
        within("server.answer_bytes_max", self.server.answer_bytes_max, 1 << 20, 1 << 40)?;
        within("engine.idempotency_bytes_max", self.engine.idempotency_bytes_max, 1 << 20, 1 << 40)?;
        count("engine.queue_max", self.engine.queue_max, 1_000_000)?;
        count("engine.holds_per_user_max", self.engine.holds_per_user_max as usize, 100_000)?;
        self.validate_auth()
    }

    fn validate_auth(&self) -> Result<(), ConfigError> {
        let auth = &self.auth;
        for (name, value) in [
            ("auth.jwt_secret", auth.jwt_secret.as_ref().map(Secret::reveal)),
            ("auth.jwt_public_key_file", auth.jwt_public_key_file.as_ref().map(|path| path.to_str().unwrap_or("?"))),
            ("auth.audience", auth.audience.as_deref()),
            ("auth.issuer", auth.issuer.as_deref()),
        ] {
            if value.is_some_and(|value| value.trim().is_empty()) {
                return Err(ConfigError(format!("{name}: must not be empty")));
            }
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

    fn validate_webhooks(&self) -> Result<(), ConfigError> {
        let settings = &self.webhook;
        let (millisecond, day) = (Duration::from_millis(1), Duration::from_hours(24));
        let in_range = |name: &str, value: Duration, max: Duration| {
            let ok = (millisecond..=max).contains(&value);
            ok.then_some(()).ok_or_else(|| {
                let (min, max) = (show_duration(millisecond), show_duration(max));
                ConfigError(format!("webhook.{name}: must be from {min} to {max}"))
            })
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
        if settings.allow_networks.len() > NETWORKS_MAX {
            return Err(ConfigError(format!("webhook.allow_networks: at most {NETWORKS_MAX}")));
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

    /// Checks the combination of stores: embedded, PostgreSQL, or PostgreSQL with live holds in Redis.
    fn validate_profile(&self) -> Result<(), ConfigError> {
        let server = &self.server;
        let postgres: &[&str] = &["postgres://", "postgresql://"];
        let schemes: [(&str, &Option<Secret>, &[&str]); 6] = [
            ("server.database_url", &server.database_url, postgres),
            ("booking.database_url", &self.booking.database_url, postgres),
            ("course.database_url", &self.course.database_url, postgres),
            ("notify.database_url", &self.notify.database_url, postgres),
            ("server.redis_url", &server.redis_url, &["redis://", "rediss://"]),
            ("server.nats_url", &server.nats_url, &["nats://", "tls://"]),
        ];
        for (name, url, schemes) in schemes {
            if url.as_ref().is_some_and(|url| !schemes.iter().any(|scheme| url.reveal().starts_with(scheme))) {
                return Err(ConfigError(format!("{name}: must begin with {}", schemes.join(" or "))));
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

//! Signing secrets of a webhook. After a rotation the previous secret also signs for [`PREVIOUS_SECRET_TTL`], so that
//! the receiver can switch at any time meanwhile.

use std::sync::Arc;

use crate::time::{Span, Timestamp};

/// Time for which a rotated secret still signs.
pub const PREVIOUS_SECRET_TTL: Span = Span::from_hours(24);
/// Maximum number of previous secrets that still sign; the oldest are dropped.
pub const PREVIOUS_SECRETS_MAX: usize = 3;

/// Current secret, and previous ones, latest first.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    current: Arc<str>,
    previous: Vec<Previous>,
}

#[derive(Clone, PartialEq, Eq)]
struct Previous {
    secret: Arc<str>,
    until: Timestamp,
}

/// Redacted: secrets must not be logged.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secrets)")
    }
}

impl Secrets {
    pub fn new(secret: &str) -> Self {
        Self { current: secret.into(), previous: Vec::new() }
    }

    pub fn current(&self) -> &str {
        &self.current
    }

    /// Returns the secrets that sign at `now`, the current one first.
    pub fn signing(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let previous = self.previous.iter().filter(move |secret| now < secret.until);
        std::iter::once(&*self.current).chain(previous.map(|secret| &*secret.secret))
    }

    /// Returns until when the latest previous secret signs, if it still does.
    pub fn earlier_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.previous.first().map(|secret| secret.until).filter(|until| now < *until)
    }

    #[must_use]
    pub(super) fn rotated(&self, secret: &str, now: Timestamp) -> Self {
        let last = Previous { secret: self.current.clone(), until: now + PREVIOUS_SECRET_TTL };
        let before = self.previous.iter().filter(|secret| now < secret.until).cloned();
        Self {
            current: secret.into(),
            previous: std::iter::once(last).chain(before).take(PREVIOUS_SECRETS_MAX).collect(),
        }
    }

    /// Parses the stored form `current previous@milliseconds …`; secrets are base64.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let current = words.next()?.into();
        let previous = words.map(|word| {
            let (secret, until) = word.split_once('@')?;
            Some(Previous { secret: secret.into(), until: Timestamp::from_millis(until.parse().ok()?) })
        });
        Some(Self { current, previous: previous.collect::<Option<_>>()? })
    }

    /// Returns the stored form that [`parse`](Self::parse) reads.
    pub fn written(&self) -> String {
        let previous = self.previous.iter().map(|it| format!(" {}@{}", it.secret, it.until.as_millis()));
        std::iter::once(self.current.to_string()).chain(previous).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_millis(0) + Span::from_hours(hours)
    }

    fn signing(secrets: &Secrets, hours: i64) -> Vec<&str> {
        secrets.signing(at(hours)).collect()
    }

    #[test]
    fn previous_secret_signs_for_a_day() {
        let secrets = Secrets::new("a").rotated("b", at(0));
        assert_eq!(secrets.current(), "b");
        assert_eq!(signing(&secrets, 23), ["b", "a"]);
        assert_eq!((signing(&secrets, 24), secrets.earlier_until(at(24))), (vec!["b"], None));
        let twice = secrets.rotated("c", at(20));
        assert_eq!(signing(&twice, 23), ["c", "b", "a"]);
        assert_eq!(signing(&twice, 30), ["c", "b"]);
        assert_eq!(twice.earlier_until(at(30)), Some(at(44)));
    }

    #[test]
    fn previous_secrets_are_bounded() {
        let many = (0..100).fold(Secrets::new("first"), |secrets, number| secrets.rotated(&number.to_string(), at(0)));
        assert_eq!(signing(&many, 0), ["99", "98", "97", "96"]);
    }

    #[test]
    fn stored_form_round_trips() {
        let secrets = Secrets::new("whsec_a+/=").rotated("whsec_b", at(1)).rotated("whsec_c", at(2));
        assert_eq!(Secrets::parse(&secrets.written()), Some(secrets));
        assert_eq!(Secrets::parse("whsec_a+/="), Some(Secrets::new("whsec_a+/=")));
        assert_eq!(Secrets::parse("whsec_a whsec_b"), None);
        assert_eq!(format!("{:?}", Secrets::new("hush")), "(secrets)");
    }
}

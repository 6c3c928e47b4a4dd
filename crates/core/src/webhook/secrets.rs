//! What deliveries of a webhook are signed with. When the secret is changed, the one before goes on signing beside it for a while, so
//! that a receiver may change whenever it likes.

use std::sync::Arc;

use crate::time::{Span, Timestamp};

/// For so long an earlier secret signs too.
pub const EARLIER_FOR: Span = Span::from_hours(24);
/// The most that sign beside the present one; of more the oldest go first.
pub const EARLIER_MAX: usize = 3;

/// The present secret, and earlier ones, the latest first.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    current: Arc<str>,
    earlier: Vec<Earlier>,
}

#[derive(Clone, PartialEq, Eq)]
struct Earlier {
    secret: Arc<str>,
    until: Timestamp,
}

/// They belong in no log.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secrets)")
    }
}

impl Secrets {
    pub fn new(secret: &str) -> Self {
        Self { current: secret.into(), earlier: Vec::new() }
    }

    pub fn current(&self) -> &str {
        &self.current
    }

    /// Those that sign at this moment, the present one first.
    pub fn signing(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let earlier = self.earlier.iter().filter(move |earlier| now < earlier.until);
        std::iter::once(&*self.current).chain(earlier.map(|earlier| &*earlier.secret))
    }

    /// Until when the one before the present secret signs, if it still does.
    pub fn earlier_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.earlier.first().map(|earlier| earlier.until).filter(|until| now < *until)
    }

    #[must_use]
    pub(super) fn rotated(&self, secret: &str, now: Timestamp) -> Self {
        let last = Earlier { secret: self.current.clone(), until: now + EARLIER_FOR };
        let before = self.earlier.iter().filter(|earlier| now < earlier.until).cloned();
        Self { current: secret.into(), earlier: std::iter::once(last).chain(before).take(EARLIER_MAX).collect() }
    }

    /// `present earlier@milliseconds …`, as it was written down; secrets are base64.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let current = words.next()?.into();
        let earlier = words.map(|word| {
            let (secret, until) = word.split_once('@')?;
            Some(Earlier { secret: secret.into(), until: Timestamp::from_millis(until.parse().ok()?) })
        });
        Some(Self { current, earlier: earlier.collect::<Option<_>>()? })
    }

    /// As [`parse`](Self::parse) reads it.
    pub fn written(&self) -> String {
        let earlier = self.earlier.iter().map(|it| format!(" {}@{}", it.secret, it.until.as_millis()));
        std::iter::once(self.current.to_string()).chain(earlier).collect()
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
    fn an_earlier_secret_signs_for_a_day_beside_the_present_one() {
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
    fn there_are_never_many() {
        let many = (0..100).fold(Secrets::new("first"), |secrets, number| secrets.rotated(&number.to_string(), at(0)));
        assert_eq!(signing(&many, 0), ["99", "98", "97", "96"]);
    }

    #[test]
    fn what_is_written_down_is_read_again_and_so_is_what_was_written_before_there_were_several() {
        let secrets = Secrets::new("whsec_a+/=").rotated("whsec_b", at(1)).rotated("whsec_c", at(2));
        assert_eq!(Secrets::parse(&secrets.written()), Some(secrets));
        assert_eq!(Secrets::parse("whsec_a+/="), Some(Secrets::new("whsec_a+/=")));
        assert_eq!(Secrets::parse("whsec_a whsec_b"), None);
        assert_eq!(format!("{:?}", Secrets::new("hush")), "(secrets)");
    }
}

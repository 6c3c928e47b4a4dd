//! Where NATS is, which streams there are, and their limits.

use std::time::Duration;

use holdfast_dial::Trust;

/// How long NATS remembers the ids of messages, to drop those it gets twice. A help, not a guarantee.
pub const DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// How many messages of a stream may be under way to those who act on them: few enough to be acted on before they come again.
pub const ACKS_PENDING_MAX: usize = 256;
/// Longest time after which NATS delivers a message again that is neither acknowledged nor reported to be in progress. So long
/// messages wait for a process that has died.
const ACK_WAIT_MAX: Duration = Duration::from_secs(2);
/// A message is delivered until somebody has acted on it or it is too old: to give it up after a number of tries would lose it.
pub const DELIVERIES_MAX: i64 = -1;

/// How to use NATS.
#[derive(Clone, Debug)]
pub struct Options {
    /// `nats://host:4222`, or `tls://host:4222`; several, separated by commas.
    pub url: String,
    /// Who signs the certificate of NATS.
    pub trust: Trust,
    /// Stands before all subjects, with a dot, and before the names of all streams. Empty for none.
    pub prefix: String,
    /// How this process is called in the lists of NATS.
    pub name: String,
    /// How long to wait until a message is safe; and how long a consumer may work on one before another gets it.
    pub timeout: Duration,
    /// How long a message is kept that nobody acts on.
    pub age_max: Duration,
    /// How much a stream may hold. A full one takes no more: what does not get in stays with its sender.
    pub bytes_max: usize,
    pub streams: Vec<StreamOptions>,
}

/// A stream, for one service.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// Also the name of its durable consumer.
    pub service: String,
    /// All of them, each in full. No other stream may have one of these.
    pub subjects: Vec<String>,
    /// Durable consumers beside that of the service, for which this process sees to it that they are there. One that nobody
    /// has used for as long as messages are kept goes away by itself.
    pub listeners: Vec<String>,
}

impl StreamOptions {
    /// The names of its durable consumers.
    pub fn consumers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.service).chain(self.listeners.iter().map(String::as_str))
    }
}

impl Options {
    /// A subject as NATS sees it.
    pub fn subject(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", self.prefix) }
    }

    /// A subject without what stands before it.
    pub fn name_of<'a>(&self, subject: &'a str) -> &'a str {
        match subject.strip_prefix(&*self.prefix) {
            Some(rest) if !self.prefix.is_empty() => rest.strip_prefix('.').unwrap_or(subject),
            _ => subject,
        }
    }

    /// Time after which NATS delivers a message again of which its consumer says nothing.
    pub fn ack_wait(&self) -> Duration {
        ACK_WAIT_MAX.min(self.timeout)
    }

    /// The stream of a service.
    pub fn stream(&self, service: &str) -> String {
        let prefix = if self.prefix.is_empty() { "holdfast" } else { &self.prefix };
        format!("{prefix}-{service}")
    }
}

/// Whether something may stand before subjects and in the names of streams.
pub fn is_prefix(text: &str) -> bool {
    text.len() <= 50 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(prefix: &str) -> Options {
        let second = Duration::from_secs(1);
        Options {
            url: String::new(),
            trust: Trust::default(),
            prefix: prefix.into(),
            name: String::new(),
            timeout: second,
            age_max: second,
            bytes_max: 1,
            streams: Vec::new(),
        }
    }

    #[test]
    fn a_prefix_stands_before_subjects_and_streams() {
        let none = options("");
        assert_eq!(
            (none.subject("slot.reserve"), none.stream("course")),
            ("slot.reserve".into(), "holdfast-course".into())
        );
        assert_eq!(none.name_of("slot.reserve"), "slot.reserve");
        let seoul = options("seoul");
        let subject = seoul.subject("slot.reserve");
        assert_eq!((&*subject, seoul.stream("course")), ("seoul.slot.reserve", "seoul-course".into()));
        assert_eq!(seoul.name_of(&subject), "slot.reserve");
    }

    #[test]
    fn a_prefix_is_one_plain_word() {
        for prefix in ["", "seoul", "t1_2-x"] {
            assert!(is_prefix(prefix), "{prefix}");
        }
        for other in ["a.b", "a b", "*", ">", "서울", &"x".repeat(51)] {
            assert!(!is_prefix(other), "{other}");
        }
    }
}

//! Settings of NATS: addresses, streams, limits.

use std::time::Duration;

use async_nats::ServerAddr;
use holdfast_connect::TlsRoots;

/// Time for which NATS remembers message ids to drop duplicates. An optimization, not a guarantee.
pub const DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// Maximum number of unacknowledged messages per consumer: few enough to be processed before they are redelivered.
pub const ACKS_PENDING_MAX: usize = 256;
/// Maximum time after which NATS redelivers a message that is neither acknowledged nor reported to be in progress. The
/// messages of a process that has died wait for this time.
const ACK_WAIT_MAX: Duration = Duration::from_secs(2);
/// Unlimited: a message is redelivered until a consumer acknowledges it or it is too old. A limit would lose messages.
pub const DELIVERIES_MAX: i64 = -1;

/// Settings of a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// `nats://host:4222`, or `tls://host:4222`; several, separated by commas.
    pub url: String,
    /// Certificate authorities for the certificate of NATS.
    pub tls_roots: TlsRoots,
    /// Prefix of all subjects, with a dot, and of the names of all streams. Empty for none.
    pub prefix: String,
    /// Name of this process in the lists of NATS.
    pub name: String,
    /// Time to wait for a publish acknowledgement, and time that a consumer may work on a message before its redelivery.
    pub timeout: Duration,
    /// Maximum age of an unprocessed message.
    pub age_max: Duration,
    /// Maximum size of a stream. A full one rejects messages, which stay with their sender.
    pub bytes_max: usize,
    pub streams: Vec<StreamOptions>,
}

/// Stream of one service.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// Also the name of its durable consumer.
    pub service: String,
    /// All subjects, each in full. No other stream may have one of these.
    pub subjects: Vec<String>,
    /// Further durable consumers that this process creates. One that is unused for the maximum age of messages is
    /// deleted by NATS.
    pub listeners: Vec<String>,
}

impl StreamOptions {
    /// Names of its durable consumers.
    pub fn consumers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.service).chain(self.listeners.iter().map(String::as_str))
    }
}

impl Options {
    /// Returns host and port of each server, separated by commas, for error messages.
    pub fn hosts_and_ports(&self) -> String {
        let servers = self.url.split(',').filter_map(|url| url.trim().parse::<ServerAddr>().ok());
        servers.map(|server| format!("{}:{}", server.host(), server.port())).collect::<Vec<_>>().join(",")
    }

    /// Subject with the prefix.
    pub fn subject(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}.{name}", self.prefix) }
    }

    /// Subject without the prefix.
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

/// Whether a text is valid as a prefix.
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
            tls_roots: TlsRoots::default(),
            prefix: prefix.into(),
            name: String::new(),
            timeout: second,
            age_max: second,
            bytes_max: 1,
            streams: Vec::new(),
        }
    }

    #[test]
    fn prefix_applies_to_subjects_and_streams() {
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
    fn hosts_and_ports_omit_the_password() {
        let url = "nats://holdfast:secret@bus:4223, tls://other".to_owned();
        assert_eq!(Options { url, ..options("") }.hosts_and_ports(), "bus:4223,other:4222");
    }

    #[test]
    fn prefix_is_one_plain_word() {
        for prefix in ["", "seoul", "t1_2-x"] {
            assert!(is_prefix(prefix), "{prefix}");
        }
        for other in ["a.b", "a b", "*", ">", "서울", &"x".repeat(51)] {
            assert!(!is_prefix(other), "{other}");
        }
    }
}

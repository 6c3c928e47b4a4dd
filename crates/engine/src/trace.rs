//! W3C trace context, `00-<trace>-<span>-<flags>`, of a request. It comes with the request or is created, and is passed
//! on with its effects through outbox and bus.
//!
//! It belongs to the running task, and has no influence on decisions.

use std::fmt;

tokio::task_local! {
    static CURRENT: Option<Trace>;
}

/// One span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    id: u128,
    span: u64,
    flags: u8,
}

impl Trace {
    /// Creates a trace from random numbers; zeros are replaced.
    pub fn new(id: u128, span: u64) -> Self {
        Self { id: id.max(1), span: span.max(1), flags: 1 }
    }

    /// Parses a `traceparent`. Later versions may have further fields.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let hex = |part: Option<&str>, len: usize| {
            let part = part.filter(|part| part.len() == len)?;
            let is_plain = part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
            is_plain.then(|| u128::from_str_radix(part, 16).ok())?
        };
        let version = hex(parts.next(), 2).filter(|version| *version != 0xff)?;
        let (id, span, flags) = (hex(parts.next(), 32)?, hex(parts.next(), 16)?, hex(parts.next(), 2)?);
        let ends_well = version > 0 || parts.next().is_none();
        (ends_well && id > 0 && span > 0).then_some(Self { id, span: span as u64, flags: flags as u8 & 1 })
    }

    /// Returns the context of a child span.
    #[must_use]
    pub fn child(self, span: u64) -> Self {
        Self { span: span.max(1), ..self }
    }

    /// Returns the id that all spans of a trace share.
    pub fn id(self) -> TraceId {
        TraceId(self.id)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.id, self.span, self.flags)
    }
}

/// Id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(u128);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Returns the context of the running task.
pub fn current() -> Option<Trace> {
    CURRENT.try_with(|trace| *trace).ok().flatten()
}

/// Runs a future within a trace, if there is one.
pub fn within<T>(trace: Option<Trace>, work: impl Future<Output = T>) -> impl Future<Output = T> {
    CURRENT.scope(trace, work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traceparent_round_trips() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = Trace::parse(text).unwrap();
        assert_eq!(trace.to_string(), text);
        assert_eq!(trace.id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(trace.child(1).to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000001-01");
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes";
        assert_eq!(Trace::parse(later), Some(trace));
    }

    #[test]
    fn malformed_traceparent_is_rejected() {
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Trace::parse(wrong), None, "{wrong}");
        }
    }
}

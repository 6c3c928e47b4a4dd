//! Parsing of numbers, choices, durations, addresses, networks, refund tiers and certificate files.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

use holdfast_connect::TlsRoots;
use holdfast_core::claim::refund::{RefundTier, RefundTiers};
use holdfast_core::tee;
use holdfast_core::time::Span;
use holdfast_events::webhooks::network::Network;
use serde::{Deserialize as _, Deserializer, de};

/// Parses `500ms`, `10s`, `30m`, `24h`, `7d`.
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

/// Formats a duration as in settings, in the largest unit without a fraction; days from two on.
pub(super) fn show_duration(duration: Duration) -> String {
    const UNITS: [(&str, u128, u128); 4] =
        [("d", 86_400_000, 2 * 86_400_000), ("h", 3_600_000, 1), ("m", 60_000, 1), ("s", 1_000, 0)];
    let millis = duration.as_millis();
    let unit = UNITS.into_iter().find(|(_, length, min)| millis >= *min && millis.is_multiple_of(*length));
    unit.map_or_else(|| format!("{millis}ms"), |(unit, length, _)| format!("{}{unit}", millis / length))
}

/// Quotes a rejected value for an error in one line.
pub(super) fn quote(text: &str) -> String {
    let printable = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    format!("\"{}\"", printable.collect::<String>())
}

/// Setting with a fixed set of values.
pub(super) trait Choice: Copy + 'static {
    /// Each value and its spelling.
    const ALL: &[(&str, Self)];
}

pub(super) fn choice<'de, D: Deserializer<'de>, T: Choice>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    T::ALL.iter().find(|(spelled, _)| *spelled == text).map(|(_, value)| *value).ok_or_else(|| {
        let spelled: Vec<_> = T::ALL.iter().map(|(spelled, _)| *spelled).collect();
        de::Error::custom(format!("{} is none of {}", quote(&text), spelled.join(", ")))
    })
}

/// Reads a whole number.
pub(super) fn number<'de, D: Deserializer<'de>, T: TryFrom<i64>>(deserializer: D) -> Result<T, D::Error> {
    let number = match toml::Value::deserialize(deserializer)? {
        toml::Value::Integer(number) if number >= 0 => number,
        _ => return Err(de::Error::custom("must be a whole number, 0 or more")),
    };
    T::try_from(number).map_err(|_| de::Error::custom("is too large"))
}

/// Parses durations separated by commas, or `none`.
pub(super) fn durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |part: &str| {
        de::Error::custom(format!(
            "{} is not a duration; write them like 500ms, 10s, 30m, 24h or 7d, with commas between, or none",
            quote(part)
        ))
    };
    let parts = text.split(',').map(str::trim).filter(|_| !matches!(text.trim(), "" | "none"));
    parts.map(|part| parse_duration(part).ok_or_else(|| wrong(part))).collect()
}

/// Parses networks in CIDR notation, separated by commas; may be empty.
pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Network>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |part: &str| {
        de::Error::custom(format!(
            "{} is not a network; write them like 10.0.0.0/8, fd00::/8, with commas between and no bits behind the prefix",
            quote(part)
        ))
    };
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    parts.map(|part| Network::parse(part).ok_or_else(|| wrong(part))).collect()
}

/// Whether the text is a URI reference (RFC 3986), judged by its characters and its scheme.
pub(super) fn is_uri_reference(text: &str) -> bool {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let is_known = |(at, byte): (usize, &u8)| match byte {
        b'%' => is_hex(bytes.get(at + 1)) && is_hex(bytes.get(at + 2)),
        byte => byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=".contains(byte),
    };
    // The part before a colon in the first segment is a scheme.
    let first = text.split(['/', '?', '#']).next().unwrap_or_default();
    let has_scheme = first.split_once(':').is_none_or(|(scheme, _)| {
        scheme.starts_with(|char: char| char.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    bytes.iter().enumerate().all(is_known) && has_scheme && text.matches('#').count() <= 1
}

/// Parses `127.0.0.1:8080`, `[::1]:8080`, or a host that is resolved now: to its first IPv4 address, else its first address.
pub(super) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if text.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        let wrong = format!("{} is not an address; write it like 127.0.0.1:8080 or localhost:8080", quote(&text));
        return Err(de::Error::custom(wrong));
    }
    let found: Vec<SocketAddr> = text.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| de::Error::custom(format!("the host of {} cannot be found", quote(&text))))
}

/// Parses `7d:100, 3d:80`: pairs of days before tee-off and percent refunded.
pub(super) fn refund_tiers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<tee::RefundTier>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let tier = |part: &str| {
        let (days, percent) = part.split_once(':')?;
        let days = days.trim().strip_suffix('d')?.parse().ok()?;
        Some(tee::RefundTier { days, percent: percent.trim().parse().ok()? })
    };
    let wrong = |part: &str| {
        de::Error::custom(format!("{} is not a tier; write them like 7d:100, 3d:80, with commas between", quote(part)))
    };
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    parts.map(|part| tier(part).ok_or_else(|| wrong(part))).collect()
}

/// Parses `7d:100, 12h:50`: pairs of time before the beginning and percent refunded.
pub(super) fn line_refund_tiers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RefundTiers, D::Error> {
    let text = String::deserialize(deserializer)?;
    let tier = |part: &str| {
        let (before, percent) = part.split_once(':')?;
        let before = Span::from_millis(parse_duration(before.trim())?.as_millis() as i64);
        Some(RefundTier { before, percent: percent.trim().parse().ok()? })
    };
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let tiers = parts.map(tier).collect::<Option<Vec<_>>>().and_then(|tiers| RefundTiers::new(&tiers));
    tiers.ok_or_else(|| {
        de::Error::custom(format!(
            "{} are no tiers; write at most 8 like 7d:100, 12h:50, 0s:0, each of a shorter time than the one before",
            quote(&text)
        ))
    })
}

/// Reads a file of certificates, given its path.
pub(super) fn tls_roots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TlsRoots, D::Error> {
    TlsRoots::file(&PathBuf::deserialize(deserializer)?).map_err(de::Error::custom)
}

pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).ok_or_else(|| {
        de::Error::custom(format!("{} is not a duration; write it like 500ms, 10s, 30m, 24h or 7d", quote(&text)))
    })
}

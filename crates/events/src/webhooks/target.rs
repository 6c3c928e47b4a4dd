//! Allowed targets of webhooks. A private address is refused unless auth is off or the operator allows its network.
//! This prevents server-side request forgery: a webhook could otherwise make the server call internal services.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use holdfast_core::Fault;
use holdfast_core::webhook::URL_CHARS_MAX;
use http::Uri;
use http::uri::Scheme;

use super::network::Network;

/// Maximum time of a DNS lookup.
const DNS_TIMEOUT: Duration = Duration::from_secs(2);

/// An `http` or `https` address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub uri: Uri,
    pub is_tls: bool,
    /// Name or IP address, without brackets.
    pub host: String,
    pub port: u16,
}

impl Target {
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > URL_CHARS_MAX {
            return Err(Fault::TooLong { max: URL_CHARS_MAX });
        }
        // A fragment is never sent.
        let uri: Uri = text.parse().map_err(|_| Fault::NotAWebAddress)?;
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(Fault::NotAWebAddress),
        };
        let authority = uri.authority().ok_or(Fault::NotAWebAddress)?;
        // User information is refused, and so is a port that is not a number from 1 to 65,535.
        let has_port = authority.as_str().len() > authority.host().len();
        if authority.as_str().contains('@') || (has_port && authority.port_u16().is_none_or(|port| port == 0)) {
            return Err(Fault::NotAWebAddress);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        if host.is_empty() {
            return Err(Fault::NotAWebAddress);
        }
        Ok(Self { uri, is_tls, host, port })
    }

    /// Whether the target is certainly refused. False if its name does not resolve now: each delivery resolves and
    /// checks it again.
    pub async fn is_known_to_be_refused(&self, allowed: &AllowedAddresses) -> bool {
        let name = self.host.trim_end_matches('.').to_ascii_lowercase();
        if name == "localhost" || name.ends_with(".localhost") {
            let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            return !loopback.into_iter().any(|ip| allowed.allows(ip));
        }
        self.resolve().await.is_ok_and(|found| found.iter().any(|address| !allowed.allows(address.ip())))
    }

    /// Resolves the name, and returns its addresses if all of them are allowed.
    pub async fn addresses(&self, allowed: &AllowedAddresses) -> Result<Vec<SocketAddr>, String> {
        let found = self.resolve().await?;
        if found.is_empty() {
            return Err("the name has no address".into());
        }
        if found.iter().any(|address| !allowed.allows(address.ip())) {
            return Err("the address is private".into());
        }
        Ok(found)
    }

    async fn resolve(&self) -> Result<Vec<SocketAddr>, String> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let resolving = tokio::net::lookup_host((self.host.as_str(), self.port));
        match tokio::time::timeout(DNS_TIMEOUT, resolving).await {
            Ok(Ok(found)) => Ok(found.collect()),
            Ok(Err(_)) => Err("the name does not resolve".into()),
            Err(_) => Err("the name did not resolve in time".into()),
        }
    }
}

/// Addresses that webhooks may be sent to: public ones, and some or all private ones.
#[derive(Clone, Debug)]
pub struct AllowedAddresses {
    is_private_allowed: bool,
    networks: Vec<Network>,
}

impl AllowedAddresses {
    /// Allows every address while auth is off, and private addresses only within `networks` otherwise.
    pub fn new(is_auth_off: bool, networks: &[Network]) -> Self {
        Self { is_private_allowed: is_auth_off, networks: networks.to_vec() }
    }

    pub fn allows(&self, ip: IpAddr) -> bool {
        self.is_private_allowed || !is_private(ip) || self.networks.iter().any(|network| network.contains(ip))
    }
}

/// Whether an address is outside of the public Internet.
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_private_v4(ip),
        IpAddr::V6(ip) => is_private_v6(ip),
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    ip.is_private()
        || ip.is_loopback()
        // Includes the metadata service of cloud providers.
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_broadcast()
        || ip.is_documentation()
        // 0.0.0.0/8 (this network), 100.64.0.0/10 (carrier-grade NAT), 192.0.0.0/24 (protocol assignments),
        // 192.88.99.0/24 (6to4 relays), 198.18.0.0/15 (benchmarks), 240.0.0.0/4 (reserved).
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_v4(ip) {
        return is_private_v4(inner);
    }
    // Public addresses are in 2000::/3, without the ranges for tunnels and documentation.
    let [a, b, ..] = ip.segments();
    a & 0xe000 != 0x2000 || (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || (a == 0x3fff && b < 0x1000)
}

/// Returns the IPv4 address embedded in an IPv6 address: mapped, translated (NAT64) or tunnelled (6to4).
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let low = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, rest] | [0x64, 0xff9b, 0, 0, 0, 0, high, rest] | [0x2002, high, rest, ..] => {
            Some(low(high, rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: AllowedAddresses = AllowedAddresses { is_private_allowed: false, networks: Vec::new() };

    #[test]
    fn special_ranges_are_private() {
        let private = "127.0.0.1 127.255.0.1 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 \
            100.64.0.1 100.127.255.255 192.0.0.8 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 \
            239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 \
            ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 \
            100::1 2001:db8::1 2001::1 3fff::1 5f00::1";
        for text in private.split_whitespace() {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        let public = "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.169.0.1 169.253.0.1 198.17.0.1 \
            223.255.255.255 2606:4700:4700::1111 2400:cb00::1 ::ffff:8.8.8.8 64:ff9b::808:808 2a00:1450::1";
        for text in public.split_whitespace() {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn target_is_http_url_without_user_info() {
        let target = Target::parse("https://example.com/hook?a=b#part").unwrap();
        assert_eq!((target.is_tls, &*target.host, target.port), (true, "example.com", 443));
        let target = Target::parse("http://[2606:4700::1]:8080").unwrap();
        assert_eq!((target.is_tls, &*target.host, target.port), (false, "2606:4700::1", 8080));
        for wrong in [
            "",
            "/hook",
            "example.com/hook",
            "ftp://example.com",
            "file:///etc/passwd",
            "https://",
            "https:///hook",
            "https://user:password@example.com",
            "https://user@example.com",
            "https://example.com:0",
            "https://example.com:99999",
            "https://example.com:x",
            "https://exa mple.com",
            "https://example.com/\r\nx",
        ] {
            assert_eq!(Target::parse(wrong), Err(Fault::NotAWebAddress), "{wrong}");
        }
        let long = format!("https://example.com/{}", "a".repeat(URL_CHARS_MAX));
        assert_eq!(Target::parse(&long), Err(Fault::TooLong { max: URL_CHARS_MAX }));
    }

    #[tokio::test]
    async fn private_address_is_refused_in_any_notation() {
        for text in ["http://127.1", "http://2130706433", "http://0x7f.1", "http://localhost", "http://a.localhost."] {
            let target = Target::parse(text).unwrap();
            let refused = target.is_known_to_be_refused(&PUBLIC).await;
            assert!(refused || target.addresses(&PUBLIC).await.is_err(), "{text}");
        }
        let target = Target::parse("http://[::ffff:127.0.0.1]:1").unwrap();
        assert!(target.is_known_to_be_refused(&PUBLIC).await);
        assert_eq!(target.addresses(&PUBLIC).await, Err("the address is private".into()));
        assert_eq!(target.addresses(&AllowedAddresses::new(true, &[])).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn private_addresses_are_allowed_by_network() {
        let networks = ["127.0.0.0/8", "fd00::/8"].map(|text| Network::parse(text).unwrap());
        let allowed = AllowedAddresses::new(false, &networks);
        for text in
            ["http://127.0.0.1", "http://[::ffff:127.0.0.1]", "http://localhost", "http://[fd12::1]", "http://8.8.8.8"]
        {
            assert!(!Target::parse(text).unwrap().is_known_to_be_refused(&allowed).await, "{text}");
        }
        for text in [
            "http://10.0.0.1",
            "http://[::1]",
            "http://[fe80::1]",
            "http://[::ffff:10.0.0.1]",
            "http://169.254.169.254",
        ] {
            let target = Target::parse(text).unwrap();
            assert!(target.is_known_to_be_refused(&allowed).await, "{text}");
            assert_eq!(target.addresses(&allowed).await, Err("the address is private".into()), "{text}");
        }
        let mapped = Target::parse("http://[::ffff:127.0.0.1]:1").unwrap();
        assert_eq!(mapped.addresses(&allowed).await.unwrap().len(), 1);
    }
}

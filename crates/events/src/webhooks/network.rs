//! Networks in CIDR notation.

use std::net::IpAddr;

/// An IPv4 or IPv6 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix: u32,
}

impl Network {
    /// Parses `10.0.0.0/8` or `fd00::/8`. `None` if bits are set behind the prefix, as in `10.1.2.3/8`, or for IPv4
    /// mapped into IPv6.
    pub fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/')?;
        let base: IpAddr = base.parse().ok()?;
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u32 = prefix.parse().ok().filter(|_| is_number)?;
        let network = Self { base, prefix };
        let is_within = prefix <= if base.is_ipv4() { 32 } else { 128 };
        (is_within && base == base.to_canonical() && network.masked(base) == base).then_some(network)
    }

    /// Whether an address lies in this network. IPv4 mapped into IPv6 counts as IPv4.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        ip.is_ipv4() == self.base.is_ipv4() && self.masked(ip) == self.base
    }

    fn masked(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.prefix)).unwrap_or(0);
                IpAddr::V4((ip.to_bits() & mask).into())
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.prefix)).unwrap_or(0);
                IpAddr::V6((ip.to_bits() & mask).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_contains_addresses_by_prefix() {
        let cases = [
            ("10.0.0.0/8", "10.0.0.0 10.255.255.255 ::ffff:10.1.2.3", "9.255.255.255 11.0.0.0 ::10.1.2.3 2002:a00::"),
            ("192.168.4.0/22", "192.168.4.0 192.168.7.255", "192.168.3.255 192.168.8.0"),
            ("10.1.2.3/32", "10.1.2.3", "10.1.2.2 10.1.2.4"),
            ("0.0.0.0/0", "0.0.0.0 255.255.255.255", ":: fd00::1"),
            ("fd00::/8", "fd00:: fdff:ffff::1", "fc00::1 fe00:: 253.0.0.1"),
            ("fd12:3456::1/128", "fd12:3456::1", "fd12:3456::2 fd12:3456::"),
            ("::/0", ":: ffff::", "10.0.0.1 ::ffff:10.0.0.1"),
        ];
        for (network, inside, outside) in cases {
            let parsed = Network::parse(network).unwrap();
            for ip in inside.split(' ') {
                assert!(parsed.contains(ip.parse().unwrap()), "{ip} in {network}");
            }
            for ip in outside.split(' ') {
                assert!(!parsed.contains(ip.parse().unwrap()), "{ip} not in {network}");
            }
        }
    }

    #[test]
    fn malformed_network_is_refused() {
        let wrong = "10.0.0.0 10.0.0.0/ /8 10.0.0.0/33 10.0.0.0/+8 10.0.0.0/-1 10.1.2.3/8 10.0.0/8 fd00::/129 fd00::1/8 \
            ::ffff:10.0.0.0/104 host/8 10.0.0.0/8/8";
        for text in wrong.split_whitespace().chain([""]) {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}

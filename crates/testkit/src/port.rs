//! Free port on this machine, reserved for one server from its first start to its last restart.

use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Below the range of ports for outgoing connections. While a server is down, no other process gets its port by chance,
/// and no client that tries to reach it connects to itself.
const PORT_MIN: u16 = 20_000;
const PORTS: u16 = 10_000;
const ATTEMPTS_MAX: u16 = 1_000;

/// Reserved TCP port of 127.0.0.1.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) number: u16,
    /// Abstract socket name that reserves the port among test processes, also while its server is down. The kernel
    /// releases it when this process ends.
    _reservation: UnixListener,
}

impl Port {
    pub(crate) fn reserve() -> io::Result<Self> {
        let start = (crate::random() % u64::from(PORTS)) as u16;
        let candidates = (0..ATTEMPTS_MAX).map(|step| PORT_MIN + (start + step) % PORTS);
        for number in candidates {
            let name = SocketAddr::from_abstract_name(format!("holdfast-test-port-{number}"))?;
            let Ok(reservation) = UnixListener::bind_addr(&name) else { continue };
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Self { number, _reservation: reservation });
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "no free port found"))
    }
}

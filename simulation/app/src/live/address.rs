//! Where the live page is served: `PORT`, `HOST` or `HOST:PORT`.

use std::fmt;
use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::path::Path;
use std::str::FromStr;

/// An address of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveAddress {
    host: String,
    /// Zero is a free one.
    port: u16,
}

impl LiveAddress {
    /// Listens at the first of the host's addresses that can be had.
    pub(crate) fn bind(&self) -> io::Result<TcpListener> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<_> = (host, self.port).to_socket_addrs()?.collect();
        TcpListener::bind(&addresses[..])
    }
}

impl FromStr for LiveAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!(
                "{text:?} is no address; allowed: PORT, HOST or HOST:PORT, behind the scenario, or nothing"
            )
        };
        if let Ok(port) = text.parse() {
            return Ok(Self { host: "127.0.0.1".into(), port });
        }
        let is_host = |host: &str| {
            let known = |letter: char| letter.is_ascii_alphanumeric() || "-.:[]".contains(letter);
            // A scenario behind `--live` was meant as the scenario.
            let is_scenario = Path::new(host).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
            !host.is_empty() && host.chars().all(known) && !is_scenario
        };
        // The colons of an address of version 6 stand in brackets where a port follows.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, port.parse().map_err(|_| refuse())?)
            }
            _ => (text, 0),
        };
        if is_host(host) { Ok(Self { host: host.into(), port }) } else { Err(refuse()) }
    }
}

impl fmt::Display for LiveAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_ports_hosts_or_both() {
        for (text, host, port) in [
            ("8080", "127.0.0.1", 8080),
            ("0.0.0.0", "0.0.0.0", 0),
            ("localhost:80", "localhost", 80),
            ("[::1]:80", "[::1]", 80),
            ("::1", "::1", 0),
        ] {
            assert_eq!(text.parse(), Ok(LiveAddress { host: host.into(), port }), "{text}");
        }
        for wrong in ["", "scenarios/a.toml", "a.toml", "host:port", "host:99999", ":80", "http://host"] {
            assert!(wrong.parse::<LiveAddress>().is_err(), "{wrong}");
        }
    }
}

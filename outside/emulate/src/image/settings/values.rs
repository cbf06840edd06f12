//! Values that only guests' tables have: addresses, and ratios of whole numbers.

use std::fmt;
use std::net::Ipv4Addr;

use paceline_scenario::{Raw, Unfit, Value};

/// An IPv4 address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The address.
    pub ip: Ipv4Addr,
    /// How many bits of it are the network's.
    pub prefix: u8,
}

/// What an address without a prefix has: the network of which a packet network's hosts are.
const PREFIX: u8 = 8;

impl Value for Address {
    const EXPECTED: &'static str =
        "an IPv4 address of a host, such as \"10.0.0.7/24\"; without a length of its prefix it is in a /8";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let Raw::String(text) = raw else { return Err(Unfit::Kind) };
        let unfit = |why: &str| Err(Unfit::Content(why.to_owned()));
        let (ip, prefix) = text.split_once('/').unwrap_or((text, ""));
        let Ok(ip) = ip.parse::<Ipv4Addr>() else { return unfit("it is not four numbers with dots") };
        let prefix = if prefix.is_empty() { Ok(PREFIX) } else { prefix.parse() };
        let Some(prefix) = prefix.ok().filter(|prefix| (1..=30).contains(prefix)) else {
            return unfit("the length of its prefix is not from 1 to 30");
        };
        let host = u32::from(ip) & (u32::MAX >> prefix);
        match host {
            _ if ip.is_loopback() || ip.is_multicast() || ip.is_unspecified() => unfit("no host has it"),
            0 => unfit("it is the network's own"),
            host if host == u32::MAX >> prefix => unfit("it is that of a broadcast"),
            _ => Ok(Self { ip, prefix }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

/// A card's Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Value for Mac {
    const EXPECTED: &'static str = "an Ethernet address of one card, such as \"52:54:00:00:00:01\"";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let Raw::String(text) = raw else { return Err(Unfit::Kind) };
        let byte = |part: &str| {
            let is_hex = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_hex.then(|| u8::from_str_radix(part, 16).ok()).flatten()
        };
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        match bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok()) {
            None => Err(Unfit::Content("it is not six numbers of two digits with colons".into())),
            Some(bytes) if bytes[0] & 1 != 0 => Err(Unfit::Content("it is that of a group of cards".into())),
            Some(bytes) => Ok(Self(bytes)),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.map(|byte| format!("{byte:02x}")).join(":"))
    }
}

/// A ratio of two whole numbers above zero, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Above the line.
    pub over: u32,
    /// Below the line.
    pub under: u32,
}

impl Ratio {
    /// One.
    pub const ONE: Self = Self { over: 1, under: 1 };

    fn new(over: u32, under: u32) -> Option<Self> {
        let (mut divisor, mut rest) = (over, under);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        (over > 0 && under > 0).then(|| Self { over: over / divisor, under: under / divisor })
    }
}

impl Value for Ratio {
    const EXPECTED: &'static str = "a number above zero: 2, 0.5 or \"1/3\"";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let ratio = match raw {
            Raw::Integer(number) => u32::try_from(*number).ok().and_then(|over| Self::new(over, 1)),
            Raw::Float(number) => {
                // Decimals as they are written: 0.1 is one tenth.
                let text = number.to_string();
                let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
                let under = 10u32.checked_pow(part.len() as u32);
                let over = format!("{whole}{part}").parse().ok();
                over.zip(under).and_then(|(over, under)| Self::new(over, under))
            }
            Raw::String(text) => {
                let (over, under) = text.split_once('/').unwrap_or((text, "1"));
                let read = |part: &str| part.trim().parse().ok();
                read(over).zip(read(under)).and_then(|(over, under)| Self::new(over, under))
            }
            _ => return Err(Unfit::Kind),
        };
        ratio.ok_or_else(|| Unfit::Content("it is no ratio of two whole numbers from 1 to 4294967295".into()))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.under == 1 { write!(f, "{}", self.over) } else { write!(f, "{}/{}", self.over, self.under) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Value>(text: &str) -> Result<T, Unfit> {
        T::read(&Raw::String(text.into()))
    }

    #[test]
    fn addresses_are_those_of_hosts() {
        let address = |ip: [u8; 4], prefix| Ok(Address { ip: ip.into(), prefix });
        assert_eq!(text("10.0.0.7"), address([10, 0, 0, 7], 8));
        assert_eq!(text("192.168.1.2/24"), address([192, 168, 1, 2], 24));
        for wrong in [
            "10.0.0",
            "10.0.0.0/24",
            "10.0.0.255/24",
            "10.0.0.1/31",
            "10.0.0.1/0",
            "127.0.0.1",
            "224.0.0.1",
            "::1",
            "",
        ] {
            assert!(matches!(text::<Address>(wrong), Err(Unfit::Content(_))), "{wrong}");
        }
        assert_eq!(text("52:54:00:0a:0B:01"), Ok(Mac([0x52, 0x54, 0, 10, 11, 1])));
        for wrong in ["52:54:00:00:01", "53:54:00:00:00:01", "52-54-00-00-00-01", "52:54:00:00:00:+1"] {
            assert!(matches!(text::<Mac>(wrong), Err(Unfit::Content(_))), "{wrong}");
        }
    }

    #[test]
    fn ratios_are_exact() {
        let ratio = |over, under| Ok(Ratio { over, under });
        assert_eq!(text("2/6"), ratio(1, 3));
        assert_eq!(Ratio::read(&Raw::Integer(4)), ratio(4, 1));
        assert_eq!(Ratio::read(&Raw::Float(0.5)), ratio(1, 2));
        assert_eq!(Ratio::read(&Raw::Float(0.1)), ratio(1, 10));
        for wrong in ["0", "1/0", "-1", "a/2", "1/2/3", "99999999999"] {
            assert!(text::<Ratio>(wrong).is_err(), "{wrong}");
        }
        for wrong in
            [Raw::Integer(0), Raw::Float(-0.5), Raw::Float(1e-12), Raw::Float(1e300), Raw::Bool(true)]
        {
            assert!(Ratio::read(&wrong).is_err(), "{wrong}");
        }
    }
}

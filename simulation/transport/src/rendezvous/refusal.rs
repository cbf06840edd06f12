//! Connections that were ended because they do not belong to the run: one entry for all of an address with
//! the same reason, so that however many there are, one line reports them.

use std::fmt;
use std::net::SocketAddr;

use crate::tcp::handshake::HandshakeError;

/// Entries that are kept; of all others only the number is.
const KEPT: usize = 16;

/// Connections from one host that were ended for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where the first of them came from.
    pub address: SocketAddr,
    /// What was wrong.
    pub error: HandshakeError,
    /// How many there were.
    pub times: u64,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.times {
            1 => write!(f, "{}: {}", self.address, self.error),
            times => write!(f, "{times} connections from {}: {}", self.address.ip(), self.error),
        }
    }
}

/// What was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    kept: Vec<Refusal>,
    /// Connections of which only the number is known.
    more: u64,
}

impl Refusals {
    pub(super) fn add(&mut self, address: SocketAddr, error: HandshakeError) {
        let alike = |known: &Refusal| known.address.ip() == address.ip() && known.error == error;
        match self.kept.iter().position(alike) {
            Some(known) => self.kept[known].times += 1,
            None if self.kept.len() < KEPT => self.kept.push(Refusal { address, error, times: 1 }),
            None => self.more += 1,
        }
    }

    /// By host and reason, in the order of the first of each; the first few.
    pub fn list(&self) -> &[Refusal] {
        &self.kept
    }

    /// How many connections were refused in all.
    pub fn count(&self) -> u64 {
        self.kept.iter().map(|refusal| refusal.times).sum::<u64>() + self.more
    }
}

/// What stands after the reason why a run does not begin: nothing if nothing was refused.
impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for refusal in &self.kept {
            write!(f, "; refused {refusal}")?;
        }
        if self.more > 0 {
            write!(f, "; refused {} connections more", self.more)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::Refusals;
    use crate::HandshakeError;

    #[test]
    fn equal_ones_are_counted_and_none_is_forgotten() {
        let mut refusals = Refusals::default();
        assert_eq!(refusals.to_string(), "");
        for port in 1..=200 {
            refusals.add(([127, 0, 0, 1], port).into(), HandshakeError::TimedOut);
        }
        refusals.add(([10, 0, 0, 2], 7).into(), HandshakeError::Stranger);
        let expected = "; refused 200 connections from 127.0.0.1: the other side did not finish the handshake in time; \
                    refused 10.0.0.2:7: the other side is no paceline process";
        assert_eq!((refusals.to_string().as_str(), refusals.count()), (expected, 201));
        for host in 1..=100 {
            refusals.add(([10, 0, 1, host], 7).into(), HandshakeError::Secret);
        }
        assert_eq!((refusals.list().len(), refusals.count()), (16, 301));
        assert!(refusals.to_string().ends_with("; refused 86 connections more"), "{refusals}");
    }
}

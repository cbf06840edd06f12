//! Round trips of ICMP echoes (RFC 792), as they are seen at the card of the machine that sends them.
//!
//! Invariant: bytes come from real machines, which may send anything. Nothing is read beyond their end.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

const ECHO_REPLY: u8 = 0;
const ECHO: u8 = 8;

/// From whom to whom, identifier and number: what a reply has of its request.
type Key = (u32, u32, u32);

/// The echo requests of a machine, with their round trips.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Echoes {
    /// By request, in the order of their departures: when it left, and how long its reply took.
    all: Vec<(u64, Option<u64>)>,
    /// The requests that have no reply yet.
    open: BTreeMap<Key, usize>,
    /// Addresses of the machine, if it has several cards: what it only forwards has other sources.
    addresses: Vec<u32>,
}

impl Echoes {
    /// Of a machine with these addresses. One with a single card forwards nothing, and may change its
    /// address.
    #[must_use]
    pub fn of(addresses: Vec<Ipv4Addr>) -> Self {
        let addresses =
            if addresses.len() > 1 { addresses.into_iter().map(u32::from).collect() } else { Vec::new() };
        Self { addresses, ..Self::default() }
    }

    /// A frame has left the machine's card.
    pub fn left(&mut self, time_ns: u64, frame: &[u8]) {
        if let Some((ECHO, key)) = echo(frame)
            && (self.addresses.is_empty() || self.addresses.contains(&key.0))
        {
            self.open.insert(key, self.all.len());
            self.all.push((time_ns, None));
        }
    }

    /// A frame comes to the machine's card.
    pub fn arrived(&mut self, time_ns: u64, frame: &[u8]) {
        let Some((ECHO_REPLY, (from, to, numbers))) = echo(frame) else { return };
        if let Some(request) = self.open.remove(&(to, from, numbers)) {
            let (left_ns, round_trip) = &mut self.all[request];
            *round_trip = Some(time_ns - *left_ns);
        }
    }

    /// Whether every request without a reply is one of all: what was read from a file may be otherwise.
    pub(super) fn is_sound(&self) -> bool {
        self.open.values().all(|request| *request < self.all.len())
    }

    /// By request, in the order of their departures: when it left, and how long its reply took if it came; in
    /// nanoseconds.
    #[must_use]
    pub fn all(&self) -> &[(u64, Option<u64>)] {
        &self.all
    }
}

/// The type of an ICMP echo or its reply, and its key.
fn echo(frame: &[u8]) -> Option<(u8, Key)> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let packet = frame.get(14..).filter(|packet| packet.len() >= 20 && frame[12..14] == [8, 0])?;
    let header = usize::from(packet[0] & 0xf) * 4;
    let is_icmp = packet[0] >> 4 == 4 && packet[9] == 1;
    // Of a packet in several fragments only the first has the header.
    let is_first = packet[6] & 0x1f == 0 && packet[7] == 0;
    let message = packet.get(header..).filter(|message| is_icmp && is_first && message.len() >= 8)?;
    let key = (word(packet, 12)?, word(packet, 16)?, word(message, 4)?);
    matches!(message[0], ECHO | ECHO_REPLY).then_some((message[0], key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, from: u8, to: u8, number: u8) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
        bytes.extend([kind, 0, 0, 0, 0, 7, 0, number]);
        bytes
    }

    #[test]
    fn round_trips_are_those_of_requests_in_the_order_of_their_departures() {
        let mut echoes = Echoes::default();
        echoes.left(100, &frame(ECHO, 1, 2, 1));
        echoes.left(200, &frame(ECHO, 1, 3, 1));
        echoes.left(300, &frame(ECHO, 1, 2, 2));
        // Not a reply, one to somebody else, one to nothing, and what is cut off.
        echoes.arrived(310, &frame(ECHO, 2, 1, 1));
        echoes.arrived(320, &frame(ECHO_REPLY, 2, 4, 1));
        echoes.arrived(330, &frame(ECHO_REPLY, 2, 1, 9));
        let whole = frame(ECHO_REPLY, 3, 1, 1);
        (0..whole.len()).for_each(|length| echoes.arrived(340, &whole[..length]));
        assert_eq!(echoes.all(), [(100, None), (200, None), (300, None)]);
        echoes.arrived(400, &whole);
        echoes.arrived(450, &frame(ECHO_REPLY, 2, 1, 1));
        echoes.arrived(460, &frame(ECHO_REPLY, 2, 1, 1));
        assert_eq!(echoes.all(), [(100, Some(350)), (200, Some(200)), (300, None)]);
        // A router's own requests are those from its addresses.
        let mut router = Echoes::of(vec![[10, 0, 0, 7].into(), [10, 0, 0, 8].into()]);
        [1, 7, 8].into_iter().for_each(|from| router.left(500, &frame(ECHO, from, 2, 1)));
        assert_eq!(router.all().len(), 2);
    }
}

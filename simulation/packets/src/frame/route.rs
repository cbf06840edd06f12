//! What a router does to a frame besides forwarding it: it counts the time to live down, and tells the sender
//! where that ends, so that `ping` and `traceroute` show what they show in other networks.
//!
//! Invariant: no message is an answer to a message about an error, so that none makes others without end.

use std::sync::Arc;

use super::FrameBody;
use super::content::{ETHERNET, TYPE_IPV4, checksum, ethernet_address, ipv4, replace_half, word};

const ICMP: u8 = 1;
/// The messages of ICMP that are no reports of errors (RFC 1122, section 3.2.2).
const ECHOES: [u8; 2] = [0, 8];
const TIME_EXCEEDED: u8 = 11;
/// The header of IPv4 without options.
const HEADER: usize = 20;
/// What a message of ICMP has before the packet that it is about.
const ICMP_HEADER: usize = 8;
/// What it has of that packet behind its header (RFC 792).
const QUOTED: usize = 8;
/// The time to live of messages.
const TTL: u8 = 64;
/// The first address for routers: 100.64.0.1, of those that networks have for themselves (RFC 6598), and how
/// many there are.
const FIRST_ROUTER: u32 = 100 << 24 | 64 << 16 | 1;
const ROUTERS: u32 = (1 << 22) - 2;

/// A frame at a router that is not for it.
pub(crate) enum Routed {
    /// It goes on, with less time to live.
    On(Arc<FrameBody>),
    /// Its time to live has ended. The message for its sender, which has this address; none where the frame
    /// must not be answered.
    Ended(Option<(u32, Arc<FrameBody>)>),
}

impl FrameBody {
    /// The frame after the router at this node, at `now_ps`.
    pub(crate) fn routed(&self, router: u32, now_ps: u64) -> Routed {
        let mut bytes = self.bytes.to_vec();
        let Some(packet) = bytes.get_mut(ETHERNET..).filter(|packet| packet.len() >= HEADER) else {
            return Routed::Ended(None);
        };
        let (ttl, protocol) = (packet[8], packet[9]);
        if ttl <= 1 {
            let message = self.time_exceeded(router);
            let of = |(to, bytes)| Some((to, Self::new(bytes, now_ps, self.number)?));
            return Routed::Ended(message.and_then(of));
        }
        replace_half(packet, 8, u16::from(ttl - 1) << 8 | u16::from(protocol));
        Routed::On(Self::new(bytes, self.sent_ps, self.number).expect("as long as before"))
    }

    /// The message that the time to live has ended (RFC 792; RFC 1812, section 4.3.2.7 on what is not
    /// answered), and for whom it is.
    fn time_exceeded(&self, router: u32) -> Option<(u32, Vec<u8>)> {
        let packet = ipv4(&self.bytes)?;
        let header = usize::from(packet[0] & 0xf) * 4;
        let is_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
        let is_error = packet[9] == ICMP && !packet.get(header).is_some_and(|kind| ECHOES.contains(kind));
        if is_fragment || is_error || header < HEADER {
            return None;
        }
        let (from, to) = (FIRST_ROUTER + router % ROUTERS, word(packet, 12)?);
        let quoted = &packet[..packet.len().min(header + QUOTED)];
        let length = (HEADER + ICMP_HEADER + quoted.len()) as u16;
        let mut bytes = [ethernet_address(to), ethernet_address(from)].concat();
        bytes.extend(TYPE_IPV4.to_be_bytes());
        // Not fragmented, so that it needs no number (RFC 6864).
        bytes.extend([
            0x45,
            0,
            length.to_be_bytes()[0],
            length.to_be_bytes()[1],
            0,
            0,
            0x40,
            0,
            TTL,
            ICMP,
            0,
            0,
        ]);
        bytes.extend(from.to_be_bytes());
        bytes.extend(to.to_be_bytes());
        bytes.extend([TIME_EXCEEDED, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(quoted);
        let (start, icmp) = (ETHERNET, ETHERNET + HEADER);
        let sums = [checksum(&bytes[start..icmp]), checksum(&bytes[icmp..])];
        bytes[start + 10..start + 12].copy_from_slice(&sums[0].to_be_bytes());
        bytes[icmp + 2..icmp + 4].copy_from_slice(&sums[1].to_be_bytes());
        Some((to, bytes))
    }
}

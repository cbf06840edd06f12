//! What is looked at in a frame's bytes: addresses, protocol, ports, the ECN field; and answers to ARP.
//!
//! Invariant: bytes come from real machines, which may send anything. Nothing is read beyond their end.

use crate::hash::mix;
use crate::queue::Ecn;

/// The header of Ethernet.
pub(super) const ETHERNET: usize = 14;
pub(super) const TYPE_IPV4: u16 = 0x0800;
const TYPE_ARP: u16 = 0x0806;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Ethernet addresses and IPv4 addresses, of so many bytes, in a request (RFC 826).
const ARP_REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
/// The header of Ethernet and an ARP packet.
const ARP_FRAME: usize = 42;

/// A hash of all bytes: another byte anywhere is another hash, as each step is a permutation.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).fold(mix(bytes.len() as u64 + 1), |hash, chunk| mix(hash ^ word(chunk)).wrapping_add(1))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(half(bytes, at)?) << 16 | u32::from(half(bytes, at + 2)?))
}

/// The IPv4 packet in a frame, if there is one with a whole header.
pub(super) fn ipv4(bytes: &[u8]) -> Option<&[u8]> {
    let packet = bytes.get(ETHERNET..)?;
    let is_ipv4 = half(bytes, 12)? == TYPE_IPV4 && packet.len() >= 20 && packet[0] >> 4 == 4;
    is_ipv4.then_some(packet)
}

/// The IPv4 address that a frame is for.
pub(crate) fn destination(bytes: &[u8]) -> Option<u32> {
    word(ipv4(bytes)?, 16)
}

/// The IPv4 address of the host whose card a packet of IPv4 is handed to next: the one of which its Ethernet
/// destination is made ([`ethernet_address`]).
pub(crate) fn next_hop(bytes: &[u8]) -> Option<u32> {
    ipv4(bytes)?;
    let address = word(bytes, 2)?;
    (bytes[..6] == ethernet_address(address)).then_some(address)
}

/// A hash of addresses, protocol and, of TCP and UDP, ports; of what is no IPv4, of its header of Ethernet.
/// Fragments but for the first have no ports (RFC 791, section 3.2), so that no fragment is told by them.
pub(crate) fn conversation(bytes: &[u8]) -> u64 {
    let Some(packet) = ipv4(bytes) else { return hash(&bytes[..bytes.len().min(ETHERNET)]) };
    let is_fragment = half(packet, 6).unwrap_or(0) & 0x3fff != 0;
    let header = usize::from(packet[0] & 0xf) * 4;
    let has_ports = matches!(packet[9], TCP | UDP) && !is_fragment;
    let ports = if has_ports { word(packet, header).unwrap_or(0) } else { 0 };
    let addresses = [12, 16].map(|at| u64::from(word(packet, at).unwrap_or(0)));
    mix(mix(addresses[0] << 32 | addresses[1]) ^ (u64::from(packet[9]) << 32 | u64::from(ports)))
}

/// The ECN field; of what is no IPv4, that it may not be marked.
pub(crate) fn ecn(bytes: &[u8]) -> Ecn {
    match ipv4(bytes).map_or(0, |packet| packet[1] & 0b11) {
        0b00 => Ecn::NotCapable,
        0b01 => Ecn::Capable1,
        0b10 => Ecn::Capable0,
        _ => Ecn::Congested,
    }
}

/// Writes the ECN field.
pub(crate) fn set_ecn(bytes: &mut [u8], to: Ecn) {
    if ecn(bytes) == to || ipv4(bytes).is_none() {
        return;
    }
    let bits = match to {
        Ecn::NotCapable => 0b00,
        Ecn::Capable1 => 0b01,
        Ecn::Capable0 => 0b10,
        Ecn::Congested => 0b11,
    };
    let packet = &mut bytes[ETHERNET..];
    replace_half(packet, 0, u16::from_be_bytes([packet[0], packet[1] & !0b11 | bits]));
}

/// Writes two bytes of an IPv4 header, and brings its checksum up to date (RFC 1624, equation 3): a checksum
/// that was wrong stays wrong.
pub(super) fn replace_half(packet: &mut [u8], at: usize, after: u16) {
    let before = u16::from_be_bytes([packet[at], packet[at + 1]]);
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    packet[at..at + 2].copy_from_slice(&after.to_be_bytes());
    let sum = !folded(u32::from(!sum) + u32::from(!before) + u32::from(after));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The checksum of the Internet (RFC 1071).
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let half = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    !folded(bytes.chunks(2).map(half).sum())
}

/// A sum of words of two bytes, in one: of at most 65,535 of them.
fn folded(sum: u32) -> u16 {
    let once = (sum >> 16) + (sum & 0xffff);
    ((once >> 16) + once) as u16
}

/// The Ethernet address of who has an IPv4 address: one that is given locally (IEEE 802, 8.2.2).
pub(crate) fn ethernet_address(address: u32) -> [u8; 6] {
    let [a, b, c, d] = address.to_be_bytes();
    [2, 0, a, b, c, d]
}

/// What an ARP request asks for, if a frame is one: the sender's address and the one in question.
fn asked(bytes: &[u8]) -> Option<[u32; 2]> {
    let is_request = half(bytes, 12)? == TYPE_ARP && bytes.get(14..22)? == ARP_REQUEST;
    if !is_request {
        return None;
    }
    Some([word(bytes, 28)?, word(bytes, 38)?])
}

/// The answer to an ARP request of the machine that has the address `of`, if a frame is one. All addresses
/// but its own are answered for: a machine that asks whether somebody has its own (RFC 5227) hears nothing.
pub(crate) fn arp_answer(bytes: &[u8], of: u32) -> Option<Vec<u8>> {
    let [sender, asked] = asked(bytes)?;
    if asked == of || asked == sender {
        return None;
    }
    let us = ethernet_address(asked);
    let mut answer = Vec::with_capacity(ARP_FRAME);
    answer.extend_from_slice(&bytes[6..12]);
    answer.extend(us);
    answer.extend(TYPE_ARP.to_be_bytes());
    answer.extend(&ARP_REQUEST[..7]);
    answer.push(2);
    answer.extend(us);
    answer.extend(asked.to_be_bytes());
    // To the sender of the request, as it calls itself there.
    answer.extend_from_slice(&bytes[22..32]);
    Some(answer)
}

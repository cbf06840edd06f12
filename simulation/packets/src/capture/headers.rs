//! The headers of a packet as they would be on the wire: PPP, IPv4, and TCP or UDP.
//!
//! Data are taken for zeros, so that checksums are those of the whole packet. Sequence numbers begin at one
//! that is drawn for each direction of a flow (RFC 9293, section 3.4.1); the identification of IPv4 is the
//! number of the packet in its direction; the TTL is that of the sender at every hop.
//!
//! Invariants: the length on the wire is that of the model, or the least that the headers leave possible.
//! IPv4 has at most 65,535 bytes of it, and the rest stands behind.

use crate::hash::mix;
use crate::packet::TcpBody;
use crate::queue::Ecn;
use crate::tcp::{Block, Flags, Options, Segment, wire_number, wire_window};

use super::Packet;
use super::addresses::FlowAddress;

/// The protocol field of PPP for IPv4 (RFC 1332, section 2).
const PPP_IPV4: u16 = 0x0021;
const IPV4_BYTES: usize = 20;
/// PPP and IPv4.
const BELOW_BYTES: usize = 2 + IPV4_BYTES;
const UDP_BYTES: usize = 8;
/// Don't fragment (RFC 791, section 3.1).
const DONT_FRAGMENT: u16 = 0x4000;
/// The most bytes behind the header of IPv4.
const MOST_BYTES: u32 = 65_515;
const TTL: u8 = 64;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Appends the headers of a packet, and gives its length on the wire.
#[inline]
pub(super) fn write(flows: &[FlowAddress], packet: &Packet, out: &mut Vec<u8>) -> u32 {
    match *packet {
        Packet::Udp { flow, number, bytes, ecn, is_back } => {
            write_udp(flows[flow as usize].of(is_back), number, bytes, ecn, out)
        }
        Packet::Tcp { ref body, flow, ecn, is_back } => {
            write_tcp(flows[flow as usize].of(is_back), (flow, is_back), body, ecn, out)
        }
    }
}

/// In an array, since captures of all links have little else.
#[inline]
fn write_udp(flow: FlowAddress, number: u32, bytes: u32, ecn: Ecn, out: &mut Vec<u8>) -> u32 {
    let wire_bytes = bytes.max((BELOW_BYTES + UDP_BYTES) as u32);
    let length = (wire_bytes - BELOW_BYTES as u32).min(MOST_BYTES);
    let [from, to] = flow.ports;
    let sum = pseudo_header(flow.addresses, UDP, length) + u32::from(from) + u32::from(to) + length;
    let checksum = match checksum(sum) {
        // RFC 768: a sum of zero is sent as ones, since zero says that there is none.
        0 => 0xffff,
        other => other,
    };
    let mut bytes = [0; BELOW_BYTES + UDP_BYTES];
    bytes[..BELOW_BYTES].copy_from_slice(&ipv4(flow.addresses, UDP, length, ecn, number as u16));
    for (place, value) in [(22, from), (24, to), (26, length as u16), (28, checksum)] {
        bytes[place..place + 2].copy_from_slice(&value.to_be_bytes());
    }
    out.extend_from_slice(&bytes);
    wire_bytes
}

/// `direction` is the flow, and whether the segment goes back to its sender.
fn write_tcp(flow: FlowAddress, direction: (u32, bool), body: &TcpBody, ecn: Ecn, out: &mut Vec<u8>) -> u32 {
    let (segment, (number, is_back)) = (&body.segment, direction);
    let length = (segment.header_bytes() + u32::from(segment.length)).min(MOST_BYTES);
    let FlowAddress { addresses, ports, scales: [scale, _] } = flow;
    out.extend_from_slice(&ipv4(addresses, TCP, length, ecn, body.number as u16));
    let start = out.len();
    let (first, first_of_peer) = (first_number(number, is_back), first_number(number, !is_back));
    let has_ack = segment.has(Flags::ACK);
    put(out, ports[0]);
    put(out, ports[1]);
    put_word(out, wire_number(first, segment.sequence));
    put_word(out, if has_ack { wire_number(first_of_peer, segment.ack) } else { 0 });
    // Words of four bytes, in the upper half of a byte.
    out.push((segment.header_bytes() << 2) as u8);
    out.push(segment.flags.header_byte());
    // RFC 7323, section 2.2: the window of a SYN is not scaled.
    put(out, wire_window(segment.window, if segment.has(Flags::SYN) { 0 } else { scale }));
    put(out, 0);
    put(out, 0);
    write_options(segment, first_of_peer, out);
    debug_assert_eq!(out.len() - start, segment.header_bytes() as usize);
    let checksum = checksum(sum(&out[start..]) + pseudo_header(addresses, TCP, length));
    out[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
    // The rest of what is below TCP would stand behind the packet.
    body.bytes.max(length + BELOW_BYTES as u32)
}

/// Options in the places that Linux gives them, each padded to whole words by NOPs (RFC 7323, appendix A).
fn write_options(segment: &Segment, first_of_peer: u32, out: &mut Vec<u8>) {
    const NOP: u8 = 1;
    const SACK_PERMITTED: [u8; 2] = [4, 2];
    let has_stamps = segment.has(Flags::TIMESTAMPS);
    let mut permits_sack = false;
    let mut window_scale = None;
    if let Some(Options::Syn { mss, scale, sack }) = segment.options.as_deref() {
        out.extend([2, 4]);
        put(out, *mss);
        (permits_sack, window_scale) = (*sack, *scale);
    }
    if has_stamps || permits_sack {
        let rest = if permits_sack { SACK_PERMITTED } else { [NOP, NOP] };
        if has_stamps {
            out.extend(rest);
            out.extend([8, 10]);
            put_word(out, segment.stamp);
            put_word(out, segment.echo);
        } else {
            out.extend([NOP, NOP]);
            out.extend(rest);
        }
    }
    if let Some(scale) = window_scale {
        out.extend([NOP, 3, 3, scale]);
    }
    let blocks = segment.sack_blocks();
    if !blocks.is_empty() {
        out.extend([NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
        for Block { start, end } in blocks {
            put_word(out, wire_number(first_of_peer, *start));
            put_word(out, wire_number(first_of_peer, *end));
        }
    }
}

/// The headers of PPP and IPv4 before `length` bytes.
#[inline(always)]
fn ipv4(addresses: [u32; 2], protocol: u8, length: u32, ecn: Ecn, number: u16) -> [u8; BELOW_BYTES] {
    let ecn: u16 = match ecn {
        Ecn::NotCapable => 0b00,
        Ecn::Capable1 => 0b01,
        Ecn::Capable0 => 0b10,
        Ecn::Congested => 0b11,
    };
    // Version 4 and five words of header; then fields of two bytes each, in their order.
    let (first, total) = (0x4500 | ecn, (length + IPV4_BYTES as u32) as u16);
    let last = u16::from(TTL) << 8 | u16::from(protocol);
    let fields = [first, total, number, DONT_FRAGMENT, last];
    let sum = fields.iter().map(|field| u32::from(*field)).sum::<u32>() + halves(addresses);
    let mut bytes = [0; BELOW_BYTES];
    bytes[..2].copy_from_slice(&PPP_IPV4.to_be_bytes());
    for (place, field) in [2, 4, 6, 8, 10].into_iter().zip(fields) {
        bytes[place..place + 2].copy_from_slice(&field.to_be_bytes());
    }
    bytes[12..14].copy_from_slice(&checksum(sum).to_be_bytes());
    bytes[14..18].copy_from_slice(&addresses[0].to_be_bytes());
    bytes[18..22].copy_from_slice(&addresses[1].to_be_bytes());
    bytes
}

/// The first sequence number of a direction.
fn first_number(flow: u32, is_back: bool) -> u32 {
    // From 1 on, since 0 mixes to 0.
    mix((u64::from(flow) << 1 | u64::from(is_back)) + 1) as u32
}

/// The sum of what stands before the header for its checksum (RFC 9293, section 3.1).
fn pseudo_header(addresses: [u32; 2], protocol: u8, length: u32) -> u32 {
    halves(addresses) + u32::from(protocol) + length
}

/// The sum of two addresses by two bytes each.
fn halves([from, to]: [u32; 2]) -> u32 {
    (from >> 16) + (from & 0xffff) + (to >> 16) + (to & 0xffff)
}

/// The sum of whole words of two bytes.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

/// The checksum of the Internet (RFC 1071) from a sum of words.
fn checksum(sum: u32) -> u16 {
    let folded = (sum >> 16) + (sum & 0xffff);
    !((folded + (folded >> 16)) as u16)
}

fn put(out: &mut Vec<u8>, number: u16) {
    out.extend(number.to_be_bytes());
}

fn put_word(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_be_bytes());
}

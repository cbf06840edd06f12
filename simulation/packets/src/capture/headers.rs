//! The headers of a packet as they would be on the wire: PPP, IPv4, and TCP or UDP.
//!
//! Data are taken for zeros, so that checksums are those of the whole packet. Sequence numbers begin at one
//! that is drawn for each direction of a flow (RFC 9293, section 3.4.1); the identification of IPv4 is the
//! number of the packet in its direction; the TTL is that of the sender at every hop.
//!
//! Invariants: the length on the wire is that of the model, or the least that the headers leave possible.
//! IPv4 has at most 65,535 bytes of it, and the rest stands behind.

#[cfg(test)]
mod test;

use crate::frame::content::ethernet_address;
use crate::hash::mix;
use crate::queue::Ecn;
use crate::tcp::{Block, Flags, Options, Segment, wire_number, wire_window};

use super::addresses::FlowAddress;

/// The protocol field of PPP for IPv4 (RFC 1332, section 2).
const PPP_IPV4: u16 = 0x0021;
/// The type of IPv4 in the header of Ethernet.
const TYPE_IPV4: u16 = 0x0800;
/// The header of Ethernet.
const ETHERNET_BYTES: usize = 14;
const IPV4_BYTES: usize = 20;
/// PPP and IPv4.
const BELOW_BYTES: usize = 2 + IPV4_BYTES;
const UDP_BYTES: usize = 8;
/// The header of TCP without options, and the longest one.
const TCP_BYTES: usize = 20;
const MOST_TCP_BYTES: usize = 60;
/// Don't fragment (RFC 791, section 3.1).
const DONT_FRAGMENT: u16 = 0x4000;
/// The most bytes behind the header of IPv4.
const MOST_BYTES: u32 = 65_515;
const TTL: u8 = 64;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The room before the headers of a packet, for what a file says of it.
pub(super) const BEFORE: usize = 16;
/// Where IPv4 and what is above it begin.
const IPV4: usize = BEFORE + 2;
const ABOVE: usize = BEFORE + BELOW_BYTES;
/// By how much a packet is longer with the header of Ethernet in the place of that of PPP.
pub(super) const MORE_OF_ETHERNET: u32 = ETHERNET_BYTES as u32 - 2;
/// A datagram with what stands before it.
pub(super) const DATAGRAM: usize = ABOVE + UDP_BYTES;
/// A segment with what stands before it, at most.
pub(super) const SEGMENT: usize = ABOVE + MOST_TCP_BYTES;

/// The headers of a datagram, and its length on the wire. In an array, since captures of all links have
/// little else.
#[inline(always)]
pub(super) fn datagram(flow: &FlowAddress, number: u16, bytes: u32, ecn: Ecn) -> ([u8; DATAGRAM], u32) {
    let wire_bytes = bytes.max((BELOW_BYTES + UDP_BYTES) as u32);
    let length = (wire_bytes - BELOW_BYTES as u32).min(MOST_BYTES);
    let [from, to] = flow.ports;
    let sum = pseudo_header(flow, UDP, length) + u32::from(from) + u32::from(to) + length;
    let checksum = match checksum(sum) {
        // RFC 768: a sum of zero is sent as ones, since zero says that there is none.
        0 => 0xffff,
        other => other,
    };
    let mut frame = [0; DATAGRAM];
    put_below(&mut frame, flow, UDP, length, ecn, number);
    put(&mut frame, ABOVE, from);
    put(&mut frame, ABOVE + 2, to);
    put(&mut frame, ABOVE + 4, length as u16);
    put(&mut frame, ABOVE + 6, checksum);
    (frame, wire_bytes)
}

/// Gives a datagram that has the number zero another one (RFC 1624, section 3).
#[inline(always)]
pub(super) fn number_datagram(frame: &mut [u8; DATAGRAM], number: u16) {
    let sum = !u16::from_be_bytes([frame[IPV4 + 10], frame[IPV4 + 11]]);
    put(frame, IPV4 + 4, number);
    put(frame, IPV4 + 10, checksum(u32::from(sum) + u32::from(number)));
}

/// The headers of a segment, whatever stands behind them; where they end; and its length on the wire. `key`
/// is the flow, and whether the segment goes back to its sender.
pub(super) fn segment(
    flow: &FlowAddress,
    key: (u32, bool),
    segment: &Segment,
    (number, bytes, ecn): (u16, u32, Ecn),
) -> ([u8; SEGMENT], usize, u32) {
    let firsts = (first_number(key.0, key.1), first_number(key.0, !key.1));
    let (frame, end, length) = numbered_segment(flow, firsts, segment, number, ecn);
    // The rest of what is below TCP would stand behind the packet.
    (frame, end, bytes.max(length + BELOW_BYTES as u32))
}

/// The same with the first sequence numbers of both directions; and the bytes of TCP with its data.
fn numbered_segment(
    flow: &FlowAddress,
    (first, first_of_peer): (u32, u32),
    segment: &Segment,
    number: u16,
    ecn: Ecn,
) -> ([u8; SEGMENT], usize, u32) {
    let header_bytes = segment.header_bytes();
    let length = (header_bytes + u32::from(segment.length)).min(MOST_BYTES);
    let &FlowAddress { ports: [from, to], scales: [scale, _], .. } = flow;
    let mut frame = [0; SEGMENT];
    put_below(&mut frame, flow, TCP, length, ecn, number);
    let ack = if segment.has(Flags::ACK) { wire_number(first_of_peer, segment.ack) } else { 0 };
    put(&mut frame, ABOVE, from);
    put(&mut frame, ABOVE + 2, to);
    put_word(&mut frame, ABOVE + 4, wire_number(first, segment.sequence));
    put_word(&mut frame, ABOVE + 8, ack);
    // Words of four bytes, in the upper half of a byte.
    frame[ABOVE + 12] = (header_bytes << 2) as u8;
    frame[ABOVE + 13] = segment.flags.header_byte();
    // RFC 7323, section 2.2: the window of a SYN is not scaled.
    let scale = if segment.has(Flags::SYN) { 0 } else { scale };
    put(&mut frame, ABOVE + 14, wire_window(segment.window, scale));
    let end = put_options(segment, first_of_peer, &mut frame);
    debug_assert_eq!(end - ABOVE, header_bytes as usize);
    let checksum = checksum(sum(&frame[ABOVE..]) + pseudo_header(flow, TCP, length));
    put(&mut frame, ABOVE + 16, checksum);
    (frame, end, length)
}

/// A segment with its data as a frame of Ethernet, without what a file says of it. `firsts` are the first
/// sequence numbers of its direction and of the other one.
pub(crate) fn frame_of_segment(
    flow: &FlowAddress,
    firsts: (u32, u32),
    segment: &Segment,
    data: &[u8],
    (number, ecn): (u16, Ecn),
) -> Vec<u8> {
    debug_assert_eq!(data.len(), usize::from(segment.length));
    let (packet, end, _) = numbered_segment(flow, firsts, segment, number, ecn);
    let mut frame = with_ethernet(&packet[..end]).split_off(BEFORE);
    // The checksum is that of zeros in the place of the data.
    let place = ETHERNET_BYTES + IPV4_BYTES + 16;
    let zeros = u32::from(!u16::from_be_bytes([frame[place], frame[place + 1]]));
    put(&mut frame, place, checksum(zeros + data_sum(data)));
    frame.extend_from_slice(data);
    frame
}

/// The sum of words of two bytes, a zero behind a last byte that is alone (RFC 1071): below 2^31 for what a
/// packet holds.
pub(crate) fn data_sum(data: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    data.chunks(2).map(word).sum()
}

/// Options in the places that Linux gives them, each padded to whole words by NOPs (RFC 7323, appendix A).
/// Gives where they end.
fn put_options(segment: &Segment, first_of_peer: u32, frame: &mut [u8; SEGMENT]) -> usize {
    const NOP: u8 = 1;
    const SACK_PERMITTED: [u8; 2] = [4, 2];
    let mut end = ABOVE + TCP_BYTES;
    let mut add = |word: u32| {
        put_word(frame, end, word);
        end += 4;
    };
    let has_stamps = segment.has(Flags::TIMESTAMPS);
    let mut permits_sack = false;
    let mut window_scale = None;
    if let Some(Options::Syn { mss, scale, sack }) = segment.options.as_deref() {
        add(0x0204_0000 | u32::from(*mss));
        (permits_sack, window_scale) = (*sack, *scale);
    }
    if has_stamps || permits_sack {
        let [first, second] = if permits_sack { SACK_PERMITTED } else { [NOP, NOP] };
        if has_stamps {
            add(u32::from_be_bytes([first, second, 8, 10]));
            add(segment.stamp);
            add(segment.echo);
        } else {
            add(u32::from_be_bytes([NOP, NOP, first, second]));
        }
    }
    if let Some(scale) = window_scale {
        add(u32::from_be_bytes([NOP, 3, 3, scale]));
    }
    let blocks = segment.sack_blocks();
    if !blocks.is_empty() {
        add(u32::from_be_bytes([NOP, NOP, 5, 2 + 8 * blocks.len() as u8]));
        for Block { start, end } in blocks {
            add(wire_number(first_of_peer, *start));
            add(wire_number(first_of_peer, *end));
        }
    }
    end
}

/// Puts the headers of PPP and IPv4 before `length` bytes.
#[inline(always)]
fn put_below(frame: &mut [u8], flow: &FlowAddress, protocol: u8, length: u32, ecn: Ecn, number: u16) {
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
    let sum = fields.iter().map(|field| u32::from(*field)).sum::<u32>() + flow.sum;
    put(frame, BEFORE, PPP_IPV4);
    for (place, field) in (IPV4..).step_by(2).zip(fields) {
        put(frame, place, field);
    }
    put(frame, IPV4 + 10, checksum(sum));
    put_word(frame, IPV4 + 12, flow.addresses[0]);
    put_word(frame, IPV4 + 16, flow.addresses[1]);
}

/// A packet of IPv4 over PPP as one over Ethernet, both with what stands before them.
pub(super) fn with_ethernet(packet: &[u8]) -> Vec<u8> {
    let address = |at: usize| {
        ethernet_address(u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]))
    };
    let (from, to) = (address(IPV4 + 12), address(IPV4 + 16));
    let parts = [&packet[..BEFORE], &to, &from, &TYPE_IPV4.to_be_bytes(), &packet[IPV4..]];
    parts.concat()
}

/// The first sequence number of a direction.
fn first_number(flow: u32, is_back: bool) -> u32 {
    // From 1 on, since 0 mixes to 0.
    mix((u64::from(flow) << 1 | u64::from(is_back)) + 1) as u32
}

/// The sum of what stands before the header for its checksum (RFC 9293, section 3.1).
fn pseudo_header(flow: &FlowAddress, protocol: u8, length: u32) -> u32 {
    flow.sum + u32::from(protocol) + length
}

/// The sum of whole words of four bytes, each as two of two bytes.
fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    words.map(|word| (word >> 16) + (word & 0xffff)).sum()
}

/// The checksum of the Internet (RFC 1071) from a sum of words.
pub(crate) fn checksum(sum: u32) -> u16 {
    let folded = (sum >> 16) + (sum & 0xffff);
    !((folded + (folded >> 16)) as u16)
}

#[inline(always)]
fn put(frame: &mut [u8], place: usize, number: u16) {
    frame[place..place + 2].copy_from_slice(&number.to_be_bytes());
}

#[inline(always)]
fn put_word(frame: &mut [u8], place: usize, number: u32) {
    frame[place..place + 4].copy_from_slice(&number.to_be_bytes());
}

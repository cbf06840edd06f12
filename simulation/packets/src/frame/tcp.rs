//! TCP in frames: what a machine sends is read into segments of our own TCP, and those are written as frames.
//!
//! Invariants: nothing is read beyond the end of the bytes; a frame whose checksums are wrong is no segment;
//! a segment that is written and read again is the same one.

#[cfg(test)]
mod test;

use crate::capture::{FlowAddress, checksum, data_sum, frame_of_segment};
use crate::queue::Ecn;
use crate::tcp::{Block, Flags, Options, SackBlocks, Segment, offset_near};

const ETHERNET: usize = 14;
const TYPE_IPV4: u16 = 0x0800;
const IPV4: usize = 20;
const TCP: u8 = 6;
const TCP_HEADER: usize = 20;
/// The bits of flags that a segment has: all but URG, which nobody here looks at.
const FLAGS: u8 = 0xdf;
/// The greatest shift of windows (RFC 7323, section 2.3).
const MOST_SCALE: u8 = 14;

/// Why a frame is no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is no IPv4 packet with TCP in it.
    OtherProtocol,
    /// It is a part of a packet.
    Fragment,
    /// A header or an option ends beyond what there is.
    Malformed,
    /// The checksum of IPv4 or TCP is wrong.
    Checksum,
}

/// Options of a header, as they stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct WireOptions {
    mss: Option<u16>,
    scale: Option<u8>,
    permits_sack: bool,
    /// The sender's clock and the echo.
    stamps: Option<[u32; 2]>,
    blocks: Vec<[u32; 2]>,
}

/// A TCP segment of a machine, as it stands in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireSegment<'a> {
    /// The addresses of who sent it and of whom it is for.
    pub addresses: [u32; 2],
    pub ports: [u16; 2],
    pub sequence: u32,
    pub ack: u32,
    flags: u8,
    window: u16,
    options: WireOptions,
    pub data: &'a [u8],
}

/// What relates the numbers of a connection on the wire to its offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The first sequence number of this end, and of the peer.
    pub firsts: [u32; 2],
    /// The shifts of the windows that this end and the peer announce.
    pub scales: [u8; 2],
}

/// A field of two bytes. What is shorter was refused before.
fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) << 16 | u32::from(half(bytes, at + 2))
}

impl<'a> WireSegment<'a> {
    /// Reads the segment in a frame.
    pub fn read(frame: &'a [u8]) -> Result<Self, Unreadable> {
        if frame.len() < ETHERNET || half(frame, 12) != TYPE_IPV4 {
            return Err(Unreadable::OtherProtocol);
        }
        let packet = &frame[ETHERNET..];
        if packet.len() < IPV4 {
            return Err(Unreadable::Malformed);
        }
        let (header, total) = (usize::from(packet[0] & 0xf) * 4, usize::from(half(packet, 2)));
        if packet[0] >> 4 != 4 || header < IPV4 || total < header || packet.len() < total {
            return Err(Unreadable::Malformed);
        }
        if checksum(data_sum(&packet[..header])) != 0 {
            return Err(Unreadable::Checksum);
        }
        if packet[9] != TCP {
            return Err(Unreadable::OtherProtocol);
        }
        // An offset, or more parts to come.
        if half(packet, 6) & 0x3fff != 0 {
            return Err(Unreadable::Fragment);
        }
        let addresses = [word(packet, 12), word(packet, 16)];
        // What stands behind the packet is padding of Ethernet.
        Self::of_tcp(addresses, &packet[header..total])
    }

    fn of_tcp(addresses: [u32; 2], bytes: &'a [u8]) -> Result<Self, Unreadable> {
        if bytes.len() < TCP_HEADER {
            return Err(Unreadable::Malformed);
        }
        let header = usize::from(bytes[12] >> 4) * 4;
        if header < TCP_HEADER || bytes.len() < header {
            return Err(Unreadable::Malformed);
        }
        let pseudo: u32 = addresses.map(|address| (address >> 16) + (address & 0xffff)).into_iter().sum();
        if checksum(data_sum(bytes) + pseudo + u32::from(TCP) + bytes.len() as u32) != 0 {
            return Err(Unreadable::Checksum);
        }
        Ok(Self {
            addresses,
            ports: [half(bytes, 0), half(bytes, 2)],
            sequence: word(bytes, 4),
            ack: word(bytes, 8),
            flags: bytes[13],
            window: half(bytes, 14),
            options: WireOptions::read(&bytes[TCP_HEADER..header])?,
            data: &bytes[header..],
        })
    }

    /// Whether all of these flags are set.
    pub fn has(&self, flags: Flags) -> bool {
        self.flags().contains(flags)
    }

    fn flags(&self) -> Flags {
        let flags = Flags::of_bits(u16::from(self.flags & FLAGS));
        flags.with(Flags::TIMESTAMPS, self.options.stamps.is_some())
    }

    /// The shift of the windows that follow, if a SYN announces one.
    pub fn scale(&self) -> Option<u8> {
        self.options.scale
    }

    /// How many sequence numbers it takes.
    pub fn sequence_length(&self) -> u32 {
        let flags = u32::from(self.has(Flags::SYN)) + u32::from(self.has(Flags::FIN));
        self.data.len() as u32 + flags
    }

    /// The segment, where the numbers of the connection are these, the peer's next offset is about `expected`
    /// and this end's first unacknowledged one about `unacknowledged`.
    pub fn segment(&self, numbers: &Numbers, expected: u64, unacknowledged: u64) -> Segment {
        let [first, first_of_peer] = numbers.firsts;
        let (flags, is_syn) = (self.flags(), self.has(Flags::SYN));
        let near = |number: u32| offset_near(first, number, unacknowledged);
        let [stamp, echo] = self.options.stamps.unwrap_or_default();
        let options = if is_syn {
            let &WireOptions { mss, scale, permits_sack, .. } = &self.options;
            // RFC 9293, section 3.7.1: 536 where nothing is said.
            Some(Options::Syn { mss: mss.unwrap_or(536), scale, sack: permits_sack })
        } else if self.options.blocks.is_empty() {
            None
        } else {
            let mut blocks = SackBlocks::default();
            for [start, end] in &self.options.blocks {
                blocks.push(Block { start: near(*start), end: near(*end) });
            }
            Some(Options::Sack(blocks))
        };
        let shift = if is_syn { 0 } else { numbers.scales[1] };
        Segment {
            sequence: offset_near(first_of_peer, self.sequence, expected),
            ack: if self.has(Flags::ACK) { near(self.ack) } else { 0 },
            window: u32::from(self.window) << shift,
            stamp,
            echo,
            // A packet of IPv4 has fewer than 2^16 bytes.
            length: self.data.len() as u16,
            flags,
            options: options.map(Box::new),
        }
    }
}

impl WireOptions {
    /// The options of a header: unknown ones are left out (RFC 9293, section 3.1).
    fn read(mut bytes: &[u8]) -> Result<Self, Unreadable> {
        const END: u8 = 0;
        const NOP: u8 = 1;
        let mut options = Self::default();
        while let [kind, rest @ ..] = bytes {
            if *kind == END {
                break;
            }
            if *kind == NOP {
                bytes = rest;
                continue;
            }
            let length = usize::from(*rest.first().ok_or(Unreadable::Malformed)?);
            if length < 2 || length > bytes.len() {
                return Err(Unreadable::Malformed);
            }
            options.add(*kind, &bytes[2..length])?;
            bytes = &bytes[length..];
        }
        Ok(options)
    }

    fn add(&mut self, kind: u8, value: &[u8]) -> Result<(), Unreadable> {
        match (kind, value.len()) {
            (2, 2) => self.mss = Some(half(value, 0)),
            (3, 1) => self.scale = Some(value[0].min(MOST_SCALE)),
            (4, 0) => self.permits_sack = true,
            (5, length) if length.is_multiple_of(8) => {
                self.blocks = value.chunks(8).map(|block| [word(block, 0), word(block, 4)]).collect();
            }
            (8, 8) => self.stamps = Some([word(value, 0), word(value, 4)]),
            (2..=5 | 8, _) => return Err(Unreadable::Malformed),
            _ => {}
        }
        Ok(())
    }
}

/// Where a connection is: the addresses and ports of this end and of its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub addresses: [u32; 2],
    pub ports: [u16; 2],
}

/// A segment of a connection as a frame, with its data; `identification` is that of IPv4.
pub(crate) fn write(
    place: Place,
    numbers: &Numbers,
    segment: &Segment,
    data: &[u8],
    identification: u16,
) -> Vec<u8> {
    let flow = FlowAddress::new(place.addresses, place.ports, numbers.scales);
    let ecn = if segment.has(Flags::ECT) { Ecn::Capable0 } else { Ecn::NotCapable };
    frame_of_segment(&flow, numbers.firsts.into(), segment, data, (identification, ecn))
}

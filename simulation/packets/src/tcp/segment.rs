//! A TCP segment as the model sends it: 64-bit stream offsets, the flags, the advertised window in bytes, and
//! the options. A plain segment takes 40 bytes, since events hold it at every hop: the options that most
//! segments lack are behind one pointer.
//!
//! Invariant: `sequence` and `ack` count from the first sequence number of their direction, so that a SYN is
//! at 0 and the first byte of data at 1. Their numbers on the wire come from [`wire_number`].

use std::ops::BitOr;

use serde::{Deserialize, Serialize};

/// A set of flags of a segment: those of the TCP header with their bits of RFC 9293, section 3.1, and two
/// that say what else is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flags(u16);

impl Flags {
    /// A segment without flags.
    pub const NONE: Self = Self(0);
    /// The stream ends behind this segment's data.
    pub const FIN: Self = Self(0x01);
    /// The connection begins.
    pub const SYN: Self = Self(0x02);
    /// The connection is aborted.
    pub const RST: Self = Self(0x04);
    /// The sender has no more data at the moment.
    pub const PSH: Self = Self(0x08);
    /// The field `ack` is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168, section 6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168, section 6.1.2).
    pub const CWR: Self = Self(0x80);
    /// The segment has a timestamps option (RFC 7323, section 3).
    pub const TIMESTAMPS: Self = Self(0x100);
    /// Not in the TCP header: the IP header says ECT(0), so that a queue marks the packet instead of dropping
    /// it (RFC 3168, section 5).
    pub const ECT: Self = Self(0x200);

    /// Whether all flags of `other` are set.
    #[inline(always)]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags, and those of `other` where `on` is true.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, other: Self, on: bool) -> Self {
        Self(if on { self.0 | other.0 } else { self.0 })
    }

    /// As a number, from which [`of_bits`](Self::of_bits) makes them again.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The byte of the TCP header that holds CWR, ECE, URG, ACK, PSH, RST, SYN and FIN.
    pub const fn header_byte(self) -> u8 {
        (self.0 & 0xff) as u8
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A block of bytes from `start` to before `end`, in stream offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Block {
    /// The first offset.
    pub start: u64,
    /// The offset after the last one.
    pub end: u64,
}

/// Up to four blocks of a SACK option (RFC 2018, section 3), the most recent first; the first may be a
/// duplicate (RFC 2883, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SackBlocks {
    blocks: [Block; 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; leaves it out where there are four already.
    pub fn push(&mut self, block: Block) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = block;
            self.count += 1;
        }
    }

    /// The blocks, the most recent first.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count).min(4)]
    }
}

/// Options that most segments lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Options {
    /// Those of a SYN.
    Syn {
        /// The largest segment that the sender of this one takes, without options (RFC 6691), in bytes.
        mss: u16,
        /// The shift of the windows that follow (RFC 7323, section 2), or `None`.
        scale: Option<u8>,
        /// SACK is permitted (RFC 2018, section 2).
        sack: bool,
    },
    /// The SACK option.
    Sack(SackBlocks),
}

/// A segment as the model has it: the fields of its header, and how long its data are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment {
    /// The offset of the SYN (0), of the first byte of data, or of the FIN.
    pub sequence: u64,
    /// The next offset that the sender expects of the other direction; valid with [`Flags::ACK`].
    pub ack: u64,
    /// How many bytes from `ack` on the sender takes: already scaled, and a multiple of the scale.
    pub window: u32,
    /// The time of the sender's timestamp clock (TSval); valid with [`Flags::TIMESTAMPS`].
    pub stamp: u32,
    /// The timestamp that is echoed (TSecr); valid with [`Flags::TIMESTAMPS`] and [`Flags::ACK`].
    pub echo: u32,
    /// How many bytes of data.
    pub length: u16,
    /// Its control bits, and which options it has.
    pub flags: Flags,
    /// Other options, or none.
    pub options: Option<Box<Options>>,
}

impl Segment {
    /// Whether all flags of `flags` are set.
    #[inline(always)]
    pub const fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// How many sequence numbers it takes: its data, and one each for SYN and FIN (RFC 9293, section 3.4).
    #[inline(always)]
    pub const fn sequence_length(&self) -> u64 {
        self.length as u64 + self.has(Flags::SYN) as u64 + self.has(Flags::FIN) as u64
    }

    /// The offset after its last sequence number.
    #[inline(always)]
    pub const fn end(&self) -> u64 {
        self.sequence + self.sequence_length()
    }

    /// The blocks of its SACK option; none where it has no such option.
    #[inline(always)]
    pub fn sack_blocks(&self) -> &[Block] {
        match self.options.as_deref() {
            Some(Options::Sack(blocks)) => blocks.blocks(),
            _ => &[],
        }
    }

    /// The bytes of its TCP header with options, padded to words of four bytes: 20 to 60.
    pub fn header_bytes(&self) -> u32 {
        // Kind, length and two values of four bytes, after two bytes of padding (RFC 7323, appendix A).
        let stamps = if self.has(Flags::TIMESTAMPS) { 12 } else { 0 };
        20 + stamps
            + match self.options.as_deref() {
                None => 0,
                // On a SYN, SACK-permitted takes the place of the padding before the timestamps.
                Some(Options::Syn { scale, sack, .. }) => {
                    4 + if scale.is_some() { 4 } else { 0 } + if *sack && stamps == 0 { 4 } else { 0 }
                }
                Some(Options::Sack(blocks)) => sack_option_bytes(blocks.blocks().len()),
            }
    }
}

/// The bytes of a SACK option of `blocks` blocks with two bytes of padding (RFC 2018, section 3).
pub(crate) fn sack_option_bytes(blocks: usize) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u32 }
}

/// The sequence number on the wire of an offset, in a direction whose SYN has the number `first`: modulo 2^32
/// (RFC 9293, section 3.4).
///
/// ```
/// use paceline_packets::tcp::wire_number;
/// assert_eq!(wire_number(u32::MAX, 1), 0);
/// ```
pub const fn wire_number(first: u32, offset: u64) -> u32 {
    first.wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has the number `number` on the wire: the inverse of [`wire_number`]
/// within 2^31 of what is expected.
///
/// ```
/// use paceline_packets::tcp::{offset_near, wire_number};
/// let offset = 3 << 32 | 5;
/// assert_eq!(offset_near(7, wire_number(7, offset), offset - 1000), offset);
/// ```
pub const fn offset_near(first: u32, number: u32, near: u64) -> u64 {
    let ahead = number.wrapping_sub(wire_number(first, near)) as i32;
    near.saturating_add_signed(ahead as i64)
}

/// The window field of a header: the window shifted by the scale that the sender announced, 0 on a SYN (RFC
/// 7323, section 2.2).
pub const fn wire_window(window: u32, scale: u8) -> u16 {
    let shifted = window >> scale;
    if shifted > 0xffff { 0xffff } else { shifted as u16 }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_plain_segment_is_small() {
        assert!(size_of::<Segment>() <= 40, "{}", size_of::<Segment>());
    }

    #[test]
    fn headers_have_the_bytes_of_real_ones() {
        let mut segment = Segment { flags: Flags::ACK, ..Segment::default() };
        assert_eq!(segment.header_bytes(), 20);
        segment.flags = segment.flags | Flags::TIMESTAMPS;
        assert_eq!(segment.header_bytes(), 32);
        let mut blocks = SackBlocks::default();
        for n in 0..5 {
            blocks.push(Block { start: n, end: n + 1 });
        }
        assert_eq!(blocks.blocks().len(), 4);
        segment.options = Some(Box::new(Options::Sack(SackBlocks { count: 3, ..blocks })));
        assert_eq!(segment.header_bytes(), 60, "three blocks beside timestamps fill the header");
        // MSS, SACK permitted, timestamps, padding and scale: 20 bytes, as a SYN of Linux has them.
        segment.options = Some(Box::new(Options::Syn { mss: 1460, scale: Some(7), sack: true }));
        assert_eq!(segment.header_bytes(), 40);
    }

    #[test]
    fn numbers_on_the_wire_wrap_and_come_back() {
        for (first, offset) in [(0, 0u64), (u32::MAX, 1), (77, (1 << 32) - 78), (5, 9 << 40)] {
            for near in [offset, offset + 0x7fff_ffff, offset.saturating_sub(0x7fff_ffff)] {
                assert_eq!(offset_near(first, wire_number(first, offset), near), offset);
            }
        }
        assert_eq!((wire_window(65_535 << 7, 7), wire_window(u32::MAX, 0)), (65_535, 65_535));
    }
}

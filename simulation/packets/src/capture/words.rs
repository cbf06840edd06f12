//! Records as words of 64 bits, since a log of all links has one for each hop.
//!
//! The first bits of a word tell the entries apart:
//!
//! | bits | entry | words |
//! |---|---|---|
//! | 0 | a datagram: the time since the record before, the lower half of the flow, the number | 1 |
//! | 10 | a segment: lengths, flags and number; time and flow; offsets; window and times; its options | 5 to 9 |
//! | 110 | the shape that packets have from now on | 3 |
//! | 1110 | the moment from which the time of the next record counts | 2 |
//! | 1111 | a frame of a machine: length and mark, both times, its bytes | 3 and one for 8 bytes |
//!
//! A shape is what packets of a port mostly share: how long they are under way, their length and their mark.
//! There is one for either transport and direction, and an entry wherever it changes.
//!
//! Invariants: what was written is read as the same record, but for offsets of segments, of which files have
//! the lower 32 bits; equal records are equal words.

use std::array;

use crate::queue::Ecn;
use crate::tcp::{Block, Flags, Options, SackBlocks, Segment};

use super::record::{Packet, Record};

/// The words that a record takes at most, but for a frame: a moment, a shape, and a segment with four blocks.
pub(super) const MOST_WORDS: usize = 2 + 3 + 5 + 4;

/// The times since the record before that a datagram and a segment have room for, in picoseconds.
const DATAGRAM_BITS: u32 = 30;
const SEGMENT_BITS: u32 = 32;

const SEGMENT: u64 = 0b10 << 62;
const SHAPE: u64 = 0b110 << 61;
const MOMENT: u64 = 0b1110 << 60;
const FRAME: u64 = 0b1111 << 60;
/// The mark of a frame, above its length in bytes.
const FRAME_ECN: u32 = 32;
/// The bit of an entry's first word that says that a packet goes to the flow's sender.
const DATAGRAM_BACK: u32 = 62;
const SEGMENT_BACK: u32 = 61;
/// The options of a segment: none, those of a SYN, or two more than there are blocks.
const OPTIONS: u32 = 48;
const SYN_OPTIONS: u64 = 1;

/// What packets of a port mostly share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    /// From the first bit sent to the last one there, in picoseconds, modulo 2^64.
    travel_ps: u64,
    bytes: u32,
    /// The upper half of the flow, of datagrams.
    flow_high: u16,
    ecn: Ecn,
}

/// What the entries before say.
#[derive(Clone, Debug)]
pub(super) struct Before {
    start_ps: u64,
    /// By transport and direction.
    shapes: [Shape; 4],
}

impl Default for Before {
    fn default() -> Self {
        let shape = Shape { travel_ps: 0, bytes: 0, flow_high: 0, ecn: Ecn::NotCapable };
        Self { start_ps: 0, shapes: [shape; 4] }
    }
}

impl Before {
    /// Writes what a record changes of what was before, and gives the time since then.
    #[inline(always)]
    fn follow(&mut self, start_ps: u64, bits: u32, place: usize, shape: Shape, words: &mut Vec<u64>) -> u64 {
        let mut delta = start_ps.wrapping_sub(self.start_ps);
        // Longer than there is room for, or earlier than the record before: the moment stands by itself.
        if delta >> bits != 0 {
            words.extend_from_slice(&[MOMENT, start_ps]);
            delta = 0;
        }
        self.start_ps = start_ps;
        if self.shapes[place] != shape {
            self.shapes[place] = shape;
            write_shape(place, shape, words);
        }
        delta
    }
}

#[inline(never)]
fn write_shape(place: usize, shape: Shape, words: &mut Vec<u64>) {
    let Shape { travel_ps, bytes, flow_high, ecn } = shape;
    let first = SHAPE | (place as u64) << 8 | ecn as u64;
    words.extend_from_slice(&[first, travel_ps, u64::from(bytes) << 32 | u64::from(flow_high)]);
}

/// Appends a record to `words`, which has room.
#[inline(always)]
pub(super) fn write(record: &Record<&Segment, &[u8]>, before: &mut Before, words: &mut Vec<u64>) {
    let &Record { start_ps, end_ps, ref packet } = record;
    let travel_ps = end_ps.wrapping_sub(start_ps);
    match *packet {
        Packet::Udp { flow, number, bytes, ecn, is_back } => {
            let shape = Shape { travel_ps, bytes, flow_high: (flow >> 16) as u16, ecn };
            let delta = before.follow(start_ps, DATAGRAM_BITS, usize::from(is_back), shape, words);
            let identity = u64::from(flow & 0xffff) << 16 | u64::from(number);
            words.push(u64::from(is_back) << DATAGRAM_BACK | delta << 32 | identity);
        }
        Packet::Tcp { segment, flow, number, bytes, ecn, is_back } => {
            let shape = Shape { travel_ps, bytes, flow_high: 0, ecn };
            let delta = before.follow(start_ps, SEGMENT_BITS, 2 + usize::from(is_back), shape, words);
            let options = match segment.options.as_deref() {
                None => 0,
                Some(Options::Syn { .. }) => SYN_OPTIONS,
                Some(Options::Sack(blocks)) => SYN_OPTIONS + 1 + blocks.blocks().len() as u64,
            };
            let lengths = u64::from(segment.length) << 16 | u64::from(number);
            let first = SEGMENT | u64::from(is_back) << SEGMENT_BACK | options << OPTIONS;
            words.extend_from_slice(&[
                first | u64::from(segment.flags.bits()) << 32 | lengths,
                delta << 32 | u64::from(flow),
                pair(segment.sequence, segment.ack),
                u64::from(segment.window) << 32 | u64::from(segment.stamp),
                u64::from(segment.echo),
            ]);
            if let Some(options) = segment.options.as_deref() {
                write_options(options, words);
            }
        }
        Packet::Frame { content, ecn } => {
            words.extend_from_slice(&[
                FRAME | (ecn as u64) << FRAME_ECN | content.len() as u64,
                start_ps,
                end_ps,
            ]);
            words.extend(content.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            }));
        }
    }
}

/// The lower halves of two offsets.
fn pair(first: u64, second: u64) -> u64 {
    first << 32 | second & 0xffff_ffff
}

fn halves(word: u64) -> [u32; 2] {
    [(word >> 32) as u32, word as u32]
}

#[inline(never)]
fn write_options(options: &Options, words: &mut Vec<u64>) {
    match options {
        Options::Syn { mss, scale, sack } => {
            let scale = scale.map_or(0, |scale| 1 << 8 | u64::from(scale));
            words.push(u64::from(*mss) << 32 | u64::from(*sack) << 16 | scale);
        }
        Options::Sack(blocks) => {
            words.extend(blocks.blocks().iter().map(|block| pair(block.start, block.end)));
        }
    }
}

/// Takes records as they are read. There is a function for each kind of packet, so that datagrams can be
/// taken without going through memory as a record of any kind, which takes longer than the rest.
pub(super) trait Visit {
    type Gives;
    fn datagram(&mut self, record: Record) -> Self::Gives;
    fn segment(&mut self, record: Record) -> Self::Gives;
    fn frame(&mut self, record: Record) -> Self::Gives;
}

/// Gives records as they are.
pub(super) struct AsTheyAre;

impl Visit for AsTheyAre {
    type Gives = Record;
    fn datagram(&mut self, record: Record) -> Record {
        record
    }
    fn segment(&mut self, record: Record) -> Record {
        record
    }
    fn frame(&mut self, record: Record) -> Record {
        record
    }
}

/// Reads records from the words of a log.
#[derive(Default)]
pub(super) struct Reader {
    before: Before,
}

impl Reader {
    /// Takes the next record off `words`; nothing where there is none. Those of one record are all there.
    #[inline(always)]
    pub fn next<V: Visit>(&mut self, words: &mut &[u64], visitor: &mut V) -> Option<V::Gives> {
        loop {
            let first = take(words)?;
            if first >> 63 == 0 {
                return Some(visitor.datagram(self.datagram(first)));
            }
            if first >> 62 == SEGMENT >> 62 {
                return Some(visitor.segment(self.segment(first, words)));
            }
            if first >> 60 == FRAME >> 60 {
                return Some(visitor.frame(frame(first, words)));
            }
            self.change(first, words);
        }
    }

    #[inline(never)]
    fn change(&mut self, first: u64, words: &mut &[u64]) {
        if first == MOMENT {
            [self.before.start_ps] = take_all(words);
            return;
        }
        let [travel_ps, last] = take_all(words);
        let [bytes, flow_high] = halves(last);
        let place = (first >> 8 & 0b11) as usize;
        let ecn = mark(first);
        self.before.shapes[place] = Shape { travel_ps, bytes, flow_high: flow_high as u16, ecn };
    }

    /// The times of a record that begins so long after the one before, and its shape.
    #[inline(always)]
    fn follow(&mut self, delta: u64, place: usize) -> (u64, u64, Shape) {
        let shape = self.before.shapes[place];
        self.before.start_ps = self.before.start_ps.wrapping_add(delta);
        let start_ps = self.before.start_ps;
        (start_ps, start_ps.wrapping_add(shape.travel_ps), shape)
    }

    #[inline(always)]
    fn datagram(&mut self, word: u64) -> Record {
        let is_back = word >> DATAGRAM_BACK != 0;
        let delta = word >> 32 & ((1 << DATAGRAM_BITS) - 1);
        let (start_ps, end_ps, shape) = self.follow(delta, usize::from(is_back));
        let Shape { bytes, flow_high, ecn, .. } = shape;
        let flow = u32::from(flow_high) << 16 | word as u32 >> 16;
        let packet = Packet::Udp { flow, number: word as u16, bytes, ecn, is_back };
        Record { start_ps, end_ps, packet }
    }

    #[inline(always)]
    fn segment(&mut self, first: u64, words: &mut &[u64]) -> Record {
        let [time, offsets, window, echo] = take_all(words);
        let is_back = first >> SEGMENT_BACK & 1 != 0;
        let [delta, flow] = halves(time);
        let (start_ps, end_ps, shape) = self.follow(u64::from(delta), 2 + usize::from(is_back));
        let [sequence, ack] = halves(offsets).map(u64::from);
        let [window, stamp] = halves(window);
        let options = match first >> OPTIONS & 0b111 {
            0 => None,
            SYN_OPTIONS => {
                let [word] = take_all(words);
                let scale = (word >> 8 & 1 != 0).then_some(word as u8);
                Some(Options::Syn { mss: (word >> 32) as u16, scale, sack: word >> 16 & 1 != 0 })
            }
            more => {
                let mut blocks = SackBlocks::default();
                for _ in SYN_OPTIONS + 1..more {
                    let [block] = take_all(words);
                    let [start, end] = halves(block).map(u64::from);
                    blocks.push(Block { start, end });
                }
                Some(Options::Sack(blocks))
            }
        };
        let segment = Segment {
            sequence,
            ack,
            window,
            stamp,
            echo: echo as u32,
            length: (first >> 16) as u16,
            flags: Flags::of_bits((first >> 32) as u16),
            options: options.map(Box::new),
        };
        let Shape { bytes, ecn, .. } = shape;
        Record {
            start_ps,
            end_ps,
            packet: Packet::Tcp { segment, flow, number: first as u16, bytes, ecn, is_back },
        }
    }
}

/// The mark in the last bits of a word.
fn mark(word: u64) -> Ecn {
    match word & 0b11 {
        0 => Ecn::NotCapable,
        1 => Ecn::Capable0,
        2 => Ecn::Capable1,
        _ => Ecn::Congested,
    }
}

#[inline(never)]
fn frame(first: u64, words: &mut &[u64]) -> Record {
    let [start_ps, end_ps] = take_all(words);
    let length = first as u32 as usize;
    let (bytes, rest) = words.split_at(length.div_ceil(8));
    *words = rest;
    let bytes = bytes.iter().flat_map(|word| word.to_le_bytes()).take(length);
    Record {
        start_ps,
        end_ps,
        packet: Packet::Frame { content: bytes.collect(), ecn: mark(first >> FRAME_ECN) },
    }
}

fn take(words: &mut &[u64]) -> Option<u64> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    Some(*first)
}

fn take_all<const N: usize>(words: &mut &[u64]) -> [u64; N] {
    array::from_fn(|_| take(words).expect("an entry is whole"))
}

//! The receiving half: reassembly, the window, selective ACKs, delayed ACKs and the echo of congestion marks.
//!
//! Invariants: ranges lie beyond the next expected offset, do not touch each other, and the most recent is
//! first. The right edge up to which data is taken never moves back (RFC 9293, section 3.8.6).

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::segment::{Block, SackBlocks};
use super::{Counters, Ecn, Flags, Segment, Settings};

/// When an ACK is to be sent for what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AckNeed {
    /// Nothing arrived that needs one.
    None,
    /// It may wait for more data or for the timer.
    Delayed,
    /// It is due now.
    Now,
}

#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct Receiver {
    /// The next expected offset; 0 before the peer's SYN.
    pub next: u64,
    /// What the application has taken, as an offset.
    read: u64,
    /// The right edge of the window as last announced.
    edge: u64,
    /// What arrived beyond `next`.
    ranges: Vec<Block>,
    /// A block that arrived twice, to be reported once (RFC 2883, section 4).
    duplicate: Option<Block>,
    /// The offset of the FIN, once one has arrived.
    fin: Option<u64>,
    /// When a delayed ACK is due; `Time::MAX` for none.
    pub ack_at: Time,
    /// The timestamp to echo (TS.Recent; RFC 7323, section 4.3).
    pub stamp: u32,
    /// The last offset acknowledged (Last.ACK.sent).
    acknowledged: u64,
    /// Segments since the last ACK.
    unacknowledged: u8,
    /// Windows are shifted by this much; 0 without scaling.
    pub scale: u8,
    /// ACKs have ECE: until the peer says CWR (RFC 3168), or as the last packet was marked (DCTCP.CE of RFC
    /// 8257).
    pub is_echoing: bool,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self {
            next: 0,
            read: 1,
            edge: 0,
            ranges: Vec::new(),
            duplicate: None,
            fin: None,
            ack_at: Time::MAX,
            stamp: 0,
            acknowledged: 0,
            unacknowledged: 0,
            scale: 0,
            is_echoing: false,
        }
    }

    /// The peer's SYN has arrived.
    pub(super) const fn begin(&mut self, stamp: u32) {
        self.next = 1;
        self.stamp = stamp;
    }

    /// Bytes in order that the application has not taken; the FIN is none.
    pub(super) const fn readable(&self) -> u64 {
        let end = if self.is_whole() { self.next - 1 } else { self.next };
        end.saturating_sub(self.read)
    }

    /// The FIN and all before it have arrived.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self.fin, Some(fin) if self.next > fin)
    }

    /// The application takes bytes. Returns whether the window has opened so far that the peer is to hear of
    /// it.
    pub(super) fn take(&mut self, bytes: u64, mss: u16, settings: &Settings) -> bool {
        self.read += bytes.min(self.readable());
        // RFC 9293, section 3.8.6.2.2: the edge moves in steps of a segment or half of the buffer.
        let step = u64::from(mss).min(u64::from(settings.receive_buffer) / 2).max(1);
        let was_narrow = self.edge.saturating_sub(self.next) < step;
        was_narrow && self.read + u64::from(settings.receive_buffer) >= self.edge + step
    }

    /// Whether a segment has something to do with the window (RFC 9293, section 3.10.7.4, first step).
    pub(super) const fn accepts(&self, segment: &Segment) -> bool {
        let (start, end) = (segment.sequence, segment.end());
        if start == end {
            return start >= self.acknowledged && start <= self.edge;
        }
        end > self.next && start < self.edge
    }

    /// RFC 7323, section 4.3, rule 2: the timestamp of the earliest segment that is not yet acknowledged.
    pub(super) const fn note_stamp(&mut self, segment: &Segment) {
        // 64-bit offsets do not wrap, so that old duplicates are known by them and PAWS (section 5) is not
        // needed.
        let is_older = (segment.stamp.wrapping_sub(self.stamp) as i32) < 0;
        if segment.has(Flags::TIMESTAMPS) && !is_older && segment.sequence <= self.acknowledged {
            self.stamp = segment.stamp;
        }
    }

    /// Takes in the data of a segment.
    pub(super) fn on_data(
        &mut self,
        segment: &Segment,
        settings: &Settings,
        counters: &mut Counters,
    ) -> AckNeed {
        let data_end = segment.sequence + u64::from(segment.length);
        if segment.has(Flags::FIN) && data_end < self.edge {
            self.fin = Some(data_end);
        }
        let block = Block { start: segment.sequence, end: segment.end().min(self.edge.max(self.next)) };
        if block.start >= block.end {
            // All of it is beyond the window: the ACK shows the peer where the window ends.
            return AckNeed::Now;
        }
        if block.end <= self.next {
            counters.duplicate_segments += 1;
            self.duplicate = Some(block);
            return AckNeed::Now;
        }
        let had_gaps = !self.ranges.is_empty();
        if block.start > self.next {
            counters.out_of_order += 1;
            self.keep(block, counters);
            return AckNeed::Now;
        }
        let before = self.next;
        self.advance(block.end);
        counters.delivered += self.next - before - u64::from(self.is_whole());
        if settings.reads_at_once {
            self.read = if self.is_whole() { self.next - 1 } else { self.next };
        }
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        // RFC 5681, section 4.2: at once where it fills a gap; and at the end of the stream, which nothing
        // follows.
        if had_gaps || self.is_whole() || self.unacknowledged >= settings.ack_every {
            AckNeed::Now
        } else {
            AckNeed::Delayed
        }
    }

    /// All before `end` is in order now, and what follows without a gap.
    fn advance(&mut self, end: u64) {
        self.next = self.next.max(end);
        while let Some(at) = self.ranges.iter().position(|range| range.start <= self.next) {
            self.next = self.next.max(self.ranges.remove(at).end);
        }
    }

    /// Keeps what arrived beyond a gap, as the first range (RFC 2018, section 4).
    fn keep(&mut self, mut block: Block, counters: &mut Counters) {
        let is_known = |range: &Block| range.start <= block.start && block.end <= range.end;
        if self.ranges.iter().any(is_known) {
            counters.duplicate_segments += 1;
            self.duplicate = Some(block);
        }
        self.ranges.retain(|range| {
            let is_apart = range.end < block.start || block.end < range.start;
            if !is_apart {
                block = Block { start: block.start.min(range.start), end: block.end.max(range.end) };
            }
            is_apart
        });
        self.ranges.insert(0, block);
    }

    /// The mark of a data segment that has arrived, before its data is taken in. Returns whether what arrived
    /// before is to be acknowledged first, with the echo as it was (RFC 8257, section 3.2).
    pub(super) fn note_mark(&mut self, segment: &Segment, ce: bool, ecn: Ecn) -> bool {
        match ecn {
            Ecn::Off => false,
            Ecn::Classic => {
                // RFC 3168, section 6.1.3: CWR ends the echo, unless this very packet is marked.
                self.is_echoing = ce || self.is_echoing && !segment.has(Flags::CWR);
                false
            }
            Ecn::Dctcp => self.is_echoing != ce && self.unacknowledged > 0,
        }
    }

    /// Moves the echo to the state of the last packet (RFC 8257, section 3.2), after the ACK for what came
    /// before.
    pub(super) const fn set_echo(&mut self, ce: bool) {
        self.is_echoing = ce;
    }

    /// The window to announce, in bytes from the next expected offset: a multiple of the scale.
    pub(super) fn window(&self, mss: u16, settings: &Settings) -> u32 {
        let buffer = u64::from(settings.receive_buffer);
        let standing = self.edge.saturating_sub(self.next);
        let free = (self.read + buffer).saturating_sub(self.next);
        let step = u64::from(mss).min(buffer / 2).max(1);
        let unit = 1 << self.scale;
        // Section 3.8.6.2.2 of RFC 9293 again: no small steps.
        let wide = if free >= standing + step || free >= buffer { free / unit * unit } else { 0 };
        // Rounded down, the announced edge may be a little before the last one (RFC 7323, section 2.4): data
        // up to that one is taken all the same. Rounded up it would creep beyond the buffer.
        let kept = standing / unit * unit;
        wide.max(kept).min(0xffff << self.scale) as u32
    }

    /// An ACK leaves, with the window `window`.
    pub(super) const fn acknowledge(&mut self, window: u32) {
        let edge = self.next + window as u64;
        self.edge = if edge > self.edge { edge } else { self.edge };
        self.acknowledged = self.next;
        self.unacknowledged = 0;
        self.ack_at = Time::MAX;
    }

    /// The blocks to report, at most `most`: a duplicate once (RFC 2883, section 4), then the most recent
    /// ranges.
    pub(super) fn sack_blocks(&mut self, most: usize) -> Option<SackBlocks> {
        if self.ranges.is_empty() && self.duplicate.is_none() {
            return None;
        }
        let mut blocks = SackBlocks::default();
        self.duplicate.take().iter().chain(&self.ranges).take(most).for_each(|&block| blocks.push(block));
        Some(blocks)
    }

    /// How many blocks would be reported.
    pub(super) fn sack_count(&self) -> usize {
        self.ranges.len() + usize::from(self.duplicate.is_some())
    }

    /// Whether the invariants hold.
    pub(super) fn is_consistent(&self) -> bool {
        let is_apart = |(at, range): (usize, &Block)| {
            let others = self.ranges.iter().enumerate().filter(|&(other, _)| other != at);
            let touches = |other: &Block| other.start <= range.end && range.start <= other.end;
            range.start > self.next && range.start < range.end && !others.map(|(_, other)| other).any(touches)
        };
        self.ranges.iter().enumerate().all(is_apart)
            && self.read <= self.next.max(1)
            && self.acknowledged <= self.next
            && self.next <= u64::MAX / 2
            && self.edge <= u64::MAX / 2
            && self.scale <= 14
    }

    pub(super) fn arm_delayed_ack(&mut self, now: Time, settings: &Settings) {
        if self.ack_at == Time::MAX {
            self.ack_at = now.saturating_add(settings.ack_delay);
        }
    }
}

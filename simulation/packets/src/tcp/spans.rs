//! What was sent and is not yet acknowledged: the sender's scoreboard (RFC 6675, section 3) with the time of
//! every transmission (RFC 8985, section 5.1).
//!
//! A span is a run of bytes with one state. What is sent in one burst is one span, so that a connection
//! without losses has one for each ACK in the round trip; selective ACKs and retransmissions split spans.
//!
//! Invariants: spans are in order, without gaps, from the first unacknowledged offset to the next one to
//! send. The three sums are those of the spans' states.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::segment::Block;

/// The receiver has it (SACK).
pub(super) const SACKED: u8 = 1;
/// It is taken for lost. It stays so when it is sent again.
pub(super) const LOST: u8 = 2;
/// It was sent again, and that transmission is under way.
pub(super) const RESENT: u8 = 4;
/// It was sent again at some time: its ACK does not say which transmission arrived (Karn; RFC 6298, section
/// 3).
pub(super) const AMBIGUOUS: u8 = 8;

/// The model of congestion control knows of the loss.
const NOTED: u8 = 16;

/// A run of bytes that were last sent at one time and have one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Span {
    /// The first offset.
    pub start: u64,
    /// When it was last sent.
    pub sent: Time,
    /// How many sequence numbers.
    pub length: u32,
    /// Bits of its state.
    pub state: u8,
}

impl Span {
    pub(super) const fn end(&self) -> u64 {
        self.start + self.length as u64
    }

    pub(super) const fn is(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Whether it is to be sent again.
    const fn is_waiting(&self) -> bool {
        self.state & (LOST | RESENT | SACKED) == LOST
    }

    /// Whether the network is thought to have it: not if it is with the receiver, or lost and not sent again.
    pub(super) const fn is_under_way(&self) -> bool {
        !self.is(SACKED) && (!self.is(LOST) || self.is(RESENT))
    }
}

/// The scoreboard (RFC 6675): what is with the receiver, lost, and sent again.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct Spans {
    list: VecDeque<Span>,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// Bytes that are lost and not sent again: what waits for retransmission.
    waiting: u64,
    /// Nothing before this offset waits, as long as something does.
    waiting_from: u64,
    /// Nothing from this offset on is with the receiver.
    sacked_until: u64,
    /// Something was lost of which the model does not know.
    has_news: bool,
}

impl Spans {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) const fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(super) const fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(super) const fn resent(&self) -> u64 {
        self.resent
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Span> {
        self.list.iter()
    }

    pub(super) fn front(&self) -> Option<&Span> {
        self.list.front()
    }

    pub(super) fn back(&self) -> Option<&Span> {
        self.list.back()
    }

    /// Bytes under way (RFC 6675, section 4: `pipe`), of `outstanding` bytes without an ACK: what is neither
    /// with the receiver nor lost, and what was sent again, a second time.
    pub(super) const fn in_flight(&self, outstanding: u64) -> u64 {
        outstanding + self.resent - self.sacked - self.lost
    }

    /// New data was sent.
    pub(super) fn push(&mut self, start: u64, length: u32, sent: Time) {
        match self.list.back_mut() {
            Some(last) if last.sent == sent && last.state == 0 => last.length += length,
            _ => self.list.push_back(Span { start, sent, length, state: 0 }),
        }
    }

    /// Adds or takes the bytes of a state from the sums.
    fn count(&mut self, state: u8, length: u32, is_added: bool) {
        let waiting = if state & (LOST | RESENT) == LOST { LOST } else { 0 };
        for (sum, has) in [
            (&mut self.sacked, state & SACKED),
            (&mut self.lost, state & LOST),
            (&mut self.resent, state & RESENT),
            (&mut self.waiting, waiting),
        ] {
            if has != 0 {
                *sum = if is_added { *sum + u64::from(length) } else { *sum - u64::from(length) };
            }
        }
    }

    fn set_state(&mut self, at: usize, state: u8) {
        let Span { state: old, length, .. } = self.list[at];
        if old != state {
            self.count(old, length, false);
            self.count(state, length, true);
            self.list[at].state = state;
        }
    }

    /// All before `ack` has arrived: `seen` gets each span, or part of one, that is newly acknowledged, with
    /// the state it had.
    pub(super) fn acknowledge(&mut self, ack: u64, mut seen: impl FnMut(&Span)) {
        while let Some(front) = self.list.front_mut() {
            if front.start >= ack {
                break;
            }
            let done = Span { length: front.end().min(ack).wrapping_sub(front.start) as u32, ..*front };
            if done.length == front.length {
                self.list.pop_front();
            } else {
                front.start = ack;
                front.length -= done.length;
            }
            if done.state != 0 {
                self.count(done.state, done.length, false);
            }
            seen(&done);
        }
    }

    /// The place of the span that has `offset`, or begins there after a split; the length of the list if none
    /// has.
    fn split(&mut self, offset: u64) -> usize {
        let at = self.list.partition_point(|span| span.end() <= offset);
        if let Some(span) = self.list.get_mut(at)
            && span.start < offset
        {
            let head = (offset - span.start) as u32;
            let tail = Span { start: offset, length: span.length - head, ..*span };
            span.length = head;
            self.list.insert(at + 1, tail);
            return at + 1;
        }
        at
    }

    /// The receiver has a block beyond the cumulative ACK: `seen` gets each span that is newly so.
    pub(super) fn sack(&mut self, block: Block, mut seen: impl FnMut(&Span)) {
        let has_new = |span: &Span| !span.is(SACKED) && span.start < block.end;
        let first = self.list.partition_point(|span| span.end() <= block.start);
        if !self.list.range(first..).take_while(|span| span.start < block.end).any(has_new) {
            return;
        }
        self.sacked_until = self.sacked_until.max(block.end);
        let mut at = self.split(block.start);
        let end = self.split(block.end);
        let begin = at;
        for place in begin..end {
            let span = self.list[place];
            if !span.is(SACKED) {
                seen(&span);
                // What has arrived is neither lost nor under way.
                self.set_state(place, SACKED);
            }
        }
        // Spans with the receiver need no times: neighbours become one, so that the list stays short.
        at = at.saturating_sub(1);
        while at + 1 < self.list.len() && self.list[at].start < block.end {
            if self.list[at].is(SACKED) && self.list[at + 1].is(SACKED) {
                let next = self.list[at + 1].length;
                self.list[at].length += next;
                self.list.remove(at + 1);
            } else {
                at += 1;
            }
        }
    }

    /// Takes the first `length` bytes for lost, if they are under way.
    pub(super) fn lose_front(&mut self, length: u32) {
        let Some(front) = self.list.front().copied() else { return };
        if front.is_under_way() {
            self.split(front.start + u64::from(length));
            self.lose(0);
        }
    }

    /// Takes the span at `at` for lost: what was sent again needs to be sent once more.
    fn lose(&mut self, at: usize) {
        let Span { state, start, .. } = self.list[at];
        self.waiting_from = if self.waiting == 0 { start } else { self.waiting_from.min(start) };
        self.has_news = true;
        self.set_state(at, (state | LOST) & !RESENT);
    }

    /// Takes all spans under way for lost for which `is_lost` is true. Returns how many bytes that was.
    pub(super) fn lose_where(&mut self, is_lost: impl FnMut(&Span) -> bool) -> u64 {
        self.lose_until(|_| false, is_lost)
    }

    /// The same, up to the first span for which `is_end` is true.
    pub(super) fn lose_until(
        &mut self,
        is_end: impl Fn(&Span) -> bool,
        mut is_lost: impl FnMut(&Span) -> bool,
    ) -> u64 {
        let mut bytes = 0;
        for at in 0..self.list.len() {
            let span = self.list[at];
            if is_end(&span) {
                break;
            }
            if span.is_under_way() && is_lost(&span) {
                bytes += u64::from(span.length);
                self.lose(at);
            }
        }
        bytes
    }

    /// `IsLost` of RFC 6675, section 4, for all at once: a span is lost where the receiver has three separate
    /// blocks above it, or more than two full segments of bytes. Returns how many bytes are newly lost.
    pub(super) fn lose_below_sacked(&mut self, mss: u32) -> u64 {
        let (mut blocks, mut above, mut bytes, mut is_block) = (0, 0, 0, false);
        let end = self.list.partition_point(|span| span.start < self.sacked_until);
        for at in (0..end).rev() {
            let span = self.list[at];
            if span.is(SACKED) {
                blocks += u32::from(!is_block);
                above += u64::from(span.length);
            } else if !span.is(LOST | RESENT) && (blocks >= 3 || above > 2 * u64::from(mss)) {
                bytes += u64::from(span.length);
                self.lose(at);
            }
            is_block = span.is(SACKED);
        }
        bytes
    }

    /// Shows each span that is lost, once, to `see`.
    pub(super) fn note_losses(&mut self, mut see: impl FnMut(&Span)) {
        if !std::mem::take(&mut self.has_news) {
            return;
        }
        for span in &mut self.list {
            if span.state & (LOST | RESENT | SACKED | NOTED) == LOST {
                span.state |= NOTED;
                see(span);
            }
        }
    }

    /// When the oldest of what is outstanding was sent.
    pub(super) fn oldest(&self) -> Time {
        self.list.iter().map(|span| span.sent).min().unwrap_or(Time::MAX)
    }

    pub(super) fn length(&self) -> usize {
        self.list.len()
    }

    /// Whether the invariants hold for what was sent from `una` to `next`.
    pub(super) fn is_consistent(&self, una: u64, next: u64) -> bool {
        let mut at = una;
        let mut sums = Self::default();
        for span in &self.list {
            let is_hidden = span.is_waiting() && span.end() <= self.waiting_from
                || span.is(SACKED) && span.start >= self.sacked_until;
            if span.start != at || span.length == 0 || span.state >= 2 * NOTED || is_hidden {
                return false;
            }
            let Some(end) = at.checked_add(span.length.into()) else { return false };
            at = end;
            sums.count(span.state, span.length, true);
        }
        let found = (self.sacked, self.lost, self.resent, self.waiting);
        at == next && found == (sums.sacked, sums.lost, sums.resent, sums.waiting)
    }

    /// The first span that waits for retransmission.
    pub(super) fn first_waiting(&self) -> Option<Span> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.list.partition_point(|span| span.end() <= self.waiting_from);
        self.list.range(from..).find(|span| span.is_waiting()).copied()
    }

    /// `length` bytes from `start` on were sent again.
    pub(super) fn resend(&mut self, start: u64, length: u32, sent: Time) {
        let at = self.split(start);
        self.split(start + u64::from(length));
        if self.list[at].is_waiting() {
            // It was the first that waited.
            self.waiting_from = start + u64::from(length);
        }
        let state = self.list[at].state;
        self.set_state(at, state & !NOTED | RESENT | AMBIGUOUS);
        self.list[at].sent = sent;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn ten() -> Spans {
        let mut spans = Spans::default();
        for n in 0..10 {
            spans.push(n * 100, 100, Time::nanos(n / 5));
        }
        spans
    }

    /// Offsets, lengths and states.
    fn shown(spans: &Spans) -> Vec<(u64, u32, u8)> {
        spans.iter().map(|span| (span.start, span.length, span.state)).collect()
    }

    #[test]
    fn a_burst_is_one_span() {
        assert_eq!(shown(&ten()), [(0, 500, 0), (500, 500, 0)]);
    }

    #[test]
    fn blocks_split_and_join_spans() {
        let mut spans = ten();
        let mut newly = 0;
        for (start, end) in [(200, 300), (400, 600), (300, 400), (200, 600)] {
            spans.sack(Block { start, end }, |span| newly += span.length);
        }
        assert_eq!(shown(&spans), [(0, 200, 0), (200, 400, SACKED), (600, 400, 0)]);
        assert_eq!((newly, spans.sacked(), spans.in_flight(1000)), (400, 400, 600));
        let mut delivered = 0;
        spans.acknowledge(650, |span| delivered += if span.is(SACKED) { 0 } else { span.length });
        assert_eq!((delivered, shown(&spans)), (250, vec![(650, 350, 0)]));
        assert_eq!(spans.sacked(), 0);
    }

    #[test]
    fn what_is_below_three_blocks_or_two_segments_is_lost() {
        let mut spans = ten();
        spans.sack(Block { start: 300, end: 500 }, |_| ());
        assert_eq!(spans.lose_below_sacked(100), 0, "two segments are not more than two");
        spans.sack(Block { start: 700, end: 710 }, |_| ());
        assert_eq!(spans.lose_below_sacked(100), 300);
        assert_eq!(spans.in_flight(1000), 1000 - 210 - 300);
        assert_eq!(spans.first_waiting().map(|span| span.start), Some(0));
        spans.resend(0, 100, Time::nanos(9));
        assert_eq!(spans.first_waiting().map(|span| span.start), Some(100));
        assert_eq!(spans.in_flight(1000), 1000 - 210 - 300 + 100);
        let mut spans = ten();
        for (start, end) in [(600, 601), (650, 651), (690, 691)] {
            spans.sack(Block { start, end }, |_| ());
        }
        assert_eq!(spans.lose_below_sacked(100), 600);
    }
}

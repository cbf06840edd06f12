//! RACK-TLP (RFC 8985): losses found by time, and probes for losses at the tail.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::spans::{AMBIGUOUS, Span, Spans};

/// The state of RFC 8985, sections 5.2 and 7.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Rack {
    /// When the most recently sent segment that has arrived was sent (RACK.xmit_ts), and its end
    /// (RACK.end_seq).
    sent: Time,
    end: u64,
    /// Its round trip (RACK.rtt).
    rtt: Time,
    /// The highest offset that has arrived (RACK.fack).
    fack: u64,
    /// The end of the probe's flight (TLP.end_seq); 0 for none.
    pub probe_end: u64,
    /// Until this offset is acknowledged, duplicates do not widen the window again (RACK.dsack_round).
    duplicate_round: u64,
    /// The window of reordering in quarters of the least round trip (RACK.reo_wnd_mult), less one.
    widened: u8,
    /// In how many more recoveries it stays so wide (RACK.reo_wnd_persist).
    persists: u8,
    /// Reordering was seen (RACK.reordering_seen).
    is_reordered: bool,
    /// The probe was a retransmission (TLP.is_retrans).
    pub is_probe_old: bool,
}

impl Rack {
    /// Steps 2 and 3 of section 6.2: a span has arrived. `echo` is true where the timestamp it echoes is
    /// older than the span's last transmission.
    pub(super) fn on_arrival(&mut self, span: &Span, now: Time, least: Time, is_echo_older: bool) {
        let rtt = now.saturating_sub(span.sent);
        let is_ambiguous = span.is(AMBIGUOUS);
        if span.end() > self.fack {
            self.fack = span.end();
        } else if span.end() < self.fack && !is_ambiguous {
            self.is_reordered = true;
        }
        // What arrived was likely an earlier transmission: it says nothing of this one.
        if is_ambiguous && (is_echo_older || rtt < least) {
            return;
        }
        if (span.sent, span.end()) >= (self.sent, self.end) {
            (self.sent, self.end, self.rtt) = (span.sent, span.end(), rtt);
        }
    }

    /// Step 4: a duplicate was reported for something below `next`; the window widens once a round trip.
    pub(super) const fn on_duplicate(&mut self, next: u64) {
        if self.duplicate_round == 0 {
            self.duplicate_round = next;
            self.widened = self.widened.saturating_add(1);
            self.persists = 16;
        }
    }

    /// Step 4: the round trip of a reported duplicate is over.
    pub(super) const fn on_advance(&mut self, una: u64) {
        if self.duplicate_round != 0 && una >= self.duplicate_round {
            self.duplicate_round = 0;
        }
    }

    /// Step 4: a recovery has ended.
    pub(super) const fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.widened = 0;
        }
    }

    /// Step 4: RACK.reo_wnd. `is_sure`: in recovery, or three segments were SACKed.
    fn reordering_window(&self, is_sure: bool, least: Time, smoothed: Time) -> Time {
        if !self.is_reordered && is_sure {
            return Time::ZERO;
        }
        if least == Time::MAX {
            return Time::ZERO;
        }
        let quarters = least.as_ticks().saturating_mul(u64::from(self.widened) + 1);
        Time::ticks(quarters / 4).min(smoothed)
    }

    /// Step 5: takes for lost what was sent long enough before what has arrived. Returns how many bytes are
    /// newly lost, and when to look again (`Time::MAX`: not).
    pub(super) fn detect(
        &self,
        spans: &mut Spans,
        now: Time,
        is_sure: bool,
        least: Time,
        smoothed: Time,
    ) -> (u64, Time) {
        let wait = self.rtt.saturating_add(self.reordering_window(is_sure, least, smoothed));
        let mut again = Time::MAX;
        let is_later = |span: &Span| (span.sent, span.end()) >= (self.sent, self.end);
        // What was sent once was sent in the order of offsets: behind the first that left later than what has
        // arrived, all did, and what was sent again later still.
        let is_end = |span: &Span| !span.is(AMBIGUOUS) && is_later(span);
        let lost = spans.lose_until(is_end, |span| {
            if is_later(span) {
                return false;
            }
            let due = span.sent.saturating_add(wait);
            if due > now {
                again = if again == Time::MAX { due } else { again.max(due) };
            }
            due <= now
        });
        (lost, again)
    }

    /// Section 6.3: at a timeout, the first segment is lost, and what was sent long enough ago.
    pub(super) fn detect_at_timeout(
        &self,
        spans: &mut Spans,
        now: Time,
        una: u64,
        least: Time,
        smoothed: Time,
    ) {
        let wait = self.rtt.saturating_add(self.reordering_window(true, least, smoothed));
        spans.lose_where(|span| span.start == una || span.sent.saturating_add(wait) <= now);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::tcp::segment::Block;

    const MS: fn(u64) -> Time = Time::millis;

    #[test]
    fn what_was_sent_before_what_arrived_is_lost_after_a_window() {
        let mut spans = Spans::default();
        (0..4).for_each(|n| spans.push(n * 100, 100, MS(n)));
        let mut rack = Rack::default();
        spans.sack(Block { start: 200, end: 300 }, |span| rack.on_arrival(span, MS(42), MS(40), false));
        // Sent at 0 and 1 ms, the one that arrived at 2 ms; a round trip of 40 and a quarter of it.
        assert_eq!(rack.detect(&mut spans, MS(42), false, MS(40), MS(40)), (0, MS(51)));
        assert_eq!(rack.detect(&mut spans, MS(50), false, MS(40), MS(40)), (100, MS(51)));
        assert_eq!(rack.detect(&mut spans, MS(51), false, MS(40), MS(40)), (100, Time::MAX));
        assert_eq!(spans.waiting(), 200, "the one sent at 3 ms is not judged");
    }

    #[test]
    fn three_sacked_segments_need_no_window_unless_there_was_reordering() {
        let mut spans = Spans::default();
        (0..5).for_each(|n| spans.push(n * 100, 100, MS(n)));
        let mut rack = Rack::default();
        spans.sack(Block { start: 200, end: 500 }, |span| rack.on_arrival(span, MS(44), MS(40), false));
        let mut other = (rack, spans.clone());
        assert_eq!(rack.detect(&mut spans, MS(44), true, MS(40), MS(40)), (200, Time::MAX));
        // Segment 1 arrives after all: the order of arrival was another one.
        other.1.sack(Block { start: 100, end: 200 }, |span| other.0.on_arrival(span, MS(45), MS(40), false));
        assert_eq!(other.0.detect(&mut other.1, MS(45), true, MS(40), MS(40)), (0, MS(50)));
        other.0.on_duplicate(500);
        other.0.on_duplicate(500);
        assert_eq!(other.0.detect(&mut other.1, MS(50), true, MS(40), MS(40)), (0, MS(60)), "twice as wide");
    }

    #[test]
    fn an_ack_of_the_first_transmission_says_nothing_of_the_second() {
        let again = Span { start: 0, sent: MS(50), length: 100, state: AMBIGUOUS };
        // Sooner than any round trip, or with an echo of an older timestamp.
        for (arrives, is_echo_older, is_taken) in [(89, false, false), (95, true, false), (95, false, true)] {
            let mut rack = Rack::default();
            rack.on_arrival(&Span { start: 100, sent: MS(1), length: 100, state: 0 }, MS(41), MS(40), false);
            rack.on_arrival(&again, MS(arrives), MS(40), is_echo_older);
            assert_eq!(rack.sent == MS(50), is_taken, "{arrives} ms, older echo: {is_echo_older}");
            assert!(!rack.is_reordered, "what was sent again is no reordering");
        }
    }
}

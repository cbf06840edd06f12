//! Loss detection and fast recovery: NewReno (RFC 6582), SACK (RFC 6675) and RACK (RFC 8985), and what a
//! timeout does.

use paceline_kernel::Time;

use super::congestion::Cause;
use super::prr::PrrAck;
use super::segment::Block;
use super::sender::{Phase, Sender};
use super::{Connection, Segment, Settings, Step};

/// What an ACK brought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// What was outstanding before it (FlightSize of RFC 5681).
    pub flight: u64,
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes newly reported by SACK.
    pub sacked: u64,
    /// Bytes that were not known to have arrived.
    pub delivered: u64,
    /// A duplicate ACK of RFC 5681.
    pub is_duplicate: bool,
    /// What was acknowledged was sent more than once.
    pub is_ambiguous: bool,
    /// When the first segment acknowledged was sent; `Time::MAX` for none.
    pub first_sent: Time,
    /// When the last segment that arrived was sent.
    pub last_sent: Option<Time>,
    /// A duplicate that was reported (RFC 2883).
    pub duplicate: Option<Block>,
}

impl Default for Arrival {
    fn default() -> Self {
        Self {
            flight: 0,
            acked: 0,
            sacked: 0,
            delivered: 0,
            is_duplicate: false,
            is_ambiguous: false,
            first_sent: Time::MAX,
            last_sent: None,
            duplicate: None,
        }
    }
}

impl Arrival {
    /// The round trip of the last segment that arrived, for congestion control. Where something among them
    /// was sent again, the others may have waited for it at the receiver.
    pub(super) fn round_trip(&self, now: Time) -> Option<Time> {
        self.last_sent.filter(|_| !self.is_ambiguous).map(|sent| now.saturating_sub(sent))
    }
}

/// DupThresh of RFC 5681 and RFC 6675.
const DUPLICATE_THRESHOLD: u32 = 3;

impl Connection {
    /// Looks for losses after an ACK. Returns whether a retransmission is due whatever the window says.
    pub(super) fn detect(&mut self, step: &Step<'_>, arrival: &Arrival) -> bool {
        if self.sender.phase == Phase::Recovery && self.sender.una >= self.sender.recover {
            self.end_recovery(step);
        }
        if self.sender.spans.is_empty() {
            return false;
        }
        if self.sender.has_sack {
            self.detect_by_sack(step, arrival)
        } else {
            self.detect_by_count(step, arrival)
        }
    }

    /// RFC 6582, section 3.2: without SACK, by the number of duplicate ACKs.
    fn detect_by_count(&mut self, step: &Step<'_>, arrival: &Arrival) -> bool {
        let sender = &mut self.sender;
        let mss = i64::from(sender.mss);
        if arrival.is_duplicate {
            sender.duplicates += 1;
        }
        match sender.phase {
            Phase::Recovery if arrival.acked > 0 => {
                // Step 3, a partial ACK: the next hole leaves again, and the window deflates by what was
                // acknowledged.
                sender.inflation -= arrival.acked as i64;
                if arrival.acked as i64 >= mss {
                    sender.inflation += mss;
                }
                sender.spans.lose_front(sender.mss.into());
                true
            }
            Phase::Recovery => {
                // RFC 5681, section 3.2, step 4: each duplicate ACK says that a segment has left the network.
                sender.inflation += if arrival.is_duplicate { mss } else { 0 };
                false
            }
            // Step 2: duplicate ACKs for what a timeout sent again say nothing.
            Phase::Open | Phase::Reduced
                if arrival.is_duplicate
                    && sender.duplicates == DUPLICATE_THRESHOLD
                    && sender.una > sender.recover =>
            {
                self.begin_recovery(step, arrival);
                let sender = &mut self.sender;
                if !sender.control.is_model_based() {
                    sender.window.cwnd = sender.window.ssthresh;
                }
                sender.inflation = i64::from(DUPLICATE_THRESHOLD) * mss;
                sender.had_partial = false;
                sender.spans.lose_front(sender.mss.into());
                true
            }
            _ => false,
        }
    }

    /// RFC 6675, section 5, or RFC 8985, section 6.2.
    fn detect_by_sack(&mut self, step: &Step<'_>, arrival: &Arrival) -> bool {
        let sender = &mut self.sender;
        let mss = u32::from(sender.mss);
        // RFC 6675, section 2: a duplicate ACK reports something new by SACK.
        if arrival.sacked > 0 && arrival.acked == 0 {
            sender.duplicates += 1;
        }
        let lost = if sender.has_rack(step.settings) {
            self.detect_by_time(step.now, step.settings)
        } else if sender.spans.sacked() == 0 {
            0
        } else {
            let is_third = sender.duplicates >= DUPLICATE_THRESHOLD && sender.phase != Phase::Recovery;
            let waiting = sender.spans.waiting();
            if is_third && sender.phase != Phase::Loss {
                // Section 5, step 4: what the duplicate ACKs ask for.
                sender.spans.lose_front(mss);
            }
            sender.spans.lose_below_sacked(mss);
            sender.spans.waiting() - waiting
        };
        let is_new = lost > 0 && matches!(self.sender.phase, Phase::Open | Phase::Reduced);
        if is_new {
            self.begin_recovery(step, arrival);
        }
        if self.sender.phase == Phase::Recovery {
            self.set_recovery_window(step, arrival, lost);
        }
        is_new
    }

    /// RFC 8985, section 6.2, step 5. Returns how many bytes are newly lost.
    pub(super) fn detect_by_time(&mut self, now: Time, settings: &Settings) -> u64 {
        let Sender { spans, rack, rtt, phase, mss, reorder_at, .. } = &mut self.sender;
        *reorder_at = Time::MAX;
        if spans.sacked() == 0 && spans.resent() == 0 && matches!(phase, Phase::Open | Phase::Reduced) {
            // All that is outstanding was sent after what has arrived.
            return 0;
        }
        let is_sure = matches!(phase, Phase::Recovery | Phase::Loss)
            || spans.sacked() >= u64::from(DUPLICATE_THRESHOLD) * u64::from(*mss);
        let smoothed = rtt.smoothed().unwrap_or(settings.initial_rto);
        let (lost, again) = rack.detect(spans, now, is_sure, rtt.least, smoothed);
        *reorder_at = again;
        lost
    }

    /// A loss was found: the window is reduced, once for all losses of a round trip.
    pub(super) fn begin_recovery(&mut self, step: &Step<'_>, arrival: &Arrival) {
        self.counters.recoveries += 1;
        if self.sender.phase == Phase::Open {
            self.set_threshold(step, Cause::Loss, arrival.flight);
        }
        let sender = &mut self.sender;
        let outstanding = sender.outstanding();
        sender.prr.begin(
            outstanding,
            sender.spans.sacked() - arrival.sacked.min(sender.spans.sacked()),
            arrival.acked,
        );
        sender.phase = Phase::Recovery;
        sender.recover = sender.next;
        sender.rescue = 0;
        sender.probe_at = Time::MAX;
    }

    /// The window in recovery with SACK, after an ACK that found `lost` bytes lost.
    fn set_recovery_window(&mut self, step: &Step<'_>, arrival: &Arrival, lost: u64) {
        let sender = &mut self.sender;
        if sender.control.is_model_based() {
            return;
        }
        if !step.settings.prr {
            // RFC 6675, section 5, step 4.2.
            sender.window.cwnd = sender.window.ssthresh;
        } else if arrival.delivered > 0 {
            let ack = PrrAck {
                delivered: arrival.delivered,
                in_flight: sender.in_flight(),
                ssthresh: sender.window.ssthresh,
                mss: sender.mss.into(),
                is_safe: arrival.acked > 0 && lost == 0,
            };
            sender.window.cwnd = sender.prr.window(&ack);
        }
    }

    /// All that was outstanding when recovery began is acknowledged.
    fn end_recovery(&mut self, step: &Step<'_>) {
        let sender = &mut self.sender;
        sender.phase = Phase::Open;
        sender.duplicates = 0;
        sender.inflation = 0;
        if sender.has_rack(step.settings) {
            sender.rack.on_recovered();
        }
        if let Some(model) = sender.control.model() {
            model.on_recovered(&mut sender.window);
            return;
        }
        sender.window.cwnd = if sender.has_sack {
            sender.window.ssthresh
        } else {
            // RFC 6582, section 3.2, step 3, option 1: no burst where little is outstanding.
            let mss = u64::from(sender.mss);
            sender.window.ssthresh.min(sender.outstanding().max(mss) + mss)
        };
    }

    /// RFC 8985, section 7.4.2: whether a tail loss probe has hidden a loss.
    pub(super) fn on_probe_ack(&mut self, step: &Step<'_>, segment: &Segment, arrival: &Arrival) {
        let end = self.sender.rack.probe_end;
        if end == 0 || segment.ack < end {
            return;
        }
        let is_settled = !self.sender.rack.is_probe_old
            || arrival.duplicate.is_some_and(|block| block.end == end)
            || segment.ack == end && arrival.is_duplicate && segment.sack_blocks().is_empty();
        if is_settled {
            self.sender.rack.probe_end = 0;
        } else if segment.ack > end {
            self.sender.rack.probe_end = 0;
            // The probe repaired the loss: the congestion that caused it is answered all the same.
            if self.sender.phase == Phase::Open {
                self.reduce(step, Cause::Loss, arrival.flight);
            }
        }
    }

    /// The retransmission timer has expired (RFC 6298, section 5; RFC 5681, section 3.1).
    pub(super) fn on_timeout(&mut self, step: &mut Step<'_>) {
        self.counters.timeouts += 1;
        if self.sender.tries == 0 {
            // Equation 4; not again for a segment that the timer has sent before.
            self.set_threshold(step, Cause::Timeout, self.sender.outstanding());
        }
        let sender = &mut self.sender;
        sender.tries = sender.tries.saturating_add(1);
        if sender.tries > step.settings.retries {
            self.abort(step);
            return;
        }
        // The loss window is a full segment (RFC 5681, section 3.1).
        sender.window.cwnd = u64::from(sender.mss);
        sender.phase = Phase::Loss;
        sender.recover = sender.next;
        sender.duplicates = 0;
        sender.inflation = 0;
        sender.rack.probe_end = 0;
        sender.reorder_at = Time::MAX;
        sender.probe_at = Time::MAX;
        if sender.has_rack(step.settings) {
            let smoothed = sender.rtt.smoothed().unwrap_or(step.settings.initial_rto);
            sender.rack.detect_at_timeout(
                &mut sender.spans,
                step.now,
                sender.una,
                sender.rtt.least,
                smoothed,
            );
        } else {
            sender.spans.lose_where(|_| true);
        }
        // Sections 5.5 and 5.6: twice as long for the next.
        sender.rtt.back_off();
        sender.retransmit_at = step.now.saturating_add(sender.rtt.timeout(step.settings));
        self.transmit(step, true);
    }
}

//! Timers: delayed ACKs, pacing, reordering, probes of the tail and of closed windows, retransmission,
//! TIME-WAIT.

use paceline_kernel::Time;

use super::recovery::Arrival;
use super::sender::Phase;
use super::{Connection, State, Step};

impl Connection {
    /// The least of all timers; `Time::MAX` if none runs.
    pub(super) fn next_timer(&self) -> Time {
        let sender = &self.sender;
        sender
            .retransmit_at
            .min(sender.probe_at)
            .min(sender.reorder_at)
            .min(sender.pace_at)
            .min(self.receiver.ack_at)
    }

    /// Does what is due. One timer may move another: each is looked at when its turn comes.
    pub(super) fn expire(&mut self, step: &mut Step<'_>) {
        if self.next_timer() > step.now {
            return;
        }
        if self.receiver.ack_at <= step.now {
            self.acknowledge(step);
        }
        if self.sender.pace_at <= step.now {
            self.transmit(step, false);
        }
        let sender = &self.sender;
        if sender.reorder_at.min(sender.probe_at).min(sender.retransmit_at) <= step.now {
            self.note_application();
        }
        if self.sender.reorder_at <= step.now {
            self.on_reorder_timer(step);
        }
        if self.sender.probe_at <= step.now {
            self.on_probe_timer(step);
        }
        if self.sender.retransmit_at <= step.now {
            self.sender.retransmit_at = Time::MAX;
            self.on_retransmit_timer(step);
        }
    }

    fn on_retransmit_timer(&mut self, step: &mut Step<'_>) {
        match self.state {
            State::TimeWait => self.state = State::Closed,
            State::SynSent | State::SynReceived => self.repeat_syn(step),
            State::Listen | State::Closed | State::Aborted => {}
            _ if self.is_window_closed() => self.probe_window(step),
            _ => self.on_timeout(step),
        }
    }

    /// RFC 8985, section 6.2, step 5: what was not yet lost at the last ACK.
    fn on_reorder_timer(&mut self, step: &mut Step<'_>) {
        let lost = self.detect_by_time(step.now, step.settings);
        let is_new = lost > 0 && matches!(self.sender.phase, Phase::Open | Phase::Reduced);
        if is_new {
            let flight = self.sender.outstanding();
            self.begin_recovery(step, &Arrival { flight, ..Arrival::default() });
        }
        self.transmit(step, is_new);
    }

    /// RFC 8985, section 7.2: after new data, and after an ACK, where nothing speaks of a loss.
    pub(super) fn arm_probe(&mut self, step: &Step<'_>) {
        let sender = &mut self.sender;
        sender.probe_at = Time::MAX;
        let is_wanted = sender.has_rack(step.settings)
            && !sender.spans.is_empty()
            && matches!(sender.phase, Phase::Open | Phase::Reduced)
            && sender.spans.sacked() == 0
            && sender.rack.probe_end == 0
            && sender.una > 0;
        if !is_wanted {
            return;
        }
        let mut wait = sender.rtt.smoothed().map_or(Time::secs(1), |rtt| rtt.saturating_add(rtt));
        if sender.outstanding() <= u64::from(sender.mss) {
            // A single segment may wait for the peer's delayed ACK.
            wait = wait.saturating_add(step.settings.ack_delay);
        }
        sender.probe_at = step.now.saturating_add(wait).min(sender.retransmit_at);
    }

    /// RFC 8985, section 7.3: new data if there is some, else the last segment again.
    fn on_probe_timer(&mut self, step: &mut Step<'_>) {
        self.sender.probe_at = Time::MAX;
        let Some(last) = self.sender.spans.back().copied() else { return };
        self.counters.loss_probes += 1;
        let before = self.sender.next;
        // One segment more than the window lets leave.
        let cwnd = self.sender.window.cwnd;
        self.sender.window.cwnd = self.sender.in_flight() + u64::from(self.sender.mss) + 1;
        self.transmit(step, false);
        self.sender.window.cwnd = cwnd;
        let is_old = self.sender.next == before;
        if is_old {
            let start = last.start.max(last.end().saturating_sub(u64::from(self.sender.mss)));
            self.repeat(step, start, (last.end() - start) as u32);
        }
        self.sender.rack.is_probe_old = is_old;
        self.sender.rack.probe_end = self.sender.next;
        self.sender.probe_at = Time::MAX;
        self.sender.retransmit_at = step.now.saturating_add(self.sender.rtt.timeout(step.settings));
    }

    /// Whether the peer takes nothing of what is first in line.
    fn is_window_closed(&self) -> bool {
        self.sender.edge <= self.sender.una || self.sender.spans.is_empty()
    }

    /// Nothing is outstanding and the window keeps data back: the timer runs for a probe (RFC 9293, section
    /// 3.8.6.1).
    pub(super) fn arm_persist(&mut self, step: &Step<'_>) {
        let sender = &mut self.sender;
        if sender.spans.is_empty() && sender.retransmit_at == Time::MAX {
            sender.retransmit_at = step.now.saturating_add(sender.rtt.timeout(step.settings));
        }
    }

    /// Sends what the window takes, at least one byte: the answer says how far the window is open. It goes on
    /// as long as the peer answers, ever more slowly.
    fn probe_window(&mut self, step: &mut Step<'_>) {
        self.counters.window_probes += 1;
        self.sender.rtt.back_off();
        self.sender.tries = self.sender.tries.saturating_add(1);
        if self.sender.tries > step.settings.retries {
            self.abort(step);
            return;
        }
        if let Some(front) = self.sender.spans.front().copied() {
            self.repeat(step, front.start, front.length.min(1));
        } else if self.sender.has_unsent() {
            let sender = &self.sender;
            let rest = sender.end.saturating_sub(sender.next).min(u64::from(sender.mss));
            let length = sender.edge.saturating_sub(sender.next).min(rest).max(1);
            self.send_new(step, length as u32);
        } else {
            return;
        }
        self.sender.retransmit_at = step.now.saturating_add(self.sender.rtt.timeout(step.settings));
    }
}

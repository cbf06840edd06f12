//! Segments that arrive, by the state of the connection (RFC 9293, section 3.10.7), opening and closing.

use paceline_kernel::Time;

use super::receiver::AckNeed;
use super::{Connection, Ecn, Flags, Options, Segment, Settings, State, Step};

impl Connection {
    /// A segment arrives.
    pub(super) fn arrive(&mut self, step: &mut Step<'_>, segment: &Segment, ce: bool) {
        match self.state {
            State::Closed | State::Aborted => {
                // Section 3.10.7.1: the peer is to know that nobody answers here any more.
                if !segment.has(Flags::RST) {
                    self.reset_peer(step, segment);
                }
            }
            State::Listen => {
                if segment.has(Flags::SYN) && !segment.has(Flags::ACK | Flags::RST) {
                    self.agree(step, segment);
                    self.state = State::SynReceived;
                    self.send_new(step, 1);
                }
            }
            State::SynSent => self.arrive_syn_sent(step, segment),
            _ => self.arrive_synchronized(step, segment, ce),
        }
    }

    /// Section 3.10.7.3.
    fn arrive_syn_sent(&mut self, step: &mut Step<'_>, segment: &Segment) {
        let has_ack = segment.has(Flags::ACK) && segment.ack == self.sender.next;
        if segment.has(Flags::RST) {
            if has_ack {
                self.end(State::Aborted);
            }
            return;
        }
        if !segment.has(Flags::SYN) || segment.has(Flags::ACK) && !has_ack {
            return;
        }
        self.agree(step, segment);
        if has_ack {
            self.on_ack(step, segment);
            self.establish(step);
            let before = step.out.len();
            self.transmit(step, false);
            if step.out.len() == before {
                self.acknowledge(step);
            }
        } else {
            // Both ends opened at the same time: the SYN leaves once more, with an ACK.
            self.state = State::SynReceived;
            self.sender.spans.lose_front(1);
            self.repeat(step, 0, 1);
        }
    }

    /// The peer's SYN: what both agree on.
    fn agree(&mut self, step: &Step<'_>, segment: &Segment) {
        let (sender, settings) = (&mut self.sender, step.settings);
        let (mut mss, mut has_scale, mut has_sack) = (536, false, false);
        if let Some(Options::Syn { mss: peer, scale, sack }) = segment.options.as_deref() {
            (mss, has_scale, has_sack) = (*peer, scale.is_some(), *sack);
        }
        sender.has_timestamps &= segment.has(Flags::TIMESTAMPS);
        sender.has_scaling &= has_scale;
        sender.has_sack &= has_sack;
        // RFC 3168, section 6.1.1: a SYN asks with ECE and CWR, a SYN-ACK agrees with ECE alone.
        let wanted = if segment.has(Flags::ACK) { Flags::ECE } else { Flags::ECE | Flags::CWR };
        sender.has_ecn &= segment.has(wanted);
        // RFC 6691, section 2: what timestamps take is not data. RFC 9293, section 3.7.1: 536 where nothing
        // is said.
        let options = if sender.has_timestamps { 12 } else { 0 };
        sender.mss = mss.min(settings.mss).max(options + 1) - options;
        self.sender.window.cwnd = self.initial_window(settings);
        self.receiver.begin(segment.stamp);
        self.sender.edge = u64::from(segment.window) + 1;
        self.sender.widest = segment.window;
    }

    /// RFC 6928, section 2, for any number of segments; RFC 5681, section 3.1: one after a lost SYN.
    pub(super) fn initial_window(&self, settings: &Settings) -> u64 {
        let (mss, count) = (u64::from(self.sender.mss), u64::from(settings.initial_window));
        let count = if self.sender.is_syn_repeated { 1 } else { count.max(1) };
        (count * mss).min((2 * mss).max(count * 1460))
    }

    /// Both SYNs are acknowledged.
    fn establish(&mut self, step: &Step<'_>) {
        self.state = if self.sender.is_closed { State::FinWait1 } else { State::Established };
        self.receiver.scale = if self.sender.has_scaling { step.settings.scale() } else { 0 };
        if self.sender.is_syn_repeated {
            self.sender.rtt.distrust();
            self.sender.window.cwnd = self.initial_window(step.settings);
        }
    }

    /// Section 3.10.7.4.
    fn arrive_synchronized(&mut self, step: &mut Step<'_>, segment: &Segment, ce: bool) {
        if !self.receiver.accepts(segment) {
            self.refuse(step, segment);
            return;
        }
        if segment.has(Flags::RST) {
            // RFC 9293, section 3.10.7.4, second step: only at the very next offset, so that no old one does
            // it.
            if segment.sequence == self.receiver.next {
                let is_over = matches!(self.state, State::Closing | State::LastAck | State::TimeWait);
                self.end(if is_over { State::Closed } else { State::Aborted });
            }
            return;
        }
        if !segment.has(Flags::ACK) {
            return;
        }
        if segment.ack > self.sender.next {
            // Fifth step: an ACK of what was not sent.
            self.acknowledge(step);
            return;
        }
        self.receiver.note_stamp(segment);
        if self.state == State::SynReceived {
            if segment.ack < self.sender.next {
                return;
            }
            self.establish(step);
        }
        let is_forced = self.on_ack(step, segment);
        self.note_own_fin(step);
        let need =
            if segment.sequence_length() > 0 { self.take_data(step, segment, ce) } else { AckNeed::None };
        let before = step.out.len();
        self.transmit(step, is_forced);
        if step.out.len() > before {
            // What has left acknowledges what has come.
            return;
        }
        match need {
            AckNeed::Now => self.acknowledge(step),
            AckNeed::Delayed => self.receiver.arm_delayed_ack(step.now, step.settings),
            AckNeed::None => {}
        }
    }

    /// First step: a segment outside of the window is answered with an ACK, unless it is a bare one itself.
    fn refuse(&mut self, step: &mut Step<'_>, segment: &Segment) {
        if segment.has(Flags::RST) || segment.sequence_length() == 0 {
            return;
        }
        if segment.has(Flags::SYN) {
            if self.state == State::SynReceived && !segment.has(Flags::ACK) {
                // The peer has not heard the SYN-ACK.
                self.repeat(step, 0, 1);
                return;
            }
            if self.state == State::SynReceived && segment.ack == self.sender.next {
                // Both ends opened at the same time (section 3.5, figure 8, line 6).
                self.establish(step);
                self.on_ack(step, segment);
                self.transmit(step, false);
                return;
            }
        } else {
            self.receiver.on_data(segment, step.settings, &mut self.counters);
            if self.state == State::TimeWait && segment.has(Flags::FIN) {
                // The peer has not heard the last ACK: the wait begins again.
                self.sender.retransmit_at = step.now.saturating_add(step.settings.time_wait);
            }
        }
        self.acknowledge(step);
    }

    /// Seventh and eighth steps: data and FIN.
    fn take_data(&mut self, step: &mut Step<'_>, segment: &Segment, ce: bool) -> AckNeed {
        if segment.length > 0 && self.sender.has_ecn {
            self.counters.marks_received += u32::from(ce);
            if self.receiver.note_mark(segment, ce, step.settings.ecn) {
                self.acknowledge(step);
            }
            if step.settings.ecn == Ecn::Dctcp {
                self.receiver.set_echo(ce);
            }
        }
        let was_whole = self.receiver.is_whole();
        let need = self.receiver.on_data(segment, step.settings, &mut self.counters);
        if !was_whole && self.receiver.is_whole() {
            self.state = match self.state {
                State::FinWait1 => State::Closing,
                State::FinWait2 => self.wait(step),
                State::Established => State::CloseWait,
                other => other,
            };
        }
        need
    }

    /// Fifth step: whether the FIN of this end is acknowledged.
    fn note_own_fin(&mut self, step: &Step<'_>) {
        if !self.is_sent_whole() {
            return;
        }
        self.state = match self.state {
            State::FinWait1 => State::FinWait2,
            State::Closing => self.wait(step),
            State::LastAck => State::Closed,
            other => other,
        };
    }

    /// Both streams are whole: late segments are answered for a while (section 3.6.1).
    fn wait(&mut self, step: &Step<'_>) -> State {
        self.sender.retransmit_at = step.now.saturating_add(step.settings.time_wait);
        State::TimeWait
    }

    /// The SYN leaves again (RFC 6298, section 5; RFC 9293, section 3.8.1).
    pub(super) fn repeat_syn(&mut self, step: &mut Step<'_>) {
        self.sender.tries = self.sender.tries.saturating_add(1);
        if self.sender.tries > step.settings.syn_retries {
            self.abort(step);
            return;
        }
        self.sender.is_syn_repeated = true;
        self.sender.rtt.back_off();
        self.sender.spans.lose_front(1);
        self.repeat(step, 0, 1);
    }

    /// Gives the connection up (RFC 9293, section 3.8.3), and says so to the peer.
    pub(super) fn abort(&mut self, step: &mut Step<'_>) {
        if self.receiver.next > 0 {
            self.reset(step);
        }
        self.end(State::Aborted);
    }

    /// No timer runs any more.
    fn end(&mut self, state: State) {
        self.state = state;
        let sender = &mut self.sender;
        for timer in
            [&mut sender.retransmit_at, &mut sender.probe_at, &mut sender.reorder_at, &mut sender.pace_at]
        {
            *timer = Time::MAX;
        }
        self.receiver.ack_at = Time::MAX;
    }

    /// A reset that the peer takes (section 3.10.7.1).
    fn reset_peer(&mut self, step: &mut Step<'_>, segment: &Segment) {
        let sequence = if segment.has(Flags::ACK) { segment.ack } else { 0 };
        let ack = segment.end();
        step.out.push(Segment { sequence, ack, flags: Flags::RST | Flags::ACK, ..Segment::default() });
        self.counters.segments_sent += 1;
    }
}

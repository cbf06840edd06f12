//! What leaves: retransmissions first, then new data, as far as the windows and pacing let it; and bare ACKs.

use paceline_kernel::Time;

use super::segment::sack_option_bytes;
use super::sender::Phase;
use super::spans::{RESENT, SACKED, Span};
use super::{Connection, Flags, Options, Segment, State, Step};

/// Why no new data leaves.
enum Blocked {
    /// There is none, or it waits for more (Nagle).
    NoData,
    /// The peer's window is closed, or so small that it is worth no segment.
    PeerWindow,
}

impl Connection {
    /// Sends what may be sent. `is_forced`: the first retransmission leaves whatever the window says.
    pub(super) fn transmit(&mut self, step: &mut Step<'_>, mut is_forced: bool) {
        self.sender.pace_at = Time::MAX;
        loop {
            let lost = self.sender.spans.first_waiting();
            if let Some(span) = lost.or_else(|| self.speculative(step)) {
                let length = self.repeat_length(span.start, span.end());
                if !is_forced && !self.has_room(span.start, length, false, step) {
                    self.sender.is_window_limited = true;
                    break;
                }
                if !is_forced && self.is_paced_back(step) {
                    break;
                }
                is_forced = false;
                if lost.is_none() && span.end() == self.sender.next {
                    self.sender.rescue = self.sender.recover;
                }
                self.repeat(step, span.start, length);
                continue;
            }
            let length = match self.new_length(step) {
                Ok(length) => length,
                Err(Blocked::NoData) => {
                    self.sender.is_window_limited = false;
                    break;
                }
                Err(Blocked::PeerWindow) => {
                    self.sender.is_window_limited = false;
                    self.arm_persist(step);
                    break;
                }
            };
            if !self.has_room(self.sender.next, length, true, step) {
                self.sender.is_window_limited = true;
                break;
            }
            if self.is_paced_back(step) {
                break;
            }
            self.send_new(step, length);
        }
        self.arm_probe(step);
    }

    /// Whether the congestion window has room for `length` sequence numbers from `start` on. A FIN takes
    /// none: with the window of a single segment, a full one with a FIN would wait for ever.
    fn has_room(&self, start: u64, length: u32, is_new: bool, step: &Step<'_>) -> bool {
        let data = u64::from(length).min(self.sender.end.saturating_sub(start)).max(1);
        self.sender.room(is_new, step.settings) >= data as i64
    }

    /// Whether pacing keeps the next segment back; then the timer runs.
    fn is_paced_back(&mut self, step: &Step<'_>) -> bool {
        let is_back = self.sender.paced_until > step.now;
        if is_back {
            self.sender.pace_at = self.sender.paced_until;
        }
        is_back
    }

    /// Data that a segment may have: less beside SACK blocks (RFC 6691, section 2).
    fn room_for_data(&self) -> u64 {
        let blocks =
            if self.sender.has_sack { self.receiver.sack_count().min(self.most_blocks()) } else { 0 };
        u64::from(self.sender.mss).saturating_sub(u64::from(sack_option_bytes(blocks))).max(1)
    }

    /// RFC 2018, section 3: three blocks fit beside timestamps, four without.
    const fn most_blocks(&self) -> usize {
        if self.sender.has_timestamps { 3 } else { 4 }
    }

    /// How many sequence numbers of what was sent leave again in one segment.
    fn repeat_length(&self, start: u64, end: u64) -> u32 {
        let data_end = end.min(start + self.room_for_data());
        // The FIN leaves with the last byte.
        let has_fin = data_end == self.sender.end && end > data_end;
        (data_end - start + u64::from(has_fin)) as u32
    }

    /// How many sequence numbers of new data leave in the next segment.
    fn new_length(&self, step: &Step<'_>) -> Result<u32, Blocked> {
        let sender = &self.sender;
        if !self.is_synchronized() || !sender.has_unsent() {
            return Err(Blocked::NoData);
        }
        let full = self.room_for_data();
        let rest = sender.end.saturating_sub(sender.next);
        let usable = sender.edge.saturating_sub(sender.next);
        let data = rest.min(full).min(usable);
        let is_last = data == rest;
        let has_fin = is_last && sender.is_closed && usable > data;
        if data == full {
            return Ok((data + u64::from(has_fin)) as u32);
        }
        if data == 0 && !has_fin {
            return Err(if usable == 0 { Blocked::PeerWindow } else { Blocked::NoData });
        }
        if is_last {
            // RFC 9293, section 3.7.4: a small segment waits while others are outstanding. The last one of a
            // closed stream does not, since nothing will fill it.
            let is_held = step.settings.nagle && sender.outstanding() > 0 && !sender.is_closed;
            return if is_held { Err(Blocked::NoData) } else { Ok((data + u64::from(has_fin)) as u32) };
        }
        // The window cuts the segment (RFC 9293, section 3.8.6.2.1): worth it from half of the widest one on.
        if data * 2 >= u64::from(sender.widest) {
            return Ok(data as u32);
        }
        Err(Blocked::PeerWindow)
    }

    /// Sends `length` sequence numbers of new data.
    pub(super) fn send_new(&mut self, step: &mut Step<'_>, length: u32) {
        let start = self.sender.next;
        self.restart_if_idle(step);
        self.sender.next += u64::from(length);
        self.sender.spans.push(start, length, step.now);
        self.emit(step, start, length, false);
    }

    /// Sends `length` sequence numbers from `start` on again.
    pub(super) fn repeat(&mut self, step: &mut Step<'_>, start: u64, length: u32) {
        self.sender.spans.resend(start, length, step.now);
        self.counters.retransmissions += 1;
        let sender = &mut self.sender;
        if sender.phase == Phase::Recovery && start == sender.una && (sender.has_sack || !sender.had_partial)
        {
            // RFC 6298, section 5, leaves it open, and systems start the timer anew: the ACK of a loss at the
            // end of a window comes two round trips after the last one, which may be more than a timeout.
            sender.retransmit_at = Time::MAX;
        }
        self.emit(step, start, length, true);
    }

    /// RFC 5681, section 4.1: after an idle time of a timeout the ACKs that clocked the window out are gone.
    fn restart_if_idle(&mut self, step: &Step<'_>) {
        let initial = self.initial_window(step.settings);
        let sender = &mut self.sender;
        if !sender.spans.is_empty() || sender.last_sent == Time::ZERO {
            return;
        }
        let idle = step.now.saturating_sub(sender.last_sent);
        if idle > sender.rtt.timeout(step.settings) {
            sender.control.any().on_idle(idle);
            if step.settings.restart_after_idle && !sender.control.is_model_based() {
                sender.window.cwnd = sender.window.cwnd.min(initial);
            }
        }
    }

    /// Sends a segment with the sequence numbers from `start` on.
    fn emit(&mut self, step: &mut Step<'_>, start: u64, length: u32, is_repeated: bool) {
        let sender = &mut self.sender;
        let end = start + u64::from(length);
        let has_syn = start == 0;
        let has_fin = sender.is_closed && end > sender.end;
        let data = length - u32::from(has_syn) - u32::from(has_fin);
        if sender.retransmit_at == Time::MAX {
            // RFC 6298, section 5.1.
            sender.retransmit_at = step.now.saturating_add(sender.rtt.timeout(step.settings));
        }
        sender.last_sent = step.now;
        if sender.phase == Phase::Recovery {
            sender.prr.on_sent(u64::from(length));
        }
        let mut flags = Flags::NONE
            .with(Flags::SYN, has_syn)
            .with(Flags::FIN, has_fin)
            .with(Flags::PSH, data > 0 && end >= sender.end);
        if data > 0 && !is_repeated && sender.has_ecn {
            // RFC 3168, sections 6.1.5 and 6.1.2: retransmissions are not ECT, and CWR comes with new data.
            flags = flags.with(Flags::ECT, true).with(Flags::CWR, std::mem::take(&mut sender.owes_cwr));
        }
        if data > 0 {
            self.counters.data_segments_sent += 1;
            self.note_sent(step, length);
            self.pace(step, data);
        }
        self.push_segment(step, start, data as u16, flags);
    }

    /// BBR: data leaves.
    fn note_sent(&mut self, step: &Step<'_>, length: u32) {
        let sender = &mut self.sender;
        if !sender.control.is_model_based() {
            return;
        }
        let (in_flight, has_sack) = (sender.in_flight(), sender.has_sack);
        let signals = sender.signals(step.now, step.settings);
        if let Some(model) = sender.control.model() {
            model.on_sent(&mut sender.window, &signals, length.into(), in_flight, has_sack);
        }
    }

    /// A segment of `bytes` bytes leaves: the next one waits as long as it takes at the rate of pacing.
    fn pace(&mut self, step: &Step<'_>, bytes: u32) {
        if !step.settings.pacing && !self.sender.control.is_model_based() {
            return;
        }
        let signals = self.sender.signals(step.now, step.settings);
        let Some(rate) = self.sender.control.any().pacing_rate(&self.sender.window, &signals) else { return };
        let span = u128::from(bytes) * u128::from(Time::TICKS_PER_SECOND) / u128::from(rate.max(1));
        let span = Time::ticks(u64::try_from(span).unwrap_or(u64::MAX));
        // Counted from now: what a timeout sends ahead of its time leaves no debt, or a long run of timeouts
        // would keep back what follows ever longer.
        self.sender.paced_until = step.now.saturating_add(span);
    }

    /// Sends a bare ACK.
    pub(super) fn acknowledge(&mut self, step: &mut Step<'_>) {
        self.push_segment(step, self.bare_sequence(), 0, Flags::NONE);
    }

    /// Sends a reset: the connection is given up (RFC 9293, section 3.10.7.1).
    pub(super) fn reset(&mut self, step: &mut Step<'_>) {
        self.push_segment(step, self.bare_sequence(), 0, Flags::RST);
    }

    /// The sequence number of a segment without data: the next one, but within the peer's window, beyond
    /// which a probe may have gone. Elsewhere the peer would not look at its ACK and window (RFC 9293,
    /// section 3.10.7.4, first step).
    fn bare_sequence(&self) -> u64 {
        let sender = &self.sender;
        sender.next.min(sender.edge.max(sender.una))
    }

    /// Appends a segment with what every one has: ACK, window, timestamps and SACK blocks.
    fn push_segment(&mut self, step: &mut Step<'_>, sequence: u64, length: u16, flags: Flags) {
        let (settings, sender) = (step.settings, &self.sender);
        let has_ack = self.receiver.next > 0;
        let has_syn = flags.contains(Flags::SYN);
        let mut segment = Segment {
            sequence,
            ack: self.receiver.next,
            length,
            flags: flags.with(Flags::ACK, has_ack).with(Flags::TIMESTAMPS, sender.has_timestamps),
            ..Segment::default()
        };
        if has_syn {
            // RFC 7323, section 2.2: the window of a SYN is not scaled.
            segment.window = settings.receive_buffer.min(0xffff);
            let scale = sender.has_scaling.then(|| settings.scale());
            segment.options =
                Some(Box::new(Options::Syn { mss: settings.mss, scale, sack: sender.has_sack }));
            // RFC 3168, section 6.1.1: a SYN asks with both flags, a SYN-ACK agrees with one.
            segment.flags =
                segment.flags.with(Flags::ECE, sender.has_ecn).with(Flags::CWR, sender.has_ecn && !has_ack);
        } else {
            segment.window = self.receiver.window(sender.mss, settings);
            let has_echo = sender.has_ecn && self.receiver.is_echoing;
            segment.flags = segment.flags.with(Flags::ECE, has_echo);
            if sender.has_sack
                && let Some(blocks) = self.receiver.sack_blocks(self.most_blocks())
            {
                segment.options = Some(Box::new(Options::Sack(blocks)));
            }
        }
        if sender.has_timestamps {
            (segment.stamp, segment.echo) = (settings.stamp(step.now), self.receiver.stamp);
        }
        self.receiver.acknowledge(segment.window);
        self.counters.segments_sent += 1;
        step.out.push(segment);
    }

    /// Whether both SYNs were exchanged, so that data may flow.
    pub(super) const fn is_synchronized(&self) -> bool {
        !matches!(
            self.state,
            State::Listen | State::SynSent | State::SynReceived | State::Closed | State::Aborted
        )
    }

    /// RFC 6675, section 4, NextSeg, rules 3 and 4: without a segment known to be lost and without new data,
    /// what is below SACKed data leaves again, and once in a recovery the last segment.
    fn speculative(&self, step: &Step<'_>) -> Option<Span> {
        let sender = &self.sender;
        if sender.phase != Phase::Recovery
            || !sender.has_sack
            || sender.has_rack(step.settings)
            || sender.has_unsent()
        {
            return None;
        }
        let highest = sender.spans.iter().rev().find(|span| span.is(SACKED)).map_or(0, |span| span.start);
        if let Some(span) = sender.spans.iter().find(|span| span.state == 0 && span.start < highest) {
            return Some(*span);
        }
        if sender.rescue != 0 && sender.una <= sender.rescue {
            return None;
        }
        let last = sender.spans.iter().rev().find(|span| !span.is(SACKED | RESENT))?;
        let start = last.start.max(last.end().saturating_sub(u64::from(sender.mss)));
        Some(Span { start, length: (last.end() - start) as u32, ..*last })
    }
}

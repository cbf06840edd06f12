//! What an ACK says: the window, what has arrived, the round trip, and the echo of marks.

use paceline_kernel::Time;

use super::congestion::{Acked, Cause, ModelAck, Signals};
use super::recovery::Arrival;
use super::segment::Block;
use super::sender::Phase;
use super::spans::{AMBIGUOUS, SACKED};
use super::{Connection, Flags, Segment, State, Step};

impl Connection {
    /// The ACK of an acceptable segment. Returns whether a retransmission is due whatever the window says.
    pub(super) fn on_ack(&mut self, step: &mut Step<'_>, segment: &Segment) -> bool {
        if segment.ack < self.sender.una {
            return false;
        }
        let is_duplicate = self.is_duplicate(segment);
        self.note_application();
        self.update_window(segment);
        self.counters.duplicate_acks += u32::from(is_duplicate);
        let arrival = self.take_arrivals(step, segment, is_duplicate);
        self.measure(step, segment, &arrival);
        if arrival.acked > 0 {
            self.on_advance(step);
        }
        // On a SYN-ACK the flag agrees to ECN (RFC 3168, section 6.1.1).
        let has_echo = self.sender.has_ecn && segment.has(Flags::ECE) && !segment.has(Flags::SYN);
        // The ACK of the SYN says nothing about the window.
        if arrival.delivered > 0 && self.sender.una > arrival.acked {
            self.grow(step, &arrival, has_echo);
        }
        if has_echo {
            self.on_echo(step, arrival.flight);
        }
        self.on_probe_ack(step, segment, &arrival);
        let is_forced = self.detect(step, &arrival);
        self.update_model(step, &arrival);
        if self.sender.spans.is_empty() {
            // RFC 6298, section 5.2. In TIME-WAIT, the timer is that of its end.
            if self.state != State::TimeWait {
                self.sender.retransmit_at = Time::MAX;
            }
        } else if arrival.acked > 0 && self.restarts_timer() {
            // Section 5.3.
            self.sender.retransmit_at = step.now.saturating_add(self.sender.rtt.timeout(step.settings));
        }
        is_forced
    }

    /// The definition of RFC 5681, section 2. Answers to probes of a closed window are none.
    const fn is_duplicate(&self, segment: &Segment) -> bool {
        let sender = &self.sender;
        segment.ack == sender.una
            && sender.outstanding() > 0
            && segment.sequence_length() == 0
            && segment.window > 0
            && segment.ack + segment.window as u64 == sender.edge
    }

    /// RFC 9293, section 3.10.7.4, fifth step: windows of old segments are not taken.
    pub(super) fn update_window(&mut self, segment: &Segment) {
        let sender = &mut self.sender;
        let is_newer = (segment.sequence, segment.ack) >= sender.update;
        if is_newer {
            sender.update = (segment.sequence, segment.ack);
            sender.widest = sender.widest.max(segment.window);
            let was_shut = sender.edge <= sender.una;
            sender.edge = segment.ack + u64::from(segment.window);
            if was_shut && sender.edge > segment.ack {
                // The window has opened: what was a probe is a segment that was likely refused.
                sender.tries = 0;
                sender.rtt.end_backoff();
                sender.spans.lose_front(1);
            }
        }
    }

    /// Takes in the cumulative ACK and the SACK blocks.
    fn take_arrivals(&mut self, step: &Step<'_>, segment: &Segment, is_duplicate: bool) -> Arrival {
        let (settings, now) = (step.settings, step.now);
        let sender = &mut self.sender;
        let (flight, least) = (sender.outstanding(), sender.rtt.least);
        let (rack, mut model) = (&mut sender.rack, sender.control.model());
        let has_rack = settings.rack && sender.has_sack;
        let has_stamps = sender.has_timestamps && segment.has(Flags::TIMESTAMPS);
        let mut arrival = Arrival { flight, is_duplicate, ..Arrival::default() };
        let mut see = |span: &super::spans::Span, is_cumulative: bool| {
            if span.is(SACKED) {
                return;
            }
            arrival.delivered += u64::from(span.length);
            if span.is(AMBIGUOUS) {
                arrival.is_ambiguous |= is_cumulative;
            } else {
                arrival.first_sent =
                    arrival.first_sent.min(if is_cumulative { span.sent } else { Time::MAX });
                arrival.last_sent =
                    Some(arrival.last_sent.map_or(span.sent, |sent: Time| sent.max(span.sent)));
            }
            if let Some(model) = &mut model {
                model.on_arrival(span, now);
            }
            if has_rack {
                let is_older = has_stamps
                    && span.is(AMBIGUOUS)
                    && (segment.echo.wrapping_sub(settings.stamp(span.sent)) as i32) < 0;
                rack.on_arrival(span, now, least, is_older);
            }
        };
        let una = sender.una;
        if segment.ack > una {
            sender.spans.acknowledge(segment.ack, |span| see(span, true));
            sender.una = segment.ack;
        }
        if sender.has_sack {
            for &block in segment.sack_blocks() {
                // RFC 2883, section 4: a block below the ACK, or inside of the next one, reports a duplicate.
                if block.end <= segment.ack {
                    arrival.duplicate = Some(block);
                } else if block.start < block.end && block.end <= sender.next {
                    let start = block.start.max(segment.ack);
                    sender.spans.sack(Block { start, ..block }, |span| {
                        see(span, false);
                        arrival.sacked += u64::from(span.length);
                    });
                }
            }
        }
        arrival.acked = sender.una - una;
        if has_rack {
            if arrival.duplicate.is_some() {
                sender.rack.on_duplicate(sender.next);
            }
            sender.rack.on_advance(sender.una);
        }
        arrival
    }

    /// RFC 6298, section 3 (Karn), and RFC 7323, section 4: the round trip of what was newly acknowledged.
    fn measure(&mut self, step: &Step<'_>, segment: &Segment, arrival: &Arrival) {
        if arrival.acked == 0 {
            return;
        }
        let settings = step.settings;
        if !arrival.is_ambiguous && arrival.first_sent < Time::MAX {
            // The oldest segment: with the delay of its ACK, which the timeout has to cover.
            self.sender.rtt.measure(step.now.saturating_sub(arrival.first_sent), settings);
        } else if self.sender.has_timestamps && segment.has(Flags::TIMESTAMPS) {
            // The echo says which transmission it was, but only to a tick of the clock.
            let ticks = settings.stamp(step.now).wrapping_sub(segment.echo);
            if ticks < 1 << 31 {
                let sample =
                    Time::ticks(u64::from(ticks.max(1)).saturating_mul(settings.timestamp_tick.as_ticks()));
                self.sender.rtt.measure(sample, settings);
            }
        }
    }

    /// The cumulative ACK has advanced.
    fn on_advance(&mut self, step: &Step<'_>) {
        let sender = &mut self.sender;
        sender.tries = 0;
        // RFC 6298, section 5.7: a measurement, or as here an ACK of new data, ends the backoff.
        sender.rtt.end_backoff();
        // SYN and FIN are no bytes of the stream.
        let whole = sender.una.min(sender.end).saturating_sub(1);
        self.counters.acknowledged = whole;
        // Above the point: then the CWR has arrived, which left after it.
        if sender.phase == Phase::Reduced && sender.una > sender.reduced_until {
            sender.phase = Phase::Open;
        }
        if sender.phase == Phase::Loss && sender.una >= sender.recover {
            sender.phase = Phase::Open;
            if sender.has_rack(step.settings) {
                sender.rack.on_recovered();
            }
            if let Some(model) = sender.control.model() {
                model.on_recovered(&mut sender.window);
            }
        }
        if !matches!(sender.phase, Phase::Recovery) {
            sender.duplicates = 0;
        }
    }

    /// Lets the congestion control see an ACK.
    fn grow(&mut self, step: &Step<'_>, arrival: &Arrival, has_echo: bool) {
        let sender = &mut self.sender;
        let signals = sender.signals(step.now, step.settings);
        // A window that was not used says nothing about the path. In slow start half of it is enough, since
        // it doubles in a round trip.
        let is_used = sender.is_window_limited
            || sender.window.is_slow_start() && sender.window.cwnd < 2 * arrival.flight;
        let acked = Acked {
            bytes: arrival.acked,
            delivered: arrival.delivered,
            has_echo,
            rtt: arrival.round_trip(step.now),
            may_grow: is_used
                && arrival.acked > 0
                && !has_echo
                && matches!(sender.phase, Phase::Open | Phase::Loss),
            is_after_timeout: sender.phase == Phase::Loss,
        };
        sender.control.any().on_ack(&mut sender.window, &signals, &acked);
    }

    /// BBR: whether the application has less to send than the window lets leave.
    pub(super) fn note_application(&mut self) {
        let sender = &mut self.sender;
        if !sender.control.is_model_based() {
            return;
        }
        let (in_flight, is_out) = (sender.in_flight(), !sender.has_unsent() && sender.spans.waiting() == 0);
        if let Some(model) = sender.control.model() {
            model.note_application(&sender.window, in_flight, is_out);
        }
    }

    /// BBR: tells the model of losses, then of the ACK.
    fn update_model(&mut self, step: &Step<'_>, arrival: &Arrival) {
        let sender = &mut self.sender;
        if !sender.control.is_model_based() {
            return;
        }
        let signals = sender.signals(step.now, step.settings);
        let ack = ModelAck {
            in_flight: sender.in_flight(),
            is_limited: sender.is_window_limited,
            rtt: arrival.round_trip(step.now),
        };
        let Some(model) = sender.control.model() else { return };
        sender.spans.note_losses(|span| model.on_lost(&sender.window, step.now, span));
        model.on_model(&mut sender.window, &signals, &ack);
        if model.log_length() > 2 * sender.spans.length() + 16 {
            model.forget_before(sender.spans.oldest());
        }
    }

    /// RFC 3168, section 6.1.2: one reduction a round trip, and none while a loss has reduced the window.
    fn on_echo(&mut self, step: &Step<'_>, flight: u64) {
        self.counters.echoes_received += 1;
        if self.sender.phase == Phase::Open && !self.sender.control.is_model_based() {
            self.counters.ecn_reductions += 1;
            self.reduce(step, Cause::Echo, flight);
            self.sender.owes_cwr = true;
        }
    }

    /// Reduces the window once; recovery is not needed. `flight`: what was outstanding before this ACK.
    pub(super) fn reduce(&mut self, step: &Step<'_>, cause: Cause, flight: u64) {
        self.set_threshold(step, cause, flight);
        let sender = &mut self.sender;
        if !sender.control.is_model_based() {
            sender.window.cwnd = sender.window.ssthresh.min(sender.window.cwnd);
        }
        sender.phase = Phase::Reduced;
        sender.reduced_until = sender.next;
    }

    /// Lets the congestion control set the threshold of slow start.
    pub(super) fn set_threshold(&mut self, step: &Step<'_>, cause: Cause, flight: u64) {
        let sender = &mut self.sender;
        // What limited transmit sent is beyond the window (RFC 5681, section 3.2, step 2).
        let flight = flight.min(sender.window.cwnd);
        let signals = Signals { flight, ..sender.signals(step.now, step.settings) };
        sender.window.ssthresh = sender.control.any().reduce(&sender.window, &signals, cause);
    }

    /// RFC 6582, section 3.2, step 3: of the partial ACKs of a recovery only the first restarts the timer.
    /// With SACK every ACK of new data does (RFC 6675, section 5.1).
    const fn restarts_timer(&mut self) -> bool {
        let sender = &mut self.sender;
        if sender.has_sack || !matches!(sender.phase, Phase::Recovery) {
            return true;
        }
        !std::mem::replace(&mut sender.had_partial, true)
    }
}

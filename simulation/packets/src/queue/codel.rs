//! CoDel, controlled delay (RFC 8289, the pseudocode of its section 5): a queue in which packets have waited
//! longer than a target for a whole interval loses packets at departure, at a rate that grows with the root
//! of their number, until the wait is below the target again.
//!
//! With ECN a packet is marked instead, and sent: after a mark none is looked at again before the next time
//! of the control law, as in Linux. Square roots are of integers, and exact.
//!
//! With a threshold in time besides (`ce_threshold` of Linux), what leaves after a longer wait is marked,
//! whatever the control loop says: the marking that DCTCP asks for (RFC 8257, section 3.1), by wait and not
//! by length.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Backlog, Classes, Discipline, DropReason, Ecn, Limit, Loss, Packet, QueueError, Verdict};
use crate::clock::MOST_COUNT;

/// The parameters of CoDel that do not depend on a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodelSettings {
    /// How long packets may wait (s); 5 ms by the RFC (section 4.4).
    pub target: Time,
    /// For how long they may wait longer before the first drop (s); 100 ms by the RFC (section 4.3).
    pub interval: Time,
    /// The longest packet of the link in bytes: a queue that holds no more is never too long.
    pub mtu: u32,
    /// ECN-capable packets are marked instead of dropped.
    pub marks: bool,
    /// Every ECN-capable packet that has waited longer is marked as it leaves, for DCTCP: a threshold in time
    /// (s), as `ce_threshold` of Linux's `codel` and `fq_codel`. `None` for none.
    pub ce_threshold: Option<Time>,
}

impl CodelSettings {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        if self.interval == Time::ZERO || self.target > self.interval {
            return Err(QueueError {
                what: format!("CoDel with a target of {} in an interval of {}", self.target, self.interval),
                allowed: "an interval above 0 and a target not above it",
            });
        }
        Ok(())
    }

    /// The time of the next drop after one at `at`, the `count`th in a row: interval / sqrt(count) later.
    pub(super) fn control_law(&self, at: Time, count: u64) -> Time {
        let interval = u128::from(self.interval.as_ticks());
        // The root of an integer that was rounded down is the root, rounded down.
        let span = (interval * interval / u128::from(count.max(1))).isqrt();
        at.saturating_add(Time::ticks(span as u64))
    }
}

/// The variables of the control loop, with the names of the RFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Control {
    /// When the wait will have been above the target for an interval (first_above_time).
    first_above: Option<Time>,
    /// When to drop next (drop_next).
    drop_next: Time,
    /// The packets dropped since the loop began to drop (count).
    count: u64,
    /// `count` when it began to drop last (lastcount).
    last_count: u64,
    /// Whether it is dropping (dropping).
    is_dropping: bool,
}

/// A FIFO queue under CoDel, without its limit and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Controlled<P> {
    /// Each packet with the time of its arrival.
    packets: VecDeque<(Time, P)>,
    bytes: u64,
    control: Control,
}

impl<P> Default for Controlled<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0, control: Control::default() }
    }
}

impl<P: Packet> Controlled<P> {
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn head_bytes(&self) -> Option<u32> {
        self.packets.front().map(|(_, packet)| packet.wire_bytes())
    }

    /// Shows all packets.
    pub(super) fn look(&self, show: &mut dyn FnMut(&P)) {
        self.packets.iter().for_each(|(_, packet)| show(packet));
    }

    /// Whether nothing waits, and the control loop is as at the start.
    pub(super) fn is_fresh(&self) -> bool {
        self.packets.is_empty() && self.control == Control::default()
    }

    /// Whether its numbers fit each other in a state at `latest`.
    pub(super) fn is_consistent(&self, latest: Time) -> bool {
        let bytes: u128 = self.packets.iter().map(|(_, packet)| u128::from(packet.wire_bytes())).sum();
        u128::from(self.bytes) == bytes
            && self.packets.iter().all(|(arrival, _)| *arrival <= latest)
            && self.control.last_count <= self.control.count
            && self.control.count <= MOST_COUNT
    }

    pub(super) fn push(&mut self, now: Time, packet: P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back((now, packet));
    }

    /// The packet that waits longest with the time of its arrival, whatever the control loop says.
    pub(super) fn pop(&mut self) -> Option<(Time, P)> {
        let (arrival, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some((arrival, packet))
    }

    /// The next packet, and whether the loop may drop it (`dodequeue` of the RFC).
    fn look_at_next(&mut self, settings: &CodelSettings, now: Time) -> Option<(P, bool)> {
        let Some((arrival, mut packet)) = self.pop() else {
            self.control.first_above = None;
            return None;
        };
        if settings.ce_threshold.is_some_and(|threshold| now - arrival > threshold)
            && packet.ecn().is_capable()
        {
            // Where the loop drops it, the mark is lost with it.
            packet.set_ecn(Ecn::Congested);
        }
        if now - arrival < settings.target || self.bytes <= u64::from(settings.mtu) {
            self.control.first_above = None;
            return Some((packet, false));
        }
        let first_above = *self.control.first_above.get_or_insert(now.saturating_add(settings.interval));
        // Just set, it lies an interval ahead.
        Some((packet, now >= first_above))
    }

    /// The packet to be sent at `now` (`dequeue` of the RFC).
    pub(super) fn dequeue(
        &mut self,
        settings: &CodelSettings,
        now: Time,
        losses: &mut Vec<Loss<P>>,
    ) -> Option<P> {
        let Some((mut packet, mut may_drop)) = self.look_at_next(settings, now) else {
            self.control.is_dropping = false;
            return None;
        };
        if !self.control.is_dropping {
            if !may_drop {
                return Some(packet);
            }
            let is_marked = mark(settings, &mut packet);
            let next = match is_marked {
                true => Some(packet),
                false => self.replace(settings, now, packet, losses).map(|(packet, _)| packet),
            };
            self.begin(settings, now);
            return next;
        }
        while may_drop && now >= self.control.drop_next {
            self.control.count += 1;
            if mark(settings, &mut packet) {
                self.control.drop_next = settings.control_law(self.control.drop_next, self.control.count);
                return Some(packet);
            }
            let Some(next) = self.replace(settings, now, packet, losses) else {
                self.control.is_dropping = false;
                return None;
            };
            (packet, may_drop) = next;
            if may_drop {
                self.control.drop_next = settings.control_law(self.control.drop_next, self.control.count);
            }
        }
        self.control.is_dropping = may_drop;
        Some(packet)
    }

    /// Drops `packet` and looks at the next one.
    fn replace(
        &mut self,
        settings: &CodelSettings,
        now: Time,
        packet: P,
        losses: &mut Vec<Loss<P>>,
    ) -> Option<(P, bool)> {
        losses.push(Loss { packet, reason: DropReason::Early });
        self.look_at_next(settings, now)
    }

    /// Begins to drop: at the rate at which it stopped, if that was a short while ago.
    fn begin(&mut self, settings: &CodelSettings, now: Time) {
        let control = &mut self.control;
        let delta = control.count - control.last_count;
        let recent = settings.interval.as_ticks().saturating_mul(16);
        // The next drop may still lie ahead where the loop stopped before its time.
        let is_recent = now.saturating_sub(control.drop_next).as_ticks() < recent;
        control.count = if delta > 1 && is_recent { delta } else { 1 };
        control.is_dropping = true;
        control.drop_next = settings.control_law(now, control.count);
        control.last_count = control.count;
    }
}

/// Marks the packet if that is allowed.
fn mark<P: Packet>(settings: &CodelSettings, packet: &mut P) -> bool {
    let may_mark = settings.marks && packet.ecn().is_capable();
    if may_mark {
        packet.set_ecn(Ecn::Congested);
    }
    may_mark
}

/// A FIFO queue under CoDel. A packet that finds `limit` reached is lost at arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Codel<P> {
    settings: CodelSettings,
    limit: Limit,
    pub(super) queue: Controlled<P>,
}

impl<P: Packet> Codel<P> {
    /// An empty queue.
    ///
    /// # Errors
    ///
    /// A setting makes no sense.
    pub fn new(settings: CodelSettings, limit: Limit) -> Result<Self, QueueError> {
        settings.check()?;
        limit.check()?;
        Ok(Self { settings, limit, queue: Controlled::default() })
    }

    /// Whether its numbers fit each other, and the settings are those of `fresh`, in a state at `latest`.
    pub(super) fn is_consistent(&self, fresh: &Self, latest: Time) -> bool {
        (self.settings, self.limit) == (fresh.settings, fresh.limit) && self.queue.is_consistent(latest)
    }
}

impl<P: Packet> Discipline<P> for Codel<P> {
    fn enqueue(&mut self, now: Time, packet: P, losses: &mut Vec<Loss<P>>) -> Verdict {
        let backlog = Backlog { packets: self.queue.len(), bytes: self.queue.bytes(), idle_since: None };
        if !self.limit.has_room(&backlog, packet.wire_bytes()) {
            losses.push(Loss { packet, reason: DropReason::Full });
            return Verdict::Dropped(DropReason::Full);
        }
        self.queue.push(now, packet);
        Verdict::Accepted
    }

    fn dequeue(&mut self, now: Time, paused: Classes, losses: &mut Vec<Loss<P>>) -> Option<P> {
        if !paused.is_empty() {
            return None;
        }
        self.queue.dequeue(&self.settings, now, losses)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn head_bytes(&self) -> Option<u32> {
        self.queue.head_bytes()
    }

    fn look(&self, show: &mut dyn FnMut(&P)) {
        self.queue.look(show);
    }
}

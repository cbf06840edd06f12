//! The logical time of one federate: where it is, what it waits for, and the messages that wait with it.
//!
//! Invariants: time never goes back; messages in timestamp order wait only with a federate that is
//! constrained, and have times that it has not passed; what it may send never falls below what it has
//! promised.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use paceline_kernel::{SendBound, SendDelay, SendTime, Sender};

use super::message::{Body, Stamp};
use crate::time::{LogicalTime, TimeKind};

/// How a federate has asked to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advance {
    pub(super) to: LogicalTime,
    /// Only as far as its next message in timestamp order, if that comes first.
    pub(super) is_to_next_message: bool,
    /// Messages at the granted time may still come, and be sent without a lookahead.
    pub(super) is_available: bool,
}

/// The place of a message in timestamp order: its time, its sender, the sender's count, and which part of the
/// message it is.
pub(super) type Place = (LogicalTime, u32, u64, u32);

#[derive(Debug)]
pub(super) struct Clock {
    /// The time that was granted last.
    pub(super) now: LogicalTime,
    /// All messages up to `now` have come, those at `now` too. Without a lookahead none is sent at `now`
    /// either.
    pub(super) is_past_now: bool,
    /// The one that it has asked for last; only if it regulates.
    pub(super) lookahead: Option<LogicalTime>,
    /// What it promised with a greater lookahead than it has now, until its time has come so far.
    floor: Option<SendBound<LogicalTime>>,
    pub(super) is_constrained: bool,
    /// It is to be constrained as soon as its time is in nobody's future.
    pub(super) awaits_constraint: bool,
    pub(super) pending: Option<Advance>,
    /// The bound that it waits for, as the federation's list of those who wait has it.
    pub(super) listed: Option<SendBound<LogicalTime>>,
    /// Messages in receive order do not wait for an advance.
    pub(super) is_asynchronous: bool,
    /// In receive order.
    pub(super) held: VecDeque<(Body, Option<Stamp>)>,
    /// In timestamp order.
    pub(super) queue: BTreeMap<Place, (Body, Stamp)>,
    /// The messages that it has sent in timestamp order.
    pub(super) sent: u64,
    /// Those of them that may still be retracted, by time and count, and who has got them.
    pub(super) retractable: BTreeMap<(LogicalTime, u64), BTreeSet<u32>>,
}

impl Clock {
    pub(super) fn new(kind: TimeKind) -> Self {
        Self {
            now: kind.initial(),
            is_past_now: false,
            lookahead: None,
            floor: None,
            is_constrained: false,
            awaits_constraint: false,
            pending: None,
            listed: None,
            is_asynchronous: false,
            held: VecDeque::new(),
            queue: BTreeMap::new(),
            sent: 0,
            retractable: BTreeMap::new(),
        }
    }

    /// The time of the first message that waits.
    pub(super) fn first_queued(&self) -> Option<LogicalTime> {
        self.queue.first_key_value().map(|((time, ..), _)| *time)
    }

    /// Whether messages in receive order wait.
    pub(super) fn holds(&self) -> bool {
        self.is_constrained && !self.is_asynchronous && self.pending.is_none()
    }

    /// What is granted to a request, as far as is known, and whether all messages at that time have come
    /// then.
    pub(super) fn target(&self, advance: Advance) -> (LogicalTime, bool) {
        let next = self.first_queued().filter(|_| advance.is_to_next_message);
        let time = next.map_or(advance.to, |next| next.min(advance.to));
        (time, !advance.is_available || (time == self.now && self.is_past_now))
    }

    /// The bound that it waits for; nothing if it waits for none. It is never above what it promises itself,
    /// so that the least promise of all decides ([`SendBounds::least`](paceline_kernel::SendBounds::least)).
    pub(super) fn needed(&self) -> Option<SendBound<LogicalTime>> {
        let (time, is_passed) = match self.pending {
            Some(advance) if self.is_constrained => (self.target(advance).0, !advance.is_available),
            None if self.awaits_constraint => (self.now, self.is_past_now),
            _ => return None,
        };
        Some(if is_passed { SendBound::after(time) } else { SendBound::at(time) })
    }

    fn delay(&self, from: LogicalTime, is_past: bool) -> Option<SendDelay<LogicalTime>> {
        let lookahead = self.lookahead?;
        // One that is lost in rounding is none.
        let lookahead = if from.later_by(lookahead) == from { from.zero() } else { lookahead };
        Some(SendDelay::new(lookahead, is_past))
    }

    /// What it promises to others; nothing if it does not regulate.
    pub(super) fn sender(&self) -> Option<Sender<LogicalTime>> {
        let (earliest, is_past) =
            self.pending.map_or((self.now, self.is_past_now), |advance| self.target(advance));
        let reacts = self.is_constrained && self.pending.is_some_and(|advance| advance.is_to_next_message);
        Some(Sender { earliest, delay: self.delay(earliest, is_past)?, reacts, floor: self.floor })
    }

    /// Before what it may not send in timestamp order; nothing if it does not regulate. While it waits that
    /// is counted from the time that it has asked for.
    pub(super) fn send_bound(&self) -> Option<SendBound<LogicalTime>> {
        let (from, is_past) = match self.pending {
            Some(advance) => {
                let stays_past = advance.to == self.now && self.is_past_now;
                (advance.to, !advance.is_available || stays_past)
            }
            None => (self.now, self.is_past_now),
        };
        let bound = SendBound::at(from).later_by(self.delay(from, is_past)?);
        Some(self.floor.map_or(bound, |floor| floor.max(bound)))
    }

    /// It regulates with this lookahead, or no more.
    pub(super) fn regulate(&mut self, lookahead: Option<LogicalTime>) {
        // What is final stays so, even if it regulates again with a smaller lookahead.
        self.forget_final();
        (self.lookahead, self.floor) = (lookahead, None);
        self.forget_final();
    }

    /// A greater lookahead counts at once. A smaller one does not take back what was promised: what may be
    /// sent stays until time has come so far.
    pub(super) fn change_lookahead(&mut self, lookahead: LogicalTime) {
        self.floor = self.send_bound();
        self.lookahead = Some(lookahead);
        self.drop_floor_if_reached();
        self.forget_final();
    }

    fn drop_floor_if_reached(&mut self) {
        let floor = self.floor.take();
        self.floor = floor.filter(|floor| self.send_bound().is_some_and(|bound| bound < *floor));
    }

    /// The lookahead that counts: the one that was asked for, or what is left of a greater one.
    pub(super) fn actual_lookahead(&self) -> Option<LogicalTime> {
        let lookahead = self.lookahead?;
        Some(self.floor.map_or(lookahead, |floor| lookahead.max(self.now.until(floor.time))))
    }

    /// Time has come.
    pub(super) fn arrive(&mut self, time: LogicalTime, is_past: bool) {
        (self.now, self.is_past_now, self.pending) = (time, is_past, None);
        self.drop_floor_if_reached();
        self.forget_final();
    }

    /// Messages that are not later than what it has promised can no longer be retracted. What it waits for
    /// may be more than it is granted.
    fn forget_final(&mut self) {
        let Some(bound) = self.send_bound().filter(|_| self.pending.is_none()) else { return };
        while self.retractable.first_entry().is_some_and(|first| first.key().0 <= bound.time) {
            self.retractable.pop_first();
        }
    }
}

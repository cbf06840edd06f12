//! Grants: who of those that wait has reached the bound that it waits for.
//!
//! Those that wait are listed by their bounds, and the kernel keeps the promises of those that regulate
//! ([`SendBounds`](paceline_kernel::SendBounds)). Nobody waits for more than it promises itself, so that the
//! least promise of all decides for all of them, and a grant costs no look at other federates. A grant
//! changes no promise: a request has counted since it came.
//!
//! Invariants: after a change of its clock a federate is refreshed before anybody is granted; whoever waits
//! is listed once, with the bound that it needs now; those with equal bounds are granted in the order of
//! handles.

use std::collections::BTreeSet;

use paceline_hla::{Response, callback, response};
use paceline_kernel::SendBound;

use super::Federation;
use super::message::{Body, Stamp};
use crate::exception::Answer;
use crate::time::LogicalTime;

/// Those that wait, by the bound that each needs.
pub(super) type Waiting = BTreeSet<(SendBound<LogicalTime>, u32)>;

impl Federation {
    /// Lists a federate anew, as its clock has changed.
    pub(super) fn refresh(&mut self, federate: u32) {
        let clock = self.clock(federate);
        let (sender, needed) = (clock.sender(), clock.needed());
        let listed = std::mem::replace(&mut clock.listed, needed);
        self.bounds.set(federate, sender);
        // Most changes of a clock change no bound, and the list is left alone.
        if listed == needed {
            return;
        }
        if let Some(listed) = listed {
            self.waiting.remove(&(listed, federate));
        }
        if let Some(needed) = needed {
            self.waiting.insert((needed, federate));
        }
    }

    /// The federate resigns: nobody waits for it any more.
    pub(super) fn forget_in_time(&mut self, federate: u32) {
        self.bounds.set(federate, None);
        if let Some(listed) = self.clock(federate).listed {
            self.waiting.remove(&(listed, federate));
        }
    }

    /// Whether the federate may go on to a time although nobody else may hold it up.
    pub(super) fn is_led(&self, federate: u32, to: LogicalTime) -> bool {
        self.grants_non_regulated
            || self.bounds.least_of_others(federate).is_some()
            || to <= self.federates[&federate].clock.now
    }

    /// Grants all that can be granted.
    pub(super) fn grant_all(&mut self) {
        let least = self.bounds.least();
        let is_reached = |needed: SendBound<LogicalTime>| least.is_none_or(|least| needed <= least);
        let mut held_back = Vec::new();
        while let Some((needed, federate)) = self.waiting.first().copied()
            && is_reached(needed)
        {
            self.waiting.pop_first();
            // Where nobody else regulates, a bound is reached at once; whether that counts is the modules'
            // choice.
            if self.is_led(federate, needed.time) {
                self.grant(federate);
            } else {
                held_back.push((needed, federate));
            }
        }
        // Afterwards: put back at once, they would come first again.
        self.waiting.extend(held_back);
    }

    /// Grants what the federate waits for: a time, or to be constrained. It is not listed any more.
    pub(super) fn grant(&mut self, federate: u32) {
        let clock = self.clock(federate);
        clock.listed = None;
        let Some(advance) = clock.pending else {
            (clock.awaits_constraint, clock.is_constrained) = (false, true);
            let time = clock.now.time();
            return self.tell(federate, callback::TimeConstrainedEnabled { time });
        };
        let (time, is_past) = clock.target(advance);
        let before = clock.sender();
        clock.arrive(time, is_past);
        let after = clock.sender();
        let has_messages = clock.first_queued().is_some_and(|first| first <= time);
        // A request has counted since it came. What may differ is whether it reacts to messages, and a floor
        // that time has reached.
        if before != after {
            self.bounds.set(federate, after);
        }
        if has_messages {
            self.release_up_to(federate, time);
        }
        self.tell(federate, callback::TimeAdvanceGrant { time: time.time() });
    }

    /// Hands over the messages up to a time, that time included.
    pub(super) fn release_up_to(&mut self, federate: u32, time: LogicalTime) {
        let queue = &mut self.clock(federate).queue;
        let later = queue.split_off(&(time, u32::MAX, u64::MAX, u32::MAX));
        for (body, stamp) in std::mem::replace(queue, later).into_values() {
            self.tell(federate, body.callback(Some(stamp), true));
        }
    }

    /// Flush queue request: hands over all messages, however late, and grants as much as is safe. A
    /// constrained federate may go optimistically as far as it asked, or to its first message; what is
    /// granted is no more than the bound of what may still come.
    pub(super) fn flush_queue(
        &mut self,
        federate: u32,
        to: Option<&paceline_hla::LogicalTime>,
    ) -> Answer<Response> {
        let to = self.read_time(to)?;
        Self::check_advance(self.clock(federate), to)?;
        let bound = self.bounds.least_of_others(federate).map(|bound| bound.time);
        let is_led = self.is_led(federate, to);
        let clock = self.clock(federate);
        let optimistic = clock.first_queued().map_or(to, |first| first.min(to));
        let mut safe = optimistic;
        if clock.is_constrained {
            safe = bound.map_or(safe, |bound| bound.min(safe));
            safe = if is_led { safe } else { clock.now };
        }
        let is_past = safe == clock.now && clock.is_past_now;
        let queue: Vec<(Body, Stamp)> = std::mem::take(&mut clock.queue).into_values().collect();
        let held = std::mem::take(&mut clock.held);
        clock.arrive(safe, is_past);
        self.refresh(federate);
        for (body, stamp) in held {
            self.tell(federate, body.callback(stamp, false));
        }
        for (body, stamp) in queue {
            self.tell(federate, body.callback(Some(stamp), true));
        }
        let (time, optimistic_time) = (safe.time(), optimistic.time());
        self.tell(federate, callback::FlushQueueGrant { time, optimistic_time });
        self.grant_all();
        Ok(response::FlushQueueRequest {}.into())
    }
}

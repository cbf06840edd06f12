//! Time management: who regulates, who is constrained, and who is granted which time.
//!
//! GALT is the kernel's bound of what others may still send ([`SendBounds`](paceline_kernel::SendBounds)); a
//! request is granted once that has reached or passed the time.
//!
//! Invariants: what a regulating federate may still send is in the past of no constrained one; a request is
//! granted once.

use std::collections::BTreeSet;

use paceline_hla::{Call, Response, TimeQueryReturn, callback, response};

use super::Federation;
use super::clock::{Advance, Clock};
use super::message::{Body, Stamp};
use crate::exception::{Answer, CallError, Exception};
use crate::time::LogicalTime;

fn refuse<T>(exception: Exception, details: &str) -> Answer<T> {
    Err(CallError::new(exception, details))
}

fn query_return(time: Option<LogicalTime>) -> Option<TimeQueryReturn> {
    Some(TimeQueryReturn {
        logical_time_is_valid: time.is_some(),
        logical_time: time.and_then(LogicalTime::time),
    })
}

impl Federation {
    pub(super) fn clock(&mut self, federate: u32) -> &mut Clock {
        &mut self.federates.get_mut(&federate).expect("who calls has joined").clock
    }

    pub(super) fn read_time(&self, time: Option<&paceline_hla::LogicalTime>) -> Answer<LogicalTime> {
        let bytes = time.map(|time| &*time.data).unwrap_or_default();
        self.time.read(bytes).map_err(|details| CallError::new(Exception::InvalidLogicalTime, details))
    }

    fn read_lookahead(&self, interval: Option<&paceline_hla::LogicalTimeInterval>) -> Answer<LogicalTime> {
        let bytes = interval.map(|interval| &*interval.data).unwrap_or_default();
        let read = self.time.read(bytes).and_then(|lookahead| {
            let is_some = lookahead >= self.time.initial();
            is_some.then_some(lookahead).ok_or_else(|| "a lookahead is not below zero".to_owned())
        });
        read.map_err(|details| CallError::new(Exception::InvalidLookahead, details))
    }

    /// Counts a message that is sent with a time. It goes out in timestamp order if its sender regulates, and
    /// if all of it or a part `has_order`.
    pub(super) fn check_stamp(
        &mut self,
        federate: u32,
        time: &paceline_hla::LogicalTime,
        has_order: bool,
    ) -> Answer<Stamp> {
        let time = self.read_time(Some(time))?;
        let clock = self.clock(federate);
        let bound = clock.send_bound();
        if bound.is_some_and(|bound| time < bound.time || (time == bound.time && bound.is_open)) {
            let details = "it is earlier than what this federate has promised: its time and its lookahead";
            return refuse(Exception::InvalidLogicalTime, details);
        }
        let is_timestamped = has_order && bound.is_some();
        if is_timestamped {
            clock.sent += 1;
            clock.retractable.insert((time, clock.sent), BTreeSet::new());
        }
        Ok(Stamp { time, is_timestamped, sender: federate, count: clock.sent })
    }

    /// Hands a message over in its order.
    pub(super) fn deliver(&mut self, federate: u32, body: Body, stamp: Option<Stamp>) {
        let clock = self.clock(federate);
        // A constrained federate gets what comes in receive order only while it waits for a time, unless it
        // has enabled asynchronous delivery.
        if clock.holds() {
            clock.held.push_back((body, stamp));
        } else {
            self.tell(federate, body.callback(stamp, false));
        }
    }

    /// Sends a message, or a part of it, to a federate.
    pub(super) fn transmit(&mut self, to: u32, body: Body, stamp: Option<Stamp>) {
        let Some(stamp) = stamp.filter(|stamp| stamp.is_timestamped) else {
            return self.deliver(to, body, stamp);
        };
        if let Some(receivers) = self.clock(stamp.sender).retractable.get_mut(&(stamp.time, stamp.count)) {
            receivers.insert(to);
        }
        let clock = self.clock(to);
        if !clock.is_constrained {
            return self.deliver(to, body, Some(stamp));
        }
        let first = (stamp.time, stamp.sender, stamp.count, 0);
        let parts = clock.queue.range(first..=(stamp.time, stamp.sender, stamp.count, u32::MAX)).count();
        clock.queue.insert((stamp.time, stamp.sender, stamp.count, parts as u32), (body, stamp));
        // Who waits for its next message may wait for less now.
        if clock.pending.is_some() {
            self.refresh(to);
        }
    }

    fn release_held(&mut self, federate: u32) {
        // Still held: nothing has changed for it.
        if self.federates[&federate].clock.holds() {
            return;
        }
        for (body, stamp) in std::mem::take(&mut self.clock(federate).held) {
            self.tell(federate, body.callback(stamp, false));
        }
    }

    fn enable_regulation(&mut self, federate: u32, lookahead: LogicalTime) -> Answer<()> {
        let clock = self.clock(federate);
        if clock.lookahead.is_some() {
            return refuse(Exception::TimeRegulationAlreadyEnabled, "this federate regulates already");
        }
        Self::check_granted(clock)?;
        // It may send from its time on, so that time is in the past of none who relies on what has come. No
        // message below it can be missing: whoever has got so far relied on the same promises.
        let relies = |(other, row): (&u32, &super::Federate)| {
            (*other != federate && row.clock.is_constrained).then_some((row.clock.now, row.clock.is_past_now))
        };
        let latest = self.federates.iter().filter_map(relies).max();
        let clock = self.clock(federate);
        if let Some((now, is_past)) = latest.filter(|latest| *latest > (clock.now, clock.is_past_now)) {
            (clock.now, clock.is_past_now) = (now, is_past);
        }
        clock.regulate(Some(lookahead));
        let now = clock.now;
        self.refresh(federate);
        self.release_up_to(federate, now);
        self.tell(federate, callback::TimeRegulationEnabled { time: now.time() });
        Ok(())
    }

    fn disable_regulation(&mut self, federate: u32) -> Answer<()> {
        let clock = self.clock(federate);
        if clock.lookahead.is_none() {
            return refuse(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate");
        }
        clock.regulate(None);
        self.refresh(federate);
        Ok(())
    }

    fn enable_constraint(&mut self, federate: u32) -> Answer<()> {
        let clock = self.clock(federate);
        if clock.is_constrained {
            return refuse(Exception::TimeConstrainedAlreadyEnabled, "this federate is constrained already");
        }
        Self::check_granted(clock)?;
        clock.awaits_constraint = true;
        self.refresh(federate);
        Ok(())
    }

    /// What has waited for its time comes at once, in receive order.
    fn disable_constraint(&mut self, federate: u32) -> Answer<()> {
        let clock = self.clock(federate);
        if !clock.is_constrained {
            return refuse(Exception::TimeConstrainedIsNotEnabled, "this federate is not constrained");
        }
        clock.is_constrained = false;
        let queue = std::mem::take(&mut clock.queue);
        self.release_held(federate);
        for (body, stamp) in queue.into_values() {
            self.tell(federate, body.callback(Some(stamp), false));
        }
        self.refresh(federate);
        if self.clock(federate).pending.is_some() {
            self.grant(federate);
        }
        Ok(())
    }

    fn check_granted(clock: &Clock) -> Answer<()> {
        if clock.pending.is_some() {
            return refuse(
                Exception::InTimeAdvancingState,
                "the time that it has asked for is not granted yet",
            );
        }
        if clock.awaits_constraint {
            return refuse(Exception::RequestForTimeConstrainedPending, "it waits to be constrained");
        }
        Ok(())
    }

    /// Whether the federate may ask for a time.
    pub(super) fn check_advance(clock: &Clock, to: LogicalTime) -> Answer<()> {
        Self::check_granted(clock)?;
        if to < clock.now {
            return refuse(
                Exception::LogicalTimeAlreadyPassed,
                "it is before the time that was granted last",
            );
        }
        Ok(())
    }

    fn request_advance(
        &mut self,
        federate: u32,
        to: Option<&paceline_hla::LogicalTime>,
        is_to_next_message: bool,
        is_available: bool,
    ) -> Answer<()> {
        let to = self.read_time(to)?;
        let clock = self.clock(federate);
        Self::check_advance(clock, to)?;
        clock.pending = Some(Advance { to, is_to_next_message, is_available });
        let (is_constrained, holds_some) = (clock.is_constrained, !clock.held.is_empty());
        self.refresh(federate);
        // From its request on it takes what comes.
        if holds_some {
            self.release_held(federate);
        }
        // It waits for nobody.
        if !is_constrained {
            self.grant(federate);
        }
        Ok(())
    }

    fn set_asynchronous(&mut self, federate: u32, value: bool) -> Answer<()> {
        let clock = self.clock(federate);
        if clock.is_asynchronous == value {
            return if value {
                refuse(Exception::AsynchronousDeliveryAlreadyEnabled, "it is on already")
            } else {
                refuse(Exception::AsynchronousDeliveryAlreadyDisabled, "it is off already")
            };
        }
        clock.is_asynchronous = value;
        self.release_held(federate);
        Ok(())
    }

    fn modify_lookahead(&mut self, federate: u32, lookahead: LogicalTime) -> Answer<()> {
        let clock = self.clock(federate);
        if clock.lookahead.is_none() {
            return refuse(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate");
        }
        if clock.pending.is_some() {
            return refuse(
                Exception::InTimeAdvancingState,
                "the time that it has asked for is not granted yet",
            );
        }
        clock.change_lookahead(lookahead);
        self.refresh(federate);
        Ok(())
    }

    /// The greatest lower bound of what may still be sent to the federate.
    pub(super) fn galt(&self, federate: u32) -> Option<LogicalTime> {
        self.bounds.bound_of(federate).map(|bound| bound.time)
    }

    pub(super) fn lits(&self, federate: u32) -> Option<LogicalTime> {
        let queued = self.federates[&federate].clock.first_queued();
        [self.galt(federate), queued].into_iter().flatten().min()
    }

    /// Answers a call about time; others go on to the next group of services.
    pub(super) fn manage_time(&mut self, federate: u32, call: Call) -> Answer<Response> {
        let response = match call {
            Call::TimeAdvanceRequest(r) => self
                .request_advance(federate, r.time.as_ref(), false, false)
                .map(|()| response::TimeAdvanceRequest {}.into()),
            Call::TimeAdvanceRequestAvailable(r) => self
                .request_advance(federate, r.time.as_ref(), false, true)
                .map(|()| response::TimeAdvanceRequestAvailable {}.into()),
            Call::NextMessageRequest(r) => self
                .request_advance(federate, r.time.as_ref(), true, false)
                .map(|()| response::NextMessageRequest {}.into()),
            Call::NextMessageRequestAvailable(r) => self
                .request_advance(federate, r.time.as_ref(), true, true)
                .map(|()| response::NextMessageRequestAvailable {}.into()),
            Call::EnableTimeRegulation(r) => self
                .read_lookahead(r.lookahead.as_ref())
                .and_then(|lookahead| self.enable_regulation(federate, lookahead))
                .map(|()| response::EnableTimeRegulation {}.into()),
            Call::DisableTimeRegulation(_) => {
                self.disable_regulation(federate).map(|()| response::DisableTimeRegulation {}.into())
            }
            Call::EnableTimeConstrained(_) => {
                self.enable_constraint(federate).map(|()| response::EnableTimeConstrained {}.into())
            }
            Call::DisableTimeConstrained(_) => {
                self.disable_constraint(federate).map(|()| response::DisableTimeConstrained {}.into())
            }
            Call::ModifyLookahead(r) => self
                .read_lookahead(r.lookahead.as_ref())
                .and_then(|lookahead| self.modify_lookahead(federate, lookahead))
                .map(|()| response::ModifyLookahead {}.into()),
            call => return self.look_at_time(federate, call),
        }?;
        self.grant_all();
        Ok(response)
    }

    fn look_at_time(&mut self, federate: u32, call: Call) -> Answer<Response> {
        Ok(match call {
            Call::EnableAsynchronousDelivery(_) => {
                self.set_asynchronous(federate, true)?;
                response::EnableAsynchronousDelivery {}.into()
            }
            Call::DisableAsynchronousDelivery(_) => {
                self.set_asynchronous(federate, false)?;
                response::DisableAsynchronousDelivery {}.into()
            }
            Call::QueryGALT(_) => response::QueryGALT { result: query_return(self.galt(federate)) }.into(),
            Call::QueryLITS(_) => response::QueryLITS { result: query_return(self.lits(federate)) }.into(),
            Call::QueryLogicalTime(_) => {
                response::QueryLogicalTime { result: self.clock(federate).now.time() }.into()
            }
            Call::QueryLookahead(_) => match self.clock(federate).actual_lookahead() {
                Some(lookahead) => response::QueryLookahead { result: lookahead.interval() }.into(),
                None => {
                    return refuse(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate");
                }
            },
            Call::FlushQueueRequest(r) => return self.flush_queue(federate, r.time.as_ref()),
            call => return self.answer_retraction(federate, call),
        })
    }
}

//! Time management: who regulates, who is constrained, and who is granted which time.
//!
//! GALT is the kernel's bound of what others may still send ([`SendBounds`]); a request is granted once that
//! has reached or passed the time. Flush queue requests, retraction, and lookaheads that shrink are not there
//! yet.
//!
//! Invariants: what a regulating federate may still send is in the past of no constrained one; a request is
//! granted once; whoever waits is one of `waiting`.

use paceline_hla::{Call, Response, TimeQueryReturn, callback, response};
use paceline_kernel::{SendBound, SendBounds};

use super::Federation;
use super::clock::{Advance, Clock};
use super::message::{Body, Stamp};
use crate::exception::{Answer, CallError, Exception, not_yet};
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
    fn clock(&mut self, federate: u32) -> &mut Clock {
        &mut self.federates.get_mut(&federate).expect("who calls has joined").clock
    }

    fn read_time(&self, time: Option<&paceline_hla::LogicalTime>) -> Answer<LogicalTime> {
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

    /// A message's time, and whether it goes out in timestamp order.
    pub(super) fn check_stamp(
        &mut self,
        federate: u32,
        time: Option<&paceline_hla::LogicalTime>,
    ) -> Answer<Stamp> {
        let time = self.read_time(time)?;
        let bound = self.clock(federate).send_bound();
        if bound.is_some_and(|bound| time < bound.time || (time == bound.time && bound.is_open)) {
            let details = "it is earlier than what this federate has promised: its time and its lookahead";
            return refuse(Exception::InvalidLogicalTime, details);
        }
        Ok(Stamp { time, is_timestamped: bound.is_some() })
    }

    /// Hands a message over in its order.
    pub(super) fn deliver(&mut self, federate: u32, body: Body, stamp: Option<Stamp>) {
        let clock = self.clock(federate);
        if clock.holds() {
            clock.held.push_back((body, stamp));
        } else {
            self.tell(federate, body.callback(stamp, false));
        }
    }

    /// Sends a message from one federate to another.
    pub(super) fn transmit(&mut self, from: u32, to: u32, body: Body, stamp: Option<Stamp>) {
        match stamp.filter(|stamp| stamp.is_timestamped && self.federates[&to].clock.is_constrained) {
            Some(stamp) => {
                let sender = self.clock(from);
                sender.sent += 1;
                let place = (stamp.time, from, sender.sent);
                self.clock(to).queue.insert(place, (body, stamp));
            }
            None => self.deliver(to, body, stamp),
        }
    }

    fn release_held(&mut self, federate: u32) {
        if self.federates[&federate].clock.holds() {
            return;
        }
        for (body, stamp) in std::mem::take(&mut self.clock(federate).held) {
            self.tell(federate, body.callback(stamp, false));
        }
    }

    fn bounds(&self) -> SendBounds<LogicalTime> {
        let mut bounds = SendBounds::default();
        for (handle, federate) in &self.federates {
            if let Some(sender) = federate.clock.sender() {
                bounds.add(*handle, &sender);
            }
        }
        bounds
    }

    /// Grants all that can be granted, until nothing more can.
    pub(super) fn grant_all(&mut self) {
        let mut again = !self.waiting.is_empty();
        while again {
            again = false;
            // Bounds only rise as others are granted, so that one look at them serves all of a pass.
            let bounds = self.bounds();
            for federate in self.waiting.iter().copied().collect::<Vec<_>>() {
                let clock = &self.federates[&federate].clock;
                let bound = bounds.bound_of(federate, clock.sender().as_ref());
                again |= if clock.awaits_constraint {
                    self.constrain_if_reached(federate, bound)
                } else {
                    self.grant_if_reached(federate, bound)
                };
            }
        }
    }

    fn constrain_if_reached(&mut self, federate: u32, bound: Option<SendBound<LogicalTime>>) -> bool {
        let clock = self.clock(federate);
        let (now, is_past_now) = (clock.now, clock.is_past_now);
        let is_reached =
            |bound: SendBound<LogicalTime>| if is_past_now { bound.passes(now) } else { bound.reaches(now) };
        if bound.is_some_and(|bound| !is_reached(bound)) {
            return false;
        }
        (clock.awaits_constraint, clock.is_constrained) = (false, true);
        self.waiting.remove(&federate);
        self.tell(federate, callback::TimeConstrainedEnabled { time: now.time() });
        true
    }

    fn grant_if_reached(&mut self, federate: u32, bound: Option<SendBound<LogicalTime>>) -> bool {
        let clock = self.clock(federate);
        let advance = clock.pending.expect("who waits has asked");
        let (time, is_past) = clock.target(advance);
        let is_reached = |bound: SendBound<LogicalTime>| {
            if advance.is_available { bound.reaches(time) } else { bound.passes(time) }
        };
        if clock.is_constrained && bound.is_some_and(|bound| !is_reached(bound)) {
            return false;
        }
        (clock.now, clock.is_past_now, clock.pending) = (time, is_past, None);
        self.waiting.remove(&federate);
        self.release_up_to(federate, time);
        self.tell(federate, callback::TimeAdvanceGrant { time: time.time() });
        true
    }

    /// Hands over the messages up to a time, that time included.
    fn release_up_to(&mut self, federate: u32, time: LogicalTime) {
        let queue = &mut self.clock(federate).queue;
        let later = queue.split_off(&(time, u32::MAX, u64::MAX));
        for (body, stamp) in std::mem::replace(queue, later).into_values() {
            self.tell(federate, body.callback(Some(stamp), true));
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
        clock.lookahead = Some(lookahead);
        let now = clock.now;
        self.release_up_to(federate, now);
        self.tell(federate, callback::TimeRegulationEnabled { time: now.time() });
        Ok(())
    }

    fn disable_regulation(&mut self, federate: u32) -> Answer<()> {
        if self.clock(federate).lookahead.take().is_none() {
            return refuse(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate");
        }
        Ok(())
    }

    fn enable_constraint(&mut self, federate: u32) -> Answer<()> {
        let clock = self.clock(federate);
        if clock.is_constrained {
            return refuse(Exception::TimeConstrainedAlreadyEnabled, "this federate is constrained already");
        }
        Self::check_granted(clock)?;
        clock.awaits_constraint = true;
        self.waiting.insert(federate);
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

    fn request_advance(
        &mut self,
        federate: u32,
        to: Option<&paceline_hla::LogicalTime>,
        is_to_next_message: bool,
        is_available: bool,
    ) -> Answer<()> {
        let to = self.read_time(to)?;
        let clock = self.clock(federate);
        Self::check_granted(clock)?;
        if to < clock.now {
            return refuse(
                Exception::LogicalTimeAlreadyPassed,
                "it is before the time that was granted last",
            );
        }
        clock.pending = Some(Advance { to, is_to_next_message, is_available });
        self.waiting.insert(federate);
        self.release_held(federate);
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

    /// A lookahead that grows, grows at once.
    fn modify_lookahead(&mut self, federate: u32, lookahead: LogicalTime) -> Answer<()> {
        let clock = self.clock(federate);
        let Some(known) = clock.lookahead else {
            return refuse(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate");
        };
        if clock.pending.is_some() {
            return refuse(
                Exception::InTimeAdvancingState,
                "the time that it has asked for is not granted yet",
            );
        }
        if lookahead < known {
            return refuse(Exception::RTIinternalError, "not yet: ModifyLookahead to a smaller one");
        }
        clock.lookahead = Some(lookahead);
        Ok(())
    }

    /// The greatest lower bound of what may still be sent to the federate.
    pub(super) fn galt(&self, federate: u32) -> Option<LogicalTime> {
        let own = self.federates[&federate].clock.sender();
        self.bounds().bound_of(federate, own.as_ref()).map(|bound| bound.time)
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
            Call::QueryLookahead(_) => match self.clock(federate).lookahead {
                Some(lookahead) => response::QueryLookahead { result: lookahead.interval() }.into(),
                None => {
                    return refuse(Exception::TimeRegulationIsNotEnabled, "this federate does not regulate");
                }
            },
            Call::FlushQueueRequest(_) | Call::Retract(_) => return Err(not_yet(&call)),
            call => return self.manage_objects(federate, call),
        })
    }
}

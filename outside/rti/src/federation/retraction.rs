//! Retraction: a federate takes back a message that it has sent in timestamp order.
//!
//! A message is known by its sender, the sender's count and its time, which are the bytes of its handle
//! ([`Stamp::handle`]). It may be retracted while its time is later than all that the sender still has to be
//! late for (its send bound). Whoever is granted a time by its messages has relied on the bounds of others,
//! so that only what a flush queue request, or receive order, has handed over early is ever taken back after
//! it was delivered.

use paceline_hla::{Call, MessageRetractionHandle, Response, callback, response};

use super::Federation;
use super::message::Stamp;
use crate::exception::{Answer, CallError, Exception};
use crate::time::LogicalTime;

impl Federation {
    /// Time and count of a message that the federate has sent.
    fn read_retraction(
        &self,
        federate: u32,
        handle: Option<&MessageRetractionHandle>,
    ) -> Answer<(LogicalTime, u64)> {
        let bytes = handle.map(|handle| &*handle.data).unwrap_or_default();
        let parts = bytes.split_first_chunk::<4>().and_then(|(sender, rest)| {
            let (count, time) = rest.split_first_chunk::<8>()?;
            let time = self.time.read(time).ok()?;
            Some((u32::from_be_bytes(*sender), u64::from_be_bytes(*count), time))
        });
        let sent = self.federates[&federate].clock.sent;
        let was_sent = |(sender, count, _): &(u32, u64, _)| *sender == federate && (1..=sent).contains(count);
        parts.filter(was_sent).map(|(_, count, time)| (time, count)).ok_or_else(|| {
            let details = "it is not the handle of a message that this federate has sent";
            CallError::new(Exception::InvalidMessageRetractionHandle, details)
        })
    }

    fn retract(&mut self, federate: u32, handle: Option<MessageRetractionHandle>) -> Answer<()> {
        let Some(bound) = self.clock(federate).send_bound() else {
            let details = "this federate does not regulate";
            return Err(CallError::new(Exception::TimeRegulationIsNotEnabled, details));
        };
        let message = self.read_retraction(federate, handle.as_ref())?;
        let retractable = &mut self.clock(federate).retractable;
        let receivers = if message.0 > bound.time { retractable.remove(&message) } else { None };
        let Some(receivers) = receivers else {
            let details = "it was retracted, or its time is not after what this federate has promised";
            return Err(CallError::new(Exception::MessageCanNoLongerBeRetracted, details));
        };
        let restored = self.restore(federate, message);
        for receiver in receivers {
            if self.federates.contains_key(&receiver) && !self.take_back(receiver, federate, message) {
                self.tell(receiver, callback::RequestRetraction { retraction: handle.clone() });
            }
        }
        // Some may have come to subscribe while the instance was deleted.
        if let Some(object) = restored {
            let others: Vec<u32> =
                self.federates.keys().copied().filter(|other| *other != federate).collect();
            others.into_iter().for_each(|other| self.discover(other, object));
        }
        self.grant_all();
        Ok(())
    }

    /// Takes a message back that waits with its receiver; says whether it did.
    fn take_back(&mut self, receiver: u32, sender: u32, (time, count): (LogicalTime, u64)) -> bool {
        let clock = self.clock(receiver);
        let before = clock.queue.len() + clock.held.len();
        let parts = clock.queue.range((time, sender, count, 0)..=(time, sender, count, u32::MAX));
        for place in parts.map(|(place, _)| *place).collect::<Vec<_>>() {
            clock.queue.remove(&place);
        }
        let is_it = |stamp: &Stamp| stamp.is_timestamped && (stamp.sender, stamp.count) == (sender, count);
        clock.held.retain(|(_, stamp)| !stamp.as_ref().is_some_and(is_it));
        let is_found = clock.queue.len() + clock.held.len() < before;
        self.refresh(receiver);
        is_found
    }

    /// Answers a call to retract; others go on to the next group of services.
    pub(super) fn answer_retraction(&mut self, federate: u32, call: Call) -> Answer<Response> {
        match call {
            Call::Retract(r) => self.retract(federate, r.retraction).map(|()| response::Retract {}.into()),
            call => self.manage_objects(federate, call),
        }
    }
}

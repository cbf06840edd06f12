//! What waits to be sent to another process.
//!
//! Messages are records that are gathered in frames ([`Gather`]): a frame is sent when it is as large as it
//! is to be, when its first message has waited long enough, when this process has nothing else to do, or with
//! what it says of a round. An anti-message whose message still waits here cancels it: neither is sent. A
//! message longer than a frame goes in several, which [`codec::read_frame`] puts together.
//!
//! Invariants: what is sent off leaves in the order in which it was added; the messages that are counted in a
//! round are those that were or will be sent in it, so a message is only cancelled in the round in which it
//! was added.

#[cfg(all(test, not(paceline_shuttle)))]
mod test;

use paceline_kernel::Time;
use paceline_transport::marshal::{AddError, Gather, Marshalling, Reason, SizeLimit, Statistics, Ticket};
use paceline_transport::{Handed, PeerError};

use super::codec::{self, Written};
use super::rounds::COLOURS;

#[derive(Debug)]
pub(super) struct Outgoing {
    gather: Gather,
    /// Whether each message has a frame of its own.
    singly: bool,
    /// The message that is being added.
    record: Vec<u8>,
    /// The round in which messages are sent now, and how many have been, those that wait included.
    round: u64,
    sent: u64,
    /// The messages of this round that wait and can be cancelled, each with its time.
    cancellable: Vec<(Time, Ticket)>,
}

impl Outgoing {
    /// For a path with this unit and frame limit.
    pub(super) fn new(marshalling: Marshalling, unit: usize, limit: usize) -> Self {
        Self {
            gather: Gather::new(marshalling, unit, limit),
            singly: marshalling.size == SizeLimit::Off,
            record: Vec::new(),
            round: 0,
            sent: 0,
            cancellable: Vec::new(),
        }
    }

    pub(super) fn singly(&self) -> bool {
        self.singly
    }

    /// What has been sent, and what was cancelled before.
    pub(super) fn statistics(&self) -> Statistics {
        self.gather.statistics()
    }

    /// Writes a message of the round in which it is sent: `encode` gets that, modulo [`COLOURS`].
    /// [`Outgoing::add`] adds it.
    pub(super) fn write(&mut self, encode: impl FnOnce(&mut Vec<u8>, u8) -> Written) -> Written {
        self.record.clear();
        encode(&mut self.record, (self.round % COLOURS as u64) as u8)
    }

    /// Adds the message that was written, which counts in the round unless it is `of_no_round`; frames that
    /// are full go by `send`.
    pub(super) fn add(
        &mut self,
        now_ns: u64,
        of_no_round: bool,
        mut send: impl FnMut(&[u8]) -> Result<Handed, PeerError>,
    ) -> Result<Option<Ticket>, PeerError> {
        self.sent += u64::from(!of_no_round);
        let mut added = self.gather.add(&self.record, now_ns);
        if added.is_err() {
            self.send_off(Reason::Size, &mut send)?;
            added = self.gather.add(&self.record, now_ns);
        }
        let ticket = match added {
            Ok(ticket) => ticket,
            Err(AddError::TooLong { .. }) => {
                self.gather.hand_over_long(&self.record, |frame| send(frame).map(drop))?;
                return Ok(None);
            }
            Err(AddError::Full) => panic!("an empty frame has room for a record that is not too long"),
        };
        // Only for its size: what is due by time goes where a worker looks for it (`Peers::send_due`).
        if self.gather.due(now_ns) == Some(Reason::Size) {
            self.send_off(Reason::Size, send)?;
            return Ok(None);
        }
        Ok(Some(ticket))
    }

    /// The message that was added last, for an event of `time`, can be cancelled while it waits.
    pub(super) fn can_be_cancelled(&mut self, time: Time, ticket: Option<Ticket>) {
        self.cancellable.extend(ticket.map(|ticket| (time, ticket)));
    }

    /// Cancels the message that was written, of an event of `time`, if it waits. Says whether it did.
    pub(super) fn cancel(&mut self, time: Time) -> bool {
        let is_it =
            |(at, ticket): &(Time, Ticket)| *at == time && self.gather.get(*ticket) == Some(&self.record[..]);
        // From the end: most of what is cancelled was sent a short while ago.
        let Some(place) = self.cancellable.iter().rposition(is_it) else { return false };
        let (_, ticket) = self.cancellable.remove(place);
        self.sent -= 1;
        self.gather.withdraw(ticket)
    }

    /// From now on messages are of the next round. Gives how many were sent in the last one.
    pub(super) fn next_round(&mut self) -> u64 {
        self.round += 1;
        self.cancellable.clear();
        std::mem::take(&mut self.sent)
    }

    /// Sends a sign of life, which holds the round in which messages are sent now: all of those before have
    /// left. Not if something waits: then others see anyway that this process is there. If there is no room,
    /// it goes with the next frame.
    pub(super) fn give_sign(
        &mut self,
        now_ns: u64,
        mut send: impl FnMut(&[u8]) -> Result<Handed, PeerError>,
    ) -> Result<(), PeerError> {
        if self.gather.is_empty() {
            self.record.clear();
            codec::alive(&mut self.record, self.round);
            self.add(now_ns, true, &mut send)?;
            self.send_off(Reason::Asked, send)?;
        }
        Ok(())
    }

    /// Why a frame is to be sent before `then_ns`, if it is. `waits` says whether the receiver has said that
    /// it waits.
    pub(super) fn due(&mut self, then_ns: u64, waits: bool) -> Option<Reason> {
        self.gather.peer_waits(waits);
        self.gather.due(then_ns)
    }

    /// The same as [`Outgoing::send_off`], and the frame says that this process waits.
    pub(super) fn send_waiting(
        &mut self,
        send: impl FnMut(&[u8]) -> Result<Handed, PeerError>,
    ) -> Result<(), PeerError> {
        self.gather.say_waiting(true);
        let sent = self.send_off(Reason::Asked, send);
        self.gather.say_waiting(false);
        sent
    }

    /// Sends off all that waits, if anything does; `send` waits until there is room.
    pub(super) fn send_off(
        &mut self,
        reason: Reason,
        send: impl FnMut(&[u8]) -> Result<Handed, PeerError>,
    ) -> Result<(), PeerError> {
        if !self.gather.is_empty() {
            self.cancellable.clear();
            self.gather.hand_over(reason, send).map(drop)?;
        }
        Ok(())
    }
}

//! Messages to mailboxes at a host: they flow at once, before there is a receiver, and wait at that host.
//!
//! Such a message (a *parcel*) acts on nothing before it arrives, and what becomes of it there does not come
//! back: its sender has done with it when it arrives. So the part of a world that it leaves and the part that
//! it comes to need not know each other's present, and a world may be dealt to several cores, each with some
//! of the hosts (a *part* of the world).
//!
//! A parcel that shares the network with nobody comes when it is known to come when it is sent. The others
//! are started, all in one order, by a [`Carrier`].
//!
//! Invariants: parcels that arrive at the same instant come into mailboxes in the order of their senders'
//! identities, then of their numbers among those of a sender, however the world is dealt; a sender learns of
//! the arrival before the receiver does, both within the instant.

use paceline_kernel::Time;
use paceline_network::{HostId, Network};

use super::Core;
use super::carrier::{Carrier, Landed, Start, Whose};
use super::line::Line;
use super::messages::Comm;
use super::moment::Moment;
use super::process::{Going, Side};
use super::request::{Answer, Mailbox, ProcessId, RequestError};

/// A message on its way to a mailbox that stands at a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel<P> {
    /// The host at which the mailbox stands.
    pub to: HostId,
    /// By how much it arrives later or earlier than at its tick, in ticks.
    pub(super) rest: f64,
    pub(super) whose: Whose,
    pub(super) mailbox: Mailbox,
    pub(super) payload: P,
}

/// What leaves a part of a world.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaving<P> {
    /// A parcel for a host elsewhere, which arrives at this time.
    Parcel(Time, Parcel<P>),
    /// A parcel for the carrier of the whole world.
    Start(Start<P>),
}

/// A process that waits for the arrival of a message.
#[derive(Clone, Debug)]
struct Sent {
    side: Side,
    to: Mailbox,
    failure: Option<RequestError>,
    /// By how much the message arrives later or earlier than at its tick, in ticks.
    rest: f64,
}

/// The parcels of a core that have not arrived, and those that have and must be reported to their senders.
#[derive(Clone, Debug)]
pub(super) struct Parcels<P> {
    coming: Line<Parcel<P>>,
    /// The processes that wait for the arrival of a message.
    sent: Vec<Option<Sent>>,
    free: Vec<u32>,
    receipts: Line<u32>,
    /// Which hosts are in this part of the world; empty where all are.
    here: Vec<bool>,
    leaving: Vec<Leaving<P>>,
    /// Of a world that is whole.
    pub(super) carrier: Carrier<P>,
}

impl<P> Parcels<P> {
    pub(super) fn new(lead_s: f64) -> Self {
        Self {
            coming: Line::default(),
            sent: Vec::new(),
            free: Vec::new(),
            receipts: Line::default(),
            here: Vec::new(),
            leaving: Vec::new(),
            carrier: Carrier::new(lead_s),
        }
    }

    pub(super) fn is_part(&self) -> bool {
        !self.here.is_empty()
    }

    /// When something happens next.
    pub(super) fn next(&self) -> Option<Time> {
        [self.coming.next(), self.receipts.next(), self.carrier.next_start()].into_iter().flatten().min()
    }

    /// The process that is informed of the arrival of a message.
    pub(super) fn side(&mut self, place: u32) -> &mut Side {
        &mut self.sent[place as usize].as_mut().expect("who waits for an arrival has not heard of it").side
    }

    /// Where the message goes whose arrival a process waits for.
    pub(super) fn mailbox(&self, place: u32) -> Option<&Mailbox> {
        self.sent[place as usize].as_ref().map(|sent| &sent.to)
    }

    /// A process waits for the arrival of a message.
    fn wait(&mut self, side: Side, to: Mailbox) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.sent.push(None);
            self.sent.len() as u32 - 1
        });
        self.sent[place as usize] = Some(Sent { side, to, failure: None, rest: 0.0 });
        place
    }
}

impl<P, N: Network> Core<P, N> {
    /// A mailbox stands at a host from now on: messages to it flow there as soon as they are sent, and wait
    /// there; only processes on that host receive from it. A sender has done when its message arrives.
    /// What has arrived is lost when the host goes off, and so is what comes while it is. (SimGrid: a
    /// mailbox with a permanent receiver.)
    pub fn place(&mut self, mailbox: &Mailbox, host: HostId) {
        self.messages.place(mailbox, host.0);
    }

    /// Makes this a part of a world, without processes yet: the hosts for which `here` is true. Numbers of
    /// processes begin at `first`. What is sent to others is to be taken away
    /// ([`Core::take_leaving`]), and what processes ask for may act at once on nothing but their own host
    /// ([`Core::reached_out`]).
    pub fn part(&mut self, here: Vec<bool>, first: u32) {
        self.processes.begin(first);
        self.resources.begin(first);
        self.parcels.here = here;
    }

    /// Whether a host is in this part of the world.
    pub(super) fn is_here(&self, host: u32) -> bool {
        self.parcels.here.get(host as usize) != Some(&false)
    }

    /// Takes out what leaves this part of the world.
    pub fn take_leaving(&mut self) -> impl Iterator<Item = Leaving<P>> + '_ {
        self.parcels.leaving.drain(..)
    }

    /// A parcel comes from another part of the world at `at`, which is not over.
    pub fn expect(&mut self, at: Time, parcel: Parcel<P>) {
        self.parcels.coming.push(at, parcel.whose, parcel);
    }

    /// The carrier says how a parcel that was sent here ended, at `at`, which is not over, and `rest` of a
    /// tick.
    pub fn expect_arrival_notice(
        &mut self,
        (at, rest): (Time, f64),
        whose: Whose,
        place: u32,
        failure: Option<RequestError>,
    ) {
        if let Some(sent) = &mut self.parcels.sent[place as usize] {
            (sent.failure, sent.rest) = (failure, rest);
        }
        self.parcels.receipts.push(at, whose, place);
    }

    pub(super) fn post(
        &mut self,
        id: ProcessId,
        side: Side,
        to: HostId,
        mailbox: &Mailbox,
        payload: P,
        bytes: f64,
    ) -> Option<Going> {
        let process = &mut self.processes[id];
        let (from, whose) = (HostId(process.host), (process.identity, process.parcels));
        process.parcels += 1;
        let here = self.is_here(to.0);
        let parcels = &mut self.parcels;
        let rest = self.cause.rest;
        let parcel = Parcel { to, rest, whose, mailbox: mailbox.clone(), payload };
        let place = (side != Side::Detached).then(|| parcels.wait(side, mailbox.clone()));
        match self.network.alone(from, to, bytes) {
            Some(seconds) => {
                let Moment { at, rest } = self.cause.after_secs(seconds);
                if let Some(place) = place {
                    parcels.sent[place as usize].iter_mut().for_each(|sent| sent.rest = rest);
                    parcels.receipts.push(at, whose, place);
                }
                let parcel = Parcel { rest, ..parcel };
                if here {
                    parcels.coming.push(at, whose, parcel);
                } else {
                    parcels.leaving.push(Leaving::Parcel(at, parcel));
                }
            }
            None => {
                let start = Start { at: self.now, rest, from, bytes, parcel, place };
                if parcels.is_part() {
                    parcels.leaving.push(Leaving::Start(start));
                } else {
                    parcels.carrier.take_on(start);
                }
            }
        }
        place.map(Going::Parcel)
    }

    /// Parcels that have landed come in at once.
    pub(super) fn landed(&mut self, landed: Vec<Landed<P>>) {
        for Landed { rest, whose, place, parcel, failure, .. } in landed {
            if let Some(place) = place {
                self.expect_arrival_notice((self.now, rest), whose, place, failure);
            }
            if let Some(parcel) = parcel {
                self.expect(self.now, parcel);
            }
        }
    }

    /// What arrives now.
    pub(super) fn arrivals(&mut self) {
        while let Some(place) = self.parcels.receipts.take(self.now) {
            self.parcels.free.push(place);
            if let Some(Sent { side, failure, rest, .. }) = self.parcels.sent[place as usize].take() {
                self.because(Moment { at: self.now, rest });
                self.inform(side, failure.map_or(Answer::Done, Answer::Failed));
            }
        }
        while let Some(parcel) = self.parcels.coming.take(self.now) {
            self.arrive(parcel);
        }
    }

    fn arrive(&mut self, parcel: Parcel<P>) {
        let Parcel { to, rest, mailbox, payload, .. } = parcel;
        self.because(Moment { at: self.now, rest });
        if !self.on[to.0 as usize] {
            return;
        }
        self.counts.messages += 1;
        let mailbox = self.messages.mailbox(&mailbox);
        match self.messages.partner(mailbox, true) {
            Some(place) => {
                let comm = self.messages.remove(place).expect("it was in its mailbox");
                self.inform(comm.receiver, Answer::Message(payload));
            }
            None => {
                self.messages.enter(Comm {
                    mailbox,
                    sender: Side::Detached,
                    receiver: Side::Absent,
                    from: to.0,
                    to: to.0,
                    payload: Some(payload),
                    bytes: 0.0,
                    transfer: None,
                    arrived: Some(self.now),
                    since: self.cause,
                });
            }
        }
    }
}

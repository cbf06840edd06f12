//! Parcels that share the network: started in one order, and followed until they land.
//!
//! A transfer first waits for its latency, and acts on no other before that is over. So a parcel may be
//! started later than it was sent, as long as that is before its latency is over, and nothing is changed: the
//! carrier starts each one a *lead* after it was sent, with the latency counted from there. That gives it,
//! where it is a part of a world of its own, half of the lead to learn of what is sent, and half to report
//! what has landed before that happens. On a route with a latency below the lead the rest of the lead is
//! waited for.
//!
//! Invariants: parcels are started in the order of the times at which they were sent, then of their senders'
//! identities, then of their numbers among those of a sender; every parcel lands once, when it arrives or
//! fails.

use paceline_kernel::Time;
use paceline_network::{Ended, HostId, Network, TransferId};

use super::flowing::Flowing;
use super::line::Line;
use super::moment::Moment;
use super::parcels::Parcel;
use super::request::RequestError;

/// Whose a parcel is, by identity, and its number among those of its sender.
pub type Whose = (u64, u32);

/// A parcel to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Start<P> {
    /// When it was sent.
    pub at: Time,
    /// How much later or earlier than that exactly, in ticks.
    pub(super) rest: f64,
    /// The host of its sender.
    pub from: HostId,
    pub(super) bytes: f64,
    pub(super) parcel: Parcel<P>,
    /// Where its sender waits to learn of it, if it does.
    pub(super) place: Option<u32>,
}

/// A parcel that has landed.
#[derive(Clone, Debug, PartialEq)]
pub struct Landed<P> {
    /// The time at which it arrived or failed.
    pub at: Time,
    /// How much later or earlier than that exactly, in ticks: from -0.5 to below 0.5.
    pub rest: f64,
    /// From where it was sent.
    pub from: HostId,
    /// Whose it was.
    pub whose: Whose,
    /// Where its sender waits to learn of it, if it does
    /// ([`Core::expect_arrival_notice`](super::Core::expect_arrival_notice)).
    pub place: Option<u32>,
    /// What arrives, where anything does.
    pub parcel: Option<Parcel<P>>,
    /// Why nothing does.
    pub failure: Option<RequestError>,
}

/// The parcels that wait for their start, and those that flow.
#[derive(Clone, Debug)]
pub struct Carrier<P> {
    /// From when a parcel is sent until it is started.
    lead: Time,
    starts: Line<Start<P>>,
    flowing: Flowing,
    open: Vec<Option<Start<P>>>,
    free: Vec<u32>,
}

impl<P> Carrier<P> {
    /// Nothing is on its way. No latency between hosts is below `least_s` seconds.
    pub fn new(least_s: f64) -> Self {
        // A nanosecond less each way: times of the network are no whole nanoseconds.
        let half_ns = (Moment::of_secs(least_s).at.as_nanos() / 2).saturating_sub(1);
        Self {
            lead: Time::nanos(2 * half_ns),
            starts: Line::default(),
            flowing: Flowing::default(),
            open: Vec::new(),
            free: Vec::new(),
        }
    }

    /// From when a parcel is sent until it is started: an even number of nanoseconds.
    pub fn lead(&self) -> Time {
        self.lead
    }

    /// A parcel is to be started.
    pub fn take_on(&mut self, start: Start<P>) {
        self.starts.push(start.at.saturating_add(self.lead), start.parcel.whose, start);
    }

    pub(super) fn flows(&self) -> bool {
        !self.flowing.is_empty()
    }

    pub(super) fn next_start(&self) -> Option<Time> {
        self.starts.next()
    }

    /// When something happens next in a network that is only the carrier's.
    pub fn next<N: Network>(&self, network: &mut N) -> Option<Time> {
        // Without transfers, changes of links have no effect.
        let inside = network.next().filter(|_| self.flows()).map(|at| Moment::of_secs(at).at);
        [inside, self.next_start()].into_iter().flatten().min()
    }

    /// Advances to `now`, with a network that is only the carrier's.
    pub fn advance<N: Network>(&mut self, network: &mut N, now: Time, landed: &mut Vec<Landed<P>>) {
        loop {
            for end in advance(network, now) {
                let ours = self.ended(end, now, landed);
                assert!(ours, "all transfers of the network are the carrier's");
            }
            if !self.start(network, now, landed) {
                return;
            }
        }
    }

    /// Starts what is due at `now`, up to which the network was advanced. Says whether anything was.
    pub(super) fn start<N: Network>(
        &mut self,
        network: &mut N,
        now: Time,
        landed: &mut Vec<Landed<P>>,
    ) -> bool {
        let mut any = false;
        while let Some(start) = self.starts.take(now) {
            any = true;
            bring(network, Moment { at: now, rest: start.rest });
            let since = Moment { at: start.at, rest: start.rest };
            match network.start_since(start.from, start.parcel.to, start.bytes, since.as_secs()) {
                Ok(transfer) => {
                    let place = self.free.pop().unwrap_or_else(|| {
                        self.open.push(None);
                        self.open.len() as u32 - 1
                    });
                    self.open[place as usize] = Some(start);
                    self.flowing.insert(transfer, place);
                }
                Err(_) => landed.push(start.lands(Moment::at(now), Some(RequestError::NoRoute))),
            }
        }
        any
    }

    /// A transfer has ended. Says whether it was a parcel.
    pub(super) fn ended(&mut self, end: Ended, now: Time, landed: &mut Vec<Landed<P>>) -> bool {
        let Some(start) = self.take(end.transfer) else { return false };
        let exact = Moment::of_secs(end.at);
        let exact = if exact.at == now { exact } else { Moment::at(now) };
        landed.push(start.lands(exact, (!end.arrived).then_some(RequestError::LinkOff)));
        true
    }

    fn take(&mut self, transfer: TransferId) -> Option<Start<P>> {
        let place = self.flowing.get(transfer)?;
        self.flowing.remove(transfer);
        self.free.push(place);
        self.open[place as usize].take()
    }
}

impl<P> Start<P> {
    fn lands(self, exact: Moment, failure: Option<RequestError>) -> Landed<P> {
        let Self { from, parcel, place, .. } = self;
        let whose = parcel.whose;
        let Moment { at, rest } = exact;
        let parcel = failure.is_none().then_some(Parcel { rest, ..parcel });
        Landed { at, rest, from, whose, place, parcel, failure }
    }
}

/// Advances a network as far as something happens in it up to the present: all that ends in the tick reached.
/// It goes no further, so that what starts or is cancelled in this tick does so at its exact time.
pub(super) fn advance<N: Network>(network: &mut N, now: Time) -> Vec<Ended> {
    let mut ended = Vec::new();
    while let Some(due) = network.next().filter(|next| Moment::of_secs(*next).at <= now) {
        network.advance_into(due.max(network.now()), &mut ended);
    }
    ended
}

/// Advances a network, in which nothing is left to happen before this tick, to a moment in it, or as far as
/// it is free of changes.
pub(super) fn bring<N: Network>(network: &mut N, moment: Moment) {
    let to = moment.as_secs();
    if to > network.now() && network.next().is_none_or(|next| next > to) {
        let mut ended = Vec::new();
        network.advance_into(to, &mut ended);
        assert!(ended.is_empty(), "nothing ends before the next change");
    }
}

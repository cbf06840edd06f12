//! A wireless ad hoc network in which frames are lost: path loss with shadowing, medium access by CSMA/CA,
//! and routes found by flooding.
//!
//! Hosts move as in [`wireless`](crate::wireless), or along a trace. At random times a host requests a route
//! to another host: the request floods the network up to a number of hops, and the reply travels back along
//! the path of the first copy, as in AODV (Perkins and Royer, 1999). Every frame goes through a queue,
//! carrier sense and backoff, and can be lost at a receiver.
//!
//! # LPs
//!
//! An LP is a host or a region, as in `wireless`. A frame takes half a slot from its sender to the regions
//! around, and half a slot from a region to the hosts in it that detect it. Together this is one slot, the
//! time to sense a carrier (hosts that begin in the same slot do not detect each other). The lookahead is
//! half a slot. A region knows the places of its own hosts as of their last moves.
//!
//! # Parts
//!
//! `radio`: which hosts detect a frame, and its power there; `host`: state and events of a host;
//! `medium_access`: carrier sense, backoff, collisions, acknowledgements; `routing`: requests and replies;
//! `settings`, `results`.

mod event;
mod host;
mod medium_access;
mod radio;
mod results;
mod routing;
mod settings;

use std::sync::Arc;

use paceline_kernel::{Context, LpId, Model, Partition, Time};
use serde::{Deserialize, Serialize};

pub use event::{Body, CsmaEvent, Frame};
pub use host::{CsmaHost, Tally};
pub use radio::Radio;
pub use results::CsmaOutput;

use crate::wireless::Motion;
use crate::wireless::deal::{self, Deal, Places};
use crate::wireless::region::{Pinger, RegionGrid};
use crate::wireless::space::{Point, Space};

/// Times and limits of the medium access; defaults are those of IEEE 802.11b at 2 Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    pub slot: Time,
    /// The time between a frame and its acknowledgement.
    pub sifs: Time,
    /// The durations of a frame and of an acknowledgement.
    pub airtime: Time,
    pub ack_airtime: Time,
    /// The initial and the greatest contention window, in slots.
    pub window_least: u32,
    pub window_most: u32,
    /// How many times a frame without an acknowledgement is sent again.
    pub retries: u32,
    /// The most frames in a host's queue.
    pub queue: usize,
}

impl Access {
    /// How long the medium must be idle before the backoff counts down.
    pub fn difs(&self) -> Time {
        self.sifs.saturating_add(self.slot).saturating_add(self.slot)
    }

    /// The time limit for the acknowledgement after the end of a frame; frame and acknowledgement each travel
    /// through a region.
    pub fn patience(&self) -> Time {
        let slots = Time::nanos(self.slot.as_nanos() * 3);
        slots.saturating_add(self.sifs).saturating_add(self.ack_airtime)
    }
}

/// A wireless network with losses.
#[derive(Clone, Debug)]
pub struct Csma {
    pub(crate) hosts: u32,
    pub(crate) space: Space,
    pub(crate) grid: RegionGrid,
    pub(crate) motion: Motion,
    /// The time between two moves.
    pub(crate) step: Time,
    pub(crate) access: Access,
    pub(crate) radio: Radio,
    /// The mean time between two requests of a host.
    pub(crate) request_every: Time,
    pub(crate) hop_limit: u8,
    pub(crate) deal: Deal,
    pub(crate) starts: Arc<[Point]>,
}

impl Csma {
    /// The first half of a slot, and the lookahead.
    pub(crate) fn half_slot(&self) -> Time {
        Time::nanos(self.access.slot.as_nanos() / 2)
    }

    /// The second half: it is longer where a slot has an odd number of nanoseconds.
    fn rest_of_slot(&self) -> Time {
        self.access.slot.saturating_sub(self.half_slot())
    }

    pub(crate) fn region_lp(&self, at: Point) -> LpId {
        LpId(self.hosts + self.grid.region(at))
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CsmaEntity {
    /// The LP is a host.
    Host(Box<CsmaHost>),
    /// The LP is a region; its hosts are sorted by number.
    Region(Residents),
}

/// The hosts in a region, and where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Residents(Vec<Pinger>);

impl Residents {
    fn enter(&mut self, host: u32, at: Point) {
        match self.0.binary_search_by_key(&host, |resident| resident.host) {
            Ok(place) => self.0[place].at = at,
            Err(place) => self.0.insert(place, Pinger { host, at }),
        }
    }

    /// Does nothing if the host is not here: in an optimistic run it may leave before it enters.
    fn leave(&mut self, host: u32) {
        self.0.retain(|resident| resident.host != host);
    }

    /// Sends a signal to each host here that detects the frame.
    fn pass_on(&self, network: &Csma, frame: Frame, from: Point, cx: &mut Context<'_, Csma>) {
        let (reach, rest) = (u64::from(network.grid.range), network.rest_of_slot());
        for resident in &self.0 {
            if resident.host == frame.sender || resident.at.distance_squared(from) > reach * reach {
                continue;
            }
            let distance = network.space.distance(resident.at, from);
            let power = network.radio.power(frame.sender, resident.host, distance);
            if power >= network.radio.carrier_sense {
                cx.send(LpId(resident.host), rest, CsmaEvent::Signal { frame, power });
            }
        }
    }
}

impl Model for Csma {
    type State = CsmaEntity;
    type Event = CsmaEvent;
    type Output = CsmaOutput;

    fn lps(&self) -> u32 {
        self.hosts + self.grid.count()
    }

    fn lookahead(&self) -> Time {
        self.half_slot()
    }

    fn partition(&self, federates: u32) -> Partition {
        let places = Places { hosts: self.hosts, grid: self.grid, starts: &self.starts };
        deal::partition(&places, self.deal, federates)
    }

    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> CsmaEntity {
        if lp.0 < self.hosts {
            CsmaEntity::Host(Box::new(CsmaHost::new(self, lp.0, cx)))
        } else {
            CsmaEntity::Region(Residents::default())
        }
    }

    fn handle(&self, state: &mut CsmaEntity, event: &CsmaEvent, cx: &mut Context<Self>) {
        match (state, event) {
            (CsmaEntity::Host(host), event) => host.handle(self, event, cx),
            (CsmaEntity::Region(residents), CsmaEvent::Enter { host, at }) => residents.enter(*host, *at),
            (CsmaEntity::Region(residents), CsmaEvent::Leave { host }) => residents.leave(*host),
            (CsmaEntity::Region(residents), CsmaEvent::Sent { frame, from }) => {
                residents.pass_on(self, *frame, *from, cx);
            }
            (CsmaEntity::Region(_), event) => {
                unreachable!("{event:?} is for hosts: nobody sends it to a region")
            }
        }
    }

    fn state_bytes(&self, state: &CsmaEntity) -> usize {
        size_of::<CsmaEntity>()
            + match state {
                CsmaEntity::Host(host) => host.bytes(),
                CsmaEntity::Region(residents) => residents.0.len() * size_of::<Pinger>(),
            }
    }

    fn admits_state(&self, lp: LpId, state: &CsmaEntity) -> bool {
        match state {
            CsmaEntity::Host(host) => lp.0 < self.hosts && host.can_be(self),
            CsmaEntity::Region(residents) => {
                lp.0 >= self.hosts && residents.0.iter().all(|resident| resident.host < self.hosts)
            }
        }
    }

    fn admits_event(&self, lp: LpId, event: &CsmaEvent) -> bool {
        let is_host = lp.0 < self.hosts;
        match event {
            CsmaEvent::Enter { host, .. } => !is_host && *host < self.hosts,
            CsmaEvent::Leave { .. } | CsmaEvent::Sent { .. } => !is_host,
            _ => is_host,
        }
    }

    fn admits_output(&self, output: &CsmaOutput) -> bool {
        output.hosts.iter().all(|(host, _, tally)| *host < self.hosts && tally.can_be())
    }

    fn finish(&self, lp: LpId, state: &CsmaEntity, output: &mut CsmaOutput) {
        if let CsmaEntity::Host(host) = state {
            output.hosts.push((lp.0, host.at, host.tally.clone()));
        }
    }
}

#[cfg(test)]
mod test;

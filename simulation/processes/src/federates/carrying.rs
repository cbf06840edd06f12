//! The carrier as a logical process of the engine, where parcels share the network.
//!
//! Invariant: its network is ahead of the engine's time by the lookahead, and behind what is sent by as much.

use crate::core::{Carrier, Landed};
use paceline_kernel::{Context, Time};
use paceline_network::Network;

use super::agenda::{Acts, Agenda};
use super::mail::{Item, Outgoing};
use super::{Federates, World};

/// The carrier, with the whole network: it is ahead of the federates by the lookahead.
pub(super) struct Carrying<P, N> {
    carrier: Carrier<P>,
    network: N,
    agenda: Agenda,
    outgoing: Outgoing<P>,
}

impl<P: Send + 'static, N: Network + Send> Carrying<P, N> {
    pub(super) fn new(carrier: Carrier<P>, network: N) -> Self {
        Self { carrier, network, agenda: Agenda::default(), outgoing: Outgoing::default() }
    }
}

impl<P: Send + 'static, N: Network + Send> Acts for Carrying<P, N> {
    type Payload = P;

    fn agenda(&mut self) -> &mut Agenda {
        &mut self.agenda
    }

    fn take_in(&mut self, item: Item<P>, _: Time) {
        match item {
            Item::Start(start) => self.carrier.take_on(start),
            Item::Parcel(_) | Item::ArrivalNotice { .. } => unreachable!("what lands is sent to federates"),
        }
    }

    fn act(&mut self, world: &World, cx: &mut Context<'_, Federates<'_>>) -> Option<Time> {
        let ahead = cx.now().saturating_add(world.lookahead);
        if world.ending.is_past(ahead) {
            return None;
        }
        let mut landed = Vec::new();
        self.carrier.advance(&mut self.network, ahead, &mut landed);
        for landed in landed {
            if let Some(place) = landed.place {
                let Landed { rest, whose, failure, .. } = landed;
                let to = world.owners[landed.from.0 as usize];
                self.outgoing.push(to, ahead, Item::ArrivalNotice { rest, whose, place, failure });
            }
            if let Some(parcel) = landed.parcel {
                self.outgoing.push(world.owners[parcel.to.0 as usize], ahead, Item::Parcel(parcel));
            }
        }
        self.outgoing.send(cx);
        let next = self.carrier.next(&mut self.network)?;
        Some(next.saturating_sub(world.lookahead))
    }
}

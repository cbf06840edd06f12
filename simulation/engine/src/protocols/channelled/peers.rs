//! Null messages between processes: promises and events go to the process of the receiver, and the processes
//! find out together when the leg is over.
//!
//! A leg is over when all processes are *passive*, or when none has any events, and nothing is under way. A
//! process sees only itself, so all say in a round how they stand and how many messages they have sent and
//! received. Where all are passive and as many messages were received as sent, a second round follows at
//! once: if all counts are the same in both, then at the moment between the two rounds nothing was under way
//! and nobody had anything to do (Mattern, 1987: the four-counter method).
//!
//! Invariant: a process contributes without being asked only if it has become quiet since its last
//! contribution, or wants to halt, or the last round was calm; so rounds end when nothing changes.

use std::sync::atomic::Ordering;

use paceline_kernel::{Model, Time};

use super::state::{Standing, State};
use super::{Channelled, Desk};
use crate::RunError;
use crate::peers::{Contribution, Counts, Delivery, DeliveryError, Peers};
use crate::sync::lock;

impl<M: Model> Channelled<'_, M> {
    /// Takes in what other processes have sent. Says whether there was anything.
    pub(super) fn hear_peers(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some(peers) = self.shared.peers else { return false };
        let heard = peers.hear(|delivery| {
            let alive = match &delivery {
                Delivery::Events { events, .. } | Delivery::Promise { events, .. } => events.len() as i64,
                _ => 0,
            };
            // Before they are in an inbox: a federate that uses them up must not make the count zero.
            self.alive.fetch_add(alive, Ordering::SeqCst);
            self.deliver(delivery, &mut desk.touched)?;
            let mut state = lock(&self.shared.state);
            self.touch_and_publish(&mut state, desk);
            let wanted = self.wanted(&state);
            drop(state);
            self.shared.idle.wake(wanted);
            Ok(())
        });
        match heard {
            Ok(heard) => heard,
            Err(error) => {
                self.shared.fail(error);
                true
            }
        }
    }

    /// Puts a delivery into the inbox of its federate; those for which it matters are touched.
    pub(super) fn deliver(&self, delivery: Delivery<M>, touched: &mut Vec<u32>) -> Result<(), DeliveryError> {
        match delivery {
            Delivery::Promise { to, slot, clock, events } => {
                // On demand, whoever gets an event asks for promises up to it: it must have a turn for that.
                let on_demand = !events.is_empty() && self.on_demand;
                let promised = lock(&self.seats[to as usize].inbox).extra.clocks.get(slot as usize).copied();
                let Some(promised) = promised else {
                    return Err(DeliveryError(format!(
                        "a promise on channel {slot} to federate {to}, which is not there"
                    )));
                };
                // The federate may have run beyond it: what a damaged or foreign frame says is not believed.
                if events.iter().any(|event| event.time() < promised) {
                    return Err(DeliveryError(format!(
                        "an event for federate {to} before the last promise, {promised}"
                    )));
                }
                self.accept(to, slot, clock, events, touched);
                if on_demand {
                    touched.push(to);
                }
            }
            Delivery::Request { to, from } => {
                lock(&self.seats[to as usize].inbox).extra.requests.push(from);
                touched.push(to);
            }
            Delivery::Events { .. } | Delivery::Mail { .. } | Delivery::Bundle { .. } => {
                return Err(DeliveryError::protocol());
            }
        }
        Ok(())
    }

    /// Contributes to the round that is open, if that is due, and looks what comes of it. Says whether it
    /// did.
    pub(super) fn contribute(&self, state: &mut State) -> bool {
        let Some(peers) = self.shared.peers else { return false };
        if state.ending.over {
            return false;
        }
        let contributes = !peers.has_contributed() && self.is_due(state, peers);
        if contributes {
            let standing = self.standing(state, peers);
            state.quiet.stood = Some(standing);
            let Standing { passive, empty, counts, halt } = standing;
            let least = state.lvts.iter().copied().min().unwrap_or(Time::MAX);
            let contribution =
                Contribution { least, halt, passive, empty, counts, ..Contribution::default() };
            peers.contribute_and_ask(contribution);
        }
        let Some(all) = peers.complete() else { return contributes };
        self.conclude(state, &all);
        true
    }

    /// Delivers what other processes have sent by the end of a leg that has not failed.
    pub(super) fn settle(&self) -> Result<(), RunError> {
        let Some(peers) = self.shared.peers else { return Ok(()) };
        // Others have been told of the failure, and do not come to this exchange.
        if lock(&self.shared.state).ending.error.is_some() {
            return Ok(());
        }
        peers.settle(Time::MAX, None, |delivery| self.deliver(delivery, &mut Vec::new())).map(drop)
    }

    fn standing(&self, state: &State, peers: &Peers<M>) -> Standing {
        let passive = state.running == 0 && state.ready.len() == 0;
        let empty = self.alive.load(Ordering::SeqCst) == 0;
        Standing { passive, empty, counts: peers.counts(), halt: self.shared.monitor.halt() }
    }

    fn is_due(&self, state: &State, peers: &Peers<M>) -> bool {
        // The round that may confirm the end is waited for by all.
        if peers.is_asked() || state.quiet.calm.is_some() {
            return true;
        }
        let now = self.standing(state, peers);
        let news = state.quiet.stood != Some(now);
        news && (now.passive || now.empty)
            || now.halt.is_some() && state.quiet.stood.is_none_or(|stood| stood.halt.is_none())
    }

    /// What a round comes to.
    fn conclude(&self, state: &mut State, all: &Contribution) {
        let counts = all.counts;
        let events = counts.events_are_even();
        // Nobody works, and nothing is under way: as many messages have come as were sent.
        let passive = all.passive && events && counts.others_are_even();
        let empty = all.empty && events;
        // Without events, promises may go on for ever; they need not stand still for the leg to be over.
        let same = |then: Counts| then.events == counts.events && (empty || then.others == counts.others);
        // Two rounds with the same counts: in one alone, a process may have contributed before a message woke
        // it.
        let over = (passive || empty) && state.quiet.calm.is_some_and(same);
        state.quiet.calm = (passive || empty).then_some(counts);
        if over {
            self.shared.end(state, None);
        } else if all.halt.is_some() {
            self.shared.end(state, all.halt);
        }
    }
}

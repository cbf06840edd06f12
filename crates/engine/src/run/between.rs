//! Between two legs: federates are taken apart and dealt anew, and LPs move between them.
//!
//! Invariant: what is gathered is dealt again before the next leg, and every federate that is dealt has its LPs timed where loads
//! are to be evened out.

use std::sync::Arc;
use std::time::Instant;

use paceline_kernel::{EventQueue, Model, Partition, World};

use super::course::Course;
use crate::Simulation;
use crate::balance::Glance;
use crate::observer::Observing;

impl<M: Model, Q: EventQueue<M::Event>> Course<M, Q> {
    /// Takes the federates apart.
    pub(super) fn gather(&mut self) -> World<M> {
        let (federates, past) = (std::mem::take(&mut self.federates), std::mem::take(&mut self.past));
        if let Some(balancer) = &mut self.balancer {
            balancer.bank(&federates);
        }
        World::gather(federates, &self.partition, past)
    }

    /// Deals what was gathered to the federates of the partition.
    pub(super) fn deal(&mut self, simulation: &Simulation<M>, world: World<M>) {
        (self.federates, self.past) = world.deal(&simulation.model, &self.partition, self.settings);
        self.attend(simulation);
    }

    /// Has new federates measured and observed, where that is asked for.
    pub(super) fn attend(&mut self, simulation: &Simulation<M>) {
        if let Some(balancer) = &self.balancer {
            balancer.measure(&mut self.federates);
        }
        if let Some(Observing { commits, .. }) = &simulation.observer {
            self.federates.iter_mut().for_each(|federate| federate.watch(Arc::clone(commits)));
        }
    }

    /// Moves LPs between federates, where that is asked for, due and worth it for as many workers as there are.
    pub(super) fn look(&mut self, simulation: &Simulation<M>) {
        let Simulation { model, speculation, leg_events, .. } = simulation;
        let threads = self.threads;
        if self.partition.federates() == 1 {
            return;
        }
        let speculates = self.way.protocol.speculates();
        let start = Instant::now();
        let due = leg_events.is_some() || self.steward.is_look_due();
        let found = match &mut self.balancer {
            Some(balancer) if due => balancer.glance(&self.federates, threads),
            _ => return,
        };
        if !matches!(found, Glance::Even) {
            let world = self.gather();
            let Some(balancer) = &mut self.balancer else { return };
            let fits =
                |partition: &Partition| !speculates || speculation.check(model, partition.largest()).is_ok();
            self.distances = None;
            match found {
                Glance::GoBack(before) => {
                    balancer.count_anew();
                    self.partition = before;
                    self.moved = Some(self.partition.clone());
                }
                _ => {
                    if let Some(next) = balancer.plan(&world, &self.partition, threads, fits) {
                        self.partition = next;
                        self.moved = Some(self.partition.clone());
                    }
                }
            }
            self.deal(simulation, world);
        }
        let Some(balancer) = &mut self.balancer else { return };
        balancer.stood_still(start.elapsed(), &self.federates);
        self.steward.look_in(balancer.pause());
    }
}

//! Between two legs: federates are taken apart and dealt anew, and LPs move between them. Where a run has
//! several processes, all of them find the same partition, and each LP that leaves a process goes straight to
//! its new one.
//!
//! Invariant: what is gathered is dealt again before the next leg, and every federate that is dealt has its
//! LPs timed where loads are to be evened out.

use std::sync::Arc;
use std::time::Instant;

use paceline_kernel::{Federate, Migrants, Model, Part, Partition, World};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::course::Course;
use crate::adapt::balance::{Balancer, Crews, Glance, Measured, Standing};
use crate::watch::observer::Observing;
use crate::{RunError, Simulation};

impl<M: Model> Course<M> {
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

    /// Has new federates held to the channels that the model declares, and measured and observed where that
    /// is asked for.
    pub(super) fn attend(&mut self, simulation: &Simulation<M>) {
        for federate in &mut self.federates {
            federate.set_channels(self.channels.clone());
        }
        simulation.monitor.attend(self.federates.iter().map(Federate::at_work));
        if let Some(balancer) = &self.balancer {
            balancer.measure(&mut self.federates);
        }
        if let Some(Observing { commits, .. }) = &simulation.observer {
            self.federates.iter_mut().for_each(|federate| federate.watch(Arc::clone(commits)));
        }
    }

    /// Moves LPs between federates, of other processes too, where that is asked for, due in any process, and
    /// worth it.
    pub(super) fn look(&mut self, simulation: &Simulation<M>) -> Result<(), RunError> {
        // All processes return here or none does: they have compared these settings.
        if self.partition.federates() == 1 || self.balancer.is_none() {
            return Ok(());
        }
        let start = Instant::now();
        let due = simulation.leg_events.is_some() || self.steward.is_look_due();
        if !self.any(due)? {
            return Ok(());
        }
        let Some(mut balancer) = self.balancer.take() else { return Ok(()) };
        let dealt = self.look_with(simulation, &mut balancer)?;
        balancer.stood_still(start.elapsed(), &self.federates);
        self.steward.schedule_look(balancer.pause());
        self.balancer = Some(balancer);
        if dealt {
            self.attend(simulation);
        }
        Ok(())
    }

    /// Says whether federates were dealt anew.
    fn look_with(&mut self, simulation: &Simulation<M>, balancer: &mut Balancer) -> Result<bool, RunError> {
        let standings = self.share(balancer.stand(&self.federates, self.threads), Standing::fits)?;
        let crews = Crews::new(&standings, self.owners());
        let glance = balancer.glance(&standings, &crews);
        // Before federates are taken apart, which is what costs.
        if matches!(glance, Glance::Even) {
            return Ok(false);
        }
        balancer.bank(&self.federates);
        let part = self.take_part();
        let next = match glance {
            // Events counted where LPs are now say nothing about the partition that they go back to.
            Glance::GoBack(before) => {
                balancer.count_anew();
                Some(before)
            }
            _ => {
                let measured = balancer.measure_lps(&part, &self.partition, |federate| self.owns(federate));
                let all = self.share(measured, Measured::fits)?;
                match balancer.plan(&standings, all, &self.partition, &crews) {
                    Some(plan) if self.all_hold(simulation, &plan.next)? => Some(balancer.accept(plan)),
                    Some(plan) => {
                        balancer.refuse(&plan);
                        None
                    }
                    None => None,
                }
            }
        };
        self.deal_part(simulation, part, next)?;
        Ok(true)
    }

    /// Whether the memory budgets of all processes hold the states of the largest federate of `next`.
    fn all_hold(&self, simulation: &Simulation<M>, next: &Partition) -> Result<bool, RunError> {
        if !self.way.protocol.speculates() {
            return Ok(true);
        }
        let holds = simulation.speculation.check(&simulation.model, next.largest()).is_ok();
        Ok(!self.any(!holds)?)
    }

    /// The part of the run that this process has, and what it has committed; no federates are left here.
    pub(super) fn take_part(&mut self) -> Part<M> {
        Part::gather(std::mem::take(&mut self.federates), std::mem::take(&mut self.past))
    }

    /// Deals the part of this process to its federates again; if there is a `next` partition, once LPs have
    /// gone where they are in that. What was committed stays.
    fn deal_part(
        &mut self,
        simulation: &Simulation<M>,
        part: Part<M>,
        next: Option<Partition>,
    ) -> Result<(), RunError> {
        let owners = self.owners();
        let ranks = self.peers.as_ref().map_or(1, |peers| peers.transport().ranks());
        let partition = next.as_ref().unwrap_or(&self.partition);
        let (mut all, past) = part.divide(&self.partition, partition, &owners, ranks);
        self.past = past;
        if let (Some(peers), Some(next)) = (&self.peers, &next) {
            all = peers.migrate(all, &self.partition, next)?;
        }
        let owns = |federate| self.owns(federate);
        self.federates = Migrants::deal(all, &simulation.model, partition, self.settings, owns);
        if let Some(next) = next {
            // Distances are those of a partition; LPs that stay where they were put need not be moved again
            // by the next regrouping.
            (self.distances, self.moved) = (None, Some(next.clone()));
            self.partition = next;
        }
        Ok(())
    }

    /// Sends `value` to all processes; `fits` checks those of the others. Gives what all have sent.
    fn share<T: Serialize + DeserializeOwned>(
        &self,
        value: T,
        fits: fn(&T, &Partition, &dyn Fn(u32) -> bool) -> bool,
    ) -> Result<Vec<T>, RunError> {
        let Some(peers) = &self.peers else { return Ok(vec![value]) };
        let owners = peers.owners();
        let of = |rank| move |federate: u32| owners[federate as usize] == rank;
        peers.share(value, |said, rank| fits(said, &self.partition, &of(rank)))
    }

    fn owners(&self) -> Vec<u32> {
        let alone = || vec![0; self.partition.federates() as usize];
        self.peers.as_ref().map_or_else(alone, |peers| peers.owners().to_vec())
    }

    fn owns(&self, federate: u32) -> bool {
        self.peers.as_ref().is_none_or(|peers| peers.owns(federate))
    }
}

//! A run of several processes: what their owners do together between legs.
//!
//! Every process builds the same partition and keeps its own federates; the others are absent. Invariant: all
//! processes make the same calls of a run in the same order, so they meet in every round.

use std::time::Instant;

use paceline_kernel::{Model, Part, Past, Time, World};

use super::course::Course;
use crate::checkpoint::Front;
use crate::peers::{DeliveryError, Joined, Peers};
use crate::{RunError, Simulation};

impl<M: Model> Course<M> {
    /// The least time of all processes, of which `least` is that of this one.
    pub(super) fn least_of_all(&self, least: Time) -> Result<Time, RunError> {
        match &self.peers {
            Some(peers) => Ok(peers.settle(least, None, DeliveryError::stray)?.least),
            None => Ok(least),
        }
    }

    /// Whether any process says so; this one says `answer`.
    pub(super) fn any(&self, answer: bool) -> Result<bool, RunError> {
        match &self.peers {
            Some(peers) => Ok(peers.exchange(&answer)?.contains(&true)),
            None => Ok(answer),
        }
    }

    /// Writes a checkpoint of the run of all processes, in that of rank 0, and says whether this process did.
    /// Where only others have settings for checkpoints, none is written.
    pub(super) fn checkpoint_together(&mut self, simulation: &Simulation<M>) -> Result<bool, RunError> {
        // Settings for checkpoints may differ from process to process: all must take part in the exchange, or
        // none.
        let wanted = simulation.checkpoints.is_some();
        if !self.any(wanted)? {
            return Ok(false);
        }
        let start = Instant::now();
        self.settled(simulation, self.steward.settle())?;
        let origin = self.origin(simulation);
        let changes = self.changes.clone();
        let write = |world: &World<M>| {
            let front = Front { origin: &origin, outside: &[], changes: &changes };
            Ok(simulation
                .checkpoints
                .as_ref()
                .map(|(checkpoints, codec)| codec.write(front, world, checkpoints)))
        };
        let Some(Some(written)) = self.joined(simulation, write)? else { return Ok(false) };
        let published = self.steward.publish(written);
        self.sums.published(simulation, published, start)
    }

    /// Brings all parts of the run together in the process of rank 0, has `write` write them there, and deals
    /// them again. What was committed stays with rank 0.
    pub(super) fn joined<T>(
        &mut self,
        simulation: &Simulation<M>,
        write: impl FnOnce(&World<M>) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        // Taken out for the time of the call, which changes the rest of the run.
        let Some(peers) = self.peers.take() else { return Ok(None) };
        if let Some(balancer) = &mut self.balancer {
            balancer.bank(&self.federates);
        }
        // Each process has to know by itself where the run is, and how many events have come from outside:
        // their numbers go on from there.
        let (last, injected) = (self.last(), self.past.injected);
        let part = self.take_part();
        self.past = Past { last, injected, ..Past::default() };
        let joined = self.join_and_deal(&peers, part, simulation, write);
        self.peers = Some(peers);
        joined
    }

    fn join_and_deal<T>(
        &mut self,
        peers: &Peers<M>,
        part: Part<M>,
        simulation: &Simulation<M>,
        write: impl FnOnce(&World<M>) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        let (model, settings) = (&simulation.model, self.settings);
        let mut written = None;
        match peers.join(part, &self.partition)? {
            Joined::Whole(world) => {
                written = Some(write(&world)?);
                (self.federates, self.past) =
                    world.deal_part(model, &self.partition, settings, |federate| peers.owns(federate));
            }
            Joined::Own(part) => self.federates = part.deal(model, &self.partition, settings),
        }
        self.attend(simulation);
        Ok(written)
    }
}

//! What the owners of the processes' runs do together between legs: agree on settings, find the least time of
//! all, deliver what is under way, and bring the parts of the run together in the process of rank 0.
//!
//! Invariant: all processes call the same of these in the same order.

use paceline_kernel::{Model, Outputs, Part, Partition, Time, World};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Contribution, Delivery, DeliveryError, Joined, Peers, Settled};
use crate::RunError;
use crate::watch::monitor::Halt;

impl<M: Model> Peers<M> {
    /// Finds the least of all `least`, and whether any process wants to halt; what is under way arrives
    /// before that.
    pub(crate) fn settle(
        &self,
        least: Time,
        halt: Option<Halt>,
        handle: impl FnMut(Delivery<M>) -> Result<(), DeliveryError>,
    ) -> Result<Settled, RunError> {
        let all = self.agree(Contribution { least, halt, ..Contribution::default() }, handle)?;
        Ok(Settled { least: all.least, halt: all.halt })
    }

    /// Sends `value` to all processes, and gives what each has sent, by rank. Waits until all have made this
    /// call.
    pub(crate) fn exchange<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<Vec<T>, RunError> {
        let extra = postcard::to_stdvec(value).expect("numbers and texts can be serialized");
        let all = self.bring(extra, false)?;
        let read = |(rank, bytes): (u32, &Vec<u8>)| {
            postcard::from_bytes(bytes).map_err(|error| self.damaged(rank, error))
        };
        (0..).zip(&all).map(read).collect()
    }

    /// Brings the parts of all processes together in that of rank 0.
    pub(crate) fn join(&self, part: Part<M>, partition: &Partition) -> Result<Joined<M>, RunError> {
        let mut written = Vec::new();
        if self.rank() != 0 {
            (self.codec.write_part)(&mut written, &part).map_err(|error| self.unwritable(error))?;
        }
        let all = self.bring(written, true)?;
        if self.rank() != 0 {
            return Ok(Joined::Own(part));
        }
        // Its own part is not encoded: most of a run may be here.
        let mut parts = vec![part];
        for (rank, bytes) in (0..).zip(&all).skip(1) {
            let part = (self.codec.read_part)(bytes).map_err(|error| self.damaged(rank, error))?.0;
            // What a process sends is checked before it is used: a wrong LP would be a wrong result, and not
            // an error.
            if !part.fits(partition, |federate| self.owners[federate as usize] == rank) {
                return Err(self.damaged(rank, "its part of the run is not the one that it should have"));
            }
            parts.push(part);
        }
        let world = World::join(parts, partition);
        world.map(Joined::Whole).ok_or_else(|| self.damaged(0, "the parts of the run do not make a whole"))
    }

    /// Brings `outputs` of all processes together in that of rank 0, in the order in which they were left
    /// behind; the others keep their own.
    pub(crate) fn join_outputs(&self, outputs: Vec<M::Output>) -> Result<Vec<M::Output>, RunError> {
        let outputs = Outputs(outputs);
        let mut written = Vec::new();
        if self.rank() != 0 {
            (self.codec.write_outputs)(&mut written, &outputs).map_err(|error| self.unwritable(error))?;
        }
        let all = self.bring(written, true)?;
        if self.rank() != 0 {
            return Ok(outputs.0);
        }
        let federates = |rank: u32| self.owners.iter().filter(|owner| **owner == rank).count();
        let mut of = vec![(federates(0), outputs.0)];
        for (rank, bytes) in (0..).zip(&all).skip(1) {
            let (theirs, _) = (self.codec.read_outputs)(bytes).map_err(|error| self.damaged(rank, error))?;
            of.push((federates(rank), theirs.0));
        }
        Ok(Outputs::in_order(of).0)
    }

    /// Brings bytes of all processes together, by rank: in all, or only in that of rank 0, where the others
    /// get their own number of empty ones.
    fn bring(&self, bytes: Vec<u8>, gathers: bool) -> Result<Vec<Vec<u8>>, RunError> {
        let extra = vec![(self.rank(), bytes)];
        let contribution = Contribution { extra, gathers, ..Contribution::default() };
        let all = self.agree(contribution, DeliveryError::stray)?.extra;
        let ranks = self.transport.ranks();
        // Only rank 0 gets what all have sent; the others know that they have met.
        if gathers && self.rank() != 0 {
            return Ok(vec![Vec::new(); ranks as usize]);
        }
        if !(0..ranks).eq(all.iter().map(|(rank, _)| *rank)) {
            return Err(self.damaged(0, "what all processes say was lost on the way"));
        }
        Ok(all.into_iter().map(|(_, bytes)| bytes).collect())
    }
}

/// Settings that have to be equal in all processes of a run, and the number of threads of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) threads: u32,
    /// Named, as text.
    pub(crate) equal: Vec<(String, String)>,
}

//! What the owners of the processes' runs do together between legs: agree on settings, find the least time of all, deliver what is under
//! way, and bring the parts of the run together in the process of rank 0.
//!
//! Invariant: all processes call the same of these in the same order.

use paceline_kernel::{Model, Part, Partition, Time, World};
use paceline_transport::PeerErrorKind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Contribution, Delivery, Peers, PeersError, PeersErrorKind, rounds};
use crate::RunError;
use crate::monitor::Halt;

/// What all processes have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    /// The least time of all.
    pub(crate) least: Time,
    pub(crate) halt: Option<Halt>,
}

/// What a process has after the parts of all have been brought together.
pub(crate) enum Joined<M: Model> {
    /// The whole run: in the process of rank 0.
    Whole(World<M>),
    /// Its own part: in the others.
    Own(Part<M>),
}

impl<M: Model> Peers<M> {
    /// Finds the least of all `least`, and whether any process wants to halt; what is under way arrives before that.
    pub(crate) fn settle(
        &self,
        least: Time,
        halt: Option<Halt>,
        handle: impl FnMut(Delivery<M>) -> Result<(), RunError>,
    ) -> Result<Settled, RunError> {
        let all = self.agree(Contribution { least, halt, ..Contribution::default() }, handle)?;
        let (least, halt) = rounds::outcome(&all);
        Ok(Settled { least, halt })
    }

    /// Tells all processes `own`, and gives what each has told, by rank.
    pub(crate) fn exchange<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Vec<T>, RunError> {
        let extra = postcard::to_stdvec(own).expect("numbers and texts can be serialized");
        let contribution = Contribution { least: Time::MAX, extra, ..Contribution::default() };
        let all = self.agree(contribution, |_| Err(self.stray()))?;
        let read = |(rank, own): (u32, &Contribution)| {
            postcard::from_bytes(&own.extra).map_err(|error| self.damaged(rank, error))
        };
        (0..).zip(&all).map(read).collect()
    }

    /// The error of a message between two legs, where none may come.
    fn stray(&self) -> RunError {
        let what = "a message arrived while the run stood still".into();
        PeersError::new(self.rank(), PeersErrorKind::Lost(PeerErrorKind::Damaged(what))).into()
    }

    fn unwritable(&self, error: postcard::Error) -> RunError {
        PeersError::new(self.rank(), PeersErrorKind::Unwritable(error.to_string())).into()
    }

    fn damaged(&self, rank: u32, error: postcard::Error) -> RunError {
        let kind = PeersErrorKind::Lost(PeerErrorKind::Damaged(error.to_string()));
        PeersError::new(rank, kind).into()
    }

    /// Brings the parts of all processes together in that of rank 0.
    pub(crate) fn join(&self, part: Part<M>, partition: &Partition) -> Result<Joined<M>, RunError> {
        let mut own = Vec::new();
        if self.rank() != 0 {
            (self.codec.write_part)(&mut own, &part).map_err(|error| self.unwritable(error))?;
        }
        let all = self.bring(own)?;
        if self.rank() != 0 {
            return Ok(Joined::Own(part));
        }
        let mut parts = vec![part];
        for (rank, bytes) in (0..).zip(&all).skip(1) {
            parts.push((self.codec.read_part)(bytes).map_err(|error| self.damaged(rank, error))?.0);
        }
        let what = || PeerErrorKind::Damaged("its part of the run is not the one it should have".into());
        let world = World::join(parts, partition);
        world.map(Joined::Whole).ok_or_else(|| PeersError::new(1, PeersErrorKind::Lost(what())).into())
    }

    /// Brings `outputs` of all processes together in that of rank 0, in the order of ranks; the others keep their own.
    pub(crate) fn join_outputs(&self, outputs: Vec<M::Output>) -> Result<Vec<M::Output>, RunError> {
        let mut own = Vec::new();
        if self.rank() != 0 {
            (self.codec.write_outputs)(&mut own, &outputs).map_err(|error| self.unwritable(error))?;
        }
        let all = self.bring(own)?;
        let mut outputs = outputs;
        for (rank, bytes) in (0..).zip(&all).filter(|(_, bytes)| self.rank() == 0 && !bytes.is_empty()) {
            outputs.extend((self.codec.read_outputs)(bytes).map_err(|error| self.damaged(rank, error))?.0);
        }
        Ok(outputs)
    }

    /// Brings bytes to the process of rank 0: those of all by rank, in the others only empty ones.
    fn bring(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, RunError> {
        let contribution = Contribution { least: Time::MAX, extra: own, ..Contribution::default() };
        let all = self.agree_to(contribution, 0)?;
        Ok(all.into_iter().map(|own| own.extra).collect())
    }

    /// A round in which only the process `to` gets the extra of the others.
    fn agree_to(&self, contribution: Contribution, to: u32) -> Result<Vec<Contribution>, RunError> {
        self.contribute_to(contribution, to);
        self.await_round(|_| Err(self.stray()))
    }
}

/// Settings that have to be equal in all processes of a run, and the number of threads of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) threads: u32,
    /// Named, as text.
    pub(crate) equal: Vec<(String, String)>,
}

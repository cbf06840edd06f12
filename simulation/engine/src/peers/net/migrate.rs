//! LPs that move between the processes of a run: who has which, and how they get there.
//!
//! Owners exchange *bundles*: each process sends each other one bytes of its own, straight to it, as messages
//! of the round that follows. So a process has all bundles that are for it when that round is complete.
//!
//! Invariants: all processes call the same of these in the same order, between two legs; a process knows the
//! new partition before anything of the next leg can arrive, since others start that only after a round to
//! which it contributes later.

use paceline_kernel::{Migrants, Model, Partition};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::{Written, bundle, put};
use super::{Contribution, Delivery, DeliveryError, Peers};
use crate::RunError;
use crate::sync::lock;

impl<M: Model> Peers<M> {
    pub(crate) fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// Sends each other process what `write` writes for it, and gives what they have sent to this one, each
    /// with its sender, by rank.
    fn swap(
        &self,
        write: impl Fn(u32, &mut Vec<u8>) -> Written,
    ) -> Result<impl Iterator<Item = (u32, Vec<u8>)>, RunError> {
        for rank in self.others_of(self.rank()) {
            self.post_to(rank, |out, round| {
                bundle(out, round);
                write(rank, out)
            });
        }
        let mut bundles: Vec<Option<Vec<u8>>> = vec![None; self.transport.ranks() as usize];
        self.agree(Contribution::default(), |delivery| {
            let Delivery::Bundle { from, bytes } = delivery else { return DeliveryError::stray(delivery) };
            match bundles[from as usize].replace(bytes) {
                None => Ok(()),
                Some(_) => Err(DeliveryError("two bundles in one round".into())),
            }
        })?;
        let missing = self.others_of(self.rank()).find(|rank| bundles[*rank as usize].is_none());
        if let Some(rank) = missing {
            return Err(self.damaged(rank, "it has not sent what all were to send"));
        }
        Ok((0..).zip(bundles).filter_map(|(rank, bytes)| Some((rank, bytes?))))
    }

    /// Sends all processes `value`, straight to each, and gives what all have sent, by rank. `fits` says of
    /// what another process has sent whether it can have.
    pub(crate) fn share<T: Serialize + DeserializeOwned>(
        &self,
        value: T,
        fits: impl Fn(&T, u32) -> bool,
    ) -> Result<Vec<T>, RunError> {
        let mut all = Vec::with_capacity(self.transport.ranks() as usize);
        for (rank, bytes) in self.swap(|_, out| put(out, &value))? {
            let other = postcard::from_bytes(&bytes).map_err(|error| self.damaged(rank, error))?;
            if !fits(&other, rank) {
                return Err(self.damaged(rank, "what it says of its LPs cannot be"));
            }
            all.push(other);
        }
        all.insert(self.rank() as usize, value);
        Ok(all)
    }

    /// Sends each process the LPs that go to it where `next` follows on `before`, and gives all that this
    /// process has then. `by_process` has what goes to each, those that stay among them.
    pub(crate) fn migrate(
        &self,
        mut by_process: Vec<Migrants<M>>,
        before: &Partition,
        next: &Partition,
    ) -> Result<Vec<Migrants<M>>, RunError> {
        // Early enough: messages of the next leg come only after the round that begins it, and those of this
        // one have all come.
        *lock(&self.partition) = next.clone();
        let here = self.rank();
        let mut all = vec![std::mem::take(&mut by_process[here as usize])];
        let write =
            |rank: u32, out: &mut Vec<u8>| (self.codec.write_migrants)(out, &by_process[rank as usize]);
        for (rank, bytes) in self.swap(write)? {
            let read = (self.codec.read_migrants)(&bytes).map_err(|error| self.damaged(rank, error))?;
            let (migrants, rest) = read;
            if !rest.is_empty() || !migrants.fits(before, next, &self.owners, rank, here) {
                return Err(self.damaged(rank, "the LPs that it sends are not those that are to move"));
            }
            all.push(migrants);
        }
        Ok(all)
    }
}

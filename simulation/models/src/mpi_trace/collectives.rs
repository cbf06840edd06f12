//! Collective actions, by the algorithms that SimGrid 3.32 takes where none is chosen
//! (`smpi/coll-selector:default`).
//!
//! All but broadcast, all-to-all and reduce-scatter are linear: every message is begun at once, and then all
//! are waited for. Invariant: every message that a rank sends within a collective action is received in the
//! same action, exactly once.

use paceline_processes::RequestError;

use super::replay::{Collective, Rank};

impl Rank<'_> {
    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank;
        (0..self.ranks).filter(move |other| *other != rank)
    }

    fn ahead_of(&self, root: u32, place: u32) -> u32 {
        (root + place) % self.ranks
    }

    /// How far ahead of `root` this rank is.
    fn place(&self, root: u32) -> u32 {
        (self.rank + self.ranks - root) % self.ranks
    }

    /// All ranks report to rank 0, which then releases all.
    pub(super) async fn barrier(&self) -> Result<(), RequestError> {
        const KIND: Collective = Collective::Barrier;
        if self.rank > 0 {
            self.send_part(KIND, 0, 0.0).await?;
            return self.receive_part(KIND, 0).await;
        }
        self.all(self.others().map(|other| self.start_receiving_part(KIND, other)).collect()).await?;
        self.all(self.others().filter_map(|other| self.start_sending_part(KIND, other, 0.0)).collect()).await
    }

    /// Along a binomial tree from the root.
    pub(super) async fn broadcast(&self, bytes: f64, root: u32) -> Result<(), RequestError> {
        const KIND: Collective = Collective::Broadcast;
        let place = self.place(root);
        let mut bit = 1;
        while bit < self.ranks && place & bit == 0 {
            bit <<= 1;
        }
        if place > 0 {
            self.receive_part(KIND, self.ahead_of(root, place - bit)).await?;
        }
        bit >>= 1;
        while bit > 0 {
            if place + bit < self.ranks {
                self.send_part(KIND, self.ahead_of(root, place + bit), bytes).await?;
            }
            bit >>= 1;
        }
        Ok(())
    }

    /// Each rank sends so many bytes to the root: a reduction, too.
    pub(super) async fn gather(&self, kind: Collective, bytes: f64, root: u32) -> Result<(), RequestError> {
        let begun = if self.rank == root {
            self.others().map(|other| self.start_receiving_part(kind, other)).collect()
        } else {
            self.start_sending_part(kind, root, bytes).into_iter().collect()
        };
        self.all(begun).await
    }

    /// The root sends to each rank what `bytes` says.
    pub(super) async fn scatter(
        &self,
        kind: Collective,
        bytes: impl Fn(u32) -> f64,
        root: u32,
    ) -> Result<(), RequestError> {
        let begun = if self.rank == root {
            self.others().filter_map(|other| self.start_sending_part(kind, other, bytes(other))).collect()
        } else {
            vec![self.start_receiving_part(kind, root)]
        };
        self.all(begun).await
    }

    /// A reduction to rank 0, and a broadcast from there.
    pub(super) async fn reduce_all(&self, bytes: f64) -> Result<(), RequestError> {
        self.gather(Collective::Reduce, bytes, 0).await?;
        self.broadcast(bytes, 0).await
    }

    /// Each rank sends to each other what `bytes` says, all at once.
    pub(super) async fn exchange_at_once(
        &self,
        kind: Collective,
        bytes: impl Fn(u32) -> f64,
    ) -> Result<(), RequestError> {
        let mut begun: Vec<_> = self.others().map(|other| self.start_receiving_part(kind, other)).collect();
        begun.extend(self.others().filter_map(|other| self.start_sending_part(kind, other, bytes(other))));
        self.all(begun).await
    }

    /// Each rank sends to all of higher number.
    pub(super) async fn scan(&self, bytes: f64) -> Result<(), RequestError> {
        const KIND: Collective = Collective::Scan;
        let mut begun: Vec<_> = (0..self.rank).map(|other| self.start_receiving_part(KIND, other)).collect();
        begun.extend(
            (self.rank + 1..self.ranks).filter_map(|other| self.start_sending_part(KIND, other, bytes)),
        );
        self.all(begun).await
    }

    /// All-to-all: at once, in pairs, or by the algorithm of Bruck, which sends fewer and larger messages.
    pub(super) async fn exchange(&self, bytes: f64) -> Result<(), RequestError> {
        const KIND: Collective = Collective::Exchange;
        match Algorithm::of(self.ranks, bytes) {
            Algorithm::AtOnce => self.exchange_at_once(KIND, |_| bytes).await,
            Algorithm::Pairs => {
                for step in 1..self.ranks {
                    let (to, from) = if self.ranks.is_power_of_two() {
                        (self.rank ^ step, self.rank ^ step)
                    } else {
                        // SimGrid's algorithm in pairs ends with an error here.
                        (self.ahead_of(self.rank, step), self.ahead_of(self.rank, self.ranks - step))
                    };
                    self.swap(KIND, to, from, bytes).await?;
                }
                Ok(())
            }
            Algorithm::Bruck => {
                let mut bit = 1;
                while bit < self.ranks {
                    let blocks = (1..self.ranks).filter(|block| block & bit > 0).count();
                    let (to, from) =
                        (self.ahead_of(self.rank, bit), self.ahead_of(self.rank, self.ranks - bit));
                    self.swap(KIND, to, from, blocks as f64 * bytes).await?;
                    bit <<= 1;
                }
                Ok(())
            }
        }
    }
}

/// Ways of an all-to-all exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// All messages are begun, and then waited for.
    AtOnce,
    /// One partner after the other.
    Pairs,
    /// Bruck et al.: one step for each bit of the number of ranks.
    Bruck,
}

/// By the number of ranks, below which a row counts: from how many bytes on a message is not sent by the
/// algorithm of Bruck, and from and up to how many in pairs. SimGrid 3.32 has it in
/// `smpi_openmpi_selector.cpp` (`alltoall__ompi`), after Open MPI. For two ranks all ways are the same.
const EXCHANGES: [(u32, f64, f64, f64); 10] = [
    (3, 0.0, f64::INFINITY, f64::INFINITY),
    (8, 0.0, 524_288.0, 1_048_576.0),
    (16, 0.0, f64::INFINITY, f64::INFINITY),
    (64, 512.0, f64::INFINITY, f64::INFINITY),
    (256, 1024.0, 262_144.0, f64::INFINITY),
    (512, 1024.0, 32_768.0, f64::INFINITY),
    (1024, 512.0, 262_144.0, f64::INFINITY),
    (2048, 512.0, f64::INFINITY, f64::INFINITY),
    (4096, 1024.0, f64::INFINITY, f64::INFINITY),
    (u32::MAX, 2048.0, f64::INFINITY, f64::INFINITY),
];

impl Algorithm {
    fn of(ranks: u32, bytes: f64) -> Self {
        let row = EXCHANGES.iter().find(|(below, ..)| ranks < *below);
        let (_, bruck, from, to) = row.expect("there are fewer ranks than a `u32` holds");
        // The table says so of few ranks with next to nothing to send.
        let is_tiny = ranks < 32 && bytes < 4.0;
        match bytes {
            _ if bytes < *bruck && !is_tiny => Self::Bruck,
            _ if (*from..*to).contains(&bytes) => Self::Pairs,
            _ => Self::AtOnce,
        }
    }
}

#[cfg(test)]
mod test {
    use super::Algorithm::{AtOnce, Bruck, Pairs};
    use super::*;

    #[test]
    fn the_way_of_an_exchange_is_the_one_of_the_table() {
        for (ranks, bytes, way) in [
            (2, 1.0, AtOnce),
            (2, 1e7, AtOnce),
            (4, 524_287.0, AtOnce),
            (4, 524_288.0, Pairs),
            (7, 1_048_576.0, AtOnce),
            (15, 1.0, AtOnce),
            (16, 3.0, AtOnce),
            (16, 4.0, Bruck),
            (31, 511.0, Bruck),
            (31, 512.0, AtOnce),
            (63, 1.0, Bruck),
            (64, 1023.0, Bruck),
            (255, 262_144.0, Pairs),
            (511, 32_768.0, Pairs),
            (1023, 512.0, AtOnce),
            (1023, 262_144.0, Pairs),
            (1024, 1e9, AtOnce),
            (4096, 2047.0, Bruck),
            (65_536, 2048.0, AtOnce),
        ] {
            assert_eq!(Algorithm::of(ranks, bytes), way, "{ranks} ranks, {bytes} bytes");
        }
    }
}

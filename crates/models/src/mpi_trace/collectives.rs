//! Collective actions, by the algorithms of MPI libraries (Thakur, Rabenseifner and Gropp, 2005).
//!
//! Invariant: every message that a rank sends within a collective action is received in the same action, exactly once.

use paceline_processes::Failure;

use super::replay::Rank;

impl Rank<'_> {
    /// The rank that is `place` ahead of `root`.
    fn ahead_of(&self, root: u32, place: u32) -> u32 {
        (root + place) % self.ranks
    }

    /// How far ahead of `root` this rank is.
    fn place(&self, root: u32) -> u32 {
        (self.own + self.ranks - root) % self.ranks
    }

    /// Along a binomial tree from the root.
    pub(super) async fn broadcast(&self, bytes: f64, root: u32) -> Result<(), Failure> {
        let place = self.place(root);
        let mut bit = 1;
        while bit < self.ranks && place & bit == 0 {
            bit <<= 1;
        }
        if place > 0 {
            self.hear(self.ahead_of(root, place - bit)).await?;
        }
        bit >>= 1;
        while bit > 0 {
            if place + bit < self.ranks {
                self.tell(self.ahead_of(root, place + bit), bytes).await?;
            }
            bit >>= 1;
        }
        Ok(())
    }

    /// Along a binomial tree, to the root.
    pub(super) async fn reduce(&self, bytes: f64, root: u32) -> Result<(), Failure> {
        let place = self.place(root);
        let mut bit = 1;
        while bit < self.ranks {
            if place & bit > 0 {
                return self.tell(self.ahead_of(root, place - bit), bytes).await;
            }
            if place + bit < self.ranks {
                self.hear(self.ahead_of(root, place + bit)).await?;
            }
            bit <<= 1;
        }
        Ok(())
    }

    /// By recursive doubling: a reduction whose result all ranks get; with zero bytes, a barrier. If the number of ranks is not a
    /// power of two, the first ranks form pairs, and one rank of each pair acts for both.
    pub(super) async fn double(&self, bytes: f64) -> Result<(), Failure> {
        let power = 1 << self.ranks.ilog2();
        let pairs = self.ranks - power;
        let paired = self.own < 2 * pairs;
        if paired && self.own.is_multiple_of(2) {
            self.tell(self.own + 1, bytes).await?;
            return self.hear(self.own + 1).await;
        }
        if paired {
            self.hear(self.own - 1).await?;
        }
        let place = if paired { self.own / 2 } else { self.own - pairs };
        let rank = |place: u32| if place < pairs { 2 * place + 1 } else { place + pairs };
        let mut bit = 1;
        while bit < power {
            let other = rank(place ^ bit);
            self.swap(other, other, bytes).await?;
            bit <<= 1;
        }
        if paired { self.tell(self.own - 1, bytes).await } else { Ok(()) }
    }

    /// Pairwise exchange: one step for each other rank, and in each step different partners.
    pub(super) async fn exchange(&self, bytes: f64) -> Result<(), Failure> {
        for step in 1..self.ranks {
            let to = (self.own + step) % self.ranks;
            let from = (self.own + self.ranks - step) % self.ranks;
            self.swap(to, from, bytes).await?;
        }
        Ok(())
    }
}

//! Random delays for tests: workers that wait, yield, and - in optimistic runs - take federates in any order,
//! all drawn from a seed.
//!
//! The interleavings that the operating system makes of this are not repeatable, but they are many and bad.

use paceline_kernel::Rng;

#[derive(Debug)]
pub(crate) struct Chaos(Rng);

impl Chaos {
    pub(crate) fn new(seed: u64, worker: usize) -> Self {
        Self(Rng::new(seed, 1 + worker as u64))
    }

    /// Loses some time, as if taken off the core.
    pub(crate) fn dawdle(&mut self) {
        // Mostly not at all, so that some workers fall behind others.
        for _ in 0..[0, 0, 0, 1, 4, 20][self.0.below(6) as usize] {
            crate::sync::thread::yield_now();
        }
    }

    /// Whether to wait where that may pay.
    pub(crate) fn is_patient(&mut self) -> bool {
        self.0.chance(0.5)
    }

    /// One of `among`, or none to take the one that is due.
    pub(crate) fn pick(&mut self, among: usize) -> Option<usize> {
        (among > 0 && self.0.chance(0.5)).then(|| self.0.below(among as u64) as usize)
    }
}

//! Random numbers of one queue or link that can be checkpointed and hashed: the state is a counter.

use paceline_kernel::Rng;
use serde::{Deserialize, Serialize};

/// A stream of uniform numbers. The `n`th is a function of (seed, stream, n) alone, so that nothing depends
/// on who else draws, and to restore the counter is to take draws back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Draws {
    key: u64,
    count: u64,
}

impl Draws {
    /// The stream `stream` (the number of a port or a link) of a run with `seed`.
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self { key: Rng::new(seed, stream).u64(), count: 0 }
    }

    /// How many numbers were drawn.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The next 64 uniform bits.
    pub const fn u64(&mut self) -> u64 {
        let draw = Rng::new(self.key, self.count).u64();
        // Only a damaged checkpoint says as much.
        self.count = self.count.wrapping_add(1);
        draw
    }
}

//! The size of each program of the experiments, for guests and for the simulated machine.
//!
//! Sizes are small: the emulated machine is one core of a few hundred million instructions a second, shared
//! by both PCPUs.
//!
//! Invariant: work is counted in rounds of a loop, never in time.

use paceline_machine::guests::class::Class;

/// PCPUs of the machine.
pub const PCPUS: u32 = 2;

/// CPU time of a round of work: 13 instructions of 2 ns.
pub const ROUND_NS: u64 = 26;

/// Rounds of work that PHOLD takes for a millisecond of CPU time.
pub const ROUNDS_PER_MS: u64 = 1_000_000 / ROUND_NS;

/// The problem class of LU, which gives the points of its cube.
pub const LU_CLASS: Class = Class::W;
/// Points along a side of its cube.
pub const LU_SIDE: u32 = 33;
/// The ranks of LU, one a guest.
pub const LU_RANKS: u32 = 2;

/// The port that programs listen at.
const PORT: u16 = 7_000;

/// The addresses of the guests with these places in a boot, for `--tcp`.
pub fn addresses(places: impl IntoIterator<Item = usize>) -> String {
    let address = |place| format!("10.0.0.{}:{PORT}", place + 2);
    places.into_iter().map(address).collect::<Vec<_>>().join(",")
}

/// PHOLD: what each process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phold {
    /// Windows, each as wide as the lookahead.
    pub windows: u32,
    /// Mean CPU time of a process in a window.
    pub cost_us: u64,
}

impl Phold {
    /// The command for a guest.
    pub fn command(self, load: &str, rank: usize, processes: usize) -> String {
        let Self { windows, cost_us } = self;
        format!(
            "phold --rank {rank} --tcp {} --windows {windows} --cost-us {cost_us} --load {load} --wait busy --seed 1 \
             --rate {ROUNDS_PER_MS}",
            addresses(0..processes)
        )
    }
}

/// LU and EP: what each rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// How many times LU sweeps its grid.
    pub iterations: u32,
    /// Rounds of work at a point of LU in an iteration.
    pub point_rounds: u64,
    /// How many batches an EP process computes.
    pub batches: u64,
    /// Rounds of work in a batch of EP.
    pub batch_rounds: u64,
}

impl Parallel {
    /// The command for a guest with LU.
    pub fn lu(self, rank: usize) -> String {
        let Self { iterations, point_rounds, .. } = self;
        format!(
            "lu --rank {rank} --tcp {} --side {LU_SIDE} --iterations {iterations} --point {point_rounds} --wait busy",
            addresses(0..LU_RANKS as usize)
        )
    }

    /// The command for a guest with EP. Each runs alone: the reduction at the end of EP is negligible beside
    /// its work.
    pub fn ep(self) -> String {
        format!("ep --batches {} --batch {}", self.batches, self.batch_rounds)
    }
}

/// The guests' message rounds.
pub fn rounds_command(rank: usize, rounds: u32) -> String {
    format!("rounds --rank {rank} --tcp {} --rounds {rounds} --pacing barrier --wait busy", addresses(0..3))
}

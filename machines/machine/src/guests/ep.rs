//! EP of the NAS Parallel Benchmarks: pairs of random numbers, each process its share, and a sum over all at
//! the end.
//!
//! The work is dealt out in batches of 2^16 pairs; where they do not divide evenly, the first ranks have one
//! more. At the end two sums, ten counts and the time are reduced, one after the other (NPB 2.4, `ep.f`).
//!
//! Invariant: a process sends nothing before it has computed all its share.

use std::collections::VecDeque;

use super::class::Class;
use super::mpi::{Mpi, Rank, Script, Step, allreduce};
use crate::{MachineError, ProcessId, Program};

/// Pairs in a batch (`mk` in `ep.f`).
const BATCH_LOG_PAIRS: u32 = 16;

/// What is reduced, in bytes: two sums, the counts of ten annuli, and the longest time.
const REDUCED_BYTES: [u64; 4] = [8, 8, 80, 8];

/// What EP is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many pairs.
    pub class: Class,
    /// On how many processes.
    pub processes: u32,
    /// CPU time of a pair in picoseconds.
    pub pair_ps: u64,
    /// What the MPI library does.
    pub mpi: Mpi,
}

impl Settings {
    /// 100 ns a pair: about what the co-scheduling thesis, table 4 comes to, four processes for class A to D.
    pub fn new(class: Class, processes: u32) -> Self {
        Self { class, processes, pair_ps: 100_000, mpi: Mpi::default() }
    }
}

/// The processes of EP, by rank: `first` and those after it. Fails where there are none, or more than
/// batches.
///
/// ```
/// use paceline_machine::guests::{class::Class, ep};
/// use paceline_machine::ProcessId;
///
/// let programs = ep::programs(&ep::Settings::new(Class::A, 4), ProcessId(0))?;
/// assert_eq!(programs.len(), 4);
/// # Ok::<(), paceline_machine::MachineError>(())
/// ```
pub fn programs(settings: &Settings, first: ProcessId) -> Result<Vec<Box<dyn Program>>, MachineError> {
    let &Settings { class, processes, pair_ps, mpi } = settings;
    let batches = 1u64 << (class.ep_log_pairs() - BATCH_LOG_PAIRS);
    let ranks = u64::from(processes);
    if !(1..=batches).contains(&ranks) {
        return Err(MachineError::BadSpec {
            what: format!("the number of processes of EP class {}", class.name()),
            value: processes.to_string(),
            allowed: format!("1 to {batches}"),
        });
    }
    let script = |rank: u32| -> Box<dyn Script> {
        let rank_batches = batches / ranks + u64::from(u64::from(rank) < batches % ranks);
        Box::new(Ep {
            rank,
            ranks: processes,
            compute_ps: Some((rank_batches << BATCH_LOG_PAIRS).saturating_mul(pair_ps)),
        })
    };
    Ok(Rank::all(mpi, first, (0..processes).map(script)))
}

#[derive(Debug)]
struct Ep {
    rank: u32,
    ranks: u32,
    /// What it has to compute, before it has.
    compute_ps: Option<u64>,
}

impl Script for Ep {
    fn refill(&mut self, steps: &mut VecDeque<Step>) {
        if let Some(ps) = self.compute_ps.take() {
            steps.push_back(Step::Compute { ps });
            for bytes in REDUCED_BYTES {
                allreduce(steps, self.rank, self.ranks, bytes);
            }
        }
    }
}

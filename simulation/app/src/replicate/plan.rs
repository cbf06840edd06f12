//! How many replications run at once, with how many threads each, and with which seeds.
//!
//! Invariant: nothing here changes what a replication computes.

use std::num::NonZero;

use paceline_kernel::Time;
use paceline_scenario::ScenarioError;

use super::{Replicas, ReplicateArguments, Series};
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::output::Identity;
use crate::provenance::Provenance;
use crate::tables::Tables;

/// The greatest seed that a scenario can hold: TOML's integers have 64 bits with a sign.
const LAST_SEED: u64 = i64::MAX as u64;

/// So many times the replications for which there are cores run at once where each has several threads:
/// threads of one run wait for each other, and meanwhile those of another compute (measured:
/// `docs/clusters.md`).
const BESIDE_WAITING: u32 = 2;

/// How replications are run.
#[derive(Debug)]
pub struct Plan {
    /// The scenario, with the threads of each run in it.
    source: Source,
    /// The name of the model.
    pub model: &'static str,
    /// What the work of a run is counted in: a name, and that of the speed.
    pub units: [&'static str; 2],
    /// The seed of the first replication.
    pub first_seed: u64,
    /// How many replications.
    pub replications: u32,
    /// So many of them run at once.
    pub at_once: u32,
    /// The threads of each.
    pub threads: u32,
    /// The horizon of each run; none if it ends by itself.
    pub until: Option<Time>,
    /// What the results come from.
    pub provenance: Provenance,
    /// How tables are written.
    pub tables: Tables,
}

impl Plan {
    /// Reads the scenario to its last key, and decides.
    pub fn new(
        replicas: &dyn Replicas,
        mut source: Source,
        arguments: &ReplicateArguments,
    ) -> Result<Self, CommandError> {
        let replications = arguments.replications;
        let Series { model, first_seed, until, provenance, is_sequential, units } =
            replicas.subject(&source)?;
        let keys = Keys::read(&source)?;
        if first_seed > LAST_SEED - u64::from(replications - 1) {
            return Err(CommandError::Option(format!(
                "--replications {replications}: the seeds from {first_seed} on would go beyond {LAST_SEED}"
            )));
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u32;
        let threads = if is_sequential { Some(1) } else { keys.threads };
        let (at_once, threads) = share(cores, replications, arguments.at_once, threads, keys.pin);
        if keys.pin && at_once > 1 {
            return Err(CommandError::Option(format!(
                "--at-once {at_once}: with run.pin all replications would be on the same cores; \
                 allowed: --at-once 1, or run.pin=false"
            )));
        }
        if keys.checkpoint {
            eprintln!("warning: replications write no checkpoints: run.checkpoint has no effect");
        }
        source.overrides.push(format!("run.threads={threads}"));
        let tables = arguments.tables.format();
        Ok(Self {
            source,
            model,
            units,
            first_seed,
            replications,
            at_once,
            threads,
            until,
            provenance,
            tables,
        })
    }

    /// What distinguishes the results of all together from those of other replications.
    pub fn identity(&self) -> Identity {
        let first = self.provenance.identity(self.first_seed).under("/runs/0");
        first.and("replications", "/replications", self.replications.into())
    }

    /// The name of the scenario.
    pub fn scenario(&self) -> String {
        self.source.name()
    }

    /// The seed of a replication, counted from 0.
    pub fn seed(&self, number: u32) -> u64 {
        self.first_seed + u64::from(number)
    }

    /// What a replication runs: what `paceline run` with its seed would.
    pub fn source(&self, number: u32) -> Source {
        let mut source = self.source.clone();
        source.overrides.push(format!("run.seed={}", self.seed(number)));
        source
    }
}

/// How many replications run at once, and the threads of each, from what the user says of both.
fn share(cores: u32, replications: u32, at_once: Option<u32>, threads: Option<u32>, pin: bool) -> (u32, u32) {
    let room = match threads {
        _ if pin => 1,
        None | Some(1) => cores,
        Some(threads) => BESIDE_WAITING * cores / threads,
    };
    let at_once = at_once.unwrap_or(room).clamp(1, replications);
    (at_once, threads.unwrap_or_else(|| (cores / at_once).max(1)))
}

/// Keys of `[run]` that decide how replications are run.
struct Keys {
    threads: Option<u32>,
    pin: bool,
    checkpoint: bool,
}

impl Keys {
    /// Reads them. Reading the whole scenario reports the same mistakes.
    fn read(source: &Source) -> Result<Self, ScenarioError> {
        let mut run = source.open()?.section("run")?;
        let threads = run.optional("threads")?;
        Ok(Self {
            threads,
            pin: run.or("pin", false)?,
            checkpoint: run.optional::<Time>("checkpoint")?.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared_and_what_the_user_says_holds() {
        let free = |cores, replications| share(cores, replications, None, None, false);
        assert_eq!([free(8, 100), free(8, 2), free(8, 3), free(1, 9)], [(8, 1), (2, 4), (3, 2), (1, 1)]);
        assert_eq!(share(8, 100, None, Some(1), false), (8, 1));
        assert_eq!(share(8, 100, None, Some(3), false), (5, 3), "some wait while others compute");
        assert_eq!(share(2, 100, None, Some(4), false), (1, 4));
        assert_eq!(share(2, 100, None, Some(9), false), (1, 9), "more threads than cores: one at a time");
        assert_eq!(share(2, 100, Some(5), None, false), (5, 1), "more at once than cores");
        assert_eq!(share(2, 3, Some(5), Some(2), false), (3, 2), "no more than there are");
        assert_eq!(share(8, 100, None, None, true), (1, 8), "threads that are pinned want all cores");
    }
}

//! The arguments of `replicate`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{OutputArguments, ScenarioArguments};

/// The most replications.
const MOST: i64 = 100_000;
/// The most at once.
const MOST_AT_ONCE: i64 = 1024;

pub const REPLICATE_EXAMPLES: &str = "\
The seeds are run.seed, run.seed + 1 and so on. The digest and the results of a replication are
those of `paceline run` with its seed, however many run at once.

A run has the threads that run.threads says. Where that is not set, the cores are divided among
the replications that run at once. Without --at-once these are as many as there are cores; where
run.threads is 2 or more, twice as many as there are cores for: threads of a run wait for each
other, and meanwhile those of another compute.

Ctrl-C ends all of them, with the results so far: replications that were interrupted are listed, and
do not count in means. If a replication fails, the others end all the same.

Exit status: 0 when all replications ended; 2 for a bad scenario or option; 1 if one has failed; 130, 143
or 129 when SIGINT (Ctrl-C), SIGTERM or SIGHUP ended them, after the summary so far.

Examples:
  paceline replicate scenarios/phold.toml --replications 10
  paceline replicate scenarios/wireless.toml --replications 8 --at-once 2 --set run.threads=2
  paceline replicate scenarios/traffic.toml --replications 20 --out results --json";

/// The arguments of `replicate`.
#[derive(Args, Debug)]
pub struct ReplicateArguments {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// The number of replications
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub replications: u32,

    /// How many replications run at once [default: so many that all cores have work]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=MOST_AT_ONCE))]
    pub at_once: Option<u32>,

    /// Writes summary.json and replications.csv into this folder, which is created if it does not exist, and the files of each replication into a folder seed-SEED in it
    ///
    /// The files hold results only, no speeds: they are byte-identical however the replications are run.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

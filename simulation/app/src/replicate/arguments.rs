//! The arguments of `replicate`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{OutputArguments, ScenarioArguments};
#[cfg(feature = "live")]
use crate::live::PageArguments;
use crate::tables::TableArguments;

/// The most replications.
const MOST: i64 = 100_000;
/// The most at once.
const MOST_AT_ONCE: i64 = 1024;

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

    /// Writes summary.json and replications.csv into this folder, which is created if it does not exist, and
    /// the files of each replication into a folder seed-SEED in it
    ///
    /// The files hold results only, no speeds: they are byte-identical however the replications are run.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// In which format.
    #[command(flatten)]
    pub tables: TableArguments,

    /// The live page.
    #[cfg(feature = "live")]
    #[command(flatten)]
    pub live: PageArguments,

    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

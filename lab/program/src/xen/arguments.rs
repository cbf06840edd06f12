//! The arguments of `paceline xen build`, `xen boot` and `xen run`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, Subcommand};

pub const XEN_EXAMPLES: &str = "\
Sources and builds are kept in $XDG_CACHE_HOME/paceline/xen-lab. Nothing is installed, and no
privilege and no hardware virtualization is needed.

Exit status: 0 when the command has run, whatever the verdicts; 2 for a bad option; 77, with
the reason, if something that the command needs cannot be installed; 1 for any other failure.

Examples:
  paceline xen build
  paceline xen boot --scheduler psx --guests 2 --command 'ping -c 3 10.0.0.1'
  paceline xen run --list
  paceline xen run xen-nsx --quick";

/// The commands of `xen`.
#[derive(Debug, Subcommand)]
pub enum XenCommand {
    /// Builds the hypervisor, and prints its path
    Build(BuildArguments),
    /// Boots the hypervisor with dom0 and guests, prints their output, and shuts down
    Boot(BootArguments),
    /// Runs experiments on the hypervisor, and checks their conclusions
    Run(RunArguments),
}

/// The arguments of `xen build`.
#[derive(Args, Debug)]
pub struct BuildArguments {
    /// The folder with Paceline's sources for the hypervisor
    #[arg(long, value_name = "DIR", default_value = "lab/xen")]
    pub sources: PathBuf,

    /// Checks the invariants of the scheduler at every decision
    #[arg(long)]
    pub debug: bool,
}

/// The arguments of `xen boot`.
#[derive(Args, Debug)]
pub struct BootArguments {
    /// What to boot.
    #[command(flatten)]
    pub build: BuildArguments,

    /// The scheduler: credit, credit2, psx, psxplus, nsx, sedf, csde or csdd
    #[arg(long, value_name = "NAME", default_value = "credit")]
    pub scheduler: String,

    /// A further option of Xen, such as nsx-tick-us=300; may be repeated
    #[arg(long = "option", value_name = "OPTION")]
    pub options: Vec<String>,

    /// The number of guests
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub guests: u32,

    /// The shell command that each guest runs, all at the same time
    ///
    /// Guests are guest-1, guest-2, ... with the addresses 10.0.0.2, 10.0.0.3, ...; dom0 has 10.0.0.1. The
    /// programs of lab/xen/guest are in their path.
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<String>,

    /// Writes the output into this file as well
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// The arguments of `xen run`.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// The experiments to run, by the names that --list prints
    #[arg(value_name = "EXPERIMENT", required_unless_present_any = ["all", "list"])]
    pub names: Vec<String>,

    /// Runs all experiments
    #[arg(long)]
    pub all: bool,

    /// Lists the experiments, one a line
    #[arg(long)]
    pub list: bool,

    /// Runs fewer sizes and repetitions
    #[arg(long)]
    pub quick: bool,

    /// Boots everything twice, and checks that both print the same
    #[arg(long)]
    pub determinism: bool,

    /// The number of boots at a time [default: the number of CPUs]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZero<usize>>,

    /// Writes the output of each boot into a file in this folder, which is created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub logs: Option<PathBuf>,

    /// Prints the findings as JSON, and shows no progress: an object for one name, else an array
    #[arg(long)]
    pub json: bool,

    /// The folder with Paceline's sources for the hypervisor
    #[arg(long, value_name = "DIR", default_value = "lab/xen")]
    pub sources: PathBuf,
}

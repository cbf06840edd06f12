//! The `paceline-lab` program: published experiments on scheduling simulations, and the schedulers in the Xen
//! hypervisor. The program `paceline` starts it for its commands `reproduce` and `xen`.
//!
//! Exit status: 0 when the experiments ran, whatever the verdicts; 2 for a bad option or file; 77 where
//! this machine cannot have what the hypervisor needs, with the reason; 1 for any other failure.

#![forbid(unsafe_code)]

mod failure;
mod findings;
mod reproduce;
#[cfg(target_os = "linux")]
mod xen;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use paceline_app::{conclude, misspelt, signals};

use crate::reproduce::arguments::{REPRODUCE_EXAMPLES, ReproduceArguments};
#[cfg(target_os = "linux")]
use crate::xen::arguments::{XEN_EXAMPLES, XenCommand};

/// Paceline's lab: runs published experiments, and Paceline's schedulers in the Xen hypervisor.
#[derive(Debug, Parser)]
#[command(name = "paceline-lab", version, max_term_width = 100, after_help = EXAMPLES)]
struct Arguments {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Each command is one of `paceline` too, which starts this program for it: `paceline reproduce --list`
and `paceline-lab reproduce --list` do the same.

Examples:
  paceline-lab reproduce --list
  paceline-lab reproduce nsx-fig10 --quick
  paceline-lab reproduce --all --out report
  paceline-lab xen run xen-smoke";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs published experiments on simulated machines or real threads, and checks their conclusions
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArguments),
    /// Builds the Xen hypervisor with Paceline's schedulers, boots it under emulation, and runs experiments
    /// on it
    #[cfg(target_os = "linux")]
    #[command(subcommand, after_help = XEN_EXAMPLES)]
    Xen(XenCommand),
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| misspelt(&error));
    conclude(|| {
        match arguments.command {
            Command::Reproduce(arguments) => {
                signals::survive_file_size_limit();
                reproduce::reproduce(&arguments)
            }
            // What it starts has its signals for itself.
            #[cfg(target_os = "linux")]
            Command::Xen(command) => xen::xen(&command),
        }
        .map(|()| ExitCode::SUCCESS)
    })
}

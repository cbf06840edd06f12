//! The arguments of `xen`.

use clap::{Args, Subcommand};

pub const XEN_EXAMPLES: &str = "\
Examples:
  paceline xen run --list";

/// The commands of `xen`.
#[derive(Debug, Subcommand)]
pub enum XenCommand {
    /// Runs experiments on the hypervisor, and says what of them holds
    Run(RunArguments),
}

/// The arguments of `xen run`.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// Lists the experiments, one a line
    #[arg(long)]
    pub list: bool,
}

//! The command line of `paceline lvt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

/// Shown below the help of `paceline lvt`.
pub const LVT_EXAMPLES: &str = "\
A program finds its page through the variable PACELINE_LVT.

Examples:
  paceline lvt watch --page /dev/shm/my.lvt
  paceline lvt watch --page /dev/shm/my.lvt --json --count 10 --interval 100ms";

/// The commands of `lvt`.
#[derive(Debug, Subcommand)]
pub enum LvtCommand {
    /// Shows who is behind, who waits, and who gets how much of a core
    Watch(WatchArguments),
}

/// The arguments of `lvt watch`.
#[derive(Args, Debug)]
pub struct WatchArguments {
    /// The page: a file or a pinned BPF map; the one that PACELINE_LVT names, unless given
    #[arg(long, value_name = "PATH")]
    pub page: Option<PathBuf>,

    /// Prints a JSON object in a line for each look
    #[arg(long)]
    pub json: bool,

    /// Ends after so many looks
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// From one look to the next
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = humantime::parse_duration)]
    pub interval: Duration,
}

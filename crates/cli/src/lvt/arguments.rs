//! The command line of `paceline lvt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::duration::duration;

/// Shown below the help of `paceline lvt`.
pub const LVT_EXAMPLES: &str = "\
A program finds its page through the variable PACELINE_LVT.

Examples:
  paceline lvt watch --page /dev/shm/my.lvt
  paceline lvt watch --page /dev/shm/my.lvt --json --count 10 --interval 100ms
  paceline pace -- sh -c 'qemu-system-x86_64 ... & paceline lvt relay --guest /dev/shm/vm1.lvt --qemu $!'";

/// The commands of `lvt`.
#[derive(Debug, Subcommand)]
pub enum LvtCommand {
    /// Shows who is behind, who waits, and who gets how much of a core
    Watch(WatchArguments),
    /// Carries what a virtual machine's guest publishes to the page, for the threads of its virtual CPUs
    Relay(RelayArguments),
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
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = duration)]
    pub interval: Duration,
}

/// The arguments of `lvt relay`.
#[derive(Args, Debug)]
pub struct RelayArguments {
    /// The file that is the guest's shared memory (ivshmem-plain)
    #[arg(long, value_name = "FILE")]
    pub guest: PathBuf,

    /// The process of the virtual machine; the relay ends with it
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub qemu: u32,

    /// From one look at the guest's memory to the next, 100us to 1s
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = duration)]
    pub interval: Duration,
}

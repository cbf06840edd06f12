//! The arguments of `paceline lvt new`, `lvt watch` and `lvt relay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use paceline_app::duration::duration;
use paceline_lvt::{DEFAULT_SLOTS, MAX_SLOTS};

/// Shown below the help of `paceline lvt`.
pub const LVT_EXAMPLES: &str = r#"A program finds its page through the variable PACELINE_LVT, which `paceline pace` sets for the command.

Examples:
  eval "$(paceline lvt new /dev/shm/my.lvt)"
  paceline lvt watch
  paceline lvt watch --page /dev/shm/my.lvt
  paceline lvt watch --page /dev/shm/my.lvt --json --count 10 --interval 100ms
  paceline pace -- sh -c 'qemu-system-x86_64 ... & paceline lvt relay --guest /dev/shm/vm1.lvt --qemu $!'"#;

/// The commands of `lvt`.
#[derive(Debug, Subcommand)]
pub enum LvtCommand {
    /// Makes a page, and prints the command by which a shell names it to the programs that it starts
    New(NewArguments),
    /// Shows which threads are behind, which wait, and which share of a core each gets
    Watch(WatchArguments),
    /// Copies the LVT that the guest of a virtual machine publishes to the page, into the slots of its
    /// virtual CPUs' threads
    Relay(RelayArguments),
}

/// The arguments of `lvt new`.
#[derive(Args, Debug)]
pub struct NewArguments {
    /// The file, which does not exist yet; it stays until it is removed
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The number of slots: as many threads can publish
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SLOTS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SLOTS)))]
    pub slots: u32,
}

/// The arguments of `lvt watch`.
#[derive(Args, Debug)]
pub struct WatchArguments {
    /// The page: a file or a pinned BPF map [default: the page that PACELINE_LVT names, else the one that
    /// running programs use]
    #[arg(long, value_name = "PATH")]
    pub page: Option<PathBuf>,

    /// Prints one JSON object per look, each on a line of its own
    #[arg(long)]
    pub json: bool,

    /// Ends after this number of looks
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// The time from one look to the next
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

    /// The time from one look at the guest's memory to the next, 100us to 1s
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = duration)]
    pub interval: Duration,
}

//! The arguments of `paceline network`, and the network models that it can be asked for.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub const NETWORK_EXAMPLES: &str = "\
The file of transfers is CSV with the columns source,destination,bytes. All transfers start at time
0. The times are printed as CSV with one more column, seconds; it is empty if a link that was off
has ended the transfer. Without --transfers and --routes a summary of the platform is printed.

Exit status: 0 on success; 2 for a bad file or option; 1 if standard output cannot be written.

Examples:
  paceline network scenarios/platforms/campus.xml
  paceline network scenarios/platforms/campus.xml --routes
  paceline network scenarios/platforms/campus.xml --transfers transfers.csv --model CM02 --mode all";

/// The arguments of `network`.
#[derive(Args, Debug)]
pub struct NetworkArguments {
    /// The platform: a file in SimGrid's XML format; paths of its profiles are relative to its folder
    #[arg(value_name = "PLATFORM.xml")]
    pub platform: PathBuf,

    /// Computes how long these transfers take
    #[arg(long, value_name = "FILE.csv")]
    pub transfers: Option<PathBuf>,

    /// The network model [default: network/model of the file's <config>, else LV08]
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_name = "MODEL",
        requires = "transfers",
        conflicts_with = "routes"
    )]
    pub model: Option<Model>,

    /// Whether transfers share the network [default: single]
    #[arg(long, value_enum, value_name = "MODE", requires = "transfers", conflicts_with = "routes")]
    pub mode: Option<Mode>,

    /// Prints the links of routes instead of times: routes of the transfers, or from every host to every
    /// other
    ///
    /// As CSV with the columns source,destination,latency_seconds,links. Without --transfers a platform may
    /// have 100 hosts at most; where there is no route the last two columns are empty.
    #[arg(long)]
    pub routes: bool,
}

/// A network model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// Max-min sharing of links
    #[value(name = "CM02")]
    Cm02,
    /// The same with factors fitted to simulations of TCP
    #[default]
    #[value(name = "LV08")]
    Lv08,
    /// Every transfer takes 1 s, or network/latency-factor of the file's <config>
    Constant,
}

/// Which transfers are under way together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Each transfer is alone
    #[default]
    Single,
    /// All transfers start together
    All,
}

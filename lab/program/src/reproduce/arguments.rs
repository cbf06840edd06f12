//! The arguments of `paceline reproduce`: which experiments run, with which parameters, and where.

use std::path::PathBuf;

use clap::Args;
#[cfg(target_os = "linux")]
use clap::ValueEnum;

pub const REPRODUCE_EXAMPLES: &str = "\
Every experiment has a file of parameters: sizes, points, horizons, repetitions. It is built in;
print it, change it, and run the experiment with it. [quick] in it has what --quick takes otherwise,
and [constants] what constants of the calibration are in this run, such as psx.send = 5000.

Exit status: 0 when the experiments ran, whatever the verdicts; 2 for a bad option or file.

Examples:
  paceline reproduce --list
  paceline reproduce nsx-fig10 --quick
  paceline reproduce --all --out report
  paceline reproduce psx-fig10 --quick --sensitivity --out report
  paceline reproduce nsx-fig10 --parameters > own.toml
  paceline reproduce --from own.toml --out report
  paceline reproduce nsx-fig10 --set runs=5 --set rounds=200
  paceline reproduce psx-fig10 --quick --set constants.psx.send=5000
  paceline reproduce --calibrate psx --quick
  paceline reproduce --on xen xen-nsx --quick";

/// The arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArguments {
    /// The experiments to run, by the names that --list prints
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "list", "from", "calibrate"])]
    pub names: Vec<String>,

    /// Runs all experiments
    #[arg(long)]
    pub all: bool,

    /// Lists the experiments, one a line
    #[arg(long)]
    pub list: bool,

    /// Runs smaller sizes and fewer repetitions
    #[arg(long)]
    pub quick: bool,

    /// Prints the file of parameters of the one experiment named, to be saved, changed and given to --from
    #[arg(long, conflicts_with_all = ["all", "list", "from", "overrides", "sensitivity", "json", "out"])]
    pub parameters: bool,

    /// Runs the experiment that this file of parameters names, with them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "all", "list"])]
    pub from: Option<PathBuf>,

    /// Overrides a parameter of the one experiment, such as runs=5 or constants.psx.send=5000; may be
    /// repeated
    ///
    /// KEY is a key of the form that runs, full or quick, or SECTION.KEY. VALUE is written as in the file;
    /// strings need no quotes.
    #[arg(long = "set", value_name = "KEY=VALUE", conflicts_with_all = ["all", "list"])]
    pub overrides: Vec<String>,

    /// Repeats the experiments with each constant of their papers halved and doubled, and reports which
    /// conclusions change
    ///
    /// Takes as long as the experiments times twice the number of constants. With --out the page has the
    /// experiments and this.
    #[arg(long, conflicts_with_all = ["json", "list"])]
    pub sensitivity: bool,

    /// Fits what a source leaves open, psx for example, on half of its numbers, and prints the file of its
    /// vector
    ///
    /// Takes as long as the experiments times the number of vectors that are tried, some tens.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["names", "all", "list", "from", "overrides", "sensitivity", "json", "out", "parameters"])]
    pub calibrate: Option<String>,

    /// Where experiments run: on this machine (most of them simulate a machine), or on Xen under emulation,
    /// compared with the prediction of the simulated machine
    #[cfg(target_os = "linux")]
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = Ground::Machine)]
    pub on: Ground,

    /// The folder with Paceline's sources for Xen, for --on xen
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "DIR", default_value = "lab/xen")]
    pub sources: PathBuf,

    /// Writes report.html and report.json into this folder, which is created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Prints the findings as JSON (an object for one name, otherwise an array), and shows no progress
    #[arg(long)]
    pub json: bool,
}

/// Where experiments run.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ground {
    /// Experiments run on simulated machines.
    Machine,
    /// Xen, under emulation.
    Xen,
}

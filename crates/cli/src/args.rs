//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Runs parallel discrete-event simulations.
#[derive(Debug, Parser)]
#[command(name = "paceline", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  paceline list
  paceline check scenarios/traffic.toml
  paceline run scenarios/traffic.toml
  paceline run scenarios/traffic.toml --set run.threads=1 --out results";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs a scenario, with progress while it runs and a summary at the end
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Reads a scenario and builds its model, says what would run, and runs nothing
    #[command(after_help = CHECK_EXAMPLES)]
    Check(ScenarioArguments),
    /// Lists models, scenarios, protocols and event queues, one a line
    List,
}

const RUN_EXAMPLES: &str = "\
Ctrl-C ends the run cleanly, with the summary so far; a second one ends it at once.

Exit status: 0 when the run ended, interrupted or not;
2 for a bad scenario or option; 1 for a failure while running.

Examples:
  paceline run scenarios/traffic.toml
  paceline run scenarios/phold.toml --set run.protocol=null-message --set run.threads=2
  paceline run scenarios/phold.toml --set model.lps=65536 --set run.until=30s --json
  paceline run scenarios/ringtown.toml --out results";

const CHECK_EXAMPLES: &str = "\
Examples:
  paceline check scenarios/phold.toml
  paceline check scenarios/phold.toml --set run.federates=64";

/// A scenario and changes to it.
#[derive(Args, Debug)]
pub struct ScenarioArguments {
    /// The scenario: a TOML file with the sections [model] and [run]
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,

    /// Puts a value in place of the scenario's, such as run.threads=2 or model.mean=500ms; may be repeated
    ///
    /// KEY is a section and a key. VALUE is written as in the scenario; strings need no quotes. Files are sought beside
    /// the scenario.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
}

/// The arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// Writes summary.json and the model's own files into this folder, which is made if need be
    ///
    /// The files hold results only, no speeds: they are the same, to the byte, under every protocol, number of federates
    /// and threads, and queue.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Prints the summary as one JSON object, and shows no progress
    #[arg(long)]
    pub json: bool,

    /// Shows no progress, and prints a summary of one line
    #[arg(long, short)]
    pub quiet: bool,
}

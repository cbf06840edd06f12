//! The arguments of the commands that every program has.
//!
//! To add an option to all programs, add it here; to `paceline` alone, in `command/src/args.rs`. Those of the
//! log are in `log.rs`. A setting of a run is a key instead: `settings.rs`.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    reason = "what is said of an argument is its help, as it is printed"
)]

#[cfg(target_os = "linux")]
pub mod together;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use paceline_engine::MOST_THREADS;

use crate::failure::CommandError;
#[cfg(feature = "live")]
use crate::live::LiveArguments;
use crate::log::LogArguments;
use crate::tables::TableArguments;
#[cfg(target_os = "linux")]
use together::TogetherArguments;

/// A scenario and changes to it.
#[derive(Args, Debug)]
pub struct ScenarioArguments {
    /// The scenario: a TOML file with the sections [model] and [run]
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,

    /// Overrides a value of the scenario, such as run.threads=2 or model.mean=500ms; may be repeated
    ///
    /// KEY is SECTION.KEY or SECTION.TABLE.KEY. VALUE is written as in the scenario; strings need no quotes.
    /// Paths of files are relative to the folder of the scenario.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
}

/// The arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// What to check.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// Runs the model twice, event by event, and stops at the first event after which the two runs differ
    ///
    /// Both runs are sequential. The check finds models that depend on a clock, a global variable, an address
    /// or the order of a hash map. Ctrl-C ends it.
    #[arg(long)]
    pub determinism: bool,

    /// Also lists every key that the scenario may have, with what it may hold and its default
    ///
    /// Which keys there are depends on others, such as model.kind: those are listed that are read with the
    /// values that the scenario has.
    #[arg(long, conflicts_with = "determinism")]
    pub keys: bool,

    /// The number of events to compare at most
    #[arg(long, value_name = "N", default_value_t = 10_000_000, requires = "determinism")]
    pub events: u64,
}

/// The arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// In which processes.
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    pub together: TogetherArguments,

    /// What to write and print.
    #[command(flatten)]
    pub results: ResultArguments,
}

/// What a command prints.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArguments {
    /// Prints the results as one JSON object, and shows no progress
    #[arg(long)]
    pub json: bool,

    /// Shows no progress, and prints the shortest summary
    #[arg(long, short)]
    pub quiet: bool,
}

/// The arguments of `resume`.
#[derive(Args, Debug)]
pub struct ResumeArguments {
    /// The checkpoint
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Overrides a value of the scenario, such as run.threads=2; may be repeated
    ///
    /// KEY is any key of [run] except run.seed and run.ties, since these determine the result.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,

    /// In which processes.
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    pub together: TogetherArguments,

    /// What to write and print.
    #[command(flatten)]
    pub results: ResultArguments,
}

/// The commands of `ctl`.
#[derive(Debug, Subcommand)]
pub enum CtlCommand {
    /// Says how far a run has come
    Status {
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Changes the number of worker threads of a run; the result stays the same
    Threads {
        /// The number of threads
        #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)))]
        threads: u32,
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Says why a process of a model of processes waits: for what, since when, and who holds that
    Why {
        /// The process, by its number or its name
        process: String,
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Runs the next event, shows it with the state of its LP before and after, and lets the run wait; of a
    /// model of processes, lets one process resume, and shows which. Results stay the same
    Step {
        /// The number of steps
        #[arg(default_value_t = 1)]
        steps: u32,
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Lets a run that is paused or stepped go on
    Go {
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Lets a run wait, once the batches in hand are done, until `ctl go`
    Pause {
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Runs one window, the lookahead of the model from the next event on, and lets the run wait
    Window {
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Ties simulated time to real time from now on
    Pace {
        /// Simulated seconds a second, such as 1; `free` is as fast as it can
        factor: String,
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Changes a parameter that the model declares changeable; without a name, lists those that there are.
    /// The summary has the change, and the same in [[run.change]] of the scenario gives the same result
    Set {
        /// The parameter, such as model.cycle
        #[arg(value_name = "NAME", requires = "to")]
        set: Option<String>,
        /// What it changes to, such as 60s or 0.5
        #[arg(value_name = "VALUE")]
        to: Option<String>,
        /// The simulated time from which on it holds, such as 300s; unless said, the earliest at which
        /// nothing has happened yet
        #[arg(long, value_name = "TIME", requires = "to")]
        at: Option<String>,
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Writes a checkpoint of a run that has run.checkpoint
    Checkpoint {
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
    /// Ends a run, which shows the summary so far
    Stop {
        /// The run that is asked, if there are several on this machine.
        #[command(flatten)]
        run: WhichRun,
    },
}

/// One of the runs on this machine.
#[derive(Args, Debug)]
pub struct WhichRun {
    /// The process ID of the run; with several runs, status lists all of them without it, and threads changes
    /// none
    #[arg(long)]
    pub pid: Option<u32>,
}

/// What a run writes and prints.
#[derive(Args, Debug)]
pub struct ResultArguments {
    /// Writes summary.json, the model's own files and report.html, a picture of the run, into this folder,
    /// which is created if it does not exist
    ///
    /// The files but report.html hold results and what they come from, no speeds: on one host they are
    /// byte-identical under every protocol, number of federates and number of threads. They are written after
    /// the summary is printed, summary.json first; a file for which there is no room is left out. A warning
    /// says before the run where the folder holds results of another one, which are replaced.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// In which format.
    #[command(flatten)]
    pub tables: TableArguments,

    /// Writes a trace of every thread, federate and process into this file, for https://ui.perfetto.dev
    ///
    /// A trace has about 150 bytes for every batch of events that a federate runs. For a model of processes
    /// it has 100 bytes for every round, and 100 each time that one of the first thousand processes resumes.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// The log of events
    #[command(flatten)]
    pub log: LogArguments,

    /// The live page
    #[cfg(feature = "live")]
    #[command(flatten)]
    pub live: LiveArguments,

    /// Writes the checkpoints of run.checkpoint into this file
    ///
    /// Without it they go into NAME.checkpoint in the folder of --out or else the current one; a resumed run
    /// goes on with its file, unless its horizon is another one: then it writes NAME.until-HORIZON.checkpoint
    /// beside it.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,

    /// Lets the program that has started the run advance it, by lines of JSON on standard input
    ///
    /// The run waits before its first event. Each line is answered by one on standard output; the summary
    /// comes last. The run stops when standard input ends.
    #[arg(long, requires = "json")]
    pub owned: bool,

    /// Writes progress as lines of JSON to standard error, ten a second, for a program that shows it
    #[arg(long, requires = "json")]
    pub progress_lines: bool,

    /// Prints the summary as one JSON object, and shows no progress
    #[arg(long)]
    pub json: bool,

    /// Shows no progress, and prints a summary of one line
    #[arg(long, short)]
    pub quiet: bool,
}

impl ResultArguments {
    /// Whether progress is shown where there is a terminal.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Whether the run waits before its first event.
    pub(crate) fn is_paused(&self) -> bool {
        #[cfg(feature = "live")]
        let is_paused = self.live.paused;
        #[cfg(not(feature = "live"))]
        let is_paused = false;
        is_paused || self.owned
    }

    /// An error where the run is `owned` and is one that cannot be.
    pub(crate) fn refuse_owned(&self, what: &str, allowed: &str) -> Result<(), CommandError> {
        if !self.owned {
            return Ok(());
        }
        Err(CommandError::Option(format!("--owned is not for {what}; allowed: {allowed}")))
    }
}

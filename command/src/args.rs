//! The command line of `paceline`: its commands with their examples, and the arguments of `machine`,
//! `emulate`, `compare` and the lab. Those of `pace`, `lvt`, `network`, `rti`, `init`, `schema`,
//! `completions` and `man` are in files of their own (`args/pace.rs`, `lvt/arguments.rs`,
//! `network/arguments.rs`, `rti/arguments.rs`, `init.rs`, `schema.rs`, `manual/arguments.rs`), those of the
//! commands that every program has in `simulation/app/src/args.rs`.
//!
//! A command here that every program has is in `simulation/app/src/entry.rs` as well; `main.rs` carries it
//! out.

#[cfg(target_os = "linux")]
mod pace;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
#[cfg(target_os = "linux")]
use paceline_app::args::ResultArguments;
use paceline_app::args::{
    CheckArguments, CtlCommand, OutputArguments, ResumeArguments, RunArguments, ScenarioArguments,
};
#[cfg(feature = "live")]
use paceline_app::live::LiveArguments;
use paceline_app::replicate::ReplicateArguments;
use paceline_app::run_report::compare::ReportArguments;
use paceline_app::study::StudyArguments;
#[cfg(target_os = "linux")]
use paceline_app::together::JoinArguments;

use crate::init::{INIT_EXAMPLES, InitArguments};
#[cfg(target_os = "linux")]
use crate::lvt::arguments::{LVT_EXAMPLES, LvtCommand};
use crate::manual::arguments::{COMPLETIONS_EXAMPLES, CompletionsArguments, MAN_EXAMPLES, ManArguments};
use crate::network::arguments::{NETWORK_EXAMPLES, NetworkArguments};
use crate::rti::arguments::{RTI_EXAMPLES, RtiArguments};
use crate::schema::{SCHEMA_EXAMPLES, SchemaArguments};
#[cfg(target_os = "linux")]
pub use pace::PaceArguments;

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
  paceline run scenarios/traffic.toml --set run.threads=1 --out results
  paceline replicate scenarios/phold.toml --replications 10
  paceline study scenarios/studies/ringtown-cycle.toml
  paceline machine scenarios/machine-phold.toml
  paceline compare --policies credit,psx scenarios/machine-phold.toml";

/// What the program can be asked for, one variant a subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs a scenario, with progress while it runs and a summary at the end
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Runs replications of a scenario with different seeds, several at once, and reports means with their
    /// confidence intervals
    #[command(after_help = REPLICATE_EXAMPLES)]
    Replicate(ReplicateArguments),
    /// Runs a study: a scenario at many points, each repeated until it says enough; whatever ends it, it
    /// continues
    #[command(after_help = STUDY_EXAMPLES)]
    Study(StudyArguments),
    /// Compares runs on one page, from the reports in the folders that --out has written
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArguments),
    /// Resumes a run from its last checkpoint
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArguments),
    /// Takes part in a run that a process on this or another host has started
    #[cfg(target_os = "linux")]
    #[command(after_help = JOIN_EXAMPLES)]
    Join(JoinArguments),
    /// Shows how far a run has come, or changes its number of threads
    #[command(subcommand, after_help = CTL_EXAMPLES)]
    Ctl(CtlCommand),
    /// Shows an LVT page, on which simulation programs publish their simulated times
    #[cfg(target_os = "linux")]
    #[command(subcommand, after_help = LVT_EXAMPLES)]
    Lvt(LvtCommand),
    /// Runs a simulated machine: hosts with a hypervisor, and guests under its scheduling policy
    #[command(after_help = MACHINE_EXAMPLES)]
    Machine(MachineArguments),
    /// Runs a simulated machine under several scheduling policies, and compares the results
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Runs real machines under simulated time: unmodified guests are hosts of a simulated packet network
    #[cfg(target_os = "linux")]
    #[command(after_help = EMULATE_EXAMPLES)]
    Emulate(EmulateArguments),
    /// Summarizes a platform file, or computes how long transfers take on its network
    #[command(after_help = NETWORK_EXAMPLES)]
    Network(NetworkArguments),
    /// Reads a scenario or a study, builds its models and reports what would run; runs a scenario only with
    /// --determinism
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Runs published experiments on simulated machines or real threads, and checks their conclusions
    #[command(disable_help_flag = true)]
    Reproduce(LabArguments),
    /// Runs any command; of its threads that publish their local virtual time, those furthest behind run
    /// first
    #[cfg(target_os = "linux")]
    #[command(after_help = pace::EXAMPLES)]
    Pace(PaceArguments),
    /// Serves federates of the High Level Architecture (HLA 4): a run-time infrastructure that their clients
    /// join through the Federate Protocol
    #[command(after_help = RTI_EXAMPLES)]
    Rti(RtiArguments),
    /// Builds the Xen hypervisor with Paceline's schedulers, boots it under emulation, and runs experiments
    /// on it
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Xen(LabArguments),
    /// Writes a scenario of a model to start from; with --rust a crate, with --python a module
    #[command(after_help = INIT_EXAMPLES)]
    Init(InitArguments),
    /// Prints a JSON Schema of scenarios and studies, by which editors complete and check them
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema(SchemaArguments),
    /// Prints what a shell needs to complete the commands and options of this program
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Writes the manual pages of this program and all its commands
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArguments),
    /// Lists models, scenarios, protocols, options of optimistic runs and of frames, scheduling policies and
    /// guest programs
    List,
}

const RUN_EXAMPLES: &str = "\
Ctrl-C ends the run cleanly, with the summary so far; a second Ctrl-C ends it at once.

Exit status: 0 when the run ended; 2 for a bad scenario or option; 1 for a failure while running;
130, 143 or 129 when SIGINT (Ctrl-C), SIGTERM or SIGHUP ended it, after the summary so far.

Examples:
  paceline run scenarios/traffic.toml
  paceline run scenarios/phold.toml --set run.protocol=null-message --set run.threads=2
  paceline run scenarios/phold.toml --set model.lps=65536 --set run.until=30s --json
  paceline run scenarios/ringtown.toml --out results
  paceline run scenarios/phold.toml --set run.until=20s --trace phold.perfetto-trace
  paceline run scenarios/phold.toml --processes 4 --set run.threads=1
  paceline run scenarios/phold.toml --hosts hosts --listen 10.0.0.1:7000 --secret run.secret";

const REPORT_EXAMPLES: &str = "\
Exit status: 0 when the page is written; 2 for a folder without a report; 1 if it cannot be written.

Examples:
  paceline run scenarios/traffic.toml --out one
  paceline run scenarios/traffic.toml --set run.protocol=optimistic --out other
  paceline report one other
  paceline report one other --out optimistic.html";

const RESUME_EXAMPLES: &str = "\
A run whose scenario says run.checkpoint = \"10s\" writes NAME.checkpoint every ten seconds,
into the folder of --out or else the current one. The file holds the scenario; files that
the scenario names must still be where they were, with the same content. The result is that
of an uninterrupted run. Further checkpoints replace the same file, or are written into the
folder of --out. With another run.until it is another run: that writes its checkpoints into
NAME.until-HORIZON.checkpoint beside the file, which stays. --checkpoint FILE names another.

Examples:
  paceline resume phold.checkpoint
  paceline resume results/ringtown.checkpoint --out results
  paceline resume phold.checkpoint --set run.threads=8 --set run.protocol=null-message";

const CTL_EXAMPLES: &str = "\
Examples:
  paceline ctl status
  paceline ctl threads 2
  paceline ctl threads 2 --pid 4711";

const MACHINE_EXAMPLES: &str = "\
A table of settings that has the name of a policy applies to that policy only, so that one
scenario runs under every policy. If several sections have the same name, --set changes the
key in all of them; --set domain.NAME.count=4 changes it in one.

Exit status: 0 when the run ended; 2 for a bad scenario or option; 1 for a failure while
running, such as a deadlock of the guests.

Examples:
  paceline machine scenarios/machine-phold.toml
  paceline machine scenarios/machine-phold.toml --set policy.kind=credit --set domain.count=48
  paceline machine scenarios/machine-lu.toml --set policy.csde.choice=scan --json
  paceline machine scenarios/machine-rounds.toml --trace rounds.perfetto-trace";

const COMPARE_EXAMPLES: &str = "\
What a simulation in the guests computes must not depend on the policy: its digests are
compared, and the exit status is 1 where they differ, or where a policy fails.

Examples:
  paceline compare --policies credit,psx scenarios/machine-phold.toml
  paceline compare --policies sedf,csde,csdd scenarios/machine-lu.toml --json";

#[cfg(target_os = "linux")]
const EMULATE_EXAMPLES: &str = "\
Guests are machines of QEMU, which scripts/emulator gets and unpacks without installing anything. They
need no hardware virtualization, no privilege, and do not reach the network of this machine.

Ctrl-C ends the run cleanly, with the summary and all files so far; a second Ctrl-C ends it at once. A
guest that crashes, resets or hangs ends it in the same way, and is named.

Exit status: 0 when the run ended; 2 for a bad scenario or option, or without the emulator; 1 for a
failure while running; 130, 143 or 129 when SIGINT (Ctrl-C), SIGTERM or SIGHUP ended it.

Examples:
  paceline emulate scenarios/emulate-ping.toml
  paceline emulate scenarios/emulate-ping.toml --set network.latency=50ms --json
  paceline emulate scenarios/emulate-nginx.toml --out results";

const CHECK_EXAMPLES: &str = "\
Exit status: 0 when the scenario is valid; 2 for a bad scenario or option; 1 if two runs differ.

Examples:
  paceline check scenarios/phold.toml
  paceline check scenarios/phold.toml --set run.federates=64
  paceline check scenarios/studies/ringtown-cycle.toml
  paceline check --determinism scenarios/phold.toml --events 1000000";

const REPLICATE_EXAMPLES: &str = "\
The seeds are run.seed, run.seed + 1 and so on. The digest and the results of a replication are
those of `paceline run` with its seed, however many run at once.

A run has the threads that run.threads says. Where that is not set, the cores are divided among
the replications that run at once. Without --at-once these are as many as there are cores; where
run.threads is 2 or more, twice as many as there are cores for: threads of a run wait for each
other, and meanwhile those of another compute.

Ctrl-C ends all of them, with the results so far: replications that were interrupted are listed, and
do not count in means. If a replication fails, the others end all the same.

Exit status: 0 when all replications ended; 2 for a bad scenario or option; 1 if one has failed; 130, 143
or 129 when SIGINT (Ctrl-C), SIGTERM or SIGHUP ended them, after the summary so far.

Examples:
  paceline replicate scenarios/phold.toml --replications 10
  paceline replicate scenarios/wireless.toml --replications 8 --at-once 2 --set run.threads=2
  paceline replicate scenarios/traffic.toml --replications 20 --out results --json";

const STUDY_EXAMPLES: &str = "\
A study file names a scenario, factors with their levels, and how often each point is repeated:
docs/studies.md has all keys. Each run is a process of its own, with one thread, and as many are
side by side as there are cores. A row for each goes into the journal in the folder of --out.

A run that is in the journal is not repeated: after a kill, a full disk or a crash the same command
continues the study, and with more levels or replications it does those alone. A run that fails is
a row with its error.

Exit status: 0 when all runs have ended; 2 for a bad study, scenario or option; 1 if a run has failed,
or its row could not be written; 130, 143 or 129 when SIGINT (Ctrl-C), SIGTERM or SIGHUP ended it.

Examples:
  paceline study scenarios/studies/ringtown-cycle.toml
  paceline study scenarios/studies/ringtown-cycle.toml --set study.replications=40 --at-once 4
  paceline study scenarios/studies/ringtown-cycle.toml --retry failed
  paceline study scenarios/studies/ringtown-cycle.toml --array 3/8
  paceline study merge scenarios/studies/ringtown-cycle.toml";

#[cfg(target_os = "linux")]
const JOIN_EXAMPLES: &str = "\
The process that listens at ADDRESS (`paceline run --processes`) sends what is to be run.
Files that the scenario names must be at the same place on every host.

Exit status: 0 when the run ended; 1 for a failure while running, or when the run cannot be joined.

Examples:
  paceline join 10.0.0.1:7000 --secret run.secret
  paceline join 10.0.0.1:7000 --secret run.secret --threads 16";

/// The arguments of a command of the lab: its program reads them, those that ask for help too.
#[derive(Args, Debug)]
pub struct LabArguments {
    /// What the lab's program is given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub arguments: Vec<OsString>,
}

/// The arguments of `machine`.
#[derive(Args, Debug)]
pub struct MachineArguments {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// Writes summary.json, and the files of models that have ended, into this folder, which is created if it
    /// does not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Writes a trace into this file, for https://ui.perfetto.dev: which VCPU ran when on which PCPU, the LVT
    /// of every domain, and all messages
    ///
    /// A trace has about 150 bytes for every time that a VCPU is scheduled, and for every message.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// The live page.
    #[cfg(feature = "live")]
    #[command(flatten)]
    pub live: LiveArguments,

    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// The arguments of `emulate`.
#[cfg(target_os = "linux")]
#[derive(Args, Debug)]
pub struct EmulateArguments {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// What to write and print.
    #[command(flatten)]
    pub results: ResultArguments,
}

/// The arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// The policies, with commas between them
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', required = true)]
    pub policies: Vec<String>,

    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArguments,

    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

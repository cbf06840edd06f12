//! The program that [`app!`](crate::app) makes: arguments in, a run or a look at one, results out.
//!
//! Exit status: 0 when all went well; 2 for a bad scenario or option; 1 for a failure while running; 128 and
//! the signal's number for what a signal has ended, also where it ended with a summary.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::{CheckArguments, CtlCommand, ResumeArguments, RunArguments};
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::program::Program;
use crate::replicate::ReplicateArguments;
use crate::run_report::compare::{self, ReportArguments};
use crate::study::StudyArguments;
#[cfg(target_os = "linux")]
use crate::{args::together::JoinArguments, join::join};
use crate::{commands, ctl, executable, keys, list, panics, resume, signals, words};

#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a scenario, with progress while it runs and a summary at the end
    Run(RunArguments),
    /// Reads a scenario or a study, builds its models and reports what would run; runs a scenario only with
    /// --determinism
    Check(CheckArguments),
    /// Runs replications of a scenario with different seeds, several at once, and reports means with their
    /// confidence intervals
    Replicate(ReplicateArguments),
    /// Runs a study: a scenario at many points, each repeated until it says enough; whatever ends it, it
    /// continues
    Study(StudyArguments),
    /// Compares runs on one page, from the reports in the folders that --out has written
    Report(ReportArguments),
    /// Resumes a run from its last checkpoint
    Resume(ResumeArguments),
    /// Takes part in a run that a process on this or another host has started
    #[cfg(target_os = "linux")]
    Join(JoinArguments),
    /// Shows how far a run has come, or changes its number of threads
    #[command(subcommand)]
    Ctl(CtlCommand),
    /// Lists models, protocols, and options of optimistic runs and of frames
    List,
}

/// What the program is for, by examples.
fn examples(name: &str) -> String {
    format!(
        "Ctrl-C ends a run cleanly, with the summary so far; a second Ctrl-C ends it at once.\n\n\
         Exit status: 0 when all went well; 2 for a bad scenario or option; 1 for a failure while running;\n\
         130, 143 or 129 when SIGINT (Ctrl-C), SIGTERM or SIGHUP ended it, after the summary so far.\n\n\
         Examples:\n  \
         {name} check SCENARIO.toml\n  \
         {name} check --determinism SCENARIO.toml\n  \
         {name} run SCENARIO.toml --set run.protocol=optimistic --set run.threads=2\n  \
         {name} run SCENARIO.toml --out results --trace run.perfetto-trace\n  \
         {name} replicate SCENARIO.toml --replications 10\n  \
         {name} study STUDY.toml"
    )
}

/// Does what the command line says, with the models of `program`. Gives the exit status.
pub fn main(program: &Program) -> ExitCode {
    let name = executable::name();
    let command = Arguments::command()
        .name(name.clone())
        .bin_name(name.clone())
        .version(program.version)
        .after_help(examples(&name));
    let command = if program.about.is_empty() { command } else { command.about(program.about) };
    let matches = command.try_get_matches().unwrap_or_else(|error| misspelt(&error));
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    conclude(|| carry_out(program, &arguments.command).map(|()| ExitCode::SUCCESS))
}

/// Does `work`, the whole of a program, and gives its exit status; says what went wrong, a panic too.
pub fn conclude(work: impl FnOnce() -> Result<ExitCode, CommandError>) -> ExitCode {
    panics::as_failures(work).unwrap_or_else(|failure| {
        failure.print();
        failure.status()
    })
}

/// Says what is wrong with the command line, and ends the program.
pub fn misspelt(error: &clap::Error) -> ! {
    if let Some(instead) = words::instead(error, std::env::args_os()) {
        eprintln!("{instead}");
        std::process::exit(2);
    }
    error.exit()
}

fn carry_out(program: &Program, command: &Command) -> Result<(), CommandError> {
    signals::survive_file_size_limit();
    match command {
        Command::Run(arguments) => commands::run(program, arguments),
        Command::Check(arguments) => {
            let source = Source::read(&arguments.scenario)?;
            keys::listed(arguments.keys, || commands::check(program, &source, arguments))
        }
        Command::Replicate(arguments) => commands::replicate(program, arguments),
        Command::Study(arguments) => commands::study(program, arguments),
        Command::Report(arguments) => compare::report(arguments),
        Command::Resume(arguments) => resume::resume(program, arguments),
        #[cfg(target_os = "linux")]
        Command::Join(arguments) => join(program, arguments),
        Command::Ctl(command) => ctl::ctl(command),
        Command::List => list::list(program),
    }
}

/// Writes `main` for a program that runs models of these types, each of which is named by its type in
/// scenarios (`kind = "Ring"`; where there is one type it need not be named). Models of LPs come first, those
/// of processes behind `processes:`, which needs the feature of that name:
///
/// ```ignore
/// paceline_app::app!(Ring, Torus);
/// paceline_app::app!(processes: PingPong);
/// paceline_app::app!(Ring; processes: PingPong);
/// ```
///
/// A type implements serde's `Deserialize` and [`Results`](paceline_results::Results), or the trait
/// `ProcessModel` of processes: the keys of the section `[model]` are its fields, and `#[serde(try_from =
/// "...")]` has it built of parameters of another type, with an error where they do not fit. State, event and
/// output of a model of LPs can be serialized, for checkpoints and several processes. Name, version and line
/// of description are those of the crate.
#[macro_export]
macro_rules! app {
    (@main [$($model:ty),*] [$($process_model:ty),*]) => {
        fn main() -> ::std::process::ExitCode {
            const KINDS: &[$crate::Kind] = &[
                $($crate::Kind {
                    name: ::std::stringify!($model),
                    about: ::std::concat!("the type ", ::std::stringify!($model)),
                    build: $crate::Build::Lps($crate::by_serde::<$model>),
                },)*
                $($crate::Kind {
                    name: ::std::stringify!($process_model),
                    about: ::std::concat!("the type ", ::std::stringify!($process_model)),
                    build: $crate::Build::Processes($crate::processes_by_serde::<$process_model>),
                },)*
            ];
            $crate::main(&$crate::Program {
                name: ::std::env!("CARGO_PKG_NAME"),
                version: ::std::env!("CARGO_PKG_VERSION"),
                about: ::std::env!("CARGO_PKG_DESCRIPTION"),
                kinds: KINDS,
            })
        }
    };
    (processes: $($process_model:ty),+ $(,)?) => {
        $crate::app!(@main [] [$($process_model),+]);
    };
    ($($model:ty),+ $(,)? $(; processes: $($process_model:ty),+ $(,)?)?) => {
        $crate::app!(@main [$($model),+] [$($($process_model),+)?]);
    };
}

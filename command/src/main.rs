//! The `paceline` program: arguments in, a run or a look at one, results out. It parses, wires and prints;
//! what a run is and does belongs to the other crates.
//!
//! Exit status: 0 when all went well; 2 for a bad scenario or option; 1 for a failure while running; 128 and
//! the signal's number for what a signal has ended, also where it ended with a summary. That of `paceline
//! pace` is the command's, and those of `paceline reproduce` and `paceline xen` are the lab's.

#![forbid(unsafe_code)]

mod args;
mod compare;
#[cfg(target_os = "linux")]
mod emulate;
mod failure;
mod init;
mod lab;
mod list;
#[cfg(target_os = "linux")]
mod lvt;
mod machine;
mod manual;
mod models;
mod network;
#[cfg(target_os = "linux")]
mod pace;
mod rti;
mod schema;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use paceline_app::args::CheckArguments;
use paceline_app::failure::CommandError;
use paceline_app::loaded::Source;
use paceline_app::run_report::compare::report as compare_reports;
use paceline_app::{commands, conclude, ctl, keys, misspelt, resume, signals};

use crate::args::{Arguments, Command};
use crate::models::PROGRAM;

fn main() -> ExitCode {
    let given: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some((command, arguments)) = lab::help_of(&given) {
        return conclude(|| lab::start(command, &arguments));
    }
    let arguments = Arguments::try_parse().unwrap_or_else(|error| misspelt(&error));
    conclude(|| carry_out(arguments.command))
}

fn carry_out(command: Command) -> Result<ExitCode, CommandError> {
    // A paced command has its signals for itself.
    #[cfg(target_os = "linux")]
    let is_for_others = matches!(command, Command::Pace(_));
    #[cfg(not(target_os = "linux"))]
    let is_for_others = false;
    if !is_for_others {
        signals::survive_file_size_limit();
    }
    let done = match command {
        Command::Run(arguments) => commands::run(&PROGRAM, &arguments),
        Command::Replicate(arguments) => commands::replicate(&PROGRAM, &arguments),
        Command::Study(arguments) => commands::study(&PROGRAM, &arguments),
        Command::Report(arguments) => compare_reports(&arguments),
        #[cfg(target_os = "linux")]
        Command::Resume(arguments) if emulate::is_checkpoint(&arguments.file) => emulate::resume(&arguments),
        Command::Resume(arguments) => resume::resume(&PROGRAM, &arguments),
        #[cfg(target_os = "linux")]
        Command::Join(arguments) => paceline_app::join::join(&PROGRAM, &arguments),
        Command::Ctl(command) => ctl::ctl(&command),
        #[cfg(target_os = "linux")]
        Command::Lvt(command) => lvt::lvt(&command),
        Command::Machine(arguments) => machine::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Network(arguments) => network::network(&arguments),
        Command::Check(arguments) => keys::listed(arguments.keys, || check_any(&arguments)),
        Command::Reproduce(given) => return lab::start("reproduce", &given.arguments),
        Command::Rti(arguments) => rti::rti(&arguments),
        Command::Init(arguments) => init::init(&arguments),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Completions(arguments) => manual::completions(Arguments::command(), &arguments),
        Command::Man(arguments) => manual::pages(Arguments::command(), &arguments),
        Command::List => list::list(),
        #[cfg(target_os = "linux")]
        Command::Xen(given) => return lab::start("xen", &given.arguments),
        #[cfg(target_os = "linux")]
        Command::Pace(arguments) => return pace::pace(&arguments),
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn check_any(arguments: &CheckArguments) -> Result<(), CommandError> {
    let source = Source::read(&arguments.scenario)?;
    if !arguments.determinism && machine::is_machine(&source.open()?) {
        return machine::check(&source);
    }
    #[cfg(target_os = "linux")]
    if !arguments.determinism && emulate::is_emulation(&source.open()?) {
        return emulate::check(&source);
    }
    commands::check(&PROGRAM, &source, arguments)
}

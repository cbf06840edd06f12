//! The `paceline` program: arguments in, a run or a look at one, results out. It parses, wires and prints; what a run is
//! and does belongs to the other crates.
//!
//! Exit status: 0 when all went well; 2 for a bad scenario or option; 1 for a failure while running; 128 and the signal's number for
//! what a signal has ended, also where it ended with a summary. That of `paceline pace` is the command's.

#![forbid(unsafe_code)]

mod args;
mod check;
mod compare;
mod ctl;
mod determinism;
mod duration;
mod failure;
mod findings;
mod list;
mod loaded;
mod log;
#[cfg(target_os = "linux")]
mod lvt;
mod machine;
mod memory;
mod models;
mod network;
mod output;
#[cfg(target_os = "linux")]
mod pace;
mod panics;
mod processes;
mod progress;
mod provenance;
mod replicate;
mod reproduce;
mod resume;
mod run;
mod settings;
mod signals;
mod stdout;
mod summary;
mod terminal;
mod text;
#[cfg(target_os = "linux")]
mod together;
mod trace;
#[cfg(target_os = "linux")]
mod xen;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Replicate(arguments) => replicate::replicate(&arguments),
        Command::Resume(arguments) => resume::resume(&arguments),
        #[cfg(target_os = "linux")]
        Command::Join(arguments) => together::join(&arguments),
        Command::Ctl(command) => ctl::ctl(&command),
        #[cfg(target_os = "linux")]
        Command::Lvt(command) => lvt::lvt(&command),
        Command::Machine(arguments) => machine::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Network(arguments) => network::network(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::List => list::list(),
        #[cfg(target_os = "linux")]
        Command::Xen(command) => xen::xen(&command),
        #[cfg(target_os = "linux")]
        Command::Pace(arguments) => return ended(pace::pace(&arguments)),
    };
    ended(done.map(|()| ExitCode::SUCCESS))
}

/// The exit status of what has come of a command; says what went wrong.
fn ended(done: Result<ExitCode, Failure>) -> ExitCode {
    match done {
        Ok(status) => status,
        Err(failure) => {
            failure.tell();
            failure.status()
        }
    }
}

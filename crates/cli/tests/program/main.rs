//! The program as its users meet it: arguments and files in, text, files and an exit status out.

mod bad_input;
mod checkpoints;
mod control;
mod determinism;
mod faults;
mod files;
mod full_disk;
mod golden;
mod hosts;
mod log;
#[cfg(target_os = "linux")]
mod lvt;
mod machine;
mod network;
mod optimistic;
mod process_trace;
mod processes;
mod protocols;
mod replicate;
#[cfg(target_os = "linux")]
mod reproduce;
mod resume;
mod run;
mod scripts;
mod strangers;
mod together;
mod trace;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `paceline` in `folder`.
pub fn paceline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

/// Sends a signal to a program that was started.
#[cfg(unix)]
pub fn send(child: &std::process::Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("it can be sent");
}

/// What it printed on standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// What it printed on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

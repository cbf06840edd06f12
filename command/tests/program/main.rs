//! The program as its users meet it: arguments and files in, text, files and an exit status out.

mod bad_input;
#[cfg(unix)]
mod book;
mod checkpoints;
mod control;
mod determinism;
#[cfg(target_os = "linux")]
mod emulate;
mod faults;
mod files;
mod full_disk;
mod golden;
mod hosts;
mod init;
#[cfg(unix)]
mod lab;
#[cfg(unix)]
mod live;
mod log;
#[cfg(target_os = "linux")]
mod lvt;
mod machine;
mod network;
mod optimistic;
mod process_trace;
mod processes;
mod protocols;
#[cfg(target_os = "linux")]
mod readme;
mod replicate;
#[cfg(unix)]
mod report;
mod resume;
#[cfg(target_os = "linux")]
mod rti;
mod run;
#[cfg(target_os = "linux")]
mod run_keys;
#[cfg(unix)]
mod schema;
mod scripts;
mod strangers;
#[cfg(unix)]
mod study;
mod together;
mod trace;

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command, Output};

/// The protocols of scenarios: the choice of the engine, the conservative ones, and those that run ahead.
pub const PROTOCOLS: [&str; 8] = [
    "auto",
    "sequential",
    "time-step",
    "window",
    "null-message",
    "null-message-on-demand",
    "optimistic",
    "mixed",
];

pub(crate) fn paceline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

pub(crate) fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("it can be written");
    }
    folder
}

/// The one line that `paceline` prints to stderr when it ends with this status.
#[track_caller]
pub fn error_text(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output = paceline(folder, arguments);
    let message = stderr(&output);
    assert_eq!(
        (output.status.code(), message.lines().count()),
        (Some(status), 1),
        "{arguments:?}: {message}"
    );
    message
}

/// Asserts that a text holds all of these words.
#[track_caller]
pub fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{text} says {word}");
    }
}

/// A program that is ended where its test fails: one that goes on would hold the test's output open for ever.
pub struct Running(Option<Child>);

impl Running {
    /// Starts it; the test fails if that is not possible.
    pub fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().expect("the program starts")))
    }

    /// In place of one that was taken.
    #[cfg(target_os = "linux")]
    pub fn none() -> Self {
        Self(None)
    }

    /// What it prints until it ends by itself.
    pub fn wait_with_output(mut self) -> Output {
        self.0.take().expect("it is taken once").wait_with_output().expect("it can be waited for")
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it is taken last")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is taken last")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(unix)]
pub(crate) fn send(child: &std::process::Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("it can be sent");
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

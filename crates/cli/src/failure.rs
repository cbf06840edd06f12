//! What can go wrong, how it is told, and with which exit status.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use paceline_engine::RunError;
use paceline_scenario::ScenarioError;

/// Why the program does not end with status 0.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in the scenario, or in a file it names.
    Scenario(ScenarioError),
    /// The engine could not start or finish.
    Run(RunError),
    /// The model's results do not add up.
    Results(String),
    /// A file or folder cannot be written.
    Write(PathBuf, io::Error),
    /// Standard output cannot be written.
    Print(io::Error),
    /// The handler of Ctrl-C could not be set up.
    Signals(ctrlc::Error),
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl Failure {
    /// Says on stderr what went wrong: a mistake in a scenario with an excerpt where people look, in one line elsewhere.
    pub fn tell(&self) {
        match self {
            Self::Scenario(error) if io::stderr().is_terminal() => draw(error),
            Self::Scenario(error) => eprintln!("error: {}", error.one_line()),
            Self::Run(error) => eprintln!("error: {error}"),
            Self::Results(problem) => eprintln!("error: the results do not add up: {problem}"),
            Self::Write(path, reason) => eprintln!("error: cannot write {}: {reason}", path.display()),
            Self::Print(reason) if reason.kind() == io::ErrorKind::BrokenPipe => {}
            Self::Print(reason) => eprintln!("error: cannot write to standard output: {reason}"),
            Self::Signals(reason) => eprintln!("error: cannot watch for Ctrl-C: {reason}"),
        }
    }

    /// The exit status.
    pub fn status(&self) -> ExitCode {
        match self {
            // Whoever reads the output has seen enough, as in `paceline list | head -1`.
            Self::Print(reason) if reason.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Run(RunError::Fault(_) | RunError::Threads(_)) => ExitCode::from(1),
            Self::Scenario(_) | Self::Run(_) => ExitCode::from(2),
            Self::Results(_) | Self::Write(..) | Self::Print(_) | Self::Signals(_) => ExitCode::from(1),
        }
    }
}

/// The mistake in an excerpt of its file.
fn draw(error: &ScenarioError) {
    let mut picture = String::new();
    match miette::GraphicalReportHandler::new().render_report(&mut picture, error) {
        Ok(()) => eprint!("{picture}"),
        Err(_) => eprintln!("error: {}", error.one_line()),
    }
}

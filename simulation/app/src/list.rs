//! `list`: the models of a program, and the names that keys of `[run]` take.

use paceline_engine::Protocol;

use crate::failure::CommandError;
use crate::program::Program;
use crate::settings::frames::{SIZES, TIMES};
use crate::settings::speculation::{CANCELLATIONS, GVTS, SAVINGS};
use crate::stdout;
use crate::text::{Row, groups};

/// A title and what there is under it.
pub type Group = (&'static str, Vec<Row>);

/// Lists models, and the values of the keys of `[run]`.
pub fn list(program: &Program) -> Result<(), CommandError> {
    let all: Vec<Group> = std::iter::once(models(program)).chain(settings()).collect();
    stdout::print(&groups(&all))
}

fn row(name: &str, about: &str) -> Row {
    (name.to_owned(), about.to_owned())
}

/// Rows of names with a line about each.
pub fn rows(lines: &[(&str, &str)]) -> Vec<Row> {
    lines.iter().map(|(name, about)| row(name, about)).collect()
}

/// The kinds of models of the program, as rows of `list`.
pub fn models(program: &Program) -> Group {
    let models = program.kinds.iter().map(|kind| row(kind.name, kind.about)).collect();
    ("Models (model.kind)", models)
}

/// Protocols, the ways to run ahead, and frames between processes.
pub fn settings() -> Vec<Group> {
    vec![
        ("Protocols (run.protocol)", Protocol::ALL.map(|(_, name, about)| row(name, about)).to_vec()),
        ("State saving (run.state_saving)", SAVINGS.map(|(_, name, about)| row(name, about)).to_vec()),
        ("Cancellation (run.cancellation)", CANCELLATIONS.map(|(_, name, about)| row(name, about)).to_vec()),
        ("GVT (run.gvt)", GVTS.map(|(_, name, about)| row(name, about)).to_vec()),
        ("Size of frames between processes (run.frame_bytes)", rows(&SIZES)),
        ("Time that messages wait in them (run.frame_time)", rows(&TIMES)),
    ]
}

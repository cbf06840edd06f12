//! `paceline join`: takes part in a run with the settings that rank 0 sends.

use crate::args::together::JoinArguments;
use crate::failure::CommandError;
use crate::program::Program;
use crate::run::{take_part, watched};
use crate::together::{Joined, meet};

/// Joins the run of another process, whose model is one of `program`, and takes part in it to its end.
pub fn join(program: &Program, arguments: &JoinArguments) -> Result<(), CommandError> {
    let Joined { source, resumed, together, lifeline } = meet(arguments)?;
    let ran = take_part(source.load(program)?, resumed, together, watched()?);
    match &lifeline {
        Some(lifeline) => lifeline.of_run(ran),
        None => ran,
    }
}

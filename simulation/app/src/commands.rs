//! The commands that take a scenario of any model, of LPs or of processes.

use paceline_engine::CheckpointFile;

use crate::args::{CheckArguments, ResultArguments, RunArguments};
use crate::failure::CommandError;
use crate::loaded::{Loaded, Source};
#[cfg(feature = "processes")]
use crate::processes;
use crate::program::Program;
use crate::replicate::{self, Replicas, ReplicateArguments};
use crate::study::{self, StudyArguments};
use crate::{check, run};

/// Runs a scenario.
pub fn run(program: &Program, arguments: &RunArguments) -> Result<(), CommandError> {
    let source = Source::read(&arguments.scenario)?;
    #[cfg(feature = "processes")]
    if program.is_of_processes(source.open()?)? {
        #[cfg(target_os = "linux")]
        arguments.together.refuse_for_actors()?;
        return processes::run(program, &source, &arguments.results);
    }
    run::run(program, &source, arguments)
}

/// Runs what was loaded out of `source`, from the start or from a checkpoint, in this process.
pub fn run_loaded(
    program: &Program,
    source: &Source,
    loaded: Loaded,
    resumed: Option<CheckpointFile>,
    results: &ResultArguments,
) -> Result<(), CommandError> {
    run::carry_out(program, source, loaded, resumed, results, None, run::watched()?)
}

/// Runs replications of a scenario.
pub fn replicate(program: &Program, arguments: &ReplicateArguments) -> Result<(), CommandError> {
    let source = Source::read(&arguments.scenario)?;
    replicate::replicate(&*replicas(program, &source)?, source, arguments)
}

/// Runs the runs of a study that have not been run yet, merges journals, or runs a single run for another
/// process.
pub fn study(program: &Program, arguments: &StudyArguments) -> Result<(), CommandError> {
    study::study(program, &|source| replicas(program, source), arguments)
}

/// The models of a scenario as they are replicated.
fn replicas<'p>(program: &'p Program, source: &Source) -> Result<Box<dyn Replicas + 'p>, CommandError> {
    #[cfg(feature = "processes")]
    if program.is_of_processes(source.open()?)? {
        return Ok(Box::new(processes::OfProcesses(program)));
    }
    #[cfg(not(feature = "processes"))]
    let _ = source;
    Ok(Box::new(*program))
}

/// Checks the scenario that was read from `source`, or the study.
pub fn check(program: &Program, source: &Source, arguments: &CheckArguments) -> Result<(), CommandError> {
    if !arguments.determinism && source.open()?.has("study") {
        return study::check(program, &|source| replicas(program, source), source);
    }
    #[cfg(feature = "processes")]
    if program.is_of_processes(source.open()?)? {
        return match arguments.determinism {
            true => processes::check_determinism(program, source, arguments.events),
            false => processes::check(program, source),
        };
    }
    check::check(program, source, arguments)
}

//! `paceline resume`: continues a run from its checkpoint.
//!
//! Invariant: what decides the result - model, seed, order of ties - is that of the first run; anything else may change.

use paceline_engine::{CheckpointError, CheckpointFile};

use crate::args::ResumeArguments;
use crate::failure::Failure;
use crate::loaded::Source;
use crate::program::{self, Program};
use crate::run;

/// Resumes a run.
pub fn resume(program: &Program, arguments: &ResumeArguments) -> Result<(), Failure> {
    let refuse = |problem: String| Failure::Resume(problem);
    let changed = arguments.overrides.iter().find(|argument| decides_the_result(argument));
    if let Some(argument) = changed {
        return Err(refuse(format!(
            "--set {argument}: a resumed run keeps [model], run.seed and run.ties, which decide its result; \
             allowed: any other key of [run]"
        )));
    }
    let file = CheckpointFile::open(&arguments.file).map_err(|error| {
        let named_as_scenario = arguments.file.extension().is_some_and(|end| end == "toml");
        refuse(match error {
            CheckpointError::Foreign { path } if named_as_scenario => {
                let (path, own) = (path.display(), program::name());
                format!("{path}: is not a checkpoint of Paceline; allowed: a checkpoint, or `{own} run {path}` for a scenario")
            }
            error => error.to_string(),
        })
    })?;
    let mut source: Source = serde_json::from_slice(file.header()).map_err(|_| {
        refuse(format!("{}: holds no scenario; it was not written by this program", arguments.file.display()))
    })?;
    source.overrides.extend(arguments.overrides.iter().cloned());
    let loaded = source.load(program)?;
    #[cfg(target_os = "linux")]
    return run::in_processes(program, &source, loaded, Some(file), &arguments.results, &arguments.together);
    #[cfg(not(target_os = "linux"))]
    run::carry_out(&source, loaded, Some(file), &arguments.results, None, run::watched()?)
}

/// Whether an override is of a key that decides the result of a run.
fn decides_the_result(argument: &str) -> bool {
    let path = argument.split_once('=').map_or(argument, |(path, _)| path);
    let mut names = path.split('.').map(str::trim);
    match names.next() {
        Some("run") => names.next().is_some_and(|key| ["seed", "ties"].contains(&key)),
        section => section == Some("model"),
    }
}

//! `paceline pace`: runs a command, and of its threads that publish their local virtual time those furthest behind first.
//!
//! One line on stderr says which policy paces and why no better one does. The command has stdin and stdout for itself, and its exit
//! status is ours: 128 and the number of the signal where one has ended it, 127 where there is no such program, 126
//! where it cannot be executed.

use std::process::{Command, ExitCode};

use paceline_pace::{PaceError, PaceSettings, Started, run, start};

use crate::args::PaceArguments;
use crate::failure::Failure;

/// Carries out the command, and says its exit status.
pub fn pace(arguments: &PaceArguments) -> Result<ExitCode, Failure> {
    let PaceArguments { policy, slice, min_share, command } = arguments;
    let settings = PaceSettings { policy: *policy, slice: *slice, min_share_permille: min_share.0 };
    settings.check().map_err(|error| Failure::Option(error.to_string()))?;
    let Started { pacer, refusals } = start(&settings).map_err(|error| Failure::Pace(error.into()))?;
    let taken = pacer.as_ref().map_or("the normal scheduler; nothing is paced", |pacer| pacer.name());
    let not: Vec<_> = refusals.iter().map(|refusal| format!("; not {refusal}")).collect();
    eprintln!("paceline: policy {taken}{}", not.concat());
    let (program, rest) = command.split_first().expect("there is a first word");
    let mut command = Command::new(program);
    command.args(rest);
    let told = |trouble: &PaceError| {
        eprintln!("paceline: pacing has ended, the command goes on under the normal scheduler: {trouble}");
    };
    let ended = run(command, pacer, told).map_err(Failure::Pace)?;
    Ok(ExitCode::from(ended.code()))
}

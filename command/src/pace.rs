//! `paceline pace`: runs a command, and of its threads that publish their local virtual time those furthest
//! behind first.
//!
//! One line on stderr says which policy paces and why no better one does. The command has stdin and stdout
//! for itself, and its exit status is ours: 128 and the number of the signal where one has ended it, 127
//! where there is no such program, 126 where it cannot be executed.

use std::process::{Command, ExitCode};

use paceline_app::failure::CommandError;
use paceline_pace::mpi::prepare;
use paceline_pace::{PaceNotice, PaceSettings, Started, run, start};

use crate::args::PaceArguments;
use crate::failure::Special;

/// Carries out the command, and says its exit status.
pub fn pace(arguments: &PaceArguments) -> Result<ExitCode, CommandError> {
    let PaceArguments { policy, slice, min_share, always, mpi, statistics, command } = arguments;
    let settings =
        PaceSettings { policy: *policy, slice: slice.0, trial: !always, min_share_permille: min_share.0 };
    settings.check().map_err(|error| CommandError::Option(error.to_string()))?;
    let Started { pacer, refusals } = start(&settings).map_err(|error| Special::Pace(error.into()))?;
    let taken = pacer.as_ref().map_or("the normal scheduler; nothing is paced", |pacer| pacer.name());
    let not: Vec<_> = refusals.iter().map(|refusal| format!("; not {refusal}")).collect();
    eprintln!("paceline: policy {taken}{}", not.concat());
    let (program, rest) = command.split_first().expect("there is a first word");
    let mut command = Command::new(program);
    command.args(rest);
    let session = prepare(&mut command, *mpi);
    session.notes.iter().for_each(|note| eprintln!("paceline: {note}"));
    let notify = |notice: PaceNotice<'_>| match notice {
        PaceNotice::Stopped(error) => {
            eprintln!(
                "paceline: pacing has ended, the command continues under the normal scheduler: {error}"
            );
        }
        PaceNotice::Note(note) => eprintln!("paceline: {note}"),
    };
    let ended = run(command, pacer, notify).map_err(Special::Pace)?;
    drop(session);
    if *statistics {
        ended.statistics.iter().for_each(|(name, number)| eprintln!("paceline: {name}: {number}"));
    }
    Ok(ExitCode::from(ended.code()))
}

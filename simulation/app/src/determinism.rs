//! `paceline check --determinism`: two runs of a scenario side by side.

use paceline_engine::determinism::{Comparison, Ended};
use paceline_engine::{Monitor, RunError};
use paceline_kernel::Time;

use crate::failure::CommandError;
use crate::loaded::Source;
use crate::program::Program;
use crate::progress::Progress;
use crate::run::stop_on_signal;
use crate::stdout;
use crate::text;

/// Builds the model twice, compares at most `events` events, and says how far the two were the same.
pub fn check(program: &Program, source: &Source, events: u64) -> Result<(), CommandError> {
    let (one, other) = (source.load(program)?, source.load(program)?);
    let settings = &one.settings;
    let monitor = Monitor::new();
    stop_on_signal(&monitor)?;
    let progress = Progress::start(&monitor, settings.until, true);
    let how = Comparison {
        until: settings.until.unwrap_or(Time::MAX),
        events,
        seed: settings.seed,
        ties: settings.ties(),
        monitor,
    };
    let Some(compared) = one.model.compare(&*other.model, &how) else {
        return Err(CommandError::Changed(source.file.clone()));
    };
    drop(progress);
    let same = compared.map_err(|different| CommandError::Different(source.file.clone(), different))?;
    let is_interrupted = matches!(same.ended, Ended::Interrupted);
    let ended = match same.ended {
        Ended::Horizon => format!("at the horizon, {}", text::time(how.until)),
        Ended::NoEvents => format!("without further events, after {}", text::time(same.last)),
        Ended::Limit => format!("after as many events as wanted, at {}", text::time(same.last)),
        Ended::Interrupted => format!("interrupted at {}", text::time(same.last)),
        // That both broke it is no difference, but no run either.
        Ended::Rule(fault) => return Err(RunError::from(*fault).into()),
    };
    let facts = [("events compared", text::count(same.events)), ("ended", ended)];
    let rows = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let title = format!("Two runs of {} do not differ", source.file.display());
    stdout::print(&text::groups(&[(&title, rows)]))?;
    if is_interrupted { Err(CommandError::Interrupted) } else { Ok(()) }
}

//! `paceline check` of a model of LPs: reads the scenario, builds the model, and says what would run. For
//! models of processes: `processes.rs`; `--determinism`: `determinism.rs`; `--keys`: `keys.rs`.

use crate::args::CheckArguments;
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::program::Program;
use crate::settings::speculation::{CANCELLATIONS, GVTS, SAVINGS, name};
use crate::{determinism, stdout, text};

/// Reads a scenario, builds its model, and says what would run; or runs it twice and compares.
pub fn check(program: &Program, source: &Source, arguments: &CheckArguments) -> Result<(), CommandError> {
    if arguments.determinism {
        return determinism::check(program, source, arguments.events);
    }
    let loaded = source.load(program)?;
    let settings = &loaded.settings;
    let threads = settings.threads.map_or("one per core".to_owned(), |threads| threads.to_string());
    let federates = settings.federates.map(|federates| loaded.model.federates(federates));
    let facts = [
        ("model", loaded.kind.name.to_owned()),
        ("LPs", text::count(loaded.model.lps().into())),
        ("lookahead", text::time(loaded.model.lookahead())),
        ("until", settings.until.map_or("no further events".to_owned(), text::time)),
        ("protocol", settings.protocol.name().to_owned()),
        ("federates", federates.map_or("as suits the threads".to_owned(), |federates| federates.to_string())),
        ("threads", threads),
        ("seed", settings.seed.to_string()),
        ("memory", loaded.memory.to_string()),
    ];
    let speculation = &settings.speculation;
    let ahead = [
        ("state saving", name(&SAVINGS, speculation.saving).to_owned()),
        ("cancellation", name(&CANCELLATIONS, speculation.cancellation).to_owned()),
        ("GVT", name(&GVTS, speculation.gvt).to_owned()),
    ];
    let slow = settings.slow_check().map(|why| ("speed", why));
    let facts = facts.into_iter().chain(slow).chain(ahead.into_iter().filter(|_| settings.may_speculate()));
    let rows = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let title = format!("{} is sound", source.file.display());
    stdout::print(&text::groups(&[(&title, rows)]))
}

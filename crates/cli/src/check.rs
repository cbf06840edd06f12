//! `paceline check`: everything but the run.

use crate::args::ScenarioArguments;
use crate::failure::Failure;
use crate::{loaded, text};

/// Reads a scenario, builds its model, and says what would run.
pub fn check(arguments: &ScenarioArguments) -> Result<(), Failure> {
    let loaded = loaded::load(arguments)?;
    let settings = &loaded.settings;
    let threads = settings.threads.map_or("one per core".to_owned(), |threads| threads.to_string());
    let federates = settings.federates.map(|federates| loaded.model.federates(federates));
    let facts = [
        ("model", loaded.kind.name().to_owned()),
        ("LPs", text::count(loaded.model.lps().into())),
        ("lookahead", loaded.model.lookahead().to_string()),
        ("until", settings.until.map_or("no further events".to_owned(), |until| until.to_string())),
        ("protocol", settings.protocol.name().to_owned()),
        ("federates", federates.map_or("as suits the threads".to_owned(), |federates| federates.to_string())),
        ("threads", threads),
        ("queue", settings.queue.name().to_owned()),
        ("seed", settings.seed.to_string()),
    ];
    let rows = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let title = format!("{} is sound", arguments.scenario.display());
    text::print(&text::groups(&[(&title, rows)]))
}

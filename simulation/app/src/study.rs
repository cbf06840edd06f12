//! `paceline study`: a scenario at many points, each repeated until it says enough.
//!
//! The crate `paceline-study` knows which runs are needed and what they say; here they are run, each in a
//! process of its own with one thread, as many side by side as there are cores: several runs at once use
//! cores better than several threads of one run.
//!
//! Where things are: `plan` reads the study, `child` runs one run, `side_by_side` runs those that are needed
//! and keeps their rows, `summary` is what is printed and written, `live` the page while they run.

pub mod arguments;
mod child;
#[cfg(feature = "live")]
mod live;
mod plan;
mod side_by_side;
mod summary;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use paceline_scenario::{Scenario, keys};
use paceline_study::Study;
use paceline_study::course::Slice;
use paceline_study::journal::{self, Journal, JournalError, Rows};
use paceline_study::row::Status;

pub use arguments::{StudyArguments, StudyCommand};

use crate::args::OutputArguments;
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::output::{Identity, Output, deliver};
use crate::program::Program;
use crate::progress::warn;
use crate::{signals, stdout, text};

use arguments::{MergeArguments, Part};
use child::Lifelines;
#[cfg(feature = "live")]
use live::StudyPage;
use plan::{Plan, ReplicasOf};
use side_by_side::Runs;
use summary::Summary;

/// Does what the arguments say, with the models that `replicas` gives.
pub fn study(
    program: &Program,
    replicas: ReplicasOf<'_, '_>,
    arguments: &StudyArguments,
) -> Result<(), CommandError> {
    match &arguments.command {
        Some(StudyCommand::One) => child::one(replicas),
        Some(StudyCommand::Merge(arguments)) => merge(program, replicas, arguments),
        None => {
            let Some(file) = &arguments.study else {
                return Err(CommandError::Option("no study is named; allowed: study STUDY.toml".to_owned()));
            };
            run(program, replicas, file, arguments)
        }
    }
}

/// Reads a study and its scenario at every point, and says what would run.
pub fn check(program: &Program, replicas: ReplicasOf<'_, '_>, source: &Source) -> Result<(), CommandError> {
    let (file, overrides) = (source.file.as_path(), &source.overrides[..]);
    // Keys of the study alone are noted: those of its scenario are listed by a check of the scenario.
    let study = Study::read(Scenario::load(file, overrides)?)?;
    let (plan, _) = keys::recorded(|| Plan::read(program, replicas, (file, overrides), None));
    let points = plan?.points() as u64;
    let most = study.stop.as_ref().map(|stop| stop.most);
    let runs = |replications: u32| text::count(points * u64::from(replications));
    let least = runs(study.replications);
    let facts = [
        ("scenario", study.scenario.display().to_string()),
        ("points", text::count(points)),
        ("runs", most.map_or_else(|| least.clone(), |most| format!("{least} to {}", runs(most)))),
    ];
    let rows = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    stdout::print(&text::groups(&[(&format!("{} is sound", file.display()), rows)]))
}

fn run(
    program: &Program,
    replicas: ReplicasOf<'_, '_>,
    file: &Path,
    arguments: &StudyArguments,
) -> Result<(), CommandError> {
    let plan =
        Arc::new(Plan::read(program, replicas, (file, &arguments.overrides), arguments.out.as_deref())?);
    let slice = arguments.array.map(|Part(slice)| slice);
    let output = if slice.is_none() { Some(open_output(&plan)?) } else { None };
    if slice.is_some() {
        std::fs::create_dir_all(&plan.folder)
            .map_err(|reason| CommandError::Write(plan.folder.clone(), reason))?;
    }
    let (journal, mut rows) = open_journal(&plan, slice)?;
    if slice.is_some() {
        // What the whole has need not be run by a part.
        let whole = journal::read(&plan.journal(None), &plan.header).map_err(of_journal)?;
        journal::merge(&mut rows, &plan.journal(None), whole.rows).map_err(of_journal)?;
    }
    let again = to_run_again(&plan, &rows, &arguments.retry)?;
    let lifelines = Arc::new(Lifelines::default());
    let runs = Runs::new(&plan, plan.course(slice), rows, again, journal, Arc::clone(&lifelines));
    let at_once = arguments.at_once.unwrap_or_else(|| side_by_side::room(plan.threads()));
    let (stop, start) = (runs.stopper(), Instant::now());
    signals::on_first(move || stop.stop()).map_err(CommandError::Signals)?;
    let wanted = !arguments.output.json && !arguments.output.quiet;
    #[cfg(feature = "live")]
    let live = arguments.live.serve(|| {
        let handles = (runs.looker(), runs.stopper());
        StudyPage::new(&plan, handles, arguments.array, at_once)
    })?;
    let progress = runs.show(wanted);
    let ran = runs.run(at_once);
    drop(progress);
    #[cfg(feature = "live")]
    drop(live);
    ran?;
    let done = runs.conclude();
    let result = plan.result(&done.targets, &done.rows)?;
    let summary = Summary { result, at_once: Some(at_once), new: done.new, wall: start.elapsed(), slice };
    let concluded = conclude(&summary, output, arguments.output);
    if let Some(failure) = done.failure {
        // Of a full disk, the journal is said first.
        concluded.unwrap_or_else(|after| warn(&after.problem()));
        return Err(failure);
    }
    concluded?;
    if done.is_stopped {
        return Err(CommandError::Interrupted);
    }
    summary.failures().map_or(Ok(()), |problem| Err(CommandError::Study(problem)))
}

fn merge(
    program: &Program,
    replicas: ReplicasOf<'_, '_>,
    arguments: &MergeArguments,
) -> Result<(), CommandError> {
    let start = Instant::now();
    let plan =
        Plan::read(program, replicas, (&arguments.study, &arguments.overrides), arguments.out.as_deref())?;
    let output = open_output(&plan)?;
    let (mut journal, mut rows) = open_journal(&plan, None)?;
    let mut new = 0;
    for path in parts(&plan.folder).iter().chain(&arguments.journals) {
        if !path.exists() {
            return Err(CommandError::Option(format!("there is no journal {}", path.display())));
        }
        let part = journal::read(path, &plan.header).map_err(of_journal)?;
        say_torn(path, part.torn);
        for row in journal::merge(&mut rows, path, part.rows).map_err(of_journal)? {
            journal.add(&row).map_err(|reason| CommandError::Write(journal.path().to_owned(), reason))?;
            new += 1;
        }
    }
    let lifelines = Arc::new(Lifelines::default());
    let runs = Runs::new(&plan, plan.course(None), rows, BTreeSet::new(), journal, lifelines);
    runs.stopper().stop();
    runs.run(1)?;
    let done = runs.conclude();
    let result = plan.result(&done.targets, &done.rows)?;
    let summary = Summary { result, at_once: None, new, wall: start.elapsed(), slice: None };
    conclude(&summary, Some(output), arguments.output)?;
    match done.failure {
        Some(failure) => Err(failure),
        None => summary.failures().map_or(Ok(()), |problem| Err(CommandError::Study(problem))),
    }
}

fn open_output(plan: &Plan) -> Result<Output, CommandError> {
    // Results of the same study with fewer runs are no results of another one.
    Output::open_silently(&plan.folder, &Identity::default())
}

fn of_journal(error: JournalError) -> CommandError {
    match error {
        JournalError::Unusable { path, reason } => CommandError::Write(path, reason),
        other => CommandError::Input(other.to_string()),
    }
}

fn open_journal(plan: &Plan, slice: Option<Slice>) -> Result<(Journal, Rows), CommandError> {
    let path = plan.journal(slice);
    let (journal, content) = Journal::open(&path, &plan.header).map_err(of_journal)?;
    say_torn(&path, content.torn);
    Ok((journal, content.rows))
}

fn say_torn(path: &Path, line: Option<usize>) {
    if let Some(line) = line {
        let path = path.display();
        warn(&format!(
            "{path}:{line}: the last line is unfinished and does not count: its run is done again"
        ));
    }
}

/// The journals of parts in a folder.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("part-") && path.extension().is_some_and(|end| end == "journal")
    };
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_part).collect();
    parts.sort();
    parts
}

/// The runs that are run again though they are in the journal.
fn to_run_again(plan: &Plan, rows: &Rows, retry: &[String]) -> Result<BTreeSet<String>, CommandError> {
    let mut again = BTreeSet::new();
    let names = if retry.iter().any(|wanted| wanted != "failed") { plan.names() } else { BTreeSet::new() };
    for wanted in retry {
        let is_it = |name: &str, status| match wanted.as_str() {
            "failed" => status == Status::Failed,
            digits => !digits.is_empty() && name.starts_with(digits),
        };
        let found: Vec<_> = rows.values().filter(|row| is_it(&row.run, row.status)).collect();
        let problem = match found.len() {
            0 if wanted != "failed" => "no run in the journal has this name",
            // Its row stays in the journal, for a study that has it again.
            1 if wanted != "failed" && !names.contains(&found[0].run) => {
                "the study no longer has this run: it is of a point, a seed or a scenario that is not in the study now"
            }
            0 | 1 => "",
            _ if wanted != "failed" => "several runs have names that begin so",
            _ => "",
        };
        if !problem.is_empty() {
            let allowed = "`failed`, or the name of one run, from the column `run` of runs.csv";
            return Err(CommandError::Option(format!("--retry {wanted}: {problem}; allowed: {allowed}")));
        }
        again.extend(found.into_iter().map(|row| row.run.clone()));
    }
    Ok(again)
}

/// Prints the summary, and writes table and page where the whole study is known.
fn conclude(
    summary: &Summary<'_>,
    output: Option<Output>,
    options: OutputArguments,
) -> Result<(), CommandError> {
    let text = match (options.json, options.quiet) {
        (true, _) => format!("{:#}\n", summary.everything()),
        (false, true) => summary.line(),
        (false, false) => summary.page(),
    };
    deliver(&text, !options.json && !options.quiet, || {
        Ok(output.map(|output| summary.write(output)).transpose()?.unwrap_or_default())
    })
}

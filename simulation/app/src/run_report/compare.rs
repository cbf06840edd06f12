//! `paceline report`: the reports of several runs on one page, from the data that stands in each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_report::{Chapter, Kind, Series, Table, data_of, document};
use serde_json::Value;

use super::record::{Drawn, FORMAT, Place, Record};
use crate::failure::CommandError;
use crate::output::{REPORT, write_file};
use crate::stdout;
use crate::text::Row;

/// The most bytes of a report that is read.
const MOST_BYTES: u64 = 256 << 20;

/// The arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// The folders of runs with --out, or their report.html
    #[arg(value_name = "DIR", required = true)]
    pub runs: Vec<PathBuf>,

    /// Writes the page into this file
    #[arg(long, value_name = "FILE", default_value = "comparison.html")]
    pub out: PathBuf,
}

/// A run that is compared, under the name that it was given.
type Named = (String, Record);

/// Compares runs on one page.
pub fn report(arguments: &ReportArguments) -> Result<(), CommandError> {
    let mut named: Vec<Named> = Vec::new();
    for path in &arguments.runs {
        let name = path.display().to_string();
        if named.iter().any(|(other, _)| *other == name) {
            return Err(CommandError::Option(format!("{name} is named twice; allowed: each folder once")));
        }
        named.push((name, read(path)?));
    }
    write_file(&arguments.out, page(&named).as_bytes())?;
    stdout::print(&format!("Written: {}\n", arguments.out.display()))
}

/// The data of a report.
fn read(path: &Path) -> Result<Record, CommandError> {
    let file = if path.is_dir() { path.join(REPORT) } else { path.to_owned() };
    let shown = file.display();
    let refuse = |problem: String| {
        let allowed = format!("folders that `run --out` has written, or the {REPORT} in them");
        CommandError::Input(format!("{shown}: {problem}; allowed: {allowed}"))
    };
    let about = file.metadata().map_err(|reason| refuse(format!("cannot be read: {reason}")))?;
    // A FIFO would be waited for, and a device read without end.
    if !about.is_file() {
        return Err(refuse("is no regular file".into()));
    }
    if about.len() > MOST_BYTES {
        return Err(refuse(format!("has {} bytes, which no report has", about.len())));
    }
    let bytes = std::fs::read(&file).map_err(|reason| refuse(format!("cannot be read: {reason}")))?;
    let page = String::from_utf8_lossy(&bytes);
    let data = data_of(&page).ok_or_else(|| refuse("is no report of a run".into()))?;
    let value: Value =
        serde_json::from_str(data).map_err(|error| refuse(format!("its data is damaged: {error}")))?;
    match value["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        format => {
            let format = format.map_or("none".to_owned(), |format| format.to_string());
            return Err(refuse(format!("its data has the format {format}, and this version reads {FORMAT}")));
        }
    }
    serde_json::from_value(value).map_err(|error| refuse(format!("its data is damaged: {error}")))
}

/// The page about these runs.
fn page(runs: &[Named]) -> String {
    let mut chapters = vec![about(runs), results(runs)];
    for (place, name, title) in [
        (Place::Model, "model", "What the models draw"),
        (Place::Run, "run", "How they went"),
        (Place::Federates, "federates", "Federates"),
    ] {
        let figures = together(runs, place);
        if !figures.is_empty() {
            let (name, title) = (name.into(), title.into());
            let about =
                runs.iter().filter_map(|(name, run)| Some(format!("{name}: {}", run.of_first(place)?)));
            chapters.push(Chapter { name, title, figures, about: about.collect(), ..Chapter::default() });
        }
    }
    chapters.push(settings(runs));
    let lead =
        format!("Each of them has a page of its own, {REPORT} in its folder, which says how to repeat it.");
    document(&format!("{} runs compared", runs.len()), &[lead], &chapters)
}

/// The names of all rows, in the order in which they come first.
fn names<'r>(lists: impl Iterator<Item = &'r [Row]>) -> Vec<&'r str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in lists.flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn value<'r>(rows: &'r [Row], name: &str) -> &'r str {
    rows.iter().find(|(other, _)| other == name).map_or("-", |(_, value)| value)
}

/// A row for each name, a column for each run.
fn across(
    title: &str,
    first: &str,
    runs: &[Named],
    rows: impl Fn(&Record) -> &[Row],
    only_differing: bool,
) -> Table {
    let columns = std::iter::once(first).chain(runs.iter().map(|(name, _)| name.as_str()));
    let mut table = Table::new(title, columns);
    for name in names(runs.iter().map(|(_, run)| rows(run))) {
        let values: Vec<&str> = runs.iter().map(|(_, run)| value(rows(run), name)).collect();
        if !only_differing || values.iter().any(|value| *value != values[0]) {
            table.row(std::iter::once(name).chain(values));
        }
    }
    table
}

fn about(runs: &[Named]) -> Chapter {
    let mut facts = Table::new("The runs", ["run", "scenario", "model", "program", "ended"]);
    for (name, Record { scenario, model, program, ended, .. }) in runs {
        facts.row([name, scenario, model, program, ended]);
    }
    let digests: BTreeSet<&str> = runs.iter().map(|(_, run)| run.digest.as_str()).collect();
    let said = match (digests.len(), runs.len()) {
        (_, 1) => "There is one run.".to_owned(),
        (1, _) => "All have the same digest: they have computed the same.".to_owned(),
        (different, all) => format!("{all} runs have {different} different digests."),
    };
    let speeds = across("How they were run", "", runs, |run| &run.run, false);
    Chapter {
        name: "runs".into(),
        title: "The runs".into(),
        about: vec![said],
        tables: vec![facts, speeds],
        ..Chapter::default()
    }
}

fn results(runs: &[Named]) -> Chapter {
    let table = across("Results", "result", runs, |run| &run.results, false);
    let is_same = |row: &Vec<String>| row[1..].iter().all(|value| *value == row[1]);
    let same = table.rows().iter().filter(|row| is_same(row)).count();
    let said = format!("{same} of {} results are equal in all runs.", table.rows().len());
    Chapter {
        name: "results".into(),
        title: "Results".into(),
        about: vec![said],
        tables: vec![table],
        ..Chapter::default()
    }
}

/// The figures of a place, those of one title with the series of all runs.
fn together(runs: &[Named], place: Place) -> Vec<paceline_report::Figure> {
    let of = |run: &'_ Record| -> Vec<Drawn> {
        run.figures.iter().filter(|drawn| drawn.place == place).cloned().collect()
    };
    let all: Vec<(&str, Vec<Drawn>)> = runs.iter().map(|(name, run)| (name.as_str(), of(run))).collect();
    let mut titles: Vec<&str> = Vec::new();
    for drawn in all.iter().flat_map(|(_, drawn)| drawn) {
        if !titles.contains(&drawn.title.as_str()) {
            titles.push(&drawn.title);
        }
    }
    let figure = |title: &str| {
        let same: Vec<(&str, &Drawn)> = all
            .iter()
            .filter_map(|(name, drawn)| Some((*name, drawn.iter().find(|drawn| drawn.title == title)?)))
            .collect();
        let (_, first) = same[0];
        // Bars of several runs would hide each other.
        let kind = if same.len() > 1 { Kind::Lines } else { first.kind() };
        let series = same.iter().flat_map(|(name, drawn)| {
            let is_one = drawn.series.len() == 1;
            let named = move |of: &str| if is_one { (*name).to_owned() } else { format!("{name}: {of}") };
            drawn.series.iter().map(move |(of, points)| Series::ours(named(of), kind, points.clone()))
        });
        let mut figure = first.figure(series.collect());
        if same.len() > 1 {
            figure.caption = String::new();
        }
        figure
    };
    titles.into_iter().map(figure).collect()
}

fn settings(runs: &[Named]) -> Chapter {
    let table = across("Keys that differ", "key", runs, |run| &run.settings, true);
    let (about, tables) = match table.rows() {
        [] => (vec!["All keys of the scenarios are the same.".to_owned()], Vec::new()),
        _ => (Vec::new(), vec![table]),
    };
    Chapter {
        name: "settings".into(),
        title: "Settings".into(),
        about,
        commands: runs.iter().map(|(_, run)| run.command.clone()).collect(),
        tables,
        ..Chapter::default()
    }
}

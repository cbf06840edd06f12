//! `paceline reproduce`: runs published experiments on simulated machines, on real threads, or in Xen beside them, and says what holds.
//!
//! An experiment that does not hold is a result like any other: the exit status is 0 whenever the experiments ran.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table as Grid};
use indicatif::{ProgressBar, ProgressStyle};
use paceline_experiments::{Experiment, Progress, Setup, experiments, reproduce as run, sensitivity};
use paceline_report::{Finding, Table, json, page};

#[cfg(target_os = "linux")]
use crate::args::Ground;
use crate::args::ReproduceArguments;
use crate::failure::Failure;
use crate::text;

/// Reproduces what the arguments name.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    if arguments.on == Ground::Xen {
        return in_xen(arguments);
    }
    let all = experiments();
    if arguments.list {
        let width = all.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
        let line = |experiment: &Experiment| format!("{:width$}  {}\n", experiment.name, experiment.title);
        return text::print(&all.iter().map(line).collect::<String>());
    }
    let chosen = choose(&all, arguments)?;
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).map_err(|reason| Failure::Write(folder.clone(), reason))?;
    }
    let setup = Setup { quick: arguments.quick, ..Setup::default() };
    let shown = !arguments.json && io::stderr().is_terminal();
    let bar = if shown { bar() } else { ProgressBar::hidden() };
    let mut progress = |now: Progress| {
        bar.set_length(now.cells as u64);
        bar.set_position(now.done as u64);
        bar.set_message(now.last);
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    if arguments.sensitivity {
        let table = sensitivity(&chosen, &setup, workers, &mut progress);
        bar.finish_and_clear();
        return text::print(&format!("{}\n", grid(&table)));
    }
    let findings = run(&chosen, &setup, workers, &mut progress);
    bar.finish_and_clear();
    if let Some(folder) = &arguments.out {
        write(folder, "Published experiments", &findings)?;
    }
    print(arguments, &findings, &told(&findings))
}

/// Runs the lab's experiments, and shows beside each number what the simulated machine predicts.
#[cfg(target_os = "linux")]
fn in_xen(arguments: &ReproduceArguments) -> Result<(), Failure> {
    use crate::xen::{self, arguments::RunArguments};
    if arguments.list {
        return xen::list();
    }
    if arguments.sensitivity {
        return Err(Failure::Option("--sensitivity is for simulated machines, not for --on xen".into()));
    }
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).map_err(|reason| Failure::Write(folder.clone(), reason))?;
    }
    let findings = xen::findings(&RunArguments {
        names: arguments.names.clone(),
        all: arguments.all,
        list: false,
        quick: arguments.quick,
        determinism: false,
        jobs: None,
        logs: arguments.out.clone(),
        json: arguments.json,
        sources: arguments.sources.clone(),
    })?;
    if let Some(folder) = &arguments.out {
        write(folder, "Schedulers in Xen beside the simulated machine", &findings)?;
    }
    let mut side_by_side = String::new();
    for table in findings.iter().flat_map(|finding| &finding.tables) {
        side_by_side += &format!("{}\n{}\n\n", table.title(), grid(table));
    }
    print(arguments, &findings, &(side_by_side + &told(&findings)))
}

fn print(arguments: &ReproduceArguments, findings: &[Finding], told: &str) -> Result<(), Failure> {
    match (arguments.json, findings) {
        (true, [only]) if !arguments.all => text::print(&format!("{}\n", only.json())),
        (true, findings) => text::print(&format!("{}\n", json(findings))),
        (false, _) => text::print(told),
    }
}

/// The experiments that the arguments name, in the order of the papers.
fn choose<'a>(all: &'a [Experiment], arguments: &ReproduceArguments) -> Result<Vec<&'a Experiment>, Failure> {
    let names: BTreeSet<&str> = arguments.names.iter().map(String::as_str).collect();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|known| known.name != **name)) {
        return Err(Failure::UnknownExperiment(unknown.to_string(), near(unknown, all)));
    }
    Ok(all.iter().filter(|experiment| arguments.all || names.contains(experiment.name)).collect())
}

/// The names of experiments that are most like `name`.
fn near(name: &str, all: &[Experiment]) -> Vec<&'static str> {
    const MOST: usize = 3;
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let mut names: Vec<_> = all.iter().map(|experiment| experiment.name).collect();
    names.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    names.truncate(MOST);
    names
}

fn write(folder: &Path, title: &str, findings: &[Finding]) -> Result<(), Failure> {
    for (name, text) in
        [("report.html", page(title, &[], findings)), ("report.json", format!("{}\n", json(findings)))]
    {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|reason| Failure::Write(path, reason))?;
    }
    Ok(())
}

/// What findings say, for people.
pub fn told(findings: &[Finding]) -> String {
    let mut told = String::new();
    for finding in findings {
        let wall = text::decimal(Duration::from_secs_f64(finding.wall_seconds).as_secs_f64());
        told +=
            &format!("{}: {} ({wall} s)\n{}\n", finding.name, finding.title, grid(&finding.check_table()));
        for note in &finding.notes {
            told += &format!("  {note}\n");
        }
        told.push('\n');
    }
    let held = findings.iter().filter(|finding| finding.holds()).count();
    let checks: usize = findings.iter().map(|finding| finding.checks.len()).sum();
    let checks_held: usize = findings.iter().map(Finding::held).sum();
    told + &format!("{held} of {} experiments hold, {checks_held} of {checks} checks\n", findings.len())
}

/// A table for a terminal, or for a file where there is none.
fn grid(table: &Table) -> String {
    let mut grid = Grid::new();
    grid.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !io::stdout().is_terminal() {
        grid.set_width(160);
    }
    grid.set_header(table.columns());
    for row in table.rows() {
        grid.add_row(row);
    }
    grid.trim_fmt()
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed} elapsed, {msg}");
    ProgressBar::new(0).with_style(style.expect("the template is sound"))
}

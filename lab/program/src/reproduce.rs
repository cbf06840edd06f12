//! `paceline reproduce`: runs published experiments on simulated machines, on real threads, or in Xen beside
//! them, and says what of them is reproduced.
//!
//! An experiment that differs is a result like any other: the exit status is 0 whenever the experiments ran.

pub mod arguments;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZero;

use indicatif::{ProgressBar, ProgressStyle};
use paceline_app::failure::CommandError;
use paceline_app::stdout;
use paceline_experiments::{
    CalibrateError, Experiment, Given, Progress, Sensitivity, Setup, Tried, calibrate, experiments, overview,
    reproduce as run, sensitivity,
};
use paceline_report::Appendix;
use paceline_scenario::ScenarioError;

use crate::failure::LabFailure;
use crate::findings::{self, Form};
#[cfg(target_os = "linux")]
use arguments::Ground;
use arguments::ReproduceArguments;

/// Reproduces what the arguments name.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<(), CommandError> {
    #[cfg(target_os = "linux")]
    if arguments.on == Ground::Xen {
        return in_xen(arguments);
    }
    let all = experiments();
    if arguments.list {
        let named = all.iter().map(|experiment| (experiment.name, experiment.title));
        return findings::list(named);
    }
    if arguments.parameters {
        return stdout::print(one(&choose(&all, arguments)?, "--parameters")?.parameters);
    }
    if let Some(paper) = &arguments.calibrate {
        return fit(paper, &all, arguments.quick);
    }
    let (chosen, setup) = set_up(&all, arguments)?;
    // A mistake in parameters is reported before anything is written or run.
    chosen.iter().try_for_each(|experiment| experiment.plan(&setup).map(drop))?;
    let names: Vec<_> = chosen.iter().map(|experiment| experiment.name).collect();
    let output = arguments.out.as_deref().map(|folder| findings::open(folder, &names)).transpose()?;
    let bar = bar(!arguments.json && io::stderr().is_terminal());
    let mut progress = |now: Progress| advance(&bar, now);
    let workers = workers();
    let found = run(&chosen, &setup, workers, &mut progress)?;
    let constants = match arguments.sensitivity {
        true => Some(sensitivity(&chosen, &setup, workers, &mut progress)?),
        false => None,
    };
    bar.finish_and_clear();
    let sensitive =
        constants.map(|Sensitivity { table, notes }| Appendix { about: notes, table, first: false });
    let overview = overview(&found);
    let appendices: Vec<_> = overview.iter().chain(&sensitive).cloned().collect();
    // Whoever has nowhere to write them wants to see them all the same.
    let written = output.map_or(Ok(()), |output| {
        let form = findings::form(arguments.quick);
        findings::write(output, "Published experiments", form, &found, &appendices)
    });
    match sensitive {
        Some(Appendix { about, table, .. }) => {
            stdout::print(&format!("{}\n\n{}\n", findings::grid(&table), about.join("\n")))?;
        }
        None => {
            let before = overview.map_or(String::new(), |Appendix { about, table, .. }| {
                format!("{}\n{}\n\n", findings::grid(&table), about.join("\n"))
            });
            findings::print(&found, Form::new(arguments.json, arguments.all), &before)?;
        }
    }
    written
}

/// Runs the lab's experiments, and shows beside each number what the simulated machine predicts.
#[cfg(target_os = "linux")]
fn in_xen(arguments: &ReproduceArguments) -> Result<(), CommandError> {
    use crate::xen::{self, arguments::RunArguments};
    if arguments.list {
        return xen::list();
    }
    let refused = [
        ("--sensitivity", arguments.sensitivity),
        ("--parameters", arguments.parameters),
        ("--calibrate", arguments.calibrate.is_some()),
        ("--from", arguments.from.is_some()),
        ("--set", !arguments.overrides.is_empty()),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(CommandError::Option(format!("{option} is for simulated machines, not for --on xen")));
    }
    let names: Vec<_> = arguments.names.iter().map(String::as_str).collect();
    let output = arguments.out.as_deref().map(|folder| findings::open(folder, &names)).transpose()?;
    let found = xen::findings(&RunArguments {
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
    let written = output.map_or(Ok(()), |output| {
        let form = findings::form(arguments.quick);
        findings::write(output, "Schedulers in Xen beside the simulated machine", form, &found, &[])
    });
    let mut side_by_side = String::new();
    for table in found.iter().flat_map(|finding| &finding.tables) {
        side_by_side += &format!("{}\n{}\n\n", table.title(), findings::grid(table));
    }
    findings::print(&found, Form::new(arguments.json, arguments.all), &side_by_side)?;
    written
}

/// The experiments that the arguments name, and how they are run.
fn set_up<'a>(
    all: &'a [Experiment],
    arguments: &ReproduceArguments,
) -> Result<(Vec<&'a Experiment>, Setup), CommandError> {
    let (quick, overrides) = (arguments.quick, &arguments.overrides);
    if let Some(file) = &arguments.from {
        let text = fs::read_to_string(file).map_err(|reason| ScenarioError::unreadable(file, &reason))?;
        let given = Given::read(&file.display().to_string(), &text, overrides, quick, all)?;
        let chosen = all.iter().filter(|experiment| experiment.name == given.experiment()).collect();
        return Ok((chosen, given.setup()?));
    }
    let chosen = choose(all, arguments)?;
    let setup = match overrides.is_empty() {
        true => Setup { quick, ..Setup::default() },
        false => Given::changed(one(&chosen, "--set")?, overrides, quick).setup()?,
    };
    Ok((chosen, setup))
}

/// The only one of them: `option` is for one.
fn one<'a>(chosen: &[&'a Experiment], option: &str) -> Result<&'a Experiment, CommandError> {
    match chosen {
        [only] => Ok(only),
        _ => Err(CommandError::Option(format!(
            "{option} is for one experiment, and {} are named",
            chosen.len()
        ))),
    }
}

/// The experiments that the arguments name, in the order of the papers.
fn choose<'a>(
    all: &'a [Experiment],
    arguments: &ReproduceArguments,
) -> Result<Vec<&'a Experiment>, CommandError> {
    let names: BTreeSet<&str> = arguments.names.iter().map(String::as_str).collect();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|known| known.name != **name)) {
        return Err(LabFailure::UnknownExperiment(unknown.to_string(), near(unknown, all)).into());
    }
    Ok(all.iter().filter(|experiment| arguments.all || names.contains(experiment.name)).collect())
}

fn near(name: &str, all: &[Experiment]) -> Vec<&'static str> {
    const MOST: usize = 3;
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let mut names: Vec<_> = all.iter().map(|experiment| experiment.name).collect();
    names.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    names.truncate(MOST);
    names
}

/// Fits what the source leaves open, and prints its file.
fn fit(paper: &str, all: &[Experiment], quick: bool) -> Result<(), CommandError> {
    let bar = bar(io::stderr().is_terminal());
    let setup = Setup { quick, ..Setup::default() };
    let mut tried = |tried: &Tried| {
        let Tried { number, changed, error, experiments: (run, all) } = tried;
        let error = error.map_or(format!("no nearer, after {run} of {all} experiments"), |error| {
            format!("mean error {error:.3} tolerances, the least so far")
        });
        bar.suspend(|| eprintln!("vector {number}, {changed}: {error}"));
    };
    let file = calibrate(paper, all, &setup, workers(), &mut |now| advance(&bar, now), &mut tried);
    bar.finish_and_clear();
    match file {
        Ok(text) => stdout::print(&text),
        Err(CalibrateError::Parameters(error)) => Err(error.into()),
        Err(error) => Err(CommandError::Option(error.to_string())),
    }
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn advance(bar: &ProgressBar, now: Progress) {
    bar.set_length(now.cells as u64);
    bar.set_position(now.done as u64);
    bar.set_message(now.last);
}

fn bar(shown: bool) -> ProgressBar {
    if !shown {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {elapsed} elapsed, {msg}");
    ProgressBar::new(0).with_style(style.expect("the template is sound"))
}

//! `paceline xen`: the lab for schedulers in a real hypervisor. Builds it, boots it, runs experiments on it.
//!
//! Progress goes to stderr, results to stdout. Exit status: 0 when it was done, whatever the
//! verdicts; 2 for a bad option; 77 where this machine cannot have what the lab needs, with the reason; 1 for
//! any other failure. Ctrl-C stops what was started, and leaves nothing running.

pub mod arguments;

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;

use paceline_app::failure::CommandError;
use paceline_app::{signals, stdout};
use paceline_experiments::Setup;
use paceline_report::Finding;
use paceline_xen_lab::experiments::experiments;
use paceline_xen_lab::{Boot, Course, Domain, Lab, Progress, Step, Stop, course};

use crate::failure::LabFailure;
use crate::findings::{self, Form};
use arguments::{BootArguments, BuildArguments, RunArguments, XenCommand};

/// How long a guest's command may take, in seconds of the machine's time.
const COMMAND_LIMIT_S: u32 = 3600;

/// Carries out the command.
pub fn xen(command: &XenCommand) -> Result<(), CommandError> {
    match command {
        XenCommand::Build(arguments) => build(arguments),
        XenCommand::Boot(arguments) => boot(arguments),
        XenCommand::Run(arguments) => run(arguments),
    }
}

/// A lab that Ctrl-C stops.
fn open(sources: &Path, quiet: bool) -> Result<Lab, CommandError> {
    let stop = Stop::default();
    let asked = stop.clone();
    signals::on_each(move |_| asked.ask()).map_err(CommandError::Signals)?;
    Ok(Lab::open(sources, &stop, &|line| say(line, quiet)).map_err(LabFailure::Xen)?)
}

fn say(line: &str, quiet: bool) {
    if !quiet {
        eprintln!("{line}");
    }
}

fn build(arguments: &BuildArguments) -> Result<(), CommandError> {
    let lab = open(&arguments.sources, false)?;
    let built = lab.build(arguments.debug, &|line| say(line, false)).map_err(LabFailure::Xen)?;
    stdout::print(&format!("{}\n", built.display()))
}

/// Boots, has each guest carry out the command, and prints all that is said.
fn boot(arguments: &BootArguments) -> Result<(), CommandError> {
    let BootArguments { build: BuildArguments { sources, debug }, scheduler, options, guests, command, log } =
        arguments;
    let names: Vec<String> = (1..=*guests).map(|number| format!("guest-{number}")).collect();
    let mut boot = Boot::new("boot", scheduler);
    boot.debug = *debug;
    boot.options.clone_from(options);
    boot.domains = names.iter().map(Domain::new).collect();
    boot.steps = vec![Step::Create(names.clone()), Step::Mark("command".into())];
    if let Some(command) = command {
        let commands: Vec<_> = names.iter().map(|name| (name.as_str(), command.clone())).collect();
        boot.steps.extend(Step::together(&commands, COMMAND_LIMIT_S));
    }
    boot.steps.push(Step::Dump);
    let mut lab = open(sources, false)?;
    lab.prepare(&[&boot], &|line| say(line, false)).map_err(LabFailure::Xen)?;
    let log = log.clone().unwrap_or_else(|| lab.logs().join("boot.log"));
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).map_err(|reason| CommandError::Write(folder.into(), reason))?;
    }
    let mut printed = Ok(());
    let booted = lab
        .boot(&boot, &log, &mut |_, line| {
            if printed.is_ok() {
                printed = stdout::print(&format!("{line}\n"));
            }
        })
        .map_err(LabFailure::Xen)?;
    printed?;
    match booted.transcript.failure {
        Some(reason) => {
            Err(CommandError::Results(format!("the boot has failed, {reason}; see {}", log.display())))
        }
        None => Ok(()),
    }
}

fn run(arguments: &RunArguments) -> Result<(), CommandError> {
    if arguments.list {
        return list();
    }
    findings::print(&findings(arguments)?, Form::new(arguments.json, arguments.all), "")
}

/// Lists the experiments.
pub fn list() -> Result<(), CommandError> {
    let all = experiments();
    findings::list(all.iter().map(|experiment| (experiment.name, experiment.title)))
}

/// Runs the experiments that the arguments name.
pub fn findings(arguments: &RunArguments) -> Result<Vec<Finding>, CommandError> {
    let all = experiments();
    let names: BTreeSet<&str> = arguments.names.iter().map(String::as_str).collect();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|known| known.name != **name)) {
        let known: Vec<_> = all.iter().map(|experiment| experiment.name).collect();
        return Err(CommandError::Option(format!(
            "there is no experiment {unknown:?}; there are {}",
            known.join(", ")
        )));
    }
    let chosen: Vec<_> = all.iter().filter(|known| arguments.all || names.contains(known.name)).collect();
    let mut lab = open(&arguments.sources, arguments.json)?;
    let logs = arguments.logs.clone().unwrap_or_else(|| lab.logs());
    let workers =
        arguments.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let setup = Setup { quick: arguments.quick, ..Setup::default() };
    let how = Course { setup: &setup, workers, twice: arguments.determinism, logs: &logs };
    Ok(course(&mut lab, &chosen, how, &|progress| print_progress(progress, arguments.json))
        .map_err(LabFailure::Xen)?)
}

/// Reports progress: what is built, which part of which boot has begun, and what guests report.
fn print_progress(progress: Progress<'_>, quiet: bool) {
    match progress {
        Progress::Message(line) => say(line, quiet),
        Progress::Line { boot, line, .. } => {
            if let Some((_, part)) = line.split_once("lab: mark=").filter(|(_, part)| !part.is_empty()) {
                say(&format!("{boot}: {part}"), quiet);
            }
        }
        Progress::Booted { boot, wall } => say(&format!("{boot}: over after {} s", wall.as_secs()), quiet),
    }
}

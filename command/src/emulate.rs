//! `paceline emulate`: real machines under simulated time, from a scenario to what came of it.
//!
//! It is `paceline run` of a packet network some of whose hosts are guests: progress, signals, summary and
//! files are those of a run. A guest that fails ends the run as a signal does, so that the files hold what
//! was until then.

mod progress;
mod trace;

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

#[cfg(feature = "live")]
use paceline_app::OutsideFederate;
use paceline_app::args::{ResultArguments, ResumeArguments};
use paceline_app::failure::CommandError;
use paceline_app::loaded::{Loaded, Source};
use paceline_app::memory::Estimate;
use paceline_app::progress::{Progress, warn};
use paceline_app::summary::{Finished, Subject};
use paceline_app::{
    AnyModel, Build, How, Kind, RunSettings, ScheduledChange, commands, execute_joined, resume, stdout, text,
};
use paceline_emulate::guest::Emulator;
use paceline_emulate::run::placed::Failures;
#[cfg(feature = "live")]
use paceline_emulate::run::placed::Seen;
use paceline_emulate::run::{GrantPolicy, MachineObserver, SavedMachines, Terms};
use paceline_emulate::scenario::{Emulation, LeftBehind, Ready, StartError, Watched};
use paceline_engine::determinism::{Comparison, DeterminismError, Same};
use paceline_engine::{CheckpointFile, Protocol, Simulation, default_federates};
use paceline_kernel::{Balance, Time};
use paceline_results::{ResultFile, Summary};
use paceline_scenario::inputs::{Input, recorded};
use paceline_scenario::{Scenario, ScenarioError, Section};
use serde_json::Value;

use crate::args::EmulateArguments;
use crate::failure::Special;
use crate::models::PROGRAM;

/// What it is called in results, where runs name the kind of their model.
const KIND: Kind = Kind {
    name: "emulation",
    about: "guests are hosts of a packet network",
    build: Build::Lps(|section, _| {
        Err(section.refuse("kind", "guests without [[guest]]", "tables [[guest]]"))
    }),
};

pub fn is_emulation(scenario: &Scenario) -> bool {
    scenario.has("guest") || scenario.has("network") && !scenario.has("model")
}

/// Whether a file is the checkpoint of a run with guests.
pub fn is_checkpoint(file: &Path) -> bool {
    resume::kind(file).is_some_and(|kind| kind == KIND.name)
}

pub fn run(arguments: &EmulateArguments) -> Result<(), CommandError> {
    let source = Source::read(&arguments.scenario)?;
    let (read, inputs) = recorded(&source.folder, || read(&source));
    let (emulation, settings, order) = read?;
    let ready = emulation.pack(emulator()?)?;
    let emulated = Emulated::new(emulation, ready, order, None);
    carry_out(&source, settings, inputs, (emulated, None), &arguments.results)
}

/// Resumes a run from its checkpoint, with its guests from their states in it.
pub fn resume(arguments: &ResumeArguments) -> Result<(), CommandError> {
    arguments.together.refuse_for("guests run in one process; allowed: neither of them")?;
    let opened = resume::open(&PROGRAM, &[KIND.name], &["network", "guest"], arguments)?;
    let refuse = |error| opened.refuse(&PROGRAM, arguments, error);
    let (read, inputs) = recorded(&opened.source.folder, || read(&opened.source));
    let (emulation, settings, order) = read.map_err(refuse)?;
    let ready = emulation.pack(emulator()?).map_err(refuse)?;
    let saved = emulation.saved(&ready, &opened.file);
    let saved = saved.map_err(|error| CommandError::Resume(error.to_string()))?;
    let emulated = Emulated::new(emulation, ready, order, Some(saved));
    carry_out(&opened.source, settings, inputs, (emulated, Some(opened.file)), &arguments.results)
}

fn emulator() -> Result<Emulator, CommandError> {
    Emulator::find().map_err(|error| Special::NoGuest(error.to_string()).into())
}

fn carry_out(
    source: &Source,
    settings: RunSettings,
    inputs: Vec<Input>,
    (emulated, resumed): (Emulated, Option<CheckpointFile>),
    results: &ResultArguments,
) -> Result<(), CommandError> {
    let provenance = PROGRAM.provenance(&source.open()?, settings.until).inputs(inputs.clone());
    let failed = emulated.failed.clone();
    let model = Box::new(emulated);
    let memory = model.memory(&settings);
    let scenario = source.name();
    let loaded = Loaded { scenario, kind: KIND, model, settings, memory, inputs, provenance };
    let ran = commands::run_loaded(&PROGRAM, source, loaded, resumed, results);
    match (failed.get().and_then(Failures::first), ran) {
        // The summary says that the run was interrupted; why, nobody has said yet.
        (Some(failure), Ok(()) | Err(CommandError::Interrupted)) => Err(Special::Guest(failure).into()),
        (_, ran) => ran,
    }
}

/// Says what would run.
pub fn check(source: &Source) -> Result<(), CommandError> {
    let (emulation, settings, order) = read(source)?;
    // A scenario is no worse for what this machine lacks.
    let image = match Emulator::find() {
        Err(error) => error.to_string(),
        Ok(emulator) => match emulation.pack(emulator) {
            Ok(_) => "can be packed".to_owned(),
            Err(error) => format!("cannot be packed here: {}", error.one_line()),
        },
    };
    let network = emulation.model.network();
    let facts = [
        ("guests", text::count(emulation.guests.guests.len() as u64)),
        ("hosts", text::count(network.hosts().len() as u64)),
        ("nodes", text::count(network.nodes().into())),
        ("lookahead", text::time(AnyModel::lookahead(&emulation.model))),
        ("until", settings.until.map_or(String::new(), text::time)),
        ("protocol", settings.protocol.name().to_owned()),
        ("grant order", name_of(order).to_owned()),
        ("seed", settings.seed.to_string()),
        ("image", image),
    ];
    let rows = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let title = format!("{} is sound", source.file.display());
    stdout::print(&text::groups(&[(&title, rows)]))
}

/// The name of an order of grants in scenarios.
fn name_of(order: GrantPolicy) -> &'static str {
    let named = GrantPolicy::ALL.into_iter().find(|(policy, _)| *policy == order);
    named.expect("all orders have names").1
}

fn read(source: &Source) -> Result<(Emulation, RunSettings, GrantPolicy), ScenarioError> {
    let mut scenario = source.open()?;
    if !is_emulation(&scenario) && scenario.has("model") {
        let problem = "a scenario without guests, which `paceline run` runs";
        return Err(scenario.section("model")?.refuse(
            "",
            problem,
            "the sections [network], [[guest]], [run]",
        ));
    }
    scenario.check_sections(&["network", "guest", "run"])?;
    let mut run = scenario.section("run")?;
    let settings = RunSettings::read(&mut run)?;
    let orders = GrantPolicy::ALL.map(|(order, name)| (name, order));
    let order = run.choice("grant_order", &orders, Some(GrantPolicy::default()))?;
    let mut emulation = Emulation::read(&mut scenario, settings.seed)?;
    check_settings(&settings, &run)?;
    check_checkpoints(&settings, &emulation, &run)?;
    AnyModel::check(&emulation.model, &settings, &run)?;
    AnyModel::schedule(&mut emulation.model, &settings.changes)?;
    run.finish()?;
    Ok((emulation, settings, order))
}

/// What cannot be done with guests, which never have nothing left to do and take nothing back.
fn check_settings(settings: &RunSettings, run: &Section) -> Result<(), ScenarioError> {
    if settings.until.is_none() {
        let problem = "missing key `until` in [run]: the clocks of guests never stop";
        return Err(run.refuse(
            "until",
            problem,
            "the simulated time at which the run ends, such as \"10s\"",
        ));
    }
    let is_refused = |protocol: &Protocol| {
        matches!(protocol, Protocol::Sequential | Protocol::Optimistic | Protocol::Mixed)
    };
    if is_refused(&settings.protocol) {
        let problem = format!("protocol {:?} with guests", settings.protocol.name());
        let allowed = Protocol::ALL.iter().filter(|(protocol, ..)| !is_refused(protocol));
        let allowed: Vec<_> = allowed.map(|(_, name, _)| format!("{name:?}")).collect();
        return Err(run.refuse("protocol", problem, allowed.join(", ")));
    }
    if settings.balance != Balance::Off {
        return Err(run.refuse("balance", "hosts that move, with guests at some", "\"off\""));
    }
    Ok(())
}

/// VCPUs take turns, and whose turn it is, is not part of an emulator's state: such a guest would go on
/// otherwise than the one that was not saved.
fn check_checkpoints(
    settings: &RunSettings,
    emulation: &Emulation,
    run: &Section,
) -> Result<(), ScenarioError> {
    let several = emulation.guests.guests.iter().find(|guest| guest.vcpus > 1);
    match several.filter(|_| settings.checkpoint.is_some()) {
        None => Ok(()),
        Some(guest) => {
            let problem = format!("checkpoints with guest {}, which has {} VCPUs", guest.name, guest.vcpus);
            Err(run.refuse("checkpoint", problem, "guests with `vcpus = 1`, or no `checkpoint`"))
        }
    }
}

/// A packet network with guests, as a model that the program runs.
#[derive(Debug)]
struct Emulated {
    emulation: Emulation,
    ready: Ready,
    /// Which guest is granted time first.
    order: GrantPolicy,
    /// The guests in the checkpoint that the run goes on from.
    saved: Option<SavedMachines>,
    /// The guests that failed, once they run.
    failed: Arc<OnceLock<Failures>>,
}

impl Emulated {
    fn new(emulation: Emulation, ready: Ready, order: GrantPolicy, saved: Option<SavedMachines>) -> Self {
        Self { emulation, ready, order, saved, failed: Arc::default() }
    }
}

impl AnyModel for Emulated {
    fn lps(&self) -> u32 {
        AnyModel::lps(&self.emulation.model)
    }

    fn lookahead(&self) -> Time {
        AnyModel::lookahead(&self.emulation.model)
    }

    fn memory(&self, settings: &RunSettings) -> Estimate {
        self.emulation.model.memory(settings)
    }

    fn federates(&self, federates: u32) -> u32 {
        self.emulation.federates(federates)
    }

    fn check(&self, settings: &RunSettings, run: &Section) -> Result<(), ScenarioError> {
        AnyModel::check(&self.emulation.model, settings, run)
    }

    fn schedule(&mut self, changes: &[ScheduledChange]) -> Result<(), ScenarioError> {
        AnyModel::schedule(&mut self.emulation.model, changes)
    }

    fn execute(
        mut self: Box<Self>,
        subject: Subject,
        mut how: How<'_>,
        progress: Progress,
    ) -> Result<(Finished, Vec<ResultFile>), CommandError> {
        let monitor = how.monitor.clone();
        // Two displays would draw over each other.
        let is_shown = progress.is_shown();
        drop(progress);
        let stopped = monitor.clone();
        let failures = Failures::new(move || stopped.stop());
        let saved = self.saved.take();
        let failures = self.failed.get_or_init(|| failures);
        let seed = how.settings.seed;
        let is_resumed = saved.is_some();
        let startup = progress::Startup::default();
        let shown = startup.show(is_shown, &monitor, self.emulation.guests.guests.len());
        let goes_on = |starting| {
            startup.note(starting);
            !monitor.stopped()
        };
        let started = match saved {
            None => self.emulation.start(&self.ready, seed, failures, &goes_on),
            Some(saved) => self.emulation.start_saved(&self.ready, seed, failures, saved),
        };
        drop(shown);
        let started = started.map_err(|error| match error {
            StartError::Stopped => {
                warn("stopped before the guests had started: there are no results");
                CommandError::Interrupted
            }
            other => Special::NoGuest(other.to_string()).into(),
        })?;
        let watched = started.watched.clone();
        let progress = progress::show(is_shown, &monitor, (is_resumed, how.settings.until), &watched);
        let simulated = how.settings.federates;
        let simulated = simulated.unwrap_or_else(|| default_federates(self.lps(), how.settings.threads));
        how.settings.federates = Some(self.emulation.federates(simulated));
        let (model, settings) = (self.emulation.model.clone(), &how.settings);
        let observer =
            how.trace.map(|trace| Arc::new(trace::GuestTracks::new(trace)) as Arc<dyn MachineObserver>);
        let terms = Terms { at_once: cores(settings), ties: settings.ties(), policy: self.order, observer };
        let outside = started.federates(&self.emulation, settings.federates.unwrap_or(1), terms);
        let outside = outside.map_err(|error| Special::NoGuest(error.to_string()))?;
        #[cfg(feature = "live")]
        how.show_outside(
            outside
                .iter()
                .zip(&watched.guests)
                .map(|((number, _), guest)| guest_federate(*number, guest))
                .collect(),
        );
        let join = |simulation| {
            outside.into_iter().fold(simulation, |simulation: Simulation<_>, (federate, guest)| {
                simulation.outside(federate, guest)
            })
        };
        let (finished, mut files) = execute_joined(model, subject, how, progress, join)?;
        files.extend(left_behind(&watched));
        Ok((finished.with(round_trips(&watched)), files))
    }

    fn take_part(self: Box<Self>, _: How<'_>) -> Result<(), CommandError> {
        Err(CommandError::Option("guests run in one process".into()))
    }

    fn compare(&self, _: &dyn AnyModel, _: &Comparison) -> Option<Result<Same, Box<DeterminismError>>> {
        None
    }
}

/// A guest as a federate of the live page.
#[cfg(feature = "live")]
fn guest_federate(federate: u32, (name, seen): &(String, Arc<Seen>)) -> OutsideFederate {
    let (name, seen) = (name.clone(), Arc::clone(seen));
    let reached = move || {
        let reached = Time::nanos(seen.reached_ns.load(Ordering::Relaxed));
        (reached, seen.is_running.load(Ordering::Relaxed))
    };
    OutsideFederate { federate, name, reached: Box::new(reached) }
}

/// How many guests run at once: as many as the run has threads.
fn cores(settings: &RunSettings) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    settings.threads.map_or_else(cores, |threads| threads as usize)
}

/// The round trips of pings, where there were any.
fn round_trips(watched: &Watched) -> Vec<(Cow<'static, str>, Value)> {
    let all = watched.round_trips();
    if all.is_empty() {
        return Vec::new();
    }
    let answered: Vec<f64> = all.iter().flatten().map(|ns| *ns as f64 / 1e9).collect();
    vec![
        ("pings".into(), all.len().into()),
        ("pings_unanswered".into(), (all.len() - answered.len()).into()),
        ("rtt_s".into(), answered.into()),
    ]
}

/// The consoles of guests, and what they sent back. Says of which guests something was lost.
fn left_behind(watched: &Watched) -> Vec<ResultFile> {
    for (guest, seen) in &watched.guests {
        let count = seen.too_long.load(Ordering::Relaxed);
        if count > 0 {
            let frames = text::count(count);
            warn(&format!(
                "guest {guest}: {frames} frames for it are longer than its card takes (`mtu`), and lost"
            ));
        }
        let count = seen.dropped.load(Ordering::Relaxed);
        if count > 0 {
            let frames = text::count(count);
            warn(&format!(
                "guest {guest}: {frames} frames for it are lost: its driver took none, and 10,000 waited already"
            ));
        }
    }
    let LeftBehind { files, damaged } = watched.files();
    for (guest, error) in damaged {
        warn(&format!("what guest {guest} sends back is not whole: {error}"));
    }
    let mut summary = Summary::default();
    for (name, bytes) in files {
        summary.file(name, move |to| to.write_all(&bytes));
    }
    summary.files
}

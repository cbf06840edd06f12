//! `check` and `run` of models of processes: reads `[model]`, `[run]` and `[network]`, runs the model, and
//! gives its results to the summary.
//!
//! Invariant: what is printed as results, and the digest, depend on nothing of how it is run.

mod determinism;
mod loaded;
mod replicas;
mod summary;

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_processes::{Control, RunError};
use paceline_results::ResultFile;

use crate::args::ResultArguments;
use crate::failure::CommandError;
use crate::finish::{Written, finish};
use crate::loaded::Source;
use crate::log::EventLog;
use crate::output::Output;
use crate::process_model::settings::round_name;
use crate::process_model::trace::Trace;
use crate::process_model::{ProcessFailure, Ran, Watch};
use crate::program::Program;
use crate::progress::{Progress, warn};
use crate::run_report::{Origin, Recorder};
#[cfg(feature = "live")]
use crate::sampling::Ring;
use crate::sampling::{Facts, Sampling};
use crate::steer::Watched;
use crate::summary::{Finished, Subject};
use crate::{ctl, signals, stdout, text};

pub use determinism::check_determinism;
use loaded::Loaded;
use summary::ProcessRun;

pub use replicas::OfProcesses;

/// Reads a scenario of processes, and says what would run.
pub fn check(program: &Program, source: &Source) -> Result<(), CommandError> {
    let Loaded { kind, model, settings, .. } = loaded::read(program, source)?;
    let facts = [
        ("model", kind.name.to_owned()),
        ("processes", text::count(model.processes(&settings).into())),
        ("hosts", text::count(settings.network.hosts().into())),
        ("network", settings.network.name.to_owned()),
        ("until", settings.until.map_or("the end of all processes".to_owned(), |until| until.to_string())),
        ("federates", settings.federates.map_or("none".to_owned(), |federates| federates.to_string())),
        ("threads", settings.threads.to_string()),
        ("rounds", round_name(settings.round)),
        ("seed", settings.seed.to_string()),
        ("warm-up", text::time(settings.warm_up)),
    ];
    let rows = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
    stdout::print(&text::groups(&[(&format!("{} is sound", source.file.display()), rows)]))
}

/// Runs a scenario of processes.
pub fn run(program: &Program, source: &Source, results: &ResultArguments) -> Result<(), CommandError> {
    let loaded = loaded::read(program, source)?;
    let settings = &loaded.settings;
    results.log.suit(true)?;
    results.refuse_owned("a model of processes", "a model of LPs; others can be stepped by `ctl`")?;
    let is_observed = results.trace.is_some() || results.log.log.is_some();
    if let (Some(federates), Some(why)) = (settings.federates, loaded.model.acts_at_once()) {
        warn(&format!(
            "run.federates = {federates}: the run has one federate, since {} {why}",
            loaded.kind.name
        ));
    } else if is_observed && settings.federates.is_some() {
        return Err(ProcessFailure::of(RunError::Observed, settings).into());
    }
    let identity = loaded.provenance.identity(settings.seed);
    let open = |folder| Output::open(folder, &identity).map(|output| output.with(results.tables.format()));
    let output = results.out.as_deref().map(open).transpose()?;
    let trace = results.trace.as_deref().map(|path| Trace::open(path, &source.name())).transpose()?;
    let log = EventLog::open(&results.log)?.map(Arc::new);
    let control = Control::default();
    if results.is_paused() {
        control.hold();
    }
    let watched = Watched::Processes { control: control.clone(), threads: settings.threads };
    let reached = ctl::Control::of_run(&source.name(), &watched);
    #[cfg(feature = "live")]
    // Federates are not observed: their rounds are at different times.
    let ring = (results.live.live.is_some() && settings.federates.is_none()).then(Ring::default);
    let mut sampling = Sampling::default();
    let facts = Facts {
        scenario: source.name(),
        model: loaded.kind.name,
        until: settings.until,
        protocol: None,
        lookahead: Time::ZERO,
        processes: 1,
        // Its counts begin anew with each look: it has one reader.
        ring: None,
    };
    #[cfg(feature = "live")]
    let live = {
        let facts = Facts { ring: ring.clone(), ..facts.clone() };
        results.live.serve(&watched, &facts, &mut sampling)?
    };
    let recorder = output.as_ref().and_then(|_| Recorder::start(&facts, &watched, &mut sampling));
    let stop = control.clone();
    signals::on_first(move || stop.stop()).map_err(CommandError::Signals)?;
    let progress = show_progress(results, &control, settings.until);
    let watch = Watch {
        control,
        trace,
        probe: None,
        log,
        #[cfg(feature = "live")]
        ring,
    };
    let ran = loaded.model.run(settings, &watch);
    #[cfg(feature = "live")]
    drop(live);
    let recorded = recorder.and_then(Recorder::finish);
    drop((progress, reached));
    let end = ran.as_ref().ok().map(|ran| ran.report.end_time);
    let traced = watch.trace.as_ref().map_or(Ok(()), |trace| trace.finish(end));
    if ran.is_err() {
        warn_of_unfinished(&watch, &traced);
    }
    let (finished, files) = finished(source, loaded, ran?);
    let sampled = recorded.map(|recorded| (recorded, Origin::of(source)));
    finish(&finished, Written { output, files, log: watch.log, sampled }, traced, results)
}

/// Finishes the log of a failed run, and warns where log or trace are not whole: they are the most useful
/// ones.
fn warn_of_unfinished(watch: &Watch, traced: &Result<(), CommandError>) {
    let logged = watch.log.as_ref().map_or(Ok(()), |log| log.finish());
    [&logged, traced].into_iter().filter_map(|done| done.as_ref().err()).for_each(|failure| {
        warn(&failure.problem());
    });
}

/// What is said of a run, and the files of its model.
fn finished(source: &Source, loaded: Loaded, ran: Ran) -> (Finished, Vec<ResultFile>) {
    let Loaded { kind, settings, provenance, .. } = loaded;
    let Ran { report, results } = ran;
    let subject = Subject { model: kind.name, scenario: source.name(), provenance };
    let run = Box::new(ProcessRun { settings, report });
    (Finished::new(subject, run, results.lines).with_charts(results.charts), results.files)
}

/// Shows how far a run is, as these arguments want it.
fn show_progress(results: &ResultArguments, control: &Control, until: Option<Time>) -> Progress {
    let shown = control.clone();
    if results.progress_lines {
        return Progress::lines(until, move || (shown.time(), shown.steps()));
    }
    let look = move || (shown.time().as_nanos(), format!("{} steps", text::count(shown.steps())));
    Progress::show(until.map(Time::as_nanos), results.shows_progress(), look, || ())
}

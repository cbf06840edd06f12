//! `paceline run`: a scenario from the first key to the last file.
//!
//! What a run is given besides its settings is gathered in `How`, which `lp_model.rs` carries out.
//! Several processes are joined in `together.rs`; models of processes have `processes.rs`.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::Arc;

use paceline_engine::{CheckpointFile, Monitor, Protocol, RunError};
use paceline_kernel::Time;
use paceline_results::ResultFile;

#[cfg(target_os = "linux")]
use crate::args::together::TogetherArguments;
use crate::args::{ResultArguments, RunArguments};
use crate::checkpoints::{self, Header};
use crate::ctl::Control;
use crate::failure::CommandError;
use crate::finish::{Written, finish};
use crate::hanging;
use crate::loaded::{Loaded, Source};
use crate::log::{EventLog, ONE_PROCESS};
use crate::lp_model::How;
use crate::output::Output;
use crate::program::Program;
use crate::progress::{self, Progress};
use crate::run_report::{Origin, Recorder};
use crate::sampling::{Facts, Sampling};
use crate::signals;
use crate::steer::{Owner, Steering, Watched};
use crate::summary::{Finished, Subject};
#[cfg(target_os = "linux")]
use crate::together::{self, Together};
use crate::trace::Trace;

/// Runs a scenario.
pub fn run(program: &Program, source: &Source, arguments: &RunArguments) -> Result<(), CommandError> {
    let loaded = source.load(program)?;
    #[cfg(target_os = "linux")]
    return in_processes(program, source, loaded, None, &arguments.results, &arguments.together);
    #[cfg(not(target_os = "linux"))]
    carry_out(program, source, loaded, None, &arguments.results, None, watched()?)
}

/// Runs what was loaded out of `source`, from the start or from a checkpoint, in as many processes as the
/// arguments say. A run that loses a process starts again from its last checkpoint, as often as they say.
#[cfg(target_os = "linux")]
pub fn in_processes(
    program: &Program,
    source: &Source,
    loaded: Loaded,
    resumed: Option<CheckpointFile>,
    results: &ResultArguments,
    arguments: &TogetherArguments,
) -> Result<(), CommandError> {
    if results.log.log.is_some() {
        arguments.refuse_with_log()?;
    }
    let (mut loaded, mut resumed, mut left) = (loaded, resumed, arguments.restarts);
    // A program can watch for signals only once; those that come before the first run begins end it at once.
    let mut monitor = None;
    loop {
        let joined = match together::begin(arguments, source, resumed.as_ref()) {
            // The checkpoint is still there, and the processes are new ones each time.
            Err(CommandError::LostAtStart(problem, Some(path)))
                if left > 0 && !is_stopped(monitor.as_ref()) =>
            {
                left -= 1;
                print_restart(&problem, &path, left);
                continue;
            }
            joined => joined?,
        };
        let monitor = match &monitor {
            Some(monitor) => Monitor::clone(monitor),
            None => monitor.insert(watched()?).clone(),
        };
        let joined = match joined {
            Some(joined) if !joined.leads() => return take_part(loaded, resumed, joined, monitor),
            joined => joined,
        };
        let ran = carry_out(program, source, loaded, resumed, results, joined, monitor.clone());
        match ran {
            Err(CommandError::Run(error, Some(path)))
                if left > 0 && is_lost(&error) && !monitor.stopped() =>
            {
                left -= 1;
                print_restart(&error, &path, left);
                let file =
                    CheckpointFile::open(&path).map_err(|error| CommandError::Resume(error.to_string()))?;
                (loaded, resumed) = (source.load(program)?, Some(file));
            }
            ran => return ran,
        }
    }
}

#[cfg(target_os = "linux")]
fn print_restart(problem: &dyn std::fmt::Display, from: &Path, left: u32) {
    eprintln!("{problem}\nResuming from {}; restarts left: {left}", from.display());
}

#[cfg(target_os = "linux")]
fn is_stopped(monitor: Option<&Monitor>) -> bool {
    monitor.is_some_and(Monitor::stopped)
}

/// Takes part in a run of which another process shows the progress and the results.
#[cfg(target_os = "linux")]
pub fn take_part(
    loaded: Loaded,
    resumed: Option<CheckpointFile>,
    joined: Together,
    monitor: Monitor,
) -> Result<(), CommandError> {
    let Loaded { model, settings, inputs, .. } = loaded;
    let transport = Some(joined.link());
    let how = How {
        settings,
        checkpoints: None,
        resumed,
        monitor,
        steering: None,
        sampling: Sampling::default(),
        transport,
        trace: None,
        log: None,
        inputs,
    };
    let ran = model.take_part(how);
    joined.dismiss(false);
    match ran {
        // Rank 0 says it, unless it is rank 0 that is lost.
        Err(CommandError::Run(error, _)) if matches!(&*error, RunError::Peers(error) if error.rank != 0 || !error.is_lost()) => {
            Err(CommandError::Silent)
        }
        Err(CommandError::Run(error, _)) if is_reported_by_rank_0(&error) => Err(CommandError::Silent),
        ran => ran,
    }
}

/// Whether this has ended a run because a process of it cannot be reached any more.
#[cfg(target_os = "linux")]
fn has_lost(failure: &CommandError) -> bool {
    matches!(failure, CommandError::Run(error, _) if is_lost(error))
}

/// Whether rank 0 knows of this failure of the model, and reports it. A process that cannot begin reports
/// that itself.
#[cfg(target_os = "linux")]
fn is_reported_by_rank_0(error: &RunError) -> bool {
    let at_the_end = |asked: &str| {
        ["`finish`", "`left_over`", "`Hash`", "`Drop`"].iter().any(|call| asked.starts_with(call))
    };
    match error {
        RunError::Rule(_) | RunError::Event(_) => true,
        RunError::Panic(panic) => panic.asked.as_deref().is_some_and(at_the_end),
        _ => false,
    }
}

/// Whether a run has ended because a process of it cannot be reached any more.
#[cfg(target_os = "linux")]
fn is_lost(error: &RunError) -> bool {
    matches!(error, RunError::Peers(error) if error.is_lost())
}

/// The other processes of a run.
#[cfg(not(target_os = "linux"))]
pub type Together = std::convert::Infallible;

/// Runs what was loaded out of `source`, from the start or from a checkpoint.
pub fn carry_out(
    program: &Program,
    source: &Source,
    loaded: Loaded,
    resumed: Option<CheckpointFile>,
    results: &ResultArguments,
    joined: Option<Together>,
    monitor: Monitor,
) -> Result<(), CommandError> {
    let header = Header::new(program, source, &loaded)
        .map_err(|reason| CommandError::Resume(format!("the current folder cannot be found: {reason}")))?;
    let Loaded { scenario, kind, model, settings, inputs, provenance, .. } = loaded;
    let checkpoints = checkpoints::place(&header, settings.checkpoint, resumed.as_ref(), results)?;
    let identity = provenance.identity(settings.seed);
    let open = |folder| Output::open(folder, &identity).map(|output| output.with(results.tables.format()));
    let output = results.out.as_deref().map(open).transpose()?;
    let trace = results.trace.as_deref().map(|path| Trace::open(path, &scenario)).transpose()?;
    let log = open_log(results, joined.is_some())?;
    let steering = Steering::new(&monitor, results.is_paused());
    let owner = results.owned.then(|| Owner::serve(&steering)).transpose()?;
    let is_elastic = settings.protocol != Protocol::Sequential;
    let watched = Watched::Lps { steering: steering.clone(), is_elastic };
    let control = Control::of_run(&scenario, &watched);
    let facts =
        Facts::of_lps(&scenario, kind.name, model.lookahead(), &settings, processes_of(joined.as_ref()));
    let mut sampling = Sampling::default();
    #[cfg(feature = "live")]
    let live = results.live.serve(&watched, &facts, &mut sampling)?;
    let recorder = output.as_ref().and_then(|_| Recorder::start(&facts, &watched, &mut sampling));
    if let Some(why) = settings.slow_check() {
        progress::warn(&why);
    }
    let progress = show_progress(results, &monitor, settings.until);
    let subject = Subject { model: kind.name, scenario, provenance };
    #[cfg(target_os = "linux")]
    let transport = joined.as_ref().map(Together::link);
    #[cfg(not(target_os = "linux"))]
    let transport = None;
    let how = How {
        settings,
        checkpoints,
        resumed,
        monitor,
        steering: Some(steering),
        sampling,
        transport,
        trace: trace.as_ref(),
        log: log.clone(),
        inputs,
    };
    let ran = model.execute(subject, how, progress);
    owner.iter().for_each(Owner::close);
    #[cfg(target_os = "linux")]
    joined.into_iter().for_each(|joined| joined.dismiss(ran.as_ref().is_err_and(has_lost)));
    #[cfg(not(target_os = "linux"))]
    drop(joined);
    let traced = trace.map_or(Ok(()), |trace| trace.finish().map_err(CommandError::from));
    if ran.is_err() {
        warn_of_unfinished(log.as_deref(), &traced);
    }
    #[cfg(feature = "live")]
    drop(live);
    let recorded = recorder.and_then(Recorder::finish);
    let (finished, files) = ran?;
    drop(control);
    let sampled = recorded.map(|recorded| (recorded, Origin::of(source)));
    finish(&finished, Written { output, files, log, sampled }, traced, results)
}

/// How many processes a run has.
fn processes_of(joined: Option<&Together>) -> u32 {
    #[cfg(target_os = "linux")]
    let others = joined.map(|joined| joined.link().0.ranks());
    #[cfg(not(target_os = "linux"))]
    let others = joined.map(|never| match *never {});
    others.unwrap_or(1)
}

/// Opens the log of a run, if there is to be one, which is possible in one process only, as is `--owned`.
fn open_log(results: &ResultArguments, is_joined: bool) -> Result<Option<Arc<EventLog>>, CommandError> {
    if is_joined {
        if results.log.log.is_some() {
            return Err(CommandError::Option(ONE_PROCESS.into()));
        }
        results.refuse_owned("a run of several processes", "one process")?;
    }
    results.log.suit(false)?;
    Ok(EventLog::open(&results.log)?.map(Arc::new))
}

/// Shows how far a run is, as these arguments want it.
fn show_progress(results: &ResultArguments, monitor: &Monitor, until: Option<Time>) -> Progress {
    if results.progress_lines {
        let monitor = monitor.clone();
        return Progress::lines(until, move || (monitor.time(), monitor.events()));
    }
    Progress::start(monitor, until, results.shows_progress())
}

/// Finishes the log and the trace of a failed run, which are the most useful ones, and warns where they are
/// not whole.
fn warn_of_unfinished(log: Option<&EventLog>, traced: &Result<(), CommandError>) {
    let logged = log.map_or(Ok(()), EventLog::finish);
    [&logged, traced].into_iter().filter_map(|done| done.as_ref().err()).for_each(|failure| {
        progress::warn(&failure.problem());
    });
}

/// Runs what was loaded as one of several runs of this process, and gives back what the model says of it.
pub fn beside_others(loaded: Loaded, monitor: Monitor) -> Result<(Finished, Vec<ResultFile>), CommandError> {
    let Loaded { scenario, kind, model, settings, provenance, .. } = loaded;
    let subject = Subject { model: kind.name, scenario, provenance };
    let how = How {
        settings,
        checkpoints: None,
        resumed: None,
        monitor,
        steering: None,
        sampling: Sampling::default(),
        transport: None,
        trace: None,
        log: None,
        inputs: Vec::new(),
    };
    model.execute(subject, how, Progress::none())
}

/// A handle on a run that the first signal to end stops.
pub fn watched() -> Result<Monitor, CommandError> {
    let monitor = Monitor::new();
    stop_on_signal(&monitor)?;
    Ok(monitor)
}

/// The first signal to end stops the run; another one ends the program.
pub fn stop_on_signal(monitor: &Monitor) -> Result<(), CommandError> {
    let monitor = monitor.clone();
    signals::on_first(move || {
        monitor.stop();
        let monitor = monitor.clone();
        hanging::watch(move || monitor.at_work());
    })
    .map_err(CommandError::Signals)
}

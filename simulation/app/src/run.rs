//! `paceline run`: a scenario from the first key to the last file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use paceline_engine::{CheckpointFile, Checkpoints, Monitor, Protocol, Report, RunError, Silence};
use paceline_kernel::ask;
use paceline_results::{ResultFile, Results, RunFacts, Summary};
use paceline_scenario::inputs::Input;
use paceline_transport::Transport;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{ResultArguments, RunArguments};
use crate::checkpoints::{self, Header, Written};
use crate::ctl::Control;
use crate::failure::Failure;
use crate::hanging;
use crate::loaded::{Loaded, Source};
use crate::log::{EventLog, ONE_PROCESS};
use crate::output::{Output, deliver};
use crate::program::{self, Program};
use crate::progress::{self, Progress};
use crate::settings::RunSettings;
use crate::signals;
use crate::stdout;
use crate::summary::{Finished, Subject};
#[cfg(target_os = "linux")]
use crate::together::{self, Together, TogetherArguments};
use crate::trace::Trace;

/// Runs a scenario.
pub fn run(program: &Program, source: &Source, arguments: &RunArguments) -> Result<(), Failure> {
    let loaded = source.load(program)?;
    #[cfg(target_os = "linux")]
    return in_processes(program, source, loaded, None, &arguments.results, &arguments.together);
    #[cfg(not(target_os = "linux"))]
    carry_out(program, source, loaded, None, &arguments.results, None, watched()?)
}

/// Runs what was loaded out of `source`, from the start or from a checkpoint, in as many processes as the arguments say. A run that
/// loses a process starts again from its last checkpoint, as often as they say.
#[cfg(target_os = "linux")]
pub fn in_processes(
    program: &Program,
    source: &Source,
    loaded: Loaded,
    resumed: Option<CheckpointFile>,
    results: &ResultArguments,
    arguments: &TogetherArguments,
) -> Result<(), Failure> {
    if results.log.log.is_some() {
        arguments.refuse_with_log()?;
    }
    let (mut loaded, mut resumed, mut left) = (loaded, resumed, arguments.restarts);
    // A program can watch for signals only once; those that come before the first run begins end it at once.
    let mut monitor = None;
    loop {
        let joined = match together::begin(arguments, source, resumed.as_ref()) {
            // The checkpoint is still there, and the processes are new ones each time.
            Err(Failure::LostAtStart(problem, Some(path))) if left > 0 && !is_stopped(monitor.as_ref()) => {
                left -= 1;
                tell_restart(&problem, &path, left);
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
            Err(Failure::Run(error, Some(path))) if left > 0 && is_lost(&error) && !monitor.stopped() => {
                left -= 1;
                tell_restart(&error, &path, left);
                let file = CheckpointFile::open(&path).map_err(|error| Failure::Resume(error.to_string()))?;
                (loaded, resumed) = (source.load(program)?, Some(file));
            }
            ran => return ran,
        }
    }
}

#[cfg(target_os = "linux")]
fn tell_restart(problem: &dyn std::fmt::Display, from: &Path, left: u32) {
    eprintln!("{problem}\nResuming from {}; restarts left: {left}", from.display());
}

/// Whether a signal has asked the program to end.
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
) -> Result<(), Failure> {
    let Loaded { model, settings, inputs, .. } = loaded;
    let transport = Some(joined.link());
    let how =
        How { settings, checkpoints: None, resumed, monitor, transport, trace: None, log: None, inputs };
    let ran = model.take_part(how);
    joined.dismiss(false);
    match ran {
        // Rank 0 says it, unless it is rank 0 that is lost.
        Err(Failure::Run(error, _)) if matches!(&*error, RunError::Peers(error) if error.rank != 0 || !error.is_lost()) => {
            Err(Failure::Silent)
        }
        Err(Failure::Run(error, _)) if is_told(&error) => Err(Failure::Silent),
        ran => ran,
    }
}

/// Whether this has ended a run because a process of it cannot be reached any more.
#[cfg(target_os = "linux")]
fn has_lost(failure: &Failure) -> bool {
    matches!(failure, Failure::Run(error, _) if is_lost(error))
}

/// Whether rank 0 has been told of this failure of the model, and says it. What keeps a process from beginning it says itself.
#[cfg(target_os = "linux")]
fn is_told(error: &RunError) -> bool {
    let at_the_end = |asked: &str| {
        ["`finish`", "`left_over`", "`Hash`", "`Drop`"].iter().any(|call| asked.starts_with(call))
    };
    match error {
        RunError::Fault(_) | RunError::Trouble(_) => true,
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
) -> Result<(), Failure> {
    let header = Header::new(program, source, &loaded)
        .map_err(|reason| Failure::Resume(format!("the current folder cannot be found: {reason}")))?;
    let Loaded { scenario, kind, model, settings, inputs, provenance, .. } = loaded;
    let checkpoints = checkpoints::place(&header, settings.checkpoint, resumed.as_ref(), results)?;
    let identity = provenance.identity(settings.seed);
    let output = results.out.as_deref().map(|folder| Output::open(folder, &identity)).transpose()?;
    let trace = results.trace.as_deref().map(|path| Trace::open(path, &scenario)).transpose()?;
    if joined.is_some() && results.log.log.is_some() {
        return Err(Failure::Option(ONE_PROCESS.into()));
    }
    let log = EventLog::open(&results.log)?.map(Arc::new);
    let control = Control::open(&scenario, &monitor, settings.protocol != Protocol::Sequential);
    if let Err(reason) = &control {
        eprintln!("warning: `{} ctl` cannot reach this run: {reason}", program::name());
    }
    if let Some(why) = settings.slow_check() {
        progress::warn(&why);
    }
    let wanted = !results.json && !results.quiet;
    let progress = Progress::start(&monitor, settings.until, wanted);
    let subject = Subject { model: kind.name, scenario, provenance };
    #[cfg(target_os = "linux")]
    let transport = joined.as_ref().map(Together::link);
    #[cfg(not(target_os = "linux"))]
    let transport = None;
    let trace_of_run = trace.as_ref();
    let how = How {
        settings,
        checkpoints,
        resumed,
        monitor,
        transport,
        trace: trace_of_run,
        log: log.clone(),
        inputs,
    };
    let ran = model.execute(subject, how, progress);
    #[cfg(target_os = "linux")]
    joined.into_iter().for_each(|joined| joined.dismiss(ran.as_ref().is_err_and(has_lost)));
    #[cfg(not(target_os = "linux"))]
    drop(joined);
    let traced = trace.map_or(Ok(()), |trace| trace.finish().map_err(Failure::from));
    if ran.is_err() {
        // The log and the trace of a failed run are the most useful ones.
        let logged = log.as_ref().map_or(Ok(()), |log| log.finish());
        [&logged, &traced].into_iter().filter_map(|done| done.as_ref().err()).for_each(|failure| {
            progress::warn(&failure.problem());
        });
    }
    let (finished, files) = ran?;
    drop(control);
    let summary = match (results.json, results.quiet) {
        (true, _) => format!("{:#}\n", finished.everything()),
        (false, true) => finished.line(),
        (false, false) => finished.page(),
    };
    let page = || finished.page();
    let page = results.quiet.then_some(&page as &dyn Fn() -> String);
    deliver(&summary, wanted, || {
        let written = output.map(|output| write(output, &finished.results(), files, page)).transpose();
        // Where results find no room, the log may.
        let logged = log.map(|log| log.finish().map(|()| log.path().to_owned())).transpose();
        let trace = results.trace.clone().filter(|_| traced.is_ok());
        Ok(written?.into_iter().flatten().chain(trace).chain(logged?).collect())
    })?;
    traced?;
    if finished.is_interrupted() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// How a model is run.
pub struct How<'t> {
    settings: RunSettings,
    checkpoints: Option<Checkpoints>,
    resumed: Option<CheckpointFile>,
    monitor: Monitor,
    /// To the other processes, if there are any, and how long one may be silent.
    transport: Option<(Arc<dyn Transport>, Duration)>,
    trace: Option<&'t Trace>,
    log: Option<Arc<EventLog>>,
    /// The files that the scenario names.
    inputs: Vec<Input>,
}

/// Runs what was loaded as one of several runs of this process, and gives back what the model says of it.
pub fn beside_others(loaded: Loaded, monitor: Monitor) -> Result<(Finished, Vec<ResultFile>), Failure> {
    let Loaded { scenario, kind, model, settings, provenance, .. } = loaded;
    let subject = Subject { model: kind.name, scenario, provenance };
    let how = How {
        settings,
        checkpoints: None,
        resumed: None,
        monitor,
        transport: None,
        trace: None,
        log: None,
        inputs: Vec::new(),
    };
    model.execute(subject, how, Progress::none())
}

/// The run itself, and what the model says of it.
pub fn execute<M: Results + 'static>(
    model: M,
    subject: Subject,
    how: How<'_>,
    progress: Progress,
) -> Result<(Finished, Vec<ResultFile>), Failure>
where
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    let settings = how.settings.clone();
    let ran = report(model, how);
    drop(progress);
    let (mut report, model) = ran?;
    if let Some(reason) = &report.unpaced {
        eprintln!("warning: threads of this run are not paced: {reason}");
    }
    let outputs = std::mem::take(&mut report.outputs);
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let Summary { lines, files } =
        ask(|| "`results`".into(), || model.results(outputs, &facts)).map_err(Failure::Results)?;
    ask(|| "`Drop` of the model".into(), || drop(model));
    Ok((Finished::new(subject, settings, &report, lines), files))
}

/// The run itself.
pub fn report<M: Results + 'static>(model: M, how: How<'_>) -> Result<(Report<M::Output>, M), Failure>
where
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    let How { settings, checkpoints, resumed, monitor, transport, trace, log, inputs } = how;
    let written = checkpoints.as_ref().map(|checkpoints| Written::new(checkpoints.path.clone()));
    let from = resumed.as_ref().map(|file| file.path().to_owned());
    let checksum = resumed.as_ref().map(|file| format!("{:016x}", file.checksum()));
    // The file is closed before the run.
    let world = resumed.map(|file| file.world(&model)).transpose();
    let world = world.map_err(|error| Failure::Resume(error.to_string()))?;
    let mut simulation = settings.simulation(model, &monitor);
    if let (Some(checkpoints), Some(written)) = (checkpoints, &written) {
        let kept = from.clone().filter(|from| *from == checkpoints.path);
        let tell = checkpoints::warn(written.clone(), kept);
        simulation = simulation.checkpoint(checkpoints).on_checkpoint_failure(tell);
    }
    if let Some(trace) = trace {
        simulation = simulation.trace(trace.sink());
    }
    if let Some(log) = log {
        simulation = simulation.observe(log);
    }
    if let Some(world) = world {
        simulation = simulation.resume(world);
    }
    if let Some((transport, silence)) = transport {
        let leads = transport.rank() == 0;
        simulation = simulation.join(transport).silence_limit(silence);
        for Input { file, bytes, xxh3 } in inputs {
            simulation = simulation
                .must_equal(format!("input file {file}"), format!("{bytes} bytes, checksum {xxh3}"));
        }
        simulation =
            simulation.must_equal("checkpoint to resume from", checksum.unwrap_or("none".to_owned()));
        if leads {
            simulation = simulation.on_silence(tell_silence);
        }
    }
    let ran = simulation.run_keeping_model();
    let checkpoint = || written.and_then(Written::file).or(from);
    ran.map_err(|error| Failure::Run(error.into(), checkpoint()))
}

/// Warns that a process gives no sign of life, before it is lost; and says where it does again.
fn tell_silence(silence: Silence) {
    let Silence { rank, silent, limit } = silence;
    progress::warn(&match silent {
        Some(silent) => {
            format!(
                "no sign of life from process {rank} for {silent:.1?}; after {limit:?} it is lost, and the run ends"
            )
        }
        None => format!("process {rank} gives signs of life again"),
    });
}

/// Writes all files, with these results as the summary, and gives back which they are. `page`, where it is given, is printed if there is
/// no room for the summary: the results would be lost otherwise.
pub fn write(
    mut output: Output,
    results: &Value,
    files: Vec<ResultFile>,
    page: Option<&dyn Fn() -> String>,
) -> Result<Vec<PathBuf>, Failure> {
    output.write_summary(results, files.iter().map(|file| file.name.to_owned()));
    for file in files {
        output.write(file.name, |to| file.write(to));
    }
    if let Some(page) = page.filter(|_| output.lacks_summary()) {
        stdout::print(&page())?;
    }
    output.finish()
}

/// A handle on a run that the first signal to end stops.
pub fn watched() -> Result<Monitor, Failure> {
    let monitor = Monitor::new();
    stop_on_signal(&monitor)?;
    Ok(monitor)
}

/// The first signal to end stops the run; another one ends the program.
pub fn stop_on_signal(monitor: &Monitor) -> Result<(), Failure> {
    let monitor = monitor.clone();
    signals::on_first(move || {
        monitor.stop();
        let monitor = monitor.clone();
        hanging::watch(move || monitor.at_work());
    })
}

//! A model of LPs behind one trait, whatever its type ([`AnyModel`]): its checks, its estimate of memory, and
//! its run, whose report and files come together here.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use paceline_engine::determinism::{Comparison, DeterminismError, Same, compare};
use paceline_engine::{CheckpointFile, Checkpoints, Monitor, Report, Run, RunError, Silence, Simulation};
use paceline_kernel::{Time, ask};
use paceline_results::{ResultFile, Results, RunFacts, Summary};
use paceline_scenario::inputs::Input;
use paceline_scenario::{ScenarioError, Section};
use paceline_transport::Transport;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::checkpoint_watch::{self, Written};
use crate::failure::CommandError;
use crate::log::EventLog;
use crate::memory::Estimate;
use crate::progress::{self, Progress};
#[cfg(feature = "live")]
use crate::sampling::OutsideFederate;
use crate::sampling::Sampling;
use crate::settings::RunSettings;
use crate::settings::changes::ScheduledChange;
use crate::steer::Steering;
use crate::summary::{EventRun, Finished, Subject};
use crate::trace::Trace;

/// Builds a model whose parameters are its own fields, read by serde.
pub fn by_serde<M: AnyModel + DeserializeOwned>(
    section: Section,
    _seed: u64,
) -> Result<Box<dyn AnyModel>, ScenarioError> {
    let read = || ask(|| "its parameters (`Deserialize`)".into(), || section.parameters::<M>());
    Ok(Box::new(read()?))
}

/// A model of any kind.
pub trait AnyModel: Any + Debug + Send {
    /// The number of LPs.
    fn lps(&self) -> u32;

    /// The model's lookahead.
    fn lookahead(&self) -> Time;

    /// What memory a run with these settings needs.
    fn memory(&self, settings: &RunSettings) -> Estimate;

    /// Into how many federates the LPs are dealt where `federates` are asked for.
    fn federates(&self, federates: u32) -> u32;

    /// Whether it can be run so; `run` is the section that the settings come from.
    fn check(&self, settings: &RunSettings, run: &Section) -> Result<(), ScenarioError>;

    /// Has its parameters change as the scenario says.
    fn schedule(&mut self, changes: &[ScheduledChange]) -> Result<(), ScenarioError>;

    /// Runs it, and gives the summary of the run, with the model's files.
    fn execute(
        self: Box<Self>,
        subject: Subject,
        how: How<'_>,
        progress: Progress,
    ) -> Result<(Finished, Vec<ResultFile>), CommandError>;

    /// Runs it without results, for another process that has them.
    fn take_part(self: Box<Self>, how: How<'_>) -> Result<(), CommandError>;

    /// Compares it with `other` event by event; nothing where that is a model of another kind.
    fn compare(&self, other: &dyn AnyModel, how: &Comparison) -> Option<Result<Same, Box<DeterminismError>>>;
}

impl<M> AnyModel for M
where
    M: Results + Debug + 'static,
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    fn lps(&self) -> u32 {
        ask(|| "`lps`".into(), || paceline_kernel::Model::lps(self))
    }

    fn lookahead(&self) -> Time {
        ask(|| "`lookahead`".into(), || paceline_kernel::Model::lookahead(self))
    }

    fn memory(&self, settings: &RunSettings) -> Estimate {
        Estimate::of(self, settings)
    }

    fn federates(&self, federates: u32) -> u32 {
        ask(|| "`partition`".into(), || self.partition(federates)).federates()
    }

    fn check(&self, settings: &RunSettings, run: &Section) -> Result<(), ScenarioError> {
        settings.check(run, self)?;
        let partition = ask(|| "`partition`".into(), || self.partition(settings.federates_of(self.lps())));
        partition.check(self.lps()).map_err(|error| {
            run.refuse(
                "federates",
                error.to_string(),
                "federates to which the model deals each of its LPs once",
            )
        })
    }

    fn schedule(&mut self, changes: &[ScheduledChange]) -> Result<(), ScenarioError> {
        changes.iter().try_for_each(|change| change.make(self))
    }

    fn execute(
        self: Box<Self>,
        subject: Subject,
        how: How<'_>,
        progress: Progress,
    ) -> Result<(Finished, Vec<ResultFile>), CommandError> {
        execute_joined(*self, subject, how, progress, |simulation| simulation)
    }

    fn take_part(self: Box<Self>, how: How<'_>) -> Result<(), CommandError> {
        report(*self, how, |simulation| simulation)
            .map(|(_, model)| ask(|| "`Drop` of the model".into(), || drop(model)))
    }

    fn compare(&self, other: &dyn AnyModel, how: &Comparison) -> Option<Result<Same, Box<DeterminismError>>> {
        let other: &dyn Any = other;
        other.downcast_ref::<M>().map(|other| compare(self, other, how))
    }
}

/// How a model is run.
pub struct How<'t> {
    /// What the section `[run]` says.
    pub settings: RunSettings,
    /// The handle on the run.
    pub monitor: Monitor,
    /// By which others steer it, if they can.
    pub(crate) steering: Option<Steering>,
    /// Where it is watched from.
    pub(crate) sampling: Sampling,
    pub(crate) checkpoints: Option<Checkpoints>,
    pub(crate) resumed: Option<CheckpointFile>,
    /// To the other processes, if there are any, and how long one may be silent.
    pub(crate) transport: Option<(Arc<dyn Transport>, Duration)>,
    /// Where the run is traced, if it is.
    pub trace: Option<&'t Trace>,
    pub(crate) log: Option<Arc<EventLog>>,
    /// The files that the scenario names.
    pub(crate) inputs: Vec<Input>,
}

#[cfg(feature = "live")]
impl How<'_> {
    /// Shows these federates, which are outside, by their names on the live page. What is known of them first
    /// stays.
    pub fn show_outside(&self, outside: Vec<OutsideFederate>) {
        drop(self.sampling.outside.set(outside));
    }
}

/// Runs a model, and gives what it says of the run. `join` has a last look at the run before it starts: it
/// may give it outside federates.
pub fn execute_joined<M: Results + 'static>(
    model: M,
    subject: Subject,
    how: How<'_>,
    progress: Progress,
    join: impl FnOnce(Simulation<M>) -> Simulation<M>,
) -> Result<(Finished, Vec<ResultFile>), CommandError>
where
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    let settings = how.settings.clone();
    let ran = report(model, how, join);
    drop(progress);
    let (report, model) = ran.map_err(|failure| failure.at_key_of(&settings))?;
    if let Some(reason) = &report.unpaced {
        eprintln!("warning: threads of this run are not paced: {reason}");
    }
    let (report, outputs) = report.split();
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let Summary { lines, files, charts } =
        ask(|| "`results`".into(), || model.results(outputs, &facts)).map_err(CommandError::Results)?;
    ask(|| "`Drop` of the model".into(), || drop(model));
    let run = Box::new(EventRun { settings, report });
    Ok((Finished::new(subject, run, lines).with_charts(charts), files))
}

fn report<M: Results + 'static>(
    model: M,
    how: How<'_>,
    join: impl FnOnce(Simulation<M>) -> Simulation<M>,
) -> Result<(Report<M::Output>, M), CommandError>
where
    M::State: Serialize + DeserializeOwned,
    M::Event: Serialize + DeserializeOwned,
    M::Output: Serialize + DeserializeOwned,
{
    let How { settings, checkpoints, resumed, monitor, steering, sampling, transport, trace, log, inputs } =
        how;
    // With other processes all would have to pause together.
    if transport.is_some() {
        steering.iter().for_each(Steering::close);
    }
    let steering = steering.filter(|_| transport.is_none());
    let written = checkpoints.as_ref().map(|checkpoints| Written::new(checkpoints.path.clone()));
    let from = resumed.as_ref().map(|file| file.path().to_owned());
    let checksum = resumed.as_ref().map(|file| format!("{:016x}", file.checksum()));
    // The file is closed before the run.
    let world = resumed.map(|file| file.world(&model)).transpose();
    let world = world.map_err(|error| CommandError::Resume(error.to_string()))?;
    let mut simulation = settings.simulation(model, &monitor);
    if let (Some(checkpoints), Some(written)) = (checkpoints, &written) {
        let kept = from.clone().filter(|from| *from == checkpoints.path);
        let listener = checkpoint_watch::warn(written.clone(), kept);
        simulation = simulation.checkpoint(checkpoints).on_checkpoint_failure(listener);
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
            simulation = simulation.on_silence(print_silence);
        }
    }
    let ran = executed(join(simulation), steering, &sampling);
    let checkpoint = || written.and_then(Written::file).or(from);
    ran.map_err(|error| CommandError::Run(error.into(), checkpoint()))
}

/// Runs it to its end, steered and shown where that is wanted.
fn executed<M: Results + 'static>(
    simulation: Simulation<M>,
    steering: Option<Steering>,
    sampling: &Sampling,
) -> Result<(Report<M::Output>, M), RunError>
where
    M::State: Serialize,
    M::Event: Serialize + DeserializeOwned,
{
    let (simulation, mut looker) = match sampling.looker() {
        Some(looker) => (simulation.gauges(&sampling.gauges), Some(looker)),
        None => (simulation, None),
    };
    let Some(steering) = steering else { return simulation.run_keeping_model() };
    let mut look = |run: &mut Run<M>, is_last: bool| {
        looker.iter_mut().for_each(|looker| looker.look(run, is_last));
    };
    let mut run = simulation.start().inspect_err(|_| steering.close())?;
    steering.drive(&mut run, &mut look)?;
    run.finish_keeping_model()
}

/// Warns that a process gives no sign of life, before it is lost; and says where it does again.
fn print_silence(silence: Silence) {
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

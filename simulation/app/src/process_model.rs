//! A model of processes behind one trait, whatever its type ([`AnyProcessModel`]), and its run on the network
//! that its scenario names.

pub mod network;
pub(crate) mod probe;
pub mod settings;
pub(crate) mod trace;
pub(crate) mod waits;

use std::fmt::Debug;
use std::process::ExitCode;
use std::sync::Arc;

use paceline_kernel::{Time, ask};
use paceline_network::{Constant, Flows, Network};
use paceline_processes::{Control, ProcessModel, Report, RoundRecord, RunError, Simulation, TooFewHosts};
use paceline_results::Summary;
use paceline_scenario::{ScenarioError, Section};
use serde::de::DeserializeOwned;

use crate::failure::{CommandError, OwnFailure};
use crate::log::EventLog;
use crate::progress::warn;
#[cfg(feature = "live")]
use crate::sampling::Ring;
use network::{NetworkKind, NetworkSection};
use probe::Probe;
use settings::ProcessSettings;
use trace::Trace;

/// Why a run of processes has no results.
#[derive(Debug)]
pub enum ProcessFailure {
    /// The run ended before its end.
    Run(Box<RunError>),
    /// The same, at the key of the scenario that it comes from.
    RunKey(Box<RunError>, ScenarioError),
    /// A process found what makes its results worthless, in words.
    Model(String),
}

impl ProcessFailure {
    /// The failure of a run with these settings, at the key that it comes from, where it comes from one.
    pub(crate) fn of(error: RunError, settings: &ProcessSettings) -> Self {
        match settings.refused(&error) {
            Some(place) => Self::RunKey(error.into(), place),
            None => Self::Run(error.into()),
        }
    }
}

impl From<ProcessFailure> for CommandError {
    fn from(failure: ProcessFailure) -> Self {
        Self::Other(Box::new(failure))
    }
}

impl OwnFailure for ProcessFailure {
    fn problem(&self) -> String {
        match self {
            Self::Run(error) => error.to_string(),
            Self::RunKey(_, error) => error.one_line(),
            Self::Model(problem) => problem.clone(),
        }
    }

    fn status(&self) -> ExitCode {
        match self {
            Self::RunKey(error, _) => match **error {
                // Only the run shows that the system or the model does not allow it.
                RunError::Threads(_) | RunError::ReachedOut { .. } => ExitCode::from(1),
                _ => ExitCode::from(2),
            },
            Self::Run(_) | Self::Model(_) => ExitCode::from(1),
        }
    }
}

/// The control and the trace of a run.
#[derive(Debug)]
pub struct Watch {
    /// By which it is stopped, and says how far it has come.
    pub control: Control,
    pub(crate) trace: Option<Trace>,
    pub(crate) probe: Option<Probe>,
    pub(crate) log: Option<Arc<EventLog>>,
    /// Counts turns for the live page.
    #[cfg(feature = "live")]
    pub(crate) ring: Option<Ring>,
}

impl Watch {
    /// A run that nobody watches but through `control`.
    pub(crate) fn through(control: Control) -> Self {
        Self {
            control,
            trace: None,
            probe: None,
            log: None,
            #[cfg(feature = "live")]
            ring: None,
        }
    }

    /// What is reported of each round, if anything is to be.
    fn observer(&self) -> Option<impl FnMut(&RoundRecord<'_>) + Send + 'static> {
        let mut trace = self.trace.as_ref().map(Trace::observer);
        let mut probe = self.probe.as_ref().map(|probe| probe.observer(&self.control));
        let mut log = self.log.as_ref().map(|log| waits::observer(Arc::clone(log)));
        #[cfg(feature = "live")]
        let mut ring = self.ring.as_ref().map(Ring::observer);
        #[cfg(not(feature = "live"))]
        let mut ring: Option<fn(&RoundRecord<'_>)> = None;
        let is_observed = trace.is_some() || probe.is_some() || log.is_some() || ring.is_some();
        is_observed.then_some({
            move |round: &RoundRecord<'_>| {
                ring.iter_mut().for_each(|ring| ring(round));
                trace.iter_mut().for_each(|trace| trace(round));
                probe.iter_mut().for_each(|probe| probe(round));
                log.iter_mut().for_each(|log| log(round));
            }
        })
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ran {
    /// What came of it.
    pub report: Report,
    /// What the model reports of it.
    pub results: Summary,
}

/// A model of processes of any type.
pub trait AnyProcessModel: Debug + Send {
    /// How many hosts a network without a platform gets ([`ProcessModel::hosts`]).
    fn hosts(&self) -> u32;

    /// Whether this many hosts of a platform are enough ([`ProcessModel::check`]).
    fn check(&self, hosts: u32) -> Result<(), TooFewHosts>;

    /// Whether a run must have a horizon ([`ProcessModel::needs_horizon`]).
    fn needs_horizon(&self) -> bool;

    /// Why all hosts are in one federate ([`ProcessModel::acts_at_once`]).
    fn acts_at_once(&self) -> Option<&'static str>;

    /// The number of processes that are there from the start.
    fn processes(&self, settings: &ProcessSettings) -> u32;

    /// Runs it on the network of the settings.
    fn run(&self, settings: &ProcessSettings, watch: &Watch) -> Result<Ran, CommandError>;
}

impl<M: ProcessModel + Debug + Send> AnyProcessModel for M {
    fn hosts(&self) -> u32 {
        ask(|| "`hosts`".into(), || ProcessModel::hosts(self))
    }

    fn check(&self, hosts: u32) -> Result<(), TooFewHosts> {
        ask(|| "`check`".into(), || ProcessModel::check(self, hosts))
    }

    fn needs_horizon(&self) -> bool {
        ask(|| "`needs_horizon`".into(), || ProcessModel::needs_horizon(self))
    }

    fn acts_at_once(&self) -> Option<&'static str> {
        ask(|| "`acts_at_once`".into(), || ProcessModel::acts_at_once(self))
    }

    fn processes(&self, settings: &ProcessSettings) -> u32 {
        // Which network it is does not matter to their number.
        let mut simulation = Simulation::new(Constant::new(0.0), &alike(settings.network.hosts()));
        spawn(self, &mut simulation, settings.seed);
        simulation.processes()
    }

    fn run(&self, settings: &ProcessSettings, watch: &Watch) -> Result<Ran, CommandError> {
        match &settings.network.kind {
            NetworkKind::Constant { seconds, hosts } => {
                let network = Constant::new(*seconds);
                run_in(self, Simulation::new(network, &alike(*hosts)), settings, watch)
            }
            NetworkKind::Flows { platform, model } => {
                let network = Flows::new(platform, *model);
                run_in(self, Simulation::with_hosts_of(platform, network), settings, watch)
            }
        }
    }
}

/// Builds a model whose parameters are its own fields, read by serde.
pub fn processes_by_serde<M: ProcessModel + Debug + Send + DeserializeOwned + 'static>(
    section: Section,
    _network: &mut NetworkSection,
) -> Result<Box<dyn AnyProcessModel>, ScenarioError> {
    let read = || ask(|| "its parameters (`Deserialize`)".into(), || section.parameters::<M>());
    Ok(Box::new(read()?))
}

/// So many hosts with one core of 1 Gf/s each.
fn alike(hosts: u32) -> Vec<(f64, u32)> {
    vec![(1e9, 1); hosts as usize]
}

fn spawn<M: ProcessModel, N: Network>(
    model: &M,
    simulation: &mut Simulation<M::Message, N>,
    seed: u64,
) -> M::Outcome {
    ask(|| "`spawn`".into(), || model.spawn(simulation, seed))
}

/// Runs the processes of a model in a world, as the settings say, and asks it for its results.
fn run_in<M: ProcessModel, N: Network + Clone + Send + Sync>(
    model: &M,
    world: Simulation<M::Message, N>,
    settings: &ProcessSettings,
    watch: &Watch,
) -> Result<Ran, CommandError> {
    let federates = settings.federates.filter(|_| model.acts_at_once().is_none());
    let mut simulation = as_set(world, settings, federates, watch);
    let outcome = spawn(model, &mut simulation, settings.seed);
    let ran = simulation.run();
    if let Some(problem) = ask(|| "`failure`".into(), || model.failure(&outcome)) {
        // Others may have waited for that process in vain: it is the cause of a deadlock.
        return Err(ProcessFailure::Model(problem).into());
    }
    let report = ran.map_err(|error| ProcessFailure::of(error, settings))?;
    let results = ask(|| "`results`".into(), || model.results(outcome, &report));
    Ok(Ran { results: results.map_err(CommandError::Results)?, report })
}

fn as_set<P: Send + 'static, N: Network + Clone + Send + Sync>(
    world: Simulation<P, N>,
    settings: &ProcessSettings,
    federates: Option<u32>,
    watch: &Watch,
) -> Simulation<P, N> {
    let simulation = world
        .until(settings.until.unwrap_or(Time::MAX))
        .seed(settings.seed)
        .measure_from(settings.warm_up)
        .threads(settings.threads as usize)
        .rounds(settings.round)
        .coordination(settings.coordination)
        .waiting(settings.waiting)
        .pin(settings.pin)
        .context(settings.context)
        .on_stall(|stall| warn(&stall.to_string()))
        .on_program_exit(|exit| {
            warn(&exit.to_string());
            // Nothing else removes them: the program ends at once.
            paceline_files::discard_unfinished();
        })
        .control(&watch.control);
    let simulation = match federates {
        Some(federates) => simulation.federates(federates),
        None => simulation,
    };
    match watch.observer() {
        Some(observer) => simulation.observe(observer),
        None => simulation,
    }
}

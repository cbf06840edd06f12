//! How processes are run: the keys of `[run]`, which `process_model.rs` passes on to
//! [`paceline_processes::Simulation`], and `processes/summary.rs` shows.

use paceline_kernel::Time;
use paceline_processes::{ContextKind, Coordination, Rounds, RunError, Waiting};
use paceline_scenario::{Raw, ScenarioError, Section, Unfit, Value};

use super::network::ChosenNetwork;

const MOST_THREADS: u32 = 1024;

/// On what the code of processes runs.
pub const CONTEXTS: [(&str, ContextKind); 3] =
    [("future", ContextKind::Future), ("coroutine", ContextKind::Coroutine), ("thread", ContextKind::Thread)];
/// Ways to coordinate threads, with the name used in scenario files.
pub const COORDINATIONS: [(&str, Coordination); 3] =
    [("works", Coordination::Works), ("sleeps", Coordination::Sleeps), ("extra", Coordination::Extra)];
/// Ways to wait.
pub const WAITINGS: [(&str, Waiting); 3] =
    [("futex", Waiting::Futex), ("condition", Waiting::Condition), ("busy", Waiting::Busy)];

/// How processes are run.
#[derive(Debug)]
pub struct ProcessSettings {
    /// The horizon; without one it runs until all processes have ended.
    pub until: Option<Time>,
    /// What processes measure before this time does not count.
    pub warm_up: Time,
    /// What random numbers are drawn from.
    pub seed: u64,
    /// Into how many federates the hosts are dealt, if they are.
    pub federates: Option<u32>,
    /// Threads for the code of processes.
    pub threads: u32,
    /// On what that code runs.
    pub context: ContextKind,
    /// When a round runs on many threads.
    pub round: Rounds,
    /// What the coordinating thread does meanwhile.
    pub coordination: Coordination,
    /// How threads wait for each other.
    pub waiting: Waiting,
    /// Whether threads are bound to cores.
    pub pin: bool,
    /// Hosts, and the network between them.
    pub network: ChosenNetwork,
    /// The section `[run]`, for the places of its keys.
    section: Section,
}

/// Reads `[run]` to its last key, for a run on this network. `needs_horizon`: it must say until when.
pub(crate) fn read(
    mut run: Section,
    threads: u32,
    network: ChosenNetwork,
    needs_horizon: bool,
) -> Result<ProcessSettings, ScenarioError> {
    if run.has("checkpoint") {
        let problem =
            "a checkpoint of processes: code that waits in its midst has no form that could be written";
        let allowed = "no such key; a run is repeated from its seed, and models of LPs have checkpoints";
        return Err(run.refuse("checkpoint", problem, allowed));
    }
    let federates = read_federates(&mut run, network.hosts())?;
    let until = if needs_horizon { Some(run.required("until")?) } else { run.optional("until")? };
    let settings = ProcessSettings {
        warm_up: read_warm_up(&mut run, until)?,
        federates,
        until,
        seed: run.or("seed", 1)?,
        threads,
        context: run.choice("context", &CONTEXTS, Some(ContextKind::Future))?,
        round: run.optional::<Round>("round")?.map_or(Rounds::Auto, |round| round.0),
        coordination: run.choice("coordination", &COORDINATIONS, Some(Coordination::Works))?,
        waiting: run.choice("waiting", &WAITINGS, Some(Waiting::Futex))?,
        pin: run.or("pin", false)?,
        network,
        section: run.clone(),
    };
    run.finish()?;
    Ok(settings)
}

impl ProcessSettings {
    /// The mistake at the key of `[run]` that an error of a run comes from, where it comes from one.
    pub(crate) fn refused(&self, error: &RunError) -> Option<ScenarioError> {
        let (key, allowed) = match error {
            RunError::Federates { hosts, .. } => ("federates", format!("a whole number from 1 to {hosts}")),
            RunError::NoLatency => {
                ("federates", "a network with a latency of at least 4 ns, or no `federates`".to_owned())
            }
            RunError::ReachedOut { .. } => ("federates", "no `federates` for this model".to_owned()),
            RunError::Observed => ("federates", "no `federates`, or no --trace".to_owned()),
            RunError::Threads(_) => {
                ("threads", "as many threads as the system lets this process have".to_owned())
            }
            _ => return None,
        };
        Some(self.section.refuse(key, format!("`{key}` in [run]: {error}"), allowed))
    }
}

/// The number of threads: as many as there are cores, where it is not set.
pub(crate) fn read_threads(run: &mut Section) -> Result<u32, ScenarioError> {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
    let allowed = format!("a whole number from 1 to {MOST_THREADS}");
    let threads = run.optional_within("threads", &allowed)?.unwrap_or_else(cores);
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(run.refuse("threads", format!("a run on {threads} threads"), allowed));
    }
    Ok(threads)
}

fn read_warm_up(run: &mut Section, until: Option<Time>) -> Result<Time, ScenarioError> {
    let warm_up = run.or("warm_up", Time::ZERO)?;
    match until.filter(|until| warm_up >= *until) {
        Some(until) => {
            let problem =
                format!("a warm-up of {warm_up} in a run of {until}, which leaves nothing to measure");
            Err(run.refuse("warm_up", problem, format!("a time before {until}")))
        }
        None => Ok(warm_up),
    }
}

fn read_federates(run: &mut Section, hosts: u32) -> Result<Option<u32>, ScenarioError> {
    let allowed = format!("a whole number from 1 to {hosts}, the number of hosts");
    let federates = run.optional_within("federates", &allowed)?;
    if let Some(federates) = federates.filter(|federates| !(1..=hosts).contains(federates)) {
        return Err(run.refuse("federates", format!("a run on {federates} federates"), allowed));
    }
    Ok(federates)
}

/// When a round runs on many threads, as a scenario says it.
struct Round(Rounds);

impl Value for Round {
    const EXPECTED: &'static str =
        "\"auto\", \"static:N\" with a whole number N, \"adaptive5\", \"always\" or \"never\"";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let Raw::String(text) = raw else { return Err(Unfit::Kind) };
        Ok(Self(match text.as_str() {
            "auto" => Rounds::Auto,
            "adaptive5" => Rounds::Adaptive5,
            "always" => Rounds::Always,
            "never" => Rounds::Never,
            other => {
                let least = other.strip_prefix("static:").and_then(|least| least.parse().ok());
                Rounds::Static(least.ok_or(Unfit::Kind)?)
            }
        }))
    }
}

/// What a scenario calls it.
pub fn round_name(round: Rounds) -> String {
    match round {
        Rounds::Auto => "auto".into(),
        Rounds::Static(least) => format!("static:{least}"),
        Rounds::Adaptive5 => "adaptive5".into(),
        Rounds::Always => "always".into(),
        Rounds::Never => "never".into(),
    }
}

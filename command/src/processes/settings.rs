//! How processes are run: the keys of `[run]` and `[network]`.

mod deployment;

use std::path::Path;

use paceline_app::loaded::Source;
use paceline_kernel::Time;
use paceline_models::bittorrent::Bittorrent;
use paceline_models::chord::Chord;
use paceline_models::farm::{Farm, FarmError};
use paceline_models::master_workers::MasterWorkers;
use paceline_models::mpi_trace::{MpiTrace, TraceError, text_of};
use paceline_network::{FlowModel, Platform};
use paceline_processes::{ContextKind, Coordination, Rounds, Waiting};
use paceline_scenario::inputs::{Input, recorded};
use paceline_scenario::{Raw, ScenarioError, Section, Unfit, Value, inputs};

use crate::models::PROCESSES;
use crate::network::read_platform;

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

/// The network, with all that it needs.
#[derive(Debug)]
pub enum Model {
    /// Every message takes equally long.
    Constant {
        /// So long.
        seconds: f64,
        /// Hosts that processes are dealt to.
        hosts: u32,
    },
    /// Messages share the links of a platform.
    Flows {
        /// The platform.
        platform: Box<Platform>,
        /// The constants.
        model: FlowModel,
    },
}

impl Model {
    /// How many hosts there are.
    pub fn hosts(&self) -> u32 {
        match self {
            Self::Constant { hosts, .. } => *hosts,
            Self::Flows { platform, .. } => platform.hosts().len() as u32,
        }
    }
}

/// What the processes are.
#[derive(Debug)]
pub enum Program {
    /// The peers of Chord.
    Chord(Chord),
    /// The ranks of a trace.
    MpiTrace(MpiTrace),
    /// The actors of a deployment.
    MasterWorkers(MasterWorkers),
    /// The peers of a BitTorrent swarm, and their tracker.
    Bittorrent(Bittorrent),
    /// A master and its workers.
    Farm(Farm),
}

impl Program {
    /// The name used in scenario files.
    pub fn name(&self) -> &'static str {
        PROCESSES[match self {
            Self::Chord(_) => 0,
            Self::MpiTrace(_) => 1,
            Self::MasterWorkers(_) => 2,
            Self::Bittorrent(_) => 3,
            Self::Farm(_) => 4,
        }]
        .0
    }

    /// How many processes there are on `hosts` hosts from the start.
    pub fn processes(&self, hosts: u32) -> u32 {
        match self {
            Self::Chord(chord) => chord.peers,
            Self::MpiTrace(trace) => trace.ranks(),
            Self::MasterWorkers(program) => program.actors(),
            Self::Bittorrent(swarm) => swarm.peers + 1,
            Self::Farm(farm) => farm.processes(hosts),
        }
    }

    /// How many hosts a network has that names none.
    fn hosts(&self) -> u32 {
        match self {
            // One for the master, one for each worker.
            Self::Farm(farm) => 1 + farm.workers,
            other => other.processes(0),
        }
    }
}

/// How processes are run.
#[derive(Debug)]
pub struct ProcessSettings {
    pub until: Option<Time>,
    pub seed: u64,
    /// Into how many federates the hosts are dealt, if they are.
    pub federates: Option<u32>,
    pub threads: u32,
    pub context: ContextKind,
    pub round: Rounds,
    pub coordination: Coordination,
    pub waiting: Waiting,
    pub pin: bool,
    pub model: Model,
    /// The network as the scenario names it.
    pub network: &'static str,
    /// The files that the scenario names, as they were read.
    pub inputs: Vec<Input>,
}

/// Reads a scenario to its last key.
pub fn read(source: &Source) -> Result<(Program, ProcessSettings), ScenarioError> {
    let (read, inputs) = recorded(&source.folder, || read_sections(source));
    let (program, settings) = read?;
    Ok((program, ProcessSettings { inputs, ..settings }))
}

fn read_sections(source: &Source) -> Result<(Program, ProcessSettings), ScenarioError> {
    let mut scenario = source.open()?;
    let (mut model, mut run) = (scenario.section("model")?, scenario.section("run")?);
    let mut network = scenario.section("network")?;
    scenario.finish(&["model", "run", "network"])?;
    let mut found = None;
    let program = match model.choice("kind", &PROCESSES.map(|(name, _)| (name, name)), None)? {
        "chord" => Program::Chord(Chord::from_section(&mut model)?),
        "bittorrent" => Program::Bittorrent(Bittorrent::from_section(&mut model)?),
        "farm" => Program::Farm(Farm::from_section(&mut model)?),
        "mpi-trace" => Program::MpiTrace(read_trace(&mut model)?),
        _ => {
            // It names hosts of the platform.
            let network = found.insert(read_network(&mut network, 0)?);
            Program::MasterWorkers(deployment::read(&mut model, network)?)
        }
    };
    model.finish()?;
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
    let allowed = format!("a whole number from 1 to {MOST_THREADS}");
    let threads = run.optional_within("threads", &allowed)?.unwrap_or_else(cores);
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(run.refuse("threads", format!("a run on {threads} threads"), allowed));
    }
    let (name, found) = match found {
        Some(found) => found,
        None => read_network(&mut network, program.hosts())?,
    };
    if matches!(program, Program::Farm(_)) && found.hosts() < 2 {
        let problem = FarmError::Hosts(found.hosts()).to_string();
        return Err(network.refuse("platform", problem, "a platform with at least 2 hosts"));
    }
    network.finish()?;
    let allowed = format!("a whole number from 1 to {}, the number of hosts", found.hosts());
    let federates = run.optional_within("federates", &allowed)?;
    if let Some(federates) = federates.filter(|federates| !(1..=found.hosts()).contains(federates)) {
        return Err(run.refuse("federates", format!("a run on {federates} federates"), allowed));
    }
    let settings = ProcessSettings {
        federates,
        until: match program {
            // Peers do not end by themselves, and a farm not where hosts fail too often.
            Program::Chord(_) | Program::Bittorrent(_) | Program::Farm(_) => Some(run.required("until")?),
            Program::MpiTrace(_) | Program::MasterWorkers(_) => run.optional("until")?,
        },
        seed: run.or("seed", 1)?,
        threads,
        context: run.choice("context", &CONTEXTS, Some(ContextKind::Future))?,
        round: run.optional::<Round>("round")?.map_or(Rounds::Auto, |round| round.0),
        coordination: run.choice("coordination", &COORDINATIONS, Some(Coordination::Works))?,
        waiting: run.choice("waiting", &WAITINGS, Some(Waiting::Futex))?,
        pin: run.or("pin", false)?,
        model: found,
        network: name,
        inputs: Vec::new(),
    };
    run.finish()?;
    Ok((program, settings))
}

/// The trace that `[model]` names.
fn read_trace(model: &mut Section) -> Result<MpiTrace, ScenarioError> {
    let Some(path) = model.file("trace")? else {
        let problem = "a model that replays a trace, and none is named";
        return Err(model.refuse(
            "trace",
            problem,
            "a file with lines `RANK ACTION ARGUMENTS`, or with names of such files",
        ));
    };
    let refuse = |problem: String| model.refuse("trace", problem, "a trace that can be read");
    let text = read_trace_file(&path).map_err(refuse)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut others = |file: &str| read_trace_file(&folder.join(file));
    MpiTrace::read(&path.display().to_string(), &text, &mut others).map_err(|mistake| {
        let TraceError { file, line, problem, allowed } = mistake;
        model.refuse("trace", format!("{file}:{line}: {problem}"), allowed)
    })
}

/// Comments of a trace may be in any encoding.
fn read_trace_file(path: &Path) -> Result<String, String> {
    let reason = |reason: String| format!("{}: {reason}", path.display());
    let bytes = inputs::read(path).map_err(|error| reason(error.to_string()))?;
    text_of(&bytes).map_err(reason)
}

/// The name of the network and what it is.
fn read_network(network: &mut Section, hosts: u32) -> Result<(&'static str, Model), ScenarioError> {
    let flows = [
        ("constant", ("constant", None)),
        ("cm02", ("cm02", Some(FlowModel::CM02))),
        ("lv08", ("lv08", Some(FlowModel::LV08))),
    ];
    let (name, model) = network.choice("model", &flows, Some(("constant", None)))?;
    let Some(model) = model else {
        let latency: Time = network.or("latency", Time::millis(100))?;
        return Ok((name, Model::Constant { seconds: latency.as_secs_f64(), hosts }));
    };
    let Some(path) = network.file("platform")? else {
        let problem = format!("a network of model {name:?} has links, and no platform says which");
        return Err(network.refuse("platform", problem, "a platform file in SimGrid's XML format"));
    };
    let refuse = |problem: String| network.refuse("platform", problem, "a platform that can be read");
    let platform = read_platform(&path).map_err(refuse)?;
    platform.notices().iter().for_each(|notice| eprintln!("note: {notice}"));
    if let Some((of_file, place)) = &platform.settings().model
        && !of_file.eq_ignore_ascii_case(name)
    {
        eprintln!(
            "note: {place}: the file's network/model is `{of_file}`; network.model = {name:?} replaces it"
        );
    }
    if platform.hosts().is_empty() {
        return Err(refuse(format!("{} has no hosts", path.display())));
    }
    Ok((name, Model::Flows { platform: Box::new(platform), model }))
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

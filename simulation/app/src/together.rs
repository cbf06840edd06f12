//! Runs of several processes: `paceline run --processes N`, `paceline join ADDRESS`, and runs that mpirun or
//! srun starts.
//!
//! The process that a user starts is rank 0. It starts the others here or, by ssh, on other hosts; each of
//! them is a `paceline join` to which rank 0 sends what to run. Rank 0 alone shows progress, writes files and
//! prints the summary. `docs/clusters.md` is the chapter for users.
//!
//! Invariants: a secret never stands on a command line or in the environment; whatever ends rank 0, at
//! whatever moment, the processes that it has started end too (`lifeline.rs`).

mod lifeline;
mod workers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use paceline_engine::CheckpointFile;
use paceline_transport::{Coordinator, Prefer, RendezvousError, Secret, Security, Settings, Transport};
use serde::{Deserialize, Serialize};

use crate::args::together::Link;
pub use crate::args::together::{JoinArguments, Reach, TogetherArguments};
use crate::executable;
use crate::failure::CommandError;
use crate::loaded::{Source, paths};
use lifeline::Lifeline;
use workers::Workers;

/// What rank 0 sends the others, so that they run the same.
#[derive(Debug, Serialize, Deserialize)]
struct Charge {
    source: Source,
    resumed: Option<Checkpoint>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Checkpoint(#[serde(with = "paths")] PathBuf);

/// How this process joins the others of a run; nothing where it runs alone.
pub struct Together {
    /// To all other processes.
    pub transport: Arc<dyn Transport>,
    silence: Duration,
    /// Those that this process has started.
    workers: Option<Workers>,
}

impl Together {
    /// Whether this process shows progress and prints the summary.
    pub fn leads(&self) -> bool {
        self.transport.rank() == 0
    }

    /// How the other processes are reached, and how long one may be silent.
    pub fn link(&self) -> (Arc<dyn Transport>, Duration) {
        (Arc::clone(&self.transport), self.silence)
    }

    /// Leaves the run, and waits for the processes that this one has started; where one of the run `is_lost`,
    /// which may be stopped, ends them.
    pub fn dismiss(self, is_lost: bool) {
        let Self { transport, mut workers, .. } = self;
        transport.close();
        if is_lost {
            workers.iter_mut().for_each(Workers::kill);
        }
        drop((transport, workers));
    }
}

/// Joins the processes that the arguments ask for, or that MPI has started; none if this one runs alone.
pub fn begin(
    arguments: &TogetherArguments,
    source: &Source,
    resumed: Option<&CheckpointFile>,
) -> Result<Option<Together>, CommandError> {
    #[cfg(feature = "mpi")]
    if paceline_transport::is_started_by_mpi() {
        let mpi =
            paceline_transport::Mpi::begin().map_err(|error| CommandError::Together(error.to_string()))?;
        if let Some(ranks) = ranks_of_launcher().filter(|_| mpi.ranks() == 1) {
            return Err(CommandError::Together(format!(
                "started {ranks} times, by mpirun or srun, but alone for the MPI library of this program: use the launcher of that library, or \
                 of srun the plug-in that it was built for (`srun --mpi=list` shows them)"
            )));
        }
        return Ok((mpi.ranks() > 1).then(|| Together {
            transport: Arc::new(mpi),
            silence: arguments.reach.silence,
            workers: None,
        }));
    }
    let hosts = arguments.hosts()?;
    let processes = arguments.processes.unwrap_or(1) + hosts.iter().map(|host| host.processes).sum::<u32>();
    if processes <= 1 {
        #[cfg(not(feature = "mpi"))]
        if let Some(ranks) = ranks_of_launcher() {
            return Err(CommandError::Together(format!(
                "started {ranks} times, by mpirun or srun, but this program was built without MPI: build it with `--features mpi`, or start \
                 one process with `--processes {ranks}`"
            )));
        }
        return Ok(None);
    }
    let failed = |error: &dyn std::fmt::Display| CommandError::Together(error.to_string());
    let from = resumed.map(|file| file.path().to_owned());
    let resumed = from.as_ref().map(std::path::absolute).transpose();
    let charge = Charge {
        source: source.for_elsewhere().map_err(|error| failed(&error))?,
        resumed: resumed.map_err(|error| failed(&error))?.map(Checkpoint),
    };
    let charge = serde_json::to_vec(&charge).map_err(|error| failed(&error))?;
    let words = arguments.secret_words()?;
    let settings = settings(&words, &arguments.reach)?;
    let mut coordinator = Coordinator::listen(arguments.listen.as_str(), processes, &settings)
        .map_err(|error| failed(&error))?;
    let here = arguments.started_here();
    let mut workers = Workers::start(coordinator.address(), here, &hosts, &words, arguments)?;
    for (end, what) in workers.ends() {
        coordinator.watch(end, what);
    }
    if workers.len() + 1 < processes {
        let address = coordinator.address();
        let (more, program) = (processes - 1 - workers.len(), executable::name());
        eprintln!("Waiting for {more} more: {program} join {address}");
    }
    let mesh = coordinator.gather(&charge).map_err(|error| {
        // Those that have not come may be stopped; nobody waits for them.
        workers.kill();
        match error {
            RendezvousError::Ended(_) | RendezvousError::Peer { .. } | RendezvousError::Missing { .. } => {
                CommandError::LostAtStart(error.to_string(), from)
            }
            other => failed(&other),
        }
    })?;
    let (transport, silence) = (Arc::new(mesh), arguments.reach.silence);
    Ok(Some(Together { transport, silence, workers: Some(workers) }))
}

/// Variables in which launchers say how many processes they have started. What srun says counts only where it
/// uses a plug-in for MPI, which a program without MPI cannot want.
#[cfg(feature = "mpi")]
const SIZES: &[&str] = &["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
#[cfg(not(feature = "mpi"))]
const SIZES: &[&str] = &["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// How many processes an MPI launcher has started, if it has started this one and it is not the only one.
fn ranks_of_launcher() -> Option<u32> {
    let number = |name: &&str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    SIZES.iter().find_map(number).filter(|ranks| *ranks > 1)
}

fn settings(words: &[u8], reach: &Reach) -> Result<Settings, CommandError> {
    let secret = Secret::new(words).map_err(|error| CommandError::Together(error.to_string()))?;
    let prefer = match reach.link {
        Link::Auto => Prefer::Auto,
        Link::SharedMemory => Prefer::SharedMemory,
        Link::Tcp => Prefer::Tcp,
    };
    let settings = Settings::new(secret).security(Security::Tls).prefer(prefer);
    Ok(settings.silence_limit(reach.silence).time_limit(reach.within))
}

/// A process that has joined a run, and what it is to run.
pub struct Joined {
    /// What rank 0 runs.
    pub source: Source,
    /// The checkpoint from which the run is resumed.
    pub resumed: Option<CheckpointFile>,
    /// The connection to the other processes of the run.
    pub together: Together,
    /// The watch on rank 0, where that has started this process.
    pub lifeline: Option<Lifeline>,
}

/// Joins a run, with the settings that rank 0 sends.
pub fn meet(arguments: &JoinArguments) -> Result<Joined, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::Together(error.to_string());
    let (lifeline, words) =
        match arguments.lifeline.map(|role| Lifeline::open(role, arguments.reach.within)).transpose()? {
            Some((lifeline, words)) => (Some(lifeline), words),
            None => (None, arguments.secret_words()?),
        };
    let settings = settings(&words, &arguments.reach)?;
    let joined = paceline_transport::join(arguments.address.as_str(), &settings);
    let (mesh, charge) = joined.map_err(|error| match &lifeline {
        Some(lifeline) => lifeline.of_meeting(&error),
        None => failed(&error),
    })?;
    let charge: Charge = serde_json::from_slice(&charge).map_err(|error| failed(&error))?;
    let Charge { mut source, resumed } = charge;
    if let Some(threads) = arguments.threads {
        source.overrides.push(format!("run.threads={threads}"));
    }
    let resumed = resumed.map(|Checkpoint(path)| CheckpointFile::open(&path)).transpose();
    let resumed = resumed.map_err(|error| failed(&error))?;
    let together = Together { transport: Arc::new(mesh), silence: arguments.reach.silence, workers: None };
    Ok(Joined { source, resumed, together, lifeline })
}

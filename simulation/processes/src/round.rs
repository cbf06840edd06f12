//! What an observer of the run receives of a round.
//!
//! `simulation/run.rs` makes a record when a round is answered. What happened between two rounds the core
//! keeps until then (`take_killed` in `core/ends.rs`). Traces and logs of waits are such observers, and so is
//! the check of determinism (`simulation/app/src/process_model`).

use std::fmt;
use std::time::Duration;

use crate::core::{Core, ProcessId, WaitEnd, WaitReason};
use paceline_kernel::{Digest, Time};
use paceline_network::{HostId, Network};

/// A round that is over: the code of its processes has run, and the core has answered what they asked for.
///
/// [`Simulation::observe`](crate::Simulation::observe) shows how to get it.
pub struct RoundRecord<'r> {
    /// The simulated time of the round.
    pub time: Time,
    /// The processes that ran, in the order in which they are answered.
    pub processes: &'r [ProcessId],
    /// How the wait of each of them, in their order, had ended.
    pub outcomes: &'r [WaitEnd],
    /// Whether their code ran on many threads.
    pub is_parallel: bool,
    /// When their code began, in real time since the run began.
    pub start: Duration,
    /// The real time until the code of all of them had run.
    pub code: Duration,
    /// The real time that the core took after that to answer them.
    pub answers: Duration,
    /// Processes that others have ended since the round before, or that went with their host.
    pub killed: &'r [ProcessId],
    pub(crate) world: &'r dyn World,
}

impl RoundRecord<'_> {
    /// The name of a process; nothing where it had ended before this round.
    pub fn name(&self, process: ProcessId) -> &str {
        self.world.name(process)
    }

    /// The digest of all that has happened up to the end of the round.
    pub fn digest(&self) -> Digest {
        self.world.digest()
    }

    /// The host of a process; `None` where it had ended before this round.
    pub fn host(&self, process: ProcessId) -> Option<HostId> {
        self.world.host(process)
    }

    /// What a process waits for after the round, as a kind and a name; `None` where it has ended, or is to
    /// have another turn at once.
    pub fn wait(&self, process: ProcessId) -> Option<WaitReason> {
        self.world.wait(process)
    }

    /// What a process waits for after the round, in words; `None` where it has ended.
    pub fn waits_for(&self, process: ProcessId) -> Option<String> {
        self.world.waits_for(process)
    }
}

impl fmt::Debug for RoundRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, processes, is_parallel, start, code, answers, killed, .. } = self;
        let mut record = f.debug_struct("RoundRecord");
        record.field("time", time).field("processes", processes).field("is_parallel", is_parallel);
        record.field("start", start).field("code", code).field("answers", answers);
        record.field("killed", killed).finish_non_exhaustive()
    }
}

/// What a core knows of its processes, whatever its messages and its network are.
pub(crate) trait World {
    fn digest(&self) -> Digest;
    fn name(&self, process: ProcessId) -> &str;
    fn host(&self, process: ProcessId) -> Option<HostId>;
    fn wait(&self, process: ProcessId) -> Option<WaitReason>;
    fn waits_for(&self, process: ProcessId) -> Option<String>;
}

impl<P, N: Network> World for Core<P, N> {
    fn digest(&self) -> Digest {
        Core::digest(self)
    }

    fn name(&self, process: ProcessId) -> &str {
        self.try_about(process).map_or("", |(name, _)| name)
    }

    fn host(&self, process: ProcessId) -> Option<HostId> {
        self.try_about(process).map(|(_, host)| host)
    }

    fn wait(&self, process: ProcessId) -> Option<WaitReason> {
        self.wait_of(process)
    }

    fn waits_for(&self, process: ProcessId) -> Option<String> {
        Core::waits_for(self, process)
    }
}

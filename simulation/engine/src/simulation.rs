//! The builder of a run: a model, a method for each setting, and [`Simulation::run`].
//!
//! To add a setting, add a field and a method here, and use it in `run/build.rs` or, where it matters between
//! legs, in `run/course.rs`.

use std::fmt;
use std::sync::Arc;

use paceline_kernel::{Balance, Model, TieBreak, Time, World};
use serde::Serialize;

use crate::checkpoint::Codec;
use crate::peers::Processes;
use crate::watch::lvt::Publishing;
use crate::watch::observer::Observing;
use crate::watch::trace::Tracing;
use crate::{
    CheckpointError, Checkpoints, Gauges, Monitor, Observer, Outside, Protocol, Report, Run, RunError,
    Speculation, TraceSink,
};

/// The function that is called with the reason why a checkpoint could not be written.
type FailureListener = Box<dyn Fn(&CheckpointError) + Send + Sync>;

/// A model and how to run it.
pub struct Simulation<M: Model> {
    pub(crate) model: M,
    pub(crate) protocol: Protocol,
    pub(crate) federates: Option<u32>,
    pub(crate) groups: Option<u32>,
    pub(crate) trials: bool,
    pub(crate) threads: Option<u32>,
    pub(crate) until: Time,
    pub(crate) step: Option<Time>,
    pub(crate) pace: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) ties: TieBreak,
    pub(crate) pin: bool,
    pub(crate) monitor: Monitor,
    pub(crate) speculation: Speculation,
    pub(crate) tracing: Tracing,
    pub(crate) observer: Option<Observing<M>>,
    /// Federates that are run outside, until the run starts.
    pub(crate) outside: Vec<(u32, Outside<M>)>,
    pub(crate) publishing: Publishing,
    /// The other processes that it is to join.
    pub(crate) processes: Processes<M>,
    pub(crate) checkpoints: Option<(Checkpoints, Codec<M>)>,
    /// The function that is called for checkpoints that cannot be written, if these do not end the run.
    pub(crate) checkpoint_failed: Option<FailureListener>,
    pub(crate) resumed: Option<World<M>>,
    /// In tests: a leg ends after this many events.
    pub(crate) leg_events: Option<u64>,
    pub(crate) balance: Balance,
    /// In tests: at every pause LPs move at random, drawn from this seed.
    pub(crate) shuffle: Option<u64>,
    /// In tests: under `auto`, every leg is run in a way drawn from this seed.
    pub(crate) draws: Option<u64>,
}

impl<M: Model + fmt::Debug> fmt::Debug for Simulation<M> {
    /// The model and how it is run; of a run to be resumed, how far it has come.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("model", &self.model)
            .field("protocol", &self.protocol)
            .field("federates", &self.federates)
            .field("groups", &self.groups)
            .field("trials", &self.trials)
            .field("threads", &self.threads)
            .field("until", &self.until)
            .field("step", &self.step)
            .field("pace", &self.pace)
            .field("seed", &self.seed)
            .field("ties", &self.ties)
            .field("pin", &self.pin)
            .field("monitor", &self.monitor)
            .field("balance", &self.balance)
            .field("checkpoints", &self.checkpoints.as_ref().map(|(checkpoints, _)| checkpoints))
            .field("resumed", &self.resumed.as_ref().map(World::last))
            .finish_non_exhaustive()
    }
}

impl<M: Model> Simulation<M> {
    /// A run of `model` with the fastest protocol, on as many threads as the process may use cores, without a
    /// horizon.
    pub fn new(model: M) -> Self {
        Self {
            model,
            protocol: Protocol::Auto,
            federates: None,
            groups: None,
            // A run that is left alone is to be fast: what that takes depends on the machine, and is found by
            // trying.
            trials: true,
            threads: None,
            until: Time::MAX,
            step: None,
            pace: None,
            seed: 1,
            ties: TieBreak::Fixed,
            pin: false,
            monitor: Monitor::new(),
            checkpoints: None,
            checkpoint_failed: None,
            resumed: None,
            leg_events: None,
            balance: Balance::Off,
            shuffle: None,
            draws: None,
            speculation: Speculation::default(),
            tracing: Tracing::default(),
            observer: None,
            outside: Vec::new(),
            publishing: Publishing::default(),
            processes: Processes::default(),
        }
    }

    /// The protocol that keeps federates in step; [`Protocol::Auto`] unless said. The result does not depend
    /// on it. A protocol that needs a lookahead is refused at the start where the model declares none
    /// ([`RunError::NoLookahead`]).
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Into how many federates the LPs are dealt; four per thread unless said, one for a single thread.
    /// Allowed: from 1 to the number of LPs. The digest does not depend on it.
    pub fn federates(mut self, federates: u32) -> Self {
        self.federates = Some(federates);
        self
    }

    /// Neighbouring federates are merged into at most so many groups, each of which is worked off as one;
    /// unless said, into four a thread where they wait for each other, into one a thread where they run
    /// ahead. Fewer groups cost less; more even out loads. Null messages are between federates, which are
    /// left as they are.
    pub fn groups(mut self, groups: u32) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Whether the run may try while it goes on in what way it is faster, as it does unless said: under
    /// [`Protocol::Auto`] with any protocol, under [`Protocol::Optimistic`] and [`Protocol::Mixed`] with
    /// other groups and, since rollbacks may cost more than other cores bring, sequentially. What was
    /// tried is in [`Report::tried`]. Nothing is tried where what `undo` and `Clone` do is checked.
    pub fn trials(mut self, trials: bool) -> Self {
        self.trials = trials;
        self
    }

    /// How many worker threads, from 1 to [`crate::MOST_THREADS`]. Unless said, the cores that affinity and
    /// cgroup quota leave the process; then the number follows these while the run goes on.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The horizon: events at or after it do not happen. Unless said there is none, and the run ends when no
    /// events are left.
    pub fn until(mut self, until: Time) -> Self {
        self.until = until;
        self
    }

    /// The step of [`Protocol::TimeStep`]; the lookahead unless said. Allowed: above zero, at most the
    /// lookahead ([`RunError::Step`]).
    pub fn step(mut self, step: Time) -> Self {
        self.step = Some(step);
        self
    }

    /// Ties simulated time to real time: `factor` simulated seconds a second, from the first call that runs
    /// on. Nothing happens before it is due; a run that is late runs as fast as it can until it has
    /// caught up, and leaves nothing out ([`Report::lateness`]). So people, hardware and virtual machines
    /// can take part, through [`Run::sender`].
    pub fn pace(mut self, factor: f64) -> Self {
        self.pace = Some(factor);
        self
    }

    /// The seed of all random streams; 1 unless said. The result depends on it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How simultaneous events are ordered; [`TieBreak::Fixed`] unless said. The result depends on it.
    pub fn ties(mut self, ties: TieBreak) -> Self {
        self.ties = ties;
        self
    }

    /// Pins worker threads to cores, one after the other; where the run has several processes, in the order
    /// of their ranks. The run ends with [`RunError::Threads`] where the system refuses it.
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// Watches and stops the run through `monitor`.
    pub fn monitor(mut self, monitor: &Monitor) -> Self {
        self.monitor = monitor.clone();
        self
    }

    /// Writes checkpoints while it runs, and one when it is stopped. A run that ends well leaves the last one
    /// as it is.
    pub fn checkpoint(mut self, checkpoints: Checkpoints) -> Self
    where
        M::State: Serialize,
        M::Event: Serialize,
        M::Output: Serialize,
    {
        self.checkpoints = Some((checkpoints, Codec::new()));
        self
    }

    /// Lets the run go on where a checkpoint cannot be written, as on a full disk: `listener` gets the
    /// reason, on the thread that called the run. The last complete checkpoint stays, and the next is tried
    /// when it is due. Without this the run ends with [`RunError::Checkpoint`]. A file that cannot even be
    /// made ends it before its first event in any case.
    pub fn on_checkpoint_failure(
        mut self,
        listener: impl Fn(&CheckpointError) + Send + Sync + 'static,
    ) -> Self {
        self.checkpoint_failed = Some(Box::new(listener));
        self
    }

    /// Resumes a run from a checkpoint, see [`crate::CheckpointFile::world`]. Model, seed and order of ties
    /// are to be those of that run, or it is refused ([`RunError::OtherRun`]); all else may differ.
    pub fn resume(mut self, world: World<M>) -> Self {
        self.resumed = Some(world);
        self
    }

    /// Lets the run pause whenever `events` events more are committed: for tests of pauses.
    #[doc(hidden)]
    pub fn leg_events(mut self, events: u64) -> Self {
        self.leg_events = Some(events);
        self
    }

    /// Whether LPs move between federates while it runs, those of other processes among them, and why. The
    /// result stays; a sequential run has one federate, and nothing moves.
    pub fn balance(mut self, balance: Balance) -> Self {
        self.balance = balance;
        self
    }

    /// Moves LPs at random whenever the run pauses: for tests.
    #[doc(hidden)]
    pub fn shuffle_lps(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// Under [`Protocol::Auto`], draws the protocol anew whenever the run pauses: for tests.
    #[doc(hidden)]
    pub fn draw_protocols(mut self, seed: u64) -> Self {
        self.draws = Some(seed);
        self
    }

    /// How optimistic and mixed runs speculate: speed and memory, never the result. Under
    /// these protocols, settings that the model cannot have are refused at the start.
    pub fn speculation(mut self, speculation: Speculation) -> Self {
        self.speculation = speculation;
        self
    }

    /// Gives `sink` records of what the workers do when, in bunches, from all workers at the same time.
    pub fn trace(mut self, sink: Arc<dyn TraceSink>) -> Self {
        self.tracing.set_sink(sink);
        self
    }

    /// Keeps `gauges` of the federates, to be read by anybody while the run goes on.
    pub fn gauges(mut self, gauges: &Gauges) -> Self {
        self.tracing.set_gauges(gauges.clone());
        self
    }

    /// Calls `observer` for what happens while it happens.
    pub fn observe(mut self, observer: Arc<dyn Observer<M>>) -> Self
    where
        M: 'static,
    {
        self.observer = Some(Observing::by(observer));
        self
    }

    /// Has the LPs of federate `federate`, of as many as there are ([`Simulation::federates`]), run outside.
    /// The result stays, if that one does what the model would do. Needs a lookahead; federates are not
    /// merged, and no LPs move.
    pub fn outside(mut self, federate: u32, outside: Outside<M>) -> Self
    where
        M: 'static,
    {
        self.outside.push((federate, outside));
        self
    }

    /// Starts it, to be run on step by step. Errors: settings that cannot work, or a model whose `init`
    /// breaks a rule.
    pub fn start(self) -> Result<Run<M>, RunError> {
        Run::start(self)
    }

    /// Runs it. Errors: a model that breaks a rule or panics while it handles an event ([`RunError::Rule`],
    /// [`RunError::Event`]), or settings that cannot work.
    pub fn run(self) -> Result<Report<M::Output>, RunError> {
        crate::run::run(self).map(|(report, _)| report)
    }

    /// As [`Simulation::run`], with the same errors, and hands the model back too, for its parameters.
    pub fn run_keeping_model(self) -> Result<(Report<M::Output>, M), RunError> {
        crate::run::run(self)
    }
}

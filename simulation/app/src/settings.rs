//! The `[run]` section: how a model is run.
//!
//! What depends on the model is checked once there is one ([`RunSettings::check`]), at the key's place in the
//! file and before anything runs; what the engine refuses after that names the key too
//! ([`RunSettings::refused`]).
//!
//! To add a key of `[run]`, read it here and pass it to `Simulation` (`engine/src/simulation.rs`). It is no
//! option of the program: `--set run.KEY=VALUE` gives it. Processes have keys of their own
//! (`process_model/settings.rs`), and replications read some before a run does (`replicate/plan.rs`).

pub mod changes;
pub mod frames;
mod refused;
pub mod speculation;

use std::path::Path;
use std::time::Duration;

use changes::ScheduledChange;
use paceline_engine::{MOST_THREADS, Monitor, Protocol, Simulation, Speculation, default_federates};
use paceline_kernel::{Balance, Model, TieBreak, Time};
use paceline_scenario::{Scenario, ScenarioError, Section};
use paceline_transport::marshal::Marshalling;

/// How a model is run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The horizon; none for a run to the last event.
    pub until: Option<Time>,
    /// The protocol, or that the engine chooses one.
    pub protocol: Protocol,
    /// Federates; as the engine sees fit unless said.
    pub federates: Option<u32>,
    /// The most groups that federates are merged into; as the engine sees fit unless said.
    pub groups: Option<u32>,
    /// Whether a run may try other ways to run than it began with.
    pub trials: bool,
    /// Worker threads; as many as cores unless said.
    pub threads: Option<u32>,
    /// What random numbers are drawn from.
    pub seed: u64,
    /// The step of the time-step protocol; the lookahead unless said.
    pub step: Option<Time>,
    /// Whether simultaneous events are ordered at random.
    pub random_ties: bool,
    /// Whether each worker thread stays on a core.
    pub pin: bool,
    /// Real time from one checkpoint to the next; none unless said.
    pub checkpoint: Option<Duration>,
    /// How optimistic and mixed runs speculate.
    pub speculation: Speculation,
    /// Whether LPs move between federates, and why.
    pub balance: Balance,
    /// The changes of the model's parameters that the scenario has.
    pub changes: Vec<ScheduledChange>,
    /// Whether a run may begin that seems to need more memory than there is.
    pub exceed_memory: bool,
    /// How messages to other processes are gathered in frames.
    pub marshalling: Marshalling,
    /// The section that they were read from, for the places of its keys.
    pub(crate) section: Section,
}

/// What is said of the key `queue` and of the option `--queue`, which there were once.
pub const NO_QUEUE: &str = "the queue is no longer chosen: every run has the bucket queue";

/// The numbers of groups that are allowed.
const GROUPS: &str = "a whole number from 1";

fn threads_allowed() -> String {
    format!("a whole number from 1 to {MOST_THREADS}")
}

impl RunSettings {
    /// The names of all keys.
    pub fn keys() -> Vec<String> {
        let empty = Scenario::parse("", "", Path::new(""), &[]).and_then(|mut empty| empty.section("run"));
        let keys =
            empty.and_then(|mut run| Self::read(&mut run).map(|_| run.asked().map(str::to_owned).collect()));
        keys.expect("no key is required, and none that is missing is wrong")
    }

    /// Reads the keys.
    pub fn read(run: &mut Section) -> Result<Self, ScenarioError> {
        let protocols = Protocol::ALL.map(|(protocol, name, _)| (name, protocol));
        if run.has("queue") {
            return Err(run.unknown("queue", NO_QUEUE, &["[run] without `queue`"]));
        }
        let settings = Self {
            until: run.optional("until")?,
            protocol: run.choice("protocol", &protocols, Some(Protocol::Auto))?,
            federates: run.optional_within("federates", "a whole number from 1 to the number of LPs")?,
            groups: run.optional_within("groups", GROUPS)?,
            trials: run.or("trials", true)?,
            threads: run.optional_within("threads", &threads_allowed())?,
            seed: run.or("seed", 1)?,
            step: run.optional("step")?,
            random_ties: run.choice("ties", &[("fixed", false), ("random", true)], Some(false))?,
            pin: run.or("pin", false)?,
            checkpoint: run
                .optional::<Time>("checkpoint")?
                .map(|every| Duration::from_nanos(every.as_nanos())),
            speculation: speculation::read(run)?,
            balance: run.choice(
                "balance",
                &Balance::ALL.map(|(balance, name)| (name, balance)),
                Some(Balance::Off),
            )?,
            changes: changes::read(run)?,
            exceed_memory: run.or("exceed_memory", false)?,
            marshalling: frames::read(run)?,
            section: run.clone(),
        };
        if settings.checkpoint.is_some_and(|every| every.is_zero()) {
            let problem = "checkpoints without time between them";
            return Err(run.refuse("checkpoint", problem, "a duration above zero, such as \"10s\""));
        }
        if settings.groups == Some(0) {
            let problem = "federates cannot be merged into 0 groups";
            return Err(run.refuse("groups", problem, GROUPS));
        }
        changes::check_end(&settings.changes, settings.until)?;
        match settings.threads {
            Some(threads) if !(1..=MOST_THREADS).contains(&threads) => {
                Err(run.refuse("threads", format!("a run on {threads} threads"), threads_allowed()))
            }
            _ => Ok(settings),
        }
    }

    /// Checks what depends on the model.
    pub fn check<M: Model>(&self, run: &Section, model: &M) -> Result<(), ScenarioError> {
        let (lps, lookahead) = (model.lps(), model.lookahead());
        let latest = model.latest_horizon();
        if let Some(until) = self.until.filter(|until| *until > latest) {
            let problem = format!("the model's times reach {latest}, and `until` is {until}");
            return Err(run.refuse("until", problem, format!("a time up to \"{latest}\"")));
        }
        match self.federates {
            Some(federates) if federates == 0 || federates > lps => {
                let problem = format!("{lps} LPs cannot be dealt to {federates} federates");
                return Err(run.refuse("federates", problem, format!("a whole number from 1 to {lps}")));
            }
            _ => {}
        }
        speculation::check(&self.speculation, run, model)?;
        if self.protocol == Protocol::Sequential {
            return Ok(());
        }
        if lookahead == Time::ZERO && !matches!(self.protocol, Protocol::Auto | Protocol::Optimistic) {
            let name = self.protocol.name();
            let problem = format!("protocol {name:?} needs a lookahead above zero, and the model has none");
            let allowed = "\"auto\", \"sequential\", \"optimistic\", or a model with a lookahead above zero";
            return Err(run.refuse("protocol", problem, allowed));
        }
        match self.step {
            Some(step) if step == Time::ZERO || step > lookahead => {
                let problem = format!("a time step of {step} with a lookahead of {lookahead}");
                let allowed = match lookahead {
                    Time::ZERO => "no step, as the model has no lookahead".to_owned(),
                    _ => format!("a duration above zero, at most \"{lookahead}\""),
                };
                return Err(run.refuse("step", problem, allowed));
            }
            _ => {}
        }
        if !self.may_speculate() {
            return Ok(());
        }
        speculation::check_memory(&self.speculation, run, model, self.federates_of(lps))
    }

    /// Whether what is run may have to be rolled back.
    pub fn may_speculate(&self) -> bool {
        matches!(self.protocol, Protocol::Auto | Protocol::Optimistic | Protocol::Mixed)
    }

    /// A warning of what makes a run many times slower, where that is asked for.
    pub fn slow_check(&self) -> Option<String> {
        let checks = self.speculation.check_rollback && self.may_speculate();
        checks.then(|| {
            "check_rollback = true handles every event twice and compares the states as texts: that is for finding mistakes in \
             small runs, and can take 100 times as long"
                .to_owned()
        })
    }

    /// How many federates the engine will deal `lps` LPs to.
    pub fn federates_of(&self, lps: u32) -> u32 {
        self.federates.unwrap_or_else(|| default_federates(lps, self.threads))
    }

    /// How simultaneous events are ordered.
    pub fn ties(&self) -> TieBreak {
        if self.random_ties { TieBreak::Random(self.seed) } else { TieBreak::Fixed }
    }

    /// The run of `model` that this describes, watched by `monitor`.
    pub fn simulation<M: Model>(&self, model: M, monitor: &Monitor) -> Simulation<M> {
        let mut simulation = Simulation::new(model)
            .protocol(self.protocol)
            .seed(self.seed)
            .ties(self.ties())
            .pin(self.pin)
            .trials(self.trials)
            .speculation(self.speculation.clone())
            .balance(self.balance)
            .marshalling(self.marshalling)
            .until(self.until.unwrap_or(Time::MAX))
            .monitor(monitor);
        if let Some(federates) = self.federates {
            simulation = simulation.federates(federates);
        }
        if let Some(groups) = self.groups {
            simulation = simulation.groups(groups);
        }
        if let Some(threads) = self.threads {
            simulation = simulation.threads(threads);
        }
        match self.step {
            Some(step) => simulation.step(step),
            None => simulation,
        }
    }
}

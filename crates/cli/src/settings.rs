//! The `[run]` section: how a model is run.
//!
//! What depends on the model is checked once there is one ([`RunSettings::check`]), at the key's place in the file and
//! before anything runs.

use paceline_engine::{Monitor, QueueKind, Simulation, Sync};
use paceline_kernel::{Model, TieBreak, Time};
use paceline_scenario::{ScenarioError, Section};

const MOST_THREADS: u32 = 4096;

/// How a model is run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The horizon.
    pub until: Option<Time>,
    /// The synchronization protocol.
    pub protocol: Sync,
    /// Federates; as the engine sees fit unless said.
    pub federates: Option<u32>,
    /// Worker threads; as many as cores unless said.
    pub threads: Option<u32>,
    /// The event queue.
    pub queue: QueueKind,
    /// The seed of all random streams.
    pub seed: u64,
    /// The step of the time-step protocol; the lookahead unless said.
    pub step: Option<Time>,
    /// Whether simultaneous events are ordered at random.
    pub random_ties: bool,
    /// Whether threads are pinned to cores.
    pub pin: bool,
}

impl RunSettings {
    /// Reads the keys.
    pub fn read(run: &mut Section) -> Result<Self, ScenarioError> {
        let protocols = Sync::ALL.map(|(protocol, name, _)| (name, protocol));
        let queues = QueueKind::ALL.map(|(queue, name, _)| (name, queue));
        let settings = Self {
            until: run.optional("until")?,
            protocol: run.choice("protocol", &protocols, Some(Sync::Window))?,
            federates: run.optional("federates")?,
            threads: run.optional("threads")?,
            queue: run.choice("queue", &queues, Some(QueueKind::default()))?,
            seed: run.or("seed", 1)?,
            step: run.optional("step")?,
            random_ties: run.choice("ties", &[("fixed", false), ("random", true)], Some(false))?,
            pin: run.or("pin", false)?,
        };
        match settings.threads {
            Some(threads) if !(1..=MOST_THREADS).contains(&threads) => {
                let allowed = format!("a whole number from 1 to {MOST_THREADS}");
                Err(run.refuse("threads", format!("a run on {threads} threads"), allowed))
            }
            _ => Ok(settings),
        }
    }

    /// Checks what depends on the model.
    pub fn check(&self, run: &Section, lps: u32, lookahead: Time) -> Result<(), ScenarioError> {
        match self.federates {
            Some(federates) if federates == 0 || federates > lps => {
                let problem = format!("{lps} LPs cannot be dealt to {federates} federates");
                return Err(run.refuse("federates", problem, format!("a whole number from 1 to {lps}")));
            }
            _ => {}
        }
        if self.protocol == Sync::Sequential {
            return Ok(());
        }
        if lookahead == Time::ZERO {
            let name = self.protocol.name();
            let problem = format!("protocol {name:?} needs a lookahead above zero, and the model has none");
            return Err(run.refuse(
                "protocol",
                problem,
                "\"sequential\", or a model with a lookahead above zero",
            ));
        }
        match self.step {
            Some(step) if step == Time::ZERO || step > lookahead => {
                let problem = format!("a time step of {step} with a lookahead of {lookahead}");
                Err(run.refuse("step", problem, format!("a duration above zero, at most \"{lookahead}\"")))
            }
            _ => Ok(()),
        }
    }

    /// The run of `model` that this describes, watched by `monitor`.
    pub fn simulation<M: Model>(&self, model: M, monitor: &Monitor) -> Simulation<M> {
        let ties = if self.random_ties { TieBreak::Random(self.seed) } else { TieBreak::Fixed };
        let mut simulation = Simulation::new(model)
            .sync(self.protocol)
            .queue(self.queue)
            .seed(self.seed)
            .ties(ties)
            .pin(self.pin)
            .until(self.until.unwrap_or(Time::MAX))
            .monitor(monitor);
        if let Some(federates) = self.federates {
            simulation = simulation.federates(federates);
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

//! What remains when all federates are done: the results of the simulation, and its costs.
//!
//! Invariant: the results - digest, events, last event, output - are those of the engine for the same model
//! and seed.

use std::any::Any;

use paceline_kernel::{Digest, EventError, Model, Rollbacks, Time};
use thiserror::Error;

use super::{Driver, FederateProgram, Series};
use crate::Program;

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome<O> {
    /// Over committed events and final states.
    pub digest: Digest,
    /// Committed; what was rolled back does not count.
    pub events: u64,
    /// The time of the latest of them.
    pub last: Time,
    /// What the model left behind, by federate.
    pub outputs: Vec<O>,
    /// Statistics of optimistic execution; of optimistic federates only.
    pub rollbacks: Option<Rollbacks>,
    /// Rounds of reductions that gave a new bound or GVT.
    pub rounds: u64,
    /// Passes that found messages on their way and had to be repeated.
    pub repeats: u64,
    /// Packets of events and anti-messages sent.
    pub packets: u64,
    /// Messages of reductions sent.
    pub notes: u64,
    /// LVTs put on shared pages.
    pub reports: u64,
    /// Events over real time, by federate.
    pub series: Vec<Series>,
}

/// Why there is no outcome. The run is over: nothing of its results can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum OutcomeError {
    /// The model broke a rule or panicked.
    #[error(transparent)]
    Event(EventError),
    /// A federate was not done when the machine stopped.
    #[error("federate {federate} is not done: it waits for {waits_for}")]
    Unfinished { federate: u32, waits_for: String },
    /// A program is no federate of this model.
    #[error("program {0} is not a federate of this model")]
    Foreign(usize),
}

/// Joins what the federates made by [`super::federates`] have left behind.
pub fn collect<M: Model + 'static>(
    programs: impl IntoIterator<Item = Box<dyn Program>>,
) -> Result<Outcome<M::Output>, OutcomeError> {
    let mut federates = Vec::new();
    for (number, program) in programs.into_iter().enumerate() {
        let program: Box<dyn Any> = program;
        let program = program.downcast::<FederateProgram<M>>();
        federates.push(program.map_err(|_| OutcomeError::Foreign(number))?);
    }
    // First, since a failure is the reason why other federates are not done.
    if let Some(trouble) = federates.iter_mut().find_map(|program| program.trouble()) {
        return Err(OutcomeError::Event(trouble));
    }
    if let Some(program) = federates.iter().find(|program| !program.desk.done) {
        let waits_for = program.waits_for();
        return Err(OutcomeError::Unfinished { federate: program.id(), waits_for });
    }
    let mut outcome = Outcome {
        digest: Digest::default(),
        events: 0,
        last: Time::ZERO,
        outputs: Vec::new(),
        rollbacks: None,
        rounds: 0,
        repeats: 0,
        packets: 0,
        notes: 0,
        reports: 0,
        series: Vec::new(),
    };
    for program in federates {
        let FederateProgram { desk, driver, .. } = *program;
        let federate = match driver {
            Driver::Conservative(conservative) => conservative.federate,
            Driver::Optimistic(optimistic) => {
                let (federate, rollbacks) = optimistic.warp.settle();
                outcome.rollbacks.get_or_insert_default().join(&rollbacks);
                federate
            }
        };
        let finished = federate.finish(&desk.model);
        outcome.digest.join(finished.digest);
        outcome.events += finished.events;
        outcome.last = outcome.last.max(finished.last);
        outcome.outputs.push(finished.output);
        // Rounds are common to all federates; packets and notes are of one federate each.
        outcome.rounds = outcome.rounds.max(desk.tally.rounds);
        outcome.repeats = outcome.repeats.max(desk.tally.repeats);
        outcome.packets += desk.tally.packets;
        outcome.notes += desk.tally.notes;
        outcome.reports += desk.tally.reports;
        outcome.series.push(desk.tally.series);
    }
    Ok(outcome)
}

//! Federates of a parallel discrete-event simulation, one a guest process: the kernel's federates, driven by
//! messages.
//!
//! A federate runs the same code here as in the engine. Its work is done at once when the machine asks its
//! program for the next [`Op`]; the program answers with the CPU time of that work and the messages to send.
//! So the results of the simulation do not depend on the machine, and the machine knows nothing of the
//! simulation.
//!
//! - `conservative`: windows of safe events, and a reduction for LBTS after each;
//! - `optimistic`: Time Warp, with reductions for GVT during which all federates continue;
//! - `allreduce`, `transit`: reductions by messages, and what counts messages that are on their way;
//! - `letter`, `desk`: packets, and what all federates have in common.
//!
//! Invariant: the digest is that of the engine for the same model and seed, whatever delays messages have.

mod allreduce;
mod conservative;
mod desk;
mod letter;
mod optimistic;
mod outcome;
mod series;
mod settings;
#[cfg(test)]
mod test;
mod transit;

use std::fmt;
use std::sync::Arc;

use paceline_kernel::{
    Channels, EventError, Federate, LpId, Model, Optimism, Partition, Saving, Settings, Time, Warp,
};

use conservative::Conservative;
use desk::Desk;
use optimistic::Optimistic;
pub use outcome::{Outcome, OutcomeError, collect};
pub use series::Series;
pub use settings::{FederatesError, GuestSettings, Protocol, Reduction, Reported};

use crate::{Guest, Op, ProcessId, Program};

/// The program of one federate.
pub struct FederateProgram<M: Model> {
    id: u32,
    started: bool,
    desk: Desk<M>,
    driver: Driver<M>,
}

enum Driver<M: Model> {
    Conservative(Box<Conservative<M>>),
    Optimistic(Box<Optimistic<M>>),
}

/// One program for each federate of `partition`. Federate `k` is to be process `first` + `k` of the machine.
///
/// After the run [`collect`] gives the results.
///
/// ```
/// use std::sync::Arc;
/// use paceline_kernel::{Context, LpId, Model, Settings, TieBreak, Time};
/// use paceline_machine::ProcessId;
/// use paceline_machine::guests::federate::{GuestSettings, Reduction, federates};
///
/// /// Two LPs that pass a token to and fro, once a second.
/// struct Pair;
///
/// impl Model for Pair {
///     type State = u64;
///     type Event = ();
///     type Output = ();
///     fn lps(&self) -> u32 {
///         2
///     }
///     fn lookahead(&self) -> Time {
///         Time::secs(1)
///     }
///     fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 {
///         if lp == LpId(0) {
///             cx.schedule(Time::ZERO, ());
///         }
///         0
///     }
///     fn handle(&self, seen: &mut u64, _token: &(), cx: &mut Context<Self>) {
///         *seen += 1;
///         cx.send(LpId(1 - cx.lp().0), Time::secs(1), ());
///     }
/// }
///
/// let model = Arc::new(Pair);
/// let partition = Arc::new(model.partition(2));
/// let settings = Settings { seed: 1, ties: TieBreak::Fixed, window: model.lookahead() };
/// let guests = GuestSettings {
///     until: Time::secs(100),
///     reduction: Reduction::Butterfly,
///     ..GuestSettings::default()
/// };
/// let programs = federates(model, partition, settings, guests, ProcessId(0))?;
/// assert_eq!(programs.len(), 2);
/// # Ok::<(), paceline_machine::guests::federate::FederatesError>(())
/// ```
pub fn federates<M: Model + 'static>(
    model: Arc<M>,
    partition: Arc<Partition>,
    settings: Settings,
    guests: GuestSettings,
    first: ProcessId,
) -> Result<Vec<Box<dyn Program>>, FederatesError> {
    check(&*model, &partition, &guests)?;
    let federates = Federate::<M>::build(&model, &partition, settings)?;
    let guests = Arc::new(guests);
    let reached = reached(&*model, &partition);
    let program = |federate: Federate<M, _>| {
        let id = federate.id();
        let desk = Desk::new(Arc::clone(&model), Arc::clone(&partition), Arc::clone(&guests), id, first);
        let bound = if reached[id as usize] { Time::ZERO } else { guests.until };
        let driver = match &guests.sync {
            Protocol::Optimistic(optimism) => {
                let warp = Warp::new(federate, optimism);
                Driver::Optimistic(Box::new(Optimistic::new(warp, model.lookahead())))
            }
            Protocol::Conservative => Driver::Conservative(Box::new(Conservative::new(federate, bound))),
        };
        Box::new(FederateProgram { id, started: false, desk, driver }) as Box<dyn Program>
    };
    Ok(federates.into_iter().map(program).collect())
}

/// By federate: whether messages of another one may come, by the model's channels.
fn reached<M: Model>(model: &M, partition: &Partition) -> Vec<bool> {
    let mut reached = vec![false; partition.federates() as usize];
    for lp in (0..partition.lps()).map(LpId) {
        let from = partition.place(lp).0;
        match model.channels(lp) {
            // It reaches every other federate; for its own one the channels exclude nothing.
            Channels::All => return vec![partition.federates() > 1; reached.len()],
            Channels::Only(others) => {
                let to = others.iter().map(|(other, _)| partition.place(*other).0);
                to.filter(|to| *to != from).for_each(|to| reached[to as usize] = true);
            }
        }
    }
    reached
}

fn check<M: Model>(model: &M, partition: &Partition, guests: &GuestSettings) -> Result<(), FederatesError> {
    if partition.lps() != model.lps() {
        return Err(FederatesError::Partition { partition: partition.lps(), model: model.lps() });
    }
    if let Protocol::Optimistic(Optimism { optimistic: Some(table), .. }) = &guests.sync
        && table.len() != model.lps() as usize
    {
        return Err(FederatesError::Table { table: table.len(), model: model.lps() });
    }
    let fan_in = if let Reduction::Tree { fan_in } = guests.reduction { fan_in } else { 1 };
    let numbers = [
        ("batch", guests.batch),
        ("per_packet", guests.per_packet),
        ("fan_in", fan_in),
        ("reports_per_lookahead", guests.reports_per_lookahead),
    ];
    if let Some((what, _)) = numbers.into_iter().find(|(_, number)| *number == 0) {
        return Err(FederatesError::Zero { what });
    }
    match &guests.sync {
        Protocol::Conservative if model.lookahead() == Time::ZERO => Err(FederatesError::NoLookahead),
        Protocol::Optimistic(optimism) if optimism.saving == Saving::Undo && M::UNDO.is_none() => {
            Err(FederatesError::NoUndo)
        }
        _ => Ok(()),
    }
}

impl<M: Model + 'static> FederateProgram<M> {
    /// Its number in the partition.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What went wrong, if anything did.
    fn trouble(&self) -> Option<EventError> {
        match &self.driver {
            Driver::Conservative(conservative) => conservative.federate.trouble(),
            Driver::Optimistic(optimistic) => optimistic.trouble.as_deref().cloned(),
        }
    }
}

impl<M: Model + 'static> Program for FederateProgram<M> {
    fn next(&mut self, guest: &mut Guest<'_>) -> Op {
        if !self.started {
            self.started = true;
            self.desk.start(guest);
        }
        loop {
            // What earlier work queued goes first, in the order of that work.
            if let Some(op) = self.desk.next_op(guest) {
                return op;
            }
            if self.desk.done {
                return Op::Done;
            }
            match &mut self.driver {
                Driver::Conservative(conservative) => conservative.turn(&mut self.desk, guest),
                Driver::Optimistic(optimistic) => optimistic.turn(&mut self.desk, guest),
            }
        }
    }

    fn waits_for(&self) -> String {
        self.desk.awaits()
    }
}

impl<M: Model> fmt::Debug for FederateProgram<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FederateProgram").field("id", &self.id).finish_non_exhaustive()
    }
}

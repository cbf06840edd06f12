//! Does a model give the same result twice? Two runs side by side, compared after every event.
//!
//! A model whose `init` or `handle` looks at a clock, a global, an address or a hash-ordered map has results
//! that nobody can repeat. [`compare`] runs two of the same model sequentially and in lockstep, stops at the
//! first event after which they differ, and says what differs: the LP's state, a message sent, or the number
//! of random numbers drawn. Values are compared by `Hash`, and by `Debug` in the first 65,536 events and one
//! in 64 after them. From time to time all states are looked at: one that has changed without an event of its
//! LP is shared with somebody. And the models are asked twice, before and after the run, for their LPs,
//! lookahead, channels and partitions.
//!
//! What both runs see alike goes unnoticed: a thread's name, an environment variable, a clock that stood
//! still between the two.
//!
//! Invariant: up to the event in hand, both runs have had the same events, messages, states and draws.

mod answers;
mod differ;
mod watched;

use std::fmt;

use paceline_kernel::{
    Federate, LpId, Model, Outbox, Partition, Progress, RuleError, Settings, TieBreak, Time,
};
use thiserror::Error;

use crate::Monitor;
use answers::Answers;
use differ::{Twin, shown};
use watched::Watched;

/// Events that are compared unless said otherwise.
const EVENTS: u64 = 10_000_000;
/// Events between two looks at the monitor, and the least between two looks at all states.
const BATCH: u64 = 1 << 12;

/// How two models are compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The horizon: events at or after it are not compared.
    pub until: Time,
    /// The most events that each of the two handles.
    pub events: u64,
    /// The seed of all random streams, the same in both runs.
    pub seed: u64,
    /// How simultaneous events are ordered.
    pub ties: TieBreak,
    /// Shows progress, and can end the comparison.
    pub monitor: Monitor,
}

impl Default for Comparison {
    /// Without a horizon, 10 million events, seed 1.
    fn default() -> Self {
        let monitor = Monitor::new();
        Self { until: Time::MAX, events: EVENTS, seed: 1, ties: TieBreak::Fixed, monitor }
    }
}

/// Why a comparison ended without a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The next event is at or after the horizon.
    Horizon,
    /// There are no events left.
    NoEvents,
    /// As many events as wanted were compared.
    Limit,
    /// Somebody asked it to stop ([`Monitor::stop`]).
    Interrupted,
    /// Both models broke the same rule at the same event.
    Rule(Box<RuleError>),
}

/// Two runs that do not differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Same {
    /// Events of both runs that were compared.
    pub events: u64,
    /// The time of the last of them.
    pub last: Time,
    /// Why there were not more.
    pub ended: Ended,
}

/// The event at which two runs begin to differ.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{lp} {moment}: {difference}")]
pub struct DeterminismError {
    /// Events before it, in which nothing differed.
    pub events: u64,
    /// The LP that handled it.
    pub lp: LpId,
    /// When that was.
    pub moment: Moment,
    /// What differs after it.
    pub difference: Difference,
}

paceline_kernel::debug_tells!(DeterminismError);

/// What an LP was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// It was initialised.
    Init,
    /// It handled this event, shown by its `Debug`, at this time. Of a [`Difference::Touched`], which another
    /// LP may have made: the last event before it was seen.
    Event(Time, String),
    /// Nobody did anything: the model was asked about itself.
    Asked,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Init => write!(f, "in `init`"),
            Self::Asked => write!(f, "when the model is asked about itself"),
            Self::Event(time, event) => write!(f, "at {time}, handling {event}"),
        }
    }
}

/// What differs between two runs: what it is in the one, and in the other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum Difference {
    /// The models, or two answers of one, do not have the same number of LPs.
    #[error("there are {0} LPs, then {1}")]
    Lps(u32, u32),
    /// The models, or two answers of one, do not have the same lookahead.
    #[error("the lookahead is {0}, then {1}")]
    Lookahead(Time, Time),
    /// Whom the LP sends to, in two answers.
    #[error("its channels are {0}, then {1}")]
    Channels(String, String),
    /// With so many federates, the federate that the LP is dealt to, in two answers.
    #[error("of {0} federates it is dealt to number {1}, then to number {2}")]
    Partition(u32, u32, u32),
    /// The LP's state is not as its last event left it.
    #[error(
        "its state has changed since its own last event: it is shared with another LP, or with something outside"
    )]
    Touched,
    /// The LP's state.
    #[error("its state differs{}: {first} in one run, {second} in the other", path(.field))]
    State {
        /// The way to the first field that differs; empty where the state has no fields, or `Debug` shows
        /// none.
        field: String,
        first: String,
        second: String,
    },
    /// A message that was sent.
    #[error("its message {number} differs: {first} in one run, {second} in the other")]
    Message {
        /// Which of the messages it sent then, from 1.
        number: usize,
        first: String,
        second: String,
    },
    /// The number of random numbers that the LP has drawn so far.
    #[error("it has drawn {0} random numbers in one run, {1} in the other")]
    Draws(u64, u64),
    /// What the LP has cancelled and has not come to: its times.
    #[error("it has cancelled {0} in one run, {1} in the other")]
    Cancelled(String, String),
    /// Whether and how a rule was broken.
    #[error("{0} in one run, {1} in the other")]
    Rule(String, String),
}

fn path(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!(" in `{field}`") }
}

/// Runs two models that should be the same side by side, and compares what they do after every event. The
/// error is the first difference.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use paceline_engine::determinism::{Comparison, Difference, compare};
/// use paceline_kernel::{Context, LpId, Model, Time};
///
/// /// A model with a mistake: all LPs, and all runs, share a counter.
/// struct Shared;
/// static COUNTER: AtomicU64 = AtomicU64::new(0);
///
/// impl Model for Shared {
///     type State = u64;
///     type Event = ();
///     type Output = ();
/// #   fn lps(&self) -> u32 { 2 }
/// #   fn lookahead(&self) -> Time { Time::secs(1) }
///     fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
///         cx.schedule(Time::secs(1), ());
///         0
///     }
///     fn handle(&self, number: &mut u64, _: &(), _: &mut Context<Self>) {
///         *number = COUNTER.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let different = compare(&Shared, &Shared, &Comparison::default()).expect_err("the runs differ");
/// assert_eq!((different.lp, different.events), (LpId(0), 0));
/// assert!(matches!(different.difference, Difference::State { .. }));
/// ```
pub fn compare<M: Model>(first: &M, second: &M, how: &Comparison) -> Result<Same, Box<DeterminismError>> {
    let answers = Answers::of(first);
    let ask = |model, events| match answers.unlike(&Answers::of(model)) {
        Some((lp, difference)) => {
            Err(Box::new(DeterminismError { events, lp, moment: Moment::Asked, difference }))
        }
        None => Ok(()),
    };
    ask(second, 0)?;
    ask(first, 0)?;
    let partition = Partition::runs(first.lps(), 1);
    let settings = Settings { seed: how.seed, ties: how.ties, window: Time::ZERO };
    let build = |model| Federate::<M, Watched<M::Event>>::build(model, &partition, settings);
    let (one, other) = match (build(first), build(second)) {
        (Ok(mut one), Ok(mut other)) => (one.swap_remove(0), other.swap_remove(0)),
        (Err(one), Err(other)) if one == other => {
            return Ok(Same { events: 0, last: Time::ZERO, ended: Ended::Rule(Box::new(one)) });
        }
        (one, other) => {
            let (one, other) = (one.err(), other.err());
            let lp = one.as_ref().or(other.as_ref()).map_or(LpId(0), |fault| fault.from);
            let difference = Difference::Rule(shown(one.as_ref()), shown(other.as_ref()));
            return Err(Box::new(DeterminismError { events: 0, lp, moment: Moment::Init, difference }));
        }
    };
    let settled = Vec::with_capacity(partition.lps() as usize);
    let mut twin = Twin { models: (first, second), partition: &partition, one, other, how, settled };
    twin.compare_starts()?;
    let mut outboxes = (Outbox::new(1), Outbox::new(1));
    // More events than LPs, so that looking at all of those costs less than the events do.
    let sweep = BATCH.max(4 * u64::from(partition.lps()));
    let mut events = 0;
    let ended = loop {
        if events % BATCH == 0 && how.monitor.stopped() {
            break Ended::Interrupted;
        }
        if events == how.events {
            break Ended::Limit;
        }
        match twin.step(&mut outboxes) {
            Progress::Idle if twin.one.live() == 0 => break Ended::NoEvents,
            Progress::Idle => break Ended::Horizon,
            Progress::More | Progress::Faulty => {}
        }
        twin.compare_event(events)?;
        if let Some(fault) = twin.one.fault() {
            break Ended::Rule(Box::new(fault.clone()));
        }
        events += 1;
        how.monitor.advance(twin.one.last(), 1);
        if events % sweep == 0 {
            twin.compare_all(events)?;
        }
    };
    if events > 0 {
        twin.compare_all(events)?;
    }
    ask(first, events)?;
    ask(second, events)?;
    Ok(Same { events, last: twin.one.last(), ended })
}

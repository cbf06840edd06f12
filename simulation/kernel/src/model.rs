//! What a model author writes: one trait, the same for every protocol, number of threads and partition.

use std::fmt::{self, Debug};
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::{Context, Kept, Parameter, ParameterValue, Partition, Time};

/// The number of a logical process (LP), from 0 to [`Model::lps`] - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct LpId(pub u32);

impl LpId {
    /// The number as an index.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for LpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("LP {}", self.0))
    }
}

impl Debug for LpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// To whom an LP sends, and how far ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channels {
    /// To any LP, with the model's [`Model::lookahead`].
    All,
    /// Only to these LPs, each with a lookahead of its own, none below the model's. Self-messages, and
    /// messages sent by [`Model::init`], need no channel.
    Only(Vec<(LpId, Time)>),
}

/// A function that takes back one event of the model: [`Undo::undo`].
pub type UndoFn<M> = fn(&M, &mut <M as Model>::State, &<M as Model>::Event, &mut Kept<'_>);

/// A simulation model: parameters that are shared and immutable, and the behaviour of its LPs.
///
/// What `init` and `handle` do may depend on nothing but their arguments: no clock, no global, no thread.
/// Then every protocol, partition and number of threads gives the same result, which the digest of the run
/// proves.
///
/// ```
/// use paceline_kernel::{Context, LpId, Model, Time};
///
/// /// A token that walks round a ring of LPs, one a second.
/// struct Ring(u32);
///
/// impl Model for Ring {
///     type State = u64; // tokens seen
///     type Event = ();
///     type Output = ();
///
///     fn lps(&self) -> u32 {
///         self.0
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
///         let next = LpId((cx.lp().0 + 1) % self.0);
///         cx.send(next, Time::secs(1), ());
///     }
/// }
/// ```
pub trait Model: Send + Sync + Sized {
    /// What an LP remembers. `Hash` feeds the digest; wrap floats in [`crate::Bits`]. `Clone` saves it during
    /// optimistic runs: a clone must share nothing that changes. `Debug` shows it in error messages.
    type State: Clone + Send + Hash + Debug;
    /// A message from an LP to another or to itself. `Hash` feeds the digest. Optimistic runs cancel and
    /// confirm messages by `PartialEq` and `Hash` together, so that one of the two must see every field;
    /// derive both.
    type Event: Clone + Send + Hash + PartialEq + Debug;
    /// What the run leaves behind besides statistics; `()` where nothing. A federate has one value, written
    /// at commit. A run gives a list of them, as many as it had federates, and so many more each time that
    /// LPs were dealt anew: whoever reads the list joins them.
    type Output: Default + Send;

    /// How events are taken back without copies of states: `Some(Self::undo)` for a model that implements
    /// [`Undo`].
    const UNDO: Option<UndoFn<Self>> = None;

    /// Whether LPs cancel events ([`Context::cancel`]). Models that do not pay nothing for those that do.
    const CANCELS: bool = false;

    /// Whether [`Model::commit_state`] is to be called. It costs memory where a run goes ahead
    /// optimistically: a copy of the state for every event that is not final yet, however states are
    /// saved. Models that do without pay nothing.
    const COMMITS_STATE: bool = false;

    /// The model's parameters as a text, such as `format!("{self:?}")`: a checkpoint of a run is refused by a
    /// model with others. Even without it a checkpoint is refused where LPs start in other states, or do
    /// something else in the first events ([`Origin`](crate::Origin)); a parameter that matters only
    /// later is to be in here.
    fn parameters(&self) -> String {
        String::new()
    }

    /// The parameters that may be changed while a run goes on, each with its value at `at`: none unless said.
    /// Who changes one makes a [`Change`](crate::Change); it is checked against what is declared here.
    /// Neither the number of LPs, nor lookahead, channels or partition may follow from such a parameter.
    fn changeable(&self, at: Time) -> Vec<Parameter> {
        let _ = at;
        Vec::new()
    }

    /// From `at` on, `parameter`, one of [`Model::changeable`], is `value`, which is in its range: for models
    /// that declare any. Called before the run, or between two events of it, of which none is as late as
    /// `at`. An event is to read the value at its own time ([`Changing`](crate::Changing)), as is `undo`.
    fn change(&mut self, parameter: &str, at: Time, value: ParameterValue) {
        let _ = (parameter, at, value);
    }

    /// The number of LPs.
    fn lps(&self) -> u32;

    /// The least delay of any message from one LP to another. Messages to oneself and messages sent by
    /// [`Model::init`] may take any time from zero up. A model with zero lookahead can be run
    /// sequentially or optimistically only.
    fn lookahead(&self) -> Time;

    /// The latest horizon that a run may have: for models that keep times in a unit of their own, in which
    /// later ones have no place. A run without a horizon is not refused.
    fn latest_horizon(&self) -> Time {
        Time::MAX
    }

    /// The LPs that `lp` sends to, for the whole run: this is asked several times and must always answer the
    /// same. Worth declaring where LPs have few neighbours: null messages then travel only there, and windows
    /// are as wide as the channels between federates allow instead of as the least lookahead of all. Under
    /// every protocol, a message that the channels of its sender exclude ends the run with a
    /// [`RuleError`](crate::RuleError).
    fn channels(&self, lp: LpId) -> Channels {
        let _ = lp;
        Channels::All
    }

    /// Divides the LPs, all of them, among at most `federates` federates; the run has as many as come of it.
    /// One that does not have exactly the model's LPs is refused ([`PartitionError`](crate::PartitionError)).
    /// The default: equal runs of LP numbers.
    fn partition(&self, federates: u32) -> Partition {
        Partition::runs(self.lps(), federates)
    }

    /// The state of `lp` at time zero, and its first events.
    fn init(&self, lp: LpId, cx: &mut Context<Self>) -> Self::State;

    /// Handles `event` at the LP that owns `state`: changes the state, draws, and sends. A panic, once it is
    /// final, ends the run with an [`EventError`](crate::EventError) that names the LP, the time and the
    /// event, as a broken rule does.
    fn handle(&self, state: &mut Self::State, event: &Self::Event, cx: &mut Context<Self>);

    /// In a mixed run, a run under Time Warp in which not every LP runs ahead: whether `lp` does
    /// (`Some(true)`), never handles an event that could be rolled back (`Some(false)`), or leaves that to
    /// the settings of the run (`None`).
    fn optimistic(&self, lp: LpId) -> Option<bool> {
        let _ = lp;
        None
    }

    /// The memory that a copy of `state` takes, in bytes, for the memory budget of optimistic runs. Override
    /// it where a state owns heap memory.
    fn state_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        size_of::<Self::State>()
    }

    /// `event`, handled by `lp` at `at`, has become irrevocable: the place for output. Called once for every
    /// event, in each LP's order, but in no order among LPs.
    fn commit(&self, lp: LpId, at: Time, event: &Self::Event, output: &mut Self::Output) {
        let _ = (lp, at, event, output);
    }

    /// As [`Model::commit`], with the state of `lp` right after the event: for what does not follow from the
    /// event alone, such as the length of a queue over time. Called right after [`Model::commit`] for the
    /// same event, in models that say so with [`Model::COMMITS_STATE`]; not for events of LPs that are run
    /// outside by something else than the model.
    ///
    /// ```
    /// use paceline_kernel::{Context, LpId, Model, Time};
    ///
    /// /// Customers come to a clerk, who takes two seconds for each.
    /// struct Office;
    ///
    /// #[derive(Clone, Debug, PartialEq, Hash)]
    /// enum Customer {
    ///     Comes,
    ///     Leaves,
    /// }
    ///
    /// impl Model for Office {
    ///     type State = u32; // how many are there
    ///     type Event = Customer;
    ///     type Output = Vec<(Time, u32)>;
    ///     const COMMITS_STATE: bool = true;
    ///
    ///     # fn lps(&self) -> u32 { 1 }
    ///     # fn lookahead(&self) -> Time { Time::secs(1) }
    ///     fn init(&self, _: LpId, cx: &mut Context<Self>) -> u32 {
    ///         for second in 0..3 {
    ///             cx.schedule(Time::secs(second), Customer::Comes);
    ///         }
    ///         0
    ///     }
    ///     fn handle(&self, there: &mut u32, customer: &Customer, cx: &mut Context<Self>) {
    ///         match customer {
    ///             Customer::Comes => *there += 1,
    ///             Customer::Leaves => *there -= 1,
    ///         }
    ///         let begins = if *customer == Customer::Comes { *there == 1 } else { *there > 0 };
    ///         if begins {
    ///             cx.schedule(Time::secs(2), Customer::Leaves);
    ///         }
    ///     }
    ///     fn commit_state(&self, _: LpId, there: &u32, at: Time, _: &Customer, output: &mut Vec<(Time, u32)>) {
    ///         output.push((at, *there));
    ///     }
    /// }
    ///
    /// # use paceline_kernel::{Federate, Outbox, Partition, Settings};
    /// # let one = Partition::runs(1, 1);
    /// # let mut all = Federate::<Office>::build(&Office, &one, Settings::default()).unwrap();
    /// # all[0].step_on(&Office, &one, Time::MAX, usize::MAX, &mut Outbox::new(1));
    /// # let output = all.remove(0).finish(&Office).output;
    /// let over_time: Vec<u32> = output.iter().map(|(_, there)| *there).collect();
    /// assert_eq!(over_time, [1, 2, 3, 2, 1, 0]);
    /// ```
    fn commit_state(
        &self,
        lp: LpId,
        state: &Self::State,
        at: Time,
        event: &Self::Event,
        output: &mut Self::Output,
    ) {
        let _ = (lp, state, at, event, output);
    }

    /// The run has ended with `lp` in `state`.
    fn finish(&self, lp: LpId, state: &Self::State, output: &mut Self::Output) {
        let _ = (lp, state, output);
    }

    /// The run has ended before `event` could happen to `lp` at `at`. Called in no order among events.
    fn left_over(&self, lp: LpId, at: Time, event: &Self::Event, output: &mut Self::Output) {
        let _ = (lp, at, event, output);
    }

    /// Whether `lp` can be in `state`: asked of states that were read from a checkpoint, before anything else
    /// is done with them. A checkpoint may have been damaged in a way that no checksum shows; a model
    /// that uses a number of its state as an index checks it here, so that such a checkpoint is refused
    /// instead of ending the run with a panic.
    fn admits_state(&self, lp: LpId, state: &Self::State) -> bool {
        let _ = (lp, state);
        true
    }

    /// As [`Model::admits_state`], for an event that `lp` is to get.
    fn admits_event(&self, lp: LpId, event: &Self::Event) -> bool {
        let _ = (lp, event);
        true
    }

    /// As [`Model::admits_state`], for what a part of the run has left behind.
    fn admits_output(&self, output: &Self::Output) -> bool {
        let _ = output;
        true
    }
}

/// A model that takes back its own events (reverse computation; Carothers, Perumalla and Fujimoto, 1999).
///
/// [`Model::UNDO`] says to the engine that there is one. See [`Context::keep`] for an example.
pub trait Undo: Model {
    /// Takes back what [`handle`](Model::handle) did to `state`. Events are undone latest first. Random
    /// numbers, messages and what was cancelled are taken back by the kernel. What `handle` overwrote it
    /// must have given to [`Context::keep`]; `kept` gives it back, the last word first. It also says
    /// which LP that was and when ([`Kept::lp`], [`Kept::now`]), and draws the same random numbers
    /// again ([`Kept::rng`]).
    fn undo(&self, state: &mut Self::State, event: &Self::Event, kept: &mut Kept<'_>);
}

/// Takes one event of a model back that is known to have an [`Undo`].
#[inline(always)]
pub(crate) fn take_back<M: Model>(model: &M, state: &mut M::State, event: &M::Event, kept: &mut Kept<'_>) {
    let undo = M::UNDO.expect("states are brought back by `undo` only in runs of models that have one");
    undo(model, state, event, kept);
}

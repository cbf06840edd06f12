//! A whole run between two events: what is left when the federates are taken away.
//!
//! Federates, protocols and threads only say how a run is executed. A [`World`] is the run itself, at a
//! moment when nothing is speculative: every LP with its state and counters, every pending event, and what
//! was committed. It can be divided among any federates again, or be written to a checkpoint and read back.
//!
//! Invariants: LPs are in the order of their numbers; no LP has handled an event that comes after a pending
//! one of its own.

use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::context::{LpCore, Rules};
use crate::waiting::Waiting;
use crate::withdrawn::Withdrawn;
use crate::{
    Change, Context, Digest, Event, EventQueue, Federate, LpId, Model, Origin, Partition, RuleError,
    Settings, Time, ask,
};

/// A run never sends so many messages from one place: half of the 48-bit numbers that the order of events has
/// for them, so that a run from a file has the other half left.
const SENT_MAX: u64 = 1 << 47;
/// A run never counts so far: what goes on from here cannot overflow.
const COUNT_MAX: u64 = 1 << 62;

/// An LP: the model's state and the kernel's counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lp<S> {
    pub core: LpCore,
    pub state: S,
}

impl<S> Lp<S> {
    /// `lp` as it begins; its first messages are added to `sent`, those that it has cancelled to `withdrawn`.
    pub(crate) fn start<M: Model<State = S>>(
        model: &M,
        rules: &Rules,
        lp: LpId,
        withdrawn: Option<&mut Withdrawn>,
        sent: &mut Vec<Event<M::Event>>,
        fault: &mut Option<Box<RuleError>>,
    ) -> Self {
        let mut cx = Context::new(model, rules, lp, LpCore::default(), withdrawn, sent, fault);
        let state = ask(|| format!("`init` of {lp}"), || model.init(lp, &mut cx));
        Self { core: cx.core(), state }
    }

    /// Adds what it is now to a digest, as LP `lp`, which has cancelled these.
    pub(crate) fn add_to_digest(&self, lp: LpId, withdrawn: Option<&Withdrawn>, digest: &mut Digest)
    where
        S: Hash,
    {
        let Self { core, state } = self;
        // Where nothing is cancelled, the digest is that of a model that cannot cancel.
        match withdrawn.filter(|withdrawn| !withdrawn.is_empty()) {
            None => digest.state(lp.0, &(core, state)),
            Some(withdrawn) => digest.state(lp.0, &(core, state, withdrawn)),
        }
    }

    /// Whether its counters can grow: always, unless it was read from somewhere.
    pub(crate) fn is_sound(&self) -> bool {
        self.core.sent < SENT_MAX && self.core.draws < COUNT_MAX
    }
}

/// What a run has committed before its federates were dealt; the default for a run that starts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(bound(serialize = "O: Serialize", deserialize = "O: Deserialize<'de>"))]
pub struct Past<O> {
    /// Over the events committed; final states are added when the run ends.
    pub digest: Digest,
    /// How many events these are.
    pub events: u64,
    /// The simulated time of the latest of them; zero without any.
    pub last: Time,
    /// What the model has written, in parts.
    #[serde(deserialize_with = "crate::outputs::read")]
    pub outputs: Vec<O>,
    /// Events that have come from outside, whether they have happened or not.
    pub injected: u64,
}

/// A run at a moment when nothing is speculative.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "M::State: Serialize, M::Event: Serialize, M::Output: Serialize",
    deserialize = "M::State: Deserialize<'de>, M::Event: Deserialize<'de>, M::Output: Deserialize<'de>"
))]
pub struct World<M: Model> {
    pub(crate) lps: Vec<Lp<M::State>>,
    pub(crate) pending: Waiting<M::Event>,
    past: Past<M::Output>,
    /// Where the run comes from, if it was read from somewhere.
    #[serde(skip)]
    origin: Option<Box<Origin>>,
    /// Changes of parameters that were made while it went on, if it was read from somewhere.
    #[serde(skip)]
    changes: Vec<Change>,
}

impl<M: Model> World<M> {
    /// Says where the run comes from.
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(Box::new(origin));
        self
    }

    /// Says which parameters were changed while the run went on.
    pub fn with_changes(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }

    /// The changes of parameters that were made while the run went on, as they were said, in their order. The
    /// model that it goes on with does not have them yet.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Where the run comes from, if it was said.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_deref()
    }

    /// Takes the federates of a run apart. Every message is to have been delivered. `past` is what the run
    /// had committed before these federates were dealt.
    pub fn gather<Q: EventQueue<M::Event>>(
        federates: Vec<Federate<M, Q>>,
        partition: &Partition,
        mut past: Past<M::Output>,
    ) -> Self {
        let mut pending = Waiting::default();
        // A list that grows by doubling would hold the events of the whole run twice for a moment.
        pending.events.reserve(federates.iter().map(Federate::pending).sum());
        let mut parts = Vec::with_capacity(federates.len());
        for federate in federates {
            parts.push(federate.take_apart(&mut pending, &mut past).into_iter());
        }
        // A federate's LPs are in the order of their numbers: each LP is the next one of its part.
        let next = |lp| parts[partition.place(lp).0 as usize].next().expect("every LP is in its federate");
        let lps = (0..partition.lps()).map(LpId).map(next).collect();
        Self { lps, pending, past, origin: None, changes: Vec::new() }
    }

    /// A run of these LPs, in the order of their numbers.
    pub(crate) fn from_parts(
        lps: Vec<Lp<M::State>>,
        pending: Waiting<M::Event>,
        past: Past<M::Output>,
    ) -> Self {
        Self { lps, pending, past, origin: None, changes: Vec::new() }
    }

    /// Deals the LPs and their events to the federates of `partition`, which must be one of as many LPs.
    pub fn deal<Q: EventQueue<M::Event>>(
        self,
        model: &M,
        partition: &Partition,
        settings: Settings,
    ) -> (Vec<Federate<M, Q>>, Past<M::Output>) {
        self.deal_part(model, partition, settings, |_| true)
    }

    /// The same, where only the federates that are present have their LPs in this process. What was committed
    /// is given out whole: one process keeps it.
    pub fn deal_part<Q: EventQueue<M::Event>>(
        self,
        model: &M,
        partition: &Partition,
        settings: Settings,
        is_present: impl Fn(u32) -> bool,
    ) -> (Vec<Federate<M, Q>>, Past<M::Output>) {
        let mut parts: Vec<Vec<Lp<M::State>>> = (0..partition.federates()).map(|_| Vec::new()).collect();
        for (lp, content) in self.lps.into_iter().enumerate() {
            parts[partition.place(LpId(lp as u32)).0 as usize].push(content);
        }
        let deal = |(id, lps)| {
            let queue = Q::with_window(settings.window);
            if is_present(id as u32) {
                Federate::with_lps(model, partition, settings, id as u32, lps, queue)
            } else {
                Federate::absent(model, settings, id as u32)
            }
        };
        let mut federates: Vec<Federate<M, Q>> = parts.into_iter().enumerate().map(deal).collect();
        for event in self.pending.events {
            let to = partition.place(event.to()).0;
            // The process of an absent federate has its events as it has its LPs: kept, or read by itself.
            if is_present(to) {
                federates[to as usize].receive([event]);
            }
        }
        for entry in self.pending.withdrawn {
            let of = partition.place(entry.0).0;
            if is_present(of) {
                federates[of as usize].receive_withdrawn(partition, entry);
            }
        }
        (federates, self.past)
    }

    /// The number of LPs of the whole run.
    pub fn lps(&self) -> u32 {
        self.lps.len() as u32
    }

    /// Whether every event is for an LP that is there, and every counter and list can grow: always, unless it
    /// was read from somewhere.
    pub fn is_sound(&self) -> bool {
        self.pending.all_are(|lp| lp.index() < self.lps.len())
            && self.lps.iter().all(Lp::is_sound)
            && self.past.events < COUNT_MAX
            && self.past.injected < SENT_MAX
            && (self.past.outputs.len() as u64) < COUNT_MAX
    }

    /// What in here a run of `model` cannot have come to, if anything ([`Model::admits_state`] and the like):
    /// never anything, unless it was read from somewhere. The world is to be [sound](World::is_sound).
    pub fn refused_by(&self, model: &M) -> Option<String> {
        let mut lps = (0..).map(LpId).zip(&self.lps);
        if let Some((lp, _)) = lps.find(|(lp, content)| !model.admits_state(*lp, &content.state)) {
            return Some(format!("it holds a state of {lp} that the model cannot be in"));
        }
        let refused = |event: &&Event<M::Event>| !model.admits_event(event.to(), &event.payload);
        if let Some(event) = self.pending.events.iter().find(refused) {
            return Some(format!("it holds an event for {} that the model does not have", event.to()));
        }
        let is_refused = self.past.outputs.iter().any(|output| !model.admits_output(output));
        is_refused.then(|| "it holds results that the model cannot have left".into())
    }

    /// How many events have been committed since the start.
    pub fn events(&self) -> u64 {
        self.past.events
    }

    /// The time of the latest event committed.
    pub fn last(&self) -> Time {
        self.past.last
    }

    /// No event that is still to be run happens before this; [`Time::MAX`] without events.
    pub fn floor(&self) -> Time {
        self.pending.live().map(Event::time).min().unwrap_or(Time::MAX)
    }

    /// How many messages each LP has sent since the run began, in the order of their numbers.
    pub(crate) fn sent(&self) -> impl Iterator<Item = u64> {
        self.lps.iter().map(|lp| lp.core.sent)
    }

    /// Events waiting, but those that their LPs have cancelled.
    pub fn pending(&self) -> usize {
        self.pending.live().count()
    }
}

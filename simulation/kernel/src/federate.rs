//! A federate: a group of LPs with one event queue, run by a host.
//!
//! The host decides how far it is safe to go (the *bound*) and how much to do at a time (the *budget*). It
//! has two gears, which can be mixed:
//!
//! - [`Federate::advance`] works whole LPs inside the bound, at full speed: it takes all events before the
//!   bound out of the queue at once, sorts them by LP, and runs LP after LP (see [`batch`](self::batch)).
//! - [`Federate::step`] runs exactly one event, the least in the total order.
//!
//! Both keep each LP's events in the total order, and nothing else matters to the result: LPs influence each
//! other only through messages, and those take at least the lookahead, beyond the bound. Messages to LPs
//! elsewhere go to the host's [`Outbox`]; those from elsewhere come in through [`Federate::receive`], in any
//! order.
//!
//! Invariant: no event before the bound of an earlier `advance` that ran to its end arrives later.

mod batch;
mod caught;
mod init;
mod look;
mod meter;
mod one;
mod outside;
mod passing;
mod warp;
mod watch;

use std::cell::Cell;
use std::mem::needs_drop;
use std::sync::Arc;

use batch::Batch;
pub use init::Settings;
use meter::Meter;
pub use meter::{Clock, Cost};
use warp::Cancelled;
pub use warp::{
    Bounds, Cancellation, Depths, EventError, EventErrorKind, Optimism, Rollbacks, Saving, Times,
    Turn as WarpTurn, Wants, Warp,
};
pub use watch::CommitObserver;
use watch::Watch;

use crate::context::Rules;
use crate::panics::shown;
use crate::waiting::Waiting;
use crate::withdrawn::Sets;
use crate::world::Lp;
use crate::{
    AtWork, BucketQueue, ChannelTable, Digest, Event, EventQueue, LpId, Model, Outbox, Partition, Past,
    RuleError, RuleErrorKind, Time, ask, catch,
};

/// What [`Federate::advance`] or [`Federate::step`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Events before the bound are left; the budget is used up.
    More,
    /// Nothing is left before the bound.
    Idle,
    /// The model broke a rule or panicked: see [`Federate::trouble`].
    Faulty,
}

/// A group of LPs with one local virtual time. Runs have the bucket queue; what looks into a queue, or
/// compares queues, brings its own.
#[derive(Debug)]
pub struct Federate<M: Model, Q = BucketQueue<<M as Model>::Event>> {
    id: u32,
    rules: Rules,
    place: Place,
    lps: Vec<Lp<M::State>>,
    /// By local number: what each of them has cancelled.
    withdrawn: Sets,
    queue: Q,
    batch: Batch<M::Event>,
    /// What LPs have sent and was not handed on yet ([`Federate::route`]).
    sent: Vec<Event<M::Event>>,
    /// Messages to LPs of this federate for times before `reach`. Their receivers may have been run beyond
    /// them: `Warp` takes each of them in, with a rollback where that is so, before it goes to the queue.
    within_reach: Vec<Event<M::Event>>,
    /// How far LPs have been run ahead, by what is in the log: it falls as the log gets shorter. Zero without
    /// Time Warp.
    reach: Time,
    /// The least delay of messages between two LPs of this federate: whole LPs run so far at once.
    lookahead_within: Time,
    /// Events in the queue that rollbacks of their senders have taken back.
    cancelled: Cancelled<M::Event>,
    fault: Option<Box<RuleError>>,
    /// The model's panic.
    panicked: Option<Box<EventError>>,
    /// A panic has passed by while the model was at work: it is the model's. A cell, as all else is borrowed
    /// by then.
    struck: Cell<bool>,
    /// The event in hand, for others to look at.
    at_work: Arc<AtWork>,
    digest: Digest,
    events: u64,
    last: Time,
    output: M::Output,
    /// Times the turns of LPs, if the host asks for that.
    meter: Option<Meter>,
    /// The observer of final events, if there is one.
    watch: Option<Watch<M>>,
}

/// Where this federate's LPs are.
#[derive(Clone, Debug)]
enum Place {
    /// LPs `first` to `first + count`.
    Run { first: u32, count: u32 },
    /// These LPs, ascending.
    Set(Vec<LpId>),
}

impl Place {
    #[inline(always)]
    fn lp(&self, local: usize) -> LpId {
        match self {
            Self::Run { first, .. } => LpId(first + local as u32),
            Self::Set(lps) => lps[local],
        }
    }

    /// Whether `lp` is one of federate `id`, whose place this is.
    fn holds(&self, lp: LpId, id: u32, partition: &Partition) -> bool {
        match self {
            // One comparison: numbers below `first` wrap round and are too large.
            Self::Run { first, count } => lp.0.wrapping_sub(*first) < *count,
            Self::Set(_) => partition.place(lp).0 == id,
        }
    }

    /// The local number of an LP that is known to be here.
    #[inline(always)]
    fn local(&self, lp: LpId, partition: &Partition) -> usize {
        match self {
            Self::Run { first, .. } => (lp.0 - first) as usize,
            Self::Set(_) => partition.place(lp).1 as usize,
        }
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Its number in the partition, from 0.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Local virtual time: no event that is still to be run here happens before it. [`Time::MAX`] without
    /// events.
    pub fn lvt(&mut self) -> Time {
        self.batch.floor().min(self.queue.least_time())
    }

    /// Which event it is handling, for others to look at while it does.
    pub fn at_work(&self) -> Arc<AtWork> {
        Arc::clone(&self.at_work)
    }

    /// Events that are final, since this federate was built or its LPs were dealt to it; earlier ones are in
    /// the run's [`Past`].
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Events waiting, also those that their LPs have cancelled ([`Federate::live`]).
    pub fn pending(&self) -> usize {
        self.queue.len() + self.batch.len() - self.cancelled.len()
    }

    /// The simulated time of the latest event that is final; zero without any.
    pub fn last(&self) -> Time {
        self.last
    }

    /// The rule that the model broke, if it did; the federate does nothing any more.
    pub fn fault(&self) -> Option<&RuleError> {
        self.fault.as_deref()
    }

    /// The LP that sent `event`; of one from outside, a number that no LP has.
    pub fn origin(&self, event: &Event<M::Event>) -> LpId {
        event.origin(self.rules.ties).0
    }

    /// Sets what messages between two LPs of this federate take at least: the model's lookahead at first, or
    /// more where the channels between them say so ([`Distances::within`](crate::Distances::within)). One
    /// that is due before the batch in hand ends is nearer than that, and a [`RuleError`].
    pub fn set_lookahead_within(&mut self, lookahead: Time) {
        if lookahead != self.lookahead_within {
            // The batch in hand may be wider than the new lookahead allows.
            self.put_back();
            self.lookahead_within = lookahead;
            self.rules.set_near(self.rules.least_near());
        }
    }

    /// Holds whatever its LPs send from now on against `channels`, those of its model: what they exclude is a
    /// [`RuleError`]. Costs nothing where there are none.
    pub fn set_channels(&mut self, channels: Option<Arc<ChannelTable>>) {
        self.rules.set_channels(channels);
    }

    /// The fault of an LP that sent `event` at `now` along a channel that does not allow it.
    fn stray(&self, now: Time, event: &Event<M::Event>) -> RuleError {
        RuleError {
            kind: RuleErrorKind::Channel,
            from: self.origin(event),
            now,
            to: event.to(),
            at: event.time(),
            event: format!("{:?}", event.payload),
        }
    }

    /// Takes in messages from other federates.
    pub fn receive(&mut self, events: impl IntoIterator<Item = Event<M::Event>>) {
        for event in events {
            self.queue.push(event);
        }
    }

    /// Runs at most `budget` events before `bound`, whole LPs at a time. Events that their LPs have cancelled
    /// count as well. What has been sent is in `outbox` when this returns, but after a fault: then the run is
    /// over.
    pub fn advance(
        &mut self,
        model: &M,
        partition: &Partition,
        bound: Time,
        budget: usize,
        outbox: &mut Outbox<M::Event>,
    ) -> Progress {
        if self.panicked.is_some() {
            return Progress::Faulty;
        }
        let advance = || self.advance_on(model, partition, bound, budget, outbox);
        let advanced = catch(advance);
        self.at_work.rest();
        advanced.unwrap_or_else(|panic| self.caught_in_batch(panic))
    }

    fn advance_on(
        &mut self,
        model: &M,
        partition: &Partition,
        bound: Time,
        budget: usize,
        outbox: &mut Outbox<M::Event>,
    ) -> Progress {
        let mut left = budget;
        while self.fault.is_none() {
            if self.batch.is_empty() || left == 0 {
                // The next batch, and the host's look at the LVT, must not miss what LPs here have sent.
                self.route(partition, outbox);
            }
            if self.batch.is_empty() {
                // LPs of one federate also keep a lookahead among themselves: whole LPs only within it.
                let safe = bound.min(self.lvt().saturating_add(self.lookahead_within));
                // Without a lookahead LPs cannot be run one by one; observers are called in the total order.
                if self.rules.lookahead == Time::ZERO || self.watch.is_some() {
                    return self.step_on(model, partition, bound, left, outbox);
                }
                if !self.fill(partition, safe) {
                    return Progress::Idle;
                }
            }
            if left == 0 {
                return Progress::More;
            }
            left -= self.run_lp(model, partition, left, outbox);
        }
        Progress::Faulty
    }

    /// Gives out its LPs; its events go to `pending`, what it has committed to `past`.
    pub(crate) fn take_apart(
        mut self,
        pending: &mut Waiting<M::Event>,
        past: &mut Past<M::Output>,
    ) -> Vec<Lp<M::State>> {
        self.put_back();
        self.report_before(Time::MAX);
        self.queue.drain(Time::MAX, |event| pending.events.push(event));
        pending.withdrawn.extend(self.withdrawn_entries());
        past.digest.join(self.digest);
        past.events += self.events;
        past.last = past.last.max(self.last);
        past.outputs.push(self.output);
        self.lps
    }

    /// Ends the run: gives the model the final states and the events left over, and returns the results.
    pub fn finish(mut self, model: &M) -> Finished<M::Output> {
        self.put_back();
        self.report_before(Time::MAX);
        let withdrawn = self.all_withdrawn();
        let mut output = self.output;
        let mut digest = self.digest;
        let mut panicked_drop = None;
        for (local, lp) in self.lps.into_iter().enumerate() {
            let id = self.place.lp(local);
            ask(
                || format!("`Hash` of the state of {id}"),
                || lp.add_to_digest(id, self.withdrawn.at(local), &mut digest),
            );
            ask(|| format!("`finish` of {id}"), || model.finish(id, &lp.state, &mut output));
            // Caught, so that the other states are dropped one by one all the same: a second panic while the
            // first unwinds would end the process.
            let dropped = || ask(|| format!("`Drop` of the state of {id}"), || drop(lp));
            if needs_drop::<M::State>()
                && let Err(panic) = catch(dropped)
            {
                panicked_drop.get_or_insert(panic);
            }
        }
        if let Some(panic) = panicked_drop {
            panic.resume();
        }
        self.queue.drain(Time::MAX, |event| {
            if !withdrawn.contains(&event.key()) {
                let Event { payload, .. } = &event;
                let call = || {
                    format!("`left_over` of {}, with {} for {},", event.to(), shown(payload), event.time())
                };
                ask(call, || model.left_over(event.to(), event.time(), payload, &mut output));
            }
        });
        Finished { output, digest, events: self.events, last: self.last }
    }
}

/// The results of a federate.
#[derive(Debug)]
pub struct Finished<O> {
    /// What the model has left behind in this federate.
    pub output: O,
    /// Digest over the federate's events and final states.
    pub digest: Digest,
    /// Events committed by the federate.
    pub events: u64,
    /// The simulated time of the latest event; zero without any.
    pub last: Time,
}

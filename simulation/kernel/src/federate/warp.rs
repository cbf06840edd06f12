//! Time Warp (Jefferson, 1985): a federate whose LPs may run ahead of what is known to be safe, and roll
//! back.
//!
//! A [`Warp`] wraps a [`Federate`] and works it off in two ways. What lies before the *safe bound* - GVT plus
//! lookahead; no message can arrive before it any more - is run by the fast gear and is final at once, as
//! under a conservative protocol. Beyond it the federate runs *ahead*: the same batches of whole LPs, but
//! every event goes into a [`log`] with what is needed to take it back. A message into an LP's past (a
//! straggler) or an anti-message rolls back that LP alone; what it sent is cancelled, at once or lazily. When
//! the safe bound has passed a part of the log, it is committed and forgotten.
//!
//! How far ahead and how wide a batch is the host's decision, the same for all its federates
//! ([`MovingWindow`](crate::MovingWindow)); the rest is for [`Pace`] to find out. An LP that breaks a rule or
//! panics ahead is *stuck*: it does nothing more until it is rolled back, or the safe bound passes it and the
//! run ends with its trouble. LPs may be conservative one by one (mixed runs): they take part in safe batches
//! only.
//!
//! A federate whose log is full (`is_full`) only runs what is safe, and else waits for GVT to commit some of
//! it. Where GVT waits for this very federate, it rolls back what is later, and runs one instant.
//!
//! Invariants, whenever no method runs: an event in the queue that is not cancelled comes after everything
//! its LP has in the log; an LP's part of the log is in the total order; no event before `reach` goes to the
//! queue unseen. GVT handed in must be a lower bound on every event that any federate may still handle, and
//! on the time of every message on its way, and must have been read before the mail was taken out of the
//! inbox.

mod ahead;
mod cancel;
mod check;
mod lazy;
mod log;
mod optimism;
mod pace;
mod rollback;
mod settle;
mod stats;
mod stride;
mod stuck;

use std::collections::BTreeMap;

pub(super) use cancel::Cancelled;
use lazy::InDoubt;
use log::Log;
pub use optimism::{Cancellation, Optimism, Saving};
use pace::Pace;
pub use stats::{Depths, Rollbacks};
pub use stride::Wants;
use stuck::Stuck;
pub use stuck::{EventError, EventErrorKind};

use super::Federate;
use crate::outbox::{Mail, Receipt};
use crate::{BucketQueue, Effort, Event, EventQueue, LpId, Model, Outbox, Partition, Time, catch};

/// The four times of an LP or a federate (the micro-kernel of the PSX paper; Perumalla, 2005).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Events before this are final.
    pub committed: Time,
    /// The earliest event that was run and is not final, or else the earliest that is to be run.
    pub committable: Time,
    /// The earliest event that is to be run. [`Time::MAX`] without events.
    pub processable: Time,
    /// No message will be sent for an earlier time by what is to be run.
    pub emittable: Time,
}

/// Between what a turn runs events.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// No event that the federate may still run is before this ([`Warp::floor`], or earlier).
    pub floor: Time,
    /// Global virtual time, as it was before the mail of this turn was taken out of the inbox. Whatever is
    /// due before that plus lookahead was sent by events before it, hence was in the inbox by then. With a
    /// later value, mail that came meanwhile could be for what is run as safe.
    pub gvt: Time,
    /// The horizon: no event at or after it is run.
    pub until: Time,
    /// How much farther than it has been the federate is to go ahead.
    pub width: Time,
    /// No event is to be run ahead that is this far beyond GVT, or farther.
    pub ahead: Time,
}

/// What a turn came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something was run, safely or ahead, or was settled without running anything; there may be more.
    Ran,
    /// There is nothing to run before GVT moves on.
    Waits,
    /// The run is over: something that cannot be taken back any more went wrong.
    Failed(Box<EventError>),
}

/// A federate that may run ahead.
pub struct Warp<M: Model, Q = BucketQueue<<M as Model>::Event>> {
    base: Federate<M, Q>,
    settings: Optimism,
    /// By local number: whether the LP never runs ahead. Empty if none is.
    conservative: Vec<bool>,
    log: Log<M>,
    pace: Pace,
    /// By local number of the sender: messages whose cause was rolled back, neither confirmed nor cancelled.
    in_doubt: BTreeMap<u32, InDoubt<M::Event>>,
    stuck: BTreeMap<u32, Stuck<M::Event>>,
    /// What cannot be made good any more, whatever is rolled back.
    lost: Option<Box<EventError>>,
    /// Messages to LPs of this federate that are still to be cancelled.
    recalls: Vec<Receipt<M::Event>>,
    /// Everything before this is final here.
    committed: Time,
    /// The simulated time up to which it has run, events that may be rolled back included.
    reached: Time,
    /// What it has done ahead since it was asked for that last.
    effort: Effort,
    /// What had been wasted when the effort was asked for last.
    wasted: u64,
    stats: Rollbacks,
    /// Scratch: events of conservative LPs, while the others run ahead.
    held_back: Vec<Event<M::Event>>,
}

impl<M: Model, Q: EventQueue<M::Event>> Warp<M, Q> {
    /// Lets `base` run ahead, until [`Warp::retreat`] and [`Warp::settle`] give it back. What its
    /// observer is to hear is held back until nothing can precede it.
    pub fn new(mut base: Federate<M, Q>, settings: &Optimism) -> Self {
        base.hold(true);
        let lps = base.lps.len();
        let table = settings.optimistic.iter().flat_map(|table| {
            let place = &base.place;
            (0..lps).map(move |local| !table[place.lp(local).index()])
        });
        let conservative: Vec<bool> = table.collect();
        let conservative = if conservative.contains(&true) { conservative } else { Vec::new() };
        let pace = Pace::new(base.rules.lookahead);
        Self {
            log: Log::new(lps),
            conservative,
            // Who may run ahead is in `conservative`, by local number.
            settings: Optimism { optimistic: None, ..settings.clone() },
            pace,
            in_doubt: BTreeMap::new(),
            stuck: BTreeMap::new(),
            lost: None,
            recalls: Vec::new(),
            committed: Time::ZERO,
            reached: Time::ZERO,
            effort: Effort::default(),
            wasted: 0,
            stats: Rollbacks::default(),
            held_back: Vec::new(),
            base,
        }
    }

    /// Its number in the partition, from 0.
    pub fn id(&self) -> u32 {
        self.base.id()
    }

    /// No event that is still to be run here, and no message that may still be cancelled, is before this.
    /// Events at which LPs are stuck, and those parked behind them, do not count: GVT has to pass them, so
    /// that the run ends.
    pub fn floor(&mut self) -> Time {
        let in_doubt = self.in_doubt.values().map(InDoubt::floor).min().unwrap_or(Time::MAX);
        self.base.lvt().min(in_doubt)
    }

    /// How far it has come, events that may be rolled back included.
    pub fn front(&self) -> Time {
        self.reached
    }

    /// Events committed so far, as [`Federate::events`].
    pub fn events(&self) -> u64 {
        self.base.events()
    }

    /// Events waiting, those of stuck LPs and those that their LPs have cancelled too.
    pub fn pending(&self) -> usize {
        self.base.pending() + self.stuck.values().map(Stuck::len).sum::<usize>()
    }

    /// What rollbacks came to so far.
    pub fn stats(&self) -> &Rollbacks {
        &self.stats
    }

    /// Bytes of events, counters and copies of states that are kept for rollbacks.
    pub fn log_bytes(&self) -> usize {
        self.log.bytes()
    }

    /// The four times; each the least of its LPs', or earlier.
    pub fn times(&mut self) -> Times {
        let processable = self.floor();
        let committable = self.log.floor().max(self.committed).min(processable);
        let emittable = processable.saturating_add(self.base.rules.lookahead);
        Times { committed: self.committed, committable, processable, emittable }
    }

    /// The four times of LP `lp` of this federate. Looks through all pending events: for tests and for
    /// people.
    pub fn times_of(&mut self, lp: LpId, partition: &Partition) -> Times {
        self.base.put_back();
        let local = self.base.place.local(lp, partition);
        let mut processable = self.in_doubt.get(&(local as u32)).map_or(Time::MAX, InDoubt::floor);
        let mut others = Vec::new();
        self.base.queue.drain(Time::MAX, |event| others.push(event));
        for event in others {
            if event.to() == lp {
                processable = processable.min(event.time());
            }
            self.base.queue.push(event);
        }
        let logged = self.log.first_key(local).map_or(Time::MAX, |key| key.time());
        let committable = logged.max(self.committed).min(processable);
        let emittable = processable.saturating_add(self.base.rules.lookahead);
        Times { committed: self.committed, committable, processable, emittable }
    }

    /// Takes in mail from other federates: messages and anti-messages in the order in which they were sent.
    /// May roll back, but nothing before the least time in the mail, which it gives out. A panic of the
    /// model on the way back is kept, and the next turn fails with it.
    pub fn receive(
        &mut self,
        model: &M,
        partition: &Partition,
        mail: &mut Mail<M::Event>,
        outbox: &mut Outbox<M::Event>,
    ) -> Time {
        // Outlives a panic: the host counts what was taken in up to there as well.
        let mut least = Time::MAX;
        if let Err(panic) = catch(|| self.receive_on(model, partition, mail, outbox, &mut least)) {
            self.lost.get_or_insert(EventError::of_caught(panic));
        }
        least
    }

    fn receive_on(
        &mut self,
        model: &M,
        partition: &Partition,
        mail: &mut Mail<M::Event>,
        outbox: &mut Outbox<M::Event>,
        least: &mut Time,
    ) {
        let mut antis = mail.antis.drain(..).peekable();
        for (position, event) in mail.events.drain(..).enumerate() {
            // Before any message sent after it: the one that takes its place may have the same key.
            while let Some((_, receipt)) = antis.next_if(|(at, _)| *at as usize <= position) {
                *least = (*least).min(receipt.time());
                self.recalls.push(receipt);
                self.recall(model, partition, outbox);
            }
            *least = (*least).min(event.time());
            self.take_in(model, partition, event, outbox);
        }
        for (_, receipt) in antis {
            *least = (*least).min(receipt.time());
            self.recalls.push(receipt);
            self.recall(model, partition, outbox);
        }
    }

    /// Commits what has become final and runs a batch: safely if that is worth it, else ahead, but never at
    /// or after `until`. A federate that is `patient` rather waits for GVT where running safely has been
    /// worth it.
    pub fn turn(
        &mut self,
        model: &M,
        partition: &Partition,
        bounds: Bounds,
        patient: bool,
        outbox: &mut Outbox<M::Event>,
    ) -> Turn {
        let turned = catch(|| self.turn_on(model, partition, bounds, patient, outbox));
        self.base.at_work.rest();
        turned.unwrap_or_else(|panic| Turn::Failed(EventError::of_caught(panic)))
    }

    fn turn_on(
        &mut self,
        model: &M,
        partition: &Partition,
        bounds: Bounds,
        patient: bool,
        outbox: &mut Outbox<M::Event>,
    ) -> Turn {
        let Bounds { floor, gvt, until, width, .. } = bounds;
        let safe = gvt.saturating_add(self.base.rules.lookahead).min(until);
        self.committed = self.committed.max(safe);
        // A full log needs room; an observer must not wait for the end of a batch.
        if self.is_full() || self.base.watch.is_some() {
            self.log.commit_all(model, &mut self.base, safe);
        } else {
            self.log.commit(model, &mut self.base, safe);
        }
        // Not up to `safe`: LPs may still handle events before that, which are to be reported first.
        self.base.report_before(gvt);
        if let Some(trouble) = self.trouble(safe) {
            return Turn::Failed(trouble);
        }
        if floor >= until {
            return Turn::Waits;
        }
        // The fast gear would send anew what is in doubt, without seeing that it was sent before.
        let may_safely =
            floor < safe && self.in_doubt.is_empty() && !self.settings.eager && !self.settings.check;
        let full = self.is_full();
        // Safe work needs no log: first where there is no room, nothing else to do, or where it pays.
        if may_safely && (full || safe == until || self.pace.prefers_safe(floor, safe, width)) {
            return self.run_safe(model, partition, floor, safe, outbox);
        }
        // GVT will soon make safe what could only be run ahead now.
        if patient && self.may_wait() {
            return Turn::Waits;
        }
        let mixed = !self.conservative.is_empty();
        // Conservative LPs take part in no batch that ends beyond `safe`: they get one that does not.
        if mixed && !may_safely && floor < safe {
            return self.run_ahead(model, partition, safe, safe, outbox);
        }
        let limit = gvt.saturating_add(self.ahead(bounds)).min(until);
        if !full && let Some(bound) = self.bound_ahead(bounds, limit) {
            let turn = self.run_ahead(model, partition, bound, safe, outbox);
            // Where some LPs must wait, others may still have something to run further on.
            let further = mixed && turn == Turn::Waits && bound < limit;
            let turn = if further { self.run_ahead(model, partition, limit, safe, outbox) } else { turn };
            if turn != Turn::Waits || !may_safely {
                return turn;
            }
        }
        // There is no room for a batch ahead: a safe one is better than none, however small.
        if may_safely {
            return self.run_safe(model, partition, floor, safe, outbox);
        }
        if full && floor <= gvt {
            // Nobody else can go on before this does: make room, and run the instant that holds everybody up.
            let instant = floor.saturating_add(Time::TICK).min(until);
            if self.log.reach() > instant {
                self.fall_back(model, partition, instant, outbox);
            }
            return self.run_ahead(model, partition, instant, safe, outbox);
        }
        Turn::Waits
    }

    /// Whether the log has taken all the memory that it may.
    fn is_full(&self) -> bool {
        self.settings.memory_bytes.is_some_and(|most| self.log.bytes() >= most)
    }

    /// Runs a batch that is final at once.
    fn run_safe(
        &mut self,
        model: &M,
        partition: &Partition,
        floor: Time,
        safe: Time,
        outbox: &mut Outbox<M::Event>,
    ) -> Turn {
        // What an LP runs now is final at once, and comes after what it has in the log.
        self.log.commit_all(model, &mut self.base, safe);
        let bound = self.pace.safe_bound(floor, safe);
        self.reached = self.reached.max(bound);
        let before = self.base.events;
        // Within a lookahead of everything in the queue: this is one batch, and nothing it sends falls into
        // it.
        let progress = self.base.advance(model, partition, bound, usize::MAX, outbox);
        if progress == super::Progress::Faulty {
            let trouble = self.base.trouble().expect("a faulty federate has trouble");
            return Turn::Failed(Box::new(trouble));
        }
        self.resolve(model, partition, outbox);
        let ran = self.base.events - before;
        self.pace.note_density(ran, bound - floor);
        self.stats.processed += ran;
        self.stats.safe += ran;
        Turn::Ran
    }
}

//! The fast gear: all events before a bound, LP by LP.
//!
//! Events come out of the queue unsorted and are dealt to *blocks* of neighbouring LPs, small enough that a
//! block's states and events stay in the processor's cache. The current block is put in order LP by LP (see
//! [`order`]); then each LP handles its events. Events that an LP sends itself within the bound join its run
//! through a small heap, `late`. No allocation and no shared write per event.
//!
//! Invariants: every event of the batch is before `bound` and to an LP of this federate; of the block in
//! hand, what was not run yet is exactly what `order` and `late` still hold; blocks before it are empty.

mod order;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use order::Order;

use super::caught::Handling;
use super::{Federate, Meter, Place};
use crate::world::Lp;
use crate::{Context, Digest, Event, EventQueue, LpId, Model, Outbox, Partition, Time};

/// LPs in a block, at least; more where there would be too many blocks.
const BLOCK_LPS: u32 = 1 << 11;
/// Blocks, at most: dealing to more places at once than the processor follows costs more than a larger block.
const BLOCKS: u32 = 1 << 6;
/// Events sent that are handed on together.
pub(super) const SENT: usize = 1 << 6;

#[derive(Debug)]
pub(super) struct Batch<E> {
    bound: Time,
    /// The least time when the batch was filled; it is not raised while the batch is run.
    floor: Time,
    /// Events left, those in `late` too.
    len: usize,
    /// log2 of the LPs in a block.
    shift: u32,
    blocks: Vec<Vec<Event<E>>>,
    /// The block in hand, and the one after it; none is in hand yet while `next` is 0.
    block: usize,
    next: usize,
    order: Order,
    late: BinaryHeap<Reverse<Event<E>>>,
    /// The event out of `late` that is being run.
    hand: Option<Event<E>>,
}

impl<E> Batch<E> {
    pub(super) fn new(lps: u32) -> Self {
        // A power of two, so that an LP's block is found by a shift.
        let size = lps.div_ceil(BLOCKS).max(BLOCK_LPS).next_power_of_two();
        let blocks = lps.div_ceil(size).max(1);
        Self {
            bound: Time::ZERO,
            floor: Time::MAX,
            len: 0,
            shift: size.ilog2(),
            blocks: (0..blocks).map(|_| Vec::new()).collect(),
            block: 0,
            next: 0,
            order: Order::new(size.min(lps)),
            late: BinaryHeap::new(),
            hand: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// No event of the batch is before this; [`Time::MAX`] when it is empty.
    pub(super) fn floor(&self) -> Time {
        if self.len == 0 { Time::MAX } else { self.floor }
    }

    /// The event that was being run when the model panicked.
    pub(super) fn running(&self) -> Option<&Event<E>> {
        self.hand.as_ref().or_else(|| self.order.running(&self.blocks[self.block]))
    }

    /// Makes the next LP with events the LP in hand. Gives out its local number.
    pub(super) fn take_lp(&mut self, place: &Place, partition: &Partition) -> usize {
        self.next_run(place, partition);
        (self.block << self.shift) + self.order.lp()
    }

    /// The events of the LP in hand in their order, and an empty heap for events that join them.
    pub(super) fn hand(&mut self) -> (impl Iterator<Item = &Event<E>>, &mut BinaryHeap<Reverse<Event<E>>>) {
        (self.order.rest(&self.blocks[self.block]), &mut self.late)
    }

    /// The events of the LP in hand are taken care of.
    pub(super) fn put_down_lp(&mut self) {
        let left = self.order.left();
        self.order.skip(left);
        self.len -= left;
    }

    /// Makes the next LP with events the LP in hand. There must be one: events left, and none of them with
    /// the LP in hand.
    fn next_run(&mut self, place: &Place, partition: &Partition) {
        if self.order.next_run(&self.blocks[self.block]) {
            return;
        }
        if self.next > 0 {
            // All events of the block have been run; its memory stays for the next batch.
            self.blocks[self.block].clear();
        }
        while self.blocks[self.next].is_empty() {
            self.next += 1;
        }
        self.block = self.next;
        self.next += 1;
        let first = self.block << self.shift;
        let events = &self.blocks[self.block];
        let Self { order, floor, bound, .. } = self;
        match place {
            Place::Run { first: base, .. } => {
                let first = *base as usize + first;
                order.arrange(events, *floor, *bound, |event| event.to().index() - first);
            }
            Place::Set(_) => {
                order.arrange(events, *floor, *bound, |event| place.local(event.to(), partition) - first);
            }
        }
        self.order.next_run(events);
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Takes all events before `bound` out of the queue. Says whether there were any.
    pub(super) fn fill(&mut self, partition: &Partition, bound: Time) -> bool {
        let (batch, place) = (&mut self.batch, &self.place);
        // The last block of the batch before was run, but not cleared.
        batch.blocks[batch.block].clear();
        (batch.bound, batch.block, batch.next) = (bound, 0, 0);
        let (mut floor, shift, blocks) = (Time::MAX, batch.shift, &mut batch.blocks);
        let cancelled = &mut self.cancelled;
        // A loop for each kind of place, which is then not looked at for each event.
        match place {
            Place::Run { first, .. } => self.queue.drain(bound, |event| {
                if !cancelled.takes(&event) {
                    floor = floor.min(event.time());
                    blocks[(event.to().0 - first) as usize >> shift].push(event);
                }
            }),
            Place::Set(_) => self.queue.drain(bound, |event| {
                if !cancelled.takes(&event) {
                    floor = floor.min(event.time());
                    blocks[place.local(event.to(), partition) >> shift].push(event);
                }
            }),
        }
        batch.floor = floor;
        self.at_work.reach(floor);
        // Whatever is sent for a time before the bound must be seen.
        self.rules.set_near(self.rules.least_near().max(bound.saturating_sub(floor)));
        batch.len = blocks.iter().map(Vec::len).sum();
        batch.len > 0
    }

    /// Runs events of the LP in hand, or of the next one, but at most `budget`. Says how many, with those
    /// that the LP had cancelled.
    pub(super) fn run_lp(
        &mut self,
        model: &M,
        partition: &Partition,
        budget: usize,
        outbox: &mut Outbox<M::Event>,
    ) -> usize {
        let Self { id, rules, place, lps, withdrawn, batch, sent, fault, struck, at_work, .. } = self;
        if !batch.order.in_run() && batch.late.is_empty() {
            batch.next_run(place, partition);
        }
        let Batch { bound, order, blocks, late, hand, .. } = batch;
        let events = &blocks[batch.block];
        let local = (batch.block << batch.shift) + order.lp();
        let lp_id = place.lp(local);
        // What was sent before has been looked at.
        let mut looked = sent.len();
        let timed = self.meter.as_mut().and_then(Meter::begin);
        let Lp { core, state } = &mut lps[local];
        let mut cx = Context::new(model, rules, lp_id, *core, withdrawn.of::<M>(local), sent, fault);
        cx.watch(*bound);
        // Of those `done`, the LP had cancelled the `passed` ones.
        let (mut done, mut passed, mut joined, mut digest, mut stray) = (0, 0, 0, self.digest, None);
        let (output, last) = (&mut self.output, &mut self.last);
        let handling = Handling::begin(struck);
        at_work.enter(lp_id);
        let mut handle = |event: &Event<M::Event>, cx: &mut Context<'_, M>| {
            run(model, state, event, cx, output, &mut digest, last)
        };
        while done < budget {
            let (ran, cancelled) = match late.is_empty() {
                true => run_down(order, events, budget - done, &mut cx, &mut handle),
                false => run_least(order, events, late, hand, &mut cx, &mut handle),
            };
            if ran == 0 {
                break;
            }
            (done, passed) = (done + ran, passed + cancelled);
            if cx.alarmed() {
                if cx.calm() {
                    // The event that broke a rule does not count; the run is over.
                    done -= 1;
                    break;
                }
                let joins = |event: &mut Event<M::Event>| {
                    event.time() < *bound && place.holds(event.to(), *id, partition)
                };
                let (more, other) = take_late(cx.outbox().extract_if(looked.., joins), lp_id, late);
                looked = cx.outbox().len();
                joined += more;
                stray = other.map(|event| (cx.now(), event));
                if stray.is_some() {
                    break;
                }
            }
        }
        handling.end();
        *core = cx.core();
        if let Some((meter, start)) = self.meter.as_mut().zip(timed) {
            meter.end(start, local, done as u64);
        }
        self.digest = digest;
        self.events += (done - passed) as u64;
        self.batch.len = self.batch.len + joined - done;
        if let Some((now, event)) = stray {
            self.fault = Some(Box::new(self.stray(now, &event)));
        }
        self.route_if_many(partition, outbox);
        done
    }

    /// Hands on what was sent once that is enough to be handed on together; the rest goes when the batch is
    /// done.
    fn route_if_many(&mut self, partition: &Partition, outbox: &mut Outbox<M::Event>) {
        if self.sent.len() >= SENT {
            self.route(partition, outbox);
        }
    }

    /// Hands on what was sent, all events together: copying each at once would stall on the store.
    pub(super) fn route(&mut self, partition: &Partition, outbox: &mut Outbox<M::Event>) {
        match self.place {
            Place::Run { first, count } => {
                for event in self.sent.drain(..) {
                    if event.to().0.wrapping_sub(first) < count {
                        let is_near = event.time() < self.reach;
                        if is_near { self.within_reach.push(event) } else { self.queue.push(event) }
                    } else {
                        outbox.push(partition.place(event.to()).0, event);
                    }
                }
            }
            Place::Set(_) => {
                for event in self.sent.drain(..) {
                    match partition.place(event.to()).0 {
                        to if to == self.id && event.time() < self.reach => self.within_reach.push(event),
                        to if to == self.id => self.queue.push(event),
                        other => outbox.push(other, event),
                    }
                }
            }
        }
    }

    /// Gives what is left of the batch back to the queue.
    pub(super) fn put_back(&mut self) {
        let batch = &mut self.batch;
        if batch.len == 0 {
            return;
        }
        // Where no block is in hand yet, `order` knows of none of the first one's events: all are left.
        let mut left = vec![batch.next == 0; batch.blocks[batch.block].len()];
        batch.order.put_back(|index| left[index] = true);
        let hand = batch.blocks[batch.block].drain(..).zip(left).filter(|(_, left)| *left);
        hand.for_each(|(event, _)| self.queue.push(event));
        batch.late.drain().for_each(|Reverse(event)| self.queue.push(event));
        for block in &mut batch.blocks {
            block.drain(..).for_each(|event| self.queue.push(event));
        }
        batch.len = 0;
    }
}

/// The plain case, in which the LP has sent itself nothing for before the bound: straight down its run, for
/// at most `budget` events, until something comes up. Says how many these are, and how many of them the LP
/// had cancelled.
#[inline(always)]
fn run_down<M: Model>(
    order: &mut Order,
    events: &[Event<M::Event>],
    budget: usize,
    cx: &mut Context<'_, M>,
    handle: &mut impl FnMut(&Event<M::Event>, &mut Context<'_, M>) -> bool,
) -> (usize, usize) {
    let (mut ran, mut cancelled) = (0, 0);
    for event in order.rest(events).take(budget) {
        // Where a panic finds the event.
        order.note(ran);
        cancelled += usize::from(!handle(event, cx));
        ran += 1;
        if cx.alarmed() {
            break;
        }
    }
    order.skip(ran);
    (ran, cancelled)
}

/// Runs one event, the least of the LP's run and of what it has sent itself. Says so in the same way.
#[inline(always)]
fn run_least<M: Model>(
    order: &mut Order,
    events: &[Event<M::Event>],
    late: &mut BinaryHeap<Reverse<Event<M::Event>>>,
    hand: &mut Option<Event<M::Event>>,
    cx: &mut Context<'_, M>,
    handle: &mut impl FnMut(&Event<M::Event>, &mut Context<'_, M>) -> bool,
) -> (usize, usize) {
    let next = order.rest(events).next();
    let from_run = next.filter(|event| late.peek().is_none_or(|Reverse(late)| *event < late));
    order.note(0);
    let mut happened = true;
    if let Some(event) = from_run {
        happened = handle(event, cx);
        order.skip(1);
    } else if let Some(Reverse(event)) = late.pop() {
        // Where a panic finds it: it is in neither list any more.
        happened = handle(hand.insert(event), cx);
        *hand = None;
    }
    (1, usize::from(!happened))
}

/// Takes in what an LP has sent within its federate for before the bound, which joins its run. Says how many
/// events these are. One for another LP is given out and ends the run, since that LP may have been run beyond
/// it. The rules let one pass only where the lookahead within the federate was set higher than the model's
/// and no channels were: a batch is no wider than that lookahead.
fn take_late<E>(
    near: impl Iterator<Item = Event<E>>,
    lp: LpId,
    late: &mut BinaryHeap<Reverse<Event<E>>>,
) -> (usize, Option<Event<E>>) {
    let (mut joined, mut other) = (0, None);
    for event in near {
        if event.to() == lp {
            late.push(Reverse(event));
            joined += 1;
        } else {
            other = Some(event);
        }
    }
    (joined, other)
}

/// Runs one event: the innermost step of everything. Says whether it happened: the LP may have cancelled it.
#[inline(always)]
pub(super) fn run<M: Model>(
    model: &M,
    state: &mut M::State,
    event: &Event<M::Event>,
    cx: &mut Context<'_, M>,
    output: &mut M::Output,
    digest: &mut Digest,
    last: &mut Time,
) -> bool {
    if cx.pass_over(event).is_some() {
        return false;
    }
    cx.enter(event);
    model.handle(state, &event.payload, cx);
    // A fault raises the alarm too, which is in a register; whether there is a fault is in memory.
    if !cx.alarmed() || !cx.has_fault() {
        model.commit(cx.lp(), event.time(), &event.payload, output);
        if M::COMMITS_STATE {
            model.commit_state(cx.lp(), state, event.time(), &event.payload, output);
        }
        digest.event(event);
        *last = event.time().max(*last);
    }
    true
}

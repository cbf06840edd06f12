//! Building the federates of a run: every LP initialised, every first event delivered.
//!
//! [`Settings`] is what all federates are given. The engine fills it (`run/build.rs`), and gives it again
//! where federates are built anew between legs; so do its check of determinism and the guests of simulated
//! machines.

use std::cell::Cell;
use std::sync::Arc;

use super::{Batch, Cancelled, Federate, Place};
use crate::context::Rules;
use crate::withdrawn::Sets;
use crate::world::Lp;
use crate::{Digest, EventQueue, LpId, Model, Outbox, Partition, RuleError, TieBreak, Time};

/// What all federates of a run have in common besides the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Seed of the random streams of all LPs; seeded ties have one of their own ([`TieBreak::Random`]).
    pub seed: u64,
    /// How simultaneous events of the same depth are ordered.
    pub ties: TieBreak,
    /// How wide the windows will be, in simulated time; zero for one event at a time. Only a hint to the
    /// queue.
    pub window: Time,
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// All federates of `partition`, with the messages that LPs send at the start delivered. Fails with the
    /// first rule that an `init` broke.
    pub fn build(model: &M, partition: &Partition, settings: Settings) -> Result<Vec<Self>, RuleError> {
        let mut outbox = Outbox::new(partition.federates());
        let mut federates = Vec::with_capacity(partition.federates() as usize);
        for id in 0..partition.federates() {
            federates.push(Self::start(model, partition, settings, id, &mut outbox)?);
        }
        outbox.flush(|federate, events, _| federates[federate as usize].receive(events.drain(..)));
        Ok(federates)
    }

    /// Federate `id`; its messages to others are in `outbox`. Fails with the first rule that an `init` broke,
    /// once all have run.
    pub fn start(
        model: &M,
        partition: &Partition,
        settings: Settings,
        id: u32,
        outbox: &mut Outbox<M::Event>,
    ) -> Result<Self, RuleError> {
        let members = partition.members(id);
        let rules = rules(model, settings);
        let (mut sent, mut fault) = (Vec::new(), None);
        let mut withdrawn = Sets::new::<M>(members.len());
        let (mut lps, mut queue) = (Vec::with_capacity(members.len()), Q::with_window(settings.window));
        for &lp in &members {
            let set = withdrawn.of::<M>(lps.len());
            lps.push(Lp::start(model, &rules, lp, set, &mut sent, &mut fault));
            for event in sent.drain(..) {
                match partition.place(event.to()).0 {
                    to if to == id => queue.push(event),
                    other => outbox.push(other, event),
                }
            }
        }
        if let Some(fault) = fault {
            return Err(*fault);
        }
        Ok(Self { withdrawn, ..Self::with_lps(model, partition, settings, id, lps, queue) })
    }

    /// Federate `id` of the partition, with these LPs and their events.
    pub(crate) fn with_lps(
        model: &M,
        partition: &Partition,
        settings: Settings,
        id: u32,
        lps: Vec<Lp<M::State>>,
        queue: Q,
    ) -> Self {
        let members = partition.members(id);
        assert!(members.len() == lps.len(), "a federate has the LPs of its part");
        Self::with_members(model, settings, id, &members, lps, queue)
    }

    /// Federate `id`, with these LPs, whose numbers are `members`.
    pub(crate) fn with_members(
        model: &M,
        settings: Settings,
        id: u32,
        members: &[LpId],
        lps: Vec<Lp<M::State>>,
        queue: Q,
    ) -> Self {
        let first = members.first().map_or(0, |lp| lp.0);
        let count = members.len() as u32;
        // The LPs of most federates are neighbours: then a place is a subtraction, and not a search.
        let run = members.iter().enumerate().all(|(local, lp)| lp.0 == first + local as u32);
        let place = if run { Place::Run { first, count } } else { Place::Set(members.to_vec()) };
        Self {
            id,
            rules: rules(model, settings),
            place,
            withdrawn: Sets::new::<M>(lps.len()),
            lps,
            queue,
            batch: Batch::new(count),
            sent: Vec::new(),
            within_reach: Vec::new(),
            reach: Time::ZERO,
            lookahead_within: model.lookahead(),
            cancelled: Cancelled::default(),
            fault: None,
            panicked: None,
            struck: Cell::new(false),
            at_work: Arc::default(),
            digest: Digest::default(),
            events: 0,
            last: Time::ZERO,
            output: M::Output::default(),
            meter: None,
            watch: None,
        }
    }
}

fn rules<M: Model>(model: &M, settings: Settings) -> Rules {
    Rules::new(settings.seed, settings.ties, model.lookahead(), model.lps())
}

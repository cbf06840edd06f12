//! Building the federates of a run: every LP initialised, every first event delivered.

use super::{Batch, Federate, Lp, Place};
use crate::context::{LpCore, Rules};
use crate::{Context, Digest, EventQueue, Fault, Model, Outbox, Partition, TieBreak, Time};

/// What all federates of a run have in common besides the model.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seed of all random streams.
    pub seed: u64,
    /// Order of simultaneous events.
    pub ties: TieBreak,
    /// How wide the windows will be; zero for one event at a time. Only a hint to the queue.
    pub window: Time,
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// All federates of `partition`, with the messages that LPs send at the start delivered.
    pub fn build(model: &M, partition: &Partition, settings: Settings) -> Result<Vec<Self>, Fault> {
        let mut outbox = Outbox::new(partition.federates());
        let mut federates = Vec::with_capacity(partition.federates() as usize);
        for id in 0..partition.federates() {
            federates.push(Self::start(model, partition, settings, id, &mut outbox)?);
        }
        outbox.flush(|federate, events, _| federates[federate as usize].receive(events.drain(..)));
        Ok(federates)
    }

    /// Federate `id`; its messages to others are in `outbox`.
    pub fn start(
        model: &M,
        partition: &Partition,
        settings: Settings,
        id: u32,
        outbox: &mut Outbox<M::Event>,
    ) -> Result<Self, Fault> {
        let members = partition.members(id);
        let lookahead = model.lookahead();
        let near = lookahead.max(Time::nanos(1));
        let rules = Rules { seed: settings.seed, ties: settings.ties, lookahead, near, lps: model.lps() };
        let (mut sent, mut fault) = (Vec::new(), None);
        let mut queue = Q::with_window(settings.window);
        let mut lps = Vec::with_capacity(members.len());
        for &lp in &members {
            let mut cx = Context::new(model, &rules, lp, LpCore::default(), &mut sent, &mut fault);
            let state = model.init(lp, &mut cx);
            lps.push(Lp { core: cx.core(), state });
            for event in sent.drain(..) {
                match partition.place(event.to()).0 {
                    own if own == id => queue.push(event),
                    other => outbox.push(other, event),
                }
            }
        }
        if let Some(fault) = fault {
            return Err(*fault);
        }
        let first = members.first().map_or(0, |lp| lp.0);
        let count = members.len() as u32;
        let run = members.iter().enumerate().all(|(local, lp)| lp.0 == first + local as u32);
        let place = if run { Place::Run { first, count } } else { Place::Set(members) };
        Ok(Self {
            id,
            rules,
            place,
            lps,
            queue,
            batch: Batch::new(count),
            sent,
            fault: None,
            digest: Digest::default(),
            events: 0,
            last: Time::ZERO,
            output: M::Output::default(),
        })
    }
}

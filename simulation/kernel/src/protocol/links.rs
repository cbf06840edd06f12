//! Null messages: each federate's view of the channels to and from it.
//!
//! A channel's *clock* is its sender's promise: nothing earlier will be sent along it any more. The bound of
//! a federate is the least clock of its incoming channels; what it promises on its outgoing ones is the least
//! time at which it may still run an event, plus the channel's lookahead. A promise without an event is a
//! null message (Chandy and Misra, 1979). On demand, a promise is only made with events or to a receiver that
//! has asked for it.
//!
//! Invariants: clocks and promises never fall; no event is sent below a promise; every lookahead is above
//! zero, so that promises made round a cycle rise.

use super::channels::FederateChannels;
use crate::{LinkError, Model, Outbox, Partition, Time};

#[derive(Clone, Copy, Debug)]
struct Incoming {
    from: u32,
    /// The sender's latest promise.
    clock: Time,
    /// The sender was asked for a higher one, and has not given it yet.
    asked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Outgoing {
    to: u32,
    /// The channel's place among the receiver's incoming ones.
    slot: u32,
    lookahead: Time,
    /// The latest promise.
    promised: Time,
    /// The receiver has asked for a higher one.
    wanted: bool,
}

/// A promise to be handed to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The federate that receives it.
    pub to: u32,
    /// The channel's place among the receiver's incoming ones.
    pub slot: u32,
    /// Nothing earlier will be sent any more.
    pub clock: Time,
    /// It stands alone, without events: a null message.
    pub null: bool,
}

/// The channels of one federate.
#[derive(Clone, Debug, Default)]
pub struct Links {
    incoming: Vec<Incoming>,
    /// In the order of receivers.
    outgoing: Vec<Outgoing>,
    on_demand: bool,
}

impl Links {
    /// The channels of all federates: between two of them the least lookahead of their LPs' channels. `from`
    /// is the time before which nothing will happen any more: promises start there and do not creep up to it.
    /// Fails if a declared channel is none that the LP may have.
    pub fn build<M: Model>(
        model: &M,
        partition: &Partition,
        on_demand: bool,
        from: Time,
    ) -> Result<Vec<Self>, LinkError> {
        let channels = FederateChannels::all(model, partition)?;
        let mut links = vec![Self { on_demand, ..Self::default() }; partition.federates() as usize];
        for ((sender, to), lookahead) in channels.between {
            let slot = links[to as usize].incoming.len() as u32;
            let clock = from.saturating_add(lookahead);
            links[to as usize].incoming.push(Incoming { from: sender, clock, asked: false });
            let channel = Outgoing { to, slot, lookahead, promised: clock, wanted: false };
            links[sender as usize].outgoing.push(channel);
        }
        Ok(links)
    }

    /// Whether promises without events are made only to those who ask.
    pub fn on_demand(&self) -> bool {
        self.on_demand
    }

    /// How far the federate may go; [`Time::MAX`] if no federate sends to it.
    pub fn bound(&self) -> Time {
        self.incoming.iter().map(|channel| channel.clock).min().unwrap_or(Time::MAX)
    }

    /// The clocks of the incoming channels, by slot.
    pub fn clocks(&self) -> Vec<Time> {
        self.incoming.iter().map(|channel| channel.clock).collect()
    }

    /// A promise came in: nothing will arrive along incoming channel `slot` before `clock`. An older promise
    /// changes nothing.
    pub fn raise(&mut self, slot: u32, clock: Time) {
        let channel = &mut self.incoming[slot as usize];
        if clock > channel.clock {
            channel.clock = clock;
            channel.asked = false;
        }
    }

    /// The receiver `to` waits for a promise.
    pub fn want(&mut self, to: u32) {
        if let Some(channel) = self.outgoing.iter_mut().find(|channel| channel.to == to) {
            channel.wanted = true;
        }
    }

    /// Whether a message for federate `to`, to happen at `at`, keeps what was declared and promised.
    pub fn keeps(&self, to: u32, at: Time) -> bool {
        // In order, since `build` enters channels by sender and then by receiver.
        let place = self.outgoing.binary_search_by_key(&to, |channel| channel.to);
        place.is_ok_and(|place| at >= self.outgoing[place].promised)
    }

    /// Renews the promises of a federate that will run nothing before `floor`, and hands over those that
    /// accompany events in `outbox` or rise; on demand, promises without events only to those who asked.
    /// Nothing is promised beyond `until`.
    pub fn promise<E>(
        &mut self,
        floor: Time,
        until: Time,
        outbox: &mut Outbox<E>,
        mut send: impl FnMut(Promise, &mut Outbox<E>),
    ) {
        for channel in &mut self.outgoing {
            // A promise up to the horizon is the last one: the receiver never has to wait for more.
            let clock = floor.saturating_add(channel.lookahead).min(until);
            let null = outbox.to(channel.to).is_empty();
            let rises = clock > channel.promised;
            // Events do not wait for a promise that rises: they go with the one that stands.
            if !null || (rises && (!self.on_demand || channel.wanted)) {
                if rises {
                    channel.promised = clock;
                    channel.wanted = false;
                }
                let Outgoing { to, slot, promised: clock, .. } = *channel;
                send(Promise { to, slot, clock, null }, outbox);
            }
        }
    }

    /// On demand: names the senders to be asked for a promise, where the federate's next event is at `next`.
    pub fn ask(&mut self, next: Time, until: Time, mut send: impl FnMut(u32)) {
        // Without an event of its own it asks for the sake of those who wait for its promise.
        let awaited = self.outgoing.iter().any(|channel| channel.wanted);
        if !self.on_demand || (next >= until && !awaited) {
            return;
        }
        let bound = self.bound();
        for channel in &mut self.incoming {
            // Asked are those that keep the next event from being safe; where it is safe, the least clocks.
            if channel.clock < until && channel.clock <= next.max(bound) && !channel.asked {
                channel.asked = true;
                send(channel.from);
            }
        }
    }
}

//! One event at a time, and events from outside.
//!
//! Invariant: an event from outside is for a time at which nothing has happened yet, so that it finds its
//! place in the total order wherever the run was cut.

use paceline_kernel::{Event, LpId, Model, Outbox, Progress, Time};

use super::course::Course;
use crate::{RunError, Simulation};

/// An event that [`Run::run_event`](crate::Run::run_event) has run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stepped<E> {
    /// The LP that handled it.
    pub lp: LpId,
    /// The simulated time at which it happened.
    pub time: Time,
    /// The payload of the event.
    pub event: E,
    /// What the LP sent meanwhile, in the order in which it did.
    pub sent: Vec<Sent<E>>,
}

/// A message that an LP has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent<E> {
    /// The LP that will handle it, which may be the sender.
    pub to: LpId,
    /// The simulated time at which it will happen, unless it is cancelled before.
    pub time: Time,
    /// The payload of the message.
    pub event: E,
}

impl<M: Model> Course<M> {
    /// Whether it has not been run yet.
    pub(super) fn is_new(&self) -> bool {
        self.events() == self.resumed_events
    }

    /// The least time at which an event may be sent in ([`Run::earliest`](crate::Run::earliest)).
    pub(super) fn earliest(&self) -> Time {
        // Nothing has happened at the first instant yet.
        if self.is_new() && self.resumed_events == 0 {
            return self.time;
        }
        self.time.max(self.last().saturating_add(Time::TICK))
    }

    pub(super) fn state(&self, lp: LpId) -> &M::State {
        self.federates[self.partition.place(lp).0 as usize].look(lp, &self.partition).0
    }

    pub(super) fn look_at_pending(&mut self, look: &mut impl FnMut(LpId, Time, &M::Event)) {
        for federate in &mut self.federates {
            federate.look_at_pending(|event| look(event.to(), event.time(), &event.payload));
        }
    }

    /// Takes in an event from outside.
    pub(super) fn send(&mut self, lp: LpId, at: Time, event: M::Event) {
        let event = Event::from_outside(self.settings.ties, self.past.injected, at, lp, event);
        // In every process, so that all number events from outside alike.
        self.past.injected += 1;
        // What all processes agreed on after the last call must not pass this one over.
        self.least = self.least.min(at);
        if self.holds(lp) {
            self.federates[self.partition.place(lp).0 as usize].receive([event]);
        }
    }

    /// Whether this process has the LP.
    pub(super) fn holds(&self, lp: LpId) -> bool {
        let federate = || self.partition.place(lp).0;
        lp.0 < self.partition.lps() && self.peers.as_ref().is_none_or(|peers| peers.owns(federate()))
    }

    /// Takes out the least event before `until`, and says of which federate.
    fn take_least(&mut self, until: Time) -> Option<(usize, Event<M::Event>)> {
        let mut least: Option<(usize, Event<M::Event>)> = None;
        let mut later = Vec::new();
        for (id, federate) in self.federates.iter_mut().enumerate() {
            let Some(event) = federate.take_least(until) else { continue };
            match &mut least {
                Some((before, known)) if event < *known => {
                    later.push((std::mem::replace(before, id), std::mem::replace(known, event)));
                }
                Some(_) => later.push((id, event)),
                None => least = Some((id, event)),
            }
        }
        // Federates give their least event out; all but one get it back.
        later.into_iter().for_each(|(id, event)| self.federates[id].receive([event]));
        least
    }

    /// The receiver and the time of the least event before `until`, which stays where it is.
    pub(super) fn peek(&mut self, until: Time) -> Option<(LpId, Time)> {
        loop {
            let (id, event) = self.take_least(until)?;
            let next = (event.to(), event.time());
            // One that its LP has cancelled will not happen.
            if !self.federates[id].pass_over(&self.partition, &event) {
                self.federates[id].receive([event]);
                return Some(next);
            }
        }
    }

    /// Runs the least event before the horizon.
    pub(super) fn step(&mut self, simulation: &Simulation<M>) -> Result<Option<Stepped<M::Event>>, RunError> {
        if let Some(peers) = &self.peers {
            return Err(peers.cannot("single steps").into());
        }
        if !self.outsiders.run_model() {
            return Err(self.outsiders.cannot("single steps").into());
        }
        let (id, event) = loop {
            let Some((id, event)) = self.take_least(simulation.until) else {
                self.come_to(simulation.until);
                return Ok(None);
            };
            // One that its LP has cancelled does not count as a step.
            if !self.federates[id].pass_over(&self.partition, &event) {
                break (id, event);
            }
        };
        let mut outbox = Outbox::new(self.partition.federates());
        let mut sent = Vec::new();
        let federate = &mut self.federates[id];
        let progress = federate.run_taken(&simulation.model, &self.partition, &event, &mut outbox, &mut sent);
        if progress == Progress::Faulty {
            return Err(federate.trouble().expect("a faulty federate has trouble").into());
        }
        outbox.flush(|to, events, _| self.federates[to as usize].receive(events.drain(..)));
        self.time = event.time();
        simulation.monitor.advance(event.time(), 1);
        let message =
            |event: Event<M::Event>| Sent { to: event.to(), time: event.time(), event: event.payload };
        Ok(Some(Stepped {
            lp: event.to(),
            time: event.time(),
            event: event.payload,
            sent: sent.into_iter().map(message).collect(),
        }))
    }
}

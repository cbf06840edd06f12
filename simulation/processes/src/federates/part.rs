//! One federate as a logical process of the engine.
//!
//! Invariant: since it does not live, it knows where it had come to after every instant that may be the last
//! of the world.

use std::sync::Arc;

use crate::core::{Counts, Leaving, ProcessId, Stuck};
use paceline_kernel::{Context, Digest, Time};
use paceline_network::{Ended, HostId, Network, RouteError, TransferId};

use super::agenda::{Acts, Agenda};
use super::housed::Housed;
use super::mail::{Item, Outgoing};
use super::{Federates, World};
use crate::report::RunError;

/// A federate reports how far it is after this number of instants.
const INSTANTS_PER_REPORT: u32 = 64;

/// What a federate knows of the network: how long parcels take that do not share it.
pub(crate) struct Apart<N>(Arc<N>);

impl<N> Apart<N> {
    pub(super) fn new(network: N) -> Self {
        Self(Arc::new(network))
    }
}

impl<N> Clone for Apart<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<N: Network> Network for Apart<N> {
    fn now(&self) -> f64 {
        0.0
    }

    fn alone(&self, from: HostId, to: HostId, bytes: f64) -> Option<f64> {
        self.0.alone(from, to, bytes)
    }

    fn least_latency(&self) -> f64 {
        self.0.least_latency()
    }

    fn start_since(&mut self, _: HostId, _: HostId, _: f64, _: f64) -> Result<TransferId, RouteError> {
        unreachable!("in a part of a world all that flows is carried for it")
    }

    fn next(&mut self) -> Option<f64> {
        None
    }

    fn advance_into(&mut self, _: f64, _: &mut Vec<Ended>) {}

    fn cancel(&mut self, _: TransferId) {}
}

/// How long parcels between hosts take where no carrier is needed; hosts are as good as each other then.
pub(super) fn uncarried(network: &impl Network, hosts: usize) -> Option<Time> {
    let other = HostId(u32::from(hosts > 1));
    network.alone(HostId(0), other, 0.0).filter(|_| hosts > 1 || network.least_latency() > 0.0)?;
    // A tick less: messages are sent and arrive at parts of ticks.
    Some(Time::from_secs_f64(network.least_latency()).saturating_sub(Time::TICK))
}

/// The time that a federate without live processes has reached.
struct Mark {
    at: Time,
    digest: Digest,
    counts: Counts,
}

/// The processes of one federate of the kernel, and what it sends to others.
pub(super) struct Part<P, N> {
    pub(super) run: Housed<P, N>,
    agenda: Agenda,
    outgoing: Outgoing<P>,
    lives: bool,
    /// Since it does not live, after each instant that may be the last.
    marks: Vec<Mark>,
    reported: (u32, u64),
    /// How many processes are in all federates from the start: their numbers are their identities.
    from_the_start: u64,
}

impl<P: Send + 'static, N: Network + Send + Sync> Acts for Part<P, N> {
    type Payload = P;

    fn agenda(&mut self) -> &mut Agenda {
        &mut self.agenda
    }

    fn take_in(&mut self, item: Item<P>, now: Time) {
        let core = &mut self.run.core;
        match item {
            Item::Parcel(parcel) => core.expect(now, parcel),
            Item::ArrivalNotice { rest, whose, place, failure } => {
                core.expect_arrival_notice((now, rest), whose, place, failure)
            }
            Item::Start(_) => unreachable!("what is to be started is sent to the carrier"),
        }
    }

    /// Goes through all rounds of this instant.
    fn act(&mut self, world: &World, cx: &mut Context<'_, Federates<'_>>) -> Option<Time> {
        let (now, ending) = (cx.now(), &world.ending);
        if ending.is_past(now) {
            return None;
        }
        if let Err((process, error)) = self.work(now) {
            let identity = process.map_or(u64::MAX, |process| self.run.core.identity(process));
            ending.fails(now, identity, error);
            return None;
        }
        self.send(world, cx);
        if self.lives && self.run.core.living() == 0 {
            self.lives = false;
            self.run.core.keep_past();
            ending.ceases(now);
        }
        if !self.lives {
            self.mark(now, world);
        }
        self.report_progress(now, world);
        self.run.core.next_time()
    }
}

impl<P: Send + 'static, N: Network + Send + Sync> Part<P, N> {
    fn work(&mut self, now: Time) -> Result<(), (Option<ProcessId>, RunError)> {
        let worked = self.run.work(now);
        let core = &self.run.core;
        if let Some((process, reach)) = core.reached_out() {
            let (name, host) = core.about(process);
            let (name, host) = (name.to_string(), host.0);
            let error = RunError::ReachedOut { process: self.number(process), name, host, time: now, reach };
            return Err((Some(process), error));
        }
        match worked {
            Ok(_) => Ok(()),
            Err(mut error) => {
                let mut failed = None;
                if let RunError::Panic { process, .. }
                | RunError::Strays { process, .. }
                | RunError::Output { process, .. } = &mut error
                {
                    failed = Some(*process);
                    *process = self.number(*process);
                }
                Err((failed, error))
            }
        }
    }

    fn send(&mut self, world: &World, cx: &mut Context<'_, Federates<'_>>) {
        let (now, carrier) = (cx.now(), world.federates);
        for leaving in self.run.core.take_leaving() {
            match leaving {
                Leaving::Parcel(at, parcel) => {
                    let to = world.owners[parcel.to.0 as usize];
                    self.outgoing.push(to, at, Item::Parcel(parcel));
                }
                Leaving::Start(start) => {
                    self.outgoing.push(carrier, now.saturating_add(world.lookahead), Item::Start(start));
                }
            }
        }
        self.outgoing.send(cx);
    }

    /// Notes where it has come to, and forgets what is before the end for certain.
    fn mark(&mut self, now: Time, world: &World) {
        // In this order: the world has not ended before a time that all had reached while somebody lived.
        let reached = world.monitor.time();
        let sure = if world.ending.is_over() { world.ending.last() } else { reached };
        let (digest, counts) = (self.run.core.digest(), self.run.core.counts());
        self.run.core.forget_past(sure);
        self.marks.push(Mark { at: now, digest, counts });
        self.run.core.keep_outputs_until(sure);
        let before = self.marks.partition_point(|mark| mark.at <= sure);
        self.marks.drain(..before.saturating_sub(1));
    }

    /// Reports to the observer, now and then.
    fn report_progress(&mut self, now: Time, world: &World) {
        let control = &self.run.settings.control;
        let (instants, steps) = &mut self.reported;
        *instants += 1;
        if instants.is_multiple_of(INSTANTS_PER_REPORT) {
            let all = self.run.core.counts().steps;
            control.advance(now, all - std::mem::replace(steps, all));
        }
        if control.stopped() {
            world.monitor.stop();
        }
    }
}

impl<P: Send + 'static, N: Network> Part<P, N> {
    pub(super) fn new(run: Housed<P, N>, from_the_start: u64) -> Self {
        let lives = run.core.living() > 0;
        let (agenda, outgoing) = (Agenda::default(), Outgoing::default());
        let (marks, reported) = (Vec::new(), (0, 0));
        let mut part = Self { run, agenda, outgoing, lives, marks, reported, from_the_start };
        if !lives {
            part.run.core.keep_past();
            let (digest, counts) = (part.run.core.digest(), part.run.core.counts());
            part.marks.push(Mark { at: Time::ZERO, digest, counts });
        }
        part
    }

    /// The number of a process in a world that is not dealt, where it was there from the start.
    fn number(&self, process: ProcessId) -> ProcessId {
        self.number_of(process, self.run.core.identity(process))
    }

    fn number_of(&self, process: ProcessId, identity: u64) -> ProcessId {
        if identity < self.from_the_start { ProcessId(identity as u32) } else { process }
    }

    /// Processes that have panicked up to `last`, with what they said.
    pub(super) fn take_panicked(&mut self, last: Time) -> Vec<(ProcessId, String)> {
        let panicked = std::mem::take(&mut self.run.panicked).into_iter();
        let panicked = panicked.filter(|(at, ..)| *at <= last);
        panicked.map(|(_, process, identity, message)| (self.number_of(process, identity), message)).collect()
    }

    /// The processes that wait in it, except daemons.
    pub(super) fn waiting(&mut self) -> Vec<Stuck> {
        let waiting = self.run.core.waiting();
        waiting.into_iter().map(|stuck| Stuck { process: self.number(stuck.process), ..stuck }).collect()
    }

    /// Whether it keeps the run from ending.
    pub(super) fn lives(&self) -> bool {
        self.lives
    }

    /// Adds what it did up to `last`.
    pub(super) fn add_to(&self, last: Time, digest: &mut Digest, counts: &mut Counts) {
        let core = &self.run.core;
        let mark = self.marks.iter().rfind(|mark| mark.at <= last);
        let (partial, did) = mark.map_or((core.digest(), core.counts()), |mark| (mark.digest, mark.counts));
        digest.join(partial);
        counts.rounds += did.rounds;
        counts.steps += did.steps;
        counts.messages += did.messages;
        counts.processes += did.processes;
    }
}

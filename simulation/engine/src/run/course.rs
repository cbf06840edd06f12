//! A run between two of its legs: it runs leg after leg up to a time, and ends in a report.
//!
//! A leg ends when the run has come to that time, or at a pause: between two legs nothing is speculative or
//! under way, and the run can be checkpointed, or continue with other threads or with LPs in other federates.
//! Pauses are asked for by the [`Steward`] and by [`Monitor::set_threads`](crate::Monitor::set_threads).
//!
//! Invariant: between two legs no federate has a message for another, and no event before `time` is waiting
//! unless the last leg was stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{
    Change, ChannelTable, Distances, Federate, Model, Origin, Partition, Past, Settings, Time,
};

use super::clock::{Lateness, Tie};
use super::groups::grouped;
use super::processes::send_failure;
use super::sums::Sums;
use crate::adapt::auto::{Auto, Stretch, Way};
use crate::adapt::balance::Balancer;
use crate::adapt::steward::Steward;
use crate::checkpoint::Front;
use crate::outside::Outsiders;
use crate::peers::{Peers, Pulse};
use crate::protocols::leg;
use crate::watch::monitor::Halt;
use crate::watch::observer::Observing;
use crate::workers::cores;
use crate::workers::pool::Crew;
use crate::workers::seat::Federates;
use crate::{CheckpointError, Pause, Protocol, RecordKind, RunError, Simulation};

pub(super) struct Course<M: Model> {
    /// The simulated time reached.
    pub(super) time: Time,
    /// Lets the other processes know that this one is there.
    pub(super) pulse: Option<Pulse>,
    pub(super) peers: Option<Arc<Peers<M>>>,
    /// The time of the next event in any process, after the last call.
    pub(super) least: Time,
    /// Decides how the run is executed, where that is left open.
    pub(super) auto: Option<Auto>,
    /// The protocol and the groups of federates, of which `auto` may try others.
    pub(super) way: Way,
    /// As the model deals its LPs to federates.
    pub(super) dealt: Partition,
    /// As they are dealt now: federates may be merged, or LPs have moved.
    pub(super) partition: Partition,
    /// As they were dealt when LPs moved last.
    pub(super) moved: Option<Partition>,
    /// What the LPs declare, where they do.
    pub(super) channels: Option<Arc<ChannelTable>>,
    /// Of this partition, once windows have asked for them: none where they are not worth it.
    pub(super) distances: Option<Option<Arc<Distances>>>,
    pub(super) settings: Settings,
    /// Worker threads of the last leg, or as many as were asked for.
    pub(super) threads: u32,
    pub(super) crew: Crew,
    pub(super) steward: Steward,
    pub(super) balancer: Option<Balancer>,
    pub(super) federates: Federates<M>,
    pub(super) outsiders: Outsiders<M>,
    /// Everything before this has happened in this process; outside federates join and leave by it.
    pub(super) reached: Time,
    /// What was committed before the federates were dealt.
    pub(super) past: Past<M::Output>,
    /// Changes of parameters made while it went on, in their order.
    pub(super) changes: Vec<Change>,
    /// Where the run comes from, once there is a checkpoint or it was resumed from one.
    pub(super) origin: Option<Box<Origin>>,
    /// Events that had been committed when the run was resumed.
    pub(super) resumed_events: u64,
    /// Of the moving window of the last leg that had one.
    pub(super) width: Option<Time>,
    /// When the owner called last.
    pub(super) called: Instant,
    /// Which time is now, where the run is tied to real time and has begun.
    pub(super) tie: Option<Tie>,
    pub(super) lateness: Lateness,
    pub(super) sums: Sums,
}

impl<M: Model> Course<M> {
    /// Runs leg after leg until everything before `until` has happened; says so, or that it was stopped or
    /// asked back.
    pub(super) fn run(&mut self, simulation: &Simulation<M>, until: Time) -> Result<Option<Halt>, RunError> {
        // The first call has a leg even if nothing happens in it: a report has at least one. Of several
        // processes all return here or none: `lvt` is then what they have agreed on after the last call.
        if self.sums.legs > 0 && self.lvt() >= until {
            self.come_to(until);
            return Ok(None);
        }
        self.called = Instant::now();
        let halt = self.legs(simulation, until);
        self.sums.wall += self.called.elapsed();
        let halt = halt.map_err(|error| send_failure(self.peers.as_deref(), error))?;
        let least_here = self.lvt_here();
        self.least = self.least_of_all(least_here)?;
        let reached = self.lvt();
        assert!(
            halt.is_some() || reached >= until,
            "no protocol ends while events are left before the time that it is to come to"
        );
        self.come_to(reached.min(until));
        // A run that its owner asked back has reported its pause at the end of the leg.
        if halt != Some(Halt::Pause) {
            self.report_pause(simulation);
        }
        Ok(halt)
    }

    /// Reports to the observer all events that are final in order, and the pause.
    fn report_pause(&mut self, simulation: &Simulation<M>) {
        if let Some(Observing { observer, .. }) = &simulation.observer {
            let (lvt, events, pending) = (self.lvt_here(), self.events(), self.pending());
            self.federates.iter_mut().for_each(|federate| federate.report_before(lvt));
            let time = lvt.min(simulation.until);
            observer.paused(&Pause { time, events, pending });
        }
    }

    /// Everything before `time` has happened; at the end of time, nothing is left.
    pub(super) fn come_to(&mut self, time: Time) {
        self.time = self.time.max(if time == Time::MAX { self.last() } else { time });
    }

    /// The legs of a call. At a pause the order is: threads and way first, since the groups of federates
    /// follow from both; then what was asked of the steward. All processes ask each other the same in the
    /// same order.
    fn legs(&mut self, simulation: &Simulation<M>, until: Time) -> Result<Option<Halt>, RunError> {
        let Simulation { monitor, leg_events, .. } = simulation;
        self.follow_threads(simulation);
        self.regroup(simulation);
        // The pause that came with it is forgotten by now.
        if self.peers.is_none() && monitor.is_wanted_back() {
            monitor.pause();
        }
        let (mut since, mut events) = (Instant::now(), self.events());
        loop {
            let workers = if self.way.protocol == Protocol::Sequential { 1 } else { self.threads };
            monitor.begin_leg(workers, *leg_events);
            // The pause that tests want is asked for at once; it is granted after that many events.
            if leg_events.is_some() {
                monitor.pause();
            }
            let distances = self.distances(simulation)?;
            let federates = std::mem::take(&mut self.federates);
            simulation.tracing.start(workers, self.partition.federates());
            // Outside federates join and leave between two legs.
            let reached = self.reached;
            let leg_until = until.min(self.outsiders.next_change(reached));
            let (protocol, width) = (self.way.protocol, self.width);
            let plan = leg::Plan { protocol, reached, until: leg_until, width, distances, workers };
            let Self { partition, outsiders, crew, peers, .. } = self;
            let outcome =
                leg::run(simulation, plan, partition, federates, outsiders, crew, peers.as_deref())?;
            self.sums.add_leg(workers, &outcome);
            self.federates = outcome.federates;
            // Of a leg without one the last width stays, for when `auto` comes back to Time Warp.
            self.width = outcome.width.or(self.width);
            if let Some(trouble) = outcome.trouble {
                return Err(trouble.into());
            }
            // After what the model did: of two failures, that is the cause.
            if let Some(error) = outcome.error {
                return Err(error);
            }
            // A leg that was halted has come only as far as its least event.
            let come_to = if outcome.halt.is_none() { leg_until } else { self.lvt_here().min(leg_until) };
            self.reached = self.reached.max(come_to);
            let before = std::mem::replace(&mut events, self.events());
            monitor.settle(events);
            if let Some(auto) = &mut self.auto {
                let wall = std::mem::replace(&mut since, Instant::now()).elapsed();
                auto.ran(Stretch { events: events - before, wall, windows: outcome.windows });
            }
            match outcome.halt {
                // An outside federate joins or leaves: nothing else is due.
                None if leg_until < until => {}
                None => return Ok(None),
                Some(Halt::Stop) => {
                    self.checkpoint(simulation)?;
                    return Ok(Some(Halt::Stop));
                }
                Some(Halt::Pause) => {
                    if self.pause(simulation)? {
                        return Ok(Some(Halt::Pause));
                    }
                }
            }
        }
    }

    /// What is due at a pause, in the order that [`Course::legs`] gives. Whether the owner has asked for the
    /// run.
    fn pause(&mut self, simulation: &Simulation<M>) -> Result<bool, RunError> {
        self.report_pause(simulation);
        self.follow_threads(simulation);
        self.decide();
        self.regroup(simulation);
        self.settled(simulation, self.steward.take_failed())?;
        let due = self.steward.is_checkpoint_due();
        if self.any(due)? {
            self.checkpoint(simulation)?;
        }
        self.look(simulation)?;
        // With other processes all would have to come back at the same pause.
        Ok(self.peers.is_none() && simulation.monitor.take_wanted_back())
    }

    /// The distances between federates, where the next leg is one of windows and they are worth it.
    fn distances(&mut self, simulation: &Simulation<M>) -> Result<Option<Arc<Distances>>, RunError> {
        // Only windows have use for them, and finding them asks every LP for its channels.
        if self.way.protocol != Protocol::Window {
            return Ok(None);
        }
        if self.distances.is_none() {
            let (model, outside) = (&simulation.model, self.outsiders.federates());
            // All processes have to choose alike, and each knows only of its own outside federates.
            let distances = if outside.is_empty() || self.peers.is_some() {
                Distances::worth(model, &self.partition)?
            } else {
                Distances::worth_outside(model, &self.partition, &outside)?
            };
            self.distances = Some(distances.map(Arc::new));
        }
        Ok(self.distances.clone().flatten())
    }

    pub(super) fn events(&self) -> u64 {
        self.past.events + self.federates.iter().map(Federate::events).sum::<u64>()
    }

    /// The time of the latest event committed.
    pub(super) fn last(&self) -> Time {
        self.federates.iter().map(Federate::last).max().unwrap_or(Time::ZERO).max(self.past.last)
    }

    /// No event that waits happens before this, in any process; [`Time::MAX`] without events.
    pub(super) fn lvt(&mut self) -> Time {
        if self.peers.is_some() { self.least } else { self.lvt_here() }
    }

    /// No event that waits in this process happens before this.
    pub(super) fn lvt_here(&mut self) -> Time {
        let next = |federate: &mut Federate<M>| federate.next_time(&self.partition);
        let least = self.federates.iter_mut().map(next).min().unwrap_or(Time::MAX);
        least.min(self.outsiders.next())
    }

    pub(super) fn pending(&self) -> usize {
        self.federates.iter().map(Federate::live).sum()
    }

    /// Real time spent in the run so far, up to now within a call.
    fn worked(&self) -> Duration {
        self.sums.wall + self.called.elapsed()
    }

    /// Finds how many workers the next leg has: what was asked for, else what follows the cores, else as many
    /// as the last one had. Requests made before this are fulfilled by it.
    fn follow_threads(&mut self, simulation: &Simulation<M>) {
        let Simulation { protocol, monitor, .. } = simulation;
        let wanted = monitor.take_wanted();
        let follows = simulation.threads.is_none();
        self.threads = match (protocol, wanted) {
            (Protocol::Sequential, _) => 1,
            (_, Some(wanted)) => wanted,
            (_, None) if follows => cores::available(),
            (_, None) => self.threads,
        };
        self.steward.follow(follows.then_some(self.threads));
    }

    /// Decides how the run continues, where that is left open.
    fn decide(&mut self) {
        let run = self.worked();
        let Some(auto) = &mut self.auto else { return };
        if self.steward.take_crowded() {
            auto.hurry(run);
        }
        auto.decide(run);
        self.way = auto.way();
        self.steward.schedule_decision(auto.pause(run));
    }

    /// Merges federates anew, where the way or the number of threads asks for other groups than there are.
    fn regroup(&mut self, simulation: &Simulation<M>) {
        let Simulation { model, speculation, .. } = simulation;
        // The groups of several processes follow from the threads of all, and nothing changes them: threads
        // that one of them gets later share the federates that it has.
        if self.peers.is_some() {
            return;
        }
        let mut next = grouped(simulation, &self.dealt, self.way, self.threads);
        let window = self.way.window(model);
        // As many groups are the same groups, wherever LPs have moved.
        if next.federates() == self.partition.federates() && window == self.settings.window {
            return;
        }
        let fits = |partition: &Partition| {
            !self.way.protocol.speculates() || speculation.check(model, partition.largest()).is_ok()
        };
        // Where LPs have moved among as many federates, they need not do so again.
        if let Some(moved) = &self.moved
            && moved.federates() == next.federates()
            && fits(moved)
        {
            next = moved.clone();
        }
        let start = Instant::now();
        let world = self.gather();
        if let Some(balancer) = &mut self.balancer {
            balancer.dealt_anew(next.federates());
        }
        (self.partition, self.settings.window) = (next, window);
        self.distances = None;
        self.deal(simulation, world);
        let run = self.worked();
        if let Some(auto) = &mut self.auto {
            auto.dealt(start.elapsed());
            self.steward.schedule_decision(auto.pause(run));
        }
    }

    /// Where the run comes from. That is found out once it has come far enough, and then stays.
    pub(super) fn origin(&mut self, simulation: &Simulation<M>) -> Box<Origin> {
        let known = self.origin.take();
        // A model whose parameters were changed does something else in the first events than the one with
        // which the run began, and by which it is known again.
        let is_final = |known: &Origin| known.is_full() || !self.changes.is_empty();
        let origin = known.filter(|known| is_final(known)).unwrap_or_else(|| {
            let Simulation { model, seed, ties, .. } = simulation;
            Box::new(Origin::of(model, *seed, *ties, self.last()))
        });
        self.origin = Some(origin.clone());
        origin
    }

    /// Takes note of what has become of the checkpoint handed over last.
    pub(super) fn settled(
        &mut self,
        simulation: &Simulation<M>,
        published: Result<(), CheckpointError>,
    ) -> Result<(), RunError> {
        // It was counted when it was handed over.
        if self.sums.overcome(simulation, published)?.is_none() {
            self.sums.checkpoints -= 1;
        }
        Ok(())
    }

    /// Writes a checkpoint, if there are to be any, and says whether it did.
    pub(super) fn checkpoint(&mut self, simulation: &Simulation<M>) -> Result<bool, RunError> {
        if self.peers.is_some() {
            return self.checkpoint_together(simulation);
        }
        let Simulation { checkpoints: Some((checkpoints, codec)), .. } = simulation else {
            return Ok(false);
        };
        let mut recorder = simulation.tracing.recorder(None);
        let (start, start_ns) = (Instant::now(), recorder.now());
        self.settled(simulation, self.steward.settle())?;
        let origin = self.origin(simulation);
        let world = self.gather();
        let reached = world.last();
        // Before the world is written: whatever they keep in files of their own must be there once the
        // checkpoint has its name.
        let outside = self.outsiders.save(&checkpoints.path);
        let changes = &self.changes;
        let written = outside.and_then(|outside| {
            codec.write(Front { origin: &origin, outside: &outside, changes }, &world, checkpoints)
        });
        // Dealt again whether it could be written or not: the run may go on without it.
        self.deal(simulation, world);
        let published = self.steward.publish(written);
        recorder.slice(RecordKind::Checkpoint, None, start_ns, reached, 0);
        self.sums.published(simulation, published, start)
    }
}

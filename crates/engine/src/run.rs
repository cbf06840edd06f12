//! From settings to a report: checks what cannot work, builds the federates, runs them leg by leg, adds up.
//!
//! A leg ends when the run is over, or at a pause: between two legs nothing is speculative or under way, and the run can be
//! written down, or go on with other threads or with LPs in other federates. Pauses are asked for by the [`Steward`] and by
//! [`Monitor::set_threads`](crate::Monitor::set_threads).

mod between;

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{
    Activity, Balance, BucketQueue, Distances, EnhancedHeap, EventQueue, Federate, Heap, Model, Partition,
    Past, Rollbacks, Settings, Time, World,
};

use crate::auto::{Auto, Groups, Stretch, Way};
use crate::balance::Balancer;
use crate::monitor::{Halt, MOST_THREADS};
use crate::seat::Federates;
use crate::steward::Steward;
use crate::{EndedBy, QueueKind, RecordKind, Report, RunError, Simulation, Sync, ThreadsError, cores, leg};

/// Federates per thread where the number of federates is left to us: enough that one slow thread's share can be taken
/// over by the others.
const FEDERATES_PER_THREAD: u32 = 4;

pub(crate) fn run<M: Model>(mut simulation: Simulation<M>) -> Result<(Report<M::Output>, M), RunError> {
    let resumed = simulation.resumed.take();
    simulation.tracing.begin();
    simulation.publishing.begin();
    let mut report = match simulation.queue {
        QueueKind::Heap => run_with::<M, Heap<M::Event>>(&simulation, resumed),
        QueueKind::EnhancedHeap => run_with::<M, EnhancedHeap<M::Event>>(&simulation, resumed),
        QueueKind::Bucket => run_with::<M, BucketQueue<M::Event>>(&simulation, resumed),
    }?;
    report.unpaced = simulation.publishing.into_trouble();
    Ok((report, simulation.model))
}

/// Federates and threads that the settings come to, or why they cannot work.
pub(crate) fn check<M: Model>(simulation: &Simulation<M>) -> Result<(u32, u32), RunError> {
    let lps = simulation.model.lps();
    let lookahead = simulation.model.lookahead();
    for (what, number) in [
        ("the number of LPs", Some(lps)),
        ("the number of federates", simulation.federates),
        ("the number of threads", simulation.threads),
    ] {
        if number == Some(0) {
            return Err(RunError::Zero { what });
        }
    }
    if let Some(threads) = simulation.threads.filter(|threads| *threads > MOST_THREADS) {
        return Err(ThreadsError { threads }.into());
    }
    if let Some(federates) = simulation.federates.filter(|federates| *federates > lps) {
        return Err(RunError::TooManyFederates { federates, lps });
    }
    if simulation.sync == Sync::Sequential {
        return Ok((1, 1));
    }
    if lookahead == Time::ZERO && !matches!(simulation.sync, Sync::Optimistic | Sync::Auto) {
        return Err(RunError::NoLookahead { protocol: simulation.sync.name() });
    }
    if let Some(step) = simulation.step.filter(|step| *step == Time::ZERO || *step > lookahead) {
        return Err(RunError::Step { step, lookahead });
    }
    let threads = simulation.threads.unwrap_or_else(cores::available);
    let spread = if threads == 1 { 1 } else { threads.saturating_mul(FEDERATES_PER_THREAD) };
    Ok((simulation.federates.unwrap_or_else(|| spread.min(lps)), threads))
}

fn run_with<M: Model, Q: EventQueue<M::Event>>(
    simulation: &Simulation<M>,
    resumed: Option<World<M>>,
) -> Result<Report<M::Output>, RunError> {
    let (count, threads) = check(simulation)?;
    let Simulation { model, sync, until, seed, ties, monitor, balance, .. } = simulation;
    if let Some(reached) = resumed.as_ref().filter(|world| world.events() > 0).map(World::last)
        && reached >= *until
    {
        return Err(RunError::PastHorizon { until: *until, reached });
    }
    let start = Instant::now();
    let dealt = model.partition(count);
    let auto = Auto::new(simulation, threads);
    let way = auto.as_ref().map_or_else(|| Way::of(*sync), Auto::way);
    let partition = grouped(simulation, &dealt, way, threads);
    let settings = Settings { seed: *seed, ties: *ties, window: way.window(model) };
    let resumed_events = resumed.as_ref().map_or(0, World::events);
    if sync.speculates() || *sync == Sync::Auto {
        simulation.speculation.check(model, dealt.largest())?;
    }
    let moves = dealt.federates() > 1 && (*balance != Balance::Off || simulation.shuffle.is_some());
    let balancer = moves.then(|| {
        let activity = resumed.as_ref().map_or_else(|| Activity::new(model.lps()), Activity::since);
        Balancer::new(*balance, *ties, simulation.shuffle, activity, partition.federates())
    });
    let (mut federates, past) = match resumed {
        None => (Federate::<M, Q>::build(model, &partition, settings)?, Past::default()),
        Some(world) => world.deal(model, &partition, settings),
    };
    if let Some(balancer) = &balancer {
        balancer.measure(&mut federates);
    }
    monitor.advance(past.last, past.events);
    let follows = simulation.threads.is_none() && *sync != Sync::Sequential;
    let every = simulation.checkpoints.as_ref().map(|(checkpoints, _)| checkpoints.every);
    let look = balancer.as_ref().map(|_| Balancer::first_look());
    let decision = auto.as_ref().map(|auto| auto.pause(Duration::ZERO));
    let steward = Steward::start(monitor, every, look, decision, follows.then_some(threads))?;
    let mut course = Course {
        simulation,
        start,
        dealt,
        auto,
        way,
        partition,
        moved: None,
        distances: None,
        settings,
        steward,
        balancer,
        federates,
        past,
        width: None,
        sums: Sums::default(),
    };
    let halt = course.run(threads)?;
    let Course { dealt, auto, steward, balancer, mut federates, past, sums, .. } = course;
    steward.finish()?;
    let balancing = balancer.map(|balancer| balancer.finish(&federates));

    let reached = federates.iter_mut().map(Federate::lvt).min().unwrap_or(Time::MAX);
    assert!(
        halt == Some(Halt::Stop) || reached >= *until,
        "no protocol ends while events are left before the horizon"
    );
    let pending: usize = federates.iter().map(Federate::pending).sum();
    let ended_by = match (halt, pending) {
        (Some(_), _) => EndedBy::Interrupted,
        (None, 0) => EndedBy::NoEvents,
        (None, _) => EndedBy::Horizon,
    };
    let groups = federates.len() as u32;
    let Past { mut digest, mut events, mut last, mut outputs } = past;
    for federate in federates {
        let finished = federate.finish(model);
        digest.join(finished.digest);
        events += finished.events;
        last = last.max(finished.last);
        outputs.push(finished.output);
    }
    let end_time = match ended_by {
        EndedBy::Horizon => *until,
        EndedBy::NoEvents => last,
        EndedBy::Interrupted => reached.min(*until),
    };
    Ok(Report {
        sync: *sync,
        federates: dealt.federates(),
        groups,
        tried: auto.map(Auto::finish).unwrap_or_default(),
        threads: sums.threads,
        lps: model.lps(),
        events,
        resumed_events,
        wall: start.elapsed(),
        digest,
        end_time,
        ended_by,
        windows: sums.windows,
        null_messages: sums.null_messages,
        rollbacks: sums.rollbacks,
        gvt_rounds: sums.gvt_rounds,
        gvt_steps: sums.gvt_steps,
        gvt_lag: Time::nanos((sums.gvt_lag_ns / u128::from(sums.gvt_rounds.max(1))) as u64),
        legs: sums.legs,
        checkpoints: sums.checkpoints,
        checkpoints_wall: sums.checkpoints_wall,
        balancing,
        unpaced: None,
        outputs,
    })
}

/// The federates that `threads` threads work on: those of `dealt`, or groups of them. A memory budget that does not hold the
/// states of a group leaves them as they are.
fn grouped<M: Model>(simulation: &Simulation<M>, dealt: &Partition, way: Way, threads: u32) -> Partition {
    let Simulation { model, speculation, groups, .. } = simulation;
    let merged = dealt.merged(match way.groups {
        Groups::One => 1,
        Groups::AsDealt => return dealt.clone(),
        Groups::PerThread(groups_each) => groups.unwrap_or(groups_each.saturating_mul(threads)).max(1),
    });
    let fits = !way.sync.speculates() || speculation.check(model, merged.largest()).is_ok();
    if fits { merged } else { dealt.clone() }
}

/// What the legs of a run add up to.
#[derive(Debug, Default)]
struct Sums {
    legs: u64,
    threads: u32,
    windows: u64,
    null_messages: u64,
    rollbacks: Option<Rollbacks>,
    gvt_rounds: u64,
    gvt_steps: u64,
    gvt_lag_ns: u128,
    checkpoints: u64,
    checkpoints_wall: Duration,
}

/// A run between two of its legs.
struct Course<'s, M: Model, Q> {
    simulation: &'s Simulation<M>,
    start: Instant,
    /// Who decides how it is worked off, where that is left open.
    auto: Option<Auto>,
    /// How it is worked off.
    way: Way,
    /// As the model deals its LPs to federates.
    dealt: Partition,
    /// As they are dealt now: federates may be merged, or LPs have moved.
    partition: Partition,
    /// As they were dealt when LPs moved last.
    moved: Option<Partition>,
    /// Of this partition, once windows have asked for them: none where they are not worth it.
    distances: Option<Option<Arc<Distances>>>,
    settings: Settings,
    steward: Steward,
    balancer: Option<Balancer>,
    federates: Federates<M, Q>,
    /// What was committed before the federates were dealt.
    past: Past<M::Output>,
    /// Of the moving window of the last leg that had one.
    width: Option<Time>,
    sums: Sums,
}

impl<M: Model, Q: EventQueue<M::Event>> Course<'_, M, Q> {
    /// Runs leg after leg, until the run is over or stopped; the first with `threads` workers.
    fn run(&mut self, threads: u32) -> Result<Option<Halt>, RunError> {
        let Simulation { monitor, leg_events, .. } = self.simulation;
        let mut threads = self.threads(threads);
        self.regroup(threads);
        let (mut since, mut events) = (Instant::now(), self.events());
        loop {
            let workers = if self.way.sync == Sync::Sequential { 1 } else { threads };
            monitor.begin_leg(workers, leg_events.unwrap_or(1));
            if leg_events.is_some() {
                monitor.pause();
            }
            let federates = std::mem::take(&mut self.federates);
            self.simulation.tracing.start(workers, self.partition.federates());
            let (sync, width) = (self.way.sync, self.width);
            let distances = self.distances()?;
            let outcome =
                leg::run(self.simulation, sync, width, distances, &self.partition, federates, workers)?;
            self.federates = outcome.federates;
            self.width = outcome.width.or(width);
            self.sums.legs += 1;
            self.sums.threads = self.sums.threads.max(workers);
            self.sums.windows += outcome.windows;
            self.sums.null_messages += outcome.null_messages;
            if let Some(fault) = outcome.fault {
                return Err(fault.into());
            }
            if let Some(trouble) = outcome.trouble {
                return Err(trouble.into());
            }
            let before = std::mem::replace(&mut events, self.events());
            if let Some(auto) = &mut self.auto {
                let wall = std::mem::replace(&mut since, Instant::now()).elapsed();
                auto.ran(Stretch { events: events - before, wall, windows: outcome.windows });
            }
            if let Some(own) = outcome.rollbacks {
                self.sums.rollbacks.get_or_insert_default().then(&own);
            }
            self.sums.gvt_rounds += outcome.gvt_rounds;
            self.sums.gvt_steps += outcome.gvt_steps;
            self.sums.gvt_lag_ns += outcome.gvt_lag_ns;
            match outcome.halt {
                None => return Ok(None),
                Some(Halt::Stop) => {
                    self.checkpoint()?;
                    return Ok(Some(Halt::Stop));
                }
                Some(Halt::Pause) => {
                    threads = self.threads(threads);
                    self.decide();
                    self.regroup(threads);
                    if self.steward.is_checkpoint_due()? {
                        self.checkpoint()?;
                    }
                    self.look(threads);
                }
            }
        }
    }

    /// The distances between federates, where the next leg is one of windows and they are worth it.
    fn distances(&mut self) -> Result<Option<Arc<Distances>>, RunError> {
        if self.way.sync != Sync::Window {
            return Ok(None);
        }
        if self.distances.is_none() {
            let distances = Distances::worth(&self.simulation.model, &self.partition)?;
            self.distances = Some(distances.map(Arc::new));
        }
        Ok(self.distances.clone().flatten())
    }

    /// Events committed so far.
    fn events(&self) -> u64 {
        self.past.events + self.federates.iter().map(Federate::events).sum::<u64>()
    }

    /// How many workers the next leg has, where the last one had `threads`: what was asked for, else what follows the
    /// cores. Requests made before this are fulfilled by it.
    fn threads(&self, threads: u32) -> u32 {
        let Simulation { sync, monitor, .. } = self.simulation;
        let wanted = monitor.take_wanted();
        let follows = self.simulation.threads.is_none();
        let next = match (sync, wanted) {
            (Sync::Sequential, _) => 1,
            (_, Some(wanted)) => wanted,
            (_, None) if follows => cores::available(),
            (_, None) => threads,
        };
        self.steward.follow(follows.then_some(next));
        next
    }

    /// Decides how the run goes on, where that is left open.
    fn decide(&mut self) {
        let Some(auto) = &mut self.auto else { return };
        let run = self.start.elapsed();
        if self.steward.take_crowded() {
            auto.hurry(run);
        }
        auto.decide(run);
        self.way = auto.way();
        self.steward.decide_in(auto.pause(run));
    }

    /// Merges federates anew, where the way or the number of threads asks for other groups than there are.
    fn regroup(&mut self, threads: u32) {
        let Simulation { model, speculation, .. } = self.simulation;
        let mut next = grouped(self.simulation, &self.dealt, self.way, threads);
        let window = self.way.window(model);
        if next.federates() == self.partition.federates() && window == self.settings.window {
            return;
        }
        let fits = |partition: &Partition| {
            !self.way.sync.speculates() || speculation.check(model, partition.largest()).is_ok()
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
        self.deal(world);
        if let Some(auto) = &mut self.auto {
            auto.dealt(start.elapsed());
        }
    }

    /// Writes a checkpoint, if there are to be any.
    fn checkpoint(&mut self) -> Result<(), RunError> {
        let Simulation { checkpoints: Some((checkpoints, codec)), .. } = self.simulation else {
            return Ok(());
        };
        let mut recorder = self.simulation.tracing.recorder(None);
        let (start, start_ns) = (Instant::now(), recorder.now());
        self.steward.settle()?;
        let world = self.gather();
        let reached = world.last();
        let written = codec.write(&world, checkpoints)?;
        self.deal(world);
        self.steward.publish(written)?;
        self.sums.checkpoints += 1;
        self.sums.checkpoints_wall += start.elapsed();
        recorder.slice(RecordKind::Checkpoint, None, start_ns, reached, 0);
        Ok(())
    }
}

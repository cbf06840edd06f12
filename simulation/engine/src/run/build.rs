//! From settings to federates, threads, and a run that is ready for its first event. Here the model is asked
//! which federate has which LP; elsewhere it is asked for checks and estimates, and by the check of
//! determinism (`watch/determinism/answers.rs`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{
    Activity, Balance, Change, ChannelTable, Distances, Federate, Model, Origin, Partition, Past, Settings,
    Time, World, ask,
};

use super::clock::Lateness;
use super::course::Course;
use super::groups::grouped;
use super::processes::protocol;
use super::sums::Sums;
use crate::adapt::auto::{Auto, Groups, Way};
use crate::adapt::balance::Balancer;
use crate::adapt::steward::Steward;
use crate::outside::Outsiders;
use crate::panics::facts;
use crate::peers::Peers;
use crate::watch::monitor::MOST_THREADS;
use crate::workers::cores;
use crate::workers::pool::Crew;
use crate::workers::seat::Federates;
use crate::{Protocol, RunError, Simulation, ThreadsError, peers};

/// Federates per thread where the number of federates is left to us: enough that one slow thread's share can
/// be taken over by the others.
const FEDERATES_PER_THREAD: u32 = 4;

/// The number of federates that a run has whose settings name none: of a model with so many LPs, on so many
/// threads, or where they are not given, on as many as the process may use cores.
///
/// ```
/// assert_eq!(paceline_engine::default_federates(1000, Some(1)), 1);
/// assert_eq!(paceline_engine::default_federates(3, Some(64)), 3);
/// ```
pub fn default_federates(lps: u32, threads: Option<u32>) -> u32 {
    match threads.unwrap_or_else(cores::available) {
        // There is nobody to take over a share.
        1 => 1,
        threads => threads.saturating_mul(FEDERATES_PER_THREAD).min(lps),
    }
}

/// The numbers of federates and threads that follow from the settings, or why the settings cannot work.
pub(crate) fn check<M: Model>(simulation: &Simulation<M>) -> Result<(u32, u32), RunError> {
    let (lps, lookahead) = facts(&simulation.model);
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
    if let Some(factor) = simulation.pace.filter(|factor| !(factor.is_finite() && *factor > 0.0)) {
        return Err(RunError::Pace { factor: factor.to_string() });
    }
    let latest = simulation.model.latest_horizon();
    // Without a horizon the run may end by itself before.
    if simulation.until > latest && simulation.until < Time::MAX {
        return Err(RunError::Horizon { until: simulation.until, latest });
    }
    peers::check(simulation)?;
    if simulation.protocol == Protocol::Sequential {
        return Ok((1, 1));
    }
    // Mixed needs it too: LPs that never run ahead take part in safe batches only, and without lookahead no
    // event is ever safe before it is run.
    if lookahead == Time::ZERO && !matches!(simulation.protocol, Protocol::Optimistic | Protocol::Auto) {
        return Err(RunError::NoLookahead { protocol: simulation.protocol.name() });
    }
    if let Some(step) = simulation.step.filter(|step| *step == Time::ZERO || *step > lookahead) {
        return Err(RunError::Step { step, lookahead });
    }
    let threads = simulation.threads.unwrap_or_else(cores::available);
    Ok((federates(simulation, threads), threads))
}

/// Whether a run that comes from `origin` is one of this model, seed and order of ties.
fn check_origin<M: Model>(simulation: &Simulation<M>, origin: &Origin) -> Result<(), RunError> {
    let Simulation { model, seed, ties, .. } = simulation;
    let (then_seed, then_ties) = origin.settings();
    let differs = |what: String| Err(RunError::OtherRun { what });
    if then_seed != *seed {
        return differs(format!("its seed is {then_seed}, not {seed}"));
    }
    if then_ties != *ties {
        return differs(format!("its order of ties is {then_ties:?}, not {ties:?}"));
    }
    origin.unlike(model).map_or(Ok(()), differs)
}

/// The number of federates that is set, or that so many threads have.
fn federates<M: Model>(simulation: &Simulation<M>, threads: u32) -> u32 {
    simulation.federates.unwrap_or_else(|| default_federates(simulation.model.lps(), Some(threads)))
}

/// How a run is to go: who runs which LPs, and how.
struct Plan {
    dealt: Partition,
    channels: Option<Arc<ChannelTable>>,
    auto: Option<Auto>,
    way: Way,
    partition: Partition,
}

/// A run of the simulation from its beginning, or from where the world to be resumed stands. What a user may
/// have got wrong is refused before federates are built, which takes long.
pub(super) fn build<M: Model>(
    simulation: &Simulation<M>,
    resumed: Option<World<M>>,
    outsiders: Outsiders<M>,
) -> Result<Course<M>, RunError> {
    let called = Instant::now();
    // Before this process meets the others: they would wait for one whose own settings are wrong.
    let (count, threads) = check(simulation)?;
    if let Some((checkpoints, codec)) = &simulation.checkpoints {
        codec.check(checkpoints)?;
    }
    let mut peers = peers::meet(simulation, threads)?;
    let all_threads: Vec<u32> = peers.as_ref().map_or(vec![threads], |(_, threads)| threads.clone());
    // Where the settings name no number, it follows from the threads of all processes.
    let count = if peers.is_some() { federates(simulation, all_threads.iter().sum()) } else { count };
    outsiders.check(simulation, count)?;
    if let Some(world) = &resumed {
        check_resumed(simulation, world)?;
    }
    let Plan { dealt, channels, auto, way, partition } =
        plan(simulation, &outsiders, peers.is_some(), count, &all_threads)?;
    if let Some((peers, threads)) = &mut peers {
        peers.assign(&partition, threads)?;
    }
    let peers = peers.map(|(peers, _)| Arc::new(peers));
    let pulse = peers::start_pulse(simulation, peers.as_ref())?;
    let Simulation { model, seed, ties, monitor, .. } = simulation;
    let settings = Settings { seed: *seed, ties: *ties, window: way.window(model) };
    let (origin, resumed_events, changes) = so_far(resumed.as_ref());
    let balancer = balancer(simulation, &dealt, resumed.as_ref(), &partition);
    let (federates, past) = present(simulation, &partition, settings, resumed, peers.as_deref())?;
    // Progress goes on from where the resumed run stood.
    monitor.advance(past.last, past.events);
    let steward = steward(simulation, auto.as_ref(), balancer.is_some(), threads)?;
    let mut course = Course {
        time: past.last,
        pulse,
        peers,
        least: Time::ZERO,
        dealt,
        auto,
        way,
        partition,
        moved: None,
        channels,
        distances: None,
        settings,
        threads,
        crew: Crew::default(),
        steward,
        balancer,
        federates,
        // What is outside and is not in events may still be before the latest event.
        reached: past.last.min(outsiders.next()),
        outsiders,
        past,
        changes,
        origin,
        resumed_events,
        width: None,
        called,
        tie: None,
        lateness: Lateness::default(),
        sums: Sums::since(called),
    };
    course.attend(simulation);
    let least = course.lvt_here();
    course.least = course.least_of_all(least)?;
    Ok(course)
}

/// Deals the LPs to `count` federates, and decides how they are run, on so many threads in each process.
fn plan<M: Model>(
    simulation: &Simulation<M>,
    outsiders: &Outsiders<M>,
    has_peers: bool,
    count: u32,
    all_threads: &[u32],
) -> Result<Plan, RunError> {
    let model = &simulation.model;
    let protocol = protocol(simulation);
    let dealt = ask(|| "`partition`".into(), || model.partition(count));
    dealt.check(model.lps())?;
    let channels = ChannelTable::read(model)?.map(Arc::new);
    // A trial of another protocol ends a leg, of which other processes and what is outside know nothing.
    let alone = outsiders.is_empty() && !has_peers;
    let auto = if alone { Auto::new(simulation, all_threads[0]) } else { None };
    let way = match &auto {
        Some(auto) => auto.way(),
        None if outsiders.is_empty() => Way::of(protocol),
        // Outside federates stay what they are, and are not grouped with others.
        None => Way { protocol, groups: Groups::AsDealt },
    };
    let way = if has_peers { way_of_processes(simulation, &dealt, way, all_threads)? } else { way };
    let partition = grouped(simulation, &dealt, way, all_threads.iter().sum());
    // Under "auto" a later leg may speculate.
    if protocol.speculates() || auto.is_some() {
        simulation.speculation.check(model, dealt.largest())?;
    }
    Ok(Plan { dealt, channels, auto, way, partition })
}

/// What is known of the run so far, where it is resumed: where it comes from, its events, the changes of
/// parameters.
fn so_far<M: Model>(resumed: Option<&World<M>>) -> (Option<Box<Origin>>, u64, Vec<Change>) {
    resumed.map_or((None, 0, Vec::new()), |world| {
        (world.origin().cloned().map(Box::new), world.events(), world.changes().to_vec())
    })
}

/// Whether a run can go on from this world.
fn check_resumed<M: Model>(simulation: &Simulation<M>, world: &World<M>) -> Result<(), RunError> {
    let (until, reached) = (simulation.until, world.last());
    // One without events has reached nothing yet.
    if world.events() > 0 && reached >= until {
        return Err(RunError::PastHorizon { until, reached });
    }
    world.origin().map_or(Ok(()), |origin| check_origin(simulation, origin))
}

/// What moves LPs between federates, where they are to move and there is more than one federate.
fn balancer<M: Model>(
    simulation: &Simulation<M>,
    dealt: &Partition,
    resumed: Option<&World<M>>,
    partition: &Partition,
) -> Option<Balancer> {
    let Simulation { model, balance, ties, shuffle, .. } = simulation;
    let moves = dealt.federates() > 1 && (*balance != Balance::Off || shuffle.is_some());
    moves.then(|| {
        let activity = resumed.map_or_else(|| Activity::new(model.lps()), Activity::since);
        Balancer::new(*balance, *ties, *shuffle, activity, partition.federates())
    })
}

/// The federates that this process runs, and what was committed before; those of other processes are there
/// without LPs.
fn present<M: Model>(
    simulation: &Simulation<M>,
    partition: &Partition,
    settings: Settings,
    resumed: Option<World<M>>,
    peers: Option<&Peers<M>>,
) -> Result<(Federates<M>, Past<M::Output>), RunError> {
    let model = &simulation.model;
    let is_present = |federate| peers.is_none_or(|peers| peers.owns(federate));
    let Some(world) = resumed else {
        let federates = match peers {
            None => Federate::<M>::build(model, partition, settings)?,
            Some(_) => Federate::<M>::build_part(model, partition, settings, is_present)?,
        };
        return Ok((federates, Past::default()));
    };
    let (federates, past) = world.deal_part(model, partition, settings, is_present);
    // What was committed is added up over all processes at the end: one of them keeps it. Where the run is,
    // and how many events have come from outside, each has to know by itself.
    let keeps = peers.is_none_or(|peers| peers.rank() == 0);
    let Past { last, injected, .. } = past;
    Ok((federates, if keeps { past } else { Past { last, injected, ..Past::default() } }))
}

/// The thread that asks for pauses, where any of the settings needs it.
fn steward<M: Model>(
    simulation: &Simulation<M>,
    auto: Option<&Auto>,
    is_balanced: bool,
    threads: u32,
) -> Result<Steward, RunError> {
    // Where the number of threads is left to us, it follows the cores that the process may use.
    let follows = simulation.threads.is_none() && protocol(simulation) != Protocol::Sequential;
    let every = simulation.checkpoints.as_ref().map(|(checkpoints, _)| checkpoints.every);
    let look = is_balanced.then(Balancer::first_look);
    let decision = auto.map(|auto| auto.pause(Duration::ZERO));
    Steward::start(&simulation.monitor, every, look, decision, follows.then_some(threads))
}

/// The way of a run of several processes with these numbers of threads. Where each has one, no thread takes
/// over the federates of another: in windows with a common bound more than one federate only splits what is
/// sent from process to process.
fn way_of_processes<M: Model>(
    simulation: &Simulation<M>,
    dealt: &Partition,
    way: Way,
    threads: &[u32],
) -> Result<Way, RunError> {
    let waits =
        matches!(way, Way { protocol: Protocol::TimeStep | Protocol::Window, groups: Groups::PerThread(_) });
    if !waits || threads.iter().any(|count| *count > 1) {
        return Ok(way);
    }
    let partition = grouped(simulation, dealt, way, threads.iter().sum());
    let by_distance =
        way.protocol == Protocol::Window && Distances::worth(&simulation.model, &partition)?.is_some();
    Ok(if by_distance { way } else { Way { groups: Groups::PerThread(1), ..way } })
}

//! A world of processes dealt to federates, which the engine runs side by side under its window protocol.
//!
//! Each federate has some of the hosts, with a core of its own, and is one logical process of an engine's
//! model: it handles an instant at a time, with all rounds of it. Between federates go parcels only, whose
//! latency is the lookahead. Where parcels share the network, one more logical process carries them all (see
//! [`Carrier`]); half of the least latency is its lookahead, and half that of the federates.
//!
//! The run ends, as one on one core does, after the instant in which the last process ends that is no daemon.
//! A federate may have gone on by then; what it did later is not counted ([`Ending`]).
//!
//! Invariants: a federate comes to an instant only when all that arrives in it is there; the result does not
//! depend on how many federates there are.

mod agenda;
mod carrying;
mod ending;
mod housed;
mod mail;
mod part;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::core::{Carrier, Core, ResourceId, RoundCounts};
use paceline_engine::{EndedBy, Monitor, Protocol, RunError as EngineError};
use paceline_kernel::{Channels, Context, LpId, Model, Partition, Time};
use paceline_network::Network;

use crate::context::{self, ContextKind};
use crate::report::{Report, RunError};
use crate::simulation::run::Run;
use crate::simulation::{Settings, Simulation};
use crate::watchdog::Watchdog;
use carrying::Carrying;
use ending::Ending;
use housed::Housed;
use mail::Event;
use part::{Apart, Part};

/// A logical process of the engine: a federate or the carrier. The engine's model knows no more of them, so
/// that the engine is compiled for it once, whatever messages and networks there are.
trait Handles {
    /// Something happens to it.
    fn handle(&self, event: &Event, world: &World, cx: &mut Context<'_, Federates<'_>>);
}

/// What all of them know.
struct World {
    /// How many federates there are; the carrier comes after them.
    federates: u32,
    /// Which federate each host is in.
    owners: Vec<u32>,
    lookahead: Time,
    ending: Ending,
    monitor: Monitor,
}

/// The engine's model.
struct Federates<'w> {
    world: World,
    lps: Vec<&'w (dyn Handles + Sync)>,
}

impl Model for Federates<'_> {
    type State = ();
    type Event = Event;
    type Output = ();

    fn lps(&self) -> u32 {
        self.lps.len() as u32
    }

    fn lookahead(&self) -> Time {
        self.world.lookahead
    }

    fn channels(&self, lp: LpId) -> Channels {
        let World { federates, lookahead, .. } = self.world;
        if self.lps() == federates {
            Channels::All
        } else if lp.0 < federates {
            Channels::Only(vec![(LpId(federates), lookahead)])
        } else {
            Channels::Only((0..federates).map(|federate| (LpId(federate), lookahead)).collect())
        }
    }

    fn partition(&self, federates: u32) -> Partition {
        Partition::runs(self.lps(), federates)
    }

    fn init(&self, _: LpId, cx: &mut Context<Self>) {
        cx.schedule(Time::ZERO, Event::Wake);
    }

    fn handle(&self, (): &mut (), event: &Event, cx: &mut Context<Self>) {
        self.lps[cx.lp().index()].handle(event, &self.world, cx);
    }
}

impl<P: Send + 'static, N: Network + Clone + Send + Sync> Simulation<P, N> {
    /// Deals the hosts, in their order, to this many federates, from one up, which run at different instants
    /// at the same time: within windows as wide as the least time that a message takes from one host to
    /// another (the lookahead). The result is the same for any number of federates, and as without. But
    /// what acts at once reaches no other host: processes use mailboxes that stand at a host
    /// ([`Simulation::place`]), and spawn, end, join, suspend or share objects with only processes of
    /// their own host. Rounds run on one thread each.
    ///
    /// Numbers of processes ([`Process::id`](crate::Process::id)) are those within a federate. Daemons may
    /// run a little longer than the run: that is not counted, but what they write elsewhere stays, and
    /// messages that they receive then have been received.
    pub fn federates(mut self, federates: u32) -> Self {
        self.federates = Some((federates, run));
        self
    }
}

pub(crate) fn run<P: Send + 'static, N: Network + Clone + Send + Sync>(
    simulation: Simulation<P, N>,
    federates: u32,
) -> Result<Report, RunError> {
    let start = Instant::now();
    let _outer = context::set_aside();
    let Simulation { network, hosts, profiles, placed, added, resources, settings, observer, .. } =
        simulation;
    let control = settings.control.clone();
    let _refusing = control.exchange().refuse();
    if federates == 0 || federates as usize > hosts.len() {
        return Err(RunError::Federates { federates, hosts: hosts.len() });
    }
    if observer.is_some() {
        return Err(RunError::Observed);
    }
    // Equal runs of hosts.
    let owner = |host: usize| (host as u64 * u64::from(federates) / hosts.len() as u64) as u32;
    let owners: Vec<u32> = (0..hosts.len()).map(owner).collect();
    let carrier: Carrier<P> = Carrier::new(network.least_latency());
    let latency = part::uncarried(&network, hosts.len());
    let lookahead = latency.unwrap_or(Time::nanos(carrier.lead().as_nanos() / 2));
    if lookahead == Time::ZERO && federates > 1 {
        return Err(RunError::NoLatency);
    }
    // No two federates have processes of the same number.
    let numbers = u32::MAX / federates;
    let there_from_the_start = added.len() as u64;
    let apart = Apart::new(network.clone());
    let watchdog = Watchdog::start(settings.stall.clone(), settings.on_exit.clone());
    let mut runs: Vec<Run<P, Apart<N>>> = (0..federates)
        .map(|federate| {
            let mut core = Core::new(apart.clone(), &hosts);
            let first = federate * numbers;
            core.part(owners.iter().map(|owner| *owner == federate).collect(), first);
            core.follow(profiles.clone());
            placed.iter().for_each(|(mailbox, host)| core.place(mailbox, *host));
            core.measure_from(settings.measure_from);
            for (id, spec) in &resources {
                if owners.get(id.host as usize) == Some(&federate) {
                    core.make(*id, spec.clone());
                }
            }
            Run::new(core, first, settings.clone(), None, watchdog.watch(first))
        })
        .collect();
    for (number, added) in (0..).zip(added) {
        runs[owners[added.host.0 as usize] as usize].add(number, added);
    }
    std::thread::scope(|scope| {
        let house = |run| match settings.context {
            ContextKind::Coroutine => Housed::at_home(run, scope),
            ContextKind::Future | ContextKind::Thread => Housed::anywhere(run),
        };
        let parts: Vec<Part<P, N>> =
            runs.into_iter().map(|run| Part::new(house(run), there_from_the_start)).collect();
        let ending = Ending::new(parts.iter().filter(|part| part.lives()).count());
        let world = World { federates, owners, lookahead, ending, monitor: Monitor::new() };
        let parts: Vec<Mutex<Part<P, N>>> = parts.into_iter().map(Mutex::new).collect();
        let carrier = latency.is_none().then(|| Mutex::new(Carrying::new(carrier, network)));
        let mut lps: Vec<&(dyn Handles + Sync)> = Vec::new();
        lps.extend(parts.iter().map(|part| part as &(dyn Handles + Sync)));
        lps.extend(carrier.iter().map(|carrier| carrier as &(dyn Handles + Sync)));
        let (ended, windows, world) = go(Federates { world, lps }, &settings)?;
        let parts = parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        let summed = summed(parts.collect(), &world.ending, ended, settings.until)?;
        Ok(Report { federates, windows, wall: start.elapsed(), ..summed })
    })
}

/// Runs the federates to the end: returns how the engine ended, and in how many windows.
fn go(model: Federates<'_>, settings: &Settings) -> Result<(EndedBy, u64, World), RunError> {
    let (lps, alone) = (model.lps(), model.world.federates == 1);
    let monitor = model.world.monitor.clone();
    let engine = paceline_engine::Simulation::new(model)
        .protocol(if alone { Protocol::Sequential } else { Protocol::Window })
        .federates(lps)
        .threads(u32::try_from(settings.threads).unwrap_or(u32::MAX))
        .pin(settings.pin)
        .monitor(&monitor)
        .until(settings.until.saturating_add(Time::nanos(1)));
    let ran = engine.run_keeping_model();
    let (report, model) = ran.map_err(|error: EngineError| RunError::Engine(error.to_string()))?;
    Ok((report.ended_by, report.windows, model.world))
}

/// The joint result of all federates.
fn summed<P: Send + 'static, N: Network>(
    mut parts: Vec<Part<P, N>>,
    ending: &Ending,
    engine: EndedBy,
    until: Time,
) -> Result<Report, RunError> {
    if let Some(failed) = ending.failed() {
        return Err(failed);
    }
    let ended_by = match engine {
        // The federates of a world that is over run on to the end of their windows.
        _ if ending.is_over() => EndedBy::Processes,
        EndedBy::Horizon | EndedBy::Interrupted => engine,
        _ => EndedBy::Processes,
    };
    let acted = parts.iter().map(|part| part.run.core.acted()).max().unwrap_or(Time::ZERO);
    if engine == EndedBy::NoEvents && !ending.is_over() {
        let mut stuck: Vec<_> = parts.iter_mut().flat_map(Part::waiting).collect();
        stuck.sort_by_key(|stuck| stuck.process);
        if !stuck.is_empty() {
            return Err(RunError::Deadlock { time: acted, stuck });
        }
    }
    let end_time = match ended_by {
        EndedBy::Processes if ending.is_over() => ending.last(),
        EndedBy::Horizon => until,
        _ => acted,
    };
    let (mut digest, mut counts) = Default::default();
    let mut outputs = parts[0].run.settings.outputs();
    let (mut rounds, mut unreceived, mut panicked) = (RoundCounts::default(), Vec::new(), Vec::new());
    let mut resources = Vec::new();
    let last = if ended_by == EndedBy::Interrupted { Time::MAX } else { end_time };
    for mut part in parts {
        part.add_to(last, &mut digest, &mut counts);
        outputs.join(&part.run.core.outputs(last));
        rounds.largest = rounds.largest.max(part.run.counts.largest);
        rounds.shared_steps += part.run.counts.shared_steps;
        resources.extend(part.run.core.statistics(last.min(end_time)));
        unreceived.extend(part.run.core.unreceived_until(last));
        panicked.extend(part.take_panicked(last));
    }
    unreceived.sort_unstable();
    outputs.end(end_time);
    // Those of one name: first what was there from the start, then by host, as federates have theirs.
    resources.sort_by_key(|(id, statistics)| {
        (statistics.name.clone(), id.owner != ResourceId::SETUP, id.host, id.owner, id.number)
    });
    let resources = resources.into_iter().map(|(_, statistics)| statistics).collect();
    let (federates, windows, wall, parallel_share) = Default::default();
    Ok(Report {
        digest,
        end_time,
        ended_by,
        counts,
        rounds,
        federates,
        windows,
        wall,
        parallel_share,
        unreceived,
        outputs,
        resources,
        panicked,
    })
}

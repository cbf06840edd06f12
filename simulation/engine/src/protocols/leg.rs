//! A leg of a run: workers run the given federates on the board of a protocol until the run is over or
//! pauses, and the leg gives the federates back.
//!
//! This is the only place that knows which board belongs to which protocol. Invariant: the result is the
//! whole run; every message is with its federate, so that another leg, with other threads or another
//! protocol, can continue from there.

use std::sync::Arc;

use paceline_kernel::{
    DistanceWindows, Distances, Federate, Links, Model, Outbox, Partition, Progress, Time, Warp, Windows,
};

use crate::outside::{Outsiders, Start, seat, timed};
use crate::peers::{DeliveryError, Peers};
use crate::protocols::channelled::Channelled;
use crate::protocols::optimistic::Optimistic;
use crate::protocols::outcome::Outcome;
use crate::protocols::windowed::{Bounds, Windowed};
use crate::workers::cores;
use crate::workers::pool::{Board, Crew};
use crate::workers::seat::Federates;
use crate::{Protocol, RecordKind, RunError, Simulation};

/// Events that the sequential protocol runs before it looks whether it is to stop. Nobody waits for its
/// federate, so there are more of them than in a batch of a worker (`BATCH` of `pool`).
const BATCH: usize = 1 << 14;

pub(crate) struct Plan {
    pub(crate) protocol: Protocol,
    /// Everything before this has happened.
    pub(crate) reached: Time,
    /// Nothing happens at or after this.
    pub(crate) until: Time,
    /// Of the moving window at the end of the last leg that had one: the next one need not find it again.
    pub(crate) width: Option<Time>,
    /// For windows with a bound for each federate; none where a common bound is as good.
    pub(crate) distances: Option<Arc<Distances>>,
    pub(crate) workers: u32,
}

/// Runs a leg, on the threads of `crew`.
pub(crate) fn run<M: Model>(
    simulation: &Simulation<M>,
    plan: Plan,
    partition: &Partition,
    mut federates: Federates<M>,
    outsiders: &mut Outsiders<M>,
    crew: &mut Crew,
    peers: Option<&Peers<M>>,
) -> Result<Outcome<M>, RunError> {
    let Simulation { model, .. } = simulation;
    let Plan { protocol, reached, until, width, distances, workers: threads } = plan;
    for (id, federate) in (0..).zip(&mut federates) {
        // Where windows go by distance, LPs of a federate may be known to be farther apart than the
        // lookahead.
        let within = distances.as_ref().map(|distances| distances.within(id));
        federate.set_lookahead_within(within.unwrap_or_else(|| model.lookahead()));
    }
    let limited = outsiders.are_limited();
    // Asked here, as `seat` takes outsiders out of their list.
    let least = least_of_all(&mut federates, outsiders, peers)?;
    let start = Start { reached, least, workers: threads, peers };
    let windowed = |bounds, federates, outsiders: &mut Outsiders<M>, crew: &mut Crew| {
        let inside = |federate| federate;
        let seated = seat(simulation, partition, federates, outsiders, start, inside);
        timed(seated.answers.clone(), limited, || {
            let board = Windowed::new(simulation, partition, seated, bounds, until);
            work(simulation, start, crew, &board)?;
            Ok(board.finish(outsiders))
        })
    };
    let common = |windows| Bounds::Common(windows, Time::ZERO);
    match protocol {
        Protocol::Auto => unreachable!("what a leg is run with has been decided"),
        Protocol::Sequential => Ok(sequential(simulation, until, partition, federates)),
        Protocol::TimeStep => {
            let step = simulation.step.unwrap_or_else(|| model.lookahead());
            windowed(common(Windows::steps(step)), federates, outsiders, crew)
        }
        Protocol::Window => {
            let by_distance = |distances| Bounds::ByDistance(DistanceWindows::new(distances));
            let lookahead = || common(Windows::lookahead(model.lookahead()));
            windowed(distances.map_or_else(lookahead, by_distance), federates, outsiders, crew)
        }
        Protocol::Optimistic | Protocol::Mixed => {
            let mixed = protocol == Protocol::Mixed;
            let optimism = simulation.speculation.optimism(model, mixed, partition.federates());
            let warp = |federate| Warp::new(federate, &optimism);
            outsiders.speculate(&optimism);
            let seated = seat(simulation, partition, federates, outsiders, start, warp);
            timed(seated.answers.clone(), limited, || {
                let board = Optimistic::new(simulation, until, width, partition, seated);
                work(simulation, start, crew, &board)?;
                Ok(board.finish(outsiders))
            })
        }
        Protocol::NullMessage | Protocol::NullMessageOnDemand => {
            let on_demand = protocol == Protocol::NullMessageOnDemand;
            let links = Links::build(model, partition, on_demand, least)?;
            let inside = |federate| federate;
            let seated = seat(simulation, partition, federates, outsiders, start, inside);
            timed(seated.answers.clone(), limited, || {
                let board = Channelled::new(simulation, partition, seated, links, until);
                work(simulation, start, crew, &board)?;
                Ok(board.finish(outsiders))
            })
        }
    }
}

/// Nothing happens before this, in any process. With other processes this is also the round behind which the
/// leg begins: no message of it is sent before all have come here, with the partition that it is for.
fn least_of_all<M: Model>(
    federates: &mut [Federate<M>],
    outsiders: &Outsiders<M>,
    peers: Option<&Peers<M>>,
) -> Result<Time, RunError> {
    let least = federates.iter_mut().map(Federate::lvt).min().unwrap_or(Time::MAX).min(outsiders.next());
    match peers {
        Some(peers) => Ok(peers.settle(least, None, DeliveryError::stray)?.least),
        None => Ok(least),
    }
}

/// Lets workers work on `board`.
fn work<'a, M: Model>(
    simulation: &'a Simulation<M>,
    start: Start<'_, M>,
    crew: &mut Crew,
    board: &impl Board<'a>,
) -> Result<(), RunError> {
    let Simulation { pin, tracing, publishing, monitor, .. } = simulation;
    let (workers, before) = (start.workers as usize, start.peers.map_or(0, Peers::threads_before));
    crew.work(board, workers, tracing, publishing, simulation.speculation.chaos, |worker| {
        monitor.workers().push(cores::leader());
        if *pin { cores::pin(before as usize + worker) } else { Ok(()) }
    })
}

/// One queue, one event after the other, on the calling thread. No outside federate and no other process
/// takes part: the settings of such runs are refused.
fn sequential<M: Model>(
    simulation: &Simulation<M>,
    until: Time,
    partition: &Partition,
    mut federates: Federates<M>,
) -> Outcome<M> {
    let mut outbox = Outbox::new(1);
    let monitor = &simulation.monitor;
    // Legs that are to be shorter than a batch, in tests, must be able to end within one.
    let batch = simulation.leg_events.map_or(BATCH, |events| BATCH.min(events as usize));
    let (mut recorder, mut lvt) = (simulation.tracing.recorder(Some(0)), simulation.publishing.worker(0));
    // The only one: under this protocol all are merged.
    let federate = &mut federates[0];
    let halt = loop {
        let halt = monitor.halt();
        if halt.is_some() {
            break halt;
        }
        lvt.publish(|| federate.lvt());
        let (before, start_ns) = (federate.events(), recorder.now());
        let progress = federate.step_on(&simulation.model, partition, until, batch, &mut outbox);
        let (reached, events) = (federate.lvt().min(until), federate.events() - before);
        monitor.advance(reached, events);
        lvt.publish(|| reached);
        recorder.slice(RecordKind::Run, Some(0), start_ns, reached, events);
        recorder.gvt(reached);
        if progress != Progress::More {
            break None;
        }
    };
    // A faulty federate makes no progress, which has ended the loop.
    let trouble = federate.trouble();
    Outcome { federates, halt, trouble, ..Outcome::default() }
}

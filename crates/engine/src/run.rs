//! From settings to a report: checks what cannot work, builds the federates, runs the protocol, adds up.

use std::time::Instant;

use paceline_kernel::{
    BucketQueue, Digest, EnhancedHeap, EventQueue, Federate, Heap, Links, Model, Outbox, Partition, Progress,
    Settings, Time, Windows,
};

use crate::channelled::Channelled;
use crate::cores;
use crate::pool;
use crate::windowed::{Outcome, Windowed};
use crate::{EndedBy, QueueKind, Report, RunError, Simulation, Sync};

/// Events that the sequential protocol runs before it looks whether it is to stop.
const BATCH: usize = 1 << 14;
/// Federates per thread where the number of federates is left to us: enough that one slow thread's share can be taken
/// over by the others.
const FEDERATES_PER_THREAD: u32 = 4;

pub(crate) fn run<M: Model>(simulation: Simulation<M>) -> Result<(Report<M::Output>, M), RunError> {
    let report = match simulation.queue {
        QueueKind::Heap => run_with::<M, Heap<M::Event>>(&simulation),
        QueueKind::EnhancedHeap => run_with::<M, EnhancedHeap<M::Event>>(&simulation),
        QueueKind::Bucket => run_with::<M, BucketQueue<M::Event>>(&simulation),
    }?;
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
    if let Some(federates) = simulation.federates.filter(|federates| *federates > lps) {
        return Err(RunError::TooManyFederates { federates, lps });
    }
    if simulation.sync == Sync::Sequential {
        return Ok((1, 1));
    }
    if lookahead == Time::ZERO {
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
) -> Result<Report<M::Output>, RunError> {
    let (federates, threads) = check(simulation)?;
    let Simulation { model, sync, until, seed, ties, .. } = simulation;
    let start = Instant::now();
    let partition = model.partition(federates);
    let window = if *sync == Sync::Sequential { Time::ZERO } else { model.lookahead() };
    let settings = Settings { seed: *seed, ties: *ties, window };
    let federates = Federate::<M, Q>::build(model, &partition, settings)?;
    let mut outcome = match sync {
        Sync::Sequential => sequential(simulation, &partition, federates),
        Sync::TimeStep => {
            let step = simulation.step.unwrap_or_else(|| model.lookahead());
            windowed(simulation, &partition, federates, Windows::steps(step), threads)?
        }
        Sync::Window => {
            windowed(simulation, &partition, federates, Windows::lookahead(model.lookahead()), threads)?
        }
        Sync::NullMessage | Sync::NullMessageOnDemand => {
            let on_demand = *sync == Sync::NullMessageOnDemand;
            channelled(simulation, &partition, federates, on_demand, threads)?
        }
    };
    if let Some(fault) = outcome.fault {
        return Err(fault.into());
    }
    let reached = outcome.federates.iter_mut().map(Federate::lvt).min().unwrap_or(Time::MAX);
    assert!(
        outcome.interrupted || reached >= *until,
        "no protocol ends while events are left before the horizon"
    );
    let pending: usize = outcome.federates.iter().map(Federate::pending).sum();
    let ended_by = match (outcome.interrupted, pending) {
        (true, _) => EndedBy::Interrupted,
        (false, 0) => EndedBy::NoEvents,
        (false, _) => EndedBy::Horizon,
    };
    let federates = outcome.federates.len() as u32;
    let (mut digest, mut events, mut last, mut outputs) = (Digest::default(), 0, Time::ZERO, Vec::new());
    for federate in outcome.federates {
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
        federates,
        threads,
        lps: model.lps(),
        events,
        wall: start.elapsed(),
        digest,
        end_time,
        ended_by,
        windows: outcome.windows,
        null_messages: outcome.null_messages,
        outputs,
    })
}

/// One queue, one event after the other, on the calling thread.
fn sequential<M: Model, Q: EventQueue<M::Event>>(
    simulation: &Simulation<M>,
    partition: &Partition,
    mut federates: Vec<Federate<M, Q>>,
) -> Outcome<M, Q> {
    let mut outbox = Outbox::new(1);
    let monitor = &simulation.monitor;
    let mut interrupted = false;
    let federate = &mut federates[0];
    loop {
        if monitor.stopped() {
            interrupted = true;
            break;
        }
        let before = federate.events();
        let progress = federate.step_on(&simulation.model, partition, simulation.until, BATCH, &mut outbox);
        monitor.advance(federate.lvt().min(simulation.until), federate.events() - before);
        if progress != Progress::More {
            break;
        }
    }
    let fault = federate.fault().cloned();
    Outcome { federates, interrupted, fault, windows: 0, null_messages: 0 }
}

fn windowed<M: Model, Q: EventQueue<M::Event>>(
    simulation: &Simulation<M>,
    partition: &Partition,
    federates: Vec<Federate<M, Q>>,
    windows: Windows,
    threads: u32,
) -> Result<Outcome<M, Q>, RunError> {
    let Simulation { model, until, monitor, .. } = simulation;
    let board = Windowed::new(model, partition, federates, windows, *until, threads, monitor);
    pool::work(&board, threads as usize, |worker| prepare(simulation, worker))?;
    Ok(board.finish())
}

fn channelled<M: Model, Q: EventQueue<M::Event>>(
    simulation: &Simulation<M>,
    partition: &Partition,
    federates: Vec<Federate<M, Q>>,
    on_demand: bool,
    threads: u32,
) -> Result<Outcome<M, Q>, RunError> {
    let Simulation { model, until, monitor, .. } = simulation;
    let links = Links::build(model, partition, on_demand)?;
    let board = Channelled::new(model, partition, federates, links, *until, threads, monitor);
    pool::work(&board, threads as usize, |worker| prepare(simulation, worker))?;
    Ok(board.finish())
}

/// What a worker thread does first.
fn prepare<M>(simulation: &Simulation<M>, worker: usize) -> std::io::Result<()> {
    if simulation.pin { cores::pin(worker) } else { Ok(()) }
}

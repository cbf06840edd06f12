//! The outside federates of a leg: handed out when it begins, back when it has ended.
//!
//! The thread that waits here for answers is the owner of the run, at the end of a leg; workers never do.

use std::path::Path;
use std::sync::Arc;

use paceline_kernel::{Balance, Federate, Model, Optimism, Outbox, Partition, Time};

use super::{Answers, Occupant, Outside, OutsideError, OutsideErrorKind, OutsideFederate, Proxy};
use crate::peers::Peers;
use crate::sync::thread;
use crate::workers::idle::Idle;
use crate::workers::seat::{Batch, Federates};
use crate::{CheckpointError, Protocol, RunError, Simulation};

/// The outside federates of a run that has some, between two legs.
#[derive(Debug)]
pub(crate) struct Outsiders<M: Model> {
    /// With their numbers.
    all: Vec<(u32, Outside<M>)>,
    /// How federates run ahead in the next leg, if they do.
    speculates: Option<Optimism>,
}

impl<M: Model> Default for Outsiders<M> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<M: Model> Outsiders<M> {
    pub(crate) fn new(all: Vec<(u32, Outside<M>)>) -> Self {
        Self { all, speculates: None }
    }

    /// What keeps them from taking part in a run like this, of so many federates.
    pub(crate) fn check(&self, simulation: &Simulation<M>, federates: u32) -> Result<(), OutsideError> {
        if self.is_empty() {
            return Ok(());
        }
        for (place, (federate, _)) in self.all.iter().enumerate() {
            let federate = *federate;
            if federate >= federates {
                let kind = OutsideErrorKind::NoSuchFederate { federates };
                return Err(OutsideError { federate, kind });
            }
            if self.all[..place].iter().any(|(other, _)| *other == federate) {
                return Err(OutsideError { federate, kind: OutsideErrorKind::Twice });
            }
        }
        let Simulation { model, protocol, balance, shuffle, checkpoints, .. } = simulation;
        if *protocol == Protocol::Sequential {
            return Err(self.cannot("the sequential protocol"));
        }
        if model.lookahead() == Time::ZERO {
            return Err(self.cannot("a model without lookahead"));
        }
        if *balance != Balance::Off || shuffle.is_some() {
            return Err(self.cannot("moving LPs"));
        }
        let is_kept = |runner: &dyn OutsideFederate<M>| runner.runs_model() || runner.can_save();
        if checkpoints.is_some() && !self.all.iter().all(|(_, outside)| is_kept(&*outside.runner)) {
            return Err(self.cannot("checkpoints"));
        }
        Ok(())
    }

    /// The error for a request of `what`.
    pub(crate) fn cannot(&self, what: &'static str) -> OutsideError {
        let federate = self.all.iter().map(|(federate, _)| *federate).min().unwrap_or(0);
        OutsideError { federate, kind: OutsideErrorKind::Unsupported(what) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Which federates are outside at any time of the run.
    pub(crate) fn federates(&self) -> Vec<u32> {
        self.all.iter().map(|(federate, _)| *federate).collect()
    }

    /// Whether all of them do what the model would do.
    pub(crate) fn run_model(&self) -> bool {
        self.all.iter().all(|(_, outside)| outside.runner.runs_model() && !outside.dropped)
    }

    /// What a checkpoint at `path` is to keep of those that can be saved, in the order of their federates.
    pub(crate) fn save(&mut self, path: &Path) -> Result<Vec<Vec<u8>>, CheckpointError> {
        // A leg leaves them in any order.
        self.all.sort_by_key(|(federate, _)| *federate);
        let saved = self.all.iter_mut().filter(|(_, outside)| outside.runner.can_save());
        let saved = saved.map(|(federate, outside)| match outside.dropped {
            true => Err(format!("federate {federate} has not answered in time and was dropped")),
            false => outside.runner.save(path),
        });
        let failed = |reason| CheckpointError::Write { path: path.to_owned(), reason };
        saved.collect::<Result<_, String>>().map_err(failed)
    }

    /// When next after `time` one of them joins or leaves; [`Time::MAX`] for never.
    pub(crate) fn next_change(&self, time: Time) -> Time {
        let changes = self.all.iter().flat_map(|(_, outside)| [outside.from, outside.until]);
        changes.filter(|change| *change > time).min().unwrap_or(Time::MAX)
    }

    /// None of them does anything by itself before this.
    pub(crate) fn next(&self) -> Time {
        let next = self.all.iter().map(|(_, outside)| outside.next.max(outside.from)).zip(&self.all);
        let next = next.filter(|(next, (_, outside))| !outside.dropped && *next < outside.until);
        next.map(|(next, _)| next).min().unwrap_or(Time::MAX)
    }

    /// In the next leg federates run ahead, by these settings: those of them that can do so, too.
    pub(crate) fn speculate(&mut self, optimism: &Optimism) {
        self.speculates = Some(optimism.clone());
    }

    /// Whether one of them has a limit to its answers.
    pub(crate) fn are_limited(&self) -> bool {
        self.all.iter().any(|(_, outside)| outside.limit.is_some())
    }
}

/// How a leg begins.
pub(crate) struct Start<'a, M: Model> {
    /// Everything before this has happened.
    pub(crate) reached: Time,
    /// Nothing happens before this, in any process.
    pub(crate) least: Time,
    pub(crate) workers: u32,
    pub(crate) peers: Option<&'a Peers<M>>,
}

impl<M: Model> Clone for Start<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Model> Copy for Start<'_, M> {}

/// The occupants of the seats of a board.
pub(crate) struct Seated<'a, F, M: Model> {
    pub(crate) start: Start<'a, M>,
    pub(crate) occupants: Vec<Occupant<F, M>>,
    /// Where the answers come in, if any federate is outside.
    pub(crate) answers: Option<Arc<Answers<M>>>,
    pub(crate) idle: Arc<Idle>,
}

/// All seats of a leg that begins like this.
pub(crate) fn seat<'a, M: Model, F>(
    simulation: &Simulation<M>,
    partition: &Partition,
    federates: Federates<M>,
    outsiders: &mut Outsiders<M>,
    start: Start<'a, M>,
    mut inside: impl FnMut(Federate<M>) -> F,
) -> Seated<'a, F, M> {
    let Start { reached, workers, peers, .. } = start;
    let transport = peers.map(|peers| Arc::clone(peers.transport()));
    let speculates = outsiders.speculates.take();
    let mut present: Vec<_> =
        outsiders.all.extract_if(.., |(_, outside)| outside.takes_part(reached)).collect();
    let idle = Arc::new(Idle::new(workers, transport, !present.is_empty()));
    let answers = (!present.is_empty()).then(|| Arc::new(Answers::new(Arc::clone(&idle))));
    let mut occupants = Vec::with_capacity(federates.len());
    for federate in federates {
        let place = present.iter().position(|(id, _)| *id == federate.id());
        occupants.push(match (place, &answers) {
            (Some(place), Some(answers)) => {
                let outside = present.swap_remove(place).1;
                let speculates = speculates.as_ref();
                Occupant::Outside(Box::new(Proxy::begin(
                    simulation, partition, federate, outside, answers, reached, speculates,
                )))
            }
            _ => Occupant::Inside(inside(federate)),
        });
    }
    Seated { start, occupants, answers, idle }
}

/// Has all proxies hear what is still to be answered; what they send goes to `outbox`.
pub(crate) fn settle<M: Model>(
    proxies: &mut [&mut Proxy<M>],
    answers: &Answers<M>,
    partition: &Partition,
    outbox: &mut Outbox<M::Event>,
) -> Result<(), RunError> {
    // Comes to an end without a limit of its own: whoever is asked answers, is late, or is gone.
    while proxies.iter().any(|proxy| proxy.is_asked()) {
        let (id, answer) = answers.wait();
        let proxy = proxies.iter_mut().find(|proxy| proxy.id() == id);
        proxy.expect("whoever answers has a proxy").hear(answer, partition, outbox)?;
    }
    Ok(())
}

/// Asks for all LPs and takes them back; none of the proxies is to answer anything else.
pub(crate) fn recall<M: Model>(proxies: &mut [&mut Proxy<M>], answers: &Answers<M>) -> Result<(), RunError> {
    let mut awaited: Vec<u32> = Vec::new();
    for proxy in proxies.iter_mut() {
        if proxy.end() {
            awaited.push(proxy.id());
        }
    }
    while !awaited.is_empty() {
        let (id, answer) = answers.wait();
        // One that was dropped, or is back, may still say something: that its door is closed, if nothing
        // else.
        let Some(proxy) = proxies.iter_mut().find(|proxy| proxy.id() == id && awaited.contains(&id)) else {
            continue;
        };
        if proxy.hear_end(answer)? {
            awaited.retain(|other| *other != id);
        }
    }
    Ok(())
}

impl<M: Model> Outsiders<M> {
    /// Takes a proxy apart; who ran it is kept for the next leg.
    pub(crate) fn vacate(&mut self, proxy: Proxy<M>) -> Federate<M> {
        let (federate, outside) = proxy.vacate();
        self.all.push((federate.id(), outside));
        federate
    }

    /// The numbers of those that were dropped, ascending.
    pub(crate) fn dropped(&self) -> Vec<u32> {
        let dropped = self.all.iter().filter(|(_, outside)| outside.dropped).map(|(id, _)| *id);
        let mut dropped: Vec<u32> = dropped.collect();
        dropped.sort_unstable();
        dropped
    }
}

/// The occupant of a seat during a leg, with what was in the inbox when it ended.
pub(crate) type Left<F, M> = (Occupant<F, M>, Vec<Batch<<M as Model>::Event>>);

/// Takes all occupants out of their seats after a leg; one that is `inside` only gets what is left to be
/// delivered. Where the leg has `failed`, no outside federate is asked for anything any more: the federates
/// are as they were when they were handed out.
pub(crate) fn unseat<M: Model, F>(
    left: impl Iterator<Item = Left<F, M>>,
    answers: Option<&Answers<M>>,
    partition: &Partition,
    outsiders: &mut Outsiders<M>,
    failed: bool,
    inside: impl Fn(F) -> Federate<M>,
) -> (Federates<M>, Option<RunError>) {
    let mut occupants = Vec::new();
    for (mut occupant, batches) in left {
        // What waits for a proxy goes with it when it is taken apart; a federate that is inside gets it after
        // that.
        let late = match &mut occupant {
            Occupant::Outside(proxy) => {
                batches.into_iter().for_each(|batch| proxy.receive(batch));
                Vec::new()
            }
            Occupant::Inside(_) => batches,
        };
        occupants.push((occupant, late));
    }
    let mut outbox = Outbox::new(partition.federates());
    let mut error = None;
    if let Some(answers) = answers.filter(|_| !failed) {
        let proxies = occupants.iter_mut().filter_map(|(occupant, _)| occupant.proxy());
        let mut proxies: Vec<_> = proxies.collect();
        let settled = settle(&mut proxies, answers, partition, &mut outbox);
        error = settled.and_then(|()| recall(&mut proxies, answers)).err();
    }
    let vacate = |(occupant, late): Left<F, M>| match occupant {
        Occupant::Inside(member) => {
            let mut federate = inside(member);
            federate.receive(late.into_iter().flatten());
            federate
        }
        Occupant::Outside(proxy) => outsiders.vacate(*proxy),
    };
    let mut federates: Federates<M> = occupants.into_iter().map(vacate).collect();
    outbox.flush(|to, events, _| federates[to as usize].receive(events.drain(..)));
    (federates, error)
}

/// Does `work` while the answers of outside federates are timed, if there are any with a limit.
pub(crate) fn timed<M: Model, R>(
    answers: Option<Arc<Answers<M>>>,
    limited: bool,
    work: impl FnOnce() -> R,
) -> R {
    let Some(answers) = answers else { return work() };
    let _close = Close(&answers);
    if !limited {
        return work();
    }
    keep_time(&answers, work)
}

fn keep_time<M: Model, R>(answers: &Answers<M>, work: impl FnOnce() -> R) -> R {
    thread::scope(|scope| {
        scope.spawn(|| answers.keep_time());
        // Closed before the scope waits for the thread, which ends only then.
        let _close = Close(answers);
        work()
    })
}

/// Closes the answers, whatever happens.
struct Close<'a, M: Model>(&'a Answers<M>);

impl<M: Model> Drop for Close<'_, M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

//! A run of several processes: which federates each has, and what their owners do together between legs.
//!
//! Every process builds the same partition and keeps its own federates; the others are absent. Invariant: all processes make the same
//! calls of a run in the same order, so they meet in every round.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{Digest, Model, Part, Rollbacks, Time, World};
use paceline_transport::Transport;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::course::Course;
use crate::peers::{Codec, Joined, Misfit, Peers, PeersError, PeersErrorKind, Pulse, SilenceListener, Terms};
use crate::{Protocol, RunError, Simulation};

/// [`Pulse::start`], of a model that can be sent to threads.
type StartPulse<M> = fn(&Arc<Peers<M>>, Duration, Option<SilenceListener>) -> Result<Pulse, RunError>;

/// How a run joins other processes, from its settings until it starts.
pub(crate) struct Joining<M: Model> {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) codec: fn() -> Codec<M>,
    /// How long a process may be silent.
    pub(crate) limit: Option<Duration>,
    pub(crate) pulse: StartPulse<M>,
}

impl<M: Model> fmt::Debug for Joining<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Joining").field(&self.transport).finish()
    }
}

/// The protocol that a run of several processes has, where that is left to us: nothing is tried across processes.
pub(crate) fn protocol<M: Model>(simulation: &Simulation<M>) -> Protocol {
    match simulation.protocol {
        Protocol::Auto if simulation.model.lookahead() == Time::ZERO => Protocol::Optimistic,
        Protocol::Auto => Protocol::Window,
        other => other,
    }
}

/// What keeps a run of several processes from working.
pub(crate) fn check<M: Model>(simulation: &Simulation<M>) -> Result<(), RunError> {
    let Some(joining) = &simulation.joining else { return Ok(()) };
    let cannot = |what| {
        let kind = PeersErrorKind::Unsupported(what);
        Err(PeersError::new(joining.transport.rank(), kind).into())
    };
    match simulation {
        Simulation { protocol: Protocol::Sequential, .. } => cannot("the sequential protocol"),
        Simulation { pace: Some(_), .. } => cannot("a tie to real time"),
        Simulation { outside, .. } if !outside.is_empty() => cannot("outside federates"),
        _ => Ok(()),
    }
}

/// What all processes have to set alike, and the threads of this one.
pub(crate) fn terms<M: Model>(simulation: &Simulation<M>, threads: u32) -> Terms {
    let Simulation { model, federates, groups, until, step, seed, ties, balance, shuffle, equal, .. } =
        simulation;
    let pairs = [
        ("number of LPs", model.lps().to_string()),
        ("lookahead", model.lookahead().to_string()),
        ("protocol", protocol(simulation).name().to_owned()),
        ("number of federates", format!("{federates:?}")),
        ("number of groups", format!("{groups:?}")),
        ("horizon", until.to_string()),
        ("time step", format!("{step:?}")),
        ("seed", seed.to_string()),
        ("order of ties", format!("{ties:?}")),
        ("balance", format!("{balance:?}")),
        ("random moves", format!("{shuffle:?}")),
        // The texts may be long, and which of them is wrong only their owners can know.
        (
            "parameters of the model, with the checksum",
            format!("{:016x}", xxh3_64(model.parameters().as_bytes())),
        ),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    Terms { threads, equal: pairs.into_iter().chain(equal.iter().cloned()).collect() }
}

impl<M: Model> Simulation<M> {
    /// Says what all processes of a run must have alike besides settings and parameters, such as the content of a file that the model was
    /// read from: a name and a value. A run whose processes differ is refused before its first event
    /// ([`PeersErrorKind::Differs`]). All processes say the same names in the same order.
    pub fn must_equal(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.equal.push((name.into(), value.into()));
        self
    }
}

/// The processes of a run, and the number of threads of each.
type Met<M> = (Peers<M>, Vec<u32>);

/// Joins the other processes, if there are any to join, and checks that all have the same settings.
pub(super) fn meet<M: Model>(simulation: &Simulation<M>, threads: u32) -> Result<Option<Met<M>>, RunError> {
    let Some(Joining { transport, codec, .. }) = &simulation.joining else { return Ok(None) };
    let peers = Peers::new(Arc::clone(transport), codec(), simulation.marshalling);
    let own = terms(simulation, threads);
    let all = peers.exchange(&own)?;
    for (rank, other) in (0..).zip(&all) {
        // Lists of other lengths differ in the first that only one of them has.
        let none = ("end of the list of what is to be alike".to_owned(), "none".to_owned());
        let longest = own.equal.len().max(other.equal.len());
        let part = |list: &'_ [(String, String)], place: usize| list.get(place).unwrap_or(&none).clone();
        let parts = (0..longest).map(|place| (part(&own.equal, place), part(&other.equal, place)));
        if let Some(((what, ours), (_, theirs))) = parts.into_iter().find(|(ours, theirs)| ours != theirs) {
            // The others find the same.
            transport.close();
            return Err(PeersError::new(rank, PeersErrorKind::Differs { what, theirs, ours }).into());
        }
    }
    Ok(Some((peers, all.into_iter().map(|own| own.threads).collect())))
}

/// The results of a process, or of all.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) digest: Digest,
    pub(super) events: u64,
    pub(super) last: Time,
    pub(super) pending: u64,
    pub(super) null_messages: u64,
    pub(super) threads: u32,
    pub(super) rollbacks: Option<Rollbacks>,
    /// By federate: its load since LPs moved last, where they may.
    pub(super) loads: Vec<u64>,
}

/// The results of all processes.
pub(super) fn add_up(all: Vec<Results>) -> Results {
    let mut sum = Results::default();
    for own in all {
        sum.digest.join(own.digest);
        sum.events += own.events;
        sum.last = sum.last.max(own.last);
        sum.pending += own.pending;
        sum.null_messages += own.null_messages;
        sum.threads += own.threads;
        sum.loads.extend(own.loads);
        if let Some(own) = own.rollbacks {
            sum.rollbacks.get_or_insert_default().join(&own);
        }
    }
    sum
}

impl<M: Model> Course<M> {
    /// The least time of all processes, of which `own` is that of this one.
    pub(super) fn least_of_all(&self, own: Time) -> Result<Time, RunError> {
        match &self.peers {
            Some(peers) => Ok(peers.settle(own, None, Misfit::stray)?.least),
            None => Ok(own),
        }
    }

    /// Whether any process says so.
    pub(super) fn any(&self, own: bool) -> Result<bool, RunError> {
        match &self.peers {
            Some(peers) => Ok(peers.exchange(&own)?.contains(&true)),
            None => Ok(own),
        }
    }

    /// Writes a checkpoint of the run of all processes, in that of rank 0, and says whether this process did.
    pub(super) fn checkpoint_together(&mut self, simulation: &Simulation<M>) -> Result<bool, RunError> {
        let wanted = simulation.checkpoints.is_some();
        if !self.any(wanted)? {
            return Ok(false);
        }
        let start = Instant::now();
        self.settled(simulation, self.steward.settle())?;
        let origin = self.origin(simulation);
        let write = |world: &World<M>| {
            Ok(simulation
                .checkpoints
                .as_ref()
                .map(|(checkpoints, codec)| codec.write(&origin, world, checkpoints)))
        };
        let Some(Some(written)) = self.joined(simulation, write)? else { return Ok(false) };
        let published = self.steward.publish(written);
        self.sums.published(simulation, published, start)
    }

    /// Brings all parts of the run together in the process of rank 0, has `write` write them there, and deals them again. What was
    /// committed stays with rank 0.
    pub(super) fn joined<T>(
        &mut self,
        simulation: &Simulation<M>,
        write: impl FnOnce(&World<M>) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        let Some(peers) = self.peers.take() else { return Ok(None) };
        if let Some(balancer) = &mut self.balancer {
            balancer.bank(&self.federates);
        }
        let part = self.take_part();
        let joined = self.join_and_deal(&peers, part, simulation, write);
        self.peers = Some(peers);
        joined
    }

    fn join_and_deal<T>(
        &mut self,
        peers: &Peers<M>,
        part: Part<M>,
        simulation: &Simulation<M>,
        write: impl FnOnce(&World<M>) -> Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        let (model, settings) = (&simulation.model, self.settings);
        let mut written = None;
        match peers.join(part, &self.partition)? {
            Joined::Whole(world) => {
                written = Some(write(&world)?);
                (self.federates, self.past) =
                    world.deal_part(model, &self.partition, settings, |federate| peers.owns(federate));
            }
            Joined::Own(part) => self.federates = part.deal(model, &self.partition, settings),
        }
        self.attend(simulation);
        Ok(written)
    }
}

/// Tells the other processes, if there are any, that this one cannot go on; gives the error back.
pub(super) fn told<M: Model>(peers: Option<&Peers<M>>, error: RunError) -> RunError {
    if let Some(peers) = peers.filter(|_| !matches!(error, RunError::Peers(_))) {
        peers.tell_failure(&error.to_string());
    }
    error
}

//! How a run joins other processes: what its settings say of them, and what all of them check before the
//! first event.

use std::sync::Arc;
use std::time::Duration;

use paceline_kernel::Model;
use paceline_transport::Transport;
use paceline_transport::marshal::Marshalling;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use super::super::Met;
use super::{Codec, Peers, PeersError, PeersErrorKind, Pulse, Silence, SilenceListener, Terms};
use crate::run::protocol;
use crate::{Protocol, RunError, Simulation};

/// [`Pulse::start`], of a model that can be sent to threads.
type StartPulse<M> = fn(&Arc<Peers<M>>, Duration, Option<SilenceListener>) -> Result<Pulse, RunError>;

/// What the settings of a run say of other processes.
pub(crate) struct Processes<M: Model> {
    /// How they are reached, if there are any.
    joining: Option<Joining<M>>,
    /// How long one may be silent.
    silence: Option<Duration>,
    /// The function that is called for processes that are silent.
    silence_listener: Option<SilenceListener>,
    /// What else all have alike: names and values.
    equal: Vec<(String, String)>,
    marshalling: Marshalling,
}

struct Joining<M: Model> {
    transport: Arc<dyn Transport>,
    codec: fn() -> Codec<M>,
    pulse: StartPulse<M>,
}

impl<M: Model> Default for Processes<M> {
    fn default() -> Self {
        let (equal, marshalling) = (Vec::new(), Marshalling::default());
        Self { joining: None, silence: None, silence_listener: None, equal, marshalling }
    }
}

impl<M: Model> Simulation<M> {
    /// Runs it together with the other processes that `transport` joins: each has a part of the federates,
    /// and all get to the same result as one process alone. Every process is given the same model and
    /// settings; the number of threads may differ. They make the same calls of the [`crate::Run`]. The
    /// report of the process of rank 0 is that of the whole run; those of the others have the outputs of
    /// their own federates only. Checkpoints are written by the process of rank 0, and a run is resumed from
    /// one by all.
    ///
    /// ```
    /// # use paceline_kernel::{Context, LpId, Model, Time};
    /// use paceline_engine::{Protocol, Simulation};
    /// use paceline_transport::Memory;
    /// # #[derive(Clone)]
    /// # struct Ring;
    /// # impl Model for Ring {
    /// #     type State = u64;
    /// #     type Event = u64;
    /// #     type Output = ();
    /// #     fn lps(&self) -> u32 { 4 }
    /// #     fn lookahead(&self) -> Time { Time::secs(1) }
    /// #     fn init(&self, lp: LpId, cx: &mut Context<Self>) -> u64 { cx.schedule(Time::secs(1), 1); lp.0.into() }
    /// #     fn handle(&self, sum: &mut u64, payload: &u64, cx: &mut Context<Self>) {
    /// #         *sum += payload;
    /// #         cx.send(LpId((cx.lp().0 + 1) % 4), Time::secs(1), *sum % 7);
    /// #     }
    /// # }
    /// let ring = || Simulation::new(Ring).until(Time::secs(50)).federates(4).threads(1);
    /// let alone = ring().protocol(Protocol::Sequential).run()?;
    /// // Two processes, which here are threads.
    /// let ends = Memory::mesh(2).into_iter().map(std::sync::Arc::new);
    /// let runs = ends.map(|end| std::thread::spawn(move || ring().join(end).run()));
    /// for run in runs.collect::<Vec<_>>() {
    ///     let report = run.join().expect("it does not panic")?;
    ///     assert_eq!((report.digest, report.events), (alone.digest, alone.events));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join(mut self, transport: Arc<dyn Transport>) -> Self
    where
        M: 'static,
        M::State: Serialize + DeserializeOwned,
        M::Event: Serialize + DeserializeOwned,
        M::Output: Serialize + DeserializeOwned,
    {
        self.processes.joining = Some(Joining { transport, codec: Codec::new, pulse: Pulse::start });
        self
    }

    /// With other processes: one from which nothing has come for `limit` is lost, and ends the run of all
    /// ([`crate::PeersErrorKind::Lost`]). Each gives a sign of life every quarter of it. Unless said, only
    /// the transport decides who is lost.
    pub fn silence_limit(mut self, limit: Duration) -> Self {
        self.processes.silence = Some(limit);
        self
    }

    /// With other processes: how messages are gathered in frames. Unless said, size and time follow what is
    /// measured. The result does not depend on it, and processes may differ in it.
    pub fn marshalling(mut self, marshalling: Marshalling) -> Self {
        self.processes.marshalling = marshalling;
        self
    }

    /// With other processes and a limit for their silence: calls `listener` when two signs of life of one are
    /// missing in a row, which is half the limit before it is lost, and when it gives one again. It is
    /// called by a thread of the run that does nothing else, and must return soon.
    pub fn on_silence(mut self, listener: impl Fn(Silence) + Send + Sync + 'static) -> Self {
        self.processes.silence_listener = Some(Arc::new(listener));
        self
    }

    /// Says what all processes of a run must have alike besides settings and parameters, such as the content
    /// of a file that the model was read from: a name and a value. A run whose processes differ is
    /// refused before its first event ([`PeersErrorKind::Differs`]). All processes say the same names in
    /// the same order.
    pub fn must_equal(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.processes.equal.push((name.into(), value.into()));
        self
    }
}

/// What keeps a run of several processes from working.
pub(crate) fn check<M: Model>(simulation: &Simulation<M>) -> Result<(), RunError> {
    let Some(joining) = &simulation.processes.joining else { return Ok(()) };
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
fn terms<M: Model>(simulation: &Simulation<M>, threads: u32) -> Terms {
    let Simulation { model, federates, groups, until, step, seed, ties, balance, shuffle, processes, .. } =
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
    Terms { threads, equal: pairs.into_iter().chain(processes.equal.iter().cloned()).collect() }
}

/// Joins the other processes, if there are any to join, and checks that all have the same settings.
pub(crate) fn meet<M: Model>(simulation: &Simulation<M>, threads: u32) -> Result<Option<Met<M>>, RunError> {
    let Processes { joining, marshalling, .. } = &simulation.processes;
    let Some(Joining { transport, codec, .. }) = joining else { return Ok(None) };
    let peers = Peers::new(Arc::clone(transport), codec(), *marshalling);
    let here = terms(simulation, threads);
    let all = peers.exchange(&here)?;
    for (rank, other) in (0..).zip(&all) {
        // Lists of other lengths differ in the first that only one of them has.
        let none = ("end of the list of what is to be alike".to_owned(), "none".to_owned());
        let longest = here.equal.len().max(other.equal.len());
        let part = |list: &'_ [(String, String)], place: usize| list.get(place).unwrap_or(&none).clone();
        let parts = (0..longest).map(|place| (part(&here.equal, place), part(&other.equal, place)));
        if let Some(((what, ours), (_, theirs))) = parts.into_iter().find(|(ours, theirs)| ours != theirs) {
            // The others find the same: each ends with an error of its own, and none is lost.
            transport.close();
            return Err(PeersError::new(rank, PeersErrorKind::Differs { what, theirs, ours }).into());
        }
    }
    Ok(Some((peers, all.into_iter().map(|terms| terms.threads).collect())))
}

/// Starts to give signs of life, where the settings limit how long a process may be silent.
pub(crate) fn start_pulse<M: Model>(
    simulation: &Simulation<M>,
    peers: Option<&Arc<Peers<M>>>,
) -> Result<Option<Pulse>, RunError> {
    let Processes { joining, silence, silence_listener, .. } = &simulation.processes;
    let (Some(peers), Some(Joining { pulse, .. }), Some(limit)) = (peers, joining, silence) else {
        return Ok(None);
    };
    pulse(peers, *limit, silence_listener.clone()).map(Some)
}

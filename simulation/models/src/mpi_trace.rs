//! MPI programs, replayed from time-independent traces (Desprez et al., 2011). A trace records what each rank
//! computed and how much it sent to which rank, without times; the platform determines how long that takes.
//!
//! The format is that of SimGrid's replay: one line per action, `RANK ACTION ARGUMENTS`. All ranks are in one
//! file, or each rank has its own. A rank is a process. A sender does not wait for messages below
//! [`EAGER_BYTES`] bytes; it waits for larger ones. Every message is [`ENVELOPE_BYTES`] larger on the
//! network. Collective actions use the algorithms that SimGrid 3.32 takes where none is chosen. A rank that
//! has performed its actions waits for the requests that it has left open, and then ends.
//!
//! Invariants: ranks meet in collective actions in the same order; if they do not, the run ends in a deadlock
//! that names them. A receive is over when its message is there, never before: a rank whose action fails
//! performs no other.

mod actions;
mod collectives;
mod error;
mod line;
mod reader;
mod reduce_scatter;
mod replay;
mod requests;
mod results;
mod settings;
mod types;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use paceline_kernel::Time;
use paceline_network::{HostId, Network};
use paceline_processes::{Mailbox, Process, RequestError, Simulation};

pub use error::TraceError;
pub use reader::text_of;

/// Messages smaller than this do not make their sender wait (SimGrid: `smpi/send-is-detached-thresh`).
pub const EAGER_BYTES: f64 = 65_536.0;
/// What a message has on the network besides its content: tag, destination, communicator (SimGrid 3.32:
/// `Request::start`).
pub const ENVELOPE_BYTES: f64 = 16.0;
/// How long a test takes (SimGrid: `smpi/test`).
pub const TEST_SECONDS: f64 = 1e-4;
/// In a receive: any sender, or any tag.
pub const ANY: u32 = Mailbox::ANY;

/// Sender, receiver and tag of a message; of a receive, [`ANY`] where it leaves them open.
pub type Ends = (u32, u32, u32);

/// What a rank does. Of requests that fit, [`Action::Wait`] and [`Action::Test`] take the oldest. After a
/// reduction each rank computes `flops`.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Action {
    /// Computes so many flops.
    Compute(f64),
    /// Does nothing for so many seconds.
    Sleep(f64),
    /// Sends; waits if the message is large.
    Send(Message),
    /// Receives, and waits until the message is there.
    Receive(Message),
    /// Begins to send.
    StartSend(Message),
    /// Begins to receive.
    StartReceive(Message),
    /// Sends and receives at the same time, with tag 0.
    SendReceive {
        /// The rank sent to, if one is.
        to: Option<u32>,
        /// The rank received from, or [`ANY`].
        from: u32,
        /// Size of the message that is sent; nothing is sent where `to` is none.
        bytes: f64,
    },
    /// Waits for a request; if there is none of these ends, for nothing.
    Wait(Ends),
    /// Looks whether a request is over, which takes [`TEST_SECONDS`], and longer after tests that have
    /// failed.
    Test(Ends),
    /// Waits for all requests that were begun.
    WaitAll,
    /// Waits for all ranks.
    Barrier,
    /// `root` sends this number of bytes to all others.
    Broadcast { bytes: f64, root: u32 },
    /// All others send this number of bytes to `root`; then each rank computes.
    Reduce { bytes: f64, flops: f64, root: u32 },
    /// A reduction whose result all ranks get.
    ReduceAll { bytes: f64, flops: f64 },
    /// A reduction of whose result each rank gets a part.
    ReduceScatter {
        /// Elements of each rank's part.
        counts: Arc<[f64]>,
        /// Bytes of an element.
        element: f64,
        flops: f64,
    },
    /// A reduction over all ranks up to each.
    Scan { bytes: f64, flops: f64 },
    /// Every rank sends this number of bytes to every other.
    Exchange { bytes: f64 },
    /// Every rank sends to each rank what `bytes` says.
    ExchangeEach { bytes: Arc<[f64]> },
    /// All others send to `root`; `bytes` are those of this rank.
    Gather { bytes: f64, root: u32 },
    /// Every rank sends this number of bytes to each other.
    GatherAll { bytes: f64 },
    /// `root` sends this number of bytes to each other rank.
    Scatter { bytes: f64, root: u32 },
    /// `root` sends to each rank what `bytes` says.
    ScatterEach { bytes: Arc<[f64]>, root: u32 },
}

/// A message between two ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The other rank; in a receive it may be [`ANY`].
    pub other: u32,
    /// Its tag: a message is received with the tag with which it was sent, or with [`ANY`].
    pub tag: u32,
    /// Its size. A receive's does not matter: what is sent flows.
    pub bytes: f64,
}

/// The actions of all ranks.
///
/// ```
/// use paceline_processes::Simulation;
/// use paceline_kernel::Time;
/// use paceline_models::mpi_trace::MpiTrace;
/// use paceline_network::Constant;
///
/// let text = "0 init\n1 init\n0 compute 2e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n0 finalize\n1 finalize\n";
/// let trace = MpiTrace::read("demo.txt", text, &mut |_| Err("there are no other files".into()))?;
/// let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 1); 2]);
/// let outcome = trace.spawn(&mut simulation, 2);
/// simulation.run()?;
/// assert_eq!(outcome.ends(), [Some(Time::secs(3)); 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MpiTrace {
    ranks: Vec<Arc<[Action]>>,
    idle_waits: u64,
    permanent_receivers: bool,
}

/// A rank that has not performed all its actions, because one of them failed.
#[derive(Clone, Debug, PartialEq)]
pub struct RankFailure {
    /// The number of the rank.
    pub rank: u32,
    /// The simulated time of the failure.
    pub time: Time,
    /// What failed; `None` for the wait for open requests at the end.
    pub action: Option<Action>,
    /// What kept the action from being done.
    pub failure: RequestError,
}

impl fmt::Display for RankFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, time, action, failure } = self;
        write!(f, "rank {rank} cannot continue at {time}: ")?;
        match action {
            Some(action) => write!(f, "{action}: {failure}"),
            None => write!(f, "what it left open at its end: {failure}"),
        }
    }
}

/// When each rank has finished.
#[derive(Debug)]
pub struct Outcome {
    /// By rank, in nanoseconds; [`NOT_YET`] before its end.
    ends: Vec<AtomicU64>,
    failures: Vec<OnceLock<RankFailure>>,
}

/// No rank ends at this time.
const NOT_YET: u64 = u64::MAX;

impl Outcome {
    fn new(ranks: usize) -> Self {
        Self {
            ends: (0..ranks).map(|_| AtomicU64::new(NOT_YET)).collect(),
            failures: (0..ranks).map(|_| OnceLock::new()).collect(),
        }
    }

    /// By rank; `None` if it has not finished.
    pub fn ends(&self) -> Vec<Option<Time>> {
        let end = |end: &AtomicU64| Some(end.load(Ordering::Relaxed)).filter(|ns| *ns != NOT_YET);
        self.ends.iter().map(|ns| end(ns).map(Time::nanos)).collect()
    }

    /// The first rank whose action failed, if one did. Then no time of this run is one of the program.
    pub fn failure(&self) -> Option<&RankFailure> {
        // Others fail at the same time because that one has given up.
        let cause =
            |failed: &&RankFailure| (failed.time, failed.failure == RequestError::GivenUp, failed.rank);
        self.failures.iter().filter_map(OnceLock::get).min_by_key(cause)
    }
}

impl MpiTrace {
    /// A trace from the actions of each rank.
    pub fn new(ranks: Vec<Vec<Action>>) -> Self {
        Self { ranks: ranks.into_iter().map(Arc::from).collect(), idle_waits: 0, permanent_receivers: false }
    }

    /// Makes ranks permanent receivers, as if they had room for whatever is sent to them: messages flow as
    /// soon as they are sent, the large ones too, and wait at the host of their receiver (SimGrid:
    /// `smpi/async-small-thresh`, above the largest). The sender of a large one waits until it has arrived.
    /// So the run can be divided among federates.
    ///
    /// Of messages of the same sender and tag the one that arrives first is received first. On a network
    /// that transfers share, a small one may arrive before a large one that was sent earlier.
    pub fn with_permanent_receivers(self) -> Self {
        Self { permanent_receivers: true, ..self }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The actions of a rank.
    pub fn actions(&self, rank: u32) -> &[Action] {
        &self.ranks[rank as usize]
    }

    /// How many `wait` and `test` lines name a request that its rank has not begun, or has waited for: they
    /// do nothing.
    pub fn idle_waits(&self) -> u64 {
        self.idle_waits
    }

    /// Adds the ranks, dealt round-robin to `hosts` hosts.
    pub fn spawn<N: Network>(&self, simulation: &mut Simulation<(), N>, hosts: u32) -> Arc<Outcome> {
        let outcome = Arc::new(Outcome::new(self.ranks.len()));
        let ranks = self.ranks();
        for (rank, actions) in (0..ranks).zip(&self.ranks) {
            if self.permanent_receivers {
                let all = Mailbox::Matched { to: rank, from: ANY, tag: ANY };
                simulation.place(all, HostId(rank % hosts));
            }
            let (actions, outcome) = (Arc::clone(actions), Arc::clone(&outcome));
            simulation.spawn(&format!("rank {rank}"), HostId(rank % hosts), async move |cx: Process<()>| {
                match replay::Rank::new(&cx, rank, ranks).replay(&actions).await {
                    Ok(()) => outcome.ends[rank as usize].store(cx.now().as_nanos(), Ordering::Relaxed),
                    Err((place, failure)) => {
                        let (time, action) = (cx.now(), actions.get(place).cloned());
                        let failed = RankFailure { rank, time, action, failure };
                        let _: Result<(), RankFailure> = outcome.failures[rank as usize].set(failed);
                    }
                }
            });
        }
        outcome
    }
}

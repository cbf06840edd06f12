//! MPI programs, replayed from time-independent traces (Desprez et al., 2011). A trace records what each rank computed and how much
//! it sent to which rank, without times; the platform determines how long that takes.
//!
//! The format is that of SimGrid's replay: one line per action, `RANK ACTION ARGUMENTS`. All ranks are in one file, or each rank
//! has its own. A rank is a process. A sender does not wait for messages below [`EAGER_BYTES`] bytes; it waits for larger ones.
//! Broadcast and reduction use binomial trees, barrier and all-reduce recursive doubling, all-to-all pairwise exchange.
//!
//! Invariant: ranks meet in collective actions in the same order; if they do not, the run ends in a deadlock that names them.

mod collectives;
mod reader;
mod replay;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_kernel::Time;
use paceline_network::{HostId, Network};
use paceline_processes::{Process, Simulation};

pub use reader::TraceError;

/// Messages smaller than this do not make their sender wait (SimGrid: `smpi/send-is-detached-thresh`).
pub const EAGER_BYTES: f64 = 65_536.0;

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Computes so many flops.
    Compute(f64),
    /// Sends; waits if the message is large.
    Send(Message),
    /// Receives.
    Receive(Message),
    /// Begins to send.
    StartSend(Message),
    /// Begins to receive.
    StartReceive(Message),
    /// Waits for an action that was begun: the latest one with this sender, receiver and tag, or the latest of all.
    Wait(Option<(u32, u32, u32)>),
    /// Waits for all actions that were begun.
    WaitAll,
    /// Waits for all ranks.
    Barrier,
    /// `root` sends this number of bytes to all others.
    Broadcast {
        /// Bytes.
        bytes: f64,
        /// The rank that sends.
        root: u32,
    },
    /// All others send this number of bytes to `root`; then each rank computes.
    Reduce {
        /// Bytes of each rank.
        bytes: f64,
        /// Flops after that.
        flops: f64,
        /// The rank that gets the result.
        root: u32,
    },
    /// A reduction whose result all ranks get.
    ReduceAll {
        /// Bytes of each rank.
        bytes: f64,
        /// Flops after that.
        flops: f64,
    },
    /// Every rank sends this number of bytes to every other.
    Exchange {
        /// Bytes from each rank to each other.
        bytes: f64,
    },
}

/// A message between two ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The other rank.
    pub other: u32,
    /// Its tag: a message is received with the tag with which it was sent.
    pub tag: u32,
    /// Its size.
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
/// assert_eq!(outcome.ends(), [Time::secs(3); 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MpiTrace {
    ranks: Vec<Vec<Action>>,
}

/// When each rank has finished.
#[derive(Debug)]
pub struct Outcome(Vec<AtomicU64>);

impl Outcome {
    /// By rank; zero if it has not finished.
    pub fn ends(&self) -> Vec<Time> {
        self.0.iter().map(|end_ns| Time::nanos(end_ns.load(Ordering::Relaxed))).collect()
    }
}

impl MpiTrace {
    /// A trace from the actions of each rank.
    pub fn new(ranks: Vec<Vec<Action>>) -> Self {
        Self { ranks }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The actions of a rank.
    pub fn actions(&self, rank: u32) -> &[Action] {
        &self.ranks[rank as usize]
    }

    /// Adds the ranks, dealt round-robin to `hosts` hosts.
    pub fn spawn<N: Network>(&self, simulation: &mut Simulation<(), N>, hosts: u32) -> Arc<Outcome> {
        let outcome = Arc::new(Outcome(self.ranks.iter().map(|_| AtomicU64::new(0)).collect()));
        let ranks = self.ranks();
        for (rank, actions) in (0..ranks).zip(&self.ranks) {
            let (actions, outcome) = (actions.clone(), Arc::clone(&outcome));
            simulation.spawn("rank", HostId(rank % hosts), async move |cx: Process<()>| {
                replay::Rank::new(&cx, rank, ranks).replay(&actions).await;
                outcome.0[rank as usize].store(cx.now().as_nanos(), Ordering::Relaxed);
            });
        }
        outcome
    }
}

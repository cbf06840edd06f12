//! MPI programs, replayed from time-independent traces (Desprez et al., 2011): what each rank computed and
//! whom it told how much, without any time. How long it takes is what the platform says.
//!
//! The format is that of SimGrid's replay: a line for each action, `RANK ACTION ARGUMENTS`, of all ranks in one file or each
//! rank in its own. A rank is a process. Messages of less than [`EAGER_BYTES`] bytes do not make their sender wait, larger ones
//! do. Broadcast and reduction go along binomial trees, barrier and reduction to all by recursive doubling, the exchange of all
//! with all in pairs.
//!
//! Invariant: ranks meet in collective actions in the same order; where they do not, the run ends in a deadlock that names them.

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
    /// Sends, and waits where the message is large.
    Send(Message),
    /// Receives.
    Receive(Message),
    /// Begins to send.
    StartSend(Message),
    /// Begins to receive.
    StartReceive(Message),
    /// Waits for what was begun: the latest with these ranks and tag, or the latest of all.
    Wait(Option<(u32, u32, u32)>),
    /// Waits for all that was begun.
    WaitAll,
    /// Waits for all ranks.
    Barrier,
    /// `root` sends this number of bytes to all others.
    Broadcast {
        /// Bytes.
        bytes: f64,
        /// Who has them.
        root: u32,
    },
    /// All others send this number of bytes to `root`; then each rank computes.
    Reduce {
        /// Bytes of each rank.
        bytes: f64,
        /// Flops after that.
        flops: f64,
        /// Who gets the result.
        root: u32,
    },
    /// A reduction whose result all get.
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

/// What all ranks do.
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

/// When the ranks have come to their ends.
#[derive(Debug)]
pub struct Outcome(Vec<AtomicU64>);

impl Outcome {
    /// By rank; zero where it has not come to its end.
    pub fn ends(&self) -> Vec<Time> {
        self.0.iter().map(|end_ns| Time::nanos(end_ns.load(Ordering::Relaxed))).collect()
    }
}

impl MpiTrace {
    /// What rank after rank does.
    pub fn new(ranks: Vec<Vec<Action>>) -> Self {
        Self { ranks }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// What a rank does.
    pub fn actions(&self, rank: u32) -> &[Action] {
        &self.ranks[rank as usize]
    }

    /// Adds the ranks, dealt round to `hosts` hosts.
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

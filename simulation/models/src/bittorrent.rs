//! BitTorrent (Cohen, 2003; BEP 3):
//! a swarm of peers that share a file, as SimGrid's example of that name has it.
//!
//! A tracker names at most 50 others to each peer, and the peer connects to them. Peers download the pieces
//! of the file from each other, block by block. A peer first picks pieces at random, then the rarest first;
//! in the end game it downloads the last pieces from several peers at once. Every 10 s each peer decides
//! which peers it serves: those that send to it fastest, and one more. A seed, which has the whole file,
//! serves all peers in turn. Unlike in the example, where a peer unchokes one other peer per round, a peer
//! serves several peers (as in Cohen's paper), peers may leave, and blocks in transit are cancelled when
//! another peer has delivered them first ([`Bittorrent::takes_back`]). A message that a link or a host loses
//! is not sent again.
//!
//! Invariants: a peer serves at most [`Bittorrent::slots`] others and one more; it sends only pieces that it
//! has.

mod choke;
mod connection;
mod message;
mod peer;
mod pieces;
mod results;
mod settings;
mod tracker;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use paceline_kernel::{Rng, Time};
use paceline_network::{HostId, Network};
use paceline_processes::{Process, Simulation};
use paceline_results::Output;

pub use message::{Blocks, Content, Message};

/// The time between two decisions on which peers to serve.
pub const ROUND: Time = Time::secs(10);

/// The BitTorrent model and its parameters. Their defaults are those of SimGrid's example.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_models::bittorrent::Bittorrent;
/// use paceline_network::Constant;
/// use paceline_processes::Simulation;
///
/// let swarm = Bittorrent { peers: 20, seeds: 2, ..Bittorrent::default() };
/// let mut simulation = Simulation::new(Constant::new(0.05), &[(1e9, 1); 21]).until(Time::secs(600));
/// let outcome = swarm.spawn(&mut simulation, 21, 1);
/// simulation.run()?;
/// let completions = outcome.completions();
/// assert_eq!(completions.len(), 18, "every leecher has the whole file");
/// assert!(completions[0] > Time::secs(10), "nobody is served before the first round");
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bittorrent {
    /// The number of peers, at least one.
    pub peers: u32,
    /// How many peers have the whole file from the start. They are the peers with the lowest numbers.
    pub seeds: u32,
    /// Pieces of the file, at least one.
    pub pieces: u32,
    /// Blocks of a piece, at least one.
    pub blocks: u32,
    /// Bytes of a block.
    pub block_bytes: f64,
    /// The number of peers that a peer serves at a time, besides the optimistic unchoke.
    pub slots: u32,
    /// Each peer starts at a time of its own, drawn between 0 and this time.
    pub starts: Time,
    /// When the seeds leave; `None`: never.
    pub seeds_leave: Option<Time>,
    /// How long a peer that has completed the file goes on serving others; `None`: to the end of the run.
    pub linger: Option<Time>,
    /// Whether blocks on their way are taken back when another peer has delivered them first, or the
    /// connection has been choked or closed. Where not, as in SimGrid's example, mailboxes stand at the hosts
    /// of their peers, so that the run can be divided among federates.
    pub takes_back: bool,
    /// Whether to record every piece that a peer completes or begins to send ([`Outcome::observed`]).
    pub observe: bool,
}

impl Default for Bittorrent {
    fn default() -> Self {
        Self {
            peers: 100,
            seeds: 1,
            pieces: 10,
            blocks: 5,
            block_bytes: 16_384.0,
            slots: 3,
            starts: Time::ZERO,
            seeds_leave: None,
            linger: None,
            takes_back: true,
            observe: false,
        }
    }
}

/// Something that a peer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observed {
    /// The simulated time of the action.
    pub at: Time,
    /// What the peer did.
    pub action: Action,
    /// The number of the peer.
    pub peer: u32,
}

/// What a peer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Action {
    /// It completed a piece.
    Completed { piece: u32 },
    /// It began to send blocks.
    Sent { piece: u32, to: u32 },
}

/// What peers measure: messages that they have sent; blocks that they have begun to send, and received though
/// they had them; and how many peers one serves at a time.
const MESSAGES: &str = "messages_sent";
const BLOCKS_SENT: &str = "blocks_sent";
const DUPLICATES: &str = "duplicate_blocks";
const UNCHOKED: &str = "unchoked";

/// When peers were done, and what was observed. It grows while the simulation runs.
#[derive(Debug)]
pub struct Outcome {
    /// By peer: when it completed the file, in nanoseconds; [`u64::MAX`] if it has not.
    completed_ns: Vec<AtomicU64>,
    observed: Mutex<Vec<Observed>>,
}

impl Outcome {
    fn new(peers: u32) -> Self {
        Self {
            completed_ns: (0..peers).map(|_| AtomicU64::new(u64::MAX)).collect(),
            observed: Mutex::default(),
        }
    }

    /// The times at which leechers completed the file, in ascending order.
    pub fn completions(&self) -> Vec<Time> {
        let times = self.completed_ns.iter().map(|ns| Time::nanos(ns.load(Ordering::Relaxed)));
        let mut completions: Vec<Time> = times.filter(|time| *time < Time::MAX).collect();
        completions.sort_unstable();
        completions
    }

    /// The recorded actions of all peers, in the order of time; empty unless [`Bittorrent::observe`] is set.
    pub fn observed(&self) -> Vec<Observed> {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        observed.sort_unstable();
        observed
    }

    fn completed(&self, peer: u32, now: Time) {
        self.completed_ns[peer as usize].store(now.as_nanos(), Ordering::Relaxed);
    }

    fn observe(&self, swarm: &Bittorrent, at: Time, peer: u32, action: Action) {
        if swarm.observe {
            let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
            observed.push(Observed { at, action, peer });
        }
    }
}

/// What all peers share; read-only during the run.
#[derive(Debug)]
struct Shared {
    swarm: Bittorrent,
    outcome: Arc<Outcome>,
}

impl Bittorrent {
    /// The number of the tracker's mailbox; those of peers come before it.
    fn tracker(&self) -> u32 {
        self.peers
    }

    /// Adds the tracker and the peers, dealt round-robin to `hosts` hosts. Start times of peers are drawn
    /// from `seed`.
    pub fn spawn<N: Network>(
        &self,
        simulation: &mut Simulation<Message, N>,
        hosts: u32,
        seed: u64,
    ) -> Arc<Outcome> {
        simulation.measure([MESSAGES, BLOCKS_SENT, DUPLICATES].map(Output::count));
        simulation.measure([Output::tally(UNCHOKED)]);
        let outcome = Arc::new(Outcome::new(self.peers));
        let shared = Arc::new(Shared { swarm: self.clone(), outcome: Arc::clone(&outcome) });
        for mailbox in (0..=self.peers).filter(|_| !self.takes_back) {
            simulation.place(u64::from(mailbox), HostId(mailbox % hosts));
        }
        let (tracker, block_bytes) = (self.tracker(), self.block_bytes);
        let run = move |cx: Process<Message>| tracker::run(cx, tracker, block_bytes);
        simulation.spawn("tracker", HostId(tracker % hosts), run);
        let mut rng = Rng::new(seed, 0x0073_7761_726d);
        for number in 0..self.peers {
            let start = Time::nanos(rng.below(self.starts.as_nanos()));
            let shared = Arc::clone(&shared);
            let run = move |cx: Process<Message>| peer::run(cx, number, start, shared);
            simulation.spawn("peer", HostId(number % hosts), run);
        }
        outcome
    }
}

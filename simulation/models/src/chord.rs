//! Chord (Stoica et al., 2001), as SimGrid's example of that name has it: the workload of the SimGrid report.
//!
//! Peers have places on a ring of keys; the first peer at or after a key holds it. Each peer keeps its
//! neighbours on the ring and a table of fingers: the peers that are 1, 2, 4, ... keys ahead. Periodically a
//! peer stabilizes (asks its successor for its predecessor), refreshes a finger, checks whether its
//! predecessor is alive, and looks up a key drawn uniformly. Here a peer is one process with one mailbox; it
//! serves other peers while it waits for answers of its own. Unlike the original example, a peer
//! keeps several successors, so that it survives the loss of the first one.
//!
//! Invariant: a peer knows of other peers only what messages have brought; the sorted ring ([`Ring`]) is for
//! warm starts and for checks.

mod message;
mod node;
mod peer;
mod results;
mod ring;
mod settings;

use std::sync::{Arc, Mutex, PoisonError};

use paceline_kernel::{Rng, Time};
use paceline_network::{HostId, Network};
use paceline_processes::{Process, Simulation};
use paceline_results::Output;

pub use message::Message;
pub use ring::Ring;

/// What peers measure.
const LOOKUPS: &str = "lookups";
const ANSWERED: &str = "lookups_answered";
const HOPS: &str = "hops";

/// When peers begin their periodic work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Each peer begins at a time of its own, drawn within the period.
    Spread,
    /// All at once, as in SimGrid's example: this gives the largest rounds.
    Lockstep,
}

/// The Chord model and its parameters. The periods are those of SimGrid's example.
///
/// ```
/// use paceline_processes::Simulation;
/// use paceline_kernel::Time;
/// use paceline_models::chord::Chord;
/// use paceline_network::Constant;
///
/// let chord = Chord { peers: 50, ..Chord::default() };
/// let mut simulation = Simulation::new(Constant::new(0.01), &[(1e9, 1); 10]).until(Time::secs(100));
/// chord.spawn(&mut simulation, 10, 1);
/// let report = simulation.run()?;
/// let [lookups, answered] = ["lookups", "lookups_answered"].map(|name| report.outputs.count(name));
/// assert!(lookups >= 9 * 50 && answered >= lookups - 50);
/// assert!(report.outputs.mean("hops") < Some(6.0), "about half the logarithm of the number of peers");
/// # assert!(report.counts.messages > 0);
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chord {
    /// The number of peers, at least one.
    pub peers: u32,
    /// Bits of a key, at most 62; the ring has at least twice as many keys as peers.
    pub bits: u32,
    /// The period of stabilization.
    pub stabilize: Time,
    /// The period of refreshing a finger.
    pub fix_fingers: Time,
    /// The period of checking the predecessor.
    pub check_predecessor: Time,
    /// The period of lookups.
    pub lookup: Time,
    /// The time limit for answers: after it a lookup is abandoned, and a joining peer tries again.
    pub patience: Time,
    /// When each of these periods begins.
    pub starts: Starts,
    /// Size of a message.
    pub bytes: f64,
    /// The share of peers that are not on the ring at the start but join, one after the other, in the first
    /// half of `churn`.
    pub join: f64,
    /// The share of peers that leave during `churn`, half of them without a message to their neighbours.
    pub leave: f64,
    /// The end of the time in which peers join and leave.
    pub churn: Time,
    /// Work for each message: this many steps of a multiplication chain, about one nanosecond each.
    pub work_ns: u64,
    /// Whether to record every answered lookup ([`Outcome::observed`]).
    pub observe: bool,
}

impl Default for Chord {
    fn default() -> Self {
        Self {
            peers: 1000,
            bits: 32,
            stabilize: Time::secs(20),
            fix_fingers: Time::secs(120),
            check_predecessor: Time::secs(120),
            lookup: Time::secs(10),
            patience: Time::secs(50),
            starts: Starts::Spread,
            bytes: 10.0,
            join: 0.0,
            leave: 0.0,
            churn: Time::ZERO,
            work_ns: 0,
            observe: false,
        }
    }
}

/// A lookup that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observed {
    /// When the lookup began.
    pub begun: Time,
    /// The key that was looked up.
    pub key: u64,
    /// The peer that holds it, according to the answer.
    pub holder: u32,
}

/// Answered lookups that peers have recorded while the simulation ran.
#[derive(Debug, Default)]
pub struct Outcome {
    observed: Mutex<Vec<Observed>>,
}

impl Outcome {
    /// The recorded answered lookups, sorted; empty unless [`Chord::observe`] is set.
    pub fn observed(&self) -> Vec<Observed> {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        observed.sort_unstable();
        observed
    }
}

/// When a peer joins and leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    /// When it joins; `None` if it is on the ring from the start.
    joins: Option<Time>,
    /// When it leaves, and whether it sends its neighbours a message.
    leaves: Option<(Time, bool)>,
}

/// What all peers share; read-only during the run.
#[derive(Debug)]
struct Shared {
    chord: Chord,
    ring: Ring,
    lives: Vec<Life>,
    outcome: Arc<Outcome>,
}

impl Chord {
    /// The peers' places on the ring.
    pub fn ring(&self, seed: u64) -> Ring {
        Ring::draw(self.peers, self.bits, seed)
    }

    /// The peers that remain on the ring after all joins and leaves.
    pub fn survivors(&self, seed: u64) -> Vec<u32> {
        let lives = self.lives(seed);
        (0..self.peers).filter(|peer| lives[*peer as usize].leaves.is_none()).collect()
    }

    fn lives(&self, seed: u64) -> Vec<Life> {
        let mut rng = Rng::new(seed, 0x6c69_7665);
        let churn_ns = self.churn.as_nanos();
        let mut at = |from: u64, to: u64| Time::nanos(from + rng.below((to - from).max(1)));
        let mut life = |peer: u32| {
            let (joins, leaves) = (at(0, churn_ns / 2), at(churn_ns / 2, churn_ns));
            let (one, other, says) = (at(0, 1 << 30), at(0, 1 << 30), at(0, 2));
            let drawn = |time: Time, share: f64| (time.as_nanos() as f64) < share * f64::from(1 << 30);
            // Peer 0 stays: other peers join through it.
            Life {
                joins: (peer > 0 && drawn(one, self.join)).then_some(joins),
                leaves: (peer > 0 && drawn(other, self.leave)).then_some((leaves, says == Time::ZERO)),
            }
        };
        (0..self.peers).map(&mut life).collect()
    }

    /// Adds the peers, dealt round-robin to `hosts` hosts, which measure lookups and how often each was
    /// passed on. Their random choices are drawn from `seed`.
    pub fn spawn<N: Network>(
        &self,
        simulation: &mut Simulation<Message, N>,
        hosts: u32,
        seed: u64,
    ) -> Arc<Outcome> {
        simulation.measure([Output::count(LOOKUPS), Output::count(ANSWERED), Output::tally(HOPS)]);
        let (ring, outcome) = (self.ring(seed), Arc::new(Outcome::default()));
        let lives = self.lives(seed);
        let shared = Shared { chord: self.clone(), ring, lives, outcome: Arc::clone(&outcome) };
        let shared = Arc::new(shared);
        let there: Arc<Vec<u32>> = {
            let first = |peer: &u32| shared.lives[*peer as usize].joins.is_none();
            Arc::new(shared.ring.order().iter().copied().filter(first).collect())
        };
        for peer in 0..self.peers {
            let (shared, there) = (Arc::clone(&shared), Arc::clone(&there));
            let run = move |cx: Process<Message>| peer::run(cx, peer, shared, there);
            simulation.place(u64::from(peer), HostId(peer % hosts));
            simulation.spawn("peer", HostId(peer % hosts), run);
        }
        outcome
    }
}

//! The message rounds of the NSX paper, section IV: does a message that takes a detour come after the direct
//! one?
//!
//! In each round rank 0 sends a 0 to rank 1 and then a 0 to rank 2; rank 1 sends a 1 to rank 2 as soon as it
//! has received; rank 2 receives two messages from any source. What rank 2 receives, two by two in the order
//! of arrival, is to be 0 then 1; every pair that is not is one unit error ([`Outcome::errors`]). The paper
//! counts breaks of the order 0-1-0-1-...; pair by pair no break makes others of the pairs after it.
//! [`Outcome::overtaken`] counts by rounds instead: those whose 1 came before their own 0. Both are the same
//! where rounds do not overlap.
//!
//! The paper does not say what keeps rank 0 from running ahead, so it is a setting, [`Pacing`]. Its 0.86 ms a
//! round at a tick of 60 us says that rounds hardly overlap: packets alone would take some tens of
//! microseconds. Sends that wait until the receiver has received (`MPI_Ssend`) are no choice: rank 1 would
//! send on before rank 0 heard of it, and every round would be an error where every rank has a PCPU.
//!
//! Invariant: messages and their sizes depend on settings alone, CPU times on settings and seed.

use std::collections::VecDeque;

use paceline_kernel::Rng;

use super::mpi::{Arrived, Mpi, Rank, Script, Step, Tag, barrier};
use crate::{ProcessId, Program};

/// When a round may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// As soon as rank 0 likes: a blocking send of a small message is over when the message has left
    /// (`MPI_Send`, eager).
    Free,
    /// When rank 2 has confirmed to rank 0 that it has both messages.
    Closed,
    /// When all three have met at a barrier (`MPI_Barrier`).
    Barrier,
}

impl Pacing {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Free, Self::Closed, Self::Barrier];

    /// As scenarios name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Closed => "closed",
            Self::Barrier => "barrier",
        }
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many rounds.
    pub rounds: u32,
    /// When a round may begin.
    pub pacing: Pacing,
    /// Size of a message: an integer.
    pub bytes: u64,
    /// CPU time of an MPI call besides what the machine charges for packets, on average.
    pub call_ns: u64,
    /// How much of that is random, in thousandths: 500 for 0.5 to 1.5 times the average. At most 1000.
    pub spread_permille: u64,
    /// Each process begins at a random time before this one.
    pub start_ns: u64,
    /// Runs with other seeds draw other times.
    pub seed: u64,
    /// What the MPI library does.
    pub mpi: Mpi,
}

impl Default for Settings {
    /// 1000 closed rounds with 4 bytes a message, as in the paper; 1 us a call, a half of it random, within 1
    /// ms of each other.
    fn default() -> Self {
        Self {
            rounds: 1_000,
            pacing: Pacing::Closed,
            bytes: 4,
            call_ns: 1_000,
            spread_permille: 500,
            start_ns: 1_000_000,
            seed: 1,
            mpi: Mpi::default(),
        }
    }
}

/// What rank 2 has received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Pairs of messages that were not 0 then 1.
    pub errors: u32,
    /// Rounds whose 1 came before their 0.
    pub overtaken: u32,
    /// When each pair was there, in nanoseconds of the machine's time.
    pub ended_ns: Vec<u64>,
}

/// The three processes: `first` and the two after it, to be one in each of three domains.
///
/// ```
/// use paceline_machine::guests::rounds::{Pacing, Settings, outcome, programs};
/// use paceline_machine::ProcessId;
///
/// let settings = Settings { pacing: Pacing::Barrier, seed: 30, ..Settings::default() };
/// let programs = programs(&settings, ProcessId(0));
/// assert_eq!(programs.len(), 3);
/// assert_eq!(outcome(&*programs[2]).map(|outcome| outcome.errors), Some(0));
/// ```
pub fn programs(settings: &Settings, first: ProcessId) -> Vec<Box<dyn Program>> {
    let script = |rank| -> Box<dyn Script> {
        Box::new(Rounds {
            rank,
            settings: *settings,
            rng: Rng::new(settings.seed, rank.into()),
            round: 0,
            pair: None,
            received: [0; 2],
            outcome: Outcome::default(),
        })
    };
    Rank::all(settings.mpi, first, (0..3).map(script))
}

/// What rank 2 has received, where `program` is rank 2 of the message rounds.
pub fn outcome(program: &dyn Program) -> Option<&Outcome> {
    Rank::script::<Rounds>(program).filter(|script| script.rank == 2).map(|script| &script.outcome)
}

#[derive(Debug)]
struct Rounds {
    rank: u32,
    settings: Settings,
    rng: Rng,
    /// Rounds that it has begun.
    round: u32,
    /// The first message of a pair that rank 2 has received, before the second.
    pair: Option<u32>,
    /// Messages of rank 0 and of rank 1 that rank 2 has received.
    received: [u32; 2],
    outcome: Outcome,
}

impl Rounds {
    /// An MPI call: its CPU time, and what it does.
    fn call(&mut self, steps: &mut VecDeque<Step>, step: Step) {
        let Settings { call_ns, spread_permille, .. } = self.settings;
        let spread_ps = call_ns.saturating_mul(spread_permille.min(1_000));
        let least_ps = call_ns.saturating_mul(1_000) - spread_ps;
        let ps = least_ps.saturating_add(self.rng.below(spread_ps.saturating_mul(2).saturating_add(1)));
        steps.extend([Step::Compute { ps }, step]);
    }

    fn send(&mut self, steps: &mut VecDeque<Step>, to: u32) {
        self.call(steps, Step::Send { to, tag: Tag::Data, bytes: self.settings.bytes });
    }

    fn receive(&mut self, steps: &mut VecDeque<Step>) {
        self.call(steps, Step::Receive { from: None, tag: Tag::Data, bytes: self.settings.bytes });
    }

    /// What ends a round for this rank.
    fn close(&self, steps: &mut VecDeque<Step>) {
        let tag = Tag::Closing;
        match (self.settings.pacing, self.rank) {
            (Pacing::Closed, 0) => steps.push_back(Step::Receive { from: Some(2), tag, bytes: 0 }),
            (Pacing::Closed, 2) => steps.push_back(Step::Send { to: 0, tag, bytes: 0 }),
            (Pacing::Barrier, rank) => barrier(steps, rank, 3),
            _ => {}
        }
    }
}

impl Script for Rounds {
    fn refill(&mut self, steps: &mut VecDeque<Step>) {
        if self.round == self.settings.rounds {
            return;
        }
        if self.round == 0 {
            steps.push_back(Step::Sleep { ns: self.rng.below(self.settings.start_ns) });
        }
        self.round += 1;
        match self.rank {
            0 => {
                self.send(steps, 1);
                self.send(steps, 2);
            }
            1 => {
                self.receive(steps);
                self.send(steps, 2);
            }
            _ => {
                self.receive(steps);
                self.receive(steps);
            }
        }
        self.close(steps);
    }

    fn received(&mut self, message: Arrived, now_ns: u64) {
        if self.rank != 2 || message.tag != Tag::Data {
            return;
        }
        // Rank 0 sends zeros, rank 1 sends ones.
        let value = message.from;
        // No more zeros than ones so far: the zero of this one's round has not come.
        self.outcome.overtaken += u32::from(value == 1 && self.received[0] <= self.received[1]);
        self.received[value as usize] += 1;
        match self.pair.take() {
            None => self.pair = Some(value),
            Some(first) => {
                self.outcome.errors += u32::from([first, value] != [0, 1]);
                self.outcome.ended_ns.push(now_ns);
            }
        }
    }
}

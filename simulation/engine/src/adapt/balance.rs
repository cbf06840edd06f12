//! LPs move between federates at the pauses of a run.
//!
//! A federate's load is the time that its events take: turns of its LPs are timed. A look is cheap where
//! loads are even; otherwise the federates are taken apart, the LPs measured ([`Activity`]), and dealt anew
//! where [`improve`] promises at least [`LEAST_GAIN`]. What messages between federates and rollbacks cost
//! differs from model to model: under [`Balance::Load`] every move is a trial, which the next look ends. If
//! the run has not become faster, all LPs go back to where they were.
//!
//! Where a run has several processes, each says how its federates stand ([`Standing`]), and what its LPs have
//! done ([`Measured`]); all decide on what all have said.
//!
//! Invariants: a move leaves the number of federates as it is, and which process has which; all processes
//! come to the same partition; the result of a run does not depend on anything in here.

mod report;
mod standing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{
    Activity, Balance, Clock, Federate, Model, Part, Partition, Rng, TieBreak, imbalance, improve, remote,
    seat, sums,
};
pub use report::Balancing;
pub(crate) use standing::{Crews, Measured, Standing};
use standing::{costed, joined, lately};

/// From the start of a run to the first look, and from a look that moved LPs to the next one.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Between two looks while nothing moves, at most: the time doubles up to this.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// From a look to the next one, at least so many times what the look took: looks cost 2 % of the time at
/// most.
const REST_BY_LOOK: u32 = 50;
/// What a move must make a run faster by to stay, as a share of its rate before.
const LEAST_FASTER: f64 = 0.02;
/// After a move that did not stay, the next look comes after so many times [`FIRST_LOOK`]; twice as many
/// after each other one.
const REST_AFTER_FAILURE: u32 = 32;
/// The share of the time that a move must promise to save.
const LEAST_GAIN: f64 = 0.05;
/// What a message to another federate costs more than one within, in nanoseconds. An estimate; `cargo bench
/// -p paceline-engine --bench balance` shows the gain.
const REMOTE_NS: f64 = 80.0;
/// What a message to another process costs more than one to another federate: it is written, sent and read.
/// An estimate too.
const APART_NS: f64 = 200.0;

/// The result of a look at the federates.
pub(crate) enum Glance {
    /// Nothing is to move.
    Even,
    /// The LPs are to be measured.
    Uneven,
    /// They are to be where they were before the last move.
    GoBack(Partition),
}

/// A partition that is worth moving LPs for.
pub(crate) struct Plan {
    pub(crate) next: Partition,
    /// As it is now.
    before: Partition,
    moved: u64,
    migrated: u64,
    imbalance: f64,
    shares: Shares,
    shares_before: Shares,
}

/// Of all messages, the share between federates and that between processes.
#[derive(Clone, Copy)]
struct Shares {
    remote: f64,
    apart: f64,
}

/// A move to be judged.
struct Trial {
    before: Partition,
    /// Events a second then.
    rate: f64,
}

/// Looks, and says where LPs are to go.
pub(crate) struct Balancer {
    balance: Balance,
    ties: TieBreak,
    /// Moves LPs at random instead: for tests.
    shuffle: Option<Rng>,
    activity: Activity,
    /// Events of each federate since the last move, up to when the federates were last dealt.
    banked: Vec<u64>,
    /// The events of each federate since the last move: at the last look, and when LPs were last measured.
    at_look: Vec<u64>,
    at_measure: Vec<u64>,
    measured: Instant,
    clock: Clock,
    pause: Duration,
    /// When the federates went on after the last look, and their events then.
    resumed: Instant,
    resumed_at: u64,
    /// The move to be judged at the next look.
    trial: Option<Trial>,
    /// Moves that were taken back since the last one that stayed.
    failures: u32,
    /// Events a second from the look before to the last one.
    rate: f64,
    imbalance_before: Option<f64>,
    came_to: Balancing,
}

impl Balancer {
    /// For a run with this many federates, of LPs that have done `activity`.
    pub(crate) fn new(
        balance: Balance,
        ties: TieBreak,
        shuffle: Option<u64>,
        activity: Activity,
        federates: u32,
    ) -> Self {
        let zeros = vec![0; federates as usize];
        Self {
            balance,
            ties,
            shuffle: shuffle.map(|seed| Rng::new(seed, 0)),
            activity,
            banked: zeros.clone(),
            at_look: zeros.clone(),
            at_measure: zeros,
            measured: Instant::now(),
            clock: clock(),
            pause: FIRST_LOOK,
            resumed: Instant::now(),
            resumed_at: 0,
            trial: None,
            failures: 0,
            rate: 0.0,
            imbalance_before: None,
            came_to: Balancing::NONE,
        }
    }

    /// From the start of the run to the first look.
    pub(crate) const fn first_look() -> Duration {
        FIRST_LOOK
    }

    /// Events of each federate since the last move.
    fn events<M: Model>(&self, federates: &[Federate<M>]) -> Vec<u64> {
        self.banked.iter().zip(federates).map(|(banked, federate)| banked + federate.events()).collect()
    }

    /// Federates have been dealt: their LPs are timed from here on.
    pub(crate) fn measure<M: Model>(&self, federates: &mut [Federate<M>]) {
        federates.iter_mut().for_each(|federate| federate.measure(Arc::clone(&self.clock)));
    }

    /// Federates are about to be taken apart, and their counters with them.
    pub(crate) fn bank<M: Model>(&mut self, federates: &[Federate<M>]) {
        self.banked = self.events(federates);
        for (lp, cost) in federates.iter().flat_map(Federate::costs) {
            self.activity.timed(lp, cost);
        }
    }

    /// The LPs have been dealt to so many federates, other ones than before.
    pub(crate) fn dealt_anew(&mut self, federates: u32) {
        for counts in [&mut self.banked, &mut self.at_look, &mut self.at_measure] {
            *counts = vec![0; federates as usize];
        }
        (self.measured, self.resumed, self.resumed_at) = (Instant::now(), Instant::now(), 0);
        self.trial = None;
    }

    /// How the federates of this process stand, which `threads` threads run.
    pub(crate) fn stand<M: Model>(&mut self, federates: &[Federate<M>], threads: u32) -> Standing {
        let events = self.events(federates);
        let fresh = events.iter().sum::<u64>().saturating_sub(self.resumed_at);
        let since_look = since(&events, &self.at_look);
        self.at_look = events;
        Standing {
            threads,
            fresh,
            fresh_ns: nanos(self.resumed),
            measured_ns: nanos(self.measured),
            federates: lately(&since_look, federates),
        }
    }

    /// Whether the look after a move takes it back if the run has not become faster.
    fn judges_moves(&self) -> bool {
        self.shuffle.is_none() && self.balance == Balance::Load
    }

    /// A look at the federates of all processes, as they stand.
    pub(crate) fn glance(&mut self, all: &[Standing], crews: &Crews) -> Glance {
        let rate = |standing: &Standing| standing.fresh as f64 / (standing.fresh_ns.max(1) as f64 / 1e9);
        self.rate = all.iter().map(rate).sum();
        self.came_to.looks += 1;
        // Even loads say nothing of messages: LPs are measured at every look.
        if !self.judges_moves() {
            return Glance::Uneven;
        }
        if let Some(trial) = self.trial.take() {
            // A move is kept only if the run got faster: estimates of loads leave out what caches and
            // messages cost.
            if self.rate < trial.rate * (1.0 + LEAST_FASTER) {
                // `stood_still` limits it to LAST_LOOK; ten doublings go beyond that and do not overflow.
                self.pause = FIRST_LOOK * (REST_AFTER_FAILURE << self.failures.min(10));
                self.failures += 1;
                self.came_to.undone += 1;
                return Glance::GoBack(trial.before);
            }
            self.failures = 0;
        }
        let federates =
            joined(all.iter().flat_map(|standing| standing.federates.iter().copied()), |lately| lately.id);
        let loads = costed(&federates);
        let (now, sum) = (crews.span(&loads), loads.iter().sum::<u64>());
        // Even with perfectly even loads there would be too little to gain: LPs are not measured for that.
        if share_saved(now, sum.div_ceil(crews.threads())) < LEAST_GAIN {
            self.rest();
            return Glance::Even;
        }
        // A run that has just begun is slower than it will be: there is no rate to compare a move with.
        if self.came_to.looks == 1 { Glance::Even } else { Glance::Uneven }
    }

    /// Measures the LPs of this process, which were taken apart for it.
    pub(crate) fn measure_lps<M: Model>(
        &mut self,
        part: &Part<M>,
        partition: &Partition,
        owns: impl Fn(u32) -> bool,
    ) -> Measured {
        let done = (0..).zip(since(&self.banked, &self.at_measure)).filter(|(id, _)| owns(*id)).collect();
        self.at_measure.clone_from(&self.banked);
        self.measured = Instant::now();
        Measured { done, sample: self.activity.sample(part, partition, self.ties) }
    }

    /// Finds a better partition by what the LPs of all processes have done, if there is one that is worth it.
    pub(crate) fn plan(
        &mut self,
        standings: &[Standing],
        all: Vec<Measured>,
        partition: &Partition,
        crews: &Crews,
    ) -> Option<Plan> {
        let (owner, federates) = (partition.owners(), partition.federates());
        let done = joined(all.iter().flat_map(|measured| measured.done.iter().copied()), |(id, _)| *id);
        let done: Vec<u64> = done.into_iter().map(|(_, events)| events).collect();
        let samples: Vec<_> = all.into_iter().map(|measured| measured.sample).collect();
        self.activity.look(&samples, partition, &done);
        let activity = &self.activity;
        let (loads, edges) = (activity.loads(), activity.edges());
        let better = match &mut self.shuffle {
            Some(rng) => shuffled(rng, owner.len(), federates),
            None => {
                let better = improve(self.balance, &owner, federates, loads, edges);
                // Within one process it does not matter which thread has which federate; between processes,
                // messages take longer. Only where messages count have they been measured for that.
                let gathers = self.balance == Balance::LoadAndCommunication && crews.are_several();
                if gathers { seat(&better, edges, &crews.owners) } else { better }
            }
        };
        let measure = |owner: &[u32]| {
            let messages = activity.messages().max(1) as f64;
            let apart = remote(&crews.processes(owner), edges) as f64 / messages;
            let shares = Shares { remote: remote(owner, edges) as f64 / messages, apart };
            (crews.span(&sums(owner, federates, loads)), shares)
        };
        let ((span_before, shares_before), (span_after, shares)) = (measure(&owner), measure(&better));
        // What is saved, as a share of the time since LPs were last measured: by the thread with the most to
        // do, which has taken all of it, less what messages would cost more then.
        let before_ns =
            standings.iter().map(|standing| standing.measured_ns).max().unwrap_or(0).max(1) as f64;
        // Taken as one message an event, and as many for each thread.
        let messages = done.iter().sum::<u64>() as f64 / crews.threads() as f64;
        let more_ns = REMOTE_NS * (shares.remote - shares_before.remote)
            + APART_NS * (shares.apart - shares_before.apart);
        let gain = 1.0 - span_after as f64 / span_before.max(1) as f64 - more_ns * messages / before_ns;
        let differs = |(before, after): &(u32, u32)| before != after;
        let moved = owner.iter().copied().zip(better.iter().copied()).filter(differs).count();
        let processes = crews.processes(&owner).into_iter().zip(crews.processes(&better));
        self.came_to.remote_before.get_or_insert(shares_before.remote);
        self.came_to.apart_before.get_or_insert(shares_before.apart);
        // Below this, taking federates apart costs more than the better partition brings before the next
        // look.
        if moved == 0 || (self.shuffle.is_none() && gain < LEAST_GAIN) {
            self.stay(shares_before);
            return None;
        }
        Some(Plan {
            next: Partition::table(&better),
            before: partition.clone(),
            moved: moved as u64,
            migrated: processes.filter(differs).count() as u64,
            imbalance: imbalance(&sums(&owner, federates, loads)),
            shares,
            shares_before,
        })
    }

    /// The partition that was planned cannot be: a federate's states would not fit its memory budget.
    pub(crate) fn refuse(&mut self, plan: &Plan) {
        self.stay(plan.shares_before);
    }

    fn stay(&mut self, shares: Shares) {
        (self.came_to.remote_after, self.came_to.apart_after) = (Some(shares.remote), Some(shares.apart));
        self.rest();
    }

    /// LPs move as was planned. Gives the new partition.
    pub(crate) fn accept(&mut self, plan: Plan) -> Partition {
        let Plan { next, before, moved, migrated, imbalance, shares, .. } = plan;
        (self.came_to.remote_after, self.came_to.apart_after) = (Some(shares.remote), Some(shares.apart));
        self.came_to.moves += 1;
        self.came_to.moved += moved;
        self.came_to.migrated += migrated;
        self.imbalance_before.get_or_insert(imbalance);
        self.count_anew();
        self.pause = FIRST_LOOK;
        self.trial = self.judges_moves().then_some(Trial { before, rate: self.rate });
        next
    }

    /// LPs have moved: what federates have done before does not count.
    pub(crate) fn count_anew(&mut self) {
        for counts in [&mut self.banked, &mut self.at_look, &mut self.at_measure] {
            counts.fill(0);
        }
        self.measured = Instant::now();
    }

    /// Nothing moves: the next look is later.
    fn rest(&mut self) {
        self.pause = (self.pause * 2).min(LAST_LOOK);
    }

    /// From this look to the next one.
    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// The federates go on after the run has stood still this long for a look.
    pub(crate) fn stood_still<M: Model>(&mut self, wall: Duration, federates: &[Federate<M>]) {
        self.came_to.wall += wall;
        // A move is judged soon, whatever its look took. Tests that move at random are to move often.
        if self.trial.is_none() && self.shuffle.is_none() {
            self.pause = self.pause.max(wall.saturating_mul(REST_BY_LOOK));
        }
        self.pause = self.pause.min(LAST_LOOK);
        (self.resumed, self.resumed_at) = (Instant::now(), self.events(federates).iter().sum());
    }

    /// The loads of the federates of this process since the last move.
    pub(crate) fn loads<M: Model>(&self, federates: &[Federate<M>]) -> Vec<u64> {
        costed(&lately(&self.events(federates), federates))
    }

    /// What it came to, when the run is over and the federates of all processes have these loads.
    pub(crate) fn finish(&self, loads: &[u64]) -> Balancing {
        let now = imbalance(loads);
        let imbalance_before = self.imbalance_before.unwrap_or(now);
        Balancing { imbalance_before, imbalance_after: now, ..self.came_to }
    }
}

/// The host's clock: nanoseconds from now.
fn clock() -> Clock {
    let start = Instant::now();
    Arc::new(move || start.elapsed().as_nanos() as u64)
}

fn nanos(then: Instant) -> u64 {
    then.elapsed().as_nanos() as u64
}

fn since(now: &[u64], before: &[u64]) -> Vec<u64> {
    now.iter().zip(before).map(|(now, before)| now - before).collect()
}

fn share_saved(before: u64, after: u64) -> f64 {
    1.0 - after as f64 / before.max(1) as f64
}

/// Any owner for any LP, but every federate has one.
fn shuffled(rng: &mut Rng, lps: usize, federates: u32) -> Vec<u32> {
    let mut owner: Vec<u32> = (0..federates).collect();
    // Each federate has an LP of its own first: none may be empty.
    owner.extend((federates as usize..lps).map(|_| rng.below(u64::from(federates)) as u32));
    for left in (1..owner.len()).rev() {
        owner.swap(left, rng.below(left as u64 + 1) as usize);
    }
    owner
}

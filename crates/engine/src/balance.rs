//! LPs move between federates at the pauses of a run.
//!
//! A federate's load is the time that its events take: turns of its LPs are timed. A look is cheap where loads are even;
//! otherwise the federates are taken apart, the LPs measured ([`Activity`]), and dealt anew where [`improve`] promises at
//! least [`LEAST_GAIN`]. What messages between federates and rollbacks cost differs from model to model: every move is a
//! trial, which the next look ends. If the run has not become faster, all LPs go back to where they were.
//!
//! Invariants: a move leaves the number of federates as it is; the result of a run does not depend on anything in here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{
    Activity, Balance, Clock, Cost, EventQueue, Federate, Model, Partition, Rng, TieBreak, World, imbalance,
    improve, remote, span, sums,
};

/// From the start of a run to the first look, and from a look that moved LPs to the next one.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Between two looks while nothing moves, at most: the time doubles up to this.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// From a look to the next one, at least so many times what the look took: looks cost 2 % of the time at most.
const REST_BY_LOOK: u32 = 50;
/// What a move must make a run faster by to stay, as a share of its rate before.
const LEAST_FASTER: f64 = 0.02;
/// After a move that did not stay, the next look comes after so many times [`FIRST_LOOK`]; twice as many after each other one.
const REST_AFTER_FAILURE: u32 = 32;
/// What counts as the cost of an event where none was timed.
const UNTIMED_NS: u64 = 1;
/// The share of the time that a move must promise to save.
const LEAST_GAIN: f64 = 0.05;
/// What a message to another federate costs more than one within, in nanoseconds. An estimate; `cargo bench -p
/// paceline-engine --bench balance` shows the gain.
const REMOTE_NS: f64 = 80.0;

/// What moving LPs came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balancing {
    /// Looks taken, cheap ones too.
    pub looks: u64,
    /// Looks after which LPs moved.
    pub moves: u64,
    /// Moves that did not make the run faster and were taken back.
    pub undone: u64,
    /// LPs moved, each as often as it was, apart from going back.
    pub moved: u64,
    /// How many times the mean the largest federate's load was before the first move.
    pub imbalance_before: f64,
    /// The same since the last move.
    pub imbalance_after: f64,
    /// Of the messages seen at the first look, the share between federates; none where messages were not looked at.
    pub remote_before: Option<f64>,
    /// The same after the last look, by what had been seen until then.
    pub remote_after: Option<f64>,
    /// Time that the run stood still for looks and moves.
    pub wall: Duration,
}

/// The result of a look at the federates.
pub(crate) enum Glance {
    /// Nothing is to move.
    Even,
    /// The LPs are to be measured.
    Uneven,
    /// They are to be where they were before the last move.
    GoBack(Partition),
}

/// A move to be judged.
struct Trial {
    /// Where LPs were before.
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
    /// When LPs were last measured.
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
        let came_to = Balancing {
            looks: 0,
            moves: 0,
            undone: 0,
            moved: 0,
            imbalance_before: 1.0,
            imbalance_after: 1.0,
            remote_before: None,
            remote_after: None,
            wall: Duration::ZERO,
        };
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
            came_to,
        }
    }

    /// From the start of the run to the first look.
    pub(crate) const fn first_look() -> Duration {
        FIRST_LOOK
    }

    /// Events of each federate since the last move.
    fn events<M: Model, Q: EventQueue<M::Event>>(&self, federates: &[Federate<M, Q>]) -> Vec<u64> {
        self.banked.iter().zip(federates).map(|(banked, federate)| banked + federate.events()).collect()
    }

    /// Federates have been dealt: their LPs are timed from here on.
    pub(crate) fn measure<M: Model, Q: EventQueue<M::Event>>(&self, federates: &mut [Federate<M, Q>]) {
        federates.iter_mut().for_each(|federate| federate.measure(Arc::clone(&self.clock)));
    }

    /// Federates are about to be taken apart, and their counters with them.
    pub(crate) fn bank<M: Model, Q: EventQueue<M::Event>>(&mut self, federates: &[Federate<M, Q>]) {
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

    /// A look at the federates, which `threads` threads run.
    pub(crate) fn glance<M: Model, Q: EventQueue<M::Event>>(
        &mut self,
        federates: &[Federate<M, Q>],
        threads: u32,
    ) -> Glance {
        let events = self.events(federates);
        let fresh = events.iter().sum::<u64>().saturating_sub(self.resumed_at);
        self.rate = fresh as f64 / self.resumed.elapsed().as_secs_f64().max(1e-9);
        let lately = since(&events, &self.at_look);
        self.at_look = events;
        self.came_to.looks += 1;
        if self.shuffle.is_some() || self.balance == Balance::LoadAndCommunication {
            return Glance::Uneven;
        }
        if let Some(trial) = self.trial.take() {
            if self.rate < trial.rate * (1.0 + LEAST_FASTER) {
                self.pause = FIRST_LOOK * (REST_AFTER_FAILURE << self.failures.min(10));
                self.failures += 1;
                self.came_to.undone += 1;
                return Glance::GoBack(trial.before);
            }
            self.failures = 0;
        }
        let loads = costed(&lately, federates);
        let (now, sum) = (span(&loads, threads), loads.iter().sum::<u64>());
        if share_saved(now, sum.div_ceil(u64::from(threads.max(1)))) < LEAST_GAIN {
            self.rest();
            return Glance::Even;
        }
        // A run that has just begun is slower than it will be: there is no rate to compare a move with.
        if self.came_to.looks == 1 { Glance::Even } else { Glance::Uneven }
    }

    /// Measures the LPs, which were taken apart for it. Gives out a better partition, if there is one that is worth it.
    pub(crate) fn plan<M: Model>(
        &mut self,
        world: &World<M>,
        partition: &Partition,
        threads: u32,
        fits: impl FnOnce(&Partition) -> bool,
    ) -> Option<Partition> {
        let (owner, federates) = (partition.owners(), partition.federates());
        let done = since(&self.banked, &self.at_measure);
        self.activity.look(world, partition, &done, self.ties);
        self.at_measure.clone_from(&self.banked);
        let activity = &self.activity;
        let (loads, edges) = (activity.loads(), activity.edges());
        let better = match &mut self.shuffle {
            Some(rng) => shuffled(rng, owner.len(), federates),
            None => improve(self.balance, &owner, federates, loads, edges),
        };
        let measure = |owner: &[u32]| {
            let messages = activity.messages().max(1) as f64;
            (span(&sums(owner, federates, loads), threads), remote(owner, edges) as f64 / messages)
        };
        let ((span_before, remote_before), (span_after, remote_after)) = (measure(&owner), measure(&better));
        // The thread with the most to do has taken all of the time.
        let before_ns = self.measured.elapsed().as_nanos().max(1) as f64;
        self.measured = Instant::now();
        let messages = done.iter().sum::<u64>() as f64 / f64::from(threads.max(1));
        let remote_ns = REMOTE_NS * (remote_after - remote_before) * messages;
        let gain = 1.0 - span_after as f64 / span_before.max(1) as f64 - remote_ns / before_ns;
        self.came_to.remote_before.get_or_insert(remote_before);
        let next = Partition::table(&better);
        let moved = owner.iter().zip(&better).filter(|(before, after)| before != after).count();
        if moved == 0 || (self.shuffle.is_none() && gain < LEAST_GAIN) || !fits(&next) {
            self.came_to.remote_after = Some(remote_before);
            self.rest();
            return None;
        }
        self.came_to.remote_after = Some(remote_after);
        self.came_to.moves += 1;
        self.came_to.moved += moved as u64;
        self.imbalance_before.get_or_insert(imbalance(&sums(&owner, federates, loads)));
        self.count_anew();
        self.pause = FIRST_LOOK;
        self.trial = Some(Trial { before: partition.clone(), rate: self.rate });
        Some(next)
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
    pub(crate) fn stood_still<M: Model, Q: EventQueue<M::Event>>(
        &mut self,
        wall: Duration,
        federates: &[Federate<M, Q>],
    ) {
        self.came_to.wall += wall;
        if self.trial.is_none() {
            self.pause = self.pause.max(wall.saturating_mul(REST_BY_LOOK));
        }
        self.pause = self.pause.min(LAST_LOOK);
        (self.resumed, self.resumed_at) = (Instant::now(), self.events(federates).iter().sum());
    }

    /// What it came to, when the run is over.
    pub(crate) fn finish<M: Model, Q: EventQueue<M::Event>>(
        &self,
        federates: &[Federate<M, Q>],
    ) -> Balancing {
        let now = imbalance(&costed(&self.events(federates), federates));
        let imbalance_before = self.imbalance_before.unwrap_or(now);
        Balancing { imbalance_before, imbalance_after: now, ..self.came_to }
    }
}

/// The host's clock: nanoseconds from now.
fn clock() -> Clock {
    let start = Instant::now();
    Arc::new(move || start.elapsed().as_nanos() as u64)
}

/// The time that this many events of each federate take, in nanoseconds.
fn costed<M: Model, Q: EventQueue<M::Event>>(events: &[u64], federates: &[Federate<M, Q>]) -> Vec<u64> {
    let mut all = Cost::default();
    federates.iter().for_each(|federate| all.add(federate.cost()));
    let mean_ns = all.mean_ns().unwrap_or(UNTIMED_NS);
    let cost = |federate: &Federate<M, Q>| federate.cost().mean_ns().unwrap_or(mean_ns);
    events.iter().zip(federates).map(|(events, federate)| events * cost(federate)).collect()
}

fn since(now: &[u64], before: &[u64]) -> Vec<u64> {
    now.iter().zip(before).map(|(now, before)| now - before).collect()
}

/// The share of `before` that `after` saves.
fn share_saved(before: u64, after: u64) -> f64 {
    1.0 - after as f64 / before.max(1) as f64
}

/// Any owner for any LP, but every federate has one.
fn shuffled(rng: &mut Rng, lps: usize, federates: u32) -> Vec<u32> {
    let mut owner: Vec<u32> = (0..federates).collect();
    owner.extend((federates as usize..lps).map(|_| rng.below(u64::from(federates)) as u32));
    for left in (1..owner.len()).rev() {
        owner.swap(left, rng.below(left as u64 + 1) as usize);
    }
    owner
}

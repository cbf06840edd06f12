//! Whether a round runs on many threads: only where that pays.
//!
//! Reference 3 (section 5) takes a threshold of processes a round: a fixed one, or one that is moved after every five rounds.
//! What decides is time, not number: [`Rounds::Auto`] compares what a round of about this size has taken on one thread and
//! on many. Nothing of the result depends on it.
//!
//! Invariants: a round of one process runs on one thread; no clock is read here, whoever runs a round says how long it took.

/// When a round runs on many threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounds {
    /// Where measured times say that it is faster.
    #[default]
    Auto,
    /// With this many processes or more.
    Static(u32),
    /// With as many as a threshold says that is moved after every five rounds (reference 3, section 5.2).
    Adaptive5,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How many rounds ran in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCounts {
    /// Rounds on many threads.
    pub parallel_rounds: u64,
    /// Processes in them.
    pub parallel_steps: u64,
    /// Processes in rounds of two or more, wherever they ran: those that could run beside others.
    pub shared_steps: u64,
    /// The most processes in a round.
    pub largest: u64,
}

/// Sizes of rounds are told apart by powers of two.
const CLASSES: usize = 33;
/// A round of a class is timed if it is the so-manieth; larger ones always.
const TIMED: u32 = 64;
const LARGE: usize = 32;
/// What a round must take on one thread before it is tried on many.
const WORTH_NS: f64 = 8_000.0;
/// The weight of the latest measurement.
const LATEST: f64 = 0.25;
/// Rounds until the slower way is tried again, at first and at most.
const AGAIN: u32 = 64;
const AGAIN_MOST: u32 = 16_384;
/// The faster way must be faster by this.
const BETTER: f64 = 0.95;
/// Of the reference's rule: rounds between two moves of the threshold, where it begins.
const FIVE: u32 = 5;
const FIRST_THRESHOLD: u32 = 33;

/// What is known of rounds of a size.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Nanoseconds a process, on one thread and on many; zero where not measured.
    one_ns: f64,
    many_ns: f64,
    rounds: u32,
    /// When the other way is tried again, and after how many rounds the next time.
    again: u32,
    interval: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Decider {
    rounds: Rounds,
    classes: Vec<Class>,
    threshold: u32,
    five: (u32, f64, f64),
}

/// How a round is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    pub(crate) parallel: bool,
    pub(crate) timed: bool,
}

impl Decider {
    pub(crate) fn new(rounds: Rounds) -> Self {
        Self {
            rounds,
            classes: vec![Class::default(); CLASSES],
            threshold: FIRST_THRESHOLD,
            five: (0, 0.0, 0.0),
        }
    }

    fn class(&mut self, size: usize) -> &mut Class {
        &mut self.classes[size.ilog2() as usize]
    }

    /// How a round of `size` processes, at least one, is to run.
    pub(crate) fn decide(&mut self, size: usize) -> How {
        let threshold = self.threshold;
        let many = size > 1;
        match self.rounds {
            Rounds::Never => How { parallel: false, timed: false },
            Rounds::Always => How { parallel: many, timed: false },
            Rounds::Static(least) => How { parallel: many && size >= least as usize, timed: false },
            Rounds::Adaptive5 => How { parallel: many && size >= threshold as usize, timed: many },
            Rounds::Auto if !many => How { parallel: false, timed: false },
            Rounds::Auto => self.class(size).decide(size),
        }
    }

    /// A round of `size` processes has taken so long.
    pub(crate) fn took(&mut self, size: usize, parallel: bool, ns: f64) {
        let each = ns / size as f64;
        match self.rounds {
            Rounds::Auto => self.class(size).took(parallel, each),
            Rounds::Adaptive5 => {
                let (rounds, one, many) = &mut self.five;
                *rounds += 1;
                *(if parallel { &mut *many } else { &mut *one }) = each;
                if *rounds == FIVE {
                    *rounds = 0;
                    let slower = *one > *many;
                    self.threshold =
                        if slower { self.threshold.saturating_sub(1).max(2) } else { self.threshold + 1 };
                }
            }
            _ => {}
        }
    }
}

impl Class {
    fn decide(&mut self, size: usize) -> How {
        let Self { one_ns, many_ns, .. } = *self;
        self.rounds = self.rounds.wrapping_add(1);
        let timed = size >= LARGE || self.rounds % TIMED == 1;
        if one_ns == 0.0 {
            return How { parallel: false, timed: true };
        }
        let worth = one_ns * size as f64 >= WORTH_NS;
        if many_ns == 0.0 {
            return How { parallel: worth, timed: timed || worth };
        }
        let parallel = many_ns < one_ns * BETTER && worth;
        self.again = self.again.saturating_sub(1);
        if self.again == 0 && worth {
            self.interval = (self.interval * 2).clamp(AGAIN, AGAIN_MOST);
            self.again = self.interval;
            return How { parallel: !parallel, timed: true };
        }
        How { parallel, timed: timed || parallel }
    }

    fn took(&mut self, parallel: bool, each_ns: f64) {
        let before = self.many_ns < self.one_ns * BETTER;
        let mean = if parallel { &mut self.many_ns } else { &mut self.one_ns };
        *mean = if *mean == 0.0 { each_ns } else { *mean + LATEST * (each_ns - *mean) };
        if self.many_ns > 0.0 && before != (self.many_ns < self.one_ns * BETTER) {
            // It has changed: look soon whether that is true.
            self.interval = AGAIN;
            self.again = AGAIN;
        }
    }
}

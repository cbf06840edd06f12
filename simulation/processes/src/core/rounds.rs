//! Whether a round runs on many threads: only where that pays.
//!
//! A threshold of processes a round decides: a fixed one, or one that is moved after every five rounds
//! (SimGrid report, section 5). What decides is time, not number: [`Rounds::Auto`] compares what a round of
//! about this size has taken on one thread and on many. Nothing of the result depends on it.
//!
//! Invariants: a round of one process runs on one thread; no clock is read here: the front end reports how
//! long a round took.

/// When a round runs on many threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounds {
    /// Where measured times say that it is faster.
    #[default]
    Auto,
    /// With this many processes or more.
    Static(u32),
    /// With as many as a threshold says that is moved after every five rounds (SimGrid report, section 5.2).
    Adaptive5,
    /// Every round of two processes or more.
    Always,
    /// No round: all run on the coordinating thread.
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

/// Sizes of rounds are classed by powers of two, and rounds of a size by the answer to their first process:
/// one that got a message has something else to do than one that has slept.
const SIZES: usize = 33;
/// Kinds of answers to a process ([`Core::kind`](super::Core::kind)).
pub const KINDS: usize = 4;
/// One in so many rounds of a class is timed; larger rounds always.
const TIMED: u32 = 64;
const LARGE: usize = 32;
/// What a round must take on one thread before it is tried on many.
const WORTH_NS: f64 = 8_000.0;
/// What a round must take, by what processes take in rounds of other sizes, to run on many threads the first
/// time.
const PLAIN_NS: f64 = 100_000.0;
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

/// Decides round by round.
///
/// ```
/// use paceline_processes::core::{Decider, Rounds};
/// let mut decider = Decider::new(Rounds::Auto);
/// assert!(!decider.decide(100, 0).parallel, "nothing is known of such rounds");
/// decider.took(100, 0, false, 2e6);
/// assert!(decider.decide(100, 0).parallel, "they take long enough to try");
/// ```
#[derive(Clone, Debug)]
pub struct Decider {
    rounds: Rounds,
    classes: Vec<Class>,
    /// By kind: nanoseconds a process on one thread, in rounds of any size, lately.
    each_ns: [f64; KINDS],
    threshold: u32,
    five: (u32, f64, f64),
}

/// How a round is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// On many threads.
    pub parallel: bool,
    /// With its time taken, for [`Decider::took`].
    pub timed: bool,
}

impl Decider {
    /// Nothing is known yet.
    pub fn new(rounds: Rounds) -> Self {
        Self {
            rounds,
            classes: vec![Class::default(); SIZES * KINDS],
            each_ns: [0.0; KINDS],
            threshold: FIRST_THRESHOLD,
            five: (0, 0.0, 0.0),
        }
    }

    fn class(&mut self, size: usize, kind: usize) -> &mut Class {
        &mut self.classes[size.ilog2() as usize * KINDS + kind]
    }

    /// How a round of `size` processes, at least one, is to run, where the first gets an answer of this
    /// `kind`.
    pub fn decide(&mut self, size: usize, kind: usize) -> How {
        let threshold = self.threshold;
        let many = size > 1;
        match self.rounds {
            Rounds::Never => How { parallel: false, timed: false },
            Rounds::Always => How { parallel: many, timed: false },
            Rounds::Static(least) => How { parallel: many && size >= least as usize, timed: false },
            Rounds::Adaptive5 => How { parallel: many && size >= threshold as usize, timed: many },
            Rounds::Auto if !many => How { parallel: false, timed: false },
            Rounds::Auto => {
                let each_ns = self.each_ns[kind];
                let class = self.class(size, kind);
                if class.one_ns == 0.0 && each_ns * size as f64 >= PLAIN_NS {
                    // As much as others have taken is worth it without a trial.
                    class.one_ns = each_ns;
                }
                class.decide(size)
            }
        }
    }

    /// A round of `size` processes has taken so many nanoseconds.
    pub fn took(&mut self, size: usize, kind: usize, parallel: bool, ns: f64) {
        let each = ns / size as f64;
        match self.rounds {
            Rounds::Auto => {
                if !parallel {
                    let before = self.each_ns[kind];
                    let known = if before == 0.0 { each } else { before };
                    self.each_ns[kind] = known + LATEST * (each - known);
                }
                self.class(size, kind).took(parallel, each);
            }
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
            (self.interval, self.again) = (AGAIN, AGAIN);
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

#[cfg(test)]
mod test {
    use super::*;

    /// Plays rounds of these sizes, in which a process takes `each_ns`, on two threads that cost `cost_ns` a
    /// round. Gives the time that all took, and what they would take on one thread.
    fn played(rounds: Rounds, sizes: impl Iterator<Item = usize>, each_ns: f64, cost_ns: f64) -> (f64, f64) {
        let (mut decider, mut took, mut alone) = (Decider::new(rounds), 0.0, 0.0);
        for size in sizes {
            let one = each_ns * size as f64;
            let how = decider.decide(size, 0);
            let ns = if how.parallel { cost_ns + one * size.div_ceil(2) as f64 / size as f64 } else { one };
            if how.timed {
                decider.took(size, 0, how.parallel, ns);
            }
            took += ns;
            alone += one;
        }
        (took, alone)
    }

    fn sizes() -> impl Iterator<Item = usize> {
        let mut rng = paceline_kernel::Rng::new(8, 8);
        (0..20_000).map(move |_| 1 + (rng.unit().powi(4) * 200.0) as usize)
    }

    #[test]
    fn auto_takes_many_threads_where_they_are_faster_and_only_there() {
        // Cheap processes: going parallel never pays, and trying costs next to nothing.
        let (took, alone) = played(Rounds::Auto, sizes(), 50.0, 20_000.0);
        assert!(took < 1.03 * alone, "{}", took / alone);
        // Expensive ones: nearly twice as fast, from the first rounds on.
        let (took, alone) = played(Rounds::Auto, sizes().filter(|size| *size > 1), 200_000.0, 20_000.0);
        let ideal: f64 =
            sizes().filter(|size| *size > 1).map(|size| 200_000.0 * size.div_ceil(2) as f64).sum();
        assert!(took < 1.05 * ideal && took < alone, "{} of the ideal", took / ideal);
        let (few, all) = played(Rounds::Auto, [1, 16, 32, 32, 32].into_iter(), 200_000.0, 20_000.0);
        assert!(few < 0.7 * all, "{} in the first five", few / all);
        // Threads that are in each other's way: not taken.
        let (took, alone) = played(Rounds::Auto, sizes(), 1_000.0, 10_000_000.0);
        assert!(
            took < 3.0 * alone && played(Rounds::Always, sizes(), 1_000.0, 10_000_000.0).0 > 100.0 * alone
        );
    }

    #[test]
    fn fixed_ways_look_at_the_number_alone() {
        let parallel = |rounds, size| Decider::new(rounds).decide(size, 0).parallel;
        assert!(
            parallel(Rounds::Static(8), 8)
                && !parallel(Rounds::Static(8), 7)
                && !parallel(Rounds::Static(0), 1)
        );
        assert!(
            parallel(Rounds::Always, 2) && !parallel(Rounds::Always, 1) && !parallel(Rounds::Never, 1000)
        );
    }

    #[test]
    fn the_rule_of_five_rounds_moves_its_threshold_towards_what_is_faster() {
        let mut decider = Decider::new(Rounds::Adaptive5);
        for _ in 0..5 * 40 {
            let how = decider.decide(FIRST_THRESHOLD as usize, 0);
            decider.took(FIRST_THRESHOLD as usize, 0, how.parallel, if how.parallel { 9e9 } else { 1e3 });
        }
        assert!(decider.threshold > FIRST_THRESHOLD, "parallel rounds are slower");
    }
}

//! How long slices are best: compares two lengths by the progress that the program makes with each, and keeps
//! the better one. A pure core, like the planner.
//!
//! What a thread at the front publishes does not show whether it computes or polls memory for a thread that
//! is held back. Where steps are short, most of a long slice is spent polling; where they are long, a short
//! slice only costs decisions. So lengths are compared by what they bring about. A comparison has four
//! stretches, the current length, the other one twice, and the current one again, so that a load that changes
//! slowly, and the two kinds of releases that alternate, favour neither.
//!
//! Invariants: a length is only taken if it was better in both halves of a comparison. Without countable
//! progress it stays as it is.

use super::trial::Stretch;

/// The lengths that are compared. The governor never needs more than a quarter of a core, which is the limit
/// of short ones.
pub const LENGTHS_NS: [u64; 3] = [100_000, 200_000, 500_000];
/// The one that is used before any comparison.
const FIRST: usize = 1;
/// How long a stretch is, at first and at most: whole periods of releases.
const STRETCH_NS: u64 = 20_000_000;
const STRETCH_MAX_NS: u64 = 160_000_000;
/// How many times progress must be seen in a stretch for it to count.
const STEPS_MIN: u64 = 16;
/// The time until the first comparison, which then is over before the first trial of another way.
const FIRST_NS: u64 = 10_000_000;
/// The time until the next comparison when the neighbours of a length were not better; it grows by the factor
/// up to the limit.
const INTERVAL_NS: u64 = 1_000_000_000;
const INTERVAL_FACTOR: u64 = 4;
const INTERVAL_MAX_NS: u64 = 60_000_000_000;
/// The progress that another length must reach to be taken, in per cent of the current one's. A shorter one
/// takes time of a core.
const SHORTER_PERCENT: u64 = 106;
const LONGER_PERCENT: u64 = 102;
/// Below this in its first stretch, the other length is given up at once.
const HOPELESS_PERCENT: u64 = 80;

/// Which of the two lengths each stretch of a comparison has: the other one, or the current one.
const IS_OTHER: [bool; 4] = [false, true, true, false];

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No comparison until this time.
    Hold { until_ns: u64 },
    /// A comparison with the length of this index, in this of its stretches; with the rates so far.
    Compare { other: usize, part: usize, stretch: Stretch, rates: [u64; 4] },
}

/// Chooses the length of slices.
#[derive(Debug)]
pub struct Slices {
    current: usize,
    phase: Phase,
    /// Whether progress was seen too seldom for a comparison.
    is_uncountable: bool,
    stretch_ns: u64,
    interval_ns: u64,
    /// Whether the next shorter and the next longer length are known to be no better.
    refuted: [bool; 2],
}

impl Slices {
    /// Comparisons that begin soon after `now_ns`.
    pub const fn new(now_ns: u64) -> Self {
        Self {
            current: FIRST,
            phase: Phase::Hold { until_ns: now_ns + FIRST_NS },
            is_uncountable: false,
            stretch_ns: STRETCH_NS,
            interval_ns: INTERVAL_NS,
            refuted: [false, false],
        }
    }

    /// The length from now on, with the program's progress so far in any unit; none after progress was seen
    /// too seldom to be compared. Only while `comparable`, nothing else changes that matters for
    /// progress.
    pub fn decide(&mut self, now_ns: u64, progress: u64, comparable: bool) -> Option<u64> {
        if comparable {
            self.advance(now_ns, progress);
        } else {
            // A comparison that was disturbed is dropped, and begins again soon.
            self.phase = Phase::Hold { until_ns: (now_ns + FIRST_NS).max(self.held_until_ns()) };
        }
        match self.phase {
            Phase::Compare { other, part, .. } if IS_OTHER[part] => Some(LENGTHS_NS[other]),
            Phase::Hold { .. } | Phase::Compare { .. } => {
                (!self.is_uncountable).then_some(LENGTHS_NS[self.current])
            }
        }
    }

    const fn held_until_ns(&self) -> u64 {
        match self.phase {
            Phase::Hold { until_ns } => until_ns,
            Phase::Compare { .. } => 0,
        }
    }

    /// The next length to be compared: the shorter neighbour first.
    fn next(&self) -> Option<usize> {
        let shorter = self.current.checked_sub(1).filter(|_| !self.refuted[0]);
        shorter
            .or_else(|| Some(self.current + 1).filter(|other| *other < LENGTHS_NS.len() && !self.refuted[1]))
    }

    fn advance(&mut self, now_ns: u64, progress: u64) {
        match &mut self.phase {
            Phase::Hold { until_ns } if now_ns < *until_ns => {}
            Phase::Hold { .. } => {
                if self.next().is_none() {
                    // Both neighbours were no better when they were tried, but the program may have changed
                    // since.
                    self.refuted = [false, false];
                }
                self.compare(now_ns, progress);
            }
            Phase::Compare { other, part, stretch, rates } => {
                stretch.note(progress);
                let (other, steps) = (*other, stretch.steps());
                let Some(rate) = stretch.rate(now_ns, self.stretch_ns) else { return };
                if *part == 0 && steps < STEPS_MIN {
                    self.lengthen(now_ns, progress);
                    return;
                }
                self.is_uncountable = false;
                rates[*part] = rate;
                *part += 1;
                *stretch = Stretch::new(now_ns, progress);
                let (part, rates) = (*part, *rates);
                let is_hopeless = part == 2 && rates[1] < rates[0] / 100 * HOPELESS_PERCENT;
                if is_hopeless || part == IS_OTHER.len() {
                    self.judge(now_ns, progress, other, !is_hopeless && self.is_better(other, rates));
                }
            }
        }
    }

    fn compare(&mut self, now_ns: u64, progress: u64) {
        if let Some(other) = self.next() {
            let stretch = Stretch::new(now_ns, progress);
            self.phase = Phase::Compare { other, part: 0, stretch, rates: [0; 4] };
        } else {
            self.phase = Phase::Hold { until_ns: now_ns + self.interval_ns };
            self.interval_ns = (self.interval_ns * INTERVAL_FACTOR).min(INTERVAL_MAX_NS);
        }
    }

    /// Progress was seen too seldom: begins again with a longer stretch, or gives up for a while.
    fn lengthen(&mut self, now_ns: u64, progress: u64) {
        if self.stretch_ns < STRETCH_MAX_NS {
            self.stretch_ns *= 2;
            self.compare(now_ns, progress);
        } else {
            self.stretch_ns = STRETCH_NS;
            self.is_uncountable = true;
            self.phase = Phase::Hold { until_ns: now_ns + self.interval_ns };
            self.interval_ns = (self.interval_ns * INTERVAL_FACTOR).min(INTERVAL_MAX_NS);
        }
    }

    fn is_better(&self, other: usize, rates: [u64; 4]) -> bool {
        let needed = if other < self.current { SHORTER_PERCENT } else { LONGER_PERCENT };
        let sum = |is_other: bool| -> u128 {
            let parts = rates.iter().zip(IS_OTHER).filter(|(_, other)| *other == is_other);
            parts.map(|(rate, _)| u128::from(*rate)).sum()
        };
        let in_both = rates[1] > rates[0] && rates[2] > rates[3];
        in_both && sum(true) * 100 >= sum(false) * u128::from(needed)
    }

    fn judge(&mut self, now_ns: u64, progress: u64, other: usize, is_better: bool) {
        let is_longer = usize::from(other > self.current);
        if is_better {
            self.current = other;
            // The length before is known to be no better; the next one in the same direction may be.
            self.refuted = [is_longer == 1, is_longer == 0];
            self.interval_ns = INTERVAL_NS;
        } else {
            self.refuted[is_longer] = true;
        }
        self.compare(now_ns, progress);
    }
}

#[cfg(test)]
mod tests;

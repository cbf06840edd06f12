//! Whether pacing helps: from time to time tries another way for a short while, and keeps the one under which
//! the program makes progress fastest. A pure core, like the planner.
//!
//! A way is compared with the current one by the program's progress in a stretch of time with it and in two
//! stretches without it, before and after, so that a load that changes slowly favours neither. A way that is
//! better twice in a row is taken. The time between trials grows, so that a way that does not help costs at
//! most 3 % of a run of ten seconds. One under which the program all but stands still is given up after a
//! quarter of its stretch, so that runs of a second are not slower for it.
//!
//! Invariant: without countable progress the way changes only when the facts do (whether threads yield,
//! whether others want cores).

/// How the threads of a program are scheduled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// As if they were not paced.
    Unpaced,
    /// All equal, before the rest of the machine: for threads that yield whenever they wait.
    Together,
    /// Those furthest behind first.
    Ordered,
}

/// How long a stretch is, at first and at most: whole release periods, so that releases are the same part of
/// every stretch.
const STRETCH_NS: u64 = 40_000_000;
const STRETCH_MAX_NS: u64 = 320_000_000;
/// How many times progress must be seen in a stretch for it to count.
const STEPS_MIN: u64 = 4;
/// The time until the first trial, and until the first one if threads are not paced, where little is to be
/// gained.
const FIRST_NS: u64 = 100_000_000;
const FIRST_UNPACED_NS: u64 = 3_000_000_000;
/// The time until the next trial after another way was found to be better.
const AFTER_CHANGE_NS: u64 = 1_000_000_000;
/// When nothing better was found, the time until the next trial grows by this factor, up to the limit below.
const INTERVAL_FACTOR: u64 = 4;
const INTERVAL_MAX_NS: u64 = 60_000_000_000;
/// The rate that a way must reach to be taken, in per cent of the current way's rate.
const BETTER_PERCENT: u64 = 112;
/// A way under which the program makes less than one part in so many of its usual progress is given up before
/// its stretch is over: threads that poll stand still without pacing, and a stretch is as long as a fifth of
/// a second where progress is seen seldom.
const HOPELESS_ONE_IN: u64 = 4;
/// The part of a stretch, one in so many, after which that is judged; at least a period of releases.
const JUDGED_ONE_IN: u64 = 4;
const JUDGED_LEAST_NS: u64 = 20_000_000;

/// The facts about the program now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Its progress so far, in any unit.
    pub progress: u64,
    /// Whether all its threads yield whenever they wait.
    pub yields: bool,
    /// Whether other programs of the machine want cores.
    pub crowded: bool,
}

/// A change of the current way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Change {
    /// How the threads were scheduled until now.
    pub from: Way,
    /// How they are scheduled from now on.
    pub to: Way,
    /// The new rate of progress in per cent of the old one; none if it was not measured.
    pub percent: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    start_ns: u64,
    start_progress: u64,
    last_progress: u64,
    steps: u64,
}

impl Stretch {
    pub(super) const fn new(now_ns: u64, progress: u64) -> Self {
        Self { start_ns: now_ns, start_progress: progress, last_progress: progress, steps: 0 }
    }

    pub(super) fn note(&mut self, progress: u64) {
        self.steps += u64::from(progress != self.last_progress);
        self.last_progress = progress;
    }

    pub(super) const fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether so much of a stretch of `length_ns` has passed, with so little progress beside the rate
    /// `usual`, that the rest cannot make it better.
    fn is_hopeless(&self, now_ns: u64, length_ns: u64, usual: u64) -> bool {
        let rate = self.rate(now_ns, (length_ns / JUDGED_ONE_IN).max(JUDGED_LEAST_NS));
        rate.is_some_and(|rate| rate < usual / HOPELESS_ONE_IN)
    }

    /// Progress per second; none before the stretch has lasted for `length_ns`.
    pub(super) fn rate(&self, now_ns: u64, length_ns: u64) -> Option<u64> {
        let past_ns = now_ns - self.start_ns;
        let made = u128::from(self.last_progress.saturating_sub(self.start_progress));
        let rate = made * 1_000_000_000 / u128::from(past_ns.max(1));
        (past_ns >= length_ns).then(|| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No trial: the current way is used until `until_ns`.
    Hold { until_ns: u64 },
    /// The current way is measured, before the named one.
    Before(Way, Stretch),
    /// The other way is measured; with the rate of the current one.
    Other(Way, Stretch, u64),
    /// The current way is measured again; with the rates of the other one, and of itself before.
    After(Way, Stretch, u64, u64),
}

/// Chooses the way.
#[derive(Debug)]
pub struct Trial {
    way: Way,
    facts: Facts,
    phase: Phase,
    interval_ns: u64,
    stretch_ns: u64,
    /// The way that was better in the last comparison, to be confirmed.
    candidate: Option<Way>,
    /// Which way is to be tried next.
    next: usize,
}

impl Trial {
    /// Trials that begin at `now_ns`.
    pub const fn new(now_ns: u64) -> Self {
        Self {
            way: Way::Ordered,
            facts: Facts { progress: 0, yields: false, crowded: false },
            phase: Phase::Hold { until_ns: now_ns + FIRST_NS },
            interval_ns: FIRST_NS,
            stretch_ns: STRETCH_NS,
            candidate: None,
            next: 0,
        }
    }

    /// The way to schedule from now on, and a change of the current way if there is one.
    pub fn decide(&mut self, now_ns: u64, facts: Facts) -> (Way, Option<Change>) {
        let change = self.note(now_ns, facts).or_else(|| self.advance(now_ns));
        let way = match self.phase {
            Phase::Other(way, ..) => way,
            Phase::Hold { .. } | Phase::Before(..) | Phase::After(..) => self.way,
        };
        (way, change)
    }

    /// Whether nothing is being compared now.
    pub const fn is_holding(&self) -> bool {
        matches!(self.phase, Phase::Hold { .. })
    }

    /// The way that is assumed to be best before anything has been measured.
    const fn usual(&self) -> Way {
        match (self.facts.yields, self.facts.crowded) {
            (false, _) => Way::Ordered,
            // Threads that yield hand their cores over themselves, and no other program takes them.
            (true, false) => Way::Unpaced,
            (true, true) => Way::Together,
        }
    }

    /// The ways that are worth a trial.
    const fn others(&self) -> &'static [Way] {
        match (self.facts.yields, self.way) {
            (false, Way::Unpaced) => &[Way::Ordered],
            // As equals, threads that do not yield would keep their cores from each other.
            (false, _) => &[Way::Unpaced],
            (true, Way::Unpaced) => &[Way::Together, Way::Ordered],
            (true, Way::Together) => &[Way::Unpaced, Way::Ordered],
            (true, Way::Ordered) => &[Way::Unpaced, Way::Together],
        }
    }

    /// Notes the facts. When they change, earlier measurements are no longer valid, and the usual way is
    /// taken.
    fn note(&mut self, now_ns: u64, facts: Facts) -> Option<Change> {
        let changed = (facts.yields, facts.crowded) != (self.facts.yields, self.facts.crowded);
        self.facts = facts;
        if !changed {
            return None;
        }
        let change = self.take(self.usual(), None);
        self.hold(now_ns, if matches!(self.way, Way::Unpaced) { FIRST_UNPACED_NS } else { FIRST_NS });
        change
    }

    fn take(&mut self, way: Way, percent: Option<u64>) -> Option<Change> {
        let from = std::mem::replace(&mut self.way, way);
        (from != way).then_some(Change { from, to: way, percent })
    }

    const fn hold(&mut self, now_ns: u64, interval_ns: u64) {
        self.interval_ns = interval_ns;
        self.candidate = None;
        self.phase = Phase::Hold { until_ns: now_ns + interval_ns };
    }

    fn advance(&mut self, now_ns: u64) -> Option<Change> {
        let progress = self.facts.progress;
        let stretch = Stretch::new(now_ns, progress);
        match &mut self.phase {
            Phase::Hold { until_ns } => {
                if now_ns >= *until_ns {
                    let others = self.others();
                    self.phase = Phase::Before(others[self.next % others.len()], stretch);
                }
                None
            }
            Phase::Before(other, before) => {
                before.note(progress);
                let (other, steps) = (*other, before.steps);
                let rate = before.rate(now_ns, self.stretch_ns)?;
                if steps >= STEPS_MIN && rate > 0 {
                    self.phase = Phase::Other(other, stretch, rate);
                } else if self.stretch_ns < STRETCH_MAX_NS {
                    self.stretch_ns *= 2;
                    self.phase = Phase::Before(other, stretch);
                } else {
                    // It moves too slowly to be compared.
                    self.stretch_ns = STRETCH_NS;
                    self.hold(now_ns, (self.interval_ns * INTERVAL_FACTOR).min(INTERVAL_MAX_NS));
                }
                None
            }
            Phase::Other(other, tried, before) => {
                tried.note(progress);
                let (other, before) = (*other, *before);
                if tried.is_hopeless(now_ns, self.stretch_ns, before) {
                    // Too short to be measured: as if there had been no progress.
                    return self.judge(now_ns, other, 0, before, stretch);
                }
                let rate = tried.rate(now_ns, self.stretch_ns)?;
                self.phase = Phase::After(other, stretch, rate, before);
                None
            }
            Phase::After(other, after, tried, before) => {
                after.note(progress);
                let (other, tried, before) = (*other, *tried, *before);
                let rate = after.rate(now_ns, self.stretch_ns)?;
                let usual = u64::midpoint(before, rate).max(1);
                self.judge(now_ns, other, tried, usual, stretch)
            }
        }
    }

    /// Compares the rates of another way and of the current one, and decides what follows.
    fn judge(&mut self, now_ns: u64, other: Way, tried: u64, usual: u64, stretch: Stretch) -> Option<Change> {
        let percent = u64::try_from(u128::from(tried) * 100 / u128::from(usual)).unwrap_or(u64::MAX);
        if percent >= BETTER_PERCENT {
            if self.candidate == Some(other) {
                self.next = 0;
                self.hold(now_ns, AFTER_CHANGE_NS);
                return self.take(other, Some(percent));
            }
            // Once may be chance: the same comparison follows at once.
            self.candidate = Some(other);
            self.phase = Phase::Before(other, stretch);
            return None;
        }
        self.candidate = None;
        self.next += 1;
        let others = self.others();
        // All other ways have been tried since the last pause.
        if self.next.is_multiple_of(others.len()) {
            self.hold(now_ns, (self.interval_ns * INTERVAL_FACTOR).min(INTERVAL_MAX_NS));
        } else {
            self.phase = Phase::Before(others[self.next % others.len()], stretch);
        }
        None
    }
}

#[cfg(test)]
mod tests;

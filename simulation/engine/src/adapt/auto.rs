//! `auto`: finds by trials how a model runs fastest.
//!
//! `run/build.rs` makes it of the settings, unless other processes or what is outside would have to
//! follow; `run/course.rs` asks it at each pause that it wanted.
//!
//! A *way* is a protocol and the most groups that federates are merged into. A run begins with the way that
//! is best for most models. A first glance shows whether windows are nearly empty: then another way replaces
//! it at once. A little later, and then at growing intervals, every way that could be better is tried for a
//! short stretch, the present one first. Those that come near the fastest are tried once more, for longer,
//! since the beginning and the end of a stretch weigh much in a short one; then the run continues with the
//! fastest. The result does not depend on that: a way only says which worker runs what.
//!
//! An optimistic run has trials too, later and less often: its ways are other groups, and no parallel work at
//! all, since rollbacks may cost more than a second core brings.
//!
//! Where other programs keep the workers from their cores, the next trial is due at once, and all in one
//! group, which is work for one thread, is among its ways.
//!
//! Trials are bounded by what has run before them: a stretch is a small part of that, and where dealing the
//! LPs anew takes long, the trial waits until that is a small part too.
//!
//! Dealing LPs anew for a stretch takes time as well, often as long as the stretch itself. That is not
//! counted in the rate of a way, since a run that continues with it pays for it once, and does not shorten
//! the stretch: otherwise the present way, for which nothing is dealt, would win against one that is a
//! quarter faster.
//!
//! Invariant: what a pause costs is counted with the way that comes after it, but not in its rate.

use std::time::Duration;

use paceline_kernel::{Model, Rng, Time};

use crate::{Protocol, Simulation};

/// From the start of a run to the first glance.
const GLANCE: Duration = Duration::from_millis(5);
/// Windows with fewer events than this for each thread cost more than they bring.
const SPARSE: u64 = 256;
/// From the start of a run to the first trial, where the protocol is left open and where it is given.
const FIRST: Duration = Duration::from_millis(60);
const FIRST_GIVEN: Duration = Duration::from_secs(1);
/// How many times longer each interval between trials is than the one before.
const GROWTH: u32 = 5;
/// A stretch is this long, or this part of the time run so far.
const STRETCH: Duration = Duration::from_millis(20);
const STRETCH_PART: u32 = 50;
/// Dealing LPs anew for all stretches of a trial may take this part of the time run so far.
const DEALING_PART: u32 = 10;
/// An estimate of what dealing takes for each LP with its events, before it has been seen.
const DEALING: Duration = Duration::from_nanos(500);
/// Ways at least this fast beside the fastest are tried once more, in stretches so many times as long.
const NEAR: f64 = 0.75;
const LONGER: u32 = 3;
/// Another way is taken if it is faster than the present one by this factor.
const BETTER: f64 = 1.05;
/// A way slower than the best by more than this factor is tried in every fourth trial only.
const HOPELESS: f64 = 0.5;
const SELDOM: u32 = 4;
/// Groups for each thread where federates wait for each other.
const PER_THREAD: u32 = 4;

/// Into what federates are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// All into one federate.
    One,
    /// They stay as the model deals them.
    AsDealt,
    /// Into at most so many for each thread.
    PerThread(u32),
}

/// A way to run: a protocol, and how federates are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) protocol: Protocol,
    pub(crate) groups: Groups,
}

impl Way {
    /// The usual one under protocol `protocol`.
    pub(crate) fn of(protocol: Protocol) -> Self {
        let groups = match protocol {
            Protocol::Auto | Protocol::Sequential => Groups::One,
            Protocol::NullMessage | Protocol::NullMessageOnDemand => Groups::AsDealt,
            Protocol::TimeStep | Protocol::Window => Groups::PerThread(PER_THREAD),
            Protocol::Optimistic | Protocol::Mixed => Groups::PerThread(1),
        };
        Self { protocol, groups }
    }

    /// The window that queues are to be ready for.
    pub(crate) fn window<M: Model>(self, model: &M) -> Time {
        if self.protocol == Protocol::Sequential { Time::ZERO } else { model.lookahead() }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) events: u64,
    /// Real time, the pause before it included.
    pub(crate) wall: Duration,
    pub(crate) windows: u64,
}

/// What a way came to in a run under [`Protocol::Auto`], or in an optimistic one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// The protocol; it makes a way together with the groups.
    pub protocol: Protocol,
    /// The groups for each thread that federates were merged into at most; none where that is one in all.
    pub groups_per_thread: Option<u32>,
    /// Events committed in a second of real time, when it was tried last; none if it never was.
    pub rate: Option<f64>,
    /// Events committed in all legs that were run in this way.
    pub events: u64,
    /// Real time of all legs that were run in this way.
    pub wall: Duration,
}

impl Tried {
    /// Whether it has work for one thread only, under a protocol for many.
    fn is_for_a_crowd(&self) -> bool {
        self.groups_per_thread.is_none() && self.protocol != Protocol::Sequential
    }
}

/// A trial: its ways, the present one first, and how many of them have been tried.
#[derive(Debug)]
struct Trial {
    ways: Vec<usize>,
    tried: usize,
    again: bool,
}

/// Chooses ways: holds what each has come to, and when the next decision is due. Times are real time, without
/// what passes between the calls of the owner.
#[derive(Debug)]
pub(crate) struct Auto {
    ways: Vec<Tried>,
    present: usize,
    trial: Option<Trial>,
    trials: u32,
    /// Whether the first glance is still to come.
    glance: bool,
    last: Stretch,
    threads: u32,
    interval: Duration,
    /// When the next stretch or trial begins, since the start of the run.
    due: Duration,
    /// Until when after a trial nothing makes the next one due earlier.
    calm: Duration,
    /// Whether the workers were kept from their cores since the last trial began.
    crowded: bool,
    /// The longest time that dealing has taken.
    dealing: Duration,
    /// What dealing has taken since the last leg.
    dealt: Duration,
    /// Whether that was seen, and is no estimate.
    seen: bool,
    /// Draws a way at every pause instead: for tests.
    draws: Option<Rng>,
}

impl Auto {
    /// For a run on this many threads, if there is anything to choose.
    pub(crate) fn new<M: Model>(simulation: &Simulation<M>, threads: u32) -> Option<Self> {
        let Simulation { model, protocol, speculation, groups, draws, trials, .. } = simulation;
        // Where rollbacks are checked or provoked, they are to happen.
        let checked = speculation.check_rollback || speculation.chaos.is_some();
        let (open, waits) = (*protocol == Protocol::Auto, model.lookahead() > Time::ZERO);
        let warp = match protocol {
            Protocol::Auto if speculation.optimistic.is_some() && waits => Protocol::Mixed,
            Protocol::Auto => Protocol::Optimistic,
            Protocol::Optimistic | Protocol::Mixed if *trials && !checked => *protocol,
            _ => return None,
        };
        let mut ways = Vec::new();
        if open && waits {
            ways.push((Protocol::Window, Some(PER_THREAD)));
        }
        if open {
            ways.push((Protocol::Sequential, None));
        }
        // On one thread running ahead only costs, unless the run is asked for it, or a test draws it.
        if !open || threads > 1 || draws.is_some() {
            // Other groups are not tried where their number is given, nor on one thread.
            let fixed = groups.is_some() || threads == 1 && draws.is_none();
            ways.push((warp, Some(1)));
            ways.extend((waits && !fixed).then_some((warp, Some(PER_THREAD))));
        }
        if !open {
            ways.push((Protocol::Sequential, None));
        }
        // All in one group, for when other programs want the cores.
        if waits && threads > 1 && groups.is_none() {
            ways.push((if open { Protocol::Window } else { warp }, None));
        }
        // Without trials the run keeps the best guess.
        if open && !*trials {
            ways.truncate(1);
        }
        let draws = draws.filter(|_| open).map(|seed| Rng::new(seed, 1));
        let dealing = DEALING * model.lps();
        Some(Self::among(&ways, threads, dealing, if open { FIRST } else { FIRST_GIVEN }, draws))
    }

    /// Chooses among `ways`, the best guess first. To deal LPs anew may take about as long as `dealing`; the
    /// first trial is `first` after the start of the run.
    fn among(
        ways: &[(Protocol, Option<u32>)],
        threads: u32,
        dealing: Duration,
        first: Duration,
        draws: Option<Rng>,
    ) -> Self {
        let way = |&(protocol, groups_per_thread)| Tried {
            protocol,
            groups_per_thread,
            rate: None,
            events: 0,
            wall: Duration::ZERO,
        };
        // Only windows can turn out to be nearly empty.
        let glance = ways[0].0 == Protocol::Window && ways.len() > 1;
        Self {
            ways: ways.iter().map(way).collect(),
            present: 0,
            trial: None,
            trials: 0,
            glance,
            last: Stretch::default(),
            threads,
            interval: first,
            // A glance may have the LPs dealt anew: not before the run is as long as that takes.
            due: if glance { GLANCE.max(dealing).min(first) } else { first },
            calm: Duration::ZERO,
            crowded: false,
            dealing,
            dealt: Duration::ZERO,
            seen: false,
            draws,
        }
    }

    pub(crate) fn way(&self) -> Way {
        let Tried { protocol, groups_per_thread, .. } = self.ways[self.present];
        Way { protocol, groups: groups_per_thread.map_or(Groups::One, Groups::PerThread) }
    }

    /// From `run`, the time since the start of the run, until there is something to decide.
    pub(crate) fn pause(&self, run: Duration) -> Duration {
        self.due.saturating_sub(run)
    }

    pub(crate) fn ran(&mut self, leg: Stretch) {
        let way = &mut self.ways[self.present];
        way.events += leg.events;
        way.wall += leg.wall;
        let work = leg.wall.saturating_sub(std::mem::take(&mut self.dealt));
        way.rate = Some(leg.events as f64 / work.as_secs_f64().max(1e-9));
        self.last = leg;
    }

    /// Dealing the LPs anew has taken so long: a stretch is so much longer.
    pub(crate) fn dealt(&mut self, dealing: Duration) {
        self.dealt += dealing;
        // The stretch of a trial begins once the LPs are dealt.
        if self.trial.is_some() {
            self.due += dealing;
        }
        self.dealing = if self.seen { self.dealing.max(dealing) } else { dealing };
        self.seen = true;
    }

    /// The workers are kept from their cores, `run` after the start of the run: a trial is due, unless there
    /// has just been one.
    pub(crate) fn hurry(&mut self, run: Duration) {
        if self.trial.is_none() && run >= self.calm {
            self.due = self.due.min(run);
            self.crowded = true;
        }
    }

    /// Decides on the way of the next leg, where it is time for that, `run` after the start of the run.
    pub(crate) fn decide(&mut self, run: Duration) {
        if let Some(rng) = &mut self.draws {
            self.present = rng.below(self.ways.len() as u64) as usize;
            return;
        }
        if run < self.due {
            return;
        }
        if std::mem::take(&mut self.glance) {
            self.glance();
            // The first trial comes when it would have come without a glance.
            self.due = self.interval.max(run);
            return;
        }
        if self.trial.is_none() {
            self.begin_trial(run);
        }
        let Some(trial) = &mut self.trial else { return };
        if trial.tried == trial.ways.len() {
            let (ways, again) = (std::mem::take(&mut trial.ways), trial.again);
            self.judge(run, ways, again);
        }
        let Some(Trial { ways, tried, again }) = &mut self.trial else { return };
        self.present = ways[*tried];
        *tried += 1;
        // Long enough to tell ways apart, and a small part of the run.
        let stretch = STRETCH.max(run / STRETCH_PART);
        self.due = run + if *again { stretch.max(STRETCH * LONGER) } else { stretch };
    }

    /// Takes few large groups that run ahead where windows hold next to nothing.
    fn glance(&mut self) {
        let Stretch { events, windows, .. } = self.last;
        let sparse = windows > 0 && events < windows * SPARSE * u64::from(self.threads);
        let large = |way: &Tried| way.protocol.speculates() && way.groups_per_thread == Some(1);
        if let Some(large) = self.ways.iter().position(large).filter(|_| sparse) {
            self.present = large;
        }
    }

    /// Begins a trial if what it costs is little by now.
    fn begin_trial(&mut self, run: Duration) {
        let best = self.ways.iter().filter_map(|way| way.rate).fold(0.0, f64::max);
        // The first trial is one of those with all ways: of none is known yet whether it is hopeless.
        let seldom = self.trials.is_multiple_of(SELDOM);
        let hopeful = |way: &usize| seldom || self.ways[*way].rate.is_none_or(|rate| rate >= best * HOPELESS);
        let possible = |way: &usize| self.crowded || !self.ways[*way].is_for_a_crowd();
        let others = (0..self.ways.len()).filter(|way| *way != self.present).filter(possible).filter(hopeful);
        let ways: Vec<usize> = std::iter::once(self.present).chain(others).collect();
        let dealings = self.dealing * ways.len() as u32;
        // Trials deal the LPs anew for each way: they wait until that is a small part of the run.
        if ways.len() == 1 || dealings * DEALING_PART > run {
            self.due = run + self.interval.max(dealings * DEALING_PART);
            return;
        }
        self.trials += 1;
        self.crowded = false;
        self.trial = Some(Trial { ways, tried: 0, again: false });
    }

    /// Ends a trial of `ways`, or has those of them tried once more that come near the fastest.
    fn judge(&mut self, run: Duration, mut ways: Vec<usize>, again: bool) {
        let rate = |way: usize| self.ways[way].rate.unwrap_or(0.0);
        let best = ways.iter().copied().max_by(|a, b| rate(*a).total_cmp(&rate(*b)));
        let best = best.expect("the present way is tried too");
        // The present way has the benefit of the doubt: a change that brings nothing costs a dealing.
        // It comes first (`begin_trial`); where it fell out before the second round, the first that is left.
        let better = rate(best) > rate(ways[0]) * BETTER;
        let present = if better { best } else { ways[0] };
        ways.retain(|way| rate(*way) >= rate(best) * NEAR);
        // A second time decides, however close they are.
        if ways.len() > 1 && !again {
            self.trial = Some(Trial { ways, tried: 0, again: true });
            return;
        }
        self.present = present;
        self.trial = None;
        self.calm = run + self.interval;
        // The longer a run has gone on well, the less a trial is likely to find.
        self.interval *= GROWTH;
        self.due = run + self.interval;
    }

    /// What all ways came to, those for a crowd only where there was one.
    pub(crate) fn finish(mut self) -> Vec<Tried> {
        self.ways.retain(|way| way.rate.is_some() || !way.is_for_a_crowd());
        self.ways
    }
}

#[cfg(test)]
mod test;

//! Samples a run while it goes on: reads what its workers write to anyway, asks for looks at it, and keeps
//! the course of its numbers in bounded memory. The live page shows what is sampled at once (`live`), the
//! report of a run at its end (`run_report`).
//!
//! Invariant: sampling costs the run nothing but the gauges and the looks; looks are bounded (`looker`).

pub(crate) mod curves;
pub(crate) mod history;
pub(crate) mod looker;
pub(crate) mod picture;
#[cfg(feature = "processes")]
mod ring;

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_engine::{Gauge, Gauges};
use paceline_kernel::Time;
use paceline_results::Picture;

use crate::memory;
use crate::progress::Speed;
use crate::settings::RunSettings;
use crate::steer::{Steering, Watched};

use curves::{Course, ModelCourse, SERIES_MAX};
pub(crate) use looker::Looker;
use looker::{Seen, Slot};
#[cfg(feature = "processes")]
pub(crate) use ring::Ring;

/// What is said of a run that is sampled.
#[cfg_attr(not(feature = "live"), allow(dead_code, reason = "only the live page shows all of it"))]
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) scenario: String,
    pub(crate) model: &'static str,
    pub(crate) until: Option<Time>,
    /// The protocol of LPs; none of a model of processes.
    pub(crate) protocol: Option<&'static str>,
    /// The lookahead, where there is a protocol.
    pub(crate) lookahead: Time,
    /// The processes of the run, of which the first one is sampled.
    pub(crate) processes: u32,
    /// The turns of processes, where they are counted.
    #[cfg(feature = "processes")]
    pub(crate) ring: Option<Ring>,
}

impl Facts {
    /// Of a run of LPs in so many processes.
    pub(crate) fn of_lps(
        scenario: &str,
        model: &'static str,
        lookahead: Time,
        settings: &RunSettings,
        processes: u32,
    ) -> Self {
        Self {
            scenario: scenario.to_owned(),
            model,
            until: settings.until,
            protocol: Some(settings.protocol.name()),
            lookahead,
            processes,
            #[cfg(feature = "processes")]
            ring: None,
        }
    }
}

/// A federate that another program runs.
#[cfg(feature = "live")]
pub struct OutsideFederate {
    /// Its number among the federates of the run.
    pub federate: u32,
    /// What it is called.
    pub name: String,
    /// How far it is, and whether it runs.
    pub reached: Box<dyn Fn() -> (Time, bool) + Send + Sync>,
}

#[cfg(feature = "live")]
impl std::fmt::Debug for OutsideFederate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutsideFederate")
            .field("federate", &self.federate)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Federates that are outside, once they are known. Clones share them.
#[cfg(feature = "live")]
pub(crate) type OutsideFederates = Arc<std::sync::OnceLock<Vec<OutsideFederate>>>;

/// Where a run is watched from: what its workers write to, and where its own thread leaves what it sees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampling {
    pub(crate) gauges: Gauges,
    #[cfg(feature = "live")]
    pub(crate) outside: OutsideFederates,
    slots: Vec<Arc<Slot>>,
}

impl Sampling {
    /// One more place for what is seen.
    pub(crate) fn slot(&mut self) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        self.slots.push(Arc::clone(&slot));
        slot
    }

    /// What looks at the run on its own thread; nothing where nobody watches.
    pub(crate) fn looker(&self) -> Option<Looker> {
        (!self.slots.is_empty()).then(|| Looker::new(self.slots.clone()))
    }
}

/// What a run is at, in numbers that both kinds of runs have.
#[cfg_attr(not(feature = "live"), allow(dead_code, reason = "only the live page shows all of it"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) time: Time,
    pub(crate) work: u64,
    pub(crate) threads: u32,
    pub(crate) is_stopping: bool,
}

/// A run as it is at an instant.
#[cfg_attr(not(feature = "live"), allow(dead_code, reason = "only the live page shows all of it"))]
#[derive(Debug)]
pub(crate) struct Sample {
    /// Real time since sampling began.
    pub(crate) real: Duration,
    pub(crate) counts: Counts,
    pub(crate) gauges: Vec<Gauge>,
    /// A new picture of the model, and of when it is.
    pub(crate) picture: Option<(Time, Picture)>,
}

/// Samples a run for one who watches.
pub(crate) struct Sampler {
    pub(crate) facts: Facts,
    pub(crate) watched: Watched,
    pub(crate) gauges: Gauges,
    #[cfg(feature = "live")]
    pub(crate) outside: OutsideFederates,
    slot: Arc<Slot>,
    start: Instant,
    speed: Speed,
    /// Events or steps a second, of late.
    pub(crate) rate: f64,
    pub(crate) course: Course,
    pub(crate) model_course: ModelCourse,
    /// Of the model's curves.
    pub(crate) names: Vec<String>,
    /// Events that wait, by federate.
    pub(crate) pending: Vec<usize>,
    rollbacks: Rising,
    undone: Rising,
    /// From one moment of the curves to the next.
    moment: Duration,
    next_moment: Duration,
}

impl Sampler {
    /// Of the run that is `watched` so; its curves have a moment after each `moment` of real time.
    pub(crate) fn new(facts: Facts, watched: Watched, sampling: &mut Sampling, moment: Duration) -> Self {
        Self {
            facts,
            watched,
            gauges: sampling.gauges.clone(),
            #[cfg(feature = "live")]
            outside: Arc::clone(&sampling.outside),
            slot: sampling.slot(),
            start: Instant::now(),
            speed: Speed::start(),
            rate: 0.0,
            course: Course::default(),
            model_course: ModelCourse::default(),
            names: Vec::new(),
            pending: Vec::new(),
            rollbacks: Rising::default(),
            undone: Rising::default(),
            moment,
            next_moment: Duration::ZERO,
        }
    }

    /// The run as it is now. A look is asked for while `is_watched`; the last sample is of a run that has
    /// ended.
    pub(crate) fn sample(&mut self, is_watched: bool, is_last: bool) -> Sample {
        let mut picture = None;
        if let Some(Seen { at, pending, picture: seen }) = self.slot.take() {
            self.pending = pending;
            picture = seen.map(|picture| (at, picture));
        }
        // A run of LPs must be asked back for a look; what is seen of processes is counted while they run.
        if is_watched && !is_last && self.slot.want() {
            self.steering().iter().for_each(|steering| steering.wake());
        }
        let (counts, gauges) = (self.counts(), self.gauges.look());
        let real = self.start.elapsed();
        if real >= self.next_moment || is_last {
            self.next_moment = real + self.moment;
            self.rate = self.speed.update(counts.work);
            self.note(real, &counts, &gauges);
        }
        // A run may end before anybody who came lately has been counted: the last sample is whole.
        #[cfg(feature = "processes")]
        if (is_watched || is_last)
            && let Some(drawn) = self.facts.ring.as_ref().and_then(Ring::draw)
        {
            picture = Some((counts.time, drawn));
        }
        if let Some((at, picture)) = &picture {
            self.note_model(*at, picture);
        }
        Sample { real, counts, gauges, picture }
    }

    fn counts(&self) -> Counts {
        match &self.watched {
            Watched::Lps { steering, .. } => {
                let monitor = steering.monitor();
                let (time, work) = (monitor.time(), monitor.events());
                Counts { time, work, threads: monitor.threads(), is_stopping: monitor.stopped() }
            }
            #[cfg(feature = "processes")]
            Watched::Processes { control, threads } => Counts {
                time: control.time(),
                work: control.steps(),
                threads: *threads,
                is_stopping: control.stopped(),
            },
        }
    }

    /// What is counted.
    pub(crate) fn work(&self) -> &'static str {
        match &self.watched {
            Watched::Lps { .. } => "events",
            #[cfg(feature = "processes")]
            Watched::Processes { .. } => "steps",
        }
    }

    pub(crate) fn steering(&self) -> Option<&Steering> {
        match &self.watched {
            Watched::Lps { steering, .. } => Some(steering),
            #[cfg(feature = "processes")]
            Watched::Processes { .. } => None,
        }
    }

    /// Adds the numbers that the model names to its curves.
    fn note_model(&mut self, at: Time, picture: &Picture) {
        let names = picture.series.iter().take(SERIES_MAX).map(|(name, _)| name.clone());
        self.names = names.collect();
        let mut numbers = [f64::NAN; SERIES_MAX];
        for (number, (_, value)) in numbers.iter_mut().zip(&picture.series) {
            *number = *value;
        }
        self.model_course.push(at.as_secs_f64(), numbers);
    }

    /// Adds a moment to the curves.
    fn note(&mut self, real: Duration, counts: &Counts, gauges: &[Gauge]) {
        let mut numbers = [0.0; 9];
        numbers[curves::SIMULATED_S] = counts.time.as_secs_f64();
        numbers[curves::EVENTS] = counts.work as f64;
        numbers[curves::EFFICIENCY] = 100.0 * efficiency(gauges);
        numbers[curves::WAITING] = self.pending.iter().sum::<usize>() as f64;
        numbers[curves::MEMORY_MB] = memory::resident_bytes().unwrap_or(0) as f64 / 1e6;
        let [middle, most] = self.spread_s(gauges);
        numbers[curves::SPREAD_MIDDLE_S] = middle;
        numbers[curves::SPREAD_S] = most;
        numbers[curves::ROLLBACKS] = self.rollbacks.total(gauges.iter().map(|gauge| gauge.rollbacks).sum());
        numbers[curves::UNDONE] = self.undone.total(gauges.iter().map(|gauge| gauge.undone).sum());
        self.course.push(real.as_secs_f64(), numbers);
    }

    /// How far the middle federate and the one furthest ahead are from the one furthest behind. Federates
    /// that have no event left are at the end, or, where there is none, do not count.
    fn spread_s(&self, gauges: &[Gauge]) -> [f64; 2] {
        let end = self.facts.until.unwrap_or(Time::MAX);
        let fronts = gauges.iter().map(|gauge| gauge.front.min(end)).filter(|front| *front < Time::MAX);
        let mut fronts: Vec<Time> = fronts.collect();
        fronts.sort_unstable();
        let Some(first) = fronts.first().copied() else { return [0.0; 2] };
        [fronts[fronts.len() / 2], fronts[fronts.len() - 1]]
            .map(|front| front.saturating_sub(first).as_secs_f64())
    }
}

/// The part of all events run that is not undone.
pub(crate) fn efficiency(gauges: &[Gauge]) -> f64 {
    let sum = |of: fn(&Gauge) -> u64| gauges.iter().map(of).sum::<u64>();
    let (run, undone) = (sum(|gauge| gauge.events), sum(|gauge| gauge.undone));
    if run == 0 { 1.0 } else { 1.0 - undone as f64 / run as f64 }
}

/// A count that begins anew where federates are merged or dealt anew, as one that only rises.
#[derive(Debug, Default)]
struct Rising {
    before: u64,
    last: u64,
}

impl Rising {
    /// The count over all beginnings, now that it is at `now`.
    fn total(&mut self, now: u64) -> f64 {
        if now < self.last {
            self.before += self.last;
        }
        self.last = now;
        (self.before + now) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_begin_anew_go_on_rising() {
        let mut count = Rising::default();
        assert_eq!([3, 5, 1, 1, 4].map(|now| count.total(now)), [3.0, 5.0, 6.0, 6.0, 9.0]);
    }
}

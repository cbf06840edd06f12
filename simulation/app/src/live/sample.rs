//! Samples a run: reads what its workers write to anyway, and asks for looks.
//!
//! Invariant: sampling costs the run nothing but the looks, which are wanted only while somebody watches.

mod herd;

use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_engine::{Gauge, Gauges};
use paceline_kernel::Time;
use paceline_results::Picture;
use serde_json::{Map, Value, json};

use super::Facts;
#[cfg(feature = "processes")]
use super::Ring;
use super::curves::{
    self, Course, EFFICIENCY, EVENTS, MEMORY_MB, ModelCourse, SERIES_MAX, SIMULATED_S, WAITING,
};
use super::frame::{Frame, PARTS, Part};
use super::looker::{Seen, Slot};
use super::picture;
use crate::memory;
use crate::progress::Speed;
use crate::steer::{Steering, Watched};

/// From one moment of the curves to the next, and from one drawing of them to the next.
const MOMENT: Duration = Duration::from_millis(500);
const DRAWING: Duration = Duration::from_secs(1);

/// The places in [`PARTS`].
const NOW: usize = 0;
const LAYOUT: usize = 1;
const LOADS: usize = 2;
const CURVES: usize = 3;
const MATRIX: usize = 4;

/// What a run is at, in numbers that both kinds of runs have.
struct Counts {
    time: Time,
    work: u64,
    threads: u32,
    is_stopping: bool,
}

/// Samples a run for all clients.
pub(super) struct Sampler {
    facts: Facts,
    watched: Watched,
    gauges: Gauges,
    slot: Arc<Slot>,
    start: Instant,
    speed: Speed,
    rate: f64,
    course: Course,
    model_course: ModelCourse,
    /// Of the model's curves.
    names: Vec<String>,
    pending: Vec<usize>,
    herd: herd::Herd,
    next_moment: Duration,
    next_drawing: Duration,
    parts: [Part; PARTS.len()],
    is_watched: bool,
}

impl Sampler {
    pub(super) fn new(facts: Facts, watched: Watched, gauges: Gauges, slot: Arc<Slot>) -> Self {
        Self {
            facts,
            watched,
            gauges,
            slot,
            start: Instant::now(),
            speed: Speed::start(),
            rate: 0.0,
            course: Course::default(),
            model_course: ModelCourse::default(),
            names: Vec::new(),
            pending: Vec::new(),
            herd: herd::Herd::default(),
            next_moment: Duration::ZERO,
            next_drawing: Duration::ZERO,
            parts: Default::default(),
            is_watched: false,
        }
    }

    /// Whether anybody watches.
    pub(super) fn is_watched(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    /// The run as it is now; its last frame where it has ended.
    pub(super) fn sample(&mut self, is_last: bool) -> Frame {
        if let Some(seen) = self.slot.take() {
            self.see(seen);
        }
        // A run of LPs must be asked back for a look; what is seen of processes is counted while they run.
        if self.is_watched && !is_last && self.slot.want() {
            match &self.watched {
                Watched::Lps { steering, .. } => steering.wake(),
                #[cfg(feature = "processes")]
                Watched::Processes { .. } => {}
            }
        }
        let (counts, gauges) = (self.counts(), self.gauges.look());
        let real = self.start.elapsed();
        if real >= self.next_moment || is_last {
            self.next_moment = real + MOMENT;
            self.rate = self.speed.update(counts.work);
            self.note(real, &counts, &gauges);
        }
        // A run may end before anybody who came lately has been counted: the last frame is whole.
        #[cfg(feature = "processes")]
        if (self.is_watched || is_last)
            && let Some(picture) = self.facts.ring.as_ref().and_then(Ring::draw)
        {
            self.show(counts.time, &picture);
        }
        if self.is_watched || is_last {
            let now = self.now(real, &counts, &gauges, is_last).to_string();
            self.parts[NOW].set(now);
            if real >= self.next_drawing || is_last {
                self.next_drawing = real + DRAWING;
                self.draw();
            }
        }
        Frame { parts: self.parts.clone(), is_last }
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
    fn work(&self) -> &'static str {
        match &self.watched {
            Watched::Lps { .. } => "events",
            #[cfg(feature = "processes")]
            Watched::Processes { .. } => "steps",
        }
    }

    fn steering(&self) -> Option<&Steering> {
        match &self.watched {
            Watched::Lps { steering, .. } => Some(steering),
            #[cfg(feature = "processes")]
            Watched::Processes { .. } => None,
        }
    }

    /// Takes in what a look has shown.
    fn see(&mut self, seen: Seen) {
        self.pending = seen.pending;
        if let Some(picture) = seen.picture {
            self.show(seen.at, &picture);
        }
    }

    /// Takes in a picture of the model.
    fn show(&mut self, at: Time, picture: &Picture) {
        let (layout, loads) = picture::texts(picture);
        self.parts[LAYOUT].set(layout);
        self.parts[LOADS].set(loads);
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
        let mut numbers = [0.0; 5];
        numbers[SIMULATED_S] = counts.time.as_secs_f64();
        numbers[EVENTS] = counts.work as f64;
        numbers[EFFICIENCY] = 100.0 * efficiency(gauges);
        numbers[WAITING] = self.pending.iter().sum::<usize>() as f64;
        numbers[MEMORY_MB] = memory::resident_bytes().unwrap_or(0) as f64 / 1e6;
        self.course.push(real.as_secs_f64(), numbers);
    }

    /// Draws the curves and the matrix anew.
    fn draw(&mut self) {
        let html = curves::html(&self.course, &self.model_course, &self.names, self.work());
        if !html.is_empty() {
            self.parts[CURVES].set(html);
        }
        let messages = self.gauges.messages();
        // A single federate sends nothing to others.
        if messages.side > 1 {
            self.parts[MATRIX].set(json!({ "side": messages.side, "counts": messages.counts }).to_string());
        }
    }

    /// What changes all the time.
    fn now(&mut self, real: Duration, counts: &Counts, gauges: &[Gauge], is_last: bool) -> Value {
        let facts = &self.facts;
        let until = facts.until.filter(|until| *until < Time::MAX);
        let mut now = Map::new();
        let mut put = |name: &str, value: Value| now.insert(name.into(), value);
        put("scenario", facts.scenario.clone().into());
        put("model", facts.model.into());
        put("protocol", facts.protocol.into());
        put("work", self.work().into());
        put("real", real.as_secs_f64().into());
        put("simulated", counts.time.as_secs_f64().into());
        put("until", until.map(Time::as_secs_f64).into());
        put("lookahead", facts.lookahead.as_secs_f64().into());
        put("events", counts.work.into());
        put("rate", self.rate.into());
        put("threads", counts.threads.into());
        put("memory", memory::resident_bytes().into());
        put("waiting", self.pending.iter().sum::<usize>().into());
        put("efficiency", efficiency(gauges).into());
        put("undone", gauges.iter().map(|gauge| gauge.undone).sum::<u64>().into());
        put("rollbacks", gauges.iter().map(|gauge| gauge.rollbacks).sum::<u64>().into());
        put("stopping", counts.is_stopping.into());
        put("ended", is_last.into());
        if let Some(steering) = self.steering() {
            put("paused", steering.is_paused().into());
            put("pace", steering.pace().into());
        }
        let herd = self.herd.shown(counts.time, until, gauges, &self.pending, &self.gauges.waited_ns());
        put("herd", herd);
        Value::Object(now)
    }
}

/// The part of all events run that is not undone.
fn efficiency(gauges: &[Gauge]) -> f64 {
    let sum = |of: fn(&Gauge) -> u64| gauges.iter().map(of).sum::<u64>();
    let (run, undone) = (sum(|gauge| gauge.events), sum(|gauge| gauge.undone));
    if run == 0 { 1.0 } else { 1.0 - undone as f64 / run as f64 }
}

//! Frames of a run that is sampled: what changed, as JSON and HTML.
//!
//! Invariant: nothing is put into words that nobody watches.

mod herd;

use std::time::Duration;

use paceline_engine::Gauge;
use paceline_kernel::Time;
use paceline_report::{Figure, svg};
use serde_json::{Map, Value, json};

use super::frame::{Frame, PARTS, Part};
use super::picture;
use crate::memory;
use crate::sampling::{self, Counts, Sample, curves, efficiency};

/// From one drawing of the curves to the next.
const DRAWING: Duration = Duration::from_secs(1);

/// The places in [`PARTS`].
const NOW: usize = 0;
const LAYOUT: usize = 1;
const LOADS: usize = 2;
const CURVES: usize = 3;
const MATRIX: usize = 4;

/// Samples a run for all clients.
pub(super) struct Sampler {
    run: sampling::Sampler,
    herd: herd::Herd,
    next_drawing: Duration,
    parts: [Part; PARTS.len()],
    is_watched: bool,
}

impl Sampler {
    pub(super) fn new(run: sampling::Sampler) -> Self {
        Self {
            run,
            herd: herd::Herd::default(),
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
        let Sample { real, counts, gauges, picture } = self.run.sample(self.is_watched, is_last);
        if let Some((_, picture)) = picture {
            let (layout, loads) = picture::texts(&picture);
            self.parts[LAYOUT].set(layout);
            self.parts[LOADS].set(loads);
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

    /// Draws the curves and the matrix anew.
    fn draw(&mut self) {
        let run = &self.run;
        let mut figures = curves::of_run(&run.course, run.work());
        figures.extend(curves::of_model(&run.model_course, &run.names));
        let html = html(&figures);
        if !html.is_empty() {
            self.parts[CURVES].set(html);
        }
        let messages = run.gauges.messages();
        // A single federate sends nothing to others.
        if messages.side > 1 {
            self.parts[MATRIX].set(json!({ "side": messages.side, "counts": messages.counts }).to_string());
        }
    }

    /// What changes all the time.
    fn now(&mut self, real: Duration, counts: &Counts, gauges: &[Gauge], is_last: bool) -> Value {
        let run = &self.run;
        let facts = &run.facts;
        let until = facts.until.filter(|until| *until < Time::MAX);
        let mut now = Map::new();
        let mut put = |name: &str, value: Value| now.insert(name.into(), value);
        put("scenario", facts.scenario.clone().into());
        put("model", facts.model.into());
        put("protocol", facts.protocol.into());
        put("work", run.work().into());
        put("real", real.as_secs_f64().into());
        put("simulated", counts.time.as_secs_f64().into());
        put("until", until.map(Time::as_secs_f64).into());
        put("lookahead", facts.lookahead.as_secs_f64().into());
        put("events", counts.work.into());
        put("rate", run.rate.into());
        put("threads", counts.threads.into());
        put("memory", memory::resident_bytes().into());
        put("waiting", run.pending.iter().sum::<usize>().into());
        put("efficiency", efficiency(gauges).into());
        put("undone", gauges.iter().map(|gauge| gauge.undone).sum::<u64>().into());
        put("rollbacks", gauges.iter().map(|gauge| gauge.rollbacks).sum::<u64>().into());
        put("stopping", counts.is_stopping.into());
        put("ended", is_last.into());
        if let Some(steering) = run.steering() {
            put("paused", steering.is_paused().into());
            put("pace", steering.pace().into());
        }
        let herd = self.herd.shown(counts.time, until, gauges, &run.pending, &run.gauges.waited_ns());
        put("herd", herd);
        Value::Object(now)
    }
}

/// Figures as HTML, each with its title.
fn html(figures: &[Figure]) -> String {
    let drawn = figures.iter().enumerate().filter_map(|(number, figure)| {
        // What cannot be drawn is left out; the numbers stand beside.
        let svg = svg(figure, &format!("curve{number}")).ok()?;
        Some(format!("<figure><figcaption>{}</figcaption>{svg}</figure>", title(&figure.title)))
    });
    // A line of an event must not have one.
    drawn.collect::<String>().replace('\r', " ")
}

/// A title as HTML, with a capital: a model may have named it.
fn title(title: &str) -> String {
    let mut letters = title.chars();
    let title: String =
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

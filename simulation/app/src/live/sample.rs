//! Frames of a run that is sampled: what changed, as JSON and HTML.
//!
//! Invariant: nothing is put into words that nobody watches.

mod herd;

pub(super) use herd::counted;

use std::time::Duration;

use paceline_engine::Gauge;
use paceline_kernel::Time;
use paceline_report::{Figure, svg};
use serde_json::{Map, Value, json};

use super::frame::{Frame, Frames, PARTS, Part, part};
use super::picture;
use crate::memory;
use crate::sampling::{self, Counts, Sample, curves, efficiency};
use crate::steer::described;

/// From one drawing of the curves to the next.
const DRAWING: Duration = Duration::from_secs(1);

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

    /// Draws the curves and the matrix anew.
    fn draw(&mut self) {
        let run = &self.run;
        let mut figures = curves::of_run(&run.course, run.work());
        figures.extend(curves::of_model(&run.model_course, &run.names));
        let html = html(&figures);
        if !html.is_empty() {
            self.parts[part::CURVES].set(html);
        }
        let messages = run.gauges.messages();
        // A single federate sends nothing to others.
        if messages.side > 1 {
            let matrix = json!({ "part": "federate", "side": messages.side, "counts": messages.counts });
            self.parts[part::MATRIX].set(matrix.to_string());
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
        put("processes", facts.processes.into());
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
        put("can", run.watched.requests().into());
        put("stopping", counts.is_stopping.into());
        put("ended", is_last.into());
        if let Some(steering) = run.steering() {
            put("paused", steering.is_paused().into());
            put("pace", steering.pace().into());
        }
        let mut herd = self.herd.shown(counts.time, until, gauges, &run.pending, &run.gauges.waited_ns());
        if let Some(outside) = run.outside.get() {
            herd::name_outside(&mut herd, counts.time, outside);
        }
        put("herd", herd);
        Value::Object(now)
    }
}

impl Frames for Sampler {
    fn is_watched(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    fn sample(&mut self, is_last: bool) -> Frame {
        let Sample { real, counts, gauges, picture } = self.run.sample(self.is_watched, is_last);
        if let Some((_, picture)) = picture {
            let (layout, loads) = picture::texts(&picture);
            self.parts[part::LAYOUT].set(layout);
            self.parts[part::LOADS].set(loads);
        }
        if self.is_watched || is_last {
            let now = self.now(real, &counts, &gauges, is_last).to_string();
            self.parts[part::NOW].set(now);
            if let Some(steering) = self.run.steering() {
                self.parts[part::PARAMETERS].set(described(&steering.parameters()).to_string());
            }
            if real >= self.next_drawing || is_last {
                self.next_drawing = real + DRAWING;
                self.draw();
            }
        }
        Frame { parts: self.parts.clone(), is_last }
    }
}

/// Figures as HTML, each with its title.
pub(super) fn html(figures: &[Figure]) -> String {
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

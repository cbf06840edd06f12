//! The words by which a run is asked for something, one line each, and its answers: for `paceline ctl` and
//! for the live page.
//!
//! What can be read at any moment comes from the [`Monitor`]; what the run must stand still for is a
//! [`Request`] to its owner.
//!
//! Invariant: an answer is one line.

use std::time::Duration;

use paceline_engine::Monitor;

use super::{Request, Setting, Steering};
use crate::text;

/// What requests are about.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    scenario: String,
    watched: Watched,
    /// The longest wait for an answer of the run.
    patience: Duration,
}

/// A run, and what it can be asked.
#[derive(Clone, Debug)]
pub(crate) enum Watched {
    Lps {
        steering: Steering,
        /// Whether its number of threads can change.
        is_elastic: bool,
    },
    #[cfg(feature = "processes")]
    Processes { control: paceline_processes::Control, threads: u32 },
}

impl Watched {
    /// What it answers at this time, beside `status`, by the first words.
    #[cfg(feature = "live")]
    pub(crate) fn requests(&self) -> &'static [&'static str] {
        match self {
            // It has several processes, or has ended.
            Self::Lps { steering, .. } if steering.is_over() => &["threads", "stop"],
            Self::Lps { is_elastic: true, .. } => &LPS,
            Self::Lps { .. } => &LPS[1..],
            #[cfg(feature = "processes")]
            Self::Processes { .. } => &["pause", "step", "go", "stop", "why"],
        }
    }
}

/// What a run of LPs answers; the first only where it has several threads.
#[cfg(feature = "live")]
static LPS: [&str; 9] = ["threads", "pause", "go", "window", "step", "pace", "set", "checkpoint", "stop"];

impl Requests {
    /// To the run of `scenario`, which answers within `patience`.
    pub(crate) fn new(scenario: &str, watched: Watched, patience: Duration) -> Self {
        Self { scenario: scenario.replace('\n', " "), watched, patience }
    }

    /// What the run says to a request, and does for it; an error says what is allowed.
    pub(crate) fn answer(&self, request: &str) -> Result<String, String> {
        let scenario = &self.scenario;
        // By this all runs are asked who they are, whatever they run.
        if request == "name" {
            return Ok(scenario.clone());
        }
        match &self.watched {
            Watched::Lps { steering, is_elastic } => self.answer_of_lps(steering, *is_elastic, request),
            #[cfg(feature = "processes")]
            Watched::Processes { control, threads } => self.answer_of_processes(control, *threads, request),
        }
    }

    fn answer_of_lps(&self, steering: &Steering, is_elastic: bool, request: &str) -> Result<String, String> {
        let (scenario, monitor) = (&self.scenario, steering.monitor());
        let ask = |request| {
            let said = steering.ask(request, self.patience);
            said.map(|said| format!("{scenario}: {said}")).map_err(|problem| format!("{scenario}: {problem}"))
        };
        match request.split(' ').collect::<Vec<_>>()[..] {
            ["status"] => Ok(status(scenario, steering)),
            ["threads", _] if !is_elastic => {
                Err(format!("{scenario} runs under protocol \"sequential\", on one thread"))
            }
            ["threads", number] => {
                let threads = number.parse().map_err(|_| format!("{number} is no number of threads"))?;
                monitor.set_threads(threads).map_err(|error| error.to_string())?;
                Ok(format!("{scenario}: threads {threads} from now on"))
            }
            ["pause"] => ask(Request::Pause),
            ["go"] => ask(Request::Go),
            ["window"] => ask(Request::Window),
            ["step"] => ask(Request::Event),
            ["checkpoint"] => ask(Request::Checkpoint),
            ["pace", "free"] => ask(Request::Pace(None)),
            ["pace", factor] => match factor.parse() {
                Ok(factor) if factor > 0.0 && f64::is_finite(factor) => ask(Request::Pace(Some(factor))),
                _ => Err(format!("a pace of {factor}; allowed: a number above 0, or free")),
            },
            ["set"] => ask(Request::Parameters),
            ["set", set, to] => ask(Request::Set(Setting::new(set, to, None))),
            ["set", set, to, "at", at] => ask(Request::Set(Setting::new(set, to, Some(at)))),
            // Not asked for as the others are: also a run that comes to no requests is to stop.
            ["stop"] => {
                monitor.stop();
                Ok(format!("{scenario}: stops"))
            }
            ["why", ..] => {
                Err(format!("{scenario} is a model of LPs; {request:?} is for models of processes"))
            }
            _ => Err(format!(
                "unknown request {request:?}; there are status, threads, pause, go, window, step, pace, set, \
                 checkpoint and stop"
            )),
        }
    }

    #[cfg(feature = "processes")]
    fn answer_of_processes(
        &self,
        control: &paceline_processes::Control,
        threads: u32,
        request: &str,
    ) -> Result<String, String> {
        let (scenario, patience) = (&self.scenario, self.patience);
        let answer = match request.split_once(' ').unwrap_or((request, "")) {
            ("status", "") => {
                let (time, steps) = (control.time(), text::count(control.steps()));
                return Ok(format!(
                    "{scenario}: at {time}, {steps} steps in rounds that are over, threads {threads}"
                ));
            }
            ("threads", _) => {
                return Err(format!("{scenario} is a model of processes, whose number of threads stays"));
            }
            ("window" | "pace" | "set" | "checkpoint", _) => {
                return Err(format!("{scenario} is a model of processes; {request:?} is for models of LPs"));
            }
            ("why", process) => control.why(process, patience),
            ("pause", "") => control.pause(patience),
            ("step", "") => control.step(patience),
            ("go", "") => control.go_on(patience),
            ("stop", "") => {
                control.stop();
                return Ok(format!("{scenario}: stops"));
            }
            _ => {
                return Err(format!(
                    "unknown request {request:?}; there are status, why, pause, step, go and stop"
                ));
            }
        };
        answer.map_err(|error| format!("{scenario}: {error}"))
    }
}

/// How far a run has come.
fn status(scenario: &str, steering: &Steering) -> String {
    let monitor: &Monitor = steering.monitor();
    let (time, events) = (monitor.time(), text::count(monitor.events()));
    let paused = if steering.is_paused() { ", paused" } else { "" };
    format!("{scenario}: at {time}, {events} events, threads {}{paused}", monitor.threads())
}

//! Runs a model of handlers: on a thread of its own, so that the caller hears Ctrl-C meanwhile.
//!
//! Invariants: the GIL is free while it runs; nobody returns to Python before the run has ended, as its
//! handlers and parameters belong to the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use paceline_engine::{Monitor, Protocol, Report, RunError, Simulation};
use paceline_kernel::{EventError, EventErrorKind, LpId, Model, PanicError, Time};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::handlers::{Declared, Final, Handlers};
use super::layout::PyLayout;
use super::values::{Many, Words};
use super::workers::Links;

/// How often the caller looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// How a model is to be run; None is the engine's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    pub protocol: String,
    pub seed: u64,
    pub until: Option<u64>,
    pub threads: Option<u32>,
    pub federates: Option<u32>,
}

impl Settings {
    pub fn apply<M: Model>(self, mut run: Simulation<M>, monitor: &Monitor) -> PyResult<Simulation<M>> {
        let Some((protocol, ..)) = Protocol::ALL.into_iter().find(|(_, name, _)| *name == self.protocol)
        else {
            let names: Vec<&str> = Protocol::ALL.iter().map(|(_, name, _)| *name).collect();
            let message = format!("protocol \"{}\"; allowed: {}", self.protocol, names.join(", "));
            return Err(PyValueError::new_err(message));
        };
        run = run.protocol(protocol).seed(self.seed).monitor(monitor);
        if let Some(until) = self.until {
            run = run.until(Time::nanos(until));
        }
        if let Some(threads) = self.threads {
            run = run.threads(threads);
        }
        Ok(match self.federates {
            Some(federates) => run.federates(federates),
            None => run,
        })
    }
}

/// What a model is, with the addresses of its handlers.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Parts<'py> {
    lps: u32,
    lookahead: u64,
    channels: Option<Vec<Vec<(u32, u64)>>>,
    parameters: Bound<'py, PyBytes>,
    state: Bound<'py, PyLayout>,
    message: Bound<'py, PyLayout>,
    init: usize,
    handle: usize,
}

impl Parts<'_> {
    fn declare(self) -> Declared {
        let bytes = self.parameters.as_bytes();
        let mut parameters = vec![0; bytes.len().div_ceil(8)];
        for (word, bytes) in parameters.iter_mut().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
        let of_lp = |channels: Vec<(u32, u64)>| -> Vec<(LpId, Time)> {
            channels.into_iter().map(|(to, ns)| (LpId(to), Time::nanos(ns))).collect()
        };
        // SAFETY: `_model.py` made functions of this signature, and keeps them until `run_model` returns.
        let handler = |address: usize| unsafe { std::mem::transmute(address) };
        Declared {
            lps: self.lps,
            lookahead: Time::nanos(self.lookahead),
            channels: self.channels.map(|channels| channels.into_iter().map(of_lp).collect()),
            parameters,
            state: self.state.get().0,
            message: self.message.get().0,
            init: handler(self.init),
            handle: handler(self.handle),
            raised: Mutex::default(),
        }
    }
}

/// Calls `work` on another thread, with the GIL free, and asks the run to stop at the first signal whose
/// handler raises, which comes with the result, or when `ending`, an event of Python's `threading`, is set.
pub fn hearing<T: Send>(
    python: Python<'_>,
    ending: Option<&Bound<'_, PyAny>>,
    stop: impl Fn(),
    work: impl FnOnce() -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    std::thread::scope(|scope| {
        let (done, result) = mpsc::channel();
        // The engine catches panics of models: one that comes here is a fault of ours, and is passed on by
        // the channel.
        let worker = std::thread::Builder::new().name("paceline-run".into()).spawn_scoped(scope, move || {
            // The receiver is there until this has been sent.
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        });
        if let Err(error) = worker {
            return Err(PyMemoryError::new_err(format!("no thread could be started: {error}")));
        }
        // Only one thread has it, which `detach` cannot know.
        let result = Mutex::new(result);
        let mut interrupted = None;
        loop {
            let wait = || result.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv_timeout(LOOK);
            match python.detach(wait) {
                Ok(Ok(value)) => return Ok((value, interrupted)),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Asking the event is Python code, in which a signal's handler may raise as well.
            let is_set = |event: &Bound<'_, PyAny>| event.call_method0("is_set")?.is_truthy();
            let looked = ending.map_or(Ok(false), is_set);
            match looked.and_then(|ending| python.check_signals().map(|()| ending)) {
                Ok(false) => {}
                Ok(true) => stop(),
                Err(error) => {
                    stop();
                    interrupted.get_or_insert(error);
                }
            }
        }
    })
}

/// What a report says, by name.
pub fn describe<'py, O>(python: Python<'py>, report: &Report<O>) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(python);
    said.set_item("digest", report.digest.to_string())?;
    said.set_item("protocol", report.protocol.name())?;
    said.set_item("threads", report.threads)?;
    said.set_item("processes", report.processes)?;
    said.set_item("federates", report.federates)?;
    said.set_item("lps", report.lps)?;
    said.set_item("events_committed", report.events)?;
    said.set_item("events_rolled_back", report.rollbacks.as_ref().map_or(0, |rollbacks| rollbacks.undone))?;
    said.set_item("end_time_ns", report.end_time.as_nanos())?;
    said.set_item("ended_by", report.ended_by.name())?;
    said.set_item("wall_s", report.wall.as_secs_f64())?;
    Ok(said)
}

/// Runs a model. `parts` and `settings` are dicts with the fields of `Parts` and `Settings`;
/// `ending` is as in `hearing`; with `links` this process is one of the run's workers. Returns what the
/// report says, the numbers of LPs and their final states, in one order; or what `explain` gives.
#[pyfunction]
#[pyo3(signature = (parts, settings, ending, links=None))]
pub fn run_model<'py>(
    python: Python<'py>,
    parts: Parts<'py>,
    settings: Settings,
    ending: Bound<'py, PyAny>,
    links: Option<Bound<'py, Links>>,
) -> PyResult<(Option<Bound<'py, PyDict>>, Bound<'py, PyAny>)> {
    let declared = Arc::new(parts.declare());
    let links = links.as_ref().map(|links| links.get());
    match declared.message.words() {
        0 => run::<[u64; 0]>(python, &declared, settings, &ending, links),
        1..=2 => run::<[u64; 2]>(python, &declared, settings, &ending, links),
        _ => run::<Many>(python, &declared, settings, &ending, links),
    }
}

fn run<'py, W: Words>(
    python: Python<'py>,
    declared: &Arc<Declared>,
    settings: Settings,
    ending: &Bound<'py, PyAny>,
    links: Option<&Links>,
) -> PyResult<(Option<Bound<'py, PyDict>>, Bound<'py, PyAny>)> {
    let monitor = Monitor::new();
    let mut simulation = settings.apply(Simulation::new(Handlers::<W>::new(declared)), &monitor)?;
    if let Some(links) = links {
        simulation = links.join(simulation);
    }
    let (result, interrupted) = hearing(python, Some(ending), || monitor.stop(), || simulation.run())?;
    if let Some(error) = interrupted.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(python)) {
        return Err(error);
    }
    match result {
        Ok(report) => {
            let said = describe(python, &report)?;
            let (lps, states) =
                report.outputs.into_iter().fold((vec![], vec![]), |(mut lps, mut states), part: Final| {
                    lps.extend(part.lps);
                    states.extend(part.states);
                    (lps, states)
                });
            let ends = (lps, PyBytes::new(python, &states)).into_pyobject(python)?;
            Ok((Some(said), ends.into_any()))
        }
        Err(error) => Ok((None, explain(python, declared, error)?)),
    }
}

/// What an error is to Python: its kind, where it was, its text, the LP and the time where it has these, and
/// the exception raised.
fn explain<'py>(python: Python<'py>, declared: &Declared, error: RunError) -> PyResult<Bound<'py, PyAny>> {
    let mut kept = declared.raised.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (kind, place, text, lp, at) = match error {
        RunError::Event(EventError { kind: EventErrorKind::Panic(note), lp, at, event }) => {
            let place = format!("{lp} at {at}, handling {event}");
            ("event", place, note.message, Some(lp.0), Some(at.as_nanos()))
        }
        RunError::Rule(rule) => {
            ("rule", String::new(), rule.to_string(), Some(rule.from.0), Some(rule.now.as_nanos()))
        }
        RunError::Panic(PanicError { asked, note }) => {
            let asked = asked.unwrap_or_default();
            let place = asked.strip_prefix("`init` of ").unwrap_or(&asked).to_owned();
            let lp = place.strip_prefix("LP ").and_then(|number| number.parse().ok());
            ("init", place, note.message, lp, lp.map(|_| 0))
        }
        RunError::Peers(error) if !error.is_mistake() => {
            ("worker", format!("worker {}", error.rank), error.kind.to_string(), None, None)
        }
        error => ("settings", String::new(), error.to_string(), None, None),
    };
    let raised =
        lp.zip(at).and_then(|(lp, at)| kept.remove(&(at, lp))).map(|raised| raised.into_value(python));
    Ok((kind, place, text, lp, at, raised).into_pyobject(python)?.into_any())
}

//! Processes in Python on SimGrid's platforms: the body of each is a coroutine, which the process drives.
//!
//! What a coroutine awaits is a tuple that says what it asks for; `python/paceline/peers.py` makes them. The
//! core of `paceline-processes` answers requests as it answers those of processes in Rust, so that a program
//! has the digest of the Rust program of the same text.
//!
//! Invariants: Python code runs with the GIL and within the turn of its process only; an exception ends the
//! run with the process named, and is kept for its caller.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use paceline_kernel::{Rng, Time};
use paceline_network::{FlowModel, HostId, Platform, read};
use paceline_processes::{Control, Process, ProcessId, Report, RequestError, RunError, Simulation};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::model::hearing;

#[cfg(feature = "reference")]
mod reference;

type Payload = Py<PyAny>;

/// What all processes of a run share.
struct World {
    platform: Platform,
    /// `RequestError` of `peers.py`.
    failure: Py<PyAny>,
    /// By process.
    raised: Mutex<BTreeMap<u32, PyErr>>,
}

impl World {
    /// The host of this name or number.
    fn host(&self, host: &Bound<'_, PyAny>) -> PyResult<HostId> {
        if let Ok(name) = host.extract::<String>() {
            return self.platform.host(&name).ok_or_else(|| {
                let some: Vec<&str> = self.platform.hosts().iter().take(5).map(|host| &*host.name).collect();
                PyValueError::new_err(format!(
                    "there is no host \"{name}\"; there are {}, ...",
                    some.join(", ")
                ))
            });
        }
        let hosts = self.platform.hosts().len();
        match host.extract::<u32>() {
            Ok(number) if (number as usize) < hosts => Ok(HostId(number)),
            _ => {
                Err(PyValueError::new_err(format!("host {host}; allowed: a name, or a number below {hosts}")))
            }
        }
    }
}

/// What a process acts by while it is its turn; `peers.Context` has it.
#[pyclass(frozen, name = "Turn", module = "paceline._native")]
struct Turn {
    process: Process<Payload>,
    /// The thread whose turn of this process it is.
    thread: Mutex<Option<ThreadId>>,
}

impl Turn {
    fn set(&self, thread: Option<ThreadId>) {
        *self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = thread;
    }

    fn act<T>(&self, act: impl FnOnce(&Process<Payload>) -> T) -> PyResult<T> {
        let turn = *self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if turn == Some(thread::current().id()) {
            return Ok(act(&self.process));
        }
        let name = self.process.name();
        Err(PyRuntimeError::new_err(format!(
            "the context of process \"{name}\" was used outside of its code"
        )))
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> PyResult<T> {
        self.act(|process| process.draw(draw))
    }
}

#[pymethods]
impl Turn {
    fn now_ns(&self) -> PyResult<u64> {
        self.act(|process| process.now().as_nanos())
    }
    fn id(&self) -> u32 {
        self.process.id().0
    }
    fn name(&self) -> &str {
        self.process.name()
    }
    fn host(&self) -> u32 {
        self.process.host().0
    }
    fn record(&self, number: u64) -> PyResult<()> {
        self.act(|process| process.record(number))
    }
    fn kill(&self, process: u32) -> PyResult<()> {
        self.act(|this| this.kill(ProcessId(process)))
    }
    fn daemonize(&self) -> PyResult<()> {
        self.act(Process::daemonize)
    }
    fn send_detached(&self, to: &str, payload: Payload, bytes: f64) -> PyResult<()> {
        let bytes = amount("bytes", bytes)?;
        self.act(|process| process.send_detached(to, payload, bytes))
    }
    fn unit(&self) -> PyResult<f64> {
        self.draw(Rng::unit)
    }
    fn below(&self, n: u64) -> PyResult<u64> {
        self.draw(|rng| rng.below(n))
    }
    fn chance(&self, probability: f64) -> PyResult<bool> {
        self.draw(|rng| rng.chance(probability))
    }
    fn exponential(&self, mean: f64) -> PyResult<f64> {
        self.draw(|rng| rng.exponential(mean))
    }
    fn normal(&self, mean: f64, deviation: f64) -> PyResult<f64> {
        self.draw(|rng| rng.normal(mean, deviation))
    }
}

/// What a coroutine awaits.
enum Asked {
    Yield,
    Sleep(Time),
    SleepUntil(Time),
    Compute(f64),
    Send(String, Payload, f64, Option<Time>),
    Receive(String, Option<Time>),
    Spawn(Peer),
    Join(ProcessId, Option<Time>),
}

fn amount(what: &str, amount: f64) -> PyResult<f64> {
    if amount >= 0.0 && amount.is_finite() {
        return Ok(amount);
    }
    Err(PyValueError::new_err(format!("{what}: {amount}; allowed: zero or more, and finite")))
}

fn time(what: &str, seconds: f64) -> PyResult<Time> {
    Time::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

impl Asked {
    fn read(tuple: &Bound<'_, PyTuple>, world: &World) -> PyResult<Self> {
        let limit = |place: usize| -> PyResult<Option<Time>> {
            tuple.get_item(place)?.extract::<Option<f64>>()?.map(|limit| time("limit", limit)).transpose()
        };
        let number = |place: usize| tuple.get_item(place)?.extract::<f64>();
        Ok(match tuple.get_item(0)?.extract::<String>()?.as_str() {
            "yield" => Self::Yield,
            "sleep" => Self::Sleep(time("sleep", number(1)?)?),
            "sleep_until" => Self::SleepUntil(time("sleep_until", number(1)?)?),
            "compute" => Self::Compute(amount("compute", number(1)?)?),
            "send" => {
                let payload = tuple.get_item(2)?.unbind();
                Self::Send(tuple.get_item(1)?.extract()?, payload, amount("bytes", number(3)?)?, limit(4)?)
            }
            "receive" => Self::Receive(tuple.get_item(1)?.extract()?, limit(2)?),
            "join" => Self::Join(ProcessId(tuple.get_item(1)?.extract()?), limit(2)?),
            "spawn" => Self::Spawn(Peer {
                name: tuple.get_item(1)?.extract()?,
                host: world.host(&tuple.get_item(2)?)?,
                begin: tuple.get_item(3)?.unbind(),
            }),
            other => return Err(PyTypeError::new_err(format!("a request `{other}` that is not there"))),
        })
    }
}

/// A process to be: `begin` makes its coroutine of its `Turn`.
struct Peer {
    name: String,
    host: HostId,
    begin: Py<PyAny>,
}

/// What a coroutine is resumed with: a value, or the error that its request met.
type Answer = Result<Option<Py<PyAny>>, RequestError>;

/// The code of a process: it resumes the coroutine, and asks for what that awaits.
async fn drive(process: Process<Payload>, begin: Py<PyAny>, world: Arc<World>) {
    let begun = Python::attach(|python| {
        let turn = Bound::new(python, Turn { process: process.clone(), thread: Mutex::new(None) })?;
        turn.get().set(Some(thread::current().id()));
        let coroutine = begin.call1(python, (&turn,));
        turn.get().set(None);
        Ok((turn.unbind(), coroutine?))
    });
    drop(begin);
    let (turn, coroutine) = begun.unwrap_or_else(|error| end(&process, &world, error));
    let mut answer: Answer = Ok(None);
    loop {
        let resumed = Python::attach(|python| resume(python, &turn, &coroutine, answer, &world));
        let asked = match resumed {
            Ok(Some(asked)) => asked,
            Ok(None) => return,
            Err(error) => end(&process, &world, error),
        };
        let nothing = |done: Result<(), RequestError>| done.map(|()| None);
        answer = match asked {
            Asked::Yield => {
                process.yield_now().await;
                Ok(None)
            }
            Asked::Sleep(span) => {
                process.sleep(span).await;
                Ok(None)
            }
            Asked::SleepUntil(time) => {
                process.sleep_until(time).await;
                Ok(None)
            }
            Asked::Compute(flops) => nothing(process.compute(flops).await),
            Asked::Send(to, payload, bytes, None) => nothing(process.send(&*to, payload, bytes).await),
            Asked::Send(to, payload, bytes, Some(limit)) => {
                nothing(process.send_within(&*to, payload, bytes, limit).await)
            }
            Asked::Receive(from, None) => process.receive(&*from).await.map(Some),
            Asked::Receive(from, Some(limit)) => process.receive_within(&*from, limit).await.map(Some),
            Asked::Join(other, None) => nothing(process.join(other).await),
            Asked::Join(other, Some(limit)) => nothing(process.join_within(other, limit).await),
            Asked::Spawn(Peer { name, host, begin }) => {
                let world = world.clone();
                let spawned = process.spawn(&name, host, move |process| peer(process, begin, world)).await;
                spawned.map(|id| Some(Python::attach(|python| number(python, id.0))))
            }
        };
    }
}

/// A process that another has spawned: its future is of a type that does not contain itself.
fn peer(
    process: Process<Payload>,
    begin: Py<PyAny>,
    world: Arc<World>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(drive(process, begin, world))
}

fn number(python: Python<'_>, number: u32) -> Py<PyAny> {
    match number.into_pyobject(python) {
        Ok(number) => number.into_any().unbind(),
        Err(error) => match error {},
    }
}

/// Resumes a coroutine until it awaits the next thing; nothing where it has ended.
fn resume(
    python: Python<'_>,
    turn: &Py<Turn>,
    coroutine: &Py<PyAny>,
    answer: Answer,
    world: &World,
) -> PyResult<Option<Asked>> {
    turn.get().set(Some(thread::current().id()));
    let mut step = match answer {
        Ok(value) => coroutine.call_method1(python, "send", (value,)),
        Err(failure) => {
            let error = world.failure.call1(python, (failure.to_string(), format!("{failure:?}")))?;
            coroutine.call_method1(python, "throw", (error,))
        }
    };
    let asked = loop {
        let awaited = match step {
            Ok(awaited) => awaited.into_bound(python),
            Err(error) if error.is_instance_of::<PyStopIteration>(python) => break Ok(None),
            Err(error) => break Err(error),
        };
        let read = match awaited.cast::<PyTuple>() {
            Ok(tuple) => Asked::read(tuple, world),
            Err(_) => Err(PyTypeError::new_err(format!(
                "a process awaits {awaited}; it may only await what its context gives it"
            ))),
        };
        match read {
            Ok(asked) => break Ok(Some(asked)),
            // Raised at the line that awaits.
            Err(error) => step = coroutine.call_method1(python, "throw", (error.into_value(python),)),
        }
    };
    turn.get().set(None);
    asked
}

/// Ends the run with an exception of a process.
fn end(process: &Process<Payload>, world: &World, error: PyErr) -> ! {
    let mut raised = world.raised.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    raised.insert(process.id().0, error);
    drop(raised);
    // No `panic!`: its hook prints, and the exception says it all.
    resume_unwind(Box::new("an exception".to_owned()));
}

/// How processes are to be run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    model: String,
    seed: u64,
    until_s: Option<f64>,
    threads: usize,
}

/// Adds what `python/paceline/peers.py` uses.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Turn>()?;
    #[cfg(feature = "reference")]
    module.add_function(wrap_pyfunction!(reference::run_reference_peers, module)?)?;
    module.add_function(wrap_pyfunction!(run_peers, module)?)
}

/// Runs `processes` (name, host, what makes the coroutine) on the platform of this text. Returns what the
/// report says, or None with an error's text, process, name, time and exception.
#[pyfunction]
fn run_peers<'py>(
    python: Python<'py>,
    platform: (String, String),
    processes: Vec<(String, Bound<'py, PyAny>, Py<PyAny>)>,
    settings: Settings,
    failure: Py<PyAny>,
    ending: Bound<'py, PyAny>,
) -> PyResult<(Option<Bound<'py, PyDict>>, Bound<'py, PyAny>)> {
    let (name, text) = platform;
    let folder = std::path::Path::new(&name).parent().map(std::path::Path::to_owned).unwrap_or_default();
    let mut other =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let platform =
        read(&name, &text, &mut other).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let model = match settings.model.as_str() {
        "LV08" => FlowModel::LV08,
        "CM02" => FlowModel::CM02,
        other => return Err(PyValueError::new_err(format!("network \"{other}\"; allowed: LV08, CM02"))),
    };
    let world = Arc::new(World { platform, failure, raised: Mutex::default() });
    let control = Control::default();
    let mut simulation = Simulation::on_platform(&world.platform, model)
        .seed(settings.seed)
        .threads(settings.threads)
        .control(&control);
    if let Some(until) = settings.until_s {
        simulation = simulation.until(time("until", until)?);
    }
    for (name, host, begin) in processes {
        let (host, world) = (world.host(&host)?, world.clone());
        simulation.spawn(&name, host, move |process| drive(process, begin, world));
    }
    let (result, interrupted) = hearing(python, Some(&ending), || control.stop(), || simulation.run())?;
    if let Some(error) = interrupted.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(python)) {
        return Err(error);
    }
    match result {
        Ok(report) => Ok((Some(describe(python, &report)?), python.None().into_bound(python))),
        Err(error) => Ok((None, explain(python, &world, error)?)),
    }
}

fn describe<'py>(python: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(python);
    said.set_item("digest", report.digest.to_string())?;
    said.set_item("end_time_s", report.end_time.as_secs_f64())?;
    said.set_item("ended_by", report.ended_by.name())?;
    said.set_item("rounds", report.counts.rounds)?;
    said.set_item("steps", report.counts.steps)?;
    said.set_item("messages", report.counts.messages)?;
    said.set_item("processes", report.counts.processes)?;
    let unreceived = PyDict::new(python);
    for (mailbox, count) in &report.unreceived {
        unreceived.set_item(mailbox.to_string(), count)?;
    }
    said.set_item("unreceived", unreceived)?;
    said.set_item("wall_s", report.wall.as_secs_f64())?;
    Ok(said)
}

fn explain<'py>(python: Python<'py>, world: &World, error: RunError) -> PyResult<Bound<'py, PyAny>> {
    let text = error.to_string();
    let RunError::Panic { process, name, time, .. } = error else {
        return Ok((text, None::<u32>, None::<String>, None::<f64>, None::<Py<PyAny>>)
            .into_pyobject(python)?
            .into_any());
    };
    let mut raised = world.raised.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let raised = raised.remove(&process.0).map(|error| error.into_value(python));
    Ok((text, process.0, name, time.as_secs_f64(), raised).into_pyobject(python)?.into_any())
}

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
use std::thread;

use paceline_network::{FlowModel, HostId, Network, Platform, read};
use paceline_processes::resources::Spec;
use paceline_processes::{Control, Process, Report, RunError, Simulation, Store, WaitError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::model::hearing;
use asked::{Answer, Asked};
use shared::{Object, Shared};
use turn::{Turn, check_container, mailbox, other_kind, time};

mod asked;
#[cfg(feature = "reference")]
mod reference;
mod shared;
mod turn;

/// What messages and stores carry: any object.
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
    /// The exception of a request that failed.
    fn failed(&self, error: &WaitError) -> PyErr {
        let kind = match error {
            WaitError::Request(error) => format!("{error:?}"),
            WaitError::Failed(_) => "Failed".to_owned(),
            WaitError::Interrupted(_) => "Interrupted".to_owned(),
            WaitError::Preempted(_) => "Preempted".to_owned(),
            other => format!("{other:?}"),
        };
        Python::attach(|python| {
            let cause = error.cause::<Payload>().map(|cause| cause.clone_ref(python));
            let left = error.left().map(|left| left.as_secs_f64());
            match self.failure.call1(python, (error.to_string(), kind, left, cause)) {
                Ok(made) => PyErr::from_value(made.into_bound(python)),
                Err(error) => error,
            }
        })
    }

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

/// The coroutine of a process. It is freed with the GIL, and at once: what it holds is released then, as that
/// of a process in Rust.
struct Coroutine(Option<Payload>);

impl Drop for Coroutine {
    fn drop(&mut self) {
        Python::attach(|_| drop(self.0.take()));
    }
}

/// The code of a process: it resumes the coroutine, and asks for what that awaits.
async fn drive(process: Process<Payload>, begin: Py<PyAny>, world: Arc<World>) {
    let begun = Python::attach(|python| {
        let turn = Bound::new(python, Turn::new(process.clone()))?;
        turn.get().set(Some(thread::current().id()));
        let coroutine = begin.call1(python, (&turn,));
        turn.get().set(None);
        Ok((turn.unbind(), coroutine?))
    });
    drop(begin);
    let (turn, coroutine) = begun.unwrap_or_else(|error| end(&process, &world, error));
    let coroutine = Coroutine(Some(coroutine));
    let mut answer: Answer = Ok(None);
    loop {
        let resumed = Python::attach(|python| resume(python, &turn, &coroutine, answer, &world));
        let asked = match resumed {
            Ok(Some(asked)) => asked,
            Ok(None) => return,
            Err(error) => end(&process, &world, error),
        };
        answer = asked.answer(&process, &world).await;
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

/// Resumes a coroutine until it awaits the next thing; nothing where it has ended.
fn resume(
    python: Python<'_>,
    turn: &Py<Turn>,
    coroutine: &Coroutine,
    answer: Answer,
    world: &World,
) -> PyResult<Option<Asked>> {
    let Some(coroutine) = &coroutine.0 else { return Ok(None) };
    turn.get().set(Some(thread::current().id()));
    let mut step = match answer {
        Ok(value) => coroutine.call_method1(python, "send", (value,)),
        Err(error) => coroutine.call_method1(python, "throw", (error.into_value(python),)),
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
    module.add_class::<Shared>()?;
    module.add_class::<shared::Lock>()?;
    module.add_class::<shared::Held>()?;
    module.add_class::<shared::Activity>()?;
    #[cfg(feature = "reference")]
    reference::add_to(module)?;
    module.add_function(wrap_pyfunction!(run_peers, module)?)
}

/// What is there when a run begins.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Given<'py> {
    /// Name, host, and what makes the coroutine.
    processes: Vec<(String, Bound<'py, PyAny>, Py<PyAny>)>,
    /// The object of `peers.py` that gets it, its host, its kind, and two numbers that it has.
    objects: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>, String, f64, f64)>,
    /// Mailboxes that stand at hosts.
    places: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
}

impl Given<'_> {
    fn add<N: Network>(self, simulation: &mut Simulation<Payload, N>, world: &Arc<World>) -> PyResult<()> {
        for (object, host, kind, first, second) in self.objects {
            let host = world.host(&host)?;
            let made = match kind.as_str() {
                "resource" => Object::Resource(simulation.resource(host, first as u32)),
                "store" if first.is_finite() => {
                    Object::Store(simulation.make(host, Spec::<Store<Payload>>::store().room(first as u64)))
                }
                "store" => Object::Store(simulation.store(host)),
                "container" => {
                    check_container(first, second)?;
                    Object::Container(simulation.container(host, first, second))
                }
                _ => return other_kind(),
            };
            object.setattr("_shared", Shared(made))?;
        }
        for (place, host) in self.places {
            simulation.place(&mailbox(&place)?, world.host(&host)?);
        }
        for (name, host, begin) in self.processes {
            let (host, world) = (world.host(&host)?, world.clone());
            simulation.spawn(&name, host, move |process| drive(process, begin, world));
        }
        Ok(())
    }
}

/// Runs what is given on the platform of this text. Returns what the report says, or None with an error's
/// text, process, name, time and exception.
#[pyfunction]
fn run_peers<'py>(
    python: Python<'py>,
    platform: (String, String),
    given: Given<'py>,
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
    given.add(&mut simulation, &world)?;
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

//! What coroutines await: tuples of a name and arguments, which the classes of `python/paceline/peers.py`
//! make, and what the core answers.
//!
//! To add a request, add a variant, read it, and answer it. Invariant: Python code runs here only with the
//! GIL, and no wait of the core is begun with it.

use std::sync::{Arc, Mutex, PoisonError};

use paceline_kernel::Time;
use paceline_network::HostId;
use paceline_processes::resources::{Preempted, Seizes};
use paceline_processes::{Activity as Started, Mailbox, Process, ProcessId, RequestError, Wait, WaitError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{IntoPyObjectExt, PyClass, PyClassInitializer};

use super::shared::{Activity, Held, Lock, Object, Shared};
use super::turn::{amount, mailbox, other_kind, time};
use super::{Payload, World, peer};

/// What a coroutine is resumed with: a value, or an exception.
pub type Answer = Result<Option<Payload>, PyErr>;

/// A process to be: `begin` makes its coroutine of its `Turn`.
pub struct Peer {
    pub name: String,
    pub host: HostId,
    pub begin: Payload,
}

/// How units are requested.
pub struct Seizure {
    priority: i64,
    units: u32,
    preempts: bool,
    balks_at: Option<u32>,
}

/// What a coroutine awaits. `None` for a limit is no limit.
pub enum Asked {
    Yield,
    Sleep(Time),
    SleepUntil(Time),
    Hold(Time),
    Compute(f64),
    Send(Mailbox, Payload, f64, Option<Time>),
    Receive(Mailbox, Option<Time>),
    Spawn(Peer),
    Join(ProcessId, Option<Time>),
    Interruption,
    Await(Py<Activity>, Option<Time>),
    AwaitAny(Vec<Py<Activity>>, Option<Time>),
    AwaitAll(Vec<Py<Activity>>),
    Test(Py<Activity>),
    Lock(Object),
    TryLock(Object),
    Acquire(Object, Option<Time>),
    Condition(Object, Py<Lock>, Option<Time>),
    Barrier(Object),
    Get(Object, Option<Time>),
    Request(Object, Seizure, Option<Time>),
    Serve(Object, Time, Seizure, Preempted, Option<Time>),
    Put(Object, Payload, i64, Option<Time>),
    TakeIf(Object, Payload, Option<Time>),
    Take(Object, u32, u32, Option<Time>),
    Fill(Object, f64, Option<Time>),
    Draw(Object, f64, Option<Time>),
}

/// The arguments of a request, from the front.
struct Arguments<'a, 'py> {
    tuple: &'a Bound<'py, PyTuple>,
    place: usize,
}

impl<'py> Arguments<'_, 'py> {
    fn any(&mut self) -> PyResult<Bound<'py, PyAny>> {
        self.place += 1;
        self.tuple.get_item(self.place)
    }
    fn next<T: FromPyObjectOwned<'py>>(&mut self) -> PyResult<T> {
        self.any()?.extract::<T>().map_err(Into::into)
    }
    fn span(&mut self, what: &str) -> PyResult<Time> {
        time(what, self.next()?)
    }
    fn limit(&mut self) -> PyResult<Option<Time>> {
        self.next::<Option<f64>>()?.map(|limit| time("limit", limit)).transpose()
    }
    fn amount(&mut self, what: &str) -> PyResult<f64> {
        amount(what, self.next()?)
    }
    fn mailbox(&mut self) -> PyResult<Mailbox> {
        mailbox(&self.any()?)
    }
    fn shared(&mut self) -> PyResult<Object> {
        Ok(self.any()?.cast::<Shared>()?.get().0)
    }
    fn seizure(&mut self) -> PyResult<Seizure> {
        let (priority, units, preempts, balks_at) = (self.next()?, self.next()?, self.next()?, self.next()?);
        Ok(Seizure { priority, units, preempts, balks_at })
    }
}

impl Asked {
    pub fn read(tuple: &Bound<'_, PyTuple>, world: &World) -> PyResult<Self> {
        let mut given = Arguments { tuple, place: 0 };
        let name = tuple.get_item(0)?;
        Ok(match name.extract::<&str>()? {
            "yield" => Self::Yield,
            "sleep" => Self::Sleep(given.span("sleep")?),
            "sleep_until" => Self::SleepUntil(given.span("sleep_until")?),
            "hold" => Self::Hold(given.span("hold")?),
            "compute" => Self::Compute(given.amount("compute")?),
            "send" => {
                let (to, payload) = (given.mailbox()?, given.any()?.unbind());
                Self::Send(to, payload, given.amount("bytes")?, given.limit()?)
            }
            "receive" => Self::Receive(given.mailbox()?, given.limit()?),
            "join" => Self::Join(ProcessId(given.next()?), given.limit()?),
            "spawn" => {
                let (name, host) = (given.next()?, world.host(&given.any()?)?);
                Self::Spawn(Peer { name, host, begin: given.any()?.unbind() })
            }
            "interruption" => Self::Interruption,
            "await" => Self::Await(given.next()?, given.limit()?),
            "await_any" => Self::AwaitAny(given.next()?, given.limit()?),
            "await_all" => Self::AwaitAll(given.next()?),
            "test" => Self::Test(given.next()?),
            "lock" => Self::Lock(given.shared()?),
            "try_lock" => Self::TryLock(given.shared()?),
            "acquire" => Self::Acquire(given.shared()?, given.limit()?),
            "condition" => Self::Condition(given.shared()?, given.next()?, given.limit()?),
            "barrier" => Self::Barrier(given.shared()?),
            "get" => Self::Get(given.shared()?, given.limit()?),
            "request" => Self::Request(given.shared()?, given.seizure()?, given.limit()?),
            "serve" => {
                let (resource, span) = (given.shared()?, given.span("serve")?);
                let (seizure, then) = (given.seizure()?, given.next::<String>()?);
                let then = match &*then {
                    "repeat" => Preempted::Repeat,
                    "leave" => Preempted::Leave,
                    _ => Preempted::Resume,
                };
                Self::Serve(resource, span, seizure, then, given.limit()?)
            }
            "put" => Self::Put(given.shared()?, given.any()?.unbind(), given.next()?, given.limit()?),
            "take_if" => Self::TakeIf(given.shared()?, given.any()?.unbind(), given.limit()?),
            "take" => Self::Take(given.shared()?, given.next()?, given.next()?, given.limit()?),
            "fill" => Self::Fill(given.shared()?, given.amount("amount")?, given.limit()?),
            "draw" => Self::Draw(given.shared()?, given.amount("amount")?, given.limit()?),
            other => return Err(PyTypeError::new_err(format!("a request `{other}` that is not there"))),
        })
    }

    /// Asks the core for it, and waits for what comes of it.
    pub async fn answer(self, process: &Process<Payload>, world: &Arc<World>) -> Answer {
        let failed = |error: RequestError| world.failed(&WaitError::Request(error));
        let none = |()| None;
        match self {
            Self::Yield => {
                process.yield_now().await;
                Ok(None)
            }
            Self::Sleep(span) => {
                process.sleep(span).await;
                Ok(None)
            }
            Self::SleepUntil(time) => {
                process.sleep_until(time).await;
                Ok(None)
            }
            Self::Compute(flops) => process.compute(flops).await.map(none).map_err(failed),
            Self::Send(to, payload, bytes, None) => {
                process.send(&to, payload, bytes).await.map(none).map_err(failed)
            }
            Self::Send(to, payload, bytes, Some(limit)) => {
                process.send_within(&to, payload, bytes, limit).await.map(none).map_err(failed)
            }
            Self::Receive(from, None) => process.receive(&from).await.map(Some).map_err(failed),
            Self::Receive(from, Some(limit)) => {
                process.receive_within(&from, limit).await.map(Some).map_err(failed)
            }
            Self::Join(other, None) => process.join(other).await.map(none).map_err(failed),
            Self::Join(other, Some(limit)) => {
                process.join_within(other, limit).await.map(none).map_err(failed)
            }
            Self::Spawn(Peer { name, host, begin }) => {
                let shared = world.clone();
                let spawned = process.spawn(&name, host, move |process| peer(process, begin, shared)).await;
                spawned.map_err(failed).and_then(|id| value(id.0))
            }
            other => other.answer_activity(process, world).await,
        }
    }

    /// The same of requests for what was begun before.
    async fn answer_activity(self, process: &Process<Payload>, world: &Arc<World>) -> Answer {
        let failed = |error: RequestError| world.failed(&WaitError::Request(error));
        match self {
            Self::Await(activity, limit) => {
                let mut started = activity.get().take()?;
                let outcome = match limit {
                    None => started.wait(process).await,
                    Some(limit) => started.wait_within(process, limit).await,
                };
                activity.get().put_back(started);
                outcome.map_err(failed)
            }
            Self::AwaitAny(activities, limit) => {
                let mut started = take_all(&activities)?;
                let mut each: Vec<&mut Started<Payload>> = started.iter_mut().collect();
                let first = match limit {
                    None => Started::wait_any(process, &mut each).await,
                    Some(limit) => Started::wait_any_within(process, &mut each, limit).await,
                };
                put_all_back(&activities, started);
                first.map_err(failed).and_then(value)
            }
            Self::AwaitAll(activities) => {
                let mut started = take_all(&activities)?;
                let mut each: Vec<&mut Started<Payload>> = started.iter_mut().collect();
                let done = Started::wait_all(process, &mut each).await;
                put_all_back(&activities, started);
                done.map(|()| None).map_err(failed)
            }
            Self::Test(activity) => {
                let started = activity.get().take()?;
                let is_over = started.test(process).await;
                activity.get().put_back(started);
                value(is_over)
            }
            other => other.answer_shared(process, world).await,
        }
    }

    /// The same of requests for shared objects.
    async fn answer_shared(self, process: &Process<Payload>, world: &Arc<World>) -> Answer {
        let failed = |error: RequestError| world.failed(&WaitError::Request(error));
        let none = |()| None;
        match self {
            Self::Lock(Object::Mutex(mutex)) => {
                let guard = mutex.lock(process).await.map_err(failed)?;
                object(Lock::new(mutex, guard, process))
            }
            Self::TryLock(Object::Mutex(mutex)) => match mutex.try_lock(process).await {
                Some(guard) => object(Lock::new(mutex, guard, process)),
                None => Ok(None),
            },
            Self::Acquire(Object::Semaphore(semaphore), None) => {
                semaphore.acquire(process).await.map(none).map_err(failed)
            }
            Self::Acquire(Object::Semaphore(semaphore), Some(limit)) => {
                semaphore.acquire_within(process, limit).await.map(none).map_err(failed)
            }
            Self::Condition(Object::Condition(condition), lock, limit) => {
                let mut guard = lock.get().guard()?;
                let notified = match limit {
                    None => condition.wait(&mut guard).await,
                    Some(limit) => condition.wait_within(&mut guard, limit).await,
                };
                notified.map(none).map_err(failed)
            }
            Self::Barrier(Object::Barrier(barrier)) => {
                barrier.wait(process).await.map_err(failed).and_then(value)
            }
            Self::Get(Object::Queue(queue), None) => queue.get(process).await.map(Some).map_err(failed),
            Self::Get(Object::Queue(queue), Some(limit)) => {
                queue.get_within(process, limit).await.map(Some).map_err(failed)
            }
            other => other.answer_resource(process, world).await,
        }
    }

    /// The same of requests that are claims.
    async fn answer_resource(self, process: &Process<Payload>, world: &Arc<World>) -> Answer {
        let failed = |error: WaitError| world.failed(&error);
        let none = |()| None;
        match self {
            Self::Hold(span) => process.hold(span).await.map(none).map_err(failed),
            Self::Interruption => process.interruption().await.map_or(Ok(None), |error| {
                Python::attach(|python| Ok(Some(world.failed(&error).into_value(python).into_any())))
            }),
            Self::Request(Object::Resource(resource), seizure, limit) => {
                let wait = seizure.apply(within(resource.request(process), limit));
                wait.await.map_err(failed).and_then(|held| object(Held::new(held)))
            }
            Self::Serve(Object::Resource(resource), span, seizure, then, limit) => {
                let wait = within(resource.serve(process, span).after_preemption(then), limit);
                let served = seizure.apply(wait).await.map_err(failed)?;
                value((served.waited.as_secs_f64(), served.preemptions))
            }
            Self::Put(Object::Store(store), item, priority, limit) => {
                within(store.put_with_priority(process, item, priority), limit)
                    .await
                    .map(none)
                    .map_err(failed)
            }
            Self::TakeIf(Object::Store(store), test, limit) => {
                let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
                let wait = store.get_if(process, fits(test, raised.clone()));
                let item = within(wait, limit).await;
                let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
                raised.map_or_else(|| item.map(Some).map_err(failed), Err)
            }
            Self::Take(Object::Store(store), least, most, limit) => {
                let items = within(store.get_some(process, least, most), limit).await.map_err(failed)?;
                value(items)
            }
            Self::Fill(Object::Container(container), amount, limit) => {
                within(container.put(process, amount), limit).await.map(none).map_err(failed)
            }
            Self::Draw(Object::Container(container), amount, limit) => {
                within(container.get(process, amount), limit).await.map(none).map_err(failed)
            }
            _ => other_kind(),
        }
    }
}

impl Seizure {
    fn apply<T: Seizes>(self, wait: Wait<Payload, T>) -> Wait<Payload, T> {
        let wait = wait.priority(self.priority).units(self.units);
        let wait = if self.preempts { wait.preempting() } else { wait };
        match self.balks_at {
            Some(waiting) => wait.balking_at(waiting),
            None => wait,
        }
    }
}

fn within<T>(wait: Wait<Payload, T>, limit: Option<Time>) -> Wait<Payload, T> {
    match limit {
        Some(limit) => wait.within(limit),
        None => wait,
    }
}

/// A test of items in Python. The core asks it, and nothing may be raised there: an item at which it raises
/// is taken, and who waits for it gets the exception.
fn fits(test: Payload, raised: Arc<Mutex<Option<PyErr>>>) -> impl Fn(&Payload) -> bool + Send + Sync {
    move |item| {
        Python::attach(|python| {
            let fits = test.call1(python, (item,)).and_then(|fits| fits.is_truthy(python));
            fits.unwrap_or_else(|error| {
                *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                true
            })
        })
    }
}

fn take_all(activities: &[Py<Activity>]) -> PyResult<Vec<Started<Payload>>> {
    let mut taken = Vec::new();
    for activity in activities {
        match activity.get().take() {
            Ok(started) => taken.push(started),
            Err(error) => {
                put_all_back(activities, taken);
                return Err(error);
            }
        }
    }
    Ok(taken)
}

fn put_all_back(activities: &[Py<Activity>], started: Vec<Started<Payload>>) {
    activities.iter().zip(started).for_each(|(activity, started)| activity.get().put_back(started));
}

fn value<T: for<'py> IntoPyObjectExt<'py>>(value: T) -> Answer {
    Python::attach(|python| value.into_py_any(python).map(Some))
}

fn object<T: PyClass + Into<PyClassInitializer<T>>>(object: T) -> Answer {
    Python::attach(|python| Ok(Some(Py::new(python, object)?.into_any())))
}

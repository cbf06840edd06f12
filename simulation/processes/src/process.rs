//! What a process can do: the handle that its code is given. A call that waits takes one thing; several at
//! once are [activities](crate::Activity).

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use paceline_kernel::{Rng, Time};
use paceline_network::HostId;
use paceline_results::Note;

use crate::activity::Activity;
use crate::core::{Answer, Mailbox, Name, ObjectId, ObjectKind, ProcessId, Request, RequestError};
use crate::desk::{self, Beginning, Desk, Spawned};
use crate::sync::{Barrier, Condition, Mutex, Queue, Semaphore};

/// The handle of a process, for its own code. `P` is what messages carry. Clones are handles of the same
/// process.
///
/// Whatever takes simulated time is `async`; all else takes effect when the process waits next, in the order
/// in which it was asked for.
///
/// ```
/// use paceline_processes::{Process, Simulation};
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
///
/// async fn worker(cx: Process<()>) {
///     cx.sleep(Time::secs(2)).await;
///     cx.compute(3e9).await.unwrap();
///     assert_eq!(cx.now(), Time::secs(5));
/// }
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// simulation.spawn("worker", HostId(0), worker);
/// assert_eq!(simulation.run()?.end_time, Time::secs(5));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub struct Process<P> {
    id: ProcessId,
    host: HostId,
    name: Name,
    payload: PhantomData<fn() -> P>,
}

impl<P> Clone for Process<P> {
    fn clone(&self) -> Self {
        let Self { id, host, .. } = *self;
        Self { id, host, name: self.name.clone(), payload: PhantomData }
    }
}

impl<P> fmt::Debug for Process<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

impl<P: Send + 'static> Process<P> {
    pub(crate) fn new(id: ProcessId, host: HostId, name: Name) -> Self {
        Self { id, host, name, payload: PhantomData }
    }

    /// Its number among all processes of the run, or of its federate.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// The name with which it was spawned; others may have the same.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The host it runs on.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        desk::on_desk(self.id(), |desk: &mut Desk<P>| desk.now)
    }

    /// Draws from the random numbers of this process, which depend on nothing but the seed of the run and its
    /// number.
    pub fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        // What is drawn may depend on what else the handle says.
        let mut rng = desk::on_desk(self.id, |desk: &mut Desk<P>| desk.process.rng);
        let drawn = draw(&mut rng);
        desk::on_desk(self.id, |desk: &mut Desk<P>| desk.process.rng = rng);
        drawn
    }

    /// Has a number enter the digest of the run.
    pub fn record(&self, number: u64) {
        desk::post_request::<P>(self.id(), Request::Record(number));
    }

    /// Takes a value into the tally of this name ([`Output::tally`](paceline_results::Output::tally)); the
    /// simulation was told of it before the run ([`Simulation::measure`](crate::Simulation::measure)).
    pub fn tally(&self, name: &'static str, value: f64) {
        desk::post_request::<P>(self.id, Request::Measure(name, Note::Tally(value)));
    }

    /// Changes the level of this name ([`Output::level`](paceline_results::Output::level)).
    pub fn level(&self, name: &'static str, by: f64) {
        desk::post_request::<P>(self.id, Request::Measure(name, Note::Level(by)));
    }

    /// Raises the level of this name until the guard is dropped, or the process ends.
    pub fn raise(&self, name: &'static str, by: f64) -> Raised<P> {
        self.level(name, by);
        Raised { id: self.id, name, by, payload: PhantomData }
    }

    /// Adds to the count of this name ([`Output::count`](paceline_results::Output::count)).
    pub fn count(&self, name: &'static str, more: u64) {
        desk::post_request::<P>(self.id, Request::Measure(name, Note::Count(more)));
    }

    /// Adds to the present interval of the series of this name
    /// ([`Output::series`](paceline_results::Output::series)).
    pub fn series(&self, name: &'static str, value: f64) {
        desk::post_request::<P>(self.id, Request::Measure(name, Note::Series(value)));
    }

    async fn done(&self, request: impl FnOnce() -> Request<P>) -> Result<(), RequestError> {
        match desk::ask(self.id(), request).await {
            Answer::Failed(failure) => Err(failure),
            _ => Ok(()),
        }
    }

    async fn message(&self, request: impl FnOnce() -> Request<P>) -> Result<P, RequestError> {
        match desk::ask(self.id(), request).await {
            Answer::Message(payload) => Ok(payload),
            Answer::Failed(failure) => Err(failure),
            _ => unreachable!("who receives is answered with a message"),
        }
    }

    /// Waits for a future of this process without being async: for a process with a stack of its own, on a
    /// coroutine or a thread ([`ContextKind`](crate::ContextKind)); elsewhere it panics. A process that
    /// ends while it blocks unwinds: what it holds is dropped, and must not block again.
    ///
    /// ```
    /// use paceline_processes::{ContextKind, Process, Simulation};
    /// use paceline_kernel::Time;
    /// use paceline_network::{Constant, HostId};
    ///
    /// /// Code that knows nothing of futures.
    /// fn old_code(wait: impl Fn(u64)) {
    ///     (1..4).for_each(wait);
    /// }
    ///
    /// let mut simulation = Simulation::new(Constant::new(0.0), &[(1.0, 1)]).context(ContextKind::Coroutine);
    /// simulation.spawn("old", HostId(0), async |cx: Process<()>| {
    ///     old_code(|seconds| cx.block_on(cx.sleep(Time::secs(seconds))));
    /// });
    /// assert_eq!(simulation.run()?.end_time, Time::secs(6));
    /// # Ok::<(), paceline_processes::RunError>(())
    /// ```
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        crate::context::block_on(future)
    }

    /// Yields to all other processes that can run at this instant.
    pub async fn yield_now(&self) {
        desk::ask::<P, _>(self.id(), || Request::Yield).await;
    }

    /// Does nothing for this span.
    pub async fn sleep(&self, span: Time) {
        desk::ask::<P, _>(self.id(), || Request::Sleep(span)).await;
    }

    /// Sleeps until `time`; resumes in the next round if that has passed.
    pub async fn sleep_until(&self, time: Time) {
        desk::ask::<P, _>(self.id(), || Request::SleepUntil(time)).await;
    }

    /// Computes this many flops, which others on the host compute beside.
    pub async fn compute(&self, flops: f64) -> Result<(), RequestError> {
        let flops = amount(flops);
        self.done(|| Request::Compute(flops)).await
    }

    /// Sends a message of this many bytes and waits until it has arrived.
    pub async fn send(&self, to: impl Into<Mailbox>, payload: P, bytes: f64) -> Result<(), RequestError> {
        let (to, bytes) = (to.into(), amount(bytes));
        self.done(move || Request::Send { to, payload, bytes, limit: None }).await
    }

    /// Sends a message, and gives up after `limit`.
    pub async fn send_within(
        &self,
        to: impl Into<Mailbox>,
        payload: P,
        bytes: f64,
        limit: Time,
    ) -> Result<(), RequestError> {
        let (to, bytes) = (to.into(), amount(bytes));
        self.done(move || Request::Send { to, payload, bytes, limit: Some(limit) }).await
    }

    /// Sends a message without ever hearing of it again.
    pub fn send_detached(&self, to: impl Into<Mailbox>, payload: P, bytes: f64) {
        let bytes = amount(bytes);
        desk::post_request::<P>(self.id(), Request::Detach { to: to.into(), payload, bytes });
    }

    /// Waits for a message.
    pub async fn receive(&self, from: impl Into<Mailbox>) -> Result<P, RequestError> {
        let from = from.into();
        self.message(move || Request::Receive { from, limit: None }).await
    }

    /// Waits for a message, and gives up after `limit`.
    pub async fn receive_within(&self, from: impl Into<Mailbox>, limit: Time) -> Result<P, RequestError> {
        let from = from.into();
        self.message(move || Request::Receive { from, limit: Some(limit) }).await
    }

    fn activity(&self, request: impl FnOnce(u32) -> Request<P>) -> Activity<P> {
        let number = desk::on_desk(self.id(), |desk: &mut Desk<P>| {
            let number = desk.process.activities;
            desk.process.activities += 1;
            desk.requests.push(request(number));
            number
        });
        Activity::new(self.id(), number)
    }

    /// Begins to send.
    pub fn start_send(&self, to: impl Into<Mailbox>, payload: P, bytes: f64) -> Activity<P> {
        let (to, bytes) = (to.into(), amount(bytes));
        self.activity(|activity| Request::StartSend { activity, to, payload, bytes })
    }

    /// Begins to receive.
    pub fn start_receive(&self, from: impl Into<Mailbox>) -> Activity<P> {
        let from = from.into();
        self.activity(|activity| Request::StartReceive { activity, from })
    }

    /// Begins to compute.
    pub fn start_compute(&self, flops: f64) -> Activity<P> {
        let flops = amount(flops);
        self.activity(|activity| Request::StartCompute { activity, flops })
    }

    /// Spawns a process on a host; it starts in the next round of this instant.
    pub async fn spawn<F>(
        &self,
        name: &str,
        host: HostId,
        body: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Result<ProcessId, RequestError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let spawned = Spawned::Once(Beginning::new(body));
        let name = desk::on_desk(self.id(), |desk: &mut Desk<P>| {
            desk.spawned.push(spawned);
            desk.name(name)
        });
        match desk::ask::<P, _>(self.id(), move || Request::Spawn { host, name }).await {
            Answer::Process(process) => Ok(process),
            Answer::Failed(failure) => Err(failure),
            _ => unreachable!("who spawns is answered with a process"),
        }
    }

    /// Waits until another process has ended.
    pub async fn join(&self, process: ProcessId) -> Result<(), RequestError> {
        self.done(move || Request::Join { process, limit: None }).await
    }

    /// Waits until another process has ended, and gives up after `limit`.
    pub async fn join_within(&self, process: ProcessId, limit: Time) -> Result<(), RequestError> {
        self.done(move || Request::Join { process, limit: Some(limit) }).await
    }

    /// Ends another process; one that has ended stays so.
    pub fn kill(&self, process: ProcessId) {
        desk::post_request::<P>(self.id(), Request::Kill(process));
    }

    /// Stops another process until it is resumed, and with it all computations that it has begun and not
    /// detached, whether it waits for them or not. Everything else proceeds: sleeps, time limits, messages;
    /// it learns of them when it resumes.
    pub fn suspend(&self, process: ProcessId) {
        desk::post_request::<P>(self.id(), Request::Suspend(process));
    }

    /// Resumes a suspended process.
    pub fn resume(&self, process: ProcessId) {
        desk::post_request::<P>(self.id(), Request::Resume(process));
    }

    /// Suspends itself until another process resumes it.
    pub async fn suspend_itself(&self) {
        desk::post_request::<P>(self.id(), Request::Suspend(self.id()));
        self.yield_now().await;
    }

    /// Does not count any more: a run ends when all processes but daemons have ended.
    pub fn daemonize(&self) {
        desk::post_request::<P>(self.id(), Request::Daemonize);
    }

    /// Switches a host off: its processes end, and messages from it and to it fail.
    pub fn switch_off(&self, host: HostId) {
        desk::post_request::<P>(self.id(), Request::SwitchOff(host));
    }

    /// Switches a host off as [`switch_off`](Self::switch_off) does, and on again after `span`. On federates
    /// a process can do so with its own host, and be started again with it
    /// ([`Simulation::spawn_restarting`](crate::Simulation::spawn_restarting)). Nothing happens to a host
    /// that is off.
    pub fn switch_off_for(&self, host: HostId, span: Time) {
        desk::post_request::<P>(self.id(), Request::SwitchOffFor(host, span));
    }

    /// Switches a host on again; processes that restart with it start from the beginning.
    pub fn switch_on(&self, host: HostId) {
        desk::post_request::<P>(self.id(), Request::SwitchOn(host));
    }

    /// Has something done when this process has ended, however it ends; the latest first. It may use the
    /// handle to know the time, and its panic is one of the process; what it asks for is not done any
    /// more.
    pub fn on_exit(&self, hook: impl FnOnce() + Send + 'static) {
        desk::on_desk(self.id(), |desk: &mut Desk<P>| {
            desk.hooks.push((self.id(), Box::new(hook)));
        });
    }

    fn object(&self, kind: ObjectKind) -> ObjectId {
        let number = desk::on_desk(self.id(), |desk: &mut Desk<P>| {
            let number = desk.process.objects;
            desk.process.objects += 1;
            number
        });
        ObjectId { owner: self.id(), number, kind }
    }

    /// A semaphore with this many permits. It lives as long as the run, as all that processes share, and
    /// takes no memory while it is as it was made.
    pub fn semaphore(&self, permits: u32) -> Semaphore {
        Semaphore(self.object(ObjectKind::Semaphore(permits)))
    }

    /// A mutex that nobody holds. It lives as long as the run.
    pub fn mutex(&self) -> Mutex {
        Mutex(self.object(ObjectKind::Mutex))
    }

    /// A condition variable.
    pub fn condition(&self) -> Condition {
        Condition(self.object(ObjectKind::Condition))
    }

    /// A barrier for this many processes, at least one.
    pub fn barrier(&self, size: u32) -> Barrier {
        Barrier(self.object(ObjectKind::Barrier(size)))
    }

    /// A message queue, which takes no time.
    pub fn queue(&self) -> Queue {
        Queue(self.object(ObjectKind::Queue))
    }
}

/// A level that is raised as long as this is there ([`Process::raise`]).
#[must_use = "dropped at once, it lowers the level again"]
#[derive(Debug)]
pub struct Raised<P: Send + 'static> {
    id: ProcessId,
    name: &'static str,
    by: f64,
    payload: PhantomData<fn() -> P>,
}

impl<P: Send + 'static> Drop for Raised<P> {
    fn drop(&mut self) {
        desk::post_request_if_running::<P>(self.id, Request::Measure(self.name, Note::Level(-self.by)));
    }
}

/// A number of flops or bytes: finite and not negative.
fn amount(number: f64) -> f64 {
    assert!(number.is_finite() && number >= 0.0, "{number} flops or bytes; allowed: a finite number from 0");
    number
}

//! What processes share beside mailboxes: semaphores, mutexes, condition variables, barriers, message queues.
//!
//! Each is a number that can be copied into any process of the same simulation. Waiting processes are served
//! in the order of arrival.

use paceline_kernel::Time;

use crate::Process;
use crate::core::{Answer, ObjectId, Request, RequestError};
use crate::desk::{ask, post_request, post_request_if_running};

/// A number of permits.
///
/// ```
/// use paceline_processes::{Process, Semaphore, Simulation};
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
///
/// async fn user(cx: Process<()>, printers: Semaphore) {
///     printers.acquire(&cx).await.unwrap();
///     cx.sleep(Time::secs(1)).await;
///     printers.release(&cx);
/// }
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1.0, 1)]);
/// simulation.spawn("office", HostId(0), async |cx: Process<()>| {
///     let printers = cx.semaphore(2);
///     for _ in 0..4 {
///         cx.spawn("user", HostId(0), move |cx| user(cx, printers)).await.unwrap();
///     }
/// });
/// assert_eq!(simulation.run()?.end_time, Time::secs(2));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semaphore(pub(crate) ObjectId);

impl Semaphore {
    /// Waits for a permit. A process that ends without [`Semaphore::release`] does not give it back.
    pub async fn acquire<P: Send + 'static>(&self, cx: &Process<P>) -> Result<(), RequestError> {
        truth(ask::<P, _>(cx.id(), || Request::Acquire { object: self.0, limit: None }).await).map(drop)
    }

    /// Waits for a permit, at most so long.
    pub async fn acquire_within<P: Send + 'static>(
        &self,
        cx: &Process<P>,
        limit: Time,
    ) -> Result<(), RequestError> {
        match truth(ask::<P, _>(cx.id(), || Request::Acquire { object: self.0, limit: Some(limit) }).await)? {
            true => Ok(()),
            false => Err(RequestError::TimedOut),
        }
    }

    /// Gives a permit back, or a new one.
    pub fn release<P: Send + 'static>(&self, cx: &Process<P>) {
        post_request::<P>(cx.id(), Request::Release(self.0));
    }
}

/// A lock that one process holds at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutex(pub(crate) ObjectId);

/// A lock that is held, until this is dropped.
#[derive(Debug)]
pub struct MutexGuard<'c, P: Send + 'static> {
    mutex: Mutex,
    cx: &'c Process<P>,
}

impl Mutex {
    /// Waits for the lock.
    pub async fn lock<'c, P: Send + 'static>(
        &self,
        cx: &'c Process<P>,
    ) -> Result<MutexGuard<'c, P>, RequestError> {
        truth(ask::<P, _>(cx.id(), || Request::Acquire { object: self.0, limit: None }).await)?;
        Ok(MutexGuard { mutex: *self, cx })
    }

    /// Takes the lock if it is free now.
    pub async fn try_lock<'c, P: Send + 'static>(&self, cx: &'c Process<P>) -> Option<MutexGuard<'c, P>> {
        let limit = Some(Time::ZERO);
        let taken = truth(ask::<P, _>(cx.id(), || Request::Acquire { object: self.0, limit }).await);
        taken.unwrap_or(false).then_some(MutexGuard { mutex: *self, cx })
    }

    /// The guard of a lock that this process holds and whose guard was forgotten ([`std::mem::forget`]), as
    /// bindings to other languages do, whose objects cannot borrow the handle. Dropping it releases the lock.
    pub fn guard<'c, P: Send + 'static>(&self, cx: &'c Process<P>) -> MutexGuard<'c, P> {
        MutexGuard { mutex: *self, cx }
    }
}

impl<P: Send + 'static> Drop for MutexGuard<'_, P> {
    fn drop(&mut self) {
        post_request_if_running::<P>(self.cx.id(), Request::Release(self.mutex.0));
    }
}

/// A condition variable: processes wait until another notifies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(pub(crate) ObjectId);

impl Condition {
    /// Releases the lock, waits for a notification, and takes the lock again.
    pub async fn wait<P: Send + 'static>(&self, held: &mut MutexGuard<'_, P>) -> Result<(), RequestError> {
        self.wait_for(held, None).await
    }

    /// Releases the lock, waits for a notification, at most this long, and takes the lock again in either
    /// case.
    pub async fn wait_within<P: Send + 'static>(
        &self,
        held: &mut MutexGuard<'_, P>,
        limit: Time,
    ) -> Result<(), RequestError> {
        self.wait_for(held, Some(limit)).await
    }

    async fn wait_for<P: Send + 'static>(
        &self,
        held: &mut MutexGuard<'_, P>,
        limit: Option<Time>,
    ) -> Result<(), RequestError> {
        let request = Request::ConditionWait { condition: self.0, mutex: held.mutex.0, limit };
        truth(ask::<P, _>(held.cx.id(), || request).await).map(drop)
    }

    /// Wakes the process that has waited longest.
    pub fn notify_one<P: Send + 'static>(&self, cx: &Process<P>) {
        post_request::<P>(cx.id(), Request::Notify { condition: self.0, all: false });
    }

    /// Wakes all that wait.
    pub fn notify_all<P: Send + 'static>(&self, cx: &Process<P>) {
        post_request::<P>(cx.id(), Request::Notify { condition: self.0, all: true });
    }
}

/// A barrier: processes wait until as many have come as it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier(pub(crate) ObjectId);

impl Barrier {
    /// Waits for the others. Says whether this was the last.
    pub async fn wait<P: Send + 'static>(&self, cx: &Process<P>) -> Result<bool, RequestError> {
        truth(ask::<P, _>(cx.id(), || Request::BarrierWait(self.0)).await)
    }
}

/// A message queue: what is put in can be taken out at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub(crate) ObjectId);

impl Queue {
    /// Puts something in.
    pub fn put<P: Send + 'static>(&self, cx: &Process<P>, item: P) {
        post_request::<P>(cx.id(), Request::Put(self.0, item));
    }

    /// Waits for something to take out.
    pub async fn get<P: Send + 'static>(&self, cx: &Process<P>) -> Result<P, RequestError> {
        item(ask::<P, _>(cx.id(), || Request::Get { queue: self.0, limit: None }).await)
    }

    /// Waits for something to take out, at most so long.
    pub async fn get_within<P: Send + 'static>(
        &self,
        cx: &Process<P>,
        limit: Time,
    ) -> Result<P, RequestError> {
        item(ask::<P, _>(cx.id(), || Request::Get { queue: self.0, limit: Some(limit) }).await)
    }
}

fn item<P>(answer: Answer<P>) -> Result<P, RequestError> {
    match answer {
        Answer::Message(item) => Ok(item),
        Answer::Failed(failure) => Err(failure),
        _ => unreachable!("who takes something out is answered with it"),
    }
}

fn truth<P>(answer: Answer<P>) -> Result<bool, RequestError> {
    match answer {
        Answer::Truth(truth) => Ok(truth),
        Answer::Failed(failure) => Err(failure),
        _ => unreachable!("a lock is had or not"),
    }
}

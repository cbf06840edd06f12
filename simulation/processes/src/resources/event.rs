//! Events, which happen once.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::error::WaitError;
use super::wait::{Claimed, Order, Wait, unknown};
use super::{change, look_levels};
use crate::Process;
use crate::core::{Change, Levels, Look, Outcome, ResourceId, Value, Want};

/// Something that happens once, with a value of type `T` that all who wait for it receive, then or later.
///
/// ```
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Event, Process, Simulation};
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let start: Event<&str> = simulation.event(HostId(0));
/// for _ in 0..3 {
///     simulation.spawn("runner", HostId(0), async move |cx: Process<()>| {
///         assert_eq!(start.wait(&cx).await, Ok("go"));
///     });
/// }
/// simulation.spawn("starter", HostId(0), async move |cx: Process<()>| start.succeed(&cx, "go"));
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub struct Event<T> {
    id: ResourceId,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Event<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Event<T> {}

impl<T> fmt::Debug for Event<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event").field(&self.id).finish()
    }
}

impl<T: Clone + Send + Sync + 'static> Event<T> {
    pub(super) fn new(id: ResourceId) -> Self {
        Self { id, value: PhantomData }
    }

    /// Waits until it happens.
    pub fn wait<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, T> {
        Wait::new(cx.id(), Order::Claim(self.id, Want::Await), value)
    }

    /// It happens. What has happened, or failed, stays as it was.
    pub fn succeed<P: Send + 'static>(&self, cx: &Process<P>, value: T) {
        change(cx, self.id, Change::Succeed(Value::new(value)));
    }

    /// It fails: all who wait, then or later, receive [`WaitError::Failed`] with the reason.
    pub fn fail<P: Send + 'static>(&self, cx: &Process<P>, reason: impl Into<String>) {
        change(cx, self.id, Change::Fail(Arc::new(reason.into())));
    }

    /// Its value, if it has happened; at the host of the process without a turn
    /// ([`resources`](crate::resources)).
    pub fn value<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, Option<T>> {
        Wait::new(cx.id(), Order::Look(self.id, Look::Value, cx.host()), perhaps)
    }

    /// How many wait; the level is 1 when it has happened or failed. Without a turn as well.
    pub fn levels<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, Levels> {
        look_levels(cx, self.id)
    }

    /// Nobody will use it again: it takes no memory any more.
    pub fn forget<P: Send + 'static>(self, cx: &Process<P>) {
        change(cx, self.id, Change::Forget);
    }
}

pub(super) fn perhaps<T: Clone + 'static>(_: Claimed, outcome: Outcome) -> Result<Option<T>, WaitError> {
    match outcome {
        Outcome::Value(value) => Ok(value.map(|value| read(&value))),
        _ => unreachable!("who asks for a value is answered with one"),
    }
}

pub(super) fn value<T: Clone + 'static>(claimed: Claimed, outcome: Outcome) -> Result<T, WaitError> {
    perhaps(claimed, outcome)?.ok_or_else(unknown)
}

fn read<T: Clone + 'static>(value: &Value) -> T {
    value.get::<T>().expect("a handle has the type of its value").clone()
}

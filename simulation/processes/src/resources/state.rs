//! States: values that processes share, and whose changes they wait for.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::change;
use super::event::value;
use super::wait::{Order, Wait};
use crate::Process;
use crate::core::{Change, Look, ResourceId, Test, Update, Value, Want};

/// A value that processes share: they set it, and wait until it is as they want it (salabim: `State`; SimPy
/// models wait for events instead).
///
/// Its changes have one order, whatever threads processes run on. Tests and updates are evaluated by the
/// core; they must depend on nothing but the value.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Process, Simulation};
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let water_m = simulation.state(HostId(0), 0.5);
/// simulation.spawn("ship", HostId(0), async move |cx: Process<()>| {
///     let depth_m = water_m.wait_until(&cx, |depth_m| *depth_m > 3.0).await.unwrap();
///     assert_eq!((depth_m, cx.now()), (3.5, Time::secs(3)));
/// });
/// simulation.spawn("tide", HostId(0), async move |cx: Process<()>| {
///     for _ in 0..4 {
///         cx.hold(Time::secs(1)).await.unwrap();
///         water_m.update(&cx, |depth_m| depth_m + 1.0);
///     }
/// });
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub struct State<T> {
    id: ResourceId,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for State<T> {}

impl<T> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.id).finish()
    }
}

const TYPED: &str = "a state has values of its type";

impl<T: Clone + Send + Sync + 'static> State<T> {
    pub(super) fn new(id: ResourceId) -> Self {
        Self { id, value: PhantomData }
    }

    /// Waits until the value passes a test, which it may already do. Gives the value that passed.
    pub fn wait_until<P: Send + 'static>(
        &self,
        cx: &Process<P>,
        test: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Wait<P, T> {
        let test = Test(Arc::new(move |value: &Value| test(value.get().expect(TYPED))));
        Wait::new(cx.id(), Order::Claim(self.id, Want::Until(test)), value)
    }

    /// Sets the value.
    pub fn set<P: Send + 'static>(&self, cx: &Process<P>, value: T) {
        change(cx, self.id, Change::Set(Value::new(value)));
    }

    /// Sets the value to what follows from the present one.
    pub fn update<P: Send + 'static>(
        &self,
        cx: &Process<P>,
        update: impl Fn(&T) -> T + Send + Sync + 'static,
    ) {
        let update = Update(Arc::new(move |value: &Value| Value::new(update(value.get().expect(TYPED)))));
        change(cx, self.id, Change::Update(update));
    }

    /// Its value now; at the host of the process without a turn ([`resources`](crate::resources)).
    pub fn get<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, T> {
        Wait::new(cx.id(), Order::Look(self.id, Look::Value, cx.host()), value)
    }

    /// Nobody will use it again: it takes no memory any more.
    pub fn forget<P: Send + 'static>(self, cx: &Process<P>) {
        change(cx, self.id, Change::Forget);
    }
}

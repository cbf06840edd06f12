//! What processes wait for beside messages: resources, stores, containers, events, states, times, and each
//! other's interrupts.
//!
//! | SimPy | here |
//! |---|---|
//! | `Resource`, `PriorityResource`, `PreemptiveResource` | [`Resource`] |
//! | `Store`, `FilterStore`, `PriorityStore` | [`Store`] |
//! | `Container` | [`Container`] |
//! | `Event` | [`Event`], or a [`State`] for what happens again |
//! | `AnyOf`, `AllOf` | [`select!`](crate::select), [`race`], [`any_of`], [`all_of`] |
//! | `timeout`, `interrupt` | [`Process::hold`], [`Process::interrupt`] |
//!
//! All of them are answered by the sequential core, in an order that does not depend on threads. Each is at a
//! host; processes of other hosts may use it unless the run is dealt to federates: there it is an error, as
//! what takes no time cannot pass from one federate to another ([`Reach::Object`](crate::Reach)).
//! Messages to a mailbox reach further.
//!
//! Who looks at what is at its own host - levels, the value of a state or an event - takes no turn for that,
//! and sees what was there when its round began; where it has done something to the resource since, without
//! waiting, it waits for a turn, and sees that too.
//!
//! The core measures resources, stores and containers: [`Report::resources`](crate::Report::resources), or
//! [`Measured::statistics`] while the run goes on.

mod container;
mod error;
mod event;
mod measured;
mod select;
mod spec;
mod state;
mod store;
mod unit;
mod wait;

use paceline_kernel::Time;

use crate::Process;
use crate::core::{Change, Failure, Outcome, ProcessId, Request, Value};
use crate::desk::post_request;
use wait::{Order, nothing};

pub use crate::core::{
    ClaimCounts, Interruption, Levels, Look, Preempted, Preemption, ResourceId, ResourceStatistics, Spans,
};
pub use container::Container;
pub use error::WaitError;
pub use event::Event;
pub use measured::Measured;
pub use select::{Either, all_of, any_of, race};
pub use spec::Spec;
pub use state::State;
pub use store::Store;
pub use unit::{Held, Resource, Seizes, Served};
pub use wait::Wait;

impl<P: Send + 'static> Process<P> {
    /// Waits for this span, unless another process interrupts it or takes units away that it holds.
    ///
    /// [`Process::sleep`] cannot be interrupted.
    pub fn hold(&self, span: Time) -> Wait<P, ()> {
        Wait::new(self.id(), Order::Hold(span), nothing)
    }

    /// Interrupts what another process waits for, which ends with [`WaitError::Interrupted`]: a hold or a
    /// service, if it waits for one, else what it has waited for longest. A wait that gives a
    /// [`RequestError`](crate::RequestError) ends with
    /// [`RequestError::Interrupted`](crate::RequestError::Interrupted). Where it does not wait, or
    /// sleeps, its next wait that can be interrupted ends at once.
    ///
    /// ```
    /// use paceline_kernel::Time;
    /// use paceline_network::{Constant, HostId};
    /// use paceline_processes::{Process, Simulation};
    ///
    /// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    /// let car = simulation.spawn("car", HostId(0), async |cx: Process<()>| {
    ///     let charged = cx.hold(Time::secs(60)).await.unwrap_err();
    ///     assert_eq!(charged.cause::<&str>(), Some(&"we must go"));
    ///     assert_eq!(charged.left(), Some(Time::secs(50)));
    /// });
    /// simulation.spawn("driver", HostId(0), async move |cx: Process<()>| {
    ///     cx.hold(Time::secs(10)).await.unwrap();
    ///     cx.interrupt(car, "we must go");
    /// });
    /// simulation.run()?;
    /// # Ok::<(), paceline_processes::RunError>(())
    /// ```
    pub fn interrupt<C: Send + Sync + 'static>(&self, process: ProcessId, cause: C) {
        post_request::<P>(self.id(), Request::Interrupt(process, Value::new(cause)));
    }

    /// Why the latest wait was interrupted that ended with
    /// [`RequestError::Interrupted`](crate::RequestError::Interrupted); nothing where none was.
    pub async fn interruption(&self) -> Option<WaitError> {
        Wait::<P, ()>::new(self.id(), Order::Interruption, nothing).await.err()
    }
}

fn change<P: Send + 'static>(cx: &Process<P>, resource: ResourceId, change: Change) {
    post_request::<P>(cx.id(), Request::Change(resource, change));
}

fn look_levels<P: Send + 'static>(cx: &Process<P>, resource: ResourceId) -> Wait<P, Levels> {
    Wait::new(cx.id(), Order::Look(resource, Look::Levels, cx.host()), |_, outcome| match outcome {
        Outcome::Levels(levels) => Ok(levels),
        _ => Err(Failure::Unknown.into()),
    })
}

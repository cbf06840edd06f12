//! What all have in common of which the core keeps statistics: resources, stores, and containers.

use super::wait::{Order, Wait};
use super::{change, look_levels};
use crate::Process;
use crate::core::{Change, Failure, Levels, Look, Outcome, ResourceId, ResourceStatistics};

/// A handle of something that the core measures.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Measured, Process, Simulation};
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let desk = simulation.resource(HostId(0), 1);
/// simulation.spawn("customer", HostId(0), async move |cx: Process<()>| {
///     let _clerk = desk.request(&cx).await.unwrap();
///     assert_eq!(desk.levels(&cx).await.unwrap().level, 1.0);
///     cx.hold(Time::secs(5)).await.unwrap();
///     assert_eq!(desk.statistics(&cx).await.unwrap().utilisation, Some(1.0));
/// });
/// simulation.run()?;
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
pub trait Measured: Copy {
    /// Which it is among the resources of a run.
    fn id(&self) -> ResourceId;

    /// How many wait now, and what is there: units in use and in all, the items of a store, the amount in a
    /// container. At the host of the process it takes no turn, as [`resources`](crate::resources) says.
    fn levels<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, Levels> {
        look_levels(cx, self.id())
    }

    /// What was measured until now. Waits are those for units, and of those that take out items or an amount.
    fn statistics<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, ResourceStatistics> {
        let order = Order::Look(self.id(), Look::Statistics, cx.host());
        Wait::new(cx.id(), order, |_, outcome| match outcome {
            Outcome::Statistics(statistics) => Ok(*statistics),
            _ => Err(Failure::Unknown.into()),
        })
    }

    /// Nobody will use it again: it takes no memory any more, the items of a store are dropped, and so are
    /// its statistics.
    fn forget<P: Send + 'static>(self, cx: &Process<P>) {
        change(cx, self.id(), Change::Forget);
    }
}

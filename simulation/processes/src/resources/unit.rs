//! Resources: units that processes hold, such as servers, machines, or places.

use std::marker::PhantomData;

use paceline_kernel::Time;

use super::error::WaitError;
use super::wait::{Claimed, Order, Wait};
use super::{Measured, change};
use crate::Process;
use crate::core::{Change, Closing, Outcome, Preempted, Request, ResourceId, Seizure, Want};
use crate::desk::post_request_of_any;

/// Units that processes hold, one or several at a time, and that others wait for: SimPy's `Resource`,
/// `PriorityResource` and `PreemptiveResource` in one.
///
/// Requests are granted by priority, lesser numbers first, and in the order of coming. One that cannot be
/// granted yet holds up all behind it. The handle is a number that can be copied into any process.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::{Process, Resource, Simulation, WaitError};
///
/// async fn patient(cx: Process<()>, doctor: Resource, priority: i64) -> Result<(), WaitError> {
///     cx.hold(Time::secs(priority as u64 % 2)).await?;
///     let served = doctor.serve(&cx, Time::secs(10)).priority(-priority).preempting().await?;
///     println!("{} waited {}, and was preempted {} times", cx.name(), served.waited, served.preemptions);
///     Ok(())
/// }
///
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// let doctor = simulation.resource(HostId(0), 1);
/// for (name, priority) in [("cold", 0), ("emergency", 1)] {
///     simulation.spawn(name, HostId(0), move |cx| async move {
///         patient(cx, doctor, priority).await.unwrap();
///     });
/// }
/// assert_eq!(simulation.run()?.end_time, Time::secs(20));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource(pub(super) ResourceId);

/// Units that a process holds, until this is dropped.
///
/// They belong to the process that requested them, and are released when it ends, wherever this is then.
#[derive(Debug)]
#[must_use = "units are released when this is dropped"]
pub struct Held<P: Send + 'static> {
    claimed: Claimed,
    waited: Time,
    payload: PhantomData<fn() -> P>,
}

/// A service that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// How long it waited until the service first began.
    pub waited: Time,
    /// How often the service was preempted.
    pub preemptions: u32,
}

impl Resource {
    /// Requests a unit, and waits for it. A process that holds units which are preempted learns of it in
    /// whatever it waits for, or does next ([`WaitError::Preempted`]).
    pub fn request<P: Send + 'static>(&self, cx: &Process<P>) -> Wait<P, Held<P>> {
        Wait::new(cx.id(), Order::Claim(self.0, Want::Seize(Seizure::default())), held)
    }

    /// Requests a unit, and gives up after `limit`.
    pub fn request_within<P: Send + 'static>(&self, cx: &Process<P>, limit: Time) -> Wait<P, Held<P>> {
        self.request(cx).within(limit)
    }

    /// Takes a unit if one is free now and nobody waits for it.
    pub async fn try_request<P: Send + 'static>(&self, cx: &Process<P>) -> Option<Held<P>> {
        self.request(cx).within(Time::ZERO).await.ok()
    }

    /// Requests a unit, holds it for a span, and releases it. Where it is preempted, the rest of the span
    /// follows when there is a unit again, before others of its priority
    /// ([`after_preemption`](Wait::after_preemption) changes that).
    pub fn serve<P: Send + 'static>(&self, cx: &Process<P>, service: Time) -> Wait<P, Served> {
        // A service that never ends is a request, and would be answered as one.
        let service = service.min(Time::MAX.saturating_sub(Time::TICK));
        let seizure = Seizure { service, ..Seizure::default() };
        Wait::new(cx.id(), Order::Claim(self.0, Want::Seize(seizure)), served)
    }

    /// From now on there are this many units, those that are broken included. Nobody loses one.
    pub fn set_capacity<P: Send + 'static>(&self, cx: &Process<P>, capacity: u32) {
        change(cx, self.0, Change::Capacity(capacity));
    }

    /// So many units break down until they are repaired. Their holders are preempted, the least urgent and
    /// latest first, where free units are too few.
    pub fn break_down<P: Send + 'static>(&self, cx: &Process<P>, units: u32) {
        change(cx, self.0, Change::BreakDown(units, Closing::Preempt));
    }

    /// So many units are taken out of service until they are repaired, as soon as they are free.
    pub fn take_out<P: Send + 'static>(&self, cx: &Process<P>, units: u32) {
        change(cx, self.0, Change::BreakDown(units, Closing::Finish));
    }

    /// So many units that had broken down are there again.
    pub fn repair<P: Send + 'static>(&self, cx: &Process<P>, units: u32) {
        change(cx, self.0, Change::Repair(units));
    }
}

impl Measured for Resource {
    fn id(&self) -> ResourceId {
        self.0
    }
}

/// Requests of units: how they are seized.
pub trait Seizes {}

impl<P: Send + 'static> Seizes for Held<P> {}
impl Seizes for Served {}

impl<P: Send + 'static, T: Seizes> Wait<P, T> {
    fn seizing(mut self, set: impl FnOnce(&mut Seizure)) -> Self {
        if let Some(Want::Seize(seizure)) = self.want() {
            set(seizure);
        }
        self
    }

    /// Lesser numbers come first; 0 where nothing is said.
    pub fn priority(self, priority: i64) -> Self {
        self.seizing(|seizure| seizure.priority = priority)
    }

    /// For this many units at once. Panics with none.
    pub fn units(self, units: u32) -> Self {
        assert!(units > 0, "a request for 0 units; allowed: from 1");
        self.seizing(|seizure| seizure.amount = units)
    }

    /// Takes units from processes of greater priority numbers, where too few are free.
    pub fn preempting(self) -> Self {
        self.seizing(|seizure| seizure.preempts = true)
    }

    /// Does not wait where this number of others, or more, wait already: [`WaitError::Balked`].
    pub fn balking_at(self, waiting: u32) -> Self {
        self.seizing(|seizure| seizure.balks_at = waiting)
    }
}

impl<P: Send + 'static> Wait<P, Served> {
    /// What becomes of the service when it is preempted.
    pub fn after_preemption(self, then: Preempted) -> Self {
        self.seizing(|seizure| seizure.preempted = then)
    }
}

impl<P: Send + 'static> Held<P> {
    /// How long the process waited for the units.
    pub fn waited(&self) -> Time {
        self.waited
    }

    /// Releases the units; dropping it does the same.
    pub fn release(self) {
        drop(self);
    }

    /// Releases some of the units, at most all.
    pub fn release_some(&mut self, units: u32) {
        let Claimed { process: holder, claim, resource } = self.claimed;
        post_request_of_any::<P>(Request::ReleaseUnits { holder, claim, resource, units });
    }
}

impl<P: Send + 'static> Drop for Held<P> {
    fn drop(&mut self) {
        self.release_some(u32::MAX);
    }
}

fn held<P: Send + 'static>(claimed: Claimed, outcome: Outcome) -> Result<Held<P>, WaitError> {
    match outcome {
        Outcome::Granted(waited) => Ok(Held { claimed, waited, payload: PhantomData }),
        _ => unreachable!("a request is granted or fails"),
    }
}

fn served(_: Claimed, outcome: Outcome) -> Result<Served, WaitError> {
    match outcome {
        Outcome::Served { waited, preemptions } => Ok(Served { waited, preemptions }),
        _ => unreachable!("a service ends or fails"),
    }
}

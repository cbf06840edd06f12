//! What resources are made as: names, bounds, shifts, statistics.

use std::marker::PhantomData;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_network::{HostId, Network};

use super::{Container, Event, Resource, State, Store};
use crate::core::{Closing, Request, ResourceId, ResourceKind, ResourceSpec, Shifts, Value};
use crate::desk::{Desk, on_desk, post_request};
use crate::{Process, Simulation};

/// How a resource of handle `H` is made: [`Spec::resource`] and the like, then what differs from the usual.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
/// use paceline_processes::resources::Spec;
/// use paceline_processes::{Process, Simulation};
///
/// let hours = |hours: u64| Time::secs(3600 * hours);
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
/// // Two clerks from 8 to 16 o'clock, every day.
/// let spec = Spec::resource(0).named("clerks").shifts(hours(24), [(hours(8), 2), (hours(16), 0)]);
/// let clerks = simulation.make(HostId(0), spec);
/// simulation.spawn("customer", HostId(0), async move |cx: Process<()>| {
///     clerks.serve(&cx, Time::secs(60)).await.unwrap();
/// });
/// let report = simulation.run()?;
/// assert_eq!(report.end_time, hours(8) + Time::secs(60));
/// assert_eq!(report.resource("clerks").unwrap().waits.mean_s(), Some(8.0 * 3600.0));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spec<H> {
    spec: ResourceSpec,
    make: fn(ResourceId) -> H,
    handle: PhantomData<fn() -> H>,
}

impl<H> Spec<H> {
    fn new(kind: ResourceKind, make: fn(ResourceId) -> H) -> Self {
        let spec = ResourceSpec { name: None, is_sampled: true, has_quantiles: false, kind };
        Self { spec, make, handle: PhantomData }
    }

    /// What it is called in reports and statistics; several may have one name.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.spec.name = Some(name.into());
        self
    }

    /// Keeps no statistics.
    pub fn without_statistics(mut self) -> Self {
        self.spec.is_sampled = false;
        self
    }

    /// Keeps quantiles of waits and services as well, which costs more.
    pub fn with_quantiles(mut self) -> Self {
        self.spec.has_quantiles = true;
        self
    }
}

impl Spec<Resource> {
    /// So many units.
    pub fn resource(capacity: u32) -> Self {
        let (shifts, closing) = (None, Closing::default());
        Self::new(ResourceKind::Units { capacity, shifts, closing }, Resource)
    }

    /// How many units there are changes with time: at each of these times, ascending, there are so many from
    /// then on, again after each `period`. Who holds a unit keeps it beyond the end of a shift.
    ///
    /// Panics where the times do not ascend or are not below the period.
    pub fn shifts(self, period: Time, changes: impl Into<Vec<(Time, u32)>>) -> Self {
        let changes = changes.into();
        let ascend = changes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let are_below = changes.last().is_some_and(|(last, _)| *last < period);
        assert!(ascend && are_below, "times of shifts ascend and are below the period of {period}");
        self.planned(Shifts { changes, period: Some(period) })
    }

    /// The same, but the times are those of the run and do not repeat. The first must be 0.
    pub fn schedule(self, changes: impl Into<Vec<(Time, u32)>>) -> Self {
        let changes = changes.into();
        let ascend = changes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let first = changes.first().map(|(first, _)| *first);
        assert!(ascend && first == Some(Time::ZERO), "times of a schedule ascend, from 0");
        self.planned(Shifts { changes, period: None })
    }

    fn planned(mut self, planned: Shifts) -> Self {
        if let ResourceKind::Units { shifts, .. } = &mut self.spec.kind {
            *shifts = Some(planned);
        }
        self
    }

    /// The end of a shift preempts those who hold units that go.
    pub fn preempting_at_closing(mut self) -> Self {
        if let ResourceKind::Units { closing, .. } = &mut self.spec.kind {
            *closing = Closing::Preempt;
        }
        self
    }
}

impl<T: Send + 'static> Spec<Store<T>> {
    /// A store with room for any number of items.
    pub fn store() -> Self {
        Self::new(ResourceKind::Store { capacity: u64::MAX }, Store::new)
    }

    /// There is room for so many.
    pub fn room(mut self, items: u64) -> Self {
        self.spec.kind = ResourceKind::Store { capacity: items };
        self
    }
}

impl Spec<Container> {
    /// A container with room for an amount, which may be infinite, and what is in it at first.
    ///
    /// Panics where there is no room for that.
    pub fn container(capacity: f64, level: f64) -> Self {
        assert!(
            (0.0..=capacity).contains(&level) && level.is_finite(),
            "a container with room for {capacity} has {level} in it; allowed: from 0 to its room"
        );
        Self::new(ResourceKind::Container { capacity, level }, Container)
    }
}

impl<T: Clone + Send + Sync + 'static> Spec<Event<T>> {
    /// An event that has not happened.
    pub fn event() -> Self {
        Self::new(ResourceKind::Event, Event::new)
    }
}

impl<T: Clone + Send + Sync + 'static> Spec<State<T>> {
    /// A state with this value.
    pub fn state(value: T) -> Self {
        Self::new(ResourceKind::State(Value::new(value)), State::new)
    }
}

impl<P: Send + 'static, N: Network> Simulation<P, N> {
    /// Makes a resource that is there when the run begins, at a host; on federates only processes of that
    /// host may use it.
    pub fn make<H>(&mut self, host: HostId, spec: Spec<H>) -> H {
        let number = self.resources.len() as u32;
        let id = ResourceId { owner: ResourceId::SETUP, number, host: host.0 };
        self.resources.push((id, spec.spec));
        (spec.make)(id)
    }

    /// A resource of so many units.
    pub fn resource(&mut self, host: HostId, capacity: u32) -> Resource {
        self.make(host, Spec::resource(capacity))
    }

    /// A store with room for any number of items.
    pub fn store<T: Send + 'static>(&mut self, host: HostId) -> Store<T> {
        self.make(host, Spec::store())
    }

    /// A container, and what is in it at first.
    pub fn container(&mut self, host: HostId, capacity: f64, level: f64) -> Container {
        self.make(host, Spec::container(capacity, level))
    }

    /// An event that has not happened.
    pub fn event<T: Clone + Send + Sync + 'static>(&mut self, host: HostId) -> Event<T> {
        self.make(host, Spec::event())
    }

    /// A state with this value.
    pub fn state<T: Clone + Send + Sync + 'static>(&mut self, host: HostId, value: T) -> State<T> {
        self.make(host, Spec::state(value))
    }

    /// What is measured before this time does not count: of resources, and by processes
    /// ([`Simulation::measure`]).
    pub fn measure_from(mut self, warm_up: Time) -> Self {
        self.settings.measure_from = warm_up;
        self
    }
}

impl<P: Send + 'static> Process<P> {
    /// Makes a resource at the host of this process. It lives as long as the run, unless it is forgotten.
    pub fn make<H>(&self, spec: Spec<H>) -> H {
        let number = on_desk(self.id(), |desk: &mut Desk<P>| {
            let number = desk.process.objects;
            desk.process.objects += 1;
            number
        });
        let id = ResourceId { owner: self.id().0, number, host: self.host().0 };
        post_request::<P>(self.id(), Request::Make(Box::new((id, spec.spec))));
        (spec.make)(id)
    }

    /// A resource of so many units.
    pub fn resource(&self, capacity: u32) -> Resource {
        self.make(Spec::resource(capacity))
    }

    /// A store with room for any number of items.
    pub fn store<T: Send + 'static>(&self) -> Store<T> {
        self.make(Spec::store())
    }

    /// A container, and what is in it at first.
    pub fn container(&self, capacity: f64, level: f64) -> Container {
        self.make(Spec::container(capacity, level))
    }

    /// An event that has not happened.
    pub fn event<T: Clone + Send + Sync + 'static>(&self) -> Event<T> {
        self.make(Spec::event())
    }

    /// A state with this value.
    pub fn state<T: Clone + Send + Sync + 'static>(&self, value: T) -> State<T> {
        self.make(Spec::state(value))
    }
}

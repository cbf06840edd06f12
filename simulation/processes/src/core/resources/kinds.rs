//! What a resource is, what is done to it, and what is asked of it.
//!
//! Whatever depends on the kind of a resource is decided here, and done in the file of the kind: `units`,
//! `stores`, `containers`, `signals`. Claims come through `super`, where processes wait for their answers; a
//! [`Change`] and a [`Look`] wait for nothing.

use std::sync::Arc;

use paceline_kernel::Time;

use super::super::moment::Moment;
use super::super::statistics::{ResourceStatistics, Sampled};
use super::super::wants::{Change, Failure, Levels, Look, Outcome, ResourceId, ResourceKind, ResourceSpec};
use super::Resources;
use super::claims::Stage;
use super::containers::Container;
use super::scope::Scope;
use super::signals::{Event, State};
use super::stores::Store;
use super::units::Units;

/// A resource, with those that wait for it.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) id: ResourceId,
    pub(super) name: Option<Arc<str>>,
    pub(super) sampled: Option<Box<Sampled>>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Units(Units),
    Store(Store),
    Container(Container),
    Event(Event),
    State(State),
}

impl Kind {
    pub(super) fn levels(&self) -> Levels {
        match self {
            Self::Units(units) => units.levels(),
            Self::Store(store) => store.levels(),
            Self::Container(container) => container.levels(),
            Self::Event(event) => event.levels(),
            Self::State(state) => state.levels(),
        }
    }

    /// A claim waits no longer; it is not answered here.
    pub(super) fn renege(&mut self, scope: &mut Scope<'_>, place: u32) {
        match self {
            Self::Units(units) => {
                units.renege(scope, place);
                // It may have been for more units than those behind it.
                units.serve_line(scope);
            }
            Self::Store(store) => store.renege(scope, place),
            Self::Container(container) => {
                container.renege(scope, place);
                container.serve(scope);
            }
            Self::Event(event) => event.waiting.remove(scope.claims, place),
            Self::State(state) => state.waiting.remove(scope.claims, place),
        }
    }
}

impl Resource {
    /// A new one, and when its units change next.
    pub(super) fn new(id: ResourceId, spec: ResourceSpec, now: Time) -> (Self, Option<Time>) {
        let ResourceSpec { name, is_sampled, has_quantiles, kind } = spec;
        let (mut shift, mut amount) = (None, None);
        let (kind, capacity) = match kind {
            ResourceKind::Units { capacity, shifts, closing } => {
                shift = shifts.as_ref().and_then(|shifts| shifts.next(now));
                let units = Units::new(capacity, shifts, closing, now);
                let capacity = u64::from(units.capacity());
                (Kind::Units(units), capacity)
            }
            ResourceKind::Store { capacity } => {
                // Room without bound is not a capacity that could be used to a part.
                let bounded = if capacity == u64::MAX { 0 } else { capacity };
                (Kind::Store(Store::new(capacity)), bounded)
            }
            ResourceKind::Container { capacity, level } => {
                amount = Some((level, capacity));
                (Kind::Container(Container::new(capacity, level)), 0)
            }
            ResourceKind::Event => (Kind::Event(Event::default()), 0),
            ResourceKind::State(value) => (Kind::State(State::new(value)), 0),
        };
        let keeps = is_sampled && matches!(kind, Kind::Units(_) | Kind::Store(_) | Kind::Container(_));
        let sampled = keeps.then(|| {
            let sampled = Sampled::new(now, capacity, has_quantiles);
            Box::new(match amount {
                Some((level, capacity)) => sampled.with_amount(level, capacity),
                None => sampled,
            })
        });
        (Self { id, name, sampled, kind }, shift)
    }

    /// What a process asks of the present; nothing where a resource of this kind has none of it.
    pub(super) fn look(&self, look: Look, now: Time, warm_up: Time) -> Option<Outcome> {
        match (look, &self.kind) {
            (Look::Levels, kind) => Some(Outcome::Levels(kind.levels())),
            (Look::Value, kind) => kind.value(),
            (Look::Statistics, _) => Some(Outcome::Statistics(Box::new(self.statistics(now, warm_up)))),
        }
    }

    pub(super) fn statistics(&self, now: Time, warm_up: Time) -> ResourceStatistics {
        let (name, host) = (self.name.clone(), self.id.host);
        match &self.sampled {
            Some(sampled) => sampled.report(now, warm_up, name, host),
            None => ResourceStatistics { name, host, ..ResourceStatistics::default() },
        }
    }
}

impl Resources {
    /// Does something to a resource.
    pub(in super::super) fn change(&mut self, at: Moment, id: ResourceId, change: Change) {
        let Some(place) = self.place(id) else { return };
        match change {
            Change::Forget => return self.forget(at, id, place),
            Change::Reset => {
                let resource = self.there[place as usize].as_mut();
                let sampled = resource.and_then(|resource| resource.sampled.as_mut());
                return sampled.into_iter().for_each(|sampled| sampled.begin_anew(at.at));
            }
            _ => {}
        }
        let Some((kind, mut scope)) = self.at(place, at) else { return };
        match (kind, change) {
            (Kind::Event(event), Change::Succeed(value)) => event.happen(&mut scope, Ok(value)),
            (Kind::Event(event), Change::Fail(reason)) => event.happen(&mut scope, Err(reason)),
            (Kind::State(state), Change::Set(value)) => state.set(&mut scope, value),
            (Kind::State(state), Change::Update(update)) => state.update(&mut scope, &update),
            (Kind::Units(units), Change::Capacity(capacity)) => units.plan(&mut scope, capacity),
            (Kind::Units(units), Change::BreakDown(count, closing)) => {
                units.break_down(&mut scope, count, closing);
            }
            (Kind::Units(units), Change::Repair(count)) => units.repair(&mut scope, count),
            _ => {}
        }
    }

    /// Nobody will use a resource again: those that wait for it learn that it is unknown.
    fn forget(&mut self, at: Moment, id: ResourceId, place: u32) {
        if let (Some(before), Some(resource)) = (&mut self.before, &self.there[place as usize]) {
            before.entry(id).or_insert_with(|| resource.glance());
        }
        self.places.remove(&id);
        (self.latest, self.there[place as usize]) = (None, None);
        self.shifts.retain(|(_, of)| *of != place);
        for claim in self.claims.for_resource(place) {
            if self.claims.get(claim).stage == Stage::Holds {
                self.claims.remove(claim);
            } else {
                self.fail(claim, at, Failure::Unknown);
            }
        }
        self.free.push(place);
    }

    /// When the number of units of a resource changes next by its plan.
    pub(in super::super) fn next_shift(&self) -> Option<Time> {
        self.shifts.first().map(|(at, _)| *at)
    }

    /// Whether somebody waits for units whose number changes by a plan.
    pub(in super::super) fn shifts_matter(&self) -> bool {
        self.shifts.iter().any(|(_, place)| match &self.there[*place as usize] {
            Some(Resource { kind: Kind::Units(units), .. }) => !units.waiting.is_empty(),
            _ => false,
        })
    }

    /// The numbers of units change as planned, up to `now`.
    pub(in super::super) fn advance(&mut self, now: Time) {
        while let Some((time, place)) = self.shifts.first().copied().filter(|(time, _)| *time <= now) {
            self.shifts.pop_first();
            let Some((Kind::Units(units), mut scope)) = self.at(place, Moment::at(time)) else { continue };
            let Some(shifts) = &units.shifts else { continue };
            let (capacity, next) = (shifts.capacity(time), shifts.next(time));
            units.plan(&mut scope, capacity);
            self.shifts.extend(next.map(|at| (at, place)));
        }
    }

    /// Statistics of all resources that keep them, up to `now`, by name and then in the order in which they
    /// were made.
    pub(in super::super) fn statistics(&mut self, now: Time) -> Vec<(ResourceId, ResourceStatistics)> {
        self.advance(now);
        let mut all: Vec<_> = self
            .places
            .iter()
            .filter_map(|(id, place)| {
                let resource = self.there[*place as usize].as_ref()?;
                let sampled = self.sampled_at(*place, now).or(resource.sampled.as_deref())?;
                let name = resource.name.clone();
                Some((*id, sampled.report(now, self.warm_up, name, id.host)))
            })
            .collect();
        // The order is the same where a world is dealt to several cores and theirs are merged.
        all.sort_by_key(|(id, statistics)| {
            (statistics.name.clone(), id.owner != ResourceId::SETUP, id.host, id.owner, id.number)
        });
        all
    }

    /// What was measured of a resource up to `now`, where more has happened since.
    fn sampled_at(&self, place: u32, now: Time) -> Option<&Sampled> {
        let past = self.past.iter().flatten();
        let mut later = past.filter(|(at, of, _)| *of == place && *at > now);
        later.next().map(|(.., sampled)| &**sampled)
    }

    /// From now on what happens may be undone.
    pub(in super::super) fn keep_past(&mut self) {
        self.past.get_or_insert_default();
    }

    /// What has happened up to `sure` will not be undone.
    pub(in super::super) fn forget_past(&mut self, sure: Time) {
        if let Some(past) = &mut self.past {
            let before = past.partition_point(|(at, ..)| *at <= sure);
            past.drain(..before);
        }
    }
}

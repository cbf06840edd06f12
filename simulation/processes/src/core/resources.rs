//! Resources: what processes wait for beside each other's messages - units, items, amounts, events, states.
//!
//! A process makes *claims*, each of which is answered once; it may have several open at a time, and resumes
//! when one is answered. A claim for units stays after its answer, until they are released, so that the core
//! knows at any time who holds what: a process that ends releases it, and a deadlock names it.
//!
//! This part of the core knows processes by their numbers only. What is to be done because of a request - who
//! is answered, what is due when - stands in [`Effects`], which the core carries out (`core/outcomes.rs`).
//!
//! Invariants: each resource is at a host, and only what happens there acts on it, so that it is the same
//! however a world is dealt to federates; a claim is open, holds units, or is forgotten.

mod claims;
mod containers;
mod glances;
mod interrupts;
mod kinds;
mod scope;
mod signals;
mod stores;
mod units;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use paceline_kernel::Time;

use super::ids::ProcessId;
use super::moment::Moment;
use super::statistics::Sampled;
use super::wants::{Failure, Look, Outcome, ResourceId, ResourceSpec, Want};
use claims::{Claim, Claims, NONE, Stage};
use glances::Glance;
use interrupts::Interrupts;
use kinds::{Kind, Resource};
use scope::{Effects, Scope};

pub(super) use scope::Answered;
pub use words::WaitsFor;

/// All resources of a core.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    claims: Claims,
    places: BTreeMap<ResourceId, u32>,
    /// The resource that was looked for last, and its place: often it is looked for again.
    latest: Option<(ResourceId, u32)>,
    there: Vec<Option<Resource>>,
    free: Vec<u32>,
    /// When plans of units change next.
    shifts: BTreeSet<(Time, u32)>,
    pub(super) interrupts: Interrupts,
    pub(super) effects: Effects,
    /// Statistics are of what happens from then on.
    warm_up: Time,
    /// Statistics before they first changed in an instant, with the place of their resource; only where what
    /// happens may be undone.
    past: Option<Vec<(Time, u32, Box<Sampled>)>>,
    /// What changed since a round began that is handed in in parts, as it was then.
    before: Option<BTreeMap<ResourceId, Glance>>,
}

impl Resources {
    /// Numbers of processes begin at `first`; there are no claims yet.
    pub(super) fn begin(&mut self, first: u32) {
        self.claims = Claims::from(first);
    }

    /// Statistics are of what happens from this time on.
    pub(super) fn set_warm_up(&mut self, warm_up: Time) {
        self.warm_up = warm_up;
    }

    pub(super) fn make(&mut self, id: ResourceId, spec: ResourceSpec, now: Time) {
        let (resource, shift) = Resource::new(id, spec, now);
        let resource = Some(resource);
        let place = match self.free.pop() {
            Some(place) => {
                self.there[place as usize] = resource;
                place
            }
            None => {
                self.there.push(resource);
                self.there.len() as u32 - 1
            }
        };
        self.places.insert(id, place);
        self.shifts.extend(shift.map(|at| (at, place)));
    }

    fn place(&mut self, id: ResourceId) -> Option<u32> {
        if let Some((latest, place)) = self.latest
            && latest == id
        {
            return Some(place);
        }
        let place = *self.places.get(&id)?;
        self.latest = Some((id, place));
        Some(place)
    }

    /// A resource, and what it works with.
    #[inline]
    fn at(&mut self, place: u32, at: Moment) -> Option<(&mut Kind, Scope<'_>)> {
        let Self { claims, effects, there, warm_up, past, before, .. } = self;
        let resource = there.get_mut(place as usize)?.as_mut()?;
        if let Some(before) = before {
            before.entry(resource.id).or_insert_with(|| resource.glance());
        }
        let Resource { sampled, kind, .. } = resource;
        let sampled = sampled.as_deref_mut();
        if let Some((past, sampled)) = past.as_mut().zip(sampled.as_ref()) {
            // What it was before the first change of an instant.
            if past.last().is_none_or(|(time, of, _)| (*time, *of) != (at.at, place)) {
                past.push((at.at, place, Box::new((*sampled).clone())));
            }
        }
        Some((kind, Scope { claims, effects, sampled, warm_up: *warm_up, at }))
    }

    /// A process makes a claim, and waits for its answer at most for the span `limit`, [`Time::MAX`] without
    /// end; zero does not wait at all.
    pub(super) fn claim(
        &mut self,
        at: Moment,
        claimed: (ProcessId, u32),
        id: ResourceId,
        want: Want,
        limit: Time,
    ) {
        let (process, number) = claimed;
        let resource = self.place(id);
        if let Want::Look(look) = want {
            return self.look(at, claimed, resource, look);
        }
        let claim = Claim::new(process, number, resource.unwrap_or(NONE), want, at.at);
        let place = self.claims.add(claim);
        if let Some(failure) = self.interrupts.pending(process) {
            return self.fail(place, at, failure);
        }
        let Some((kind, mut scope)) = resource.and_then(|resource| self.at(resource, at)) else {
            return self.fail(place, at, Failure::Unknown);
        };
        match (kind, &scope.claims.get(place).want) {
            (Kind::Units(units), Want::Seize(_)) => units.seize(&mut scope, place, limit),
            (Kind::Store(store), Want::Put { .. }) => store.put(&mut scope, place, limit),
            (Kind::Store(store), Want::Get { .. }) => store.get(&mut scope, place, limit),
            (Kind::Container(container), Want::Fill(_) | Want::Draw(_)) => {
                container.ask(&mut scope, place, limit);
            }
            (Kind::Event(event), Want::Await) => event.wait(&mut scope, place, limit),
            (Kind::State(state), Want::Until(_)) => state.wait(&mut scope, place, limit),
            _ => scope.fail(place, Failure::Unknown),
        }
    }

    /// A process waits for a time alone: when that is, unless it never comes, or an interrupt is pending.
    #[inline]
    pub(super) fn hold(
        &mut self,
        at: Moment,
        (process, number): (ProcessId, u32),
        span: Time,
    ) -> Option<Time> {
        let due = if span == Time::MAX { None } else { at.at.checked_add(span) };
        let mut claim = Claim::new(process, number, NONE, Want::Await, at.at);
        (claim.stage, claim.rest, claim.due) = (Stage::Times, at.rest, due.unwrap_or(Time::MAX));
        let place = self.claims.add(claim);
        if let Some(failure) = self.interrupts.pending(process) {
            self.fail(place, at, failure.with_left(span));
            return None;
        }
        due
    }

    /// What claims work with that are for no resource.
    fn scope(&mut self, at: Moment) -> Scope<'_> {
        let Self { claims, effects, warm_up, .. } = self;
        Scope { claims, effects, sampled: None, warm_up: *warm_up, at }
    }

    /// Answers a claim that stands in no line with a failure.
    fn fail(&mut self, place: u32, at: Moment, failure: Failure) {
        self.scope(at).fail(place, failure);
    }

    fn look(&mut self, at: Moment, (process, number): (ProcessId, u32), place: Option<u32>, look: Look) {
        let resource = place.and_then(|place| self.there[place as usize].as_ref());
        let outcome = resource.and_then(|resource| resource.look(look, at.at, self.warm_up));
        let outcome = outcome.unwrap_or(Outcome::Failed(Failure::Unknown));
        self.effects.answered.push(Answered { process, number, outcome, at });
    }

    /// A process gives up a claim, or what it was answered to it and did not look at.
    pub(super) fn withdraw(
        &mut self,
        at: Moment,
        (process, number): (ProcessId, u32),
        unseen: Option<Outcome>,
    ) {
        if let Some(place) = self.claims.find(process, number) {
            self.leave(at, place, u32::MAX);
        }
        // What was taken out is in no claim any more: the outcome says where it belongs.
        if let Some(outcome) = unseen {
            self.put_back(at, outcome);
        }
    }

    /// What a process was answered and did not look at goes back to where it came from.
    pub(super) fn put_back(&mut self, at: Moment, outcome: Outcome) {
        let (place, values) = match outcome {
            Outcome::Item(place, item) => (place, vec![item]),
            Outcome::Items(place, items) => (place, *items),
            Outcome::Drawn(place, amount) => {
                if let Some((Kind::Container(container), mut scope)) = self.at(place, at) {
                    container.put_back(&mut scope, amount);
                }
                return;
            }
            _ => return,
        };
        if let Some((Kind::Store(store), mut scope)) = self.at(place, at) {
            store.put_back(&mut scope, values);
        }
    }

    /// A process gives up units of a claim.
    pub(super) fn release(&mut self, at: Moment, (process, number): (ProcessId, u32), units: u32) {
        if let Some(place) = self.claims.find(process, number) {
            self.leave(at, place, units);
        }
    }

    /// Takes a claim out of wherever it is; of units that it holds, so many are released.
    fn leave(&mut self, at: Moment, place: u32, units: u32) {
        let claim = self.claims.get(place);
        let (stage, resource) = (claim.stage, claim.resource);
        let Some((kind, mut scope)) = self.at(resource, at) else {
            self.claims.remove(place);
            return;
        };
        let is_gone = match (kind, stage) {
            (Kind::Units(resource), Stage::Holds | Stage::Serves) => {
                let is_gone = resource.give_back(&mut scope, place, units);
                resource.serve_line(&mut scope);
                is_gone
            }
            (kind, _) => {
                kind.renege(&mut scope, place);
                true
            }
        };
        if is_gone {
            self.claims.remove(place);
        }
    }

    /// A process has ended: its claims are withdrawn, and what they hold is released.
    pub(super) fn end(&mut self, at: Moment, process: ProcessId) {
        self.interrupts.forget(process);
        while let Some(place) = self.claims.of(process).last() {
            self.leave(at, place, u32::MAX);
        }
        self.claims.forget(process);
    }

    /// Whether a claim is due at this time.
    pub(super) fn is_due(&self, process: ProcessId, number: u32, at: Time) -> bool {
        self.claims.find(process, number).is_some_and(|place| self.claims.get(place).due == at)
    }

    /// The time of a claim is over, if it is due. A process that waits for that alone is answered by the
    /// caller, at the moment that this returns.
    #[inline]
    pub(super) fn due(&mut self, now: Time, process: ProcessId, number: u32) -> Option<Moment> {
        let place = self.claims.find(process, number)?;
        let Claim { due, rest, stage, .. } = *self.claims.get(place);
        if due != now {
            return None;
        }
        let at = Moment { at: now, rest };
        if stage == Stage::Times {
            self.claims.remove(place);
            return Some(at);
        }
        self.claim_due(at, place);
        None
    }

    /// A service is over, or the time limit of a wait.
    fn claim_due(&mut self, at: Moment, place: u32) {
        let Claim { stage, resource, .. } = *self.claims.get(place);
        let Some((kind, mut scope)) = self.at(resource, at) else {
            return self.scope(at).settle(place, Outcome::Done);
        };
        match (kind, stage) {
            (Kind::Units(units), Stage::Serves) => {
                units.give_back(&mut scope, place, u32::MAX);
                let Claim { waited, preemptions, .. } = *scope.claims.get(place);
                scope.settle(place, Outcome::Served { waited, preemptions });
                units.serve_line(&mut scope);
            }
            (kind, _) => {
                kind.renege(&mut scope, place);
                scope.fail(place, Failure::TimedOut);
            }
        }
    }
}

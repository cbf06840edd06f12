//! Units that processes hold: servers, machines, places.
//!
//! Claims are granted in the order of the line and never past its first: one for many units is not overtaken
//! for ever by those for few. A claim that preempts takes units from the least urgent holders, of equals from
//! the latest (as SimPy's `PreemptiveResource` does), if that gives it enough, and if nobody as urgent waits.
//!
//! Invariants: the first in the line is for more units than are free; units in use are those of the claims in
//! `holding`; they are more than the capacity only where units were taken away from under their holders.

use paceline_kernel::Time;

use super::super::ids::ProcessId;
use super::super::moment::Moment;
use super::super::wants::{Closing, Failure, Levels, Outcome, Preempted, Preemption, Seizure, Shifts, Want};
use super::claims::{Line, Stage};
use super::scope::Scope;

#[derive(Clone, Debug)]
pub(super) struct Units {
    /// How many there are by the plan, with those that are broken.
    planned: u32,
    broken: u32,
    in_use: u32,
    pub(super) shifts: Option<Shifts>,
    closing: Closing,
    pub(super) waiting: Line,
    pub(super) holding: Line,
    /// When units were last released.
    given: Moment,
}

impl Units {
    pub(super) fn new(capacity: u32, shifts: Option<Shifts>, closing: Closing, now: Time) -> Self {
        let planned = shifts.as_ref().map_or(capacity, |shifts| shifts.capacity(now));
        let (waiting, holding, given) = (Line::default(), Line::default(), Moment::default());
        Self { planned, broken: 0, in_use: 0, shifts, closing, waiting, holding, given }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.planned.saturating_sub(self.broken)
    }

    fn free(&self) -> u32 {
        self.capacity().saturating_sub(self.in_use)
    }

    /// The most units that there are at any time.
    fn most(&self) -> u32 {
        let later = self.shifts.iter().flat_map(|shifts| &shifts.changes).map(|(_, capacity)| *capacity);
        later.fold(self.planned, u32::max)
    }

    pub(super) fn levels(&self) -> Levels {
        let (level, capacity) = (self.in_use.into(), self.capacity().into());
        Levels { waiting: self.waiting.len(), waiting_for_room: 0, level, capacity }
    }

    /// A process wants units, at most this long.
    pub(super) fn seize(&mut self, scope: &mut Scope<'_>, place: u32, limit: Time) {
        scope.sample(|sampled| sampled.requests());
        let Want::Seize(seizure) = scope.claims.at(place).want else {
            return scope.fail(place, Failure::Unknown);
        };
        scope.claims.at(place).left = seizure.service;
        if seizure.amount > self.most() {
            return scope.fail(place, Failure::TooMuch);
        }
        if self.waiting.would_be_first(seizure.priority) {
            if self.free() >= seizure.amount {
                // The unit may have been released later in this instant than the process asked for it.
                scope.at = if self.given.at == scope.at.at { scope.at.later(self.given) } else { scope.at };
                return self.grant(scope, place, seizure);
            }
            if seizure.preempts && self.preempt_for(scope, place, seizure) {
                self.grant(scope, place, seizure);
                // A victim may have held more than was needed.
                return self.serve_line(scope);
            }
        }
        if self.waiting.len() >= seizure.balks_at || limit == Time::ZERO {
            scope.sample(|sampled| sampled.balks());
            let failure = if limit == Time::ZERO { Failure::TimedOut } else { Failure::Balked };
            return scope.fail(place, failure);
        }
        self.waiting.push(scope.claims, place, seizure.priority);
        scope.sample(|sampled| sampled.waits(1));
        scope.limit(place, limit);
    }

    /// A claim that is in no line gets its units.
    fn grant(&mut self, scope: &mut Scope<'_>, place: u32, seizure: Seizure) {
        self.in_use += seizure.amount;
        self.holding.push(scope.claims, place, seizure.priority);
        let (now, rest) = (scope.at.at, scope.at.rest);
        let claim = scope.claims.at(place);
        let waited = (claim.waited == Time::MAX).then(|| now - claim.since);
        if let Some(waited) = waited {
            claim.waited = waited;
        }
        let waited_in_all = claim.waited;
        (claim.since, claim.rest, claim.due) = (now, rest, Time::MAX);
        scope.sample(|sampled| {
            sampled.uses(seizure.amount.into());
            waited.into_iter().for_each(|waited| sampled.grants(waited));
        });
        let claim = scope.claims.at(place);
        if seizure.service == Time::MAX {
            claim.stage = Stage::Holds;
            scope.answer(place, Outcome::Granted(waited_in_all));
        } else {
            claim.stage = Stage::Serves;
            let service = claim.left;
            scope.limit(place, service);
        }
    }

    /// Grants what can be granted.
    pub(super) fn serve_line(&mut self, scope: &mut Scope<'_>) {
        while let Some(place) = self.waiting.first() {
            let Want::Seize(seizure) = scope.claims.at(place).want else { return };
            if seizure.amount > self.free() {
                return;
            }
            self.waiting.remove(scope.claims, place);
            scope.sample(|sampled| sampled.waits(-1));
            self.grant(scope, place, seizure);
        }
    }

    /// A claim waits no longer; it is not answered here.
    pub(super) fn renege(&mut self, scope: &mut Scope<'_>, place: u32) {
        self.waiting.remove(scope.claims, place);
        scope.sample(|sampled| {
            sampled.waits(-1);
            sampled.reneges();
        });
    }

    /// A claim gives so many units back, or all; whether it has none any more, and was taken out.
    pub(super) fn give_back(&mut self, scope: &mut Scope<'_>, place: u32, units: u32) -> bool {
        let (now, claim) = (scope.at.at, scope.claims.at(place));
        let (held, amount) = (claim.held.saturating_add(now - claim.since), claim.amount());
        let (units, is_all) = (units.min(amount), units >= amount);
        if is_all {
            self.holding.remove(scope.claims, place);
        } else if let Want::Seize(seizure) = &mut claim.want {
            seizure.amount -= units;
        }
        self.in_use -= units;
        self.given = self.given.later(scope.at);
        scope.sample(|sampled| {
            sampled.uses(-i64::from(units));
            if is_all {
                sampled.serves(held);
            }
        });
        is_all
    }

    /// Whether enough units could be taken from less urgent holders; they are taken then.
    fn preempt_for(&mut self, scope: &mut Scope<'_>, place: u32, seizure: Seizure) -> bool {
        let needed = (self.in_use + seizure.amount).saturating_sub(self.capacity());
        let mut found = 0;
        let mut holder = self.holding.last().map(|(_, holder)| holder);
        while let Some(victim) = holder.filter(|_| found < needed) {
            let claim = scope.claims.get(victim);
            let is_weaker = matches!(&claim.want, Want::Seize(other) if other.priority > seizure.priority);
            if !is_weaker {
                return false;
            }
            found += claim.amount();
            holder = self.holding.previous(scope.claims, victim);
        }
        if found < needed {
            return false;
        }
        let by = scope.claims.get(place).process;
        let target = self.in_use.saturating_sub(needed);
        while self.in_use > target
            && let Some((_, victim)) = self.holding.last()
        {
            self.take_from(scope, victim, Some(by));
        }
        true
    }

    /// A claim loses its units.
    fn take_from(&mut self, scope: &mut Scope<'_>, victim: u32, by: Option<ProcessId>) {
        let now = scope.at.at;
        self.holding.remove(scope.claims, victim);
        let claim = scope.claims.at(victim);
        let (amount, since, process) = (claim.amount(), claim.since, claim.process);
        let left = if claim.stage == Stage::Serves { claim.due.saturating_sub(now) } else { Time::ZERO };
        claim.held = claim.held.saturating_add(now - since);
        self.in_use -= amount;
        scope.sample(|sampled| {
            sampled.uses(-i64::from(amount));
            sampled.preempts();
        });
        let preemption = Preemption { by, since, left };
        let claim = scope.claims.at(victim);
        let Want::Seize(seizure) = claim.want else { return };
        if claim.stage == Stage::Holds {
            scope.claims.remove(victim);
            scope.effects.preempted.push((process, preemption));
            return;
        }
        if seizure.preempted == Preempted::Leave {
            return scope.fail(victim, Failure::Preempted(Box::new(preemption)));
        }
        claim.left = if seizure.preempted == Preempted::Resume { left } else { seizure.service };
        (claim.stage, claim.since, claim.due) = (Stage::Waits, now, Time::MAX);
        claim.preemptions += 1;
        self.waiting.push_front(scope.claims, victim, seizure.priority);
        scope.sample(|sampled| sampled.waits(1));
    }

    /// There are so many units by the plan, from now on.
    pub(super) fn plan(&mut self, scope: &mut Scope<'_>, capacity: u32) {
        self.planned = capacity;
        self.adjust(scope, self.closing);
    }

    /// Units break down.
    pub(super) fn break_down(&mut self, scope: &mut Scope<'_>, units: u32, closing: Closing) {
        self.broken = self.broken.saturating_add(units);
        self.adjust(scope, closing);
    }

    /// Units that were broken down are there again.
    pub(super) fn repair(&mut self, scope: &mut Scope<'_>, units: u32) {
        self.broken = self.broken.saturating_sub(units);
        self.given = self.given.later(scope.at);
        self.adjust(scope, Closing::Finish);
    }

    fn adjust(&mut self, scope: &mut Scope<'_>, closing: Closing) {
        let capacity = self.capacity();
        scope.sample(|sampled| sampled.has_capacity(capacity.into()));
        while closing == Closing::Preempt
            && self.in_use > capacity
            && let Some((_, victim)) = self.holding.last()
        {
            self.take_from(scope, victim, None);
        }
        self.serve_line(scope);
    }
}

impl Shifts {
    /// How many units there are at `time`.
    pub(super) fn capacity(&self, time: Time) -> u32 {
        let within = self.within(time);
        let later = self.changes.partition_point(|(from, _)| *from <= within);
        let at = match (later, self.period) {
            // Before the first change of a plan that does not repeat there are as many as after the last.
            (0, _) => self.changes.last(),
            _ => self.changes.get(later - 1),
        };
        at.map_or(0, |(_, capacity)| *capacity)
    }

    /// The first change after `time`.
    pub(super) fn next(&self, time: Time) -> Option<Time> {
        let within = self.within(time);
        let later = self.changes.partition_point(|(from, _)| *from <= within);
        let start = time.saturating_sub(within);
        match (self.changes.get(later), self.period) {
            (Some((from, _)), _) => start.checked_add(*from),
            (None, Some(period)) => start.checked_add(period)?.checked_add(self.changes.first()?.0),
            (None, None) => None,
        }
    }

    fn within(&self, time: Time) -> Time {
        match self.period {
            Some(period) => Time::ticks(time.as_ticks() % period.as_ticks().max(1)),
            None => time,
        }
    }
}

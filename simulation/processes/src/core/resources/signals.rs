//! Events, which happen once, and states, whose value changes.
//!
//! Processes that wait are answered in the order of coming.
//!
//! Invariants: nobody waits for an event that has happened; the value of a state passes no test of a process
//! that waits.

use std::sync::Arc;

use paceline_kernel::Time;

use super::super::wants::{Failure, Levels, Outcome, Update, Value, Want};
use super::claims::Line;
use super::scope::Scope;

/// Something that happens once, and those that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Event {
    happened: Option<Result<Value, Arc<String>>>,
    pub(super) waiting: Line,
}

impl Event {
    pub(super) fn levels(&self) -> Levels {
        let level = if self.happened.is_some() { 1.0 } else { 0.0 };
        Levels { waiting: self.waiting.len(), level, capacity: 1.0, ..Levels::default() }
    }

    pub(super) fn value(&self) -> Option<Value> {
        self.happened.as_ref()?.as_ref().ok().cloned()
    }

    fn outcome(happened: &Result<Value, Arc<String>>) -> Outcome {
        match happened {
            Ok(value) => Outcome::Value(Some(value.clone())),
            Err(reason) => Outcome::Failed(Failure::Failed(Arc::clone(reason))),
        }
    }

    pub(super) fn wait(&mut self, scope: &mut Scope<'_>, place: u32, limit: Time) {
        match &self.happened {
            Some(happened) => scope.settle(place, Self::outcome(happened)),
            None if limit == Time::ZERO => scope.fail(place, Failure::TimedOut),
            None => {
                self.waiting.push(scope.claims, place, 0);
                scope.limit(place, limit);
            }
        }
    }

    /// It happens; what has happened stays as it was.
    pub(super) fn happen(&mut self, scope: &mut Scope<'_>, how: Result<Value, Arc<String>>) {
        if self.happened.is_some() {
            return;
        }
        while let Some(place) = self.waiting.first() {
            self.waiting.remove(scope.claims, place);
            scope.settle(place, Self::outcome(&how));
        }
        self.happened = Some(how);
    }
}

/// A value, and those that wait until it is another.
#[derive(Clone, Debug)]
pub(super) struct State {
    value: Value,
    pub(super) waiting: Line,
}

impl State {
    pub(super) fn new(value: Value) -> Self {
        Self { value, waiting: Line::default() }
    }

    pub(super) fn levels(&self) -> Levels {
        Levels { waiting: self.waiting.len(), ..Levels::default() }
    }

    pub(super) fn value(&self) -> Value {
        self.value.clone()
    }

    pub(super) fn wait(&mut self, scope: &mut Scope<'_>, place: u32, limit: Time) {
        let Want::Until(test) = &scope.claims.get(place).want else {
            return scope.fail(place, Failure::Unknown);
        };
        if (test.0)(&self.value) {
            scope.settle(place, Outcome::Value(Some(self.value.clone())));
        } else if limit == Time::ZERO {
            scope.fail(place, Failure::TimedOut);
        } else {
            self.waiting.push(scope.claims, place, 0);
            scope.limit(place, limit);
        }
    }

    pub(super) fn update(&mut self, scope: &mut Scope<'_>, update: &Update) {
        let value = (update.0)(&self.value);
        self.set(scope, value);
    }

    pub(super) fn set(&mut self, scope: &mut Scope<'_>, value: Value) {
        self.value = value;
        let mut waiting = self.waiting.first();
        while let Some(place) = waiting {
            waiting = self.waiting.next(scope.claims, place);
            let Want::Until(test) = &scope.claims.get(place).want else { continue };
            if (test.0)(&self.value) {
                self.waiting.remove(scope.claims, place);
                scope.settle(place, Outcome::Value(Some(self.value.clone())));
            }
        }
    }
}

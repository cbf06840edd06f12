//! Stores: items that processes put in and take out.
//!
//! Items are taken in the order of their priorities, and of their coming. Processes that take wait in the
//! order of coming; one that no item fits does not hold up those behind it. Processes that put wait for room,
//! strictly in the order of coming.
//!
//! Invariants: no waiting process could take what is there; there is room only if nobody waits to put.

use std::collections::BTreeMap;

use paceline_kernel::Time;
use smallvec::SmallVec;

use super::super::wants::{Failure, Levels, Outcome, Value, Want};
use super::claims::Line;
use super::scope::Scope;

#[derive(Clone, Debug)]
pub(super) struct Store {
    capacity: u64,
    /// By priority, then by order of coming.
    items: BTreeMap<(i64, i64), Value>,
    /// The order numbers of the next item, and of the next that is put back before all others.
    next: i64,
    before: i64,
    pub(super) getters: Line,
    pub(super) putters: Line,
}

impl Store {
    pub(super) fn new(capacity: u64) -> Self {
        let (getters, putters) = (Line::default(), Line::default());
        Self { capacity, items: BTreeMap::new(), next: 0, before: -1, getters, putters }
    }

    pub(super) fn levels(&self) -> Levels {
        let (waiting, waiting_for_room) = (self.getters.len(), self.putters.len());
        Levels { waiting, waiting_for_room, level: self.items.len() as f64, capacity: self.capacity as f64 }
    }

    fn has_room(&self) -> bool {
        (self.items.len() as u64) < self.capacity
    }

    pub(super) fn put(&mut self, scope: &mut Scope<'_>, place: u32, limit: Time) {
        if self.capacity == 0 {
            return scope.fail(place, Failure::TooMuch);
        }
        if self.putters.is_empty() && self.has_room() {
            return self.admit(scope, place);
        }
        if limit == Time::ZERO {
            return scope.fail(place, Failure::TimedOut);
        }
        self.putters.push(scope.claims, place, 0);
        scope.limit(place, limit);
    }

    /// A claim that is in no line puts its item in.
    fn admit(&mut self, scope: &mut Scope<'_>, place: u32) {
        let Want::Put { item, priority } = scope.claims.get(place).want.clone() else {
            return scope.fail(place, Failure::Unknown);
        };
        scope.settle(place, Outcome::Done);
        let key = (priority, self.next);
        self.next += 1;
        self.insert(scope, key, item);
    }

    /// An item is there: it goes to the first process that it fits.
    fn insert(&mut self, scope: &mut Scope<'_>, key: (i64, i64), item: Value) {
        self.items.insert(key, item);
        scope.sample(|sampled| sampled.uses(1));
        let mut getter = self.getters.first();
        while let Some(place) = getter {
            // Whoever did not find enough before may do so with this item.
            getter = self.getters.next(scope.claims, place);
            if self.fits(scope, place, &key) && self.serve(scope, place, true) {
                scope.sample(|sampled| sampled.waits(-1));
                return;
            }
        }
    }

    fn fits(&self, scope: &Scope<'_>, place: u32, key: &(i64, i64)) -> bool {
        let Want::Get { test, .. } = &scope.claims.get(place).want else { return false };
        let item = self.items.get(key);
        item.is_some_and(|item| test.as_ref().is_none_or(|test| (test.0)(item)))
    }

    pub(super) fn get(&mut self, scope: &mut Scope<'_>, place: u32, limit: Time) {
        scope.sample(|sampled| sampled.requests());
        let Want::Get { least, .. } = scope.claims.get(place).want else {
            return scope.fail(place, Failure::Unknown);
        };
        if u64::from(least) > self.capacity {
            return scope.fail(place, Failure::TooMuch);
        }
        if self.serve(scope, place, false) {
            return self.refill(scope);
        }
        if limit == Time::ZERO {
            scope.sample(|sampled| sampled.balks());
            return scope.fail(place, Failure::TimedOut);
        }
        self.getters.push(scope.claims, place, 0);
        scope.waits(place, limit);
    }

    /// Gives a claim what it wants, if that is there; it leaves the line if it stands there.
    fn serve(&mut self, scope: &mut Scope<'_>, place: u32, stands: bool) -> bool {
        let Want::Get { test, least, most } = &scope.claims.get(place).want else { return false };
        let (least, most) = (*least as usize, *most as usize);
        let keys: SmallVec<[(i64, i64); 4]> = match test {
            None if self.items.len() < least => return false,
            None => self.items.keys().take(most).copied().collect(),
            Some(test) => {
                let fitting = self.items.iter().filter(|(_, item)| (test.0)(item));
                fitting.map(|(key, _)| *key).take(most).collect()
            }
        };
        if keys.len() < least {
            return false;
        }
        let mut values: Vec<Value> = keys.iter().filter_map(|key| self.items.remove(key)).collect();
        if stands {
            self.getters.remove(scope.claims, place);
        }
        let (count, waited) = (values.len() as i64, scope.waited(place));
        scope.sample(|sampled| {
            sampled.uses(-count);
            sampled.grants(waited);
        });
        let store = scope.claims.get(place).resource;
        let item = if count == 1 { values.pop() } else { None };
        let several = |item| Outcome::Item(store, item);
        scope.settle(place, item.map_or_else(|| Outcome::Items(store, Box::new(values)), several));
        true
    }

    /// There is room: processes that wait for it put their items in.
    pub(super) fn refill(&mut self, scope: &mut Scope<'_>) {
        while self.has_room()
            && let Some(place) = self.putters.first()
        {
            self.putters.remove(scope.claims, place);
            self.admit(scope, place);
        }
    }

    /// A claim waits no longer; it is not answered here.
    pub(super) fn renege(&mut self, scope: &mut Scope<'_>, place: u32) {
        if matches!(scope.claims.get(place).want, Want::Put { .. }) {
            return self.putters.remove(scope.claims, place);
        }
        self.getters.remove(scope.claims, place);
        scope.sample(|sampled| {
            sampled.waits(-1);
            sampled.reneges();
        });
    }

    /// Items that were taken out and never seen come back, before all others; there may be more than there is
    /// room for then.
    pub(super) fn put_back(&mut self, scope: &mut Scope<'_>, values: Vec<Value>) {
        for value in values.into_iter().rev() {
            let key = (i64::MIN, self.before);
            self.before -= 1;
            self.insert(scope, key, value);
        }
        self.refill(scope);
    }
}

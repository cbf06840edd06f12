//! What a process sees of a resource without asking: levels and values, as they were when its round began.
//!
//! Invariant: between the parts of a round, what changed first in one of them is seen as it was before.

use std::collections::BTreeMap;

use super::super::wants::{Levels, Look, Outcome, ResourceId};
use super::Resources;
use super::kinds::{Kind, Resource};

/// How a resource was: its levels, and its value where it has one.
#[derive(Clone, Debug)]
pub(super) struct Glance(Levels, Option<Outcome>);

impl Glance {
    fn answer(self, look: Look) -> Option<Outcome> {
        match look {
            Look::Levels => Some(Outcome::Levels(self.0)),
            Look::Value => self.1,
            Look::Statistics => None,
        }
    }
}

impl Resource {
    pub(super) fn glance(&self) -> Glance {
        Glance(self.kind.levels(), self.kind.value())
    }
}

impl Kind {
    /// The value of a state, or of an event; nothing where a resource of this kind has none.
    pub(super) fn value(&self) -> Option<Outcome> {
        match self {
            Self::State(state) => Some(Outcome::Value(Some(state.value()))),
            Self::Event(event) => Some(Outcome::Value(event.value())),
            _ => None,
        }
    }
}

impl Resources {
    /// Whether there is no resource.
    #[inline]
    pub(in super::super) fn are_none(&self) -> bool {
        self.there.is_empty()
    }

    /// Resources are seen as they are now from now on, or as they are.
    pub(in super::super) fn keep_sight(&mut self, keeps: bool) {
        self.before = keeps.then(BTreeMap::new);
    }

    /// What a process would be answered; nothing where it must ask.
    pub(in super::super) fn glance(&self, id: ResourceId, look: Look) -> Option<Outcome> {
        if let Some(glance) = self.before.as_ref().and_then(|before| before.get(&id)) {
            return glance.clone().answer(look);
        }
        let place = match self.latest {
            Some((latest, place)) if latest == id => place,
            _ => *self.places.get(&id)?,
        };
        let kind = &self.there[place as usize].as_ref()?.kind;
        match look {
            Look::Levels => Some(Outcome::Levels(kind.levels())),
            Look::Value => kind.value(),
            Look::Statistics => None,
        }
    }
}

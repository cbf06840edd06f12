//! What code may look at while it runs: the resources of its host, as they were when its round began.
//!
//! Whoever looks at a level or a value needs no turn for that. While the code of a round runs, the core lends
//! its resources to the threads that run it, and nobody changes them. A round that is handed in in parts has
//! each resource kept as it was before the first part that changes it.
//!
//! Invariants: what is seen depends on nothing but the state at the beginning of the round, and is the same
//! on any number of threads and federates; what a process has asked for in its turn is not in it, so that
//! whoever has done something to a resource asks the core about it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Core;
use super::request::Request;
use super::resources::Resources;
use super::wants::{Change, Look, Outcome, ResourceId, Want};

/// The resources of a core, unless they are lent.
#[derive(Clone, Debug)]
pub(super) struct Lendable(Option<Box<Resources>>);

impl Default for Lendable {
    fn default() -> Self {
        Self(Some(Box::default()))
    }
}

const LENT: &str = "resources are lent only while code runs";

impl Deref for Lendable {
    type Target = Resources;

    #[inline]
    fn deref(&self) -> &Resources {
        self.0.as_deref().expect(LENT)
    }
}

impl DerefMut for Lendable {
    #[inline]
    fn deref_mut(&mut self) -> &mut Resources {
        self.0.as_deref_mut().expect(LENT)
    }
}

/// The resources of a core, for code that runs on one thread or on many.
#[derive(Debug)]
pub(crate) struct Present(Lent);

#[derive(Debug)]
#[expect(clippy::redundant_allocation, reason = "it comes from its box and goes back into it")]
enum Lent {
    Alone(Box<Resources>),
    Shared(Arc<Box<Resources>>),
}

impl Present {
    fn resources(&self) -> &Resources {
        match &self.0 {
            Lent::Alone(resources) => resources,
            Lent::Shared(resources) => resources,
        }
    }

    /// The same for whoever lends it, and for each of so many threads.
    pub(crate) fn for_threads(
        present: Option<Self>,
        threads: usize,
    ) -> (Option<Self>, impl Iterator<Item = Self>) {
        let shared = present.map(|present| match present.0 {
            Lent::Alone(resources) => Arc::new(resources),
            Lent::Shared(shared) => shared,
        });
        let each: Vec<Self> = match &shared {
            Some(shared) => (0..threads).map(|_| Self(Lent::Shared(Arc::clone(shared)))).collect(),
            None => Vec::new(),
        };
        (shared.map(|shared| Self(Lent::Shared(shared))), each.into_iter())
    }

    /// What a process would be answered that looks at a resource; nothing for what is not there.
    pub(crate) fn look(&self, id: ResourceId, look: Look) -> Option<Outcome> {
        self.resources().glance(id, look)
    }
}

impl<P> Request<P> {
    /// Whether it may change a resource, or who waits for it.
    pub(crate) fn may_change(&self, id: ResourceId) -> bool {
        match self {
            Self::Record(_) | Self::Measure(..) => false,
            // A process whose units are taken away learns of it in whatever else it waits for.
            Self::Change(_, Change::BreakDown(..) | Change::Capacity(_)) => true,
            Self::Claim { want: Want::Seize(seizure), .. } if seizure.preempts => true,
            Self::Change(resource, _)
            | Self::Claim { resource, .. }
            | Self::ReleaseUnits { resource, .. }
            | Self::Withdraw { resource, .. } => *resource == id,
            _ => true,
        }
    }
}

impl<P, N> Core<P, N> {
    /// From now on, or no longer, resources are seen as they are now whatever becomes of them: a round is
    /// handed in in parts, between which code runs.
    pub(crate) fn keep_sight(&mut self, keeps: bool) {
        self.resources.keep_sight(keeps);
    }

    /// Lends its resources to code that runs, if there are any.
    #[inline]
    pub(crate) fn lend(&mut self) -> Option<Present> {
        if self.resources.are_none() {
            return None;
        }
        self.resources.0.take().map(|resources| Present(Lent::Alone(resources)))
    }

    /// Takes back what it has lent, after all others have dropped it.
    #[inline]
    pub(crate) fn take_back(&mut self, present: Option<Present>) {
        match present {
            None => {}
            Some(Present(Lent::Alone(resources))) => self.resources.0 = Some(resources),
            Some(Present(Lent::Shared(shared))) => self.resources.0 = Arc::into_inner(shared),
        }
    }
}

//! Semaphores, mutexes, condition variables, barriers and message queues.
//!
//! They know no time and no process but by its id; what they return says which process resumes. Invariant:
//! waiting processes are served in the order of coming, and waits at most once.

use std::collections::{BTreeMap, VecDeque};

use paceline_kernel::Time;

use super::moment::Moment;
use super::request::{ObjectId, ObjectKind, ProcessId};

/// From this many objects on one looks for those that are as they were made.
const LOOK: usize = 1024;
/// Of so many processes it is known that they have taken permits of a semaphore: of the latest.
const TAKERS: usize = 8;

/// The objects of a core that are not as they were made; others may be there or not.
#[derive(Clone, Debug)]
pub(super) struct Objects<P> {
    there: BTreeMap<ObjectId, Object<P>>,
    limit: usize,
}

impl<P> Default for Objects<P> {
    fn default() -> Self {
        Self { there: BTreeMap::new(), limit: LOOK }
    }
}

impl<P> Objects<P> {
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.there.len()
    }

    /// The object, if it is not as it was made.
    pub(super) fn look(&self, id: ObjectId) -> Option<&Object<P>> {
        self.there.get(&id)
    }

    pub(super) fn get(&mut self, id: ObjectId, now: Time) -> &mut Object<P> {
        if self.there.len() >= self.limit {
            // What has happened to one in this instant may still count.
            self.there.retain(|id, object| object.given.at == now || !object.is_as_made(id.kind));
            self.limit = LOOK.max(2 * self.there.len());
        }
        self.there.entry(id).or_insert_with(|| Object::new(id.kind))
    }
}

/// An object that processes share, with those that wait for it.
#[derive(Clone, Debug)]
pub(super) struct Object<P> {
    kind: Kind<P>,
    /// The exact time of the latest release, notice or item, or of the latest that came to a barrier.
    pub(super) given: Moment,
}

#[derive(Clone, Debug)]
enum Kind<P> {
    Semaphore { permits: u32, waiting: VecDeque<ProcessId>, takers: Takers },
    Mutex { owner: Option<ProcessId>, waiting: VecDeque<ProcessId> },
    Condition { waiting: VecDeque<ProcessId> },
    Barrier { size: u32, waiting: VecDeque<ProcessId> },
    Queue { items: VecDeque<P>, waiting: VecDeque<ProcessId> },
}

/// The processes that have taken permits of a semaphore and not given them back, the latest last: for people
/// who look for the cause of a deadlock, as a permit belongs to nobody.
#[derive(Clone, Debug, Default)]
struct Takers(Vec<ProcessId>);

impl Takers {
    fn add(&mut self, process: ProcessId) {
        if self.0.len() == TAKERS {
            self.0.remove(0);
        }
        self.0.push(process);
    }

    fn remove(&mut self, process: ProcessId) {
        if let Some(place) = self.0.iter().rposition(|taker| *taker == process) {
            self.0.remove(place);
        }
    }
}

impl<P> Object<P> {
    pub(super) fn new(kind: ObjectKind) -> Self {
        let waiting = VecDeque::new();
        let kind = match kind {
            ObjectKind::Semaphore(permits) => Kind::Semaphore { permits, waiting, takers: Takers::default() },
            ObjectKind::Mutex => Kind::Mutex { owner: None, waiting },
            ObjectKind::Condition => Kind::Condition { waiting },
            ObjectKind::Barrier(size) => Kind::Barrier { size: size.max(1), waiting },
            ObjectKind::Queue => Kind::Queue { items: VecDeque::new(), waiting },
        };
        Self { kind, given: Moment::default() }
    }

    /// Whether it is as it was made, so that a new one would do as well.
    pub(super) fn is_as_made(&self, made: ObjectKind) -> bool {
        match &self.kind {
            Kind::Semaphore { permits, waiting, .. } => {
                waiting.is_empty() && made == ObjectKind::Semaphore(*permits)
            }
            Kind::Mutex { owner, waiting } => owner.is_none() && waiting.is_empty(),
            Kind::Condition { waiting } | Kind::Barrier { waiting, .. } => waiting.is_empty(),
            Kind::Queue { items, waiting } => items.is_empty() && waiting.is_empty(),
        }
    }

    /// The processes that hold it, or have taken permits of it, as far as that is known.
    pub(super) fn holders(&self) -> &[ProcessId] {
        match &self.kind {
            Kind::Semaphore { takers, .. } => &takers.0,
            Kind::Mutex { owner, .. } => owner.as_slice(),
            _ => &[],
        }
    }

    /// Of a barrier: how many have come, of how many that must.
    pub(super) fn come(&self) -> Option<(usize, u32)> {
        match &self.kind {
            Kind::Barrier { size, waiting } => Some((waiting.len(), *size)),
            _ => None,
        }
    }

    fn waiting(&mut self) -> &mut VecDeque<ProcessId> {
        match &mut self.kind {
            Kind::Semaphore { waiting, .. }
            | Kind::Mutex { waiting, .. }
            | Kind::Condition { waiting }
            | Kind::Barrier { waiting, .. }
            | Kind::Queue { waiting, .. } => waiting,
        }
    }

    pub(super) fn wait(&mut self, process: ProcessId) {
        self.waiting().push_back(process);
    }

    /// `process` does not wait any more.
    pub(super) fn withdraw(&mut self, process: ProcessId) {
        self.waiting().retain(|waits| *waits != process);
    }

    /// `process` takes a permit or the lock, if there is one; none for what has neither.
    pub(super) fn try_acquire(&mut self, process: ProcessId) -> Option<bool> {
        match &mut self.kind {
            Kind::Semaphore { permits: 0, .. } | Kind::Mutex { owner: Some(_), .. } => Some(false),
            Kind::Semaphore { permits, takers, .. } => {
                *permits -= 1;
                takers.add(process);
                Some(true)
            }
            Kind::Mutex { owner, .. } => {
                *owner = Some(process);
                Some(true)
            }
            _ => None,
        }
    }

    /// When that which was taken last was given, where it was the last that there was: a permit that is left
    /// over was there before.
    pub(super) fn last_given(&self) -> Moment {
        match self.kind {
            Kind::Semaphore { permits: 1.., .. } => Moment::default(),
            _ => self.given,
        }
    }

    /// Releases a permit or the lock: to the process that has waited longest, which is returned.
    pub(super) fn release(&mut self, process: ProcessId, now: Moment) -> Option<ProcessId> {
        self.given = self.given.later(now);
        match &mut self.kind {
            Kind::Semaphore { permits, waiting, takers } => {
                takers.remove(process);
                let next = waiting.pop_front();
                *permits += u32::from(next.is_none());
                next.into_iter().for_each(|next| takers.add(next));
                next
            }
            Kind::Mutex { owner, waiting } if *owner == Some(process) => {
                *owner = waiting.pop_front();
                *owner
            }
            _ => None,
        }
    }

    /// The process that is notified next.
    pub(super) fn notify(&mut self) -> Option<ProcessId> {
        match &mut self.kind {
            Kind::Condition { waiting } => waiting.pop_front(),
            _ => None,
        }
    }

    /// `process` reaches a barrier: returns all processes that resume, if it was the last.
    pub(super) fn arrive(&mut self, process: ProcessId, now: Moment) -> Vec<ProcessId> {
        self.given = self.given.later(now);
        let Kind::Barrier { size, waiting } = &mut self.kind else { return Vec::new() };
        waiting.push_back(process);
        if waiting.len() >= *size as usize { waiting.drain(..).collect() } else { Vec::new() }
    }

    /// Puts something in; returns the process that gets it, if one waits.
    pub(super) fn put(&mut self, item: P, now: Moment) -> Option<(ProcessId, P)> {
        self.given = self.given.later(now);
        let Kind::Queue { items, waiting } = &mut self.kind else { return None };
        match waiting.pop_front() {
            Some(process) => Some((process, item)),
            None => {
                items.push_back(item);
                None
            }
        }
    }

    /// Puts in again what was taken out last; returns the process that gets it, if one waits.
    pub(super) fn put_back(&mut self, item: P) -> Option<(ProcessId, P)> {
        let Kind::Queue { items, waiting } = &mut self.kind else { return None };
        match waiting.pop_front() {
            Some(process) => Some((process, item)),
            None => {
                items.push_front(item);
                None
            }
        }
    }

    pub(super) fn get(&mut self) -> Option<P> {
        match &mut self.kind {
            Kind::Queue { items, .. } => items.pop_front(),
            _ => None,
        }
    }
}

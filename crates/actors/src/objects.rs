//! Semaphores, mutexes, condition variables, barriers and message queues.
//!
//! They know no time and no process but by its id; what they return says which process resumes. Invariant: waiting processes are served in
//! the order of coming, and waits at most once.

use std::collections::VecDeque;

use super::request::{ObjectKind, ProcessId};

/// See the module.
#[derive(Clone, Debug)]
pub(super) enum Object<P> {
    Semaphore { permits: u32, waiting: VecDeque<ProcessId> },
    Mutex { owner: Option<ProcessId>, waiting: VecDeque<ProcessId> },
    Condition { waiting: VecDeque<ProcessId> },
    Barrier { size: u32, waiting: VecDeque<ProcessId> },
    Queue { items: VecDeque<P>, waiting: VecDeque<ProcessId> },
}

impl<P> Object<P> {
    pub(super) fn new(kind: ObjectKind) -> Self {
        let waiting = VecDeque::new();
        match kind {
            ObjectKind::Semaphore(permits) => Self::Semaphore { permits, waiting },
            ObjectKind::Mutex => Self::Mutex { owner: None, waiting },
            ObjectKind::Condition => Self::Condition { waiting },
            ObjectKind::Barrier(size) => Self::Barrier { size: size.max(1), waiting },
            ObjectKind::Queue => Self::Queue { items: VecDeque::new(), waiting },
        }
    }

    /// Its name in messages about what a process waits for.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Semaphore { .. } => "semaphore",
            Self::Mutex { .. } => "mutex",
            Self::Condition { .. } => "condition variable",
            Self::Barrier { .. } => "barrier",
            Self::Queue { .. } => "message queue",
        }
    }

    fn waiting(&mut self) -> &mut VecDeque<ProcessId> {
        match self {
            Self::Semaphore { waiting, .. }
            | Self::Mutex { waiting, .. }
            | Self::Condition { waiting }
            | Self::Barrier { waiting, .. }
            | Self::Queue { waiting, .. } => waiting,
        }
    }

    /// `process` waits from now on.
    pub(super) fn wait(&mut self, process: ProcessId) {
        self.waiting().push_back(process);
    }

    /// `process` does not wait any more.
    pub(super) fn withdraw(&mut self, process: ProcessId) {
        self.waiting().retain(|waits| *waits != process);
    }

    /// `process` takes a permit or the lock, if there is one; none for what has neither.
    pub(super) fn try_acquire(&mut self, process: ProcessId) -> Option<bool> {
        match self {
            Self::Semaphore { permits: 0, .. } | Self::Mutex { owner: Some(_), .. } => Some(false),
            Self::Semaphore { permits, .. } => {
                *permits -= 1;
                Some(true)
            }
            Self::Mutex { owner, .. } => {
                *owner = Some(process);
                Some(true)
            }
            _ => None,
        }
    }

    /// Releases a permit or the lock: to the process that has waited longest, which is returned.
    pub(super) fn release(&mut self, process: ProcessId) -> Option<ProcessId> {
        match self {
            Self::Semaphore { permits, waiting } => {
                let next = waiting.pop_front();
                *permits += u32::from(next.is_none());
                next
            }
            Self::Mutex { owner, waiting } if *owner == Some(process) => {
                *owner = waiting.pop_front();
                *owner
            }
            _ => None,
        }
    }

    /// The process that is notified next.
    pub(super) fn notify(&mut self) -> Option<ProcessId> {
        match self {
            Self::Condition { waiting } => waiting.pop_front(),
            _ => None,
        }
    }

    /// `process` reaches a barrier: returns all processes that resume, if it was the last.
    pub(super) fn meet(&mut self, process: ProcessId) -> Option<Vec<ProcessId>> {
        let Self::Barrier { size, waiting } = self else { return None };
        waiting.push_back(process);
        (waiting.len() >= *size as usize).then(|| waiting.drain(..).collect())
    }

    /// Puts something in; returns the process that gets it, if one waits.
    pub(super) fn put(&mut self, item: P) -> Option<(ProcessId, P)> {
        let Self::Queue { items, waiting } = self else { return None };
        match waiting.pop_front() {
            Some(process) => Some((process, item)),
            None => {
                items.push_back(item);
                None
            }
        }
    }

    /// Takes something out, if there is something.
    pub(super) fn get(&mut self) -> Option<P> {
        match self {
            Self::Queue { items, .. } => items.pop_front(),
            _ => None,
        }
    }

    pub(super) fn is_queue(&self) -> bool {
        matches!(self, Self::Queue { .. })
    }

    pub(super) fn is_barrier(&self) -> bool {
        matches!(self, Self::Barrier { .. })
    }

    pub(super) fn is_condition(&self) -> bool {
        matches!(self, Self::Condition { .. })
    }
}

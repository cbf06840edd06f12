//! The lists of an enhanced heap: of each the first event, in a slot of one array, the others in a pool, and
//! the list after it in its run.
//!
//! Most lists have one event where times are spread, and then need nothing but their slot. Invariants: a used
//! slot is one list; a queue of the pool belongs to one list, or is empty and unused.

use std::collections::VecDeque;

use paceline_kernel::Event;

/// No list, no queue.
pub(super) const NONE: u32 = u32::MAX;

/// A time in nanoseconds above the 16 bits of a depth.
pub(super) type Instant = u128;

/// After all instants.
pub(super) const NEVER: Instant = (1 << 80) - 1;

#[inline(always)]
pub(super) fn instant<E>(event: &Event<E>) -> Instant {
    Instant::from(event.time().as_ticks()) << 16 | Instant::from(event.depth())
}

#[derive(Debug)]
enum Slot<E> {
    /// With the next free one.
    Free(u32),
    Used {
        /// The queue of the events after the first.
        others: u32,
        /// The next list of the run.
        later: u32,
        first: Event<E>,
    },
}

/// Lists of simultaneous events.
#[derive(Debug)]
pub(super) struct Lists<E> {
    slots: Vec<Slot<E>>,
    free: u32,
    queues: Vec<VecDeque<Event<E>>>,
    unused: Vec<u32>,
}

impl<E> Default for Lists<E> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, queues: Vec::new(), unused: Vec::new() }
    }
}

impl<E> Lists<E> {
    /// A list of one event.
    #[inline(always)]
    pub(super) fn put(&mut self, first: Event<E>) -> u32 {
        let used = Slot::Used { others: NONE, later: NONE, first };
        let slot = self.free;
        if let Some(free) = self.slots.get_mut(slot as usize) {
            let Slot::Free(next) = *free else {
                unreachable!("only free slots are in the list of those");
            };
            self.free = next;
            *free = used;
            return slot;
        }
        let slot = u32::try_from(self.slots.len()).ok().filter(|slot| *slot != NONE);
        self.slots.push(used);
        slot.expect("fewer than 2^32 - 1 distinct instants are pending")
    }

    /// How many lists there are, or have been at one time.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Takes a list out: its first event, the queue of the others, if there are any, and the list after it in
    /// its run.
    #[inline(always)]
    pub(super) fn take(&mut self, list: u32) -> (Event<E>, Option<u32>, u32) {
        let free = std::mem::replace(&mut self.free, list);
        match std::mem::replace(&mut self.slots[list as usize], Slot::Free(free)) {
            Slot::Used { others, later, first } => (first, (others != NONE).then_some(others), later),
            Slot::Free(_) => unreachable!("a list has a used slot"),
        }
    }

    /// The events of a queue of others, which is `spare` and unused from now on.
    #[inline]
    pub(super) fn others(&mut self, queue: u32, spare: VecDeque<Event<E>>) -> VecDeque<Event<E>> {
        self.unused.push(queue);
        std::mem::replace(&mut self.queues[queue as usize], spare)
    }

    /// When the events of `list` happen, if there is such a list.
    #[inline(always)]
    pub(super) fn at(&self, list: u32) -> Option<Instant> {
        match self.slots.get(list as usize) {
            Some(Slot::Used { first, .. }) => Some(instant(first)),
            _ => None,
        }
    }

    /// Puts an event behind the others of `list`, which are of the same instant.
    #[inline(always)]
    pub(super) fn append(&mut self, list: u32, event: Event<E>) {
        let Slot::Used { others, .. } = &mut self.slots[list as usize] else {
            unreachable!("a list has a used slot");
        };
        if *others == NONE {
            *others = Self::unused_queue(&mut self.unused, &mut self.queues);
        }
        self.queues[*others as usize].push_back(event);
    }

    #[inline(never)]
    fn unused_queue(unused: &mut Vec<u32>, queues: &mut Vec<VecDeque<Event<E>>>) -> u32 {
        unused.pop().unwrap_or_else(|| {
            queues.push(VecDeque::new());
            u32::try_from(queues.len() - 1).expect("there are no more queues than slots")
        })
    }

    /// The run that ends with the list `tail` goes on with `list`.
    #[inline(always)]
    pub(super) fn go_on(&mut self, tail: u32, list: u32) {
        let Slot::Used { later, .. } = &mut self.slots[tail as usize] else {
            unreachable!("a list has a used slot");
        };
        *later = list;
    }
}

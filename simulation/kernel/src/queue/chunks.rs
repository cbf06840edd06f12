//! Lists of events in chunks out of one pool: appending never copies what is there, and an emptied list's
//! memory serves the next one.
//!
//! Chunks double along a list, from few events to many, so that short lists stay small and long ones are read
//! in long runs. Invariant: a chunk is in one list or in the unused ones of its size, where it is empty.

use crate::{Event, Time};

/// Events in the first chunk of a list.
const LEAST: usize = 16;
/// Sizes of chunks, each twice the one before: the largest has 2048 events.
const SIZES: usize = 8;
/// Stands for no chunk at the end of a list.
const NONE: u32 = u32::MAX;

/// A list of events; the events are in the [`Pool`].
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// The chunk that is written, or [`NONE`].
    last: u32,
    /// The least time in the list; nothing is taken out but everything at once, so it only falls.
    least: Time,
}

impl List {
    pub(super) const EMPTY: Self = Self { last: NONE, least: Time::MAX };

    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.last == NONE
    }

    /// The time of the least event; [`Time::MAX`] when empty.
    #[inline(always)]
    pub(super) fn least(self) -> Time {
        self.least
    }
}

#[derive(Debug)]
struct Chunk<E> {
    events: Vec<Event<E>>,
    /// Which of the [`SIZES`].
    size: u8,
    /// The chunk of the list that was filled before this one: lists are read from their end.
    next: u32,
}

/// The chunks of many lists.
#[derive(Debug)]
pub(super) struct Pool<E> {
    chunks: Vec<Chunk<E>>,
    /// By size: chunks in no list.
    unused: [Vec<u32>; SIZES],
}

impl<E> Pool<E> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), unused: Default::default() }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, list: &mut List, event: Event<E>) {
        list.least = list.least.min(event.time());
        if let Some(chunk) = self.chunks.get_mut(list.last as usize)
            && chunk.events.len() < chunk.events.capacity()
        {
            return chunk.events.push(event);
        }
        self.push_chunk(list, event);
    }

    #[inline(never)]
    fn push_chunk(&mut self, list: &mut List, event: Event<E>) {
        // An empty list has no last chunk, and begins with the smallest.
        let size = self.chunks.get(list.last as usize).map_or(0, |last| (last.size + 1).min(SIZES as u8 - 1));
        let chunk = self.unused[size as usize].pop().unwrap_or_else(|| {
            self.chunks.push(Chunk { events: Vec::with_capacity(LEAST << size), size, next: NONE });
            u32::try_from(self.chunks.len() - 1).expect("fewer than 2^32 chunks of events are pending")
        });
        self.chunks[chunk as usize].next = list.last;
        self.chunks[chunk as usize].events.push(event);
        list.last = chunk;
    }

    /// Gives out all events of `list` and leaves it empty.
    #[inline(always)]
    pub(super) fn drain(&mut self, list: &mut List, mut take: impl FnMut(Event<E>)) {
        while list.last != NONE {
            let chunk = &mut self.chunks[list.last as usize];
            chunk.events.drain(..).for_each(&mut take);
            self.unused[chunk.size as usize].push(list.last);
            list.last = chunk.next;
        }
        list.least = Time::MAX;
    }
}

//! The events to come, in the order (time, priority, event number).
//!
//! Events are kept in a heap of Rust's while every time is an int or a float. The first other number, or the
//! first program that looks at `_queue`, turns it for good into what SimPy has: a list of tuples that `heapq`
//! keeps, and that the program may read and change.

use super::object::*;
use super::statics::statics;
use super::time::Time;
use pyo3::ffi::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Priorities that fit into an entry's key.
const PRIORITIES: std::ops::Range<i64> = -8..120;
/// Bits of the key below the priority: event number, and whether the time is an int.
const PRIORITY_SHIFT: u32 = 56;

pub struct Entry {
    time: f64,
    /// Priority, event number, and in the lowest bit whether the time is an int. Event numbers are unique, so
    /// that the lowest bit never decides.
    key: u64,
    event: Ref,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Reversed, since `BinaryHeap` has the greatest on top. No time is NaN.
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        match other.time.partial_cmp(&self.time) {
            Some(Ordering::Equal) | None => other.key.cmp(&self.key),
            Some(order) => order,
        }
    }
}

pub enum Queue {
    Heap(BinaryHeap<Entry>),
    List(Ref),
}

impl Queue {
    #[inline(always)]
    pub unsafe fn push(&mut self, time: &Time, priority: i64, number: u64, event: Ref) -> Outcome<()> {
        if let Self::Heap(heap) = self
            && let Some((time, is_int)) = time.key()
            && PRIORITIES.contains(&priority)
        {
            let priority = (priority - PRIORITIES.start) as u64;
            let key = (priority << PRIORITY_SHIFT) | (number << 1) | u64::from(is_int);
            heap.push(Entry { time, key, event });
            return Ok(());
        }
        let list = self.list()?;
        let entry = tuple(time, priority, number, event)?;
        call_2(statics().heappush, list.raw(), entry.raw()).map(drop)
    }

    /// Takes the first event and its time.
    #[inline(always)]
    pub unsafe fn pop(&mut self) -> Outcome<Option<(Time, Ref)>> {
        match self {
            Self::Heap(heap) => {
                Ok(heap.pop().map(|entry| (Time::of_key(entry.time, entry.key & 1 == 1), entry.event)))
            }
            Self::List(list) => {
                let list = list.clone();
                if PyList_Size(list.raw()) == 0 {
                    return Ok(None);
                }
                let entry = call_1(statics().heappop, list.raw())?;
                let time = Ref::steal(PySequence_GetItem(entry.raw(), 0))?;
                let event = Ref::steal(PySequence_GetItem(entry.raw(), 3))?;
                Ok(Some((Time::read(time.raw()), event)))
            }
        }
    }

    /// The time of the first event, or infinity.
    pub unsafe fn peek(&self) -> Outcome<Ref> {
        match self {
            Self::Heap(heap) => match heap.peek() {
                Some(entry) => Time::of_key(entry.time, entry.key & 1 == 1).object(),
                None => Ok(Ref::share(statics().infinity)),
            },
            Self::List(list) if PyList_Size(list.raw()) == 0 => Ok(Ref::share(statics().infinity)),
            Self::List(list) => Ref::steal(PySequence_GetItem(PyList_GetItem(list.raw(), 0), 0)),
        }
    }

    /// The queue as a list of (time, priority, number, event), which it is from now on.
    pub unsafe fn list(&mut self) -> Outcome<Ref> {
        if let Self::Heap(heap) = self {
            let list = Ref::steal(PyList_New(0))?;
            // A sorted list is a heap.
            for entry in std::mem::take(heap).into_sorted_vec().into_iter().rev() {
                let time = Time::of_key(entry.time, entry.key & 1 == 1);
                let priority = (entry.key >> PRIORITY_SHIFT) as i64 + PRIORITIES.start;
                let number = (entry.key & ((1 << PRIORITY_SHIFT) - 1)) >> 1;
                let entry = tuple(&time, priority, number, entry.event)?;
                checked(PyList_Append(list.raw(), entry.raw()))?;
            }
            *self = Self::List(list);
        }
        let Self::List(list) = self else { unreachable!("it was made a list") };
        Ok(list.clone())
    }

    /// The references that it holds, for the garbage collector.
    pub fn references(&self) -> impl Iterator<Item = Raw> {
        let (heap, list) = match self {
            Self::Heap(heap) => (Some(heap), None),
            Self::List(list) => (None, Some(list.raw())),
        };
        heap.into_iter().flatten().map(|entry| entry.event.raw()).chain(list)
    }
}

unsafe fn tuple(time: &Time, priority: i64, number: u64, event: Ref) -> Outcome<Ref> {
    let (time, priority) = (time.object()?, Ref::steal(PyLong_FromLongLong(priority))?);
    let number = Ref::steal(PyLong_FromUnsignedLongLong(number))?;
    Ref::steal(PyTuple_Pack(4, time.raw(), priority.raw(), number.raw(), event.raw()))
}

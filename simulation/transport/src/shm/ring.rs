//! A ring of bytes with one producer and one consumer, which may be two processes.
//!
//! Both count bytes from the start of the run. The *tail* is the number of bytes written, the *head* the
//! number of bytes read; byte number n is stored at n modulo the capacity. Frames begin at multiples of
//! eight. Each side writes only its own count, on its own cache lines, and remembers the last value of the
//! other's count, so that it reads the other's line only when it seems to be out of room or out of frames.
//!
//! Why this is sound: the guarantees that each side relies on.
//! - *Bytes are complete when they are read.* The producer stores the tail with release after writing the
//!   bytes; the consumer loads it with acquire before it reads them.
//! - *Bytes are read before they are overwritten.* The consumer stores the head with release after copying
//!   the bytes; the producer loads it with acquire, and writes only where tail + length - head is at most the
//!   capacity.
//! - *A producer without room learns when there is room.* The producer stores `refused`, then loads the head;
//!   the consumer stores the head, then loads `refused`. A sequentially consistent fence stands between store
//!   and load on both sides, so that at least one of them sees what the other has stored: either the producer
//!   finds the room, or the consumer finds the flag, clears it and wakes the producer.
//!
//! `tests/loom.rs` checks the ring and the doorbell under all allowed memory orders; `tests/shuttle.rs` tries
//! interleavings of whole transports.
//!
//! The other side is not trusted: a count out of range or an invalid header is [`Damage`]. Bytes are copied
//! out once and only the copy is examined, so if a process changes them meanwhile, the only effect is a wrong
//! checksum.
#![allow(unsafe_code)] // the bytes of a ring are shared with another process

use std::marker::PhantomData;
use std::ptr::copy_nonoverlapping;

use thiserror::Error;

use super::bell::Bell;
use crate::frame::{FrameError, HEADER_BYTES, Header};
use crate::sync::{Apart, AtomicU32, AtomicU64, Ordering, SEES_ATOMICS_ONLY, fence};

/// Frames begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// What both sides of a ring share, except the bytes. Initially all zero.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Control {
    /// Bytes written; written by the producer.
    tail: Apart<AtomicU64>,
    /// Bytes read; written by the consumer.
    head: Apart<AtomicU64>,
    /// The producer had no room for a frame. Set by the producer, cleared by the consumer when it has made
    /// room.
    refused: Apart<AtomicU32>,
}

/// A ring as both sides see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring<'a> {
    control: &'a Control,
    start: *mut u8,
    capacity: u64,
    memory: PhantomData<&'a [u8]>,
}

/// Evidence that the other side of a ring violates the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Damage {
    #[error("{used} bytes in a ring of {capacity}")]
    Counts { used: u64, capacity: u64 },
    #[error("{found} bytes where a frame of {needed} begins")]
    Short { found: u64, needed: u64 },
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl<'a> Ring<'a> {
    /// A ring whose bytes begin at `start`.
    ///
    /// # Safety
    ///
    /// From `start` on, `capacity` bytes can be read and written for `'a`, and only rings with this `control`
    /// do so.
    pub(super) unsafe fn new(control: &'a Control, start: *mut u8, capacity: u64) -> Self {
        assert!(
            capacity.is_power_of_two() && capacity >= 4 * ALIGNMENT,
            "a ring has a capacity that is a power of two"
        );
        Self { control, start, capacity, memory: PhantomData }
    }

    /// The most bytes of a payload: a ring has room for four such frames.
    pub(super) fn frame_limit(capacity: u64) -> usize {
        (capacity / 4) as usize - HEADER_BYTES
    }

    /// Whether something has been written that has not been read.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.control.tail.load(Ordering::Acquire) != self.control.head.load(Ordering::Relaxed)
    }

    /// Whether the producer still has no room, as far as the consumer has announced.
    pub(super) fn is_refused(&self) -> bool {
        self.control.refused.load(Ordering::Acquire) != 0
    }

    /// Writes like a producer that violates the protocol.
    #[cfg(test)]
    pub(super) fn write_raw(&self, at: u64, bytes: &[u8], tail: u64) {
        bytes.iter().zip(at..).for_each(|(byte, at)| self.write(at, &[*byte]));
        self.control.tail.store(tail, Ordering::Release);
    }

    /// Announces this many bytes as read, like a consumer that violates the protocol.
    #[cfg(test)]
    pub(super) fn claim_read(&self, head: u64) {
        self.control.head.store(head, Ordering::Release);
    }

    /// Marks an access to the bytes. Shuttle only sees atomics, so this atomic lets it switch threads here
    /// too. Not under loom, where it would order what the ring must order by itself.
    #[inline(always)]
    fn touch(&self) {
        if SEES_ATOMICS_ONLY {
            self.control.refused.load(Ordering::SeqCst);
        }
    }

    /// Copies `bytes` to byte number `at` and following.
    #[inline]
    fn write(&self, at: u64, bytes: &[u8]) {
        let offset = (at & (self.capacity - 1)) as usize;
        let first = bytes.len().min(self.capacity as usize - offset);
        self.touch();
        // SAFETY: `first` bytes from `offset` and the rest from 0 lie within the capacity, as no frame is
        // longer than it; `bytes` is private, so they do not overlap. The consumer has read what
        // stood there, see above.
        unsafe {
            copy_nonoverlapping(bytes.as_ptr(), self.start.add(offset), first);
            copy_nonoverlapping(bytes.as_ptr().add(first), self.start, bytes.len() - first);
        }
    }

    /// Copies byte number `at` and following to `bytes`.
    #[inline]
    fn read(&self, at: u64, bytes: &mut [u8]) {
        let offset = (at & (self.capacity - 1)) as usize;
        let first = bytes.len().min(self.capacity as usize - offset);
        self.touch();
        // SAFETY: as in `write`, the other way; whatever bytes stand there are valid.
        unsafe {
            copy_nonoverlapping(self.start.add(offset), bytes.as_mut_ptr(), first);
            copy_nonoverlapping(self.start, bytes.as_mut_ptr().add(first), bytes.len() - first);
        }
    }
}

/// Bytes that a frame takes up in a ring.
#[inline]
fn space(payload: usize) -> u64 {
    ((HEADER_BYTES + payload) as u64).next_multiple_of(ALIGNMENT)
}

/// The private state of a ring's producer.
#[derive(Debug, Default)]
pub(super) struct Producer {
    tail: u64,
    /// The last value of the head that it has seen.
    head: u64,
    /// The number of the next frame.
    number: u64,
}

impl Producer {
    /// Writes a frame. Returns whether there was room for it. Without room, the consumer is asked to report
    /// when there is.
    #[inline]
    pub(super) fn push(&mut self, ring: Ring<'_>, payload: &[u8]) -> Result<bool, Damage> {
        let header = Header::new(self.number, payload)?;
        let space = space(payload.len());
        if !self.has_room(ring, space) {
            self.see_head(ring)?;
            if !self.has_room(ring, space) {
                ring.control.refused.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                self.see_head(ring)?;
                if !self.has_room(ring, space) {
                    return Ok(false);
                }
                ring.control.refused.store(0, Ordering::Relaxed);
            }
        }
        ring.write(self.tail, &header.bytes());
        ring.write(self.tail + HEADER_BYTES as u64, payload);
        self.tail += space;
        self.number += 1;
        ring.control.tail.store(self.tail, Ordering::Release);
        Ok(true)
    }

    fn has_room(&self, ring: Ring<'_>, space: u64) -> bool {
        self.tail + space - self.head <= ring.capacity
    }

    fn see_head(&mut self, ring: Ring<'_>) -> Result<(), Damage> {
        let head = ring.control.head.load(Ordering::Acquire);
        let used = self.tail.wrapping_sub(head);
        if used > ring.capacity {
            return Err(Damage::Counts { used, capacity: ring.capacity });
        }
        self.head = head;
        Ok(())
    }
}

/// The private state of a ring's consumer.
#[derive(Debug, Default)]
pub(super) struct Consumer {
    head: u64,
    /// The last value of the tail that it has seen.
    tail: u64,
    /// The value of the head that the producer can see.
    released: u64,
    /// The number of the next frame.
    number: u64,
}

impl Consumer {
    /// Copies the payload of the next frame to `payload`, which it overwrites. Returns whether there was a
    /// frame. Its room becomes free only with [`Consumer::release`].
    #[inline]
    pub(super) fn pop(&mut self, ring: Ring<'_>, payload: &mut Vec<u8>) -> Result<bool, Damage> {
        if self.head == self.tail {
            let tail = ring.control.tail.load(Ordering::Acquire);
            let used = tail.wrapping_sub(self.head);
            if used > ring.capacity {
                return Err(Damage::Counts { used, capacity: ring.capacity });
            }
            self.tail = tail;
            if used == 0 {
                return Ok(false);
            }
        }
        let found = self.tail - self.head;
        let mut header = [0; HEADER_BYTES];
        if found < HEADER_BYTES as u64 {
            return Err(Damage::Short { found, needed: HEADER_BYTES as u64 });
        }
        ring.read(self.head, &mut header);
        let header = Header::read(&header, Ring::frame_limit(ring.capacity))?;
        let needed = space(header.length());
        if found < needed {
            return Err(Damage::Short { found, needed });
        }
        payload.resize(header.length(), 0);
        ring.read(self.head + HEADER_BYTES as u64, payload);
        header.check(self.number, payload)?;
        self.head += needed;
        self.number += 1;
        Ok(true)
    }

    /// Whether so much has been read since [`Consumer::release`] that it should be called again, although
    /// there is more to read.
    #[inline]
    pub(super) fn is_to_release(&self, ring: Ring<'_>) -> bool {
        self.head - self.released >= ring.capacity / 8
    }

    /// Frees the room of what has been read. Rings the producer's `bell` if the producer had no room.
    #[inline]
    pub(super) fn release(&mut self, ring: Ring<'_>, bell: &Bell) {
        self.released = self.head;
        ring.control.head.store(self.head, Ordering::Release);
        fence(Ordering::SeqCst);
        if ring.control.refused.load(Ordering::Relaxed) != 0 {
            ring.control.refused.store(0, Ordering::Release);
            bell.ring();
        }
    }
}

//! The page of memory that guest and coordinator share: the coordinator's side of `plugin/page.h`.
//!
//! An order is written here and the guest woken, and so is an answer without frames, if the coordinator waits
//! here: two wake-ups of the kernel (futex(2)) and no copying, where a socket costs twice as much. Whatever
//! else a guest says goes over the socket and rings the bell of this page.
//!
//! The guest makes the page, a file in memory without a name, and its first record says under which
//! descriptor. Its size is sealed: a file that can be truncated would kill who reads it by SIGBUS.
//!
//! Invariants: each word is written by one side, except those that say who sleeps. The words of an order
//! change only while the guest stands, those of an answer only while it runs; a turn is written after them
//! and read before them. Who sleeps says so, then has the kernel compare the turn or the bell; who rings
//! changes that first, then looks who sleeps.
#![allow(unsafe_code)] // shared memory comes from `mmap` only

use super::wire::Order;
use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use rustix::time::Timespec;
use std::fs::{File, OpenOptions};
use std::hint;
use std::io;
use std::mem::offset_of;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::time::{Duration, Instant};

const PAGE_BYTES: usize = 4_096;

/// What lies in the page. Each part has its own cache line.
#[repr(C)]
struct Words {
    order: OrderWords,
    answer: AnswerWords,
    sleeps: SleepWords,
}

#[repr(C, align(64))]
struct OrderWords {
    /// The number of the last order.
    turn: AtomicU32,
    kind: AtomicU32,
    time: AtomicU64,
    value: AtomicU64,
    /// Whether the coordinator waits here for the answer.
    waits: AtomicU32,
    /// How long the guest may look for the next order before it sleeps, in nanoseconds.
    spin_ns: AtomicU32,
}

#[repr(C, align(64))]
struct AnswerWords {
    /// How often the guest has rung.
    bell: AtomicU32,
    /// The number of the order that was answered here last.
    turn: AtomicU32,
    time: AtomicU64,
    next: AtomicU64,
}

#[repr(C, align(64))]
struct SleepWords {
    guest: AtomicU32,
    coordinator: AtomicU32,
}

const _: () = assert!(
    offset_of!(Words, order.waits) == 24
        && offset_of!(Words, order.spin_ns) == 28
        && offset_of!(Words, answer.next) == 64 + 16
        && offset_of!(Words, sleeps.coordinator) == 2 * 64 + 4,
    "page.c has the same layout"
);

/// How the answer to an order is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answering {
    /// It is at this page, from the start.
    pub waits_here: bool,
    /// How long the guest may look for the next order before it sleeps, in nanoseconds.
    pub spin_ns: u32,
}

/// The page of a guest.
pub(super) struct Page {
    start: NonNull<Words>,
    turn: u32,
    /// The bell when the coordinator last knew that it had all that the guest had said.
    heard: u32,
}

// SAFETY: all that is reached through it are atomics, which any thread may use; it is unmapped once, by its
// owner.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// Opens the page that process `guest` has under a descriptor.
    pub(super) fn open(guest: u32, descriptor: u64) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).open(format!("/proc/{guest}/fd/{descriptor}"))?;
        // Of a file that knows no seals there is no answer.
        let is_sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if !is_sealed || file.metadata()?.len() != PAGE_BYTES as u64 {
            return Err(io::Error::other("it is not a sealed page"));
        }
        Ok(Self { start: map(&file)?, turn: 0, heard: 0 })
    }

    fn words(&self) -> &Words {
        // SAFETY: the mapping is aligned to a page, larger than the words, and lives as long as `self`. They
        // are atomics, for which any bytes are valid and which the guest may change at any time.
        unsafe { self.start.as_ref() }
    }

    /// Gives the guest, which stands, an order and wakes it.
    pub(super) fn order(&mut self, order: Order, how: Answering) {
        let Words { order: words, answer, sleeps } = self.words();
        // All that the guest has said was read; what rings later is new, or was read before it rang.
        let heard = answer.bell.load(Acquire);
        let (kind, time, value) = order.record();
        words.kind.store(kind, Relaxed);
        words.time.store(time, Relaxed);
        words.value.store(value, Relaxed);
        words.waits.store(how.waits_here.into(), Relaxed);
        words.spin_ns.store(how.spin_ns, Relaxed);
        // 0 is no order's number: nothing was answered here before the first one.
        let turn = self.turn.wrapping_add(1).max(1);
        words.turn.store(turn, Release);
        fence(SeqCst);
        // The guest alone says that it sleeps no more: it may have looked at the order already, answered it,
        // and be about to sleep again, and the next order must find that.
        if sleeps.guest.load(Relaxed) != 0 {
            // The word is in mapped memory, so the call cannot fail.
            let _ = futex::wake(&words.turn, futex::Flags::empty(), 1);
        }
        (self.turn, self.heard) = (turn, heard);
    }

    /// Says that the answer is waited for here. One that was given before went over the socket.
    pub(super) fn expect_answer(&self) {
        self.words().order.waits.store(1, SeqCst);
    }

    /// The answer to the last order, if it was given here: the guest's clock and when it does something next.
    pub(super) fn answer(&self) -> Option<(u64, u64)> {
        let answer = &self.words().answer;
        let is_given = self.turn != 0 && answer.turn.load(Acquire) == self.turn;
        is_given.then(|| (answer.time.load(Relaxed), answer.next.load(Relaxed)))
    }

    /// Whether the guest has rung since the last call or order: it has answered, or something has come over
    /// the socket.
    pub(super) fn has_rung(&mut self) -> bool {
        let bell = self.words().answer.bell.load(Acquire);
        std::mem::replace(&mut self.heard, bell) != bell
    }

    /// Looks for the guest to ring, at most for `most`. Says whether it has.
    pub(super) fn spin(&self, most: Duration) -> bool {
        let bell = &self.words().answer.bell;
        let since = Instant::now();
        loop {
            if bell.load(Acquire) != self.heard {
                return true;
            }
            if since.elapsed() >= most {
                return false;
            }
            hint::spin_loop();
        }
    }

    /// Sleeps until the guest rings, at most for `most`; may return early.
    pub(super) fn sleep(&self, most: Duration) {
        let (bell, heard) = self.listen();
        let most = Timespec::try_from(most).ok();
        // Whatever ended the sleep (bell, time limit, signal), the caller looks again.
        let _ = futex::wait(bell, futex::Flags::empty(), heard, most.as_ref());
        self.wake_up();
    }

    /// The bell, and what it is until the guest rings: who sleeps until it is something else is woken.
    pub(super) fn listen(&self) -> (&AtomicU32, u32) {
        let Words { answer, sleeps, .. } = self.words();
        sleeps.coordinator.store(1, Relaxed);
        fence(SeqCst);
        (&answer.bell, self.heard)
    }

    /// Nobody sleeps here any more.
    pub(super) fn wake_up(&self) {
        self.words().sleeps.coordinator.store(0, Relaxed);
    }
}

fn map(file: &File) -> io::Result<NonNull<Words>> {
    const { assert!(size_of::<Words>() <= PAGE_BYTES) };
    // SAFETY: a new mapping at an address of the kernel's choice touches nobody's memory.
    let start = unsafe {
        mmap(null_mut(), PAGE_BYTES, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)?
    };
    Ok(NonNull::new(start.cast()).expect("a mapping is not at address 0"))
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and no reference into it outlives `self`.
        let result = unsafe { munmap(self.start.as_ptr().cast(), PAGE_BYTES) };
        debug_assert!(result.is_ok(), "a mapping of ours can be unmapped");
    }
}

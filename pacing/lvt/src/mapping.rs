//! A page as it lies in this process's memory.
//!
//! If a mapped file is truncated, a program that accesses the part cut off is killed (SIGBUS). Sealed memory
//! files and BPF maps cannot be truncated; for plain files see [`crate::Page`].
#![allow(unsafe_code)] // shared memory comes from `mmap` only

use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU32;

use rustix::io::Result;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::layout::{RECORD_BYTES, Slot, page_bytes};

/// Header and slots, mapped shared and writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<Slot>,
    slots: u32,
}

// SAFETY: all that is reached through a mapping are atomics, which any thread may use; it is unmapped once,
// by its last owner.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the page behind `fd`, which must have been checked to have `slots` slots.
    pub(crate) fn new(fd: BorrowedFd<'_>, slots: u32) -> Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe {
            mmap(null_mut(), page_bytes(slots), ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, fd, 0)?
        };
        Ok(Self { start: NonNull::new(start.cast()).expect("a mapping is not at address 0"), slots })
    }

    pub(crate) fn header(&self) -> [u8; RECORD_BYTES] {
        self.records()[0].bytes()
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.records()[1..]
    }

    /// The bell in the header: a futex.
    pub(crate) fn bell(&self) -> &AtomicU32 {
        &self.records()[0].pid
    }

    /// Whether the pacer wants to hear the bell.
    pub(crate) fn held(&self) -> &AtomicU32 {
        &self.records()[0].library
    }

    fn records(&self) -> &[Slot] {
        // SAFETY: the mapping is aligned to a page, holds as many records, and lives as long as `self`.
        // Records are made of atomics, for which any bytes are valid and which other processes may
        // change at any time.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.slots as usize + 1) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no reference into it outlives `self`.
        let result = unsafe { munmap(self.start.as_ptr().cast(), page_bytes(self.slots)) };
        debug_assert!(result.is_ok(), "a mapping of ours can be unmapped");
    }
}

//! A flag that a forked child finds cleared: the child has its parent's memory, but not its parent's slot.
//!
//! The flag lies in a page of its own that the kernel empties in children (`MADV_WIPEONFORK`, Linux 4.14), so
//! that nothing global is needed and no handler stays behind.
#![allow(unsafe_code)] // anonymous memory with this property comes from `mmap` and `madvise` only

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rustix::io::Result;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The kernel rounds it up to a page.
const BYTES: usize = size_of::<AtomicU32>();

/// Set in the process that made it, cleared in every child.
#[derive(Debug)]
pub(crate) struct ForkFlag(NonNull<AtomicU32>);

impl ForkFlag {
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: a new private mapping at an address of the kernel's choice touches no memory in use.
        let place = unsafe {
            mmap_anonymous(null_mut(), BYTES, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
        };
        let flag = Self(NonNull::new(place.cast()).expect("a mapping is not at address 0"));
        // SAFETY: the mapping was made above and no other code has its address; the advice concerns children
        // only.
        unsafe { madvise(place, BYTES, Advice::LinuxWipeOnFork)? };
        flag.word().store(1, Relaxed);
        Ok(flag)
    }

    /// Whether this is the process that made the flag.
    pub(crate) fn is_set(&self) -> bool {
        self.word().load(Relaxed) != 0
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the mapping is aligned to a page, lives as long as `self`, and any of its bytes make an
        // `AtomicU32`.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for ForkFlag {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no reference into it outlives `self`.
        let result = unsafe { munmap(self.0.as_ptr().cast(), BYTES) };
        debug_assert!(result.is_ok(), "a mapping of ours can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_made_it_finds_it_set() {
        let flag = ForkFlag::new().expect("there is memory");
        assert!(flag.is_set());
        // SAFETY: the child looks at memory that is its own and ends; it touches no lock that another thread
        // may have held.
        let child = unsafe {
            match libc::fork() {
                0 => libc::_exit(i32::from(flag.is_set())),
                child => child,
            }
        };
        let mut status = -1;
        // SAFETY: `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child found it set");
        assert!(flag.is_set());
    }
}

//! Stacks of coroutines, as many as there are processes that block.
//!
//! Memory is reserved and becomes real page by page, as it is touched. The lowest page is a guard: code that
//! outgrows the stack is ended by the system, and overwrites no other memory. A guard made with `mprotect`
//! splits the mapping, and a program may have some 65,000 of them (`vm.max_map_count`): enough for 32,000
//! stacks. So guards are `MADV_GUARD_INSTALL` where the kernel has that (Linux 6.13): it marks pages without
//! a mapping of their own.
#![allow(unsafe_code)] // stacks come from `mmap` only

use std::io::{Error, Result};
use std::ptr::null_mut;

use corosensei::stack::valgrind::ValgrindStackRegistration;
use corosensei::stack::{Stack, StackPointer};

/// Bytes of a stack, without its guard.
const BYTES: usize = 256 << 10;
/// Bytes of a guard: a page of any Linux system.
const GUARD: usize = 64 << 10;
/// `MADV_GUARD_INSTALL`, of Linux 6.13.
const GUARD_INSTALL: libc::c_int = 102;

/// A stack: [`GUARD`] bytes that cannot be touched, and [`BYTES`] above them.
pub(super) struct GuardedStack {
    start: StackPointer,
    /// Under Valgrind the stack is registered with it.
    _registered: ValgrindStackRegistration,
}

impl GuardedStack {
    pub(super) fn new() -> Result<Self> {
        let (readable, private) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
        );
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { libc::mmap(null_mut(), GUARD + BYTES, readable, private, -1, 0) };
        let Some(address) = StackPointer::new(start as usize).filter(|_| start != libc::MAP_FAILED) else {
            return Err(Error::last_os_error());
        };
        let registered = ValgrindStackRegistration::new(start.cast(), GUARD + BYTES);
        let stack = Self { start: address, _registered: registered };
        // SAFETY: the range is of the mapping above, which is not used yet.
        let guarded = unsafe {
            libc::madvise(start, GUARD, GUARD_INSTALL) == 0
                || libc::mprotect(start, GUARD, libc::PROT_NONE) == 0
        };
        if guarded { Ok(stack) } else { Err(Error::last_os_error()) }
    }
}

impl Drop for GuardedStack {
    fn drop(&mut self) {
        // SAFETY: it is the mapping of `new`, whole, and whoever has the stack does not run on it.
        unsafe { libc::munmap(self.start.get() as *mut libc::c_void, GUARD + BYTES) };
    }
}

// SAFETY: the memory from `limit` to `base` is this stack's own until it is dropped, more than the least
// size, with a guard at its lower end; both are multiples of a page.
unsafe impl Stack for GuardedStack {
    fn base(&self) -> StackPointer {
        self.start.saturating_add(GUARD + BYTES)
    }

    fn limit(&self) -> StackPointer {
        self.start
    }
}

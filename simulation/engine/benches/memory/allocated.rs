//! The system's allocator, counting: the most bytes allocated at one time.
//!
//! Invariant: what is counted is what was asked for, without what the allocator itself needs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

pub struct Allocated;

fn more(bytes: usize) {
    MOST.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it is.
#[allow(unsafe_code, reason = "an allocator is unsafe by its interface")]
unsafe impl GlobalAlloc for Allocated {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller keeps the rules of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the rules of `GlobalAlloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Relaxed);
        more(size);
        // SAFETY: the caller keeps the rules of `GlobalAlloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What `run` gives out, and the most bytes allocated meanwhile beyond those before.
pub fn most_during<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let result = run();
    (result, MOST.load(Relaxed).saturating_sub(before))
}

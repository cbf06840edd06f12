//! On what the code of a process runs: as a future on whatever thread runs the round, on a coroutine, or on a
//! thread of its own.
//!
//! A process on a coroutine or a thread may also block ([`Process::block_on`](crate::Process::block_on)): for
//! code that cannot be async. Whatever it runs on, the process takes its turns one after the other and asks
//! at the same desk: so the digest is the same (SimGrid report, section 2, compares such contexts).
//!
//! Invariant: what a thread knows of the coroutine or process that runs on it is that of the innermost
//! simulation.

mod coroutine;
#[cfg(target_os = "linux")]
mod stack;
mod thread;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

pub(crate) use coroutine::{COORDINATOR, OnCoroutine, end_all, take_seat};
pub(crate) use thread::OnThread;

/// On what the code of a process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextKind {
    /// As a future, without a stack of its own: the cheapest.
    #[default]
    Future,
    /// On a coroutine, a stack of its own of 256 KiB, which may block. A process that has blocked stays on
    /// its thread until it awaits; the part of it that blocks may therefore hold what must not change
    /// threads. Beside threads that run many processes each, this is the cheapest that can block; on
    /// several threads, a round of few such processes pays for handing each to its thread.
    Coroutine,
    /// On a thread of its own, which may block.
    Thread,
}

/// With what the code of a process unwinds when it is to end while it blocks.
struct Ending;

/// Runs `future` to its end on a coroutine or on the thread of a process.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let wait: fn() = match (coroutine::is_current(), thread::is_current()) {
        (true, _) => coroutine::wait_for_turn,
        (false, true) => thread::wait_for_turn,
        (false, false) => panic!(
            "block_on is for processes with stacks of their own, on coroutines or threads: Simulation::context(ContextKind::Coroutine)"
        ),
    };
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending => wait(),
        }
    }
}

/// A simulation runs on this thread from now on, perhaps within a process of another: what the thread knows
/// of that one is put aside until this is dropped.
pub(crate) fn set_aside() -> impl Drop {
    struct Outer(Option<thread::Gate>, coroutine::Current, u16);
    impl Drop for Outer {
        fn drop(&mut self) {
            coroutine::end_idle();
            thread::restore(self.0.take());
            coroutine::restore(self.1);
            take_seat(self.2);
        }
    }
    Outer(thread::set_aside(), coroutine::set_aside(), take_seat(COORDINATOR))
}

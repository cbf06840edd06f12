//! Processes on coroutines: stacks of their own that take turns on the threads that run rounds.
//!
//! The code of a process is a `Send` future and may change threads between its await points. What is on a
//! stack where code *blocks* is anything - an `Rc`, a lock's guard, a reference to a thread's local - so it
//! may not. Therefore a coroutine never leaves the thread that made it: it is kept in an arena of that
//! thread. A process has a coroutine while its future is polled; if that blocks, process and coroutine belong
//! together, and the process to the thread (its *home*), until the future is pending or over. Then the
//! coroutine is free for another process. So a process that never blocks needs no stack.
//!
//! Invariants: an arena is touched by its thread only; a coroutine that has been suspended in code that
//! blocks is run to its end before its thread ends; `CURRENT` is set only while code runs on the coroutine
//! whose yielder it is.
#![allow(unsafe_code)] // the yielder of a coroutine, for whatever code runs on it: see `wait_for_turn`

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};
use std::thread::ThreadId;

use corosensei::CoroutineResult;

use super::Ending;
use crate::desk::{self, Body};

#[cfg(target_os = "linux")]
type Stack = super::stack::GuardedStack;
#[cfg(not(target_os = "linux"))]
type Stack = corosensei::stack::DefaultStack;
type Coroutine = corosensei::Coroutine<Word, Said, (), Stack>;
type Yielder = corosensei::Yielder<Word, Said>;

enum Word {
    /// To poll the code of a process.
    Poll(Body),
    /// To continue where it blocks.
    Go,
    /// To release what it holds.
    End,
}

/// What a coroutine answers to a word.
enum Said {
    Blocks,
    /// The code waits, and has left the coroutine.
    Pending(Body),
    /// The code has ended and was dropped.
    Over(Result<(), Box<dyn Any + Send>>),
}

/// The yielder of the coroutine that runs on a thread; null where none does.
#[derive(Clone, Copy)]
pub(super) struct Current(*const Yielder);

impl Current {
    const NONE: Self = Self(ptr::null());
}

/// The coroutines of a thread.
struct Arena {
    thread: ThreadId,
    /// Those that block, by slot; free slots have none, and stand in `free`.
    slots: Vec<Option<Coroutine>>,
    free: Vec<usize>,
    /// Those that wait for code.
    idle: Vec<Coroutine>,
}

/// The place of the coordinating thread among those that run code; helpers come after it.
pub(crate) const COORDINATOR: u16 = 1;

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current::NONE) };
    static ARENA: RefCell<Arena> = RefCell::new(Arena {
        thread: std::thread::current().id(),
        slots: Vec::new(),
        free: Vec::new(),
        idle: Vec::new(),
    });
    static SEAT: Cell<u16> = const { Cell::new(0) };
}

/// Makes this thread the one of this place, from 1, among those that run code. Says which it was before.
pub(crate) fn take_seat(seat: u16) -> u16 {
    SEAT.replace(seat)
}

pub(super) fn is_current() -> bool {
    !CURRENT.get().0.is_null()
}

/// Forgets what runs on this thread, until [`restore`].
pub(super) fn set_aside() -> Current {
    CURRENT.replace(Current::NONE)
}

pub(super) fn restore(current: Current) {
    CURRENT.set(current);
}

/// Suspends the coroutine that runs; unwinds where it is to end.
pub(super) fn wait_for_turn() {
    let current = CURRENT.replace(Current::NONE);
    // SAFETY: `CURRENT` is not null, as `block_on` has seen, and no code ran since. A coroutine sets it to
    // its own yielder whenever it gets control, and it is null again whenever that coroutine does not
    // have it: before each suspension, here, and when the code of the process returns, in `serve`.
    // Simulations within the process put it aside. So this is the coroutine of that yielder, which lives
    // as long as `serve` has not returned.
    let word = unsafe { &*current.0 }.suspend(Said::Blocks);
    match word {
        Word::Go => CURRENT.set(current),
        Word::End | Word::Poll(_) => resume_unwind(Box::new(Ending)),
    }
}

/// A coroutine: polls the code of one process after the other.
fn serve(yielder: &Yielder, mut word: Word) {
    while let Word::Poll(mut body) = word {
        CURRENT.set(Current(yielder));
        let mut context = Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(&mut context)));
        CURRENT.set(Current::NONE);
        let over = match polled {
            Ok(Poll::Pending) => {
                word = yielder.suspend(Said::Pending(body));
                continue;
            }
            Ok(Poll::Ready(())) => Ok(()),
            Err(panic) if panic.is::<Ending>() => Ok(()),
            Err(panic) => Err(panic),
        };
        // Here, as the next word may come for another process. A panic of a process that has ended is of no
        // interest.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
        let said = Said::Over(over);
        word = yielder.suspend(said);
    }
}

fn resume(coroutine: &mut Coroutine, word: Word) -> Said {
    let outer = set_aside();
    let result = coroutine.resume(word);
    restore(outer);
    match result {
        CoroutineResult::Yield(said) => said,
        // Only a coroutine that waits for code ends in this way.
        CoroutineResult::Return(()) => Said::Over(Ok(())),
    }
}

/// Ends the coroutines of this thread that wait for code.
pub(super) fn end_idle() {
    let idle = ARENA.with_borrow_mut(|arena| std::mem::take(&mut arena.idle));
    for mut coroutine in idle {
        resume(&mut coroutine, Word::End);
    }
}

/// Ends all coroutines of this thread; what they hold is dropped.
pub(crate) fn end_all() {
    let slots = ARENA.with_borrow_mut(|arena| {
        arena.free.clear();
        std::mem::take(&mut arena.slots)
    });
    for mut coroutine in slots.into_iter().flatten() {
        resume(&mut coroutine, Word::End);
        resume(&mut coroutine, Word::End);
    }
    end_idle();
}

fn idle_or_new() -> Coroutine {
    if let Some(idle) = ARENA.with_borrow_mut(|arena| arena.idle.pop()) {
        return idle;
    }
    #[cfg(target_os = "linux")]
    let stack = Stack::new();
    #[cfg(not(target_os = "linux"))]
    let stack = Stack::new(256 << 10);
    match stack {
        Ok(stack) => Coroutine::with_stack(stack, serve),
        Err(error) => {
            panic!("a process has no stack of its own: {error}; more mappings: sysctl vm.max_map_count")
        }
    }
}

/// Where a coroutine is that blocks.
struct Place {
    thread: ThreadId,
    slot: usize,
}

/// The code of a process that runs on coroutines. `P` is what messages carry.
pub(crate) struct OnCoroutine<P> {
    /// While it is on no coroutine.
    body: Option<Body>,
    place: Option<Place>,
    payload: PhantomData<fn() -> P>,
}

impl<P> OnCoroutine<P> {
    pub(crate) fn new(body: Body) -> Self {
        Self { body: Some(body), place: None, payload: PhantomData }
    }
}

impl<P: Send + 'static> Future for OnCoroutine<P> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some(body) = self.body.take() {
            let mut coroutine = idle_or_new();
            let said = resume(&mut coroutine, Word::Poll(body));
            if matches!(said, Said::Blocks) {
                self.place = Some(ARENA.with_borrow_mut(|arena| arena.put(coroutine)));
                desk::set_home::<P>(SEAT.get());
                return Poll::Pending;
            }
            return self.left(said, coroutine);
        }
        let Some(Place { thread, slot }) = &self.place else { return Poll::Ready(()) };
        let slot = *slot;
        let mut coroutine = ARENA.with_borrow_mut(|arena| {
            assert_eq!(arena.thread, *thread, "a process that blocks goes on at home");
            arena.slots[slot].take().expect("a coroutine that blocks is in its slot")
        });
        let said = resume(&mut coroutine, Word::Go);
        if matches!(said, Said::Blocks) {
            ARENA.with_borrow_mut(|arena| arena.slots[slot] = Some(coroutine));
            return Poll::Pending;
        }
        ARENA.with_borrow_mut(|arena| arena.free.push(slot));
        self.place = None;
        desk::set_home::<P>(0);
        self.left(said, coroutine)
    }
}

impl<P> OnCoroutine<P> {
    /// The code has left a coroutine, which is free now.
    fn left(&mut self, said: Said, coroutine: Coroutine) -> Poll<()> {
        ARENA.with_borrow_mut(|arena| arena.idle.push(coroutine));
        match said {
            Said::Pending(body) => {
                self.body = Some(body);
                Poll::Pending
            }
            Said::Over(over) => {
                over.unwrap_or_else(|panic| resume_unwind(panic));
                Poll::Ready(())
            }
            Said::Blocks => unreachable!("who blocks has not left"),
        }
    }
}

impl Arena {
    /// Gives a coroutine that blocks a slot.
    fn put(&mut self, coroutine: Coroutine) -> Place {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(coroutine);
        Place { thread: self.thread, slot }
    }
}

impl<P> Drop for OnCoroutine<P> {
    fn drop(&mut self) {
        let Some(Place { thread, slot }) = self.place.take() else { return };
        let coroutine = ARENA.with_borrow_mut(|arena| {
            // On another thread, the run is over: that thread ends what it has.
            let coroutine = (arena.thread == thread).then(|| arena.slots[slot].take()).flatten();
            arena.free.extend(coroutine.is_some().then_some(slot));
            coroutine
        });
        if let Some(mut coroutine) = coroutine {
            // First the code of the process, then the coroutine itself.
            resume(&mut coroutine, Word::End);
            resume(&mut coroutine, Word::End);
        }
    }
}

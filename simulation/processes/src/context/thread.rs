//! Processes on threads of their own.
//!
//! Invariants: the desk is with one thread at a time; while the thread of a process has no turn, it waits for
//! one; it ends before the process's code is gone.

use std::cell::RefCell;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};
use std::thread::{Builder, JoinHandle};

use paceline_kernel::{Caught, catch};

use super::{Ending, block_on};
use crate::desk::{self, AnyDesk, Body};

/// The stack of such a thread, in bytes.
const STACK: usize = 512 << 10;

thread_local! {
    /// Of the thread of a process: where its turns come from and go to.
    static GATE: RefCell<Option<Gate>> = const { RefCell::new(None) };
}

/// A command to the thread of a process.
enum Word {
    /// It is its turn.
    Go(AnyDesk),
    /// It must end, and release what it holds.
    End(Option<AnyDesk>),
}

/// Its answer after a turn, with the desk returned.
enum Said {
    Waits(AnyDesk),
    Over(Option<AnyDesk>, Result<(), Caught>),
}

pub(super) struct Gate {
    turns: Receiver<Word>,
    said: Sender<Said>,
}

/// Whether this is the thread of a process.
pub(super) fn is_current() -> bool {
    GATE.with_borrow(Option::is_some)
}

/// Forgets that this is the thread of a process, until [`restore`].
pub(super) fn set_aside() -> Option<Gate> {
    GATE.take()
}

pub(super) fn restore(gate: Option<Gate>) {
    GATE.set(gate);
}

/// Gives the desk back and waits for the next turn; unwinds where there is none.
pub(super) fn wait_for_turn() {
    let desk = desk::leave().expect("a process that waits has had a turn");
    let word = GATE.with_borrow(|gate| {
        let Gate { turns, said } = gate.as_ref().expect("who waits has looked for it");
        // If the receiver is gone, no further turn is given.
        said.send(Said::Waits(desk)).ok().and_then(|()| turns.recv().ok())
    });
    match word {
        Some(Word::Go(desk)) => desk::arrive(desk),
        Some(Word::End(desk)) => {
            desk.into_iter().for_each(desk::arrive);
            resume_unwind(Box::new(Ending));
        }
        None => resume_unwind(Box::new(Ending)),
    }
}

/// The thread of a process: runs its code, a turn at a time.
fn run(body: Body, turns: Receiver<Word>, said: Sender<Said>) {
    match turns.recv() {
        Ok(Word::Go(desk)) => desk::arrive(desk),
        Ok(Word::End(desk)) => {
            drop(body);
            let _ = said.send(Said::Over(desk, Ok(())));
            return;
        }
        Err(_) => return,
    }
    GATE.set(Some(Gate { turns, said: said.clone() }));
    // Whatever it holds is dropped before the desk is given back.
    let over = catch(|| block_on(body));
    let over = over.or_else(|panic| if panic.is::<Ending>() { Ok(()) } else { Err(panic) });
    let _ = said.send(Said::Over(desk::leave(), over));
}

/// The code of a process that runs on a thread of its own.
pub(crate) struct OnThread {
    /// Before its first turn.
    body: Option<Body>,
    running: Option<(Sender<Word>, Receiver<Said>, JoinHandle<()>)>,
}

impl OnThread {
    pub(crate) fn new(body: Body) -> Self {
        Self { body: Some(body), running: None }
    }

    fn end(&mut self) {
        if let Some((_, _, thread)) = self.running.take() {
            // What it panicked with was said.
            let _ = thread.join();
        }
    }
}

impl Future for OnThread {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some(body) = self.body.take() {
            let ((to, turns), (said, from)) = (channel(), channel());
            let thread = Builder::new().name("paceline-process".into()).stack_size(STACK);
            match thread.spawn(move || run(body, turns, said)) {
                Ok(thread) => self.running = Some((to, from, thread)),
                Err(error) => panic!("a process has no thread of its own: {error}"),
            }
        }
        let Some((to, from, _)) = &self.running else { return Poll::Ready(()) };
        let desk = desk::leave().expect("whoever runs a process has a desk");
        let said = to.send(Word::Go(desk)).ok().and_then(|()| from.recv().ok());
        match said.expect("the thread of a process answers until it is over") {
            Said::Waits(desk) => {
                desk::arrive(desk);
                Poll::Pending
            }
            Said::Over(desk, over) => {
                desk.into_iter().for_each(desk::arrive);
                self.end();
                over.unwrap_or_else(|panic| panic.resume());
                Poll::Ready(())
            }
        }
    }
}

impl Drop for OnThread {
    fn drop(&mut self) {
        if let Some((to, from, _)) = &self.running {
            let word = Word::End(desk::leave());
            if let Some(Said::Over(Some(desk), _)) = to.send(word).ok().and_then(|()| from.recv().ok()) {
                desk::arrive(desk);
            }
        }
        self.end();
    }
}

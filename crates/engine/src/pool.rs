//! The workers: threads that take turns at a board until the run is over.
//!
//! A [`Board`] is what the federates and the protocol look like to a worker. It holds all shared state; a worker holds
//! only its desk. A panic in the model ends the run for everybody and is then passed on to the caller, who only waits.

use std::io;

use crate::RunError;
use crate::chaos::Chaos;
use crate::idle::Idle;
use crate::lvt::Publishing;
use crate::sync::{Mutex, lock, thread};
use crate::trace::{Recorder, Tracing};

/// Events that a federate runs before its worker looks up again; few under shuttle, so that federates change hands often.
#[cfg(not(paceline_shuttle))]
pub(crate) const BATCH: usize = 1 << 13;
#[cfg(paceline_shuttle)]
pub(crate) const BATCH: usize = 3;

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was done.
    Worked,
    /// There is nothing to do before the epoch moves on from this one.
    Nothing(u32),
    /// The run is over.
    Over,
}

/// Work for many workers.
pub(crate) trait Board: Sync {
    /// What a worker keeps to itself.
    type Desk;

    /// A desk for one worker, with its recorder.
    fn desk(&self, recorder: Recorder) -> Self::Desk;

    /// The recorder on a desk.
    fn recorder(desk: &mut Self::Desk) -> &mut Recorder;

    /// One turn of a worker: run one federate for a bounded batch, or hand over what was gathered.
    fn turn(&self, worker: usize, desk: &mut Self::Desk) -> Turn;

    /// Ends the run at once.
    fn abort(&self);

    /// Where workers wait.
    fn idle(&self) -> &Idle;
}

/// Ends the run when a worker leaves by a panic.
struct Leave<'b, B: Board>(&'b B);

impl<B: Board> Drop for Leave<'_, B> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}

/// Runs `board` with `workers` threads. `prepare` is called first in each of them, with the worker's number.
pub(crate) fn work<B: Board>(
    board: &B,
    workers: usize,
    tracing: &Tracing,
    publishing: &Publishing,
    chaos: Option<u64>,
    prepare: impl Fn(usize) -> io::Result<()> + Sync,
) -> Result<(), RunError> {
    let failed = Mutex::new(None);
    let fail = |worker: usize, error: io::Error| {
        lock(&failed)
            .get_or_insert(RunError::Threads(format!("worker thread {worker} of {workers}: {error}")));
        board.abort();
    };
    let worker = |worker: usize| {
        let _leave = Leave(board);
        if let Err(error) = prepare(worker) {
            return fail(worker, error);
        }
        let recorder = tracing.recorder(Some(worker as u32)).publishing(publishing.publisher(worker));
        let mut desk = board.desk(recorder);
        let mut chaos = chaos.map(|seed| Chaos::new(seed, worker));
        loop {
            chaos.iter_mut().for_each(Chaos::dawdle);
            match board.turn(worker, &mut desk) {
                Turn::Worked => {}
                Turn::Nothing(seen) => {
                    let start_ns = B::recorder(&mut desk).waits();
                    board.idle().wait(worker, seen);
                    B::recorder(&mut desk).waited(start_ns);
                }
                Turn::Over => break,
            }
        }
    };
    thread::scope(|scope| {
        for number in 0..workers {
            let worker = &worker;
            if let Err(error) = spawn(scope, move || worker(number)) {
                fail(number, error);
                break;
            }
        }
    });
    let failed = lock(&failed).take();
    failed.map_or(Ok(()), Err)
}

#[cfg(not(paceline_shuttle))]
fn spawn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    job: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    thread::Builder::new().name("paceline".into()).spawn_scoped(scope, job).map(drop)
}

#[cfg(paceline_shuttle)]
fn spawn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    job: impl FnOnce() + Send + 'scope,
) -> io::Result<()> {
    drop(scope.spawn(job));
    Ok(())
}

//! The workers: threads that take turns at a board until the run is over.
//!
//! A [`Board`] is what the federates and the protocol look like to a worker. It holds all shared state; a
//! worker holds only its desk. A panic, whose ever it is, ends the run for all workers, and comes to the
//! caller, who only waits, as an error. The threads outlive a board: they wait for the next one. `on_all`
//! starts and names them.
//!
//! In the glossary of ARCHITECTURE.md a board is the scheduler of a leg, and a desk the state of a worker.

use std::io;

use paceline_kernel::{Model, catch};

use crate::RunError;
use crate::outside::Answers;
use crate::protocols::scaffold::{Ends, Scaffold};
#[cfg(paceline_shuttle)]
use crate::sync::thread;
use crate::sync::{Mutex, lock};
use crate::watch::lvt::{Publishing, WorkerLvt};
use crate::watch::trace::{Recorder, Tracing};
use crate::workers::chaos::Chaos;

/// Events that a federate runs before its worker looks up again; few under shuttle, so that federates change
/// hands often.
#[cfg(not(paceline_shuttle))]
pub(crate) const BATCH: usize = 1 << 13;
#[cfg(paceline_shuttle)]
pub(crate) const BATCH: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was done.
    Worked,
    /// There is nothing to do before the epoch moves on from this one.
    Nothing(u32),
    /// The run is over.
    Over,
}

impl Turn {
    /// There is nothing to do, unless an outside federate has answered. `epoch` was read before this looks:
    /// an answer that comes later advances it, so the worker does not fall asleep beside an answer.
    pub(crate) fn nothing<M: Model>(epoch: u32, answers: Option<&Answers<M>>) -> Self {
        if answers.is_some_and(Answers::any) { Self::Worked } else { Self::Nothing(epoch) }
    }
}

/// Work for many workers.
pub(crate) trait Board<'a>: Sync {
    /// Whose LPs are run.
    type Model: Model + 'a;
    /// What workers share.
    type State: Ends + Send + 'a;
    /// What a worker keeps to itself.
    type Desk;

    fn scaffold(&self) -> &Scaffold<'a, Self::Model, Self::State>;

    /// A desk for one worker, with its recorder and its LVT.
    fn desk(&self, recorder: Recorder, lvt: WorkerLvt) -> Self::Desk;

    /// The recorder and the LVT on a desk.
    fn instruments(desk: &mut Self::Desk) -> (&mut Recorder, &mut WorkerLvt);

    /// One turn of a worker: run one federate for a bounded batch, or hand over what was gathered.
    fn turn(&self, worker: usize, desk: &mut Self::Desk) -> Turn;
}

#[derive(Debug, Default)]
pub(crate) struct Crew {
    #[cfg(not(paceline_shuttle))]
    threads: Option<rayon_core::ThreadPool>,
}

impl Crew {
    /// Runs `board` with `workers` threads. `prepare` is called first in each of them, with the worker's
    /// number.
    pub(crate) fn work<'a, B: Board<'a>>(
        &mut self,
        board: &B,
        workers: usize,
        tracing: &Tracing,
        publishing: &Publishing,
        chaos: Option<u64>,
        prepare: impl Fn(usize) -> io::Result<()> + Sync,
    ) -> Result<(), RunError> {
        let failed = Mutex::new(None);
        // All workers leave: they would wait for what this one has in hand. The owner of the run gets the
        // error.
        let fail = |error: RunError| {
            board.scaffold().stop(&error);
            lock(&failed).get_or_insert(error);
        };
        let work = |worker: usize| {
            if let Err(error) = prepare(worker) {
                return fail(cannot(worker, workers, &error));
            }
            let mut desk = board.desk(tracing.recorder(Some(worker as u32)), publishing.worker(worker));
            let mut chaos = chaos.map(|seed| Chaos::new(seed, worker));
            loop {
                chaos.iter_mut().for_each(Chaos::dawdle);
                match board.turn(worker, &mut desk) {
                    Turn::Worked => {}
                    Turn::Nothing(seen) => {
                        let (recorder, lvt) = B::instruments(&mut desk);
                        lvt.set_waiting(true);
                        let start_ns = recorder.now();
                        board.scaffold().idle.wait(worker, seen);
                        lvt.set_waiting(false);
                        recorder.waited(start_ns);
                    }
                    Turn::Over => break,
                }
            }
        };
        // Where a panic was is noted for its thread only: it is caught here, and not by the owner of the run.
        let worker = |number: usize| {
            if let Err(panic) = catch(|| work(number)) {
                fail(panic.into());
            }
        };
        self.on_all(workers, worker)?;
        let failed = lock(&failed).take();
        failed.map_or(Ok(()), Err)
    }

    /// Calls `work` on each of this many threads, with its number. They stay for the next call, which may
    /// need fewer.
    #[cfg(not(paceline_shuttle))]
    fn on_all(&mut self, workers: usize, work: impl Fn(usize) + Sync) -> Result<(), RunError> {
        // A leg that needs fewer threads leaves the others idle; one that needs more starts all of them anew.
        let threads = match self.threads.take().filter(|threads| threads.current_num_threads() >= workers) {
            Some(threads) => threads,
            None => rayon_core::ThreadPoolBuilder::new()
                .num_threads(workers)
                .thread_name(|_| "paceline".into())
                .build()
                .map_err(|error| RunError::Threads(format!("{workers} worker threads: {error}")))?,
        };
        // Returns once all threads are done, those beyond `workers` at once: `work` is only borrowed.
        threads.broadcast(|thread| {
            if thread.index() < workers {
                work(thread.index());
            }
        });
        self.threads = Some(threads);
        Ok(())
    }

    #[cfg(paceline_shuttle)]
    fn on_all(&mut self, workers: usize, work: impl Fn(usize) + Sync) -> Result<(), RunError> {
        thread::scope(|scope| {
            for number in 0..workers {
                let work = &work;
                drop(scope.spawn(move || work(number)));
            }
        });
        Ok(())
    }
}

/// A worker that cannot begin.
fn cannot(worker: usize, workers: usize, error: &io::Error) -> RunError {
    RunError::Threads(format!("worker thread {worker} of {workers}: {error}"))
}

//! The threads on which the code of a round's processes runs.
//!
//! The tasks of a round are dealt into chunks; a free thread takes the next chunk. The coordinating thread is
//! the one that asks the core: while a round runs it works too, or sleeps, or has an extra thread work in its
//! place (SimGrid report, section 4.2).
//!
//! Tasks that block on coroutines resume on their own thread: [`home`] runs such rounds.
//!
//! Invariants: a chunk is filled before it can be taken, and taken once a round; a round is over when all
//! chunks are.

mod home;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::{hint, io, thread};

use paceline_kernel::Time;

use crate::context;
use crate::core::{Answer, Present};
use crate::task::{Task, Turns};
use crate::watchdog::Watch;

/// What the coordinating thread does while a round runs on many threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coordination {
    /// It is one of the threads that run code.
    #[default]
    Works,
    /// It sleeps: one thread less runs code.
    Sleeps,
    /// It sleeps, and an extra thread runs code in its place.
    Extra,
}

/// How threads wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// By a futex, or what the system has instead, after looking for some microseconds.
    #[default]
    Futex,
    /// By a condition variable.
    Condition,
    /// By looking again and again; the core is offered to others from time to time.
    Busy,
}

/// Chunks for each thread, so that one with little to do helps another.
const CHUNKS: usize = 4;
/// Looks before a thread goes to sleep, or offers its core.
const LOOKS: u32 = 2_000;

/// A number that threads wait for to change.
#[derive(Debug, Default)]
struct Signal {
    value: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Signal {
    /// Waits until it is no longer `seen`.
    fn wait(&self, seen: u32, waiting: Waiting) {
        let mut looks = 0;
        while self.value.load(Ordering::Acquire) == seen {
            looks += 1;
            match waiting {
                Waiting::Futex if looks < LOOKS => hint::spin_loop(),
                Waiting::Futex => atomic_wait::wait(&self.value, seen),
                Waiting::Condition => {
                    let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
                    let same = |_: &mut ()| self.value.load(Ordering::Acquire) == seen;
                    drop(self.changed.wait_while(guard, same).unwrap_or_else(PoisonError::into_inner));
                }
                Waiting::Busy if looks % LOOKS == 0 => thread::yield_now(),
                Waiting::Busy => hint::spin_loop(),
            }
        }
    }

    fn change(&self, waiting: Waiting) {
        self.value.fetch_add(1, Ordering::AcqRel);
        match waiting {
            Waiting::Futex => atomic_wait::wake_all(&raw const self.value),
            Waiting::Condition => {
                drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
                self.changed.notify_all();
            }
            Waiting::Busy => {}
        }
    }

    fn value(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }
}

/// A task, and its answer.
pub(crate) type Turning<P> = (Task, Option<Answer<P>>);

struct Chunk<P> {
    now: Time,
    tasks: Vec<Turning<P>>,
    turns: Turns<P>,
}

struct Shared<P> {
    chunks: Vec<Mutex<Chunk<P>>>,
    /// What only one thread may do, for each of them; see [`home`].
    at_home: Vec<Mutex<home::List<P>>>,
    next: AtomicUsize,
    left: AtomicUsize,
    begun: Signal,
    done: Signal,
    over: AtomicBool,
    waiting: Waiting,
}

impl<P: Send + 'static> Shared<P> {
    fn chunk(&self, place: usize) -> MutexGuard<'_, Chunk<P>> {
        self.chunks[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs chunks until none is left to take.
    fn work(&self) {
        loop {
            let place = self.next.fetch_add(1, Ordering::AcqRel);
            if place >= self.chunks.len() {
                return;
            }
            let mut chunk = self.chunk(place);
            let Chunk { now, tasks, turns } = &mut *chunk;
            tasks.iter_mut().for_each(|(task, answer)| turns.run(task, *now, answer.take()));
            drop(chunk);
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.done.change(self.waiting);
            }
        }
    }
}

/// The threads of a run: they take chunks of the current round until it is empty, then wait for the next.
pub(crate) struct Crew<P> {
    shared: Arc<Shared<P>>,
    coordinator_works: bool,
    threads: Vec<JoinHandle<()>>,
    /// The cores of the calling thread, where it is bound to one of them meanwhile.
    before: Vec<usize>,
}

impl<P: Send + 'static> Crew<P> {
    /// `threads` threads that run code, the calling one among them where it works; none where that is only
    /// itself.
    pub(crate) fn start(
        threads: usize,
        coordination: Coordination,
        waiting: Waiting,
        pin: bool,
    ) -> io::Result<Option<Self>> {
        if threads < 2 {
            return Ok(None);
        }
        let helpers = if coordination == Coordination::Extra { threads } else { threads - 1 };
        let chunk = || Mutex::new(Chunk { now: Time::ZERO, tasks: Vec::new(), turns: Turns::new() });
        let shared = Arc::new(Shared {
            chunks: (0..threads * CHUNKS).map(|_| chunk()).collect(),
            at_home: (0..=helpers).map(|_| Mutex::default()).collect(),
            next: AtomicUsize::new(usize::MAX / 2),
            left: AtomicUsize::new(0),
            begun: Signal::default(),
            done: Signal::default(),
            over: AtomicBool::new(false),
            waiting,
        });
        let coordinator_works = coordination == Coordination::Works;
        let mut crew = Self { shared, coordinator_works, threads: Vec::new(), before: Vec::new() };
        // All of them, before any thread is bound: threads begin with the cores of the one that starts them.
        let cores = if pin { cores()? } else { Vec::new() };
        for number in 0..helpers {
            let (shared, place) = (Arc::clone(&crew.shared), number + usize::from(coordinator_works));
            let (core, (bound, is_bound)) = (cores.get(place % cores.len().max(1)).copied(), channel());
            let helper = move || {
                // Whoever starts it waits for this.
                let _ = bound.send(core.map_or(Ok(()), |core| bind(&[core])));
                let seat = number + 1;
                context::take_seat(context::COORDINATOR + seat as u16);
                let mut seen = 0;
                loop {
                    shared.begun.wait(seen, shared.waiting);
                    seen = shared.begun.value();
                    if shared.over.load(Ordering::Acquire) {
                        break;
                    }
                    shared.work_at_home(seat);
                    shared.work();
                }
                context::end_all();
            };
            crew.threads.push(Builder::new().name("paceline-actors".into()).spawn(helper)?);
            is_bound.recv().unwrap_or(Ok(()))?;
        }
        if coordinator_works && let Some(first) = cores.first() {
            bind(&[*first])?;
            crew.before = cores;
        }
        Ok(Some(crew))
    }

    /// Lets a watchdog see whose turn it is on each thread.
    pub(crate) fn watch(&self, watch: &Watch) {
        (0..self.shared.chunks.len()).for_each(|place| self.shared.chunk(place).turns.watch(watch));
        (0..self.shared.at_home.len()).for_each(|place| self.shared.watch_list(place, watch));
    }

    /// Resumes all `tasks`, whose code may look at what is `present`, and gives that back; `turns` gets the
    /// result of each, in their order.
    pub(crate) fn run(
        &self,
        now: Time,
        present: Option<Present>,
        tasks: &mut Vec<Turning<P>>,
        turns: &mut Turns<P>,
    ) -> Option<Present> {
        let Shared { chunks, next, left, begun, done, waiting, .. } = &*self.shared;
        let (count, size) = (tasks.len(), chunks.len());
        let (present, mut lent) = Present::for_threads(present, size);
        let mut rest = tasks.drain(..);
        for place in 0..size {
            let share = count * (place + 1) / size - count * place / size;
            let mut chunk = self.shared.chunk(place);
            chunk.now = now;
            chunk.turns.lend(lent.next());
            chunk.tasks.extend(rest.by_ref().take(share));
        }
        drop(rest);
        let seen = done.value();
        left.store(size, Ordering::Release);
        next.store(0, Ordering::Release);
        begun.change(*waiting);
        if self.coordinator_works {
            self.shared.work();
        }
        done.wait(seen, *waiting);
        for place in 0..size {
            let mut chunk = self.shared.chunk(place);
            chunk.turns.lend(None);
            tasks.append(&mut chunk.tasks);
            turns.append(&mut chunk.turns);
        }
        drop(lent);
        present
    }
}

impl<P> Drop for Crew<P> {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        self.shared.begun.change(self.shared.waiting);
        for thread in self.threads.drain(..) {
            // A helper has nothing of its own that could panic.
            let _ = thread.join();
        }
        if !self.before.is_empty() {
            // They were its cores; where they are gone it stays where it is.
            let _ = bind(&self.before);
        }
    }
}

/// The cores that the calling thread may use.
#[cfg(target_os = "linux")]
fn cores() -> io::Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect())
}

/// Binds the calling thread to these cores.
#[cfg(target_os = "linux")]
fn bind(cores: &[usize]) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    Ok(sched_setaffinity(None, &set)?)
}

/// Binding threads to cores is not offered on this system.
#[cfg(not(target_os = "linux"))]
fn cores() -> io::Result<Vec<usize>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Binding threads to cores is not offered on this system.
#[cfg(not(target_os = "linux"))]
fn bind(_cores: &[usize]) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, target_os = "linux"))]
mod test {
    use std::collections::BTreeSet;

    use super::*;

    /// The cores that each thread of a crew may use.
    fn of_crew() -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten().map(|entry| entry.path());
        let named = |path: &std::path::PathBuf| {
            std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "paceline-actors")
        };
        let cores = |path: std::path::PathBuf| {
            let status = std::fs::read_to_string(path.join("status")).ok()?;
            let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:"))?;
            line.split_whitespace().nth(1).map(str::to_owned)
        };
        tasks.filter(named).filter_map(cores).collect()
    }

    #[test]
    fn bound_threads_have_a_core_each_and_the_calling_one_gets_its_cores_back() {
        let before = cores().unwrap();
        let start = |coordination| Crew::<()>::start(before.len().max(2), coordination, Waiting::Futex, true);
        let crew = start(Coordination::Extra).unwrap();
        let pinned: BTreeSet<String> = of_crew().into_iter().collect();
        assert_eq!(pinned, before.iter().map(usize::to_string).collect(), "each core once");
        assert_eq!(cores().unwrap(), before, "whoever sleeps is not bound");
        drop(crew);
        let crew = start(Coordination::Works).unwrap();
        assert_eq!(cores().unwrap(), [before[0]]);
        drop(crew);
        assert_eq!(cores().unwrap(), before);
    }
}

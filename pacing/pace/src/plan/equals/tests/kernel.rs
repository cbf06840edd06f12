//! A model of the kernel: each core runs a thread of the highest class, slice by slice.
//!
//! It has the features of the real kernel that can starve a thread. [`Class::Turn`], [`Class::Front`] and
//! [`Class::Reserve`] are real-time classes: a thread there keeps its core until it yields or sleeps, until a
//! higher one comes, or until its 100 ms are over while an equal waits. A thread that is raised is queued
//! behind its new equals, one that is lowered before them. The two other classes share what is left, the
//! normal one before the idle one. Threads there run for 3 ms, those with the least CPU time first.

use std::cmp::Reverse;

use crate::plan::Class;

const ROUND_ROBIN_NS: u64 = 100_000_000;
const FAIR_NS: u64 = 3_000_000;
/// The CPU time of a poll with the yield after it.
const POLL_NS: u64 = 1_000;

/// What a thread does with a core.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    Sleeps,
    Polls,
    Runs,
}

/// A thread, as the kernel knows it.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub cpu_ns: u64,
    /// Its CPU time in the last slice.
    pub got_ns: u64,
    class: Class,
    is_awake: bool,
    /// Its place in the queue of a real-time class.
    place: i64,
    /// What is left of its round-robin time.
    left_ns: u64,
    /// Its CPU time as the normal class counts it.
    fair_ns: u64,
    /// For how long it has run at a stretch in a class that is not real-time.
    stretch_ns: u64,
    /// The slice in which it ran last.
    ran: u64,
}

/// The thread with the least key runs first: class, place in the queue, whether its 3 ms are over, CPU time,
/// and when it ran last.
type Key = (Reverse<Class>, i64, bool, u64, u64);

impl Task {
    fn is_real_time(&self) -> bool {
        self.class >= Class::Reserve
    }

    fn key(&self) -> Key {
        match self.is_real_time() {
            true => (Reverse(self.class), self.place, false, 0, 0),
            false => (Reverse(self.class), 0, self.stretch_ns == 0, self.fair_ns, self.ran),
        }
    }
}

#[derive(Debug)]
pub struct Kernel {
    pub tasks: Vec<Task>,
    cores: usize,
    slice_ns: u64,
    slice: u64,
    /// The places before and behind all others.
    first: i64,
    last: i64,
    /// The least CPU time in the normal class: a thread that enters it gets at least this.
    floor_ns: u64,
    order: Vec<(Key, usize)>,
}

impl Kernel {
    pub fn new(cores: usize, slice_ns: u64, threads: usize) -> Self {
        let task = Task {
            cpu_ns: 0,
            got_ns: 0,
            class: Class::Normal,
            is_awake: false,
            place: 0,
            left_ns: ROUND_ROBIN_NS,
            fair_ns: 0,
            stretch_ns: 0,
            ran: 0,
        };
        let tasks = vec![task; threads];
        Self { tasks, cores, slice_ns, slice: 0, first: 0, last: 0, floor_ns: 0, order: Vec::new() }
    }

    pub fn set(&mut self, thread: usize, class: Class) {
        let task = &mut self.tasks[thread];
        let was = std::mem::replace(&mut task.class, class);
        if was > class && task.is_real_time() {
            self.first -= 1;
            task.place = self.first;
        } else if was != class {
            self.get_in_line(thread);
        }
    }

    fn get_in_line(&mut self, thread: usize) {
        let task = &mut self.tasks[thread];
        self.last += 1;
        task.place = self.last;
        if task.class == Class::Normal {
            task.fair_ns = task.fair_ns.max(self.floor_ns);
        }
    }

    /// Runs the threads, with what each does, for a slice.
    pub fn run(&mut self, demands: &[Demand]) {
        self.slice += 1;
        for (thread, demand) in demands.iter().enumerate() {
            let is_awake = *demand != Demand::Sleeps;
            let task = &mut self.tasks[thread];
            task.got_ns = 0;
            if std::mem::replace(&mut task.is_awake, is_awake) != is_awake {
                self.get_in_line(thread);
            }
        }
        let awake = self.tasks.iter().enumerate().filter(|(_, task)| task.is_awake);
        self.order.clear();
        self.order.extend(awake.map(|(thread, task)| (task.key(), thread)));
        self.order.sort_unstable();
        self.share_cores(demands);
        (0..self.tasks.len()).for_each(|thread| self.charge(thread));
        let normal = self.tasks.iter().filter(|task| task.is_awake && task.class == Class::Normal);
        self.floor_ns = self.floor_ns.max(normal.map(|task| task.fair_ns).min().unwrap_or(0));
    }

    /// Gives the cores to the first threads. A thread that yields passes its core on to an equal, and keeps
    /// it if there is none.
    fn share_cores(&mut self, demands: &[Demand]) {
        let mut free = self.cores;
        for equals in self.order.chunk_by(|(one, _), (other, _)| one.0 == other.0) {
            for (_, thread) in equals {
                if free == 0 {
                    return;
                }
                let polls = demands[*thread] == Demand::Polls;
                self.tasks[*thread].got_ns = if polls { POLL_NS } else { self.slice_ns };
                free -= usize::from(!polls);
            }
            let keeping = equals.iter().filter(|(_, thread)| demands[*thread] == Demand::Polls).take(free);
            for (_, thread) in keeping {
                self.tasks[*thread].got_ns = self.slice_ns;
                free -= 1;
            }
        }
    }

    /// Counts the CPU time of a thread in this slice, and queues it again if it yielded or its time was over.
    fn charge(&mut self, thread: usize) {
        let task = &mut self.tasks[thread];
        let got_ns = task.got_ns;
        task.cpu_ns += got_ns;
        task.ran = if got_ns > 0 { self.slice } else { task.ran };
        if task.is_real_time() {
            task.left_ns = task.left_ns.saturating_sub(got_ns);
            if task.left_ns == 0 || got_ns == POLL_NS {
                task.left_ns = if task.left_ns == 0 { ROUND_ROBIN_NS } else { task.left_ns };
                self.get_in_line(thread);
            }
        } else {
            let stretch_ns = task.stretch_ns + got_ns;
            task.stretch_ns = if got_ns < self.slice_ns || stretch_ns >= FAIR_NS { 0 } else { stretch_ns };
            task.fair_ns += got_ns;
        }
    }
}

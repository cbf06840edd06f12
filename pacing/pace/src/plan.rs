//! Decides which threads run next, from what they publish: a pure core without clock, system call or file.
//!
//! Every slice the governor passes what it sees ([`Seen`]) and gets a [`Class`] for each thread. As many
//! threads as there are cores are at the front: the ready ones of least LVT, and then, if cores are left,
//! those that wait or have held the front for long without progress. All others run only on cores that would
//! be idle. A thread that has not run for long gets a turn before all others, so no thread starves, whatever
//! the page contains. In a part of the time, the *release*, no thread is above the rest of the machine; in
//! every other release all are below it.
//!
//! How long "long without progress" is follows from the thread's own history, in time and not in slices: a
//! thread whose event lasts longer has to pause once, and its next event may last longer.

mod equals;
mod history;
pub mod slices;
pub mod trial;

use history::History;

/// The LVT of a thread that has nothing to do.
pub const IDLE_LVT_NS: u64 = u64::MAX;
/// The largest LVT that is a time. A greater one has no meaning, and counts as nothing to do.
pub const LVT_MAX_NS: u64 = i64::MAX as u64;

/// A thread that has not run for this long is due for a turn, however many threads there are.
const DUE_MAX_NS: u64 = 400_000_000;
/// As many turns are given at a time as it takes for all threads to have one in this time.
const ROUND_NS: u64 = 350_000_000;
/// The part of the machine, one in so many, that turns may take.
const TURNS_ONE_IN: u64 = 10;
/// Threads that say that they wait get turns this many times less often.
const WAITER_PATIENCE_FACTOR: u64 = 4;
/// One release in so many nanoseconds.
const RELEASE_PERIOD_NS: u64 = 20_000_000;
/// How much longer a release is for each other thread that wants to run beyond one per core, in thousandths
/// of the time: if there are many of them, not all would run within a second in a tenth of the time.
const MORE_FOR_EACH_PERMILLE: u64 = 15;
/// The limit of that, in thousandths of the time.
const MORE_MOST_PERMILLE: u64 = 250;
/// If no thread has made progress for this long, they may wait for a program that is not on the page and
/// needs a core.
const DEADLOCK_NS: u64 = 20_000_000;

/// What the planner knows about the machine and the mode.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// How many cores there are.
    pub cores: usize,
    /// The approximate time between two calls of [`Planner::decide`].
    pub slice_ns: u64,
    /// The least share of a core, in thousandths.
    pub min_share_permille: u32,
    /// The part of the time, in thousandths, in which no thread is above the rest of the machine, if that
    /// has no more threads to run than there are cores.
    pub release_permille: u32,
    /// The same while few other threads want a core.
    pub alone_permille: u32,
    /// How long a turn lasts: long enough for the class to have an effect.
    pub turn_ns: u64,
    /// Whether threads are kept in reserve, for when those at the front block.
    pub reserve: bool,
}

/// A thread as the page shows it now.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its slot, below the number of slots.
    pub slot: usize,
    /// Whether the slot had no thread, or another one, in the last slice.
    pub fresh: bool,
    /// Its LVT in nanoseconds; above [`LVT_MAX_NS`] if it has nothing to do.
    pub lvt_ns: u64,
    /// Whether it says that it waits.
    pub waiting: bool,
    /// Whether it gives its core away whenever it waits.
    pub yields: bool,
    /// The CPU time it has had; `None` if it was not read.
    pub cpu_ns: Option<u64>,
}

/// A thread's place in the order in which threads get cores, the lowest first.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Class {
    /// Runs on cores that would otherwise be idle.
    #[default]
    Back,
    /// Competes like any other thread of the machine.
    Normal,
    /// Runs when a thread at the front blocks.
    Reserve,
    /// Runs before the reserve.
    Front,
    /// Runs even before the front, for a limited time.
    Turn,
}

/// Decides which threads run next.
#[derive(Debug)]
pub struct Planner {
    machine: Machine,
    threads: Vec<History>,
    /// The number of the decision, which shows whether a thread was seen at the one before.
    round: u64,
    now_ns: u64,
    progress_ns: u64,
    released: bool,
    /// Time outside of releases.
    worked_ns: u64,
    /// The recent average of the number of other threads of the machine that want to run, in sixteenths.
    others_16ths: usize,
    order: Vec<(Rank, usize)>,
    due: Vec<(u64, usize)>,
    classes: Vec<(usize, Class)>,
    holds_back: bool,
    usual_event_ns: u64,
    crowded: bool,
}

/// The order of threads, the least first. Group: 0 is ready, 1 waits or has stalled, 2 as 1 but has run since
/// any thread last made progress, 3 has nothing to do. Then the LVT (groups 0 and 1), whether it is not at
/// the front now, and when it ran last.
type Rank = (u8, u64, bool, u64);

impl Planner {
    /// A planner for a page of `slots` slots.
    pub fn new(machine: Machine, slots: usize) -> Self {
        assert!(machine.cores > 0 && machine.slice_ns > 0, "a machine has a core and time has slices");
        Self {
            machine,
            threads: vec![History::default(); slots],
            // Greater than 1: 0 is the round of threads that were never seen, and they must not count as seen
            // in the last round.
            round: 1,
            now_ns: 0,
            progress_ns: 0,
            released: false,
            worked_ns: 0,
            others_16ths: 0,
            order: Vec::new(),
            due: Vec::new(),
            classes: Vec::new(),
            holds_back: false,
            usual_event_ns: 0,
            crowded: true,
        }
    }

    /// The class of each thread in `seen` from `now_ns` on, in the order of slots that `seen` has. A thread
    /// that is not in `seen` is forgotten.
    pub fn decide(&mut self, now_ns: u64, seen: &[Seen]) -> &[(usize, Class)] {
        self.look(now_ns, seen);
        self.released = self.is_released(seen.len());
        // A single thread that does not yield would keep its core from its equals: then all get slices.
        if seen.iter().all(|seen| seen.yields) {
            self.grant_turns(seen, DUE_MAX_NS);
            self.fill_front_of_yielding(seen);
        } else {
            self.grant_turns(seen, self.due_ns(seen.len()));
            self.fill_front(seen);
        }
        self.classes_of(seen)
    }

    /// The classes of the threads, lowered if this is a release.
    fn classes_of(&mut self, seen: &[Seen]) -> &[(usize, Class)] {
        self.classes.clear();
        for Seen { slot, .. } in seen {
            let class = match self.threads[*slot].class {
                Class::Back => Class::Back,
                above if self.released => above.min(self.release_class()),
                above => above,
            };
            self.classes.push((*slot, class));
        }
        &self.classes
    }

    /// Whether ready threads are held back from the front: if a thread there begins to wait, one of them can
    /// run.
    pub fn holds_back(&self) -> bool {
        self.holds_back && !self.released
    }

    /// How long a thread at the front usually needs from one progress to the next; 0 while nothing is known.
    pub const fn usual_event_ns(&self) -> u64 {
        self.usual_event_ns
    }

    /// Sets the time between two decisions.
    pub const fn set_slice(&mut self, slice_ns: u64) {
        if self.machine.turn_ns == self.machine.slice_ns {
            self.machine.turn_ns = slice_ns;
        }
        self.machine.slice_ns = slice_ns;
    }

    /// Notes whether other programs of the machine want cores. Before the first call they are assumed to.
    pub const fn note_crowded(&mut self, crowded: bool) {
        self.crowded = crowded;
    }

    /// Notes how many other threads of the machine want to run now.
    pub fn note_others(&mut self, others: usize) {
        self.others_16ths = self.others_16ths - self.others_16ths / 16 + others;
    }

    /// Notes what has happened since the last decision.
    fn look(&mut self, now_ns: u64, seen: &[Seen]) {
        // In a release, no thread was ahead of another.
        let past_ns = if self.released { 0 } else { now_ns.saturating_sub(self.now_ns) };
        self.worked_ns += past_ns;
        self.now_ns = now_ns;
        self.round += 1;
        for seen in seen {
            let thread = &mut self.threads[seen.slot];
            if seen.fresh || thread.round + 1 != self.round {
                // A new thread counts as progress, because those that wait may have waited for it.
                *thread = History::new(seen, now_ns);
                self.progress_ns = now_ns;
            } else if thread.note(seen, now_ns, past_ns, self.worked_ns, self.machine.slice_ns) {
                self.progress_ns = now_ns;
                if let Some(needed_ns) = thread.needed_ns.take() {
                    self.usual_event_ns = match self.usual_event_ns {
                        0 => needed_ns,
                        usual_ns => usual_ns - usual_ns / 16 + needed_ns / 16,
                    };
                }
            }
            thread.round = self.round;
        }
    }

    /// Continues turns that are not over, and gives new ones to the threads that have not run for longest,
    /// and for `due_ns` at least.
    fn grant_turns(&mut self, seen: &[Seen], due_ns: u64) {
        let Machine { slice_ns, turn_ns, .. } = self.machine;
        let (now_ns, most) = (self.now_ns, self.most_turns(seen.len()));
        self.due.clear();
        for Seen { slot, .. } in seen {
            let thread = &mut self.threads[*slot];
            // Decisions come about once per slice: a turn ends at the one that is nearest to its end.
            let in_turn = thread.class == Class::Turn && now_ns - thread.turn_ns + slice_ns / 2 < turn_ns;
            let patience_ns = match thread.waiting {
                true => (due_ns * WAITER_PATIENCE_FACTOR).min(DUE_MAX_NS),
                false => due_ns,
            };
            if in_turn {
                // Before all times: a turn that has begun is not cut short.
                self.due.push((0, *slot));
            } else if !self.released && now_ns - thread.ran_ns >= patience_ns {
                // In a release a turn would be lowered too, so none begins.
                self.due.push((thread.ran_ns.max(1), *slot));
            }
            if thread.class == Class::Turn && !in_turn {
                thread.class = Class::Back;
            }
        }
        if self.due.len() > most {
            // Which threads are among the first counts, not their order.
            self.due.select_nth_unstable(most - 1);
            self.due.truncate(most);
        }
        for (_, slot) in &self.due {
            let thread = &mut self.threads[*slot];
            if thread.class != Class::Turn {
                thread.turn_ns = now_ns;
                thread.class = Class::Turn;
            }
        }
    }

    /// How many of `threads` threads have turns at a time: half of the cores, or as many as are needed for
    /// all to have one in [`ROUND_NS`]. There can be more than cores only in the mode in which weights
    /// decide which thread runs.
    fn most_turns(&self, threads: usize) -> usize {
        let Machine { cores, slice_ns, turn_ns, reserve, .. } = self.machine;
        let needed = (threads as u64 * turn_ns.max(slice_ns)).div_ceil(ROUND_NS);
        (needed as usize).max(cores / 2).min(if reserve { cores } else { threads }).max(1)
    }

    /// After how long without running a thread is due for a turn, if there are `threads` of them.
    fn due_ns(&self, threads: usize) -> u64 {
        let Machine { cores, slice_ns, min_share_permille, turn_ns, .. } = self.machine;
        let turn_ns = turn_ns.max(slice_ns);
        let by_share = (turn_ns * 1000).checked_div(u64::from(min_share_permille)).unwrap_or(DUE_MAX_NS);
        // With this, the turns of all threads take one part in TURNS_ONE_IN of all cores.
        let by_cost = turn_ns * TURNS_ONE_IN * threads as u64 / cores as u64;
        by_share.max(by_cost).min(DUE_MAX_NS)
    }

    /// Puts the first threads of the order to the front, on the cores that turns have left.
    fn fill_front(&mut self, seen: &[Seen]) {
        let cores = self.machine.cores - self.due.len().min(self.machine.cores);
        self.order.clear();
        for Seen { slot, .. } in seen {
            let thread = &mut self.threads[*slot];
            if thread.class == Class::Turn {
                continue;
            }
            self.order.push((thread.rank(self.worked_ns, self.progress_ns), *slot));
            thread.class = Class::Back;
        }
        let reserve = if self.machine.reserve { self.machine.cores } else { 0 };
        let chosen = cores + reserve;
        if chosen == 0 || self.order.is_empty() {
            return;
        }
        if self.order.len() > chosen {
            // Only those that are chosen are sorted: there may be thousands of threads.
            self.order.select_nth_unstable(chosen - 1);
            self.order.truncate(chosen);
        }
        self.holds_back = self.order.len() > cores;
        self.order.sort_unstable();
        for (place, ((group, ..), slot)) in self.order.iter().enumerate() {
            self.threads[*slot].class = match place < cores {
                true if *group < 3 => Class::Front,
                // A thread that waits would only take the place of a ready one when a core becomes free.
                false if *group == 0 => Class::Reserve,
                _ => Class::Back,
            };
        }
    }

    /// The highest class in this release. In every other release no thread competes with the rest of the
    /// machine, which may have more threads than the paced program.
    fn release_class(&self) -> Class {
        if (self.now_ns / RELEASE_PERIOD_NS).is_multiple_of(2) { Class::Back } else { Class::Normal }
    }

    /// Whether this is a release. It depends on the clock, so that the releases of all planners on a machine
    /// coincide.
    fn is_released(&self, threads: usize) -> bool {
        let crowd = (self.others_16ths / 16).saturating_sub(self.machine.cores) as u64;
        let more_permille = (crowd * MORE_FOR_EACH_PERMILLE).min(MORE_MOST_PERMILLE);
        let least = if self.crowded { self.machine.release_permille } else { self.machine.alone_permille };
        let permille = match least {
            // In this mode no thread is ever above the rest of the machine.
            0 => return false,
            least => (u64::from(least) + more_permille).min(1000),
        };
        let usual_ns = RELEASE_PERIOD_NS / 1000 * permille;
        // With very many threads their turns take all the time, so that none may make progress for long.
        let turns_ns = threads as u64 * self.machine.slice_ns / self.most_turns(threads) as u64;
        let stuck = self.now_ns - self.progress_ns > DEADLOCK_NS && turns_ns < DUE_MAX_NS / 2;
        let release_ns = if stuck { usual_ns.max(RELEASE_PERIOD_NS / 2) } else { usual_ns };
        self.now_ns % RELEASE_PERIOD_NS < release_ns
    }
}

#[cfg(test)]
mod tests;

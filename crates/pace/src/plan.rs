//! Decides which threads run next, from what they publish: a pure core without clock, system call or file.
//!
//! Every slice the governor passes what it sees ([`Seen`]) and gets a [`Class`] for each thread. As many threads as there are
//! cores are at the front: those of least LVT among those that neither say that they wait nor have held the front for
//! long without progress. The others take turns on cores that would be idle. A thread that has not run for long gets a turn
//! before all others, so no thread starves, whatever the page holds. In a part of the time, the *release*, no thread is above the
//! rest of the machine; in half of that all are below it.
//!
//! What "long without progress" is follows from the thread's own history, by time and not by number of slices: an event that
//! outlasts it costs a pause, once, and the next may last longer.

mod equals;
mod history;
pub mod trial;

use history::History;

/// The LVT of a thread that has nothing to do.
pub const IDLE_LVT_NS: u64 = u64::MAX;
/// The largest LVT that is a time. What lies above says nothing, and counts as nothing to do.
pub const LVT_MAX_NS: u64 = i64::MAX as u64;

/// No thread waits longer than this for a turn, however many there are.
const DUE_MAX_NS: u64 = 400_000_000;
/// In so long, all of many threads have a turn.
const ROUND_NS: u64 = 350_000_000;
/// The part of the machine, one in so many, that turns may take.
const TURNS_ONE_IN: u64 = 10;
/// Threads that say that they wait get turns this many times less often.
const WAITER_PATIENCE_FACTOR: u64 = 4;
/// One release in so many nanoseconds.
const RELEASE_PERIOD_NS: u64 = 20_000_000;
/// How much longer a release is for each that wants to run beyond one on every core, in thousandths of the time: among many, a
/// tenth of the time would not reach every thread within a second.
const MORE_FOR_EACH_PERMILLE: u64 = 15;
/// No longer than this, in thousandths of the time.
const MORE_MOST_PERMILLE: u64 = 250;
/// When no thread has made progress for so long, what they wait for may be outside of the page, and wants a core.
const DEADLOCK_NS: u64 = 20_000_000;

/// What the planner reckons with.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// How many cores there are.
    pub cores: usize,
    /// How often [`Planner::decide`] is called, about.
    pub slice_ns: u64,
    /// The least share of a core, in thousandths.
    pub min_share_permille: u32,
    /// The part of the time, in thousandths, in which no thread is above the rest of the machine, where that has no more to
    /// do than there are cores.
    pub release_permille: u32,
    /// The same while few other threads want a core.
    pub alone_permille: u32,
    /// How long a turn lasts: what the classes need to have an effect.
    pub turn_ns: u64,
    /// Whether threads are kept in reserve, for when those at the front block.
    pub reserve: bool,
}

/// A thread as it is seen now.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its slot, below the number of slots.
    pub slot: usize,
    /// Whether another thread had the slot when it was seen last.
    pub fresh: bool,
    /// Its LVT.
    pub lvt_ns: u64,
    /// Whether it says that it waits.
    pub waiting: bool,
    /// Whether it gives its core away whenever it waits.
    pub yields: bool,
    /// The CPU time it has had; `None` if it was not read.
    pub cpu_ns: Option<u64>,
}

/// Where a thread stands, the last first.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Class {
    /// Runs on cores that would otherwise be idle.
    #[default]
    Back,
    /// Is like any other thread of the machine.
    Normal,
    /// Runs where one of the front blocks.
    Reserve,
    /// Runs.
    Front,
    /// Runs even before the front, for one slice.
    Turn,
}

/// Decides which threads run next.
#[derive(Debug)]
pub struct Planner {
    machine: Machine,
    threads: Vec<History>,
    /// Number of the decision, by which it is known who was there the last time.
    round: u64,
    now_ns: u64,
    progress_ns: u64,
    released: bool,
    /// Time outside of releases.
    worked_ns: u64,
    /// How many others of the machine want to run, in sixteenths, on average of late.
    others_16ths: usize,
    order: Vec<(Rank, usize)>,
    due: Vec<(u64, usize)>,
    classes: Vec<(usize, Class)>,
    holds_back: bool,
    usual_event_ns: u64,
    crowded: bool,
}

/// Who comes before whom: (0 ready, 1 waits or has stalled, 2 also, and has looked around since others got on, 3 nothing to
/// do), LVT of 0 and 1, not at the front, when it ran last.
type Rank = (u8, u64, bool, u64);

impl Planner {
    /// A planner for a page of `slots` slots.
    pub fn new(machine: Machine, slots: usize) -> Self {
        assert!(machine.cores > 0 && machine.slice_ns > 0, "a machine has a core and time has slices");
        Self {
            machine,
            threads: vec![History::default(); slots],
            // Not 0, which is the round of those who have never been there, nor 1.
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

    /// The class of each thread in `seen` from `now_ns` on, in the order of slots that `seen` has. A thread that is not
    /// in `seen` is forgotten.
    pub fn decide(&mut self, now_ns: u64, seen: &[Seen]) -> &[(usize, Class)] {
        self.look(now_ns, seen);
        self.released = self.is_released(seen.len());
        if seen.iter().all(|seen| seen.yields) {
            self.grant_turns(seen, DUE_MAX_NS);
            self.fill_front_of_yielding(seen);
        } else {
            self.grant_turns(seen, self.due_ns(seen.len()));
            self.fill_front(seen);
        }
        self.classes_of(seen)
    }

    /// The classes of the threads as they stand, less what a release takes.
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

    /// Whether there are threads that are ready and not at the front: somebody who begins to wait there makes room for them.
    pub fn holds_back(&self) -> bool {
        self.holds_back && !self.released
    }

    /// How long a thread at the front usually needs from one progress to the next; 0 while nothing is known.
    pub const fn usual_event_ns(&self) -> u64 {
        self.usual_event_ns
    }

    /// From now on decisions come so often.
    pub const fn set_slice(&mut self, slice_ns: u64) {
        if self.machine.turn_ns == self.machine.slice_ns {
            self.machine.turn_ns = slice_ns;
        }
        self.machine.slice_ns = slice_ns;
    }

    /// Takes in whether others of the machine want cores; unless told otherwise, they do.
    pub const fn note_crowded(&mut self, crowded: bool) {
        self.crowded = crowded;
    }

    /// Takes in how many others of the machine want to run now.
    pub fn note_others(&mut self, others: usize) {
        self.others_16ths = self.others_16ths - self.others_16ths / 16 + others;
    }

    /// Takes in what has happened since the last decision.
    fn look(&mut self, now_ns: u64, seen: &[Seen]) {
        // In a release, no thread was ahead of another.
        let past_ns = if self.released { 0 } else { now_ns.saturating_sub(self.now_ns) };
        self.worked_ns += past_ns;
        self.now_ns = now_ns;
        self.round += 1;
        for seen in seen {
            let thread = &mut self.threads[seen.slot];
            if seen.fresh || thread.round + 1 != self.round {
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

    /// Lets turns go on that are not over, and gives new ones to those who have not run for longest, `due_ns` at least.
    fn grant_turns(&mut self, seen: &[Seen], due_ns: u64) {
        let Machine { slice_ns, turn_ns, .. } = self.machine;
        let (now_ns, most) = (self.now_ns, self.most_turns(seen.len()));
        self.due.clear();
        for Seen { slot, .. } in seen {
            let thread = &mut self.threads[*slot];
            let in_turn = thread.class == Class::Turn && now_ns - thread.turn_ns + slice_ns / 2 < turn_ns;
            let patience_ns = match thread.waiting {
                true => (due_ns * WAITER_PATIENCE_FACTOR).min(DUE_MAX_NS),
                false => due_ns,
            };
            if in_turn {
                self.due.push((0, *slot));
            } else if !self.released && now_ns - thread.ran_ns >= patience_ns {
                self.due.push((thread.ran_ns.max(1), *slot));
            }
            if thread.class == Class::Turn && !in_turn {
                thread.class = Class::Back;
            }
        }
        if self.due.len() > most {
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

    /// How many have turns at a time where there are `threads`: half of the cores, and as many more as it needs for everybody to
    /// have one in time. Only weights let more than there are cores run in turns side by side.
    fn most_turns(&self, threads: usize) -> usize {
        let Machine { cores, slice_ns, turn_ns, reserve, .. } = self.machine;
        let needed = (threads as u64 * turn_ns.max(slice_ns)).div_ceil(ROUND_NS);
        (needed as usize).max(cores / 2).min(if reserve { cores } else { threads }).max(1)
    }

    /// How long a thread that wants to run is left without a turn, where there are `threads` of them.
    fn due_ns(&self, threads: usize) -> u64 {
        let Machine { cores, slice_ns, min_share_permille, turn_ns, .. } = self.machine;
        let turn_ns = turn_ns.max(slice_ns);
        let by_share = (turn_ns * 1000).checked_div(u64::from(min_share_permille)).unwrap_or(DUE_MAX_NS);
        let by_cost = turn_ns * TURNS_ONE_IN * threads as u64 / cores as u64;
        by_share.max(by_cost).min(DUE_MAX_NS)
    }

    /// Puts the best on the cores that turns have left.
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
            self.order.select_nth_unstable(chosen - 1);
            self.order.truncate(chosen);
        }
        self.holds_back = self.order.len() > cores;
        self.order.sort_unstable();
        for (place, ((group, ..), slot)) in self.order.iter().enumerate() {
            self.threads[*slot].class = match place < cores {
                true if *group < 3 => Class::Front,
                false if *group == 0 => Class::Reserve,
                _ => Class::Back,
            };
        }
    }

    /// Every other release nobody competes with the rest of the machine: it may be more than a few threads that share it.
    fn release_class(&self) -> Class {
        if (self.now_ns / RELEASE_PERIOD_NS).is_multiple_of(2) { Class::Back } else { Class::Normal }
    }

    /// Whether the rest of the machine has its time now. All planners on a machine agree on that, so that they leave the same
    /// time.
    fn is_released(&self, threads: usize) -> bool {
        let crowd = (self.others_16ths / 16).saturating_sub(self.machine.cores) as u64;
        let more_permille = (crowd * MORE_FOR_EACH_PERMILLE).min(MORE_MOST_PERMILLE);
        let least = if self.crowded { self.machine.release_permille } else { self.machine.alone_permille };
        let permille = match least {
            // No thread is ever above the rest of the machine.
            0 => return false,
            least => (u64::from(least) + more_permille).min(1000),
        };
        let usual_ns = RELEASE_PERIOD_NS / 1000 * permille;
        // With very many threads, their turns take all the time there is.
        let turns_ns = threads as u64 * self.machine.slice_ns / self.most_turns(threads) as u64;
        let stuck = self.now_ns - self.progress_ns > DEADLOCK_NS && turns_ns < DUE_MAX_NS / 2;
        let release_ns = if stuck { usual_ns.max(RELEASE_PERIOD_NS / 2) } else { usual_ns };
        self.now_ns % RELEASE_PERIOD_NS < release_ns
    }
}

#[cfg(test)]
mod tests;

//! What is remembered of a thread: its progress, and how long it held the front without any.
//!
//! Invariant: a thread that has stalled is ready again when its pause is over, or at once when its LVT
//! changes or its waiting flag is unset. So the rule delays a thread with long events, but never stops it.

use super::{Class, LVT_MAX_NS, Rank, Seen};

/// How long a thread may hold the front without progress while nothing is known of it.
const LIMIT_FIRST_NS: u64 = 10_000_000;
/// The least such time: a few slices, in which an event ends.
const LIMIT_MIN_NS: u64 = 4_000_000;
/// The longest such time: a thread that lies can hold the front no longer at a time.
const LIMIT_MAX_NS: u64 = 100_000_000;
/// A thread that has held the front for this long without CPU time is *hindered*: others keep it from
/// running.
const HINDERED_NS: u64 = 20_000_000;

/// What is remembered of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    /// The decision at which it was seen last.
    pub round: u64,
    /// Its class, not counting releases.
    pub class: Class,
    /// Whether it says that it waits, or has nothing to do.
    pub waiting: bool,
    /// When it ran last, as far as is known.
    pub ran_ns: u64,
    /// When its last turn began.
    pub turn_ns: u64,
    lvt_ns: u64,
    /// How long it has held the front since its last progress, altogether, since its last pause, and at a
    /// stretch.
    held_ns: u64,
    spent_ns: u64,
    stretch_ns: u64,
    /// How long it needed for its last progress; none after the planner has used it.
    pub needed_ns: Option<u64>,
    /// How long it may hold the front before it has to pause.
    limit_ns: u64,
    /// The end of its pause after a stall, in time outside of releases.
    paused_until_ns: u64,
    cpu_ns: Option<u64>,
    /// How long it has held the front since its CPU time was last seen to grow.
    unproven_ns: u64,
    hindered: bool,
}

impl History {
    /// The history of a thread that is seen for the first time.
    pub fn new(seen: &Seen, now_ns: u64) -> Self {
        Self {
            lvt_ns: seen.lvt_ns,
            waiting: waits(seen),
            cpu_ns: seen.cpu_ns,
            ran_ns: now_ns,
            limit_ns: LIMIT_FIRST_NS,
            ..Self::default()
        }
    }

    /// Notes what the page shows of it, and returns whether it has made progress. `past_ns` is the time since
    /// the last call, and `worked_ns` all the time so far, both outside of releases.
    pub fn note(&mut self, seen: &Seen, now_ns: u64, past_ns: u64, worked_ns: u64, slice_ns: u64) -> bool {
        let held = self.class >= Class::Front;
        self.note_cpu(seen.cpu_ns, now_ns);
        if held {
            // The flag of the last decision, which held during the time that has passed.
            if !self.waiting {
                self.held_ns += past_ns;
                self.spent_ns += past_ns;
                self.stretch_ns += past_ns;
            }
            self.unproven_ns += past_ns;
            // In a turn it is above all other threads, so that none can hinder it.
            if past_ns > 0 && (!self.hindered || self.class == Class::Turn) {
                self.ran_ns = now_ns;
            }
        } else {
            self.stretch_ns = 0;
        }
        let waiting = waits(seen);
        let advanced = seen.lvt_ns != self.lvt_ns;
        let progress = advanced || (self.waiting && !waiting);
        (self.lvt_ns, self.waiting) = (seen.lvt_ns, waiting);
        if progress {
            // How long progress took is known only of a thread that had a core.
            if held && advanced {
                self.learn(slice_ns);
            }
            (self.held_ns, self.spent_ns, self.stretch_ns, self.paused_until_ns) = (0, 0, 0, 0);
        } else if self.spent_ns >= self.limit_ns {
            // Either it waits without saying so, or its event is long: then the doubled limit has room for
            // it.
            self.paused_until_ns = worked_ns + self.limit_ns;
            self.limit_ns = (self.limit_ns * 2).min(LIMIT_MAX_NS);
            self.spent_ns = 0;
        }
        progress
    }

    /// Learns how long the last progress took. A thread that makes progress as soon as it runs has waited for
    /// others before; one that makes it later has worked all the time.
    fn learn(&mut self, slice_ns: u64) {
        let at_once = self.stretch_ns <= 2 * slice_ns;
        let needed_ns = if at_once { self.stretch_ns } else { self.held_ns };
        self.needed_ns = Some(needed_ns);
        // The limit falls slowly, since a long event may follow a short one.
        let kept_ns = self.limit_ns - self.limit_ns / 8;
        self.limit_ns = (2 * needed_ns).max(kept_ns).clamp(LIMIT_MIN_NS, LIMIT_MAX_NS);
    }

    fn note_cpu(&mut self, cpu_ns: Option<u64>, now_ns: u64) {
        let Some(now_has_ns) = cpu_ns else { return };
        match self.cpu_ns.replace(now_has_ns) {
            Some(had_ns) if had_ns == now_has_ns => self.hindered |= self.unproven_ns > HINDERED_NS,
            _ => {
                (self.hindered, self.unproven_ns) = (false, 0);
                self.ran_ns = now_ns;
            }
        }
    }

    /// Assumes that it is hindered, until its CPU time shows that it runs.
    pub const fn doubt(&mut self) {
        self.hindered = true;
    }

    /// Its place in the order of threads. `worked_ns` is the time so far outside of releases, and
    /// `progress_ns` is when any thread last made progress. A waiting thread that has run since then has
    /// nothing new to see.
    pub fn rank(&self, worked_ns: u64, progress_ns: u64) -> Rank {
        if self.lvt_ns > LVT_MAX_NS {
            (3, 0, false, self.ran_ns)
        } else if self.waiting || worked_ns < self.paused_until_ns {
            // Those that have seen all follow by when they ran last, whatever their LVT, so that they
            // alternate.
            let seen_all = self.ran_ns > progress_ns;
            (if seen_all { 2 } else { 1 }, if seen_all { 0 } else { self.lvt_ns }, false, self.ran_ns)
        } else {
            // Of equals those at the front stay there, which saves system calls.
            (0, self.lvt_ns, self.class != Class::Front, self.ran_ns)
        }
    }
}

/// Whether a thread says that it cannot use a core.
fn waits(seen: &Seen) -> bool {
    seen.waiting || seen.lvt_ns > LVT_MAX_NS
}

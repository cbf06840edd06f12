//! The governor: sets the scheduling classes of publishing threads every slice. It needs no sched_ext in the
//! kernel.
//!
//! It reads the page, asks the [`Planner`] for the class of each thread, and makes a system call only for
//! threads whose class has changed. With real-time priorities the governor runs above all threads that it
//! paces; if only nice levels are permitted, threads that must not run are put into the idle class, which is
//! below all nice levels. `governor/mode.rs` finds out what is permitted and says which class of the kernel
//! that is for a thread, `governor/threads.rs` keeps the state of threads and sets their classes by
//! `sched.rs`.
//!
//! Invariants: the governor registers a thread with the guards before it changes its class. A thread that
//! leaves the page, or that neither simulates nor yields any more, is set back. In a part of the time, the
//! *release*, no thread is above its normal class.

mod crowd;
mod mode;
mod notes;
mod strays;
mod threads;
mod ways;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use paceline_lvt::{Bell, DEFAULT_SLOTS, Owner, Page, SlotView};
use procfs::{Current, LoadAverage};
use rustix::time::{ClockId, clock_gettime};

use crate::guard::{self, Guard, Ward};
use crate::pacer::{PaceError, Pacer, UnavailableError, rest_for};
use crate::plan::slices::Slices;
use crate::plan::trial::{Trial, Way};
use crate::plan::{Machine, Planner, Seen};
use crate::sched;
use crate::settings::PaceSettings;
use crowd::Crowd;
use mode::Mode;
pub use mode::{run_as_usual, run_before_paced};
use notes::Costs;
use strays::{Paced, Strays};
use threads::Thread;
use ways::SLICE_FIRST;

/// How many new threads are looked up in a slice at most: a page that is overwritten all the time must not
/// keep the governor busy.
const FOUND_PER_TICK: usize = 16;
/// Work that is not needed every slice is done once in this many slices.
const RARE_WORK_TICKS: u64 = 16;
/// The period in which the page is read while no thread is paced.
const UNPACED_PERIOD: Duration = Duration::from_millis(4);

/// The owner of a slot.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Free,
    /// A thread that may not be paced, or has ended.
    Refused(Owner),
    /// A thread that is paced.
    Paced(Thread),
}

impl Place {
    fn owner(&self) -> Option<Owner> {
        match self {
            Self::Free => None,
            Self::Refused(owner) => Some(*owner),
            Self::Paced(thread) => Some(thread.owner),
        }
    }
}

/// A running governor.
#[derive(Debug)]
pub struct Governor {
    mode: Mode,
    /// The slice that the user has set, if any.
    slice: Option<Duration>,
    /// The slice now.
    slice_ns: u64,
    slices: Slices,
    /// The trials that choose the way; none if the user has turned them off.
    trial: Option<Trial>,
    way: Way,
    us: i32,
    bell: Option<Bell>,
    page: Page,
    guard: Guard,
    planner: Planner,
    places: Vec<Place>,
    strays: Strays,
    crowd: Crowd,
    costs: Costs,
    notes: Vec<String>,
    /// The sum of the progress of all threads.
    progress: u64,
    /// When all threads were last seen to yield whenever they wait; 0: never.
    yielding_ns: u64,
    ticks: u64,
    now_ns: u64,
    /// The slot whose CPU time is read next.
    sampled: usize,
    views: Vec<SlotView>,
    seen: Vec<Seen>,
}

/// Starts the governor with real-time priorities, or says why it cannot.
pub fn start_real_time(settings: &PaceSettings) -> Result<Box<dyn Pacer>, UnavailableError> {
    Mode::real_time().and_then(|mode| start(settings, mode))
}

/// Starts the governor with nice levels, or says why it cannot.
pub fn start_nice(settings: &PaceSettings) -> Result<Box<dyn Pacer>, UnavailableError> {
    Mode::nice().and_then(|mode| start(settings, mode))
}

fn start(settings: &PaceSettings, mode: Mode) -> Result<Box<dyn Pacer>, UnavailableError> {
    let refuse = |reason: String| UnavailableError { policy: mode.name(), reason };
    let page = Page::create_sealed(DEFAULT_SLOTS).map_err(|error| refuse(error.to_string()))?;
    let slots = page.capacity();
    let guard = Guard::start(slots, mode.governor_class())
        .map_err(|error| refuse(format!("cannot start its guard: {error}")))?;
    let notes = guard.problem().map(|problem| {
        format!("there is no second guard: whoever kills all processes named paceline at once leaves threads in their class ({problem})")
    });
    let slice_ns = nanos(settings.slice.unwrap_or(SLICE_FIRST));
    let (release_permille, alone_permille, turn_ns, reserve) = mode.needs(slice_ns);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let min_share_permille = settings.min_share_permille;
    let machine =
        Machine { cores, slice_ns, min_share_permille, release_permille, alone_permille, turn_ns, reserve };
    Ok(Box::new(Governor {
        mode,
        slice: settings.slice,
        slice_ns,
        slices: Slices::new(monotonic_ns()),
        trial: settings.trial.then(|| Trial::new(monotonic_ns())),
        way: Way::Ordered,
        bell: page.bell(),
        us: std::process::id().cast_signed(),
        page,
        guard,
        planner: Planner::new(machine, slots as usize),
        places: (0..slots).map(|_| Place::Free).collect(),
        strays: Strays::default(),
        crowd: Crowd::default(),
        costs: Costs::default(),
        notes: notes.into_iter().collect(),
        progress: 0,
        yielding_ns: 0,
        ticks: 0,
        now_ns: 0,
        sampled: 0,
        views: Vec::new(),
        seen: Vec::new(),
    }))
}

impl Pacer for Governor {
    fn name(&self) -> &'static str {
        self.mode.name()
    }

    fn page(&self) -> &Path {
        self.page.path()
    }

    fn period(&self) -> Duration {
        match self.way {
            // With nobody to pace it only has to notice the first one.
            _ if self.seen.is_empty() => UNPACED_PERIOD,
            // No class changes; progress is measured over stretches that are ten times longer.
            Way::Unpaced => UNPACED_PERIOD,
            Way::Together | Way::Ordered => Duration::from_nanos(self.slice_ns),
        }
    }

    fn tick(&mut self) -> Result<(), PaceError> {
        // Here and not in `start`: the class is one of the thread that calls, which is the one that paces.
        if self.ticks == 0 {
            let error = |reason| PaceError::System { what: "setting the governor's own priority", reason };
            sched::set(0, self.mode.governor_class()).map_err(error)?;
        }
        let now_ns = monotonic_ns();
        // After a silence the guards restore all threads, so what was set may hold no more. Half of it,
        // because the last sign of life may be that much older than the last tick.
        if u128::from(now_ns - self.now_ns) >= guard::SILENCE.as_nanos() / 2 {
            self.forget_classes();
        }
        self.now_ns = now_ns;
        self.page.read_into(&mut self.views).map_err(|error| PaceError::Page(error.to_string()))?;
        let lost = |reason| PaceError::System { what: "sending to a guard", reason };
        self.read_threads().map_err(lost)?;
        self.sample();
        self.choose_way();
        self.choose_slice();
        self.set_classes();
        if self.ticks.is_multiple_of(RARE_WORK_TICKS) {
            // So many of the longest slices are half of the silence that the guards allow.
            self.guard.alive().map_err(lost)?;
            if let Ok(load) = LoadAverage::current() {
                self.strays.look(load.latest_pid, &Places(&self.places));
                // One for the governor itself. Paced threads that block are subtracted too, so that the
                // others seem fewer than they are.
                self.planner.note_others((load.cur as usize).saturating_sub(self.seen.len() + 1));
            }
        }
        self.ticks += 1;
        self.costs.note_tick(monotonic_ns() - now_ns);
        Ok(())
    }

    fn rest(&mut self, limit: Duration) {
        match &mut self.bell {
            // The other ways hold no thread back that could use a core as soon as another thread waits.
            Some(bell) if self.way == Way::Ordered => {
                bell.listen(self.planner.holds_back());
                match bell.wait(limit) {
                    Ok(rung) => self.costs.note_rest(rung),
                    // The page's memory does not support futexes.
                    Err(_) => self.bell = None,
                }
            }
            _ => rest_for(limit),
        }
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn statistics(&mut self) -> Vec<(&'static str, u64)> {
        self.costs.all()
    }

    fn stop(self: Box<Self>) -> Result<(), PaceError> {
        Ok(())
    }
}

impl Governor {
    /// Reads the page: new threads, threads that have left, and what the others publish.
    fn read_threads(&mut self) -> std::io::Result<()> {
        self.seen.clear();
        let (mut views, mut found) = (self.views.iter().peekable(), 0);
        for (slot, place) in self.places.iter_mut().enumerate() {
            let view = views.next_if(|view| view.index as usize == slot);
            // A slot that is changing its owner has no start time: it has no thread yet.
            let view = view.filter(|view| view.start_time != 0 && (view.is_simulating() || view.yields()));
            let owner = view.map(SlotView::owner);
            let fresh = place.owner() != owner;
            if fresh {
                // Before the slot is claimed again: the guards then forget its earlier thread.
                free_slot(place);
                // The others wait for the next tick.
                if let Some(owner) = owner.filter(|_| found < FOUND_PER_TICK) {
                    found += 1;
                    *place = claim_slot(slot, owner, self.us, &self.guard)?;
                }
            }
            if let (Place::Paced(thread), Some(view)) = (place, view) {
                self.progress = self.progress.wrapping_add(thread.note_progress(view));
                // A thread without an LVT counts as furthest behind.
                let lvt_ns = if view.is_simulating() { view.lvt_ns } else { 0 };
                let (waiting, yields) = (view.is_waiting(), view.yields());
                self.seen.push(Seen { slot, fresh, lvt_ns, waiting, yields, cpu_ns: None });
            }
        }
        Ok(())
    }

    /// Reads the CPU time of the next thread; all threads have their turn, one per slice.
    fn sample(&mut self) {
        // One per slice, because each reading is a system call.
        let next = self.seen.iter().position(|seen| seen.slot >= self.sampled).unwrap_or(0);
        let Some(seen) = self.seen.get_mut(next) else { return };
        self.sampled = seen.slot + 1;
        let Place::Paced(thread) = &self.places[seen.slot] else { return };
        match thread.cpu_ns() {
            Ok(cpu_ns) => seen.cpu_ns = Some(cpu_ns),
            // Without its CPU time nobody can say whether it has had its minimum share.
            Err(_) => {
                self.places[seen.slot] = Place::Refused(thread.owner);
                self.seen.remove(next);
            }
        }
    }

    /// Forgets all classes that were set. Called after a pause so long that the guard may have restored all
    /// threads.
    fn forget_classes(&mut self) {
        for place in &mut self.places {
            if let Place::Paced(thread) = place {
                thread.forget_class();
            }
        }
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        // The guards, which are dropped after this, restore the threads that could not be set back here.
        self.places.iter_mut().for_each(free_slot);
    }
}

/// The thread that claims a slot, registered with the guard if it may be paced.
fn claim_slot(slot: usize, owner: Owner, us: i32, guard: &Guard) -> std::io::Result<Place> {
    // The first guard descends from us, so that a page could name it as a thread to be paced.
    let Some(thread) =
        Thread::find(owner, us).filter(|thread| thread.owner.pid != guard.process().cast_unsigned())
    else {
        return Ok(Place::Refused(owner));
    };
    let (tid, pid, start_time) = (thread.tid(), owner.pid.cast_signed(), owner.start_time);
    let is_watched = guard.watch(Ward { slot: slot as u32, tid, pid, start_time, normal: thread.normal })?;
    // If a guard is too busy, the next slice tries again.
    Ok(if is_watched { Place::Paced(thread) } else { Place::Free })
}

/// Sets the thread of a slot back, and frees the slot.
fn free_slot(place: &mut Place) {
    if let Place::Paced(mut thread) = std::mem::take(place) {
        thread.restore();
    }
}

/// The paced threads.
struct Places<'a>(&'a [Place]);

impl Places<'_> {
    fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.0.iter().filter_map(|place| if let Place::Paced(thread) = place { Some(thread) } else { None })
    }
}

impl Paced for Places<'_> {
    fn processes(&self) -> Vec<i32> {
        let processes: BTreeSet<_> = self.threads().map(|thread| thread.owner.pid.cast_signed()).collect();
        processes.into_iter().collect()
    }

    fn has_process(&self, pid: i32) -> bool {
        self.threads().any(|thread| thread.owner.pid.cast_signed() == pid)
    }

    fn has_thread(&self, tid: i32) -> bool {
        self.threads().any(|thread| thread.tid() == tid)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock starts at 0 when the machine does.
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

//! Among threads that all say that they yield none starves, whichever of them lie: a simulation of a program
//! of such threads (`program.rs`) on a model of the kernel (`kernel.rs`).
//!
//! Every thread that wants a core gets one in bounded time, liars too. If all threads do yield, turns cost
//! almost nothing.

mod kernel;
mod program;

use proptest::prelude::*;

use super::super::{Class, Machine, Planner, Seen};
use kernel::{Demand, Kernel};
use program::{Habit, Lie, Thread, habits, truths};

const SECOND_NS: u64 = 1_000_000_000;
/// How long a program is simulated.
const SECONDS: u64 = 3;
/// How often the governor counts the other threads of the machine, in slices.
const COUNTED_EVERY: u64 = 16;
/// The period in which both ways of pacing are used.
const WAYS_NS: u64 = 200_000_000;
/// The longest time for which a thread that wants a core may wait: 400 ms until a turn is due, a tenth of a
/// second until that is noticed, another until it is granted, and a margin.
const LONGEST_NS: u64 = 700_000_000;
/// With up to this many yielding threads per core, no thread needs a turn.
const FEW_PER_CORE: usize = 4;

/// The machine and the governor of a simulation.
#[derive(Clone, Copy, Debug)]
struct World {
    cores: usize,
    slice_ns: u64,
    start_ns: u64,
    /// The number of other threads of the machine that want a core all the time.
    others: usize,
    /// Whether the governor has noticed them.
    crowded: bool,
    /// For this part of [`WAYS_NS`] all threads are equal. In the rest of it those furthest behind run
    /// first.
    together_ns: u64,
}

fn worlds() -> impl Strategy<Value = World> {
    let together_ns = prop_oneof![Just(0), Just(WAYS_NS), 0..WAYS_NS];
    (1usize..5, 2u64..=5, 0..SECOND_NS, 0usize..20, any::<bool>(), together_ns).prop_map(
        |(cores, slice, start_ns, others, crowded, together_ns)| {
            let slice_ns = slice * 100_000;
            World { cores, slice_ns, start_ns, others, crowded, together_ns }
        },
    )
}

impl World {
    fn planner(&self, threads: usize) -> Planner {
        let machine = Machine {
            cores: self.cores,
            slice_ns: self.slice_ns,
            min_share_permille: 20,
            release_permille: 100,
            alone_permille: 60,
            turn_ns: self.slice_ns,
            reserve: true,
        };
        let mut planner = Planner::new(machine, threads);
        planner.note_crowded(self.crowded);
        planner
    }
}

#[derive(Debug)]
struct Outcome {
    /// For each thread the longest time for which it wanted a core and got none.
    longest_ns: Vec<u64>,
    /// For each thread its CPU time.
    cpu_ns: Vec<u64>,
    turns: u64,
    /// CPU time of threads that yielded in their turns, with no equal to yield to.
    wasted_ns: u64,
}

/// Simulates a program slice by slice, paced as by the governor: it reads the CPU time of one thread in each
/// slice, and lowers threads before it raises others.
fn play(world: World, habits: &[Habit]) -> Outcome {
    let World { slice_ns, start_ns, others, .. } = world;
    let mut planner = world.planner(habits.len());
    let mut kernel = Kernel::new(world.cores, slice_ns, habits.len() + others);
    let mut threads: Vec<_> = habits.iter().map(|habit| Thread::new(*habit, start_ns)).collect();
    let mut demands = vec![Demand::Runs; habits.len() + others];
    let mut outcome =
        Outcome { longest_ns: vec![0; habits.len()], cpu_ns: Vec::new(), turns: 0, wasted_ns: 0 };
    for slice in 0..SECONDS * SECOND_NS / slice_ns {
        let now_ns = start_ns + slice * slice_ns;
        let sampled = slice as usize % habits.len();
        let mut seen = Vec::with_capacity(habits.len());
        for (slot, thread) in threads.iter().enumerate() {
            let (lvt_ns, waiting) = thread.says(slice);
            let cpu_ns = (slot == sampled).then(|| kernel.tasks[slot].cpu_ns);
            seen.push(Seen { slot, fresh: false, lvt_ns, waiting, yields: true, cpu_ns });
            demands[slot] = thread.demand(now_ns);
        }
        if slice.is_multiple_of(COUNTED_EVERY) {
            planner.note_others(others);
        }
        let classes = match now_ns % WAYS_NS < world.together_ns {
            true => planner.decide_together(now_ns, &seen),
            false => planner.decide(now_ns, &seen),
        };
        for forward in [false, true] {
            for (slot, class) in classes.iter().filter(|(_, class)| (*class > Class::Normal) == forward) {
                kernel.set(*slot, *class);
            }
        }
        kernel.run(&demands);
        for (slot, _) in classes.iter().filter(|(_, class)| *class == Class::Turn) {
            outcome.turns += 1;
            let wastes = demands[*slot] == Demand::Polls;
            outcome.wasted_ns += if wastes { kernel.tasks[*slot].got_ns } else { 0 };
        }
        for (slot, thread) in threads.iter_mut().enumerate() {
            thread.note(demands[slot], kernel.tasks[slot].got_ns, now_ns + slice_ns);
            let wanting_ns = now_ns + slice_ns - thread.content_ns;
            outcome.longest_ns[slot] = outcome.longest_ns[slot].max(wanting_ns);
        }
    }
    outcome.cpu_ns = kernel.tasks[..habits.len()].iter().map(|task| task.cpu_ns).collect();
    outcome
}

/// A hundred threads of equal LVT share the front of one core for a few milliseconds each: one that has not
/// run is never taken to have run.
#[test]
fn to_be_at_the_front_with_many_others_is_not_to_have_run() {
    let world = World {
        cores: 1,
        slice_ns: 400_000,
        start_ns: 0,
        others: 15,
        crowded: false,
        together_ns: WAYS_NS - 4_000_000,
    };
    let longest_ns = play(world, &[Habit::Lies(Lie::Crawls); 100]).longest_ns.into_iter().max();
    assert!(longest_ns < Some(LONGEST_NS), "{longest_ns:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A thread that wants a core gets one within 700 ms; one that always wants a core gets at least a slice
    /// of CPU time a second.
    #[test]
    fn nobody_starves_among_threads_that_only_say_that_they_yield(habits in habits(), world in worlds()) {
        let outcome = play(world, &habits);
        for (slot, habit) in habits.iter().enumerate() {
            let (longest_ns, cpu_ns) = (outcome.longest_ns[slot], outcome.cpu_ns[slot]);
            prop_assert!(longest_ns < LONGEST_NS, "{:?} in slot {} got no core for {} ns", habit, slot, longest_ns);
            let enough = !habit.lies() || cpu_ns >= SECONDS * world.slice_ns;
            prop_assert!(enough, "{:?} in slot {} got {} ns of CPU time", habit, slot, cpu_ns);
        }
    }

    /// Up to four threads a core that yield get no turns. However many there are, turns waste at most 5
    /// thousandths of the machine.
    #[test]
    fn threads_that_yield_do_not_pay_for_those_that_lie(
        habits in proptest::collection::vec(truths(), 1..100),
        world in worlds(),
    ) {
        let Outcome { turns, wasted_ns, .. } = play(world, &habits);
        prop_assert!(habits.len() > FEW_PER_CORE * world.cores || turns == 0, "{} turns", turns);
        let machine_ns = SECONDS * SECOND_NS * world.cores as u64;
        prop_assert!(wasted_ns * 1000 <= machine_ns * 5, "{} of {} ns are wasted", wasted_ns, machine_ns);
    }
}

//! Properties of the planner, on a simulated machine in which only threads at the front get CPU time.

use proptest::prelude::*;

use super::{Class, IDLE_LVT_NS, Machine, Planner, Seen};

const SLICE_NS: u64 = 500_000;
const SECOND_NS: u64 = 1_000_000_000;

fn machine(cores: usize) -> Machine {
    Machine {
        cores,
        slice_ns: SLICE_NS,
        min_share_permille: 20,
        release_permille: 100,
        alone_permille: 60,
        turn_ns: SLICE_NS,
        reserve: true,
    }
}

fn seen(slot: usize, lvt_ns: u64, waiting: bool) -> Seen {
    Seen { slot, fresh: false, lvt_ns, waiting, yields: false, cpu_ns: None }
}

/// The slots at the front or in a turn.
fn ahead(classes: &[(usize, Class)]) -> Vec<usize> {
    classes.iter().filter(|(_, class)| *class >= Class::Front).map(|(slot, _)| *slot).collect()
}

/// A moment outside of any release.
const START_NS: u64 = 10_000_000;

#[test]
fn the_least_lvts_are_at_the_front() {
    let mut planner = Planner::new(machine(2), 8);
    let lvts = [50, 20, 40, 10, 30, IDLE_LVT_NS, 0, 5];
    let all: Vec<_> = lvts.iter().enumerate().map(|(slot, lvt)| seen(slot, *lvt, slot == 6)).collect();
    let classes = planner.decide(START_NS, &all).to_vec();
    assert_eq!(ahead(&classes), [3, 7], "slot 6 has the least of all, and waits");
    let reserve: Vec<_> = classes.iter().filter(|(_, class)| *class == Class::Reserve).collect();
    assert_eq!(reserve, [&(1, Class::Reserve), &(4, Class::Reserve)]);
}

#[test]
fn what_does_not_change_keeps_its_class() {
    let mut planner = Planner::new(machine(2), 8);
    let all: Vec<_> = (0..8).map(|slot| seen(slot, 7, false)).collect();
    let first = planner.decide(START_NS, &all).to_vec();
    let later = planner.decide(START_NS + SLICE_NS, &all).to_vec();
    assert_eq!(first, later, "equal LVTs are no reason to change");
}

#[test]
fn a_thread_that_stalls_makes_room_and_comes_back() {
    let mut planner = Planner::new(machine(1), 2);
    let (mut now_ns, mut first, mut shares) = (START_NS, 0, [0u64; 2]);
    while now_ns < START_NS + SECOND_NS / 2 {
        let classes = planner.decide(now_ns, &[seen(0, 1, false), seen(1, 2, false)]).to_vec();
        for slot in ahead(&classes) {
            shares[slot] += SLICE_NS;
            first = if slot == 1 && first == 0 { now_ns - START_NS } else { first };
        }
        now_ns += SLICE_NS;
    }
    assert!(first <= 16_000_000, "the other ran first after {first} ns");
    let [least, other] = shares.map(|share| share * 100 / (SECOND_NS / 2));
    // While no thread makes progress, half of the time is left to others.
    assert!(least >= 15 && other >= 15, "neither is shut out: {least} % and {other} %");
}

#[test]
fn long_events_are_learnt_and_not_interrupted_any_more() {
    const EVENT_NS: u64 = 40_000_000;
    let mut planner = Planner::new(machine(1), 2);
    let (mut now_ns, mut lvt_ns, mut done_ns, mut interrupted) = (START_NS, 1, 0, [0u32; 2]);
    for event in 0..20 {
        while done_ns < EVENT_NS {
            let all = [seen(0, lvt_ns, false), seen(1, u64::MAX / 4, false)];
            let classes = planner.decide(now_ns, &all).to_vec();
            match ahead(&classes)[..] {
                [1] => interrupted[usize::from(event >= 10)] += 1,
                _ => done_ns += SLICE_NS,
            }
            now_ns += SLICE_NS;
        }
        (done_ns, lvt_ns) = (0, lvt_ns + 1);
    }
    let [early, late] = interrupted;
    assert!(early > 0, "nothing is known at first");
    // The other thread has its minimum share.
    assert!(u64::from(late) * SLICE_NS < 10 * EVENT_NS / 20, "{late} slices");
}

/// What a thread does with its LVT.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Its LVT rises by this much for every slice that it runs.
    Works(u64),
    /// It says that it is at 0, for ever.
    Liar,
    /// Its LVT is always the least, and always changes.
    Crawler,
    /// Anything, by the number of the slice.
    Noise(u64),
    Waits,
    Idle,
}

fn habits() -> impl Strategy<Value = Habit> {
    prop_oneof![
        3 => (1u64..1_000_000).prop_map(Habit::Works),
        1 => Just(Habit::Liar),
        1 => Just(Habit::Crawler),
        1 => any::<u64>().prop_map(Habit::Noise),
        1 => Just(Habit::Waits),
        1 => Just(Habit::Idle),
    ]
}

fn says(habit: Habit, slice: u64, ran: u64) -> (u64, bool) {
    match habit {
        Habit::Works(step) => (1_000 + ran * step, false),
        Habit::Liar => (0, false),
        Habit::Crawler => (slice % 7, false),
        Habit::Noise(seed) => {
            let noise = (seed ^ slice).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (noise, noise & 4 == 0)
        }
        Habit::Waits => (1_000, true),
        Habit::Idle => (IDLE_LVT_NS, false),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is published: no thread waits for a second, no more are ahead than there are cores, and
    /// releases are kept.
    #[test]
    fn nobody_starves_and_the_rest_of_the_machine_has_its_time(
        habits in proptest::collection::vec(habits(), 1..200),
        cores in 1usize..5,
        share in 0u32..=1000,
        start in 0u64..SECOND_NS,
        others in 0usize..100,
        weights in any::<bool>(),
    ) {
        let machine = match weights {
            true => Machine { release_permille: 0, turn_ns: 8_000_000, reserve: false, ..machine(cores) },
            false => machine(cores),
        };
        let mut planner = Planner::new(Machine { min_share_permille: share, ..machine }, habits.len());
        (0..100).for_each(|_| planner.note_others(others));
        let (mut ran, mut last) = (vec![0u64; habits.len()], vec![start; habits.len()]);
        let (mut slices, mut released) = (0u64, 0u64);
        for slice in 0..2 * SECOND_NS / SLICE_NS {
            let now_ns = start + slice * SLICE_NS;
            let all: Vec<_> = habits.iter().enumerate().map(|(slot, habit)| {
                let (lvt_ns, waiting) = says(*habit, slice, ran[slot]);
                seen(slot, lvt_ns, waiting)
            }).collect();
            let classes = planner.decide(now_ns, &all).to_vec();
            prop_assert_eq!(classes.len(), habits.len());
            let ahead = ahead(&classes);
            let most = if weights { cores.max(habits.len() / 40 + 1) } else { cores };
            prop_assert!(ahead.len() <= most);
            slices += 1;
            if classes.iter().all(|(_, class)| *class <= Class::Normal) {
                released += 1;
            }
            for slot in ahead {
                ran[slot] += 1;
                last[slot] = now_ns;
            }
            for (slot, last) in last.iter().enumerate() {
                prop_assert!(now_ns - last < SECOND_NS, "slot {} of {:?} has starved", slot, habits);
            }
        }
        prop_assert!(weights || released * 1000 >= slices * 95, "only {} of {} slices were left to others", released, slices);
    }

    /// A page full of liars: threads that work keep the machine, except for what turns take.
    #[test]
    fn one_that_lies_takes_half_a_core_at_most(workers in 2usize..16, cores in 2usize..4) {
        let mut planner = Planner::new(machine(cores), workers + 1);
        let (mut ran, mut lied, slices) = (vec![0u64; workers], 0u64, 2 * SECOND_NS / SLICE_NS);
        for slice in 0..slices {
            let mut all: Vec<_> = ran.iter().enumerate().map(|(slot, ran)| seen(slot, 1_000 + ran, false)).collect();
            all.push(seen(workers, 0, false));
            for slot in ahead(planner.decide(START_NS + slice * SLICE_NS, &all)) {
                match ran.get_mut(slot) {
                    Some(ran) => *ran += 1,
                    None => lied += 1,
                }
            }
        }
        let busy = workers >= cores;
        prop_assert!(!busy || lied * 100 <= slices * 60, "{} of {} slices", lied, slices);
    }
}

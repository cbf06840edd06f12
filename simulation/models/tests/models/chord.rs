//! Chord compared with the sorted ring: however peers join and leave, lookups find the right peer once the
//! ring has had time to settle; and the number of threads changes nothing.

use paceline_kernel::{Rng, Time};
use paceline_models::chord::{Chord, Message, Outcome, Starts};
use paceline_network::Constant;
use paceline_processes::{Report, Rounds, Simulation};

fn run(chord: &Chord, seed: u64, until: Time, threads: usize) -> (Report, std::sync::Arc<Outcome>) {
    let world: Simulation<Message, _> = Simulation::new(Constant::new(0.01), &[(1e9, 1); 7]);
    let mut world = world.seed(seed).until(until).threads(threads).rounds(Rounds::Always);
    let outcome = chord.spawn(&mut world, 7, seed);
    (world.run().unwrap_or_else(|error| panic!("{error}")), outcome)
}

/// A small ring drawn from `seed`, with short periods.
fn drawn(seed: u64) -> Chord {
    let mut rng = Rng::new(seed, 77);
    Chord {
        peers: 1 + rng.below(60) as u32,
        bits: 8 + rng.below(20) as u32,
        stabilize: Time::secs(3),
        fix_fingers: Time::secs(1),
        check_predecessor: Time::secs(3),
        lookup: Time::secs(2),
        patience: Time::secs(5),
        starts: if rng.chance(0.5) { Starts::Spread } else { Starts::Lockstep },
        join: rng.unit(),
        leave: 0.5 * rng.unit(),
        churn: Time::secs(100),
        observe: true,
        ..Chord::default()
    }
}

#[test]
fn lookups_come_to_the_right_peer_once_the_ring_has_settled() {
    let settled = Time::secs(350);
    let mut checked = 0;
    for seed in 0..60 {
        let chord = drawn(seed);
        let (_, outcome) = run(&chord, seed, Time::secs(400), 1);
        let ring = chord.ring(seed);
        let survivors = chord.survivors(seed);
        let there: Vec<u32> = ring.order().iter().copied().filter(|peer| survivors.contains(peer)).collect();
        let late = outcome.observed().into_iter().filter(|observed| observed.begun >= settled);
        let late: Vec<_> = late.collect();
        for observed in &late {
            let holder = ring.holder(observed.key, &there);
            assert_eq!(observed.holder, holder, "seed {seed}: {observed:?} of {} peers", there.len());
        }
        // Each peer looks up a key every two seconds; the last answers may not have arrived yet.
        let wanted = survivors.len() * 24;
        assert!(late.len() >= wanted, "seed {seed}: {} lookups answered, of {wanted} at least", late.len());
        checked += late.len();
    }
    assert!(checked > 10_000, "{checked}");
}

#[test]
fn a_warm_ring_is_right_from_the_start_and_takes_half_the_logarithm_of_hops() {
    let chord = Chord { peers: 2000, observe: true, ..Chord::default() };
    let (report, outcome) = run(&chord, 5, Time::secs(60), 1);
    let ring = chord.ring(5);
    let observed = outcome.observed();
    let [lookups, answered] = ["lookups", "lookups_answered"].map(|name| report.outputs.count(name));
    assert!(observed.len() as u64 == answered && answered >= lookups * 99 / 100);
    assert!(observed.iter().all(|observed| observed.holder == ring.holder(observed.key, ring.order())));
    let half = 0.5 * 2000f64.log2();
    let hops = report.outputs.mean("hops").expect("there are answers");
    assert!((hops - half).abs() < 0.5, "{hops} hops; {half} expected");
    assert!(report.unreceived.is_empty());
}

#[test]
fn threads_change_nothing() {
    for seed in 100..112 {
        let chord = drawn(seed);
        let digest = |threads| run(&chord, seed, Time::secs(120), threads).0.digest;
        let reference = digest(1);
        assert_eq!([digest(2), digest(4)], [reference; 2], "seed {seed}");
    }
}

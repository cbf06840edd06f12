//! A federate driven by hand: whole windows or one event at a time, stopped and continued anywhere, in any
//! order among federates, always gives the result of the sequential reference.

use crate::facts::one_by_one;
use crate::mesh::Mesh;
use paceline_kernel::{Digest, Federate, Model, Outbox, Progress, Rng, Settings, TieBreak, Time, Windows};

fn drive(case: u64) -> (Digest, u64) {
    let mesh = Mesh::draw(case, false);
    let mut rng = Rng::new(case, 0x6765_6172);
    let partition = mesh.partition(1 + rng.below(u64::from(mesh.lps())) as u32);
    let settings = Settings { seed: case, ties: TieBreak::Fixed, window: mesh.lookahead() };
    let mut federates =
        Federate::<Mesh>::build(&mesh, &partition, settings).expect("the model keeps the rules");
    let mut outbox = Outbox::new(partition.federates());
    let mut windows = Windows::lookahead(mesh.lookahead());
    loop {
        let least = federates.iter_mut().map(Federate::lvt).min().unwrap_or(Time::MAX);
        let Some(bound) = windows.open(least, mesh.until()) else { break };
        let mut unfinished: Vec<usize> = (0..federates.len()).collect();
        while !unfinished.is_empty() {
            let chosen = rng.below(unfinished.len() as u64) as usize;
            let federate = &mut federates[unfinished[chosen]];
            let lvt = federate.lvt();
            let (events, pending) = (federate.events(), federate.pending());
            let progress = if rng.chance(0.4) {
                federate.step(&mesh, &partition, bound, &mut outbox)
            } else {
                let budget = if rng.chance(0.5) { usize::MAX } else { rng.below(5) as usize };
                federate.advance(&mesh, &partition, bound, budget, &mut outbox)
            };
            assert!(federate.lvt() >= lvt, "case {case}: local virtual time never falls within a window");
            if federate.events() == events && !mesh.cancels() {
                assert_eq!(federate.pending(), pending, "case {case}: no event is lost by stopping");
            }
            if progress == Progress::Idle {
                assert!(federate.lvt() >= bound, "case {case}: idle only when nothing is left");
                unfinished.swap_remove(chosen);
            }
            if rng.chance(0.3) {
                outbox.flush(|to, events, _| federates[to as usize].receive(events.drain(..)));
            }
        }
        outbox.flush(|to, events, _| federates[to as usize].receive(events.drain(..)));
    }
    let mut digest = Digest::default();
    let mut events = 0;
    for federate in federates {
        let finished = federate.finish(&mesh);
        digest.join(finished.digest);
        events += finished.events;
    }
    (digest, events)
}

#[test]
fn stopping_and_going_on_anywhere_changes_nothing() {
    for case in 0..500 {
        let mesh = Mesh::draw(case, false);
        let (reference, _) = one_by_one(&mesh, mesh.until(), case, TieBreak::Fixed);
        assert_eq!(drive(case), (reference.digest, reference.events), "case {case}");
    }
}

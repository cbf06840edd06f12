//! Gauges of a run count what its federates run, undo and send, and change nothing of its result.

use crate::facts::{assert_same, facts, setting};
use crate::mesh::Mesh;
use paceline_engine::{Gauges, Protocol, Simulation};
use paceline_kernel::{Model, Time};

#[test]
fn gauges_count_what_is_run_and_sent() {
    let mut sent = 0;
    let first = setting("PACELINE_SEED", 0);
    for seed in first..first + setting("PACELINE_CASES", 20) {
        let mesh = Mesh::draw(seed, false);
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = plain().protocol(Protocol::Sequential).run().expect("the model keeps the rules");
        let reference = facts(reference);
        for (protocol, ..) in Protocol::ALL {
            if mesh.lookahead() == Time::ZERO
                && !matches!(protocol, Protocol::Sequential | Protocol::Optimistic)
            {
                continue;
            }
            let (gauges, federates) = (Gauges::default(), mesh.lps().min(5));
            let run = plain().protocol(protocol).federates(federates).threads(2).trials(false);
            let report = run.gauges(&gauges).run().expect("the model keeps the rules");
            let what = format!("case {seed}: {protocol:?}");
            // Where federates are merged or dealt anew at a pause, counts begin anew; what is undone when a
            // leg ends is not counted.
            let (is_whole, is_exact) = (report.legs == 1, report.rollbacks.is_none());
            let looked = gauges.look();
            let run: u64 = looked.iter().map(|gauge| gauge.events - gauge.undone).sum();
            let is_right = if is_exact { run == report.events } else { run >= report.events };
            assert!(!is_whole || is_right, "{what}: {run} of {}", report.events);
            assert!(looked.iter().all(|gauge| gauge.front >= gauge.lvt), "{what}");
            let messages = gauges.messages();
            assert_eq!((messages.side, messages.counts.len()), (looked.len(), looked.len().pow(2)), "{what}");
            let within: u64 = (0..messages.side).map(|row| messages.counts[row * messages.side + row]).sum();
            assert_eq!(within, 0, "{what}: within a federate nothing is sent");
            sent += messages.counts.iter().sum::<u64>();
            assert_same(&facts(report), &reference, &what);
        }
    }
    assert!(sent > 0, "some federates send");
}

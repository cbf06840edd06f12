//! The calls that observers get: every event once, for good, in the total order of its federate; and the
//! result stays.
//!
//! `PACELINE_CASES` sets the number of random models (default 60), `PACELINE_SEED` the first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::facts::{assert_same, facts, setting};
use crate::mesh::{Hop, Mesh};
use paceline_engine::{Observer, Pause, Protocol, Simulation, WindowOpened};
use paceline_kernel::{LpId, Model, Rng, Time};

type Events = Vec<(LpId, Time, Hop)>;

/// Writes everything down.
#[derive(Default)]
struct Diary {
    events: Mutex<BTreeMap<u32, Events>>,
    windows: Mutex<Vec<WindowOpened>>,
    pauses: Mutex<Vec<Pause>>,
}

impl Observer<Mesh> for Diary {
    fn committed(&self, federate: u32, lp: LpId, at: Time, event: &Hop) {
        let mut events = self.events.lock().expect("nobody panics");
        events.entry(federate).or_default().push((lp, at, event.clone()));
    }

    fn window(&self, window: &WindowOpened) {
        self.windows.lock().expect("nobody panics").push(*window);
    }

    fn paused(&self, pause: &Pause) {
        self.pauses.lock().expect("nobody panics").push(*pause);
    }
}

#[test]
fn what_is_reported_is_what_happens_in_the_order_of_each_federate() {
    let first = setting("PACELINE_SEED", 0);
    let (mut speculative, mut windows) = (0, 0);
    for seed in first..first + setting("PACELINE_CASES", 60) {
        let (mesh, mut rng) = (Mesh::draw(seed, false), Rng::new(seed, 0x6f62_7376));
        let run = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = run().protocol(Protocol::Sequential).run().expect("the model keeps the rules");
        // One federate commits in the total order.
        let order = reference.outputs.concat();
        let reference = facts(reference);
        for (protocol, ..) in Protocol::ALL.into_iter().filter(|(protocol, ..)| *protocol != Protocol::Auto) {
            let diary = Arc::new(Diary::default());
            let federates = 1 + rng.below(u64::from(mesh.lps())) as u32;
            let what = format!("case {seed}: {protocol:?}, {federates} federates");
            let observed =
                run().protocol(protocol).federates(federates).groups(u32::MAX).trials(false).threads(2);
            let observed = if rng.chance(0.5) { observed.leg_events(1 + rng.below(30)) } else { observed };
            let report =
                observed.observe(diary.clone()).run().unwrap_or_else(|error| panic!("{what}: {error}"));
            speculative += report.rollbacks.as_ref().map_or(0, |rollbacks| rollbacks.undone);
            let pauses = std::mem::take(&mut *diary.pauses.lock().expect("nobody panics"));
            assert_eq!(pauses.len() as u64, report.legs, "{what}");
            assert_eq!(pauses.last().expect("it has ended").events, report.events, "{what}");
            let opened = std::mem::take(&mut *diary.windows.lock().expect("nobody panics"));
            assert_eq!(opened.len() as u64, report.windows, "{what}");
            assert!(opened.is_sorted_by_key(|window| window.time), "{what}");
            windows += opened.len();
            assert_same(&facts(report), &reference, &what);
            let reported = std::mem::take(&mut *diary.events.lock().expect("nobody panics"));
            assert_eq!(
                reported.values().map(Vec::len).sum::<usize>(),
                order.len(),
                "{what}: everything once"
            );
            for (federate, events) in reported {
                let lps: std::collections::BTreeSet<LpId> = events.iter().map(|(lp, ..)| *lp).collect();
                let expected: Events = order.iter().filter(|(lp, ..)| lps.contains(lp)).cloned().collect();
                let first =
                    events.iter().zip(&expected).position(|(reported, expected)| reported != expected);
                assert_eq!(first, None, "{what}: federate {federate}");
            }
        }
    }
    assert!(speculative > 0 && windows > 0, "some events were rolled back, some windows opened");
}

//! What the workers record while they run: complete, in order, and without an effect on the result.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::channels::CONSERVATIVE;
use crate::mesh::Mesh;
use crate::script::{Play, Script, run_of};
use paceline_engine::{Protocol, Record, RecordKind, Simulation, Speculation, TraceSink};
use paceline_kernel::{Context, LpId, Model, Rng, Time};

/// Keeps all records that it gets.
#[derive(Default)]
struct Kept {
    bunches: Mutex<Vec<Vec<Record>>>,
    started: Mutex<Vec<(u32, u32)>>,
}

impl TraceSink for Kept {
    fn start(&self, workers: u32, federates: u32) {
        self.started.lock().unwrap().push((workers, federates));
    }

    fn record(&self, records: &[Record]) {
        self.bunches.lock().unwrap().push(records.to_vec());
    }
}

fn traced(case: u64, protocol: Protocol) -> (Vec<Record>, (u32, u32), u64) {
    let mesh = Mesh::draw(case, false);
    let mut rng = Rng::new(case, 0x7472_6163);
    let federates = 1 + rng.below(u64::from(mesh.lps())) as u32;
    let threads = [1, 2, 3, 8][rng.below(4) as usize];
    let run = || {
        let run = Simulation::new(mesh.clone()).until(mesh.until()).seed(case).protocol(protocol);
        run.federates(federates).threads(threads)
    };
    let kept = Arc::new(Kept::default());
    let report = run().trace(kept.clone()).run().expect("the model keeps the rules");
    let digest = run().run().expect("the model keeps the rules").digest;
    assert_eq!(report.digest, digest, "case {case}, {protocol:?}: looking changes nothing");
    let started = std::mem::take(&mut *kept.started.lock().unwrap());
    assert_eq!(started, [(report.threads, report.groups)], "case {case}, {protocol:?}");
    let bunches = std::mem::take(&mut *kept.bunches.lock().unwrap());
    assert!(bunches.iter().all(|bunch| (1..=1024).contains(&bunch.len())), "bounded");
    (bunches.into_iter().flatten().collect(), started[0], report.events)
}

/// The records of each worker or federate, in the order in which they came.
fn by<K: Ord>(records: &[Record], key: impl Fn(&Record) -> Option<K>) -> BTreeMap<K, Vec<Record>> {
    let mut groups: BTreeMap<K, Vec<Record>> = BTreeMap::new();
    for record in records {
        if let Some(key) = key(record) {
            groups.entry(key).or_default().push(*record);
        }
    }
    groups
}

#[test]
fn records_are_complete_in_order_and_do_not_overlap() {
    for case in 0..150 {
        for protocol in CONSERVATIVE {
            let what = format!("case {case}, {protocol:?}");
            let (records, (workers, federates), events) = traced(case, protocol);
            let run = records.iter().filter(|record| record.kind == RecordKind::Run);
            assert_eq!(
                run.map(|record| record.count).sum::<u64>(),
                events,
                "{what}: every event is counted once"
            );
            for (worker, slices) in by(&records, |record| record.worker) {
                assert!(worker < workers, "{what}");
                assert!(
                    slices.is_sorted_by(|a, b| a.start_ns <= a.end_ns && a.end_ns <= b.start_ns),
                    "{what}"
                );
            }
            for (federate, mut slices) in by(&records, |record| record.federate) {
                assert!(federate < federates, "{what}");
                slices.sort_by_key(|record| (record.start_ns, record.end_ns));
                assert!(slices.is_sorted_by(|a, b| a.end_ns <= b.start_ns), "{what}: one worker at a time");
                assert!(slices.is_sorted_by_key(|record| record.time), "{what}: what was safe stays so");
            }
        }
    }
}

#[test]
fn gvt_never_falls_and_no_batch_is_before_it() {
    for case in 0..150 {
        for protocol in CONSERVATIVE {
            let (mut records, ..) = traced(case, protocol);
            records.sort_by_key(|record| record.end_ns);
            let gvts: Vec<&Record> = records.iter().filter(|record| record.kind == RecordKind::Gvt).collect();
            assert!(gvts.is_sorted_by_key(|gvt| gvt.time), "case {case}, {protocol:?}");
            let mut gvt = Time::ZERO;
            for record in &records {
                match record.kind {
                    RecordKind::Gvt => gvt = record.time,
                    RecordKind::Run => {
                        assert!(record.time >= gvt, "case {case}, {protocol:?}: {record:?} is before {gvt}");
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn what_is_run_ahead_and_rolled_back_is_seen() {
    let mut rolled_back = 0;
    for case in 0..100 {
        for protocol in [Protocol::Optimistic, Protocol::Mixed] {
            let what = format!("case {case}, {protocol:?}");
            let mesh = Mesh::draw(case, false);
            let kept = Arc::new(Kept::default());
            let speculation = Speculation { chaos: Some(case), ..Speculation::default() };
            let run =
                Simulation::new(mesh.clone()).until(mesh.until()).seed(case).protocol(protocol).threads(3);
            let run = run.federates(mesh.lps().min(5)).speculation(speculation).trace(kept.clone());
            let report = run.run().expect("the model keeps the rules");
            let rollbacks = report.rollbacks.expect("optimistic runs count them");
            let records = kept.bunches.lock().unwrap().concat();
            let sum = |kinds: &[RecordKind]| {
                let of_kind = records.iter().filter(|record| kinds.contains(&record.kind));
                of_kind.map(|record| record.count).sum::<u64>()
            };
            assert_eq!(sum(&[RecordKind::Run, RecordKind::Ahead]), rollbacks.processed, "{what}");
            assert!(sum(&[RecordKind::Rollback]) <= rollbacks.undone, "{what}");
            rolled_back += sum(&[RecordKind::Rollback]);
            for slices in by(&records, |record| record.worker).values() {
                assert!(
                    slices.is_sorted_by(|a, b| a.start_ns <= a.end_ns && a.end_ns <= b.start_ns),
                    "{what}"
                );
            }
            for slices in by(&records, |record| record.federate).values_mut() {
                slices.sort_by_key(|record| (record.start_ns, record.end_ns));
                assert!(slices.is_sorted_by(|a, b| a.end_ns <= b.start_ns), "{what}: one worker at a time");
            }
            let mut gvts: Vec<_> = records.iter().filter(|record| record.kind == RecordKind::Gvt).collect();
            gvts.sort_by_key(|gvt| gvt.end_ns);
            assert!(gvts.is_sorted_by_key(|gvt| gvt.time), "{what}: GVT never falls");
        }
    }
    assert!(rolled_back > 0, "some of it was rolled back");
}

#[test]
fn workers_without_work_are_seen_to_wait() {
    // Two LPs that toss a thousand balls keep one worker busy, and all others waiting once they have started.
    // That they start before the end is up to the system, so they get some chances.
    let waits = (0..100).map(|_| {
        let kept = Arc::new(Kept::default());
        let toss =
            run_of(Toss { balls: 500 }).federates(1).threads(4).until(Time::secs(500)).trace(kept.clone());
        toss.run().expect("the model keeps the rules");
        let records = kept.bunches.lock().unwrap().concat();
        records.into_iter().filter(|record| record.kind == RecordKind::Wait).collect::<Vec<_>>()
    });
    let waits = waits.into_iter().find(|waits| !waits.is_empty()).expect("somebody waited");
    assert!(waits.iter().all(|wait| wait.worker.is_some() && wait.federate.is_none() && wait.count == 0));
}

#[test]
fn gvt_is_the_time_of_the_least_event() {
    // All events are at whole seconds; windows and steps end in between.
    for protocol in [Protocol::Sequential, Protocol::TimeStep, Protocol::Window] {
        let kept = Arc::new(Kept::default());
        let toss = run_of(Toss { balls: 3 }).protocol(protocol).federates(2).threads(2).until(Time::secs(50));
        toss.trace(kept.clone()).run().expect("the model keeps the rules");
        let records = kept.bunches.lock().unwrap().concat();
        let mut gvts: Vec<_> = records.iter().filter(|record| record.kind == RecordKind::Gvt).collect();
        gvts.sort_by_key(|gvt| gvt.end_ns);
        let whole: Vec<Time> = gvts.iter().map(|gvt| gvt.time).collect();
        let expected: Vec<Time> = match protocol {
            // Only when it looks up from its batch.
            Protocol::Sequential => vec![Time::secs(50)],
            _ => (1..=50).map(Time::secs).collect(),
        };
        assert_eq!(whole, expected, "{protocol:?}");
    }
}

/// Two LPs that toss balls, once a second.
struct Toss {
    balls: u32,
}

impl Play for Toss {
    fn lps(&self) -> u32 {
        2
    }
    fn lookahead(&self) -> Time {
        Time::millis(700)
    }
    fn init(&self, _: LpId, cx: &mut Context<Script>) -> u64 {
        for _ in 0..self.balls {
            cx.schedule(Time::ZERO, 0);
        }
        0
    }
    fn handle(&self, _: &mut u64, _: u64, cx: &mut Context<Script>) {
        cx.send(LpId(1 - cx.lp().0), Time::secs(1), 0);
    }
}

//! Runs with machines that are resumed from a checkpoint: as if they had never stopped, or refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paceline_emulate::run::{GrantPolicy, ResumeError, SavedMachines};
use paceline_engine::{CheckpointFile, Checkpoints, Protocol};
use paceline_kernel::Time;
use paceline_packets::Packets;
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::run::pings::{Outcome, assert_same, crowd, facts, outcome};
use crate::run::support::{How, PLAIN, Paired, Seen, joined};

const UNTIL: Time = Time::millis(200);

/// Where a run is cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Everything before this has happened.
    At(Time),
    /// In the last pause before this, with a pause each so many events: federates stand where they are then.
    Within(Time, u64),
}

/// Runs up to the cut, from the checkpoint at `path` if there is one, and leaves one there.
fn run_to(path: &Path, how: How, cut: Cut) -> Vec<Seen> {
    let (model, machines) = crowd();
    let (simulation, seen) = match path.exists() {
        false => joined(&model, &machines, UNTIL, how, None),
        true => {
            let (simulation, seen) = resume(path, &model, &machines, how).unwrap();
            (simulation.until(UNTIL), seen)
        }
    };
    let every = if matches!(cut, Cut::At(_)) { Duration::from_secs(3600) } else { Duration::ZERO };
    let simulation = simulation.checkpoint(Checkpoints { path: path.into(), every, header: Vec::new() });
    let mut run = match cut {
        Cut::At(_) => simulation.start().unwrap(),
        Cut::Within(_, events) => simulation.leg_events(events).start().unwrap(),
    };
    let (Cut::At(time) | Cut::Within(time, _)) = cut;
    run.run_until(time).unwrap();
    // A run that has not paused has nothing to go on from.
    if matches!(cut, Cut::At(_)) || !path.exists() {
        assert!(run.checkpoint().unwrap());
    }
    run.finish().unwrap();
    seen.iter().map(|seen| seen.lock().unwrap().clone()).collect()
}

type Joined = (paceline_engine::Simulation<Packets>, Vec<std::sync::Arc<std::sync::Mutex<Seen>>>);

fn resume(path: &Path, model: &Packets, machines: &[Paired], how: How) -> Result<Joined, ResumeError> {
    let file = CheckpointFile::open(path)?;
    let saved = SavedMachines::open(&file)?;
    let (simulation, seen) = joined(model, machines, UNTIL, how, Some(&saved));
    Ok((simulation.resume(file.world(model)?), seen))
}

/// Runs from the checkpoint at `path` to the end.
fn run_on(path: &Path, how: How) -> (Outcome, Vec<Seen>) {
    let (model, machines) = crowd();
    let (simulation, seen) = resume(path, &model, &machines, how).unwrap();
    let report = simulation.run().unwrap_or_else(|error| panic!("{how:?}: {error}"));
    (outcome(&model, report), seen.iter().map(|seen| seen.lock().unwrap().clone()).collect())
}

fn any_how() -> impl Strategy<Value = How> {
    let protocol = prop::sample::select(vec![Protocol::Window, Protocol::NullMessage]);
    let policy = prop::sample::select(GrantPolicy::ALL.map(|(policy, _)| policy).to_vec());
    (protocol, 1..3_u32, 1..5_u32, 1..5_usize, policy, 0..3_u32).prop_map(
        |(protocol, threads, federates, at_once, policy, delay)| How {
            protocol,
            threads,
            federates,
            at_once,
            policy,
            delay,
            ..PLAIN
        },
    )
}

fn any_cut() -> impl Strategy<Value = Cut> {
    // In the first 100 us machines ask for addresses, and answers are on their way.
    let time = prop_oneof![0..100_000_u64, 0..199_000_000_u64].prop_map(Time::nanos);
    let within = (1_000_000..199_000_000_u64, 1..2_000_u64);
    let within = within.prop_map(|(time, events)| Cut::Within(Time::nanos(time), events));
    prop_oneof![time.prop_map(Cut::At), within]
}

/// Cuts a run at each of `cuts`, each part done in its way, and runs it to its end.
fn cut_and_compare(cuts: &[(How, Cut)], last: How) {
    let reference = facts(PLAIN);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    for (how, cut) in cuts {
        run_to(&path, *how, *cut);
        let clock = CheckpointFile::open(&path).unwrap().world(&crowd().0).unwrap().last();
        assert!(clock < UNTIL);
    }
    let (outcome, _) = run_on(&path, last);
    assert_same(&outcome, &reference.0, &format!("{cuts:?}, then {last:?}"));
}

proptest! {
    #![proptest_config(Config { cases: 16, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_run_that_is_resumed_is_as_if_it_had_never_stopped(
        mut cuts in prop::collection::vec((any_how(), any_cut()), 1..3),
        last in any_how(),
    ) {
        cuts.sort_by_key(|(_, cut)| match cut { Cut::At(time) | Cut::Within(time, _) => *time });
        cut_and_compare(&cuts, last);
    }
}

/// The answer to the request that `left-0` sends at 0 comes at 33.44 us.
#[test]
fn answers_to_arp_requests_are_kept() {
    cut_and_compare(&[(PLAIN, Cut::At(Time::micros(20)))], PLAIN);
}

#[test]
fn frames_come_when_they_would_have_come() {
    let (_, whole) = facts(PLAIN);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    let before = run_to(&path, PLAIN, Cut::At(Time::nanos(50_505_050)));
    let (_, after) = run_on(&path, PLAIN);
    for ((before, after), whole) in before.iter().zip(&after).zip(&whole) {
        assert!(!before.arrivals.is_empty() && !after.arrivals.is_empty());
        assert_eq!([&before.arrivals[..], &after.arrivals[..]].concat(), whole.arrivals);
        assert_eq!([&before.round_trips[..], &after.round_trips[..]].concat(), whole.round_trips);
    }
}

fn states(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_extension("checkpoint.machines");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn the_checkpoint_that_is_there_can_be_resumed_whenever_a_run_dies() {
    let reference = facts(PLAIN);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    run_to(&path, PLAIN, Cut::At(Time::millis(30)));
    for time in [60, 90, 120] {
        let valid = fs::read(&path).unwrap();
        run_to(&path, PLAIN, Cut::At(Time::millis(time)));
        assert_eq!(states(&path).len(), 8, "those of the last two checkpoints");
        // As if the run had died before the checkpoint got its name.
        fs::write(&path, valid).unwrap();
        let (outcome, _) = run_on(&path, PLAIN);
        assert_same(&outcome, &reference.0, "from the one before");
        run_to(&path, PLAIN, Cut::At(Time::millis(time)));
    }
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    run_to(&path, PLAIN, Cut::At(Time::millis(30)));
    let file = states(&path).remove(2);
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[3] ^= 4;
    let longer = [&whole[..], b"x"].concat();
    for (content, reason) in [
        (Some(&whole[1..]), format!("it has {} bytes, and had {}", whole.len() - 1, whole.len())),
        (Some(&longer[..]), format!("it has {} bytes, and had {}", whole.len() + 1, whole.len())),
        (Some(&flipped[..]), "its checksum does not match".into()),
        (None, "No such file or directory (os error 2)".into()),
    ] {
        content.map_or_else(|| fs::remove_file(&file), |content| fs::write(&file, content)).unwrap();
        let error = SavedMachines::open(&CheckpointFile::open(&path).unwrap()).unwrap_err();
        let expected = format!("{}, the state of guest right-0: {reason}", file.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn other_machines_are_refused() {
    let (model, mut machines) = crowd();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    run_to(&path, PLAIN, Cut::At(Time::millis(30)));
    machines.swap(0, 1);
    let refused = std::panic::catch_unwind(|| resume(&path, &model, &machines, PLAIN).map(drop));
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("OtherMachines") && message.contains("left-1 at node"), "{message}");
}

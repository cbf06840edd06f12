//! A run in legs: paused at any moment, with any number of threads in each leg, written down and resumed
//! under another protocol and partition, it gives the result of the run that nothing disturbed.
//!
//! `PACELINE_CASES` sets the number of random models (default 60 in each test), `PACELINE_SEED` the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::facts::{Facts, assert_same, facts, setting};
use crate::mesh::Mesh;
use crate::script::{Play, Script, run_of};
use paceline_engine::{
    CheckpointError, CheckpointFile, Checkpoints, Monitor, Protocol, Report, RunError, Simulation,
};
use paceline_kernel::{Context, Model, Rng, TieBreak, Time};

/// A random model with the result of the reference, and settings to draw.
struct Case {
    seed: u64,
    mesh: Mesh,
    ties: TieBreak,
    rng: Rng,
    reference: Facts,
    events: u64,
}

impl Case {
    fn draw(seed: u64) -> Self {
        let (mesh, mut rng) = (Mesh::draw(seed, false), Rng::new(seed, 0x6c65_6773));
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(seed) };
        let run = Simulation::new(mesh.clone()).until(mesh.until()).seed(seed).ties(ties);
        let report = run.protocol(Protocol::Sequential).run().expect("the model keeps the rules");
        let events = report.events;
        Self { seed, mesh, ties, rng, reference: facts(report), events }
    }

    /// A run under `protocol` and otherwise any settings, with a description.
    fn run(&mut self, protocol: Protocol) -> (Simulation<Mesh>, String) {
        let federates = 1 + self.rng.below(u64::from(self.mesh.lps())) as u32;
        let threads = [1, 2, 8][self.rng.below(3) as usize];
        let run = Simulation::new(self.mesh.clone()).until(self.mesh.until()).seed(self.seed).ties(self.ties);
        let groups = if self.rng.chance(0.5) { u32::MAX } else { 1 + self.rng.below(4) as u32 };
        let run = run.protocol(protocol).federates(federates).groups(groups).threads(threads);
        let run = run.draw_protocols(self.seed);
        let what = format!("{federates} federates in at most {groups} groups, {threads} threads");
        (run, format!("case {}: {protocol:?}, {what}", self.seed))
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let first = setting("PACELINE_SEED", 0);
    (first..first + setting("PACELINE_CASES", 60)).map(Case::draw)
}

/// Where a test's checkpoints go, written at every pause.
fn at_every_pause(folder: &tempfile::TempDir) -> Checkpoints {
    Checkpoints {
        path: folder.path().join("run.checkpoint"),
        every: Duration::ZERO,
        header: b"a test".into(),
    }
}

#[test]
fn pauses_change_nothing() {
    let mut legs = 0;
    for mut case in cases() {
        for (protocol, ..) in Protocol::ALL {
            let (run, what) = case.run(protocol);
            let events = 1 + case.rng.below(20);
            let monitor = Monitor::new();
            let run = run.leg_events(events).monitor(&monitor);
            let report = run.run().unwrap_or_else(|error| panic!("{what}: {error}"));
            legs += report.legs - 1;
            assert_eq!(monitor.events(), report.events, "{what}: events committed, as seen from outside");
            assert_same(&facts(report), &case.reference, &format!("{what}, legs of {events} events"));
        }
    }
    assert!(legs > 0, "some of the runs have paused");
}

/// Runs it while its number of threads changes as often as the run takes that up, at any moment.
pub fn run_on_changing_threads<M: Model>(run: Simulation<M>) -> Result<Report<M::Output>, RunError> {
    let (monitor, over) = (Monitor::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut plan = [8, 2, 1, 3].iter().cycle();
            while !over.load(Ordering::Relaxed) {
                let threads = *plan.next().expect("a cycle goes on");
                monitor.set_threads(threads).expect("the number is allowed");
                while monitor.threads() != threads && !over.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            }
        });
        let report = run.threads(1).monitor(&monitor).run();
        over.store(true, Ordering::Relaxed);
        report
    })
}

#[test]
fn threads_change_while_it_runs() {
    let mut legs = 0;
    for mut case in cases() {
        for (protocol, ..) in Protocol::ALL {
            let (run, what) = case.run(protocol);
            let report = run_on_changing_threads(run);
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            legs += report.legs - 1;
            assert_same(&facts(report), &case.reference, &what);
        }
    }
    assert!(legs > 0, "some of the requests were fulfilled");
}

#[test]
fn checkpoints_resume_under_other_settings() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut resumed = 0;
    for mut case in cases() {
        let checkpoints = at_every_pause(&folder);
        // A run that ends well leaves its last checkpoint, from which the next one goes on.
        for round in 0..4 {
            let protocol = Protocol::ALL[case.rng.below(Protocol::ALL.len() as u64) as usize].0;
            let (mut run, what) = case.run(protocol);
            let what = format!("{what}, round {round}");
            let mut before = 0;
            if checkpoints.path.exists() {
                let file = CheckpointFile::open(&checkpoints.path).expect("it is complete");
                assert_eq!(file.header(), b"a test");
                let world = file.world(&case.mesh).unwrap_or_else(|error| panic!("{what}: {error}"));
                before = world.events();
                run = run.resume(world);
            }
            let events = 1 + case.rng.below(1 + case.events / 3);
            let report = run.leg_events(events).checkpoint(checkpoints.clone()).run();
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!((report.resumed_events, report.checkpoints), (before, report.legs - 1), "{what}");
            resumed += u64::from(before > 0);
            assert_same(&facts(report), &case.reference, &what);
        }
        let left: Vec<_> = folder.path().read_dir().expect("it is there").collect();
        assert!(left.len() <= 1, "nothing unfinished is left: {left:?}");
        if checkpoints.path.exists() {
            std::fs::remove_file(&checkpoints.path).expect("it can be removed");
        }
    }
    assert!(resumed > 0, "some of the runs were resumed");
}

#[test]
fn files_that_are_cut_short_damaged_or_foreign_are_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let checkpoints = at_every_pause(&folder);
    let path = checkpoints.path.clone();
    let mut case = cases().find(|case| case.events > 60).expect("most models have more events");
    let (run, _) = case.run(Protocol::Window);
    run.leg_events(case.events / 2).checkpoint(checkpoints).run().expect("the model keeps the rules");
    let whole = std::fs::read(&path).expect("a checkpoint was written");
    let open = |content: &[u8]| {
        std::fs::write(&path, content).expect("it can be written");
        CheckpointFile::open(&path)
    };
    assert!(open(&whole).is_ok());
    for length in 0..whole.len() {
        let error = open(&whole[..length]).expect_err("it is cut short");
        assert!(matches!(error, CheckpointError::Truncated { .. }), "{length} bytes: {error}");
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << case.rng.below(8);
        let error = open(&damaged).expect_err("a bit is wrong");
        assert!(!matches!(error, CheckpointError::Read { .. }), "byte {place}: {error}");
        assert_eq!(matches!(error, CheckpointError::Foreign { .. }), place < 8, "byte {place}: {error}");
        assert_eq!(matches!(error, CheckpointError::Version { .. }), (8..12).contains(&place), "{error}");
    }
    let longer = open(&[&whole[..], b"more"].concat()).expect_err("there is too much");
    assert!(matches!(longer, CheckpointError::Damaged { .. }), "{longer}");
    let foreign = open(b"[model]\nkind = \"phold\"\n").expect_err("it is a scenario");
    assert!(matches!(foreign, CheckpointError::Foreign { .. }), "{foreign}");
    let other = cases().find(|other| other.mesh.lps() != case.mesh.lps()).expect("models differ");
    let file = open(&whole).expect("it is whole again");
    let error = file.world(&other.mesh).expect_err("it is another model");
    assert!(error.to_string().contains(&format!("the model has {}", other.mesh.lps())), "{error}");
    let world = file.world(&case.mesh).expect("it is its model");
    let reached = world.last();
    let error = Simulation::new(case.mesh.clone()).resume(world).until(reached).run().err();
    assert_eq!(error, Some(RunError::PastHorizon { until: reached, reached }));
}

#[test]
fn a_checkpoint_that_cannot_be_written_ends_the_run_and_leaves_the_last_one() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut case = cases().find(|case| case.events > 60).expect("most models have more events");
    let (run, _) = case.run(Protocol::Window);
    let path = folder.path().join("nowhere").join("run.checkpoint");
    let checkpoints = Checkpoints { path: path.clone(), ..at_every_pause(&folder) };
    let error = run.leg_events(10).checkpoint(checkpoints).run().err();
    assert!(
        matches!(&error, Some(RunError::Checkpoint(CheckpointError::Write { path: named, .. })) if *named == path),
        "{error:?}"
    );
    // Another process writes there too, when one checkpoint is written already.
    let checkpoints = at_every_pause(&folder);
    let (run, _) = case.run(Protocol::NullMessage);
    let mut run = run.checkpoint(checkpoints.clone()).start().expect("it can be written");
    assert_eq!(run.checkpoint(), Ok(true));
    let last = published(&checkpoints);
    let _other = locked(&folder);
    let error = run.checkpoint().err();
    assert!(matches!(error, Some(RunError::Checkpoint(_))), "{error:?}");
    assert_eq!(std::fs::read(&checkpoints.path).expect("it is there"), last);
}

/// The unfinished checkpoint of another process.
fn locked(folder: &tempfile::TempDir) -> std::fs::File {
    let file =
        std::fs::File::create(folder.path().join(".run.checkpoint.unfinished")).expect("it can be made");
    file.lock().expect("it can be locked");
    file
}

/// The checkpoint that was handed over, once it is on the disk.
fn published(checkpoints: &Checkpoints) -> Vec<u8> {
    let start = Instant::now();
    while !checkpoints.path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "it comes to the disk");
        std::thread::yield_now();
    }
    std::fs::read(&checkpoints.path).expect("it is there")
}

#[test]
fn a_checkpoint_that_has_no_place_ends_the_run_before_its_first_event() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let nowhere = folder.path().join("nowhere").join("run.checkpoint");
    let is_folder = folder.path().to_owned();
    for path in [nowhere, is_folder] {
        let checkpoints = Checkpoints { path: path.clone(), every: Duration::MAX, header: Vec::new() };
        let error = run_of(Beat).checkpoint(checkpoints).start().err();
        assert!(
            matches!(&error, Some(RunError::Checkpoint(CheckpointError::Write { path: named, .. })) if *named == path),
            "{error:?}"
        );
        // A run that goes on without checkpoints reports that at once as well.
        let checkpoints = Checkpoints { path, every: Duration::MAX, header: Vec::new() };
        let run = run_of(Beat).checkpoint(checkpoints).on_checkpoint_failure(|_| ());
        assert!(matches!(run.start().err(), Some(RunError::Checkpoint(_))));
    }
    let left = std::fs::read_dir(folder.path()).expect("it is a folder").count();
    assert_eq!(left, 0, "nothing is left of the attempt");
}

#[test]
fn a_run_goes_on_without_checkpoints_where_its_owner_wants_that() {
    for mut case in cases().filter(|case| case.events > 60).take(8) {
        for protocol in [Protocol::Sequential, Protocol::Window, Protocol::NullMessage] {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let checkpoints = at_every_pause(&folder);
            let failures = Arc::new(AtomicU64::new(0));
            let hears = Arc::clone(&failures);
            let (run, what) = case.run(protocol);
            let run =
                run.leg_events(10).checkpoint(checkpoints.clone()).on_checkpoint_failure(move |error| {
                    assert!(matches!(error, CheckpointError::Write { .. }), "{error}");
                    hears.fetch_add(1, Ordering::SeqCst);
                });
            let mut run = run.start().expect("it can be written");
            assert_eq!(run.checkpoint(), Ok(true), "{what}");
            let last = published(&checkpoints);
            let _other = locked(&folder);
            assert_eq!(run.checkpoint(), Ok(false), "{what}");
            run.run_until(Time::MAX).unwrap_or_else(|error| panic!("{what}: {error}"));
            let report = run.finish().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(report.checkpoints_failed > 1, "{what}: once by hand, and at pauses");
            assert_eq!(
                (report.checkpoints, report.checkpoints_failed),
                (1, failures.load(Ordering::SeqCst)),
                "{what}"
            );
            assert_eq!(std::fs::read(&checkpoints.path).expect("it is there"), last, "{what}");
            assert_same(&facts(report), &case.reference, &what);
        }
    }
}

#[test]
fn checkpoints_come_by_the_clock() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let every = Duration::from_millis(5);
    // Runs take longer and longer until one is long enough.
    let written = (0..24).map(|power| {
        let checkpoints = Checkpoints { every, ..at_every_pause(&folder) };
        let run = run_of(Beat).threads(2).until(Time::secs(1 << power)).checkpoint(checkpoints);
        let report = run.run().expect("the model keeps the rules");
        assert!(u128::from(report.checkpoints) <= 1 + report.wall.as_millis() / every.as_millis());
        report.checkpoints
    });
    assert!(written.into_iter().any(|checkpoints| checkpoints >= 2), "the clock asks for checkpoints");
}

/// An LP that does something every second.
struct Beat;

impl Play for Beat {
    fn lps(&self) -> u32 {
        1
    }
    fn handle(&self, beats: &mut u64, _: u64, cx: &mut Context<Script>) {
        *beats += 1;
        cx.schedule(Time::secs(1), 0);
    }
}

#[test]
fn a_checkpoint_has_one_writer_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let checkpoints = Checkpoints { every: Duration::MAX, ..at_every_pause(&folder) };
    let start = || run_of(Beat).checkpoint(checkpoints.clone()).until(Time::secs(1_000)).start();
    let refused = |when: &str| match start().err() {
        Some(RunError::Checkpoint(error)) => {
            assert!(error.to_string().ends_with("another run is writing there"), "{when}: {error}");
        }
        other => panic!("{when}: {other:?}"),
    };
    let mut first = start().expect("nobody else is there");
    refused("before the first checkpoint");
    assert_eq!(first.checkpoint(), Ok(true));
    let _ = published(&checkpoints);
    refused("after the first");
    first.run_until(Time::secs(10)).expect("the model keeps the rules");
    assert_eq!(first.checkpoint(), Ok(true));
    first.run_until(Time::secs(20)).expect("the model keeps the rules");
    refused("after the second");
    // Where the folder is removed meanwhile, it is made again. The second checkpoint may still be coming to
    // the disk.
    assert!((0..10_000).any(|_| std::fs::remove_dir_all(folder.path()).is_ok()), "it can be removed");
    assert_eq!(first.checkpoint(), Ok(true));
    let _ = published(&checkpoints);
    drop(first);
    let second = start().expect("the first has ended");
    drop(second);
    let names: Vec<_> = std::fs::read_dir(folder.path()).expect("it is a folder").flatten().collect();
    assert_eq!(names.len(), 1, "nothing but the checkpoint is left: {names:?}");
}

#[cfg(unix)]
#[test]
fn a_checkpoint_is_written_to_the_end_of_a_link_and_to_no_device() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str| {
        let checkpoints = Checkpoints { path: folder.path().join(name), ..at_every_pause(&folder) };
        let mut run = run_of(Beat).until(Time::secs(1_000)).checkpoint(checkpoints).start()?;
        run.checkpoint().map(drop)
    };
    std::fs::create_dir(folder.path().join("elsewhere")).expect("it can be made");
    symlink("elsewhere/real", folder.path().join("link")).expect("it can be made");
    let real = folder.path().join("elsewhere/real");
    for mode in [None, Some(0o600), Some(0o664)] {
        if let Some(mode) = mode {
            std::fs::set_permissions(&real, std::fs::Permissions::from_mode(mode)).expect("it is there");
        }
        write("link").expect("it can be written");
        let data = real.metadata().expect("it is there");
        assert!(mode.is_none_or(|mode| data.permissions().mode() & 0o7777 == mode));
        assert!(CheckpointFile::open(&folder.path().join("link")).is_ok());
        assert!(folder.path().join("link").symlink_metadata().expect("it is there").is_symlink());
    }
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.expect("there is a mkfifo").success());
    symlink("/dev/full", folder.path().join("full")).expect("it can be made");
    for (name, kind) in
        [("pipe", "it is a FIFO"), ("full", "it is a device"), ("elsewhere", "it is a folder")]
    {
        let error = write(name).expect_err("it cannot be replaced").to_string();
        assert!(error.contains(kind), "{error}");
    }
    let pipe = folder.path().join("pipe").symlink_metadata().expect("it is there");
    assert!(pipe.file_type().is_fifo());
}

//! A run of a scenario with guests that goes on from a checkpoint: as if it had never stopped, or refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paceline_emulate::guest::Emulator;
use paceline_emulate::run::placed::Failures;
use paceline_emulate::run::{ResumeError, Terms};
use paceline_emulate::scenario::{Emulation, Ready, Started, Watched};
use paceline_engine::{CheckpointFile, Checkpoints, Protocol, Report, Simulation};
use paceline_kernel::Time;
use paceline_packets::{NetOutput, Packets};
use paceline_results::{Results as _, RunFacts};
use paceline_scenario::Scenario;

const SEED: u64 = 5;
/// Federates of the run: one beside those of the guests.
const FEDERATES: u32 = 3;
const UNTIL: Time = Time::secs(5);

/// One guest pings and draws random numbers, and half as fast as the other one, which draws them too and
/// switches itself off.
const SCENARIO: &str = r#"
[network]
latency = "5ms"

[[guest]]
name = "alice"
time_scale = "1/2"
script = """
for i in 1 2 3 4 5 6 7 8; do
    ping -c 1 bob | grep time=
    head -c 24 /dev/urandom | hexdump -C
    cat /proc/uptime
done
cat /proc/interrupts
"""

[[guest]]
name = "bob"
script = """
for i in 1 2 3 4 5 6 7 8; do
    sleep 0.23
    head -c 24 /dev/urandom | hexdump -C
done
cat /proc/interrupts
poweroff -f
"""
"#;

fn read(text: &str) -> Emulation {
    let mut scenario = Scenario::parse("guests.toml", text, Path::new(""), &[]).unwrap();
    Emulation::read(&mut scenario, SEED).unwrap()
}

/// The emulator, or `None` with a word about why the test does nothing.
fn emulator() -> Option<Emulator> {
    let emulator = Emulator::find().inspect_err(|error| eprintln!("skipped: {error}")).ok()?;
    let probe = emulator.modules().with_file_name("probe");
    if !probe.exists() {
        eprintln!("skipped: there is no {}; run scripts/emulator", probe.display());
        return None;
    }
    Some(emulator)
}

fn failures() -> Failures {
    Failures::new(|| {})
}

fn started(emulation: &Emulation, ready: &Ready) -> Started {
    emulation.start(ready, SEED, &failures(), &|_| true).unwrap()
}

/// A run of these guests, and what is seen of them.
fn joined(emulation: &Emulation, started: Started, threads: u32) -> (Simulation<Packets>, Watched) {
    let watched = started.watched.clone();
    let guests = started.federates(emulation, FEDERATES, Terms::default()).unwrap();
    let simulation = Simulation::new(emulation.model.clone()).protocol(Protocol::Window).threads(threads);
    let simulation = simulation.federates(FEDERATES).until(UNTIL);
    let join = |simulation: Simulation<_>, (federate, guest)| simulation.outside(federate, guest);
    (guests.into_iter().fold(simulation, join), watched)
}

/// Digest, round trips, and all files by name: captures, consoles.
type Outcome = (String, Vec<Option<u64>>, Vec<(String, Vec<u8>)>);

fn outcome(model: &Packets, report: Report<NetOutput>, watched: &Watched) -> Outcome {
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let digest = report.digest.to_string();
    let summary = model.results(report.outputs, &facts).unwrap();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for file in summary.files {
        let (name, mut bytes) = (file.name.to_string(), Vec::new());
        file.write(&mut bytes).unwrap();
        files.push((name, bytes));
    }
    files.extend(watched.files().files);
    (digest, watched.round_trips(), files)
}

fn assert_same(found: &Outcome, whole: &Outcome, what: &str) {
    for ((name, bytes), (other, expected)) in found.2.iter().zip(&whole.2) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(name, other);
        if Path::new(name).extension().is_some_and(|ending| ending == "log") {
            assert_eq!(text(bytes), text(expected), "{what}: {name}");
        }
        assert!(bytes == expected, "{what}: {name} differs");
    }
    assert_eq!(found.2.len(), whole.2.len(), "{what}: files");
    assert_eq!((&found.0, &found.1), (&whole.0, &whole.1), "{what}: digest and round trips");
}

/// Runs up to `cut`, leaves a checkpoint at `path`, and goes no further: as a run that is killed.
fn run_to(emulation: &Emulation, started: Started, path: &Path, cut: Time) {
    let every = Duration::from_secs(3600);
    let checkpoints = Checkpoints { path: path.into(), every, header: Vec::new() };
    // What is watched holds the folder of the consoles.
    let (run, _watched) = joined(emulation, started, 2);
    let mut run = run.checkpoint(checkpoints).start().unwrap();
    run.run_until(cut).unwrap();
    assert!(run.checkpoint().unwrap());
}

fn start_saved(emulation: &Emulation, ready: &Ready, file: &CheckpointFile) -> Result<Started, ResumeError> {
    let saved = emulation.saved(ready, file)?;
    Ok(emulation.start_saved(ready, SEED, &failures(), saved).unwrap())
}

#[test]
fn a_run_goes_on_from_a_checkpoint_of_a_checkpoint() {
    let Some(emulator) = emulator() else { return };
    let emulation = read(SCENARIO);
    let ready = emulation.pack(emulator).unwrap();
    let (run, watched) = joined(&emulation, started(&emulation, &ready), 1);
    let whole = outcome(&emulation.model, run.run().unwrap(), &watched);
    assert_eq!(whole.1.iter().flatten().count(), 8, "{:?}", whole.1);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    // Before guests know who they are, in the midst of their scripts, and with one of them off.
    run_to(&emulation, started(&emulation, &ready), &path, Time::millis(700));
    for cut in [Time::nanos(2_003_456_789), Time::millis(4_500), UNTIL] {
        // Everything can be moved: nothing in it says where it was.
        let moved = folder.path().join(format!("moved-{}.checkpoint", cut.as_nanos()));
        fs::rename(states(&path), states(&moved)).unwrap();
        fs::rename(&path, &moved).unwrap();
        let file = CheckpointFile::open(&moved).unwrap();
        let started = start_saved(&emulation, &ready, &file).unwrap();
        if cut < UNTIL {
            let every = Duration::from_secs(3600);
            let checkpoints = Checkpoints { path: path.clone(), every, header: Vec::new() };
            let (run, _watched) = joined(&emulation, started, 2);
            let run = run.resume(file.world(&emulation.model).unwrap()).checkpoint(checkpoints);
            let mut run = run.start().unwrap();
            run.run_until(cut).unwrap();
            assert!(run.checkpoint().unwrap());
            continue;
        }
        let (run, watched) = joined(&emulation, started, 1);
        let report = run.resume(file.world(&emulation.model).unwrap()).run().unwrap();
        assert_same(&outcome(&emulation.model, report, &watched), &whole, "resumed three times");
    }
}

/// The folder of the states of guests.
fn states(checkpoint: &Path) -> PathBuf {
    let mut name = checkpoint.as_os_str().to_owned();
    name.push(".machines");
    name.into()
}

/// An emulator that is another one: as many bytes and one more in its plugin.
fn other(emulator: &Emulator, folder: &Path) -> Emulator {
    let kernel = emulator.kernel();
    let there = kernel.parent().unwrap();
    for entry in fs::read_dir(there).unwrap().flatten().filter(|entry| entry.file_name() != "plugin.so") {
        symlink(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let mut plugin = fs::read(there.join("plugin.so")).unwrap();
    plugin.push(0);
    fs::write(folder.join("plugin.so"), plugin).unwrap();
    Emulator::at(folder).unwrap()
}

#[test]
fn what_cannot_be_resumed_is_refused_before_anything_starts() {
    let Some(emulator) = emulator() else { return };
    let emulation = read(SCENARIO);
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("emulator");
    fs::create_dir(&elsewhere).unwrap();
    let other = emulation.pack(other(&emulator, &elsewhere)).unwrap();
    let ready = emulation.pack(emulator).unwrap();
    let path = folder.path().join("run.checkpoint");
    run_to(&emulation, started(&emulation, &ready), &path, Time::millis(900));
    let file = CheckpointFile::open(&path).unwrap();
    let refused = |emulation: &Emulation, ready: &Ready, words: &[&str]| {
        let error = start_saved(emulation, ready, &file).map(drop).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    };
    refused(&emulation, &other, &["guest alice", "another plugin of the emulator", "PACELINE_EMULATOR"]);
    let more =
        read(&SCENARIO.replace("name = \"bob\"", "name = \"carol\"").replace("-c 1 bob", "-c 1 carol"));
    refused(&more, &ready, &["bob at node 1", "carol at node 1"]);

    let state = |ending: &str| {
        let files = fs::read_dir(states(&path)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|file| file.to_string_lossy().ends_with(ending)).collect();
        files.sort();
        files.remove(0)
    };
    for (ending, what) in
        [(".machine", "the state of guest alice"), (".machine-log", "the log of guest alice")]
    {
        let file = state(ending);
        let whole = fs::read(&file).unwrap();
        let name = file.display().to_string();
        fs::write(&file, [&whole[..], b"x"].concat()).unwrap();
        refused(&emulation, &ready, &[&name, what, "and had", "allowed: "]);
        fs::remove_file(&file).unwrap();
        refused(&emulation, &ready, &[&name, what, "No such file"]);
        fs::write(&file, &whole).unwrap();
    }
    start_saved(&emulation, &ready, &file).unwrap();
}

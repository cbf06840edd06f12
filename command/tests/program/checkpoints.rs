//! Checkpoints as files: whose they are, where they go, and the files that their scenarios name.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::resume::{PHOLD, interrupted};
use crate::{Running, error_text, paceline, says, stderr};

#[test]
fn what_is_no_checkpoint_of_this_program_is_reported_as_what_it_is() {
    let folder = interrupted();
    let whole = fs::read(folder.path().join("phold.checkpoint")).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&header(&whole)).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut new = header.clone();
        change(&mut new);
        with_header(&whole, new.to_string().as_bytes())
    };
    let mut older = whole.clone();
    older[8] = 1;
    let cases: [(Vec<u8>, &[&str]); 14] = [
        (
            changed(&|header| header["program"] = "ring".into()),
            &["of another program, ring 0.1.0", "`ring resume bad`"],
        ),
        (
            changed(&|header| header["kind"] = "Ring".into()),
            &["of the model Ring", "allowed: phold, traffic"],
        ),
        (
            changed(&|header| {
                header["source"]["text"] =
                    "[model]\nkind = \"phold\"\nlsp = 3\n[run]\nuntil = \"1s\"\n".into()
            }),
            &["a checkpoint of paceline 0.1.0, model phold", "does not take", "`lsp`"],
        ),
        (
            with_header(&whole, header["source"].to_string().replace("phold", "Ring").as_bytes()),
            &["does not say of which program it is", "whose scenario is none of paceline", "\"Ring\""],
        ),
        (with_header(&whole, b"mine"), &["without a scenario", "uses the engine directly"]),
        (with_header(&whole, b""), &["without a scenario"]),
        (older, &["format 1, of an older version"]),
        (b"".to_vec(), &["is cut short: 0 bytes"]),
        (b"# comment\n[model]\n".to_vec(), &["`paceline run bad` for a scenario"]),
        (b"\x1f\x8b\x08\x00".to_vec(), &["it seems to be compressed by gzip"]),
        (b"{\"model\": \"phold\"}".to_vec(), &["it seems to be JSON"]),
        (b"\x7fELF\x02".to_vec(), &["it seems to be a program"]),
        (b"\x28\xb5\x2f\xfd".to_vec(), &["it seems to be compressed by zstd"]),
        (b"PACE".to_vec(), &["is cut short: 4 bytes"]),
    ];
    for (content, words) in cases {
        fs::write(folder.path().join("bad"), content).unwrap();
        let message = error_text(folder.path(), &["resume", "bad", "--out", "out"], 2);
        assert!(
            message.starts_with("error: bad: ") && words.iter().all(|word| message.contains(word)),
            "{words:?}: {message}"
        );
        assert!(!message.contains("unknown key `lps`"), "{message}");
    }
    let output = paceline(folder.path(), &["resume", "."]);
    assert!(
        output.status.code() == Some(2) && stderr(&output).contains(".: cannot be read"),
        "{}",
        stderr(&output)
    );
    // One from before headers said of which program they are is read as before.
    fs::write(folder.path().join("older"), with_header(&whole, header["source"].to_string().as_bytes()))
        .unwrap();
    let output = paceline(
        folder.path(),
        &["resume", "older", "--quiet", "--set", "run.until=20000s", "--set", "run.checkpoint=1h"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    // A wrong value in `--set` is reported as a mistake.
    let output = paceline(folder.path(), &["resume", "phold.checkpoint", "--set", "run.threds=2"]);
    says(&stderr(&output), &["--set run.threds=2: unknown key `threds` in [run]"]);
    assert!(!folder.path().join("out").exists(), "nothing is written");
}

/// What stands in front of a checkpoint.
fn header(checkpoint: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(checkpoint[12..20].try_into().unwrap()) as usize;
    checkpoint[28..28 + length].to_vec()
}

/// The same checkpoint with something else in front.
fn with_header(checkpoint: &[u8], new: &[u8]) -> Vec<u8> {
    let body = &checkpoint[28 + header(checkpoint).len()..checkpoint.len() - 8];
    let mut opening = checkpoint[..28].to_vec();
    opening[12..20].copy_from_slice(&(new.len() as u64).to_le_bytes());
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    [new, body, &opening].iter().for_each(|part| hasher.update(part));
    [&opening, new, body, &hasher.digest().to_le_bytes()].concat()
}

#[test]
fn a_run_can_be_continued_in_more_than_one_way_and_its_checkpoint_stays() {
    let folder = interrupted();
    // From elsewhere, without the scenario.
    fs::remove_file(folder.path().join("phold.toml")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = folder.path().join("phold.checkpoint");
    let before = fs::read(&file).unwrap();
    let resume = |file: &Path, more: &[&str]| {
        let output =
            paceline(elsewhere.path(), &[&["resume", file.to_str().unwrap(), "--json"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let digests = ["20000s", "40000s", "20000s"].map(|until| {
        let summary = resume(&file, &["--set", &format!("run.until={until}")]);
        assert!(
            summary["events_resumed"].as_u64() > Some(0) && summary["checkpoints"].as_u64() > Some(0),
            "{summary}"
        );
        assert!(fs::read(&file).unwrap() == before, "another horizon is another run");
        summary["digest"].clone()
    });
    assert_eq!(digests[0], digests[2], "twice from the same place");
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // The run that was killed may have been writing its next one.
        .filter(|name| !name.ends_with(".unfinished"))
        .collect();
    names.sort();
    assert_eq!(names, ["phold.checkpoint", "phold.until-20000s.checkpoint", "phold.until-40000s.checkpoint"]);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    // A branch of a branch, which comes to where the other has.
    let branch = folder.path().join("phold.until-20000s.checkpoint");
    assert_eq!(resume(&branch, &["--set", "run.until=40000s"])["digest"], digests[1]);
    // Where it is said: in a folder, in a file, in the same file.
    resume(&file, &["--set", "run.until=20000s", "--out", "out"]);
    assert!(elsewhere.path().join("out/phold.checkpoint").exists() && fs::read(&file).unwrap() == before);
    resume(&file, &["--set", "run.until=20000s", "--checkpoint", "own"]);
    assert!(elsewhere.path().join("own").exists() && fs::read(&file).unwrap() == before);
    // By a link to it, the folder of --out is where it is.
    fs::create_dir(elsewhere.path().join("links")).unwrap();
    std::os::unix::fs::symlink(&file, elsewhere.path().join("links/phold.checkpoint")).unwrap();
    resume(&file, &["--set", "run.until=30000s", "--out", "links"]);
    assert!(elsewhere.path().join("links/phold.until-30000s.checkpoint").exists());
    assert!(fs::read(&file).unwrap() == before);
    resume(&file, &["--set", "run.until=20000s", "--checkpoint", file.to_str().unwrap()]);
    assert!(fs::read(&file).unwrap() != before, "its user has said so");
}

#[test]
fn a_run_that_is_continued_unchanged_goes_on_with_its_checkpoint() {
    let folder = interrupted();
    let file = folder.path().join("phold.checkpoint");
    let before = fs::read(&file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder.path()).args([
        "resume",
        "phold.checkpoint",
        "--quiet",
        "--set",
        "run.threads=1",
    ]);
    let mut child = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    while fs::read(&file).unwrap() == before {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is killed");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path().join("phold.until-300d.checkpoint").exists());
    // A new run of the same scenario starts again there; that of another one says what it replaces.
    let printed = |more: &[&str]| {
        let run = ["run", "phold.toml", "--quiet", "--set", "run.checkpoint=1h"];
        let output = paceline(folder.path(), &[&run[..], more].concat());
        assert!(output.status.success());
        stderr(&output)
    };
    let printed = printed(&["--set", "run.until=10s"]);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(
        printed.starts_with(
            "warning: phold.checkpoint is a checkpoint of another run, of phold.toml with seed 1 until "
        ),
        "{printed}"
    );
}

#[test]
fn names_of_checkpoints_and_scenarios_may_be_of_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = |bytes: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(bytes));
    fs::create_dir(name(b"ordn\xe9")).unwrap();
    fs::write(name(b"ordn\xe9/caf\xe9.toml"), PHOLD).unwrap();
    let run = |arguments: &[&std::ffi::OsStr]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.current_dir(folder.path()).args(arguments).output().unwrap()
    };
    let bytes = std::ffi::OsStr::from_bytes;
    let ran = run(&[bytes(b"run"), bytes(b"ordn\xe9/caf\xe9.toml"), bytes(b"--json")]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert!(name(b"caf\xe9.checkpoint").exists(), "named after the scenario");
    for processes in [b"1", b"2"] {
        let resume = [
            bytes(b"resume"),
            bytes(b"caf\xe9.checkpoint"),
            bytes(b"--json"),
            bytes(b"--processes"),
            bytes(processes),
        ];
        let resumed = run(&[&resume[..], &[bytes(b"--set"), bytes(b"run.until=3000s")]].concat());
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        assert!(name(b"caf\xe9.until-3000s.checkpoint").exists());
        let summary: serde_json::Value = serde_json::from_slice(&resumed.stdout).unwrap();
        assert!(summary["events_resumed"].as_u64() > Some(0), "{summary}");
    }
    let odd = run(&[
        bytes(b"run"),
        bytes(b"ordn\xe9/caf\xe9.toml"),
        bytes(b"--quiet"),
        bytes(b"--checkpoint"),
        bytes(b"\xff\xfe"),
    ]);
    assert!(odd.status.success() && name(b"\xff\xfe").exists(), "{}", stderr(&odd));
}

/// Scenarios that name files: the name and text of each, and those of a file.
const WITH_FILES: [(&str, &str, &str, &str); 3] = [
    ("city.toml", CITY, "net.tntp", NET),
    ("city.toml", CITY, "trips.tntp", TRIPS),
    ("moves.toml", MOVES, "moves.txt", MOVEMENTS),
];

const CITY: &str = "[model]\nkind = \"traffic\"\nnetwork = \"data/net.tntp\"\ntrips = \"data/trips.tntp\"\n\
    [run]\nuntil = \"60min\"\ncheckpoint = \"1ms\"\nprotocol = \"window\"\n";
const NET: &str = "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 2\n<FIRST THRU NODE> 1\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n\
    ~ init term capacity length fft b power speed toll type\n1 2 3600 1 1 0.15 4 60 0 1 ;\n2 1 3600 1 1 0.15 4 60 0 1 ;\n";
const TRIPS: &str = "<NUMBER OF ZONES> 2\n<TOTAL OD FLOW> 4000\n<END OF METADATA>\nOrigin 1\n 2 : 2000;\nOrigin 2\n 1 : 2000;\n";
const MOVES: &str = "[model]\nkind = \"wireless\"\ntrace = \"data/moves.txt\"\nformat = \"setdest\"\nsteps = 200\nregions = 2\n\
    range = 100\n[run]\ncheckpoint = \"1ms\"\nprotocol = \"window\"\n";
const MOVEMENTS: &str = "$node_(0) set X_ 10.0\n$node_(0) set Y_ 20.0\n$node_(1) set X_ 60.0\n$node_(1) set Y_ 20.0\n\
    $ns_ at 1.0 \"$node_(0) setdest 50.0 60.0 1.0\"\n";

#[test]
fn a_changed_input_file_is_refused_by_its_name() {
    for (scenario, text, file, content) in WITH_FILES {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join(scenario), text).unwrap();
        for (name, content) in [("net.tntp", NET), ("trips.tntp", TRIPS), ("moves.txt", MOVEMENTS)] {
            fs::write(folder.path().join("data").join(name), content).unwrap();
        }
        // The first signal to end leaves a checkpoint, if it is not sent before the program watches for it.
        let checkpoint = scenario.replace(".toml", ".checkpoint");
        let found = (1..20).any(|patience| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
            command.current_dir(folder.path()).args(["run", scenario, "--quiet"]).stdout(Stdio::null());
            let mut child = Running::start(command.stderr(Stdio::null()));
            std::thread::sleep(Duration::from_millis(20 * patience));
            crate::send(&child, rustix::process::Signal::INT);
            child.wait().unwrap();
            folder.path().join(&checkpoint).exists()
        });
        assert!(found, "{scenario}: a run that is interrupted leaves a checkpoint");
        let resume = || paceline(folder.path(), &["resume", &checkpoint, "--quiet"]);
        let path = folder.path().join("data").join(file);
        fs::write(&path, format!("{content}\n")).unwrap();
        let message = stderr(&resume());
        assert!(message.contains(&format!("data/{file} has changed since the run began")), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        fs::write(&path, content).unwrap();
        assert!(resume().status.success(), "{}", stderr(&resume()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn processes_whose_input_files_differ_do_not_run_together() {
    use crate::together::{Started, secret, until};
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("city.toml"), CITY).unwrap();
    fs::write(folder.path().join("data/net.tntp"), NET).unwrap();
    fs::write(folder.path().join("data/trips.tntp"), TRIPS).unwrap();
    secret(folder.path(), "secret", "sixteen bytes and more");
    let options = ["--processes", "2", "--wait", "--secret", "secret"];
    let mut first =
        Started::new(folder.path(), "first", &[&["run", "city.toml", "--json"], &options[..]].concat());
    let address = until("it says where to join", || {
        let printed = first.stderr();
        let line = printed.lines().find(|line| line.starts_with("Waiting for 1 more"))?.to_owned();
        printed.ends_with('\n').then(|| line.rsplit(' ').next().unwrap().to_owned())
    });
    // Both are sound, of the same length, and of the same number of LPs.
    fs::write(folder.path().join("data/net.tntp"), NET.replace("1 2 3600 1 1", "1 2 3600 2 1")).unwrap();
    let mut second = Started::new(folder.path(), "second", &["join", &address, "--secret", "secret"]);
    assert_eq!(
        (first.status(), second.status().is_some_and(|status| status != 0)),
        (Some(2), true),
        "{}",
        first.stderr()
    );
    assert!(first.stderr().contains("another input file data/net.tntp"), "{}", first.stderr());
}

//! Replications: each is the run of its seed, however many run at once, and what they say together is the
//! statistics of those runs.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::{Running, folder_of, paceline, says, stderr, stdout};
use serde_json::Value;

const PHOLD: &str = r#"[model]
kind = "phold"
lps = 32
messages_per_lp = 1.5

[run]
until = "20s"
seed = 7
"#;

/// The message's second hop goes beyond the end of the clock if the random parts of its two delays are long.
const FAR: &str = r#"[model]
kind = "phold"
lps = 1
lookahead = "106700d"
mean = "50d"

[run]
until = "213400d"
protocol = "sequential"
"#;

const RING: &str = r#"[model]
kind = "chord"
peers = 20

[run]
until = "5s"
"#;

fn folder(text: &str) -> tempfile::TempDir {
    folder_of(&[("some.toml", text)])
}

fn replicate(folder: &Path, options: &[&str]) -> Output {
    let arguments: Vec<&str> = ["replicate", "some.toml"].iter().chain(options).copied().collect();
    paceline(folder, &arguments)
}

fn json(folder: &Path, options: &[&str]) -> Value {
    let output = replicate(folder, &[&["--json"], options].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
}

/// What `paceline run` says with this seed.
fn run(folder: &Path, seed: &str) -> Value {
    let seed = format!("run.seed={seed}");
    let output = paceline(folder, &["run", "some.toml", "--json", "--set", &seed]);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_replication_is_the_run_of_its_seed_whatever_runs_beside_it() {
    for (text, protocols) in [
        (PHOLD, &["auto", "sequential", "window", "null-message", "optimistic"][..]),
        // Runs of processes have no protocol.
        (RING, &[""][..]),
    ] {
        let folder = folder(text);
        let first: u64 = if text == PHOLD { 7 } else { 1 };
        let expected: Vec<_> = (first..first + 5).map(|seed| run(folder.path(), &seed.to_string())).collect();
        for protocol in protocols {
            let mut options = vec!["--replications", "5", "--set", "run.threads=2"];
            let protocol = format!("run.protocol={protocol}");
            if text == PHOLD {
                options.extend(["--set", &protocol]);
            }
            for at_once in ["1", "2", "5"] {
                let found = json(folder.path(), &[&options[..], &["--at-once", at_once]].concat());
                let runs = found["runs"].as_array().unwrap();
                for (found, expected) in runs.iter().zip(&expected) {
                    for key in ["seed", "digest", "results", "ended_by", "end_time_s"] {
                        assert_eq!(found[key], expected[key], "{protocol}, {at_once} at once: {key}");
                    }
                }
                assert_eq!(
                    (runs.len(), &found["completed"], &found["first_seed"]),
                    (5, &5.into(), &first.into())
                );
                assert_eq!(found["at_once"].to_string(), at_once);
            }
        }
    }
}

#[test]
fn what_they_say_together_is_the_mean_of_the_runs_and_its_interval() {
    let folder = folder(PHOLD);
    let found = json(folder.path(), &["--replications", "4"]);
    let per_lp: Vec<f64> = found["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["results"]["events_per_lp"].as_f64().unwrap())
        .collect();
    let mean = per_lp.iter().sum::<f64>() / 4.0;
    let deviation = (per_lp.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 3.0).sqrt();
    let quantity = |key: &str| found["quantities"]["events_per_lp"][key].as_f64().unwrap();
    let near = |key: &str, expected: f64| {
        assert!((quantity(key) - expected).abs() < 1e-3, "{key}: {} instead of {expected}", quantity(key));
    };
    near("mean", mean);
    near("standard_deviation", deviation);
    // t(0.975, 3) = 3.1824
    near("confidence_95_low", mean - 3.1824 * deviation / 2.0);
    near("confidence_95_high", mean + 3.1824 * deviation / 2.0);
    assert!(found["events_per_second"].as_f64() > Some(0.0) && found["wall_seconds"].as_f64() > Some(0.0));
    let one = json(folder.path(), &["--replications", "1"]);
    assert!(one["quantities"]["events"]["confidence_95_low"].is_null(), "one run has no interval: {one}");
}

#[test]
fn files_are_those_of_run_and_the_same_however_they_came() {
    let folder = folder(PHOLD);
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    for (out, at_once, threads) in [("one", "1", "run.threads=2"), ("three", "3", "run.threads=1")] {
        let page = replicate(
            folder.path(),
            &["--replications", "3", "--at-once", at_once, "--set", threads, "--out", out],
        );
        let text = stdout(&page);
        assert!(page.status.success() && page.stderr.is_empty(), "{}", stderr(&page));
        let summary = format!("{out}/summary.json");
        says(&text, &["3 of 3 replications, seeds 7 to 9", "events per lp", "events/s", "at once", &summary]);
        for seed in [7, 8, 9] {
            let digest = run(folder.path(), &seed.to_string())["digest"].as_str().unwrap().to_owned();
            assert!(text.contains(&digest), "{text} has the digest of seed {seed}");
            let alone = format!("alone-{seed}");
            let seed_key = format!("run.seed={seed}");
            paceline(folder.path(), &["run", "some.toml", "--quiet", "--set", &seed_key, "--out", &alone]);
            let (together, alone) =
                (format!("{out}/seed-{seed}/summary.json"), format!("{alone}/summary.json"));
            assert_eq!(read(&together), read(&alone));
        }
    }
    for file in ["summary.json", "replications.csv"] {
        assert_eq!(read(&format!("one/{file}")), read(&format!("three/{file}")), "{file}");
    }
    let rows = read("one/replications.csv");
    assert!(rows.starts_with("seed,ended_by,end_time_s,digest,events,messages,"), "{rows}");
    assert_eq!(rows.lines().count(), 4, "{rows}");
    let quiet = stdout(&replicate(folder.path(), &["--replications", "3", "--quiet"]));
    assert!(quiet.lines().count() == 3 && quiet.contains("some, seed 8: "), "{quiet}");
}

#[test]
fn a_replication_that_fails_is_named_and_the_others_end() {
    let folder = folder(FAR);
    let output = replicate(folder.path(), &["--replications", "12", "--json"]);
    let (message, found) = (stderr(&output), serde_json::from_slice::<Value>(&output.stdout).unwrap());
    let runs = found["runs"].as_array().unwrap();
    let (failed, ended): (Vec<&Value>, Vec<&Value>) =
        runs.iter().partition(|run| run["ended_by"] == "failed");
    assert!(!failed.is_empty() && !ended.is_empty() && runs.len() == 12, "some of both: {found}");
    assert!(ended.iter().all(|run| run["ended_by"] == "horizon"), "{found}");
    assert_eq!((found["completed"].as_u64(), output.status.code()), (Some(ended.len() as u64), Some(1)));
    assert_eq!(message.lines().count(), failed.len(), "a line for each: {message}");
    for (run, line) in failed.iter().zip(message.lines()) {
        let start = format!("error: the replication with seed {}: LP 0 at ", run["seed"]);
        assert!(line.starts_with(&start) && line.contains("beyond the end of the clock"), "{line}");
        assert!(line.ends_with(run["error"].as_str().unwrap()), "{run}: {line}");
    }
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_all_with_what_is_there() {
    use crate::send;
    use rustix::process::Signal;
    use std::process::{Command, Stdio};
    let folder = folder(PHOLD);
    // Long enough to be interrupted, and short enough to end if it cannot be.
    let long = ["--replications", "5", "--at-once", "2", "--json", "--out", "out", "--set", "run.until=300d"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["replicate", "some.toml"]).args(long).current_dir(folder.path()).stdout(Stdio::piped());
    let mut child = Running::start(&mut command);
    // Signals are handled before the folder is made.
    while !folder.path().join("out").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on until it is interrupted");
        std::thread::yield_now();
    }
    send(&child, Signal::INT);
    let output = child.wait_with_output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = found["runs"].as_array().unwrap();
    let begun = runs.iter().filter(|run| run["ended_by"] == "interrupted").count();
    assert_eq!(
        (found["completed"].as_u64(), runs.len(), &found["quantities"]),
        (Some(0), 5, &serde_json::json!({}))
    );
    assert!(begun <= 2 && runs[begun..].iter().all(|run| run["ended_by"].is_null()), "{found}");
    assert!(folder.path().join("out/summary.json").exists());
}

#[test]
fn mistakes_get_one_message_before_anything_runs() {
    let folder = folder(PHOLD);
    let machine = "[host]\ncores = 1\n[machine]\n[run]\nuntil = \"1s\"\n";
    fs::write(folder.path().join("machine.toml"), machine).unwrap();
    for (arguments, words) in [
        (&["some.toml", "--replications", "3", "--set", "model.lsp=4"][..], &["did you mean `lps`"][..]),
        (&["some.toml", "--replications", "3", "--set", "run.threads=0"], &["0 threads"]),
        (&["nowhere.toml", "--replications", "3"], &["nowhere.toml: cannot be read"]),
        (&["machine.toml", "--replications", "3"], &["`paceline machine`"]),
        (
            &["some.toml", "--replications", "3", "--set", "run.seed=9223372036854775806"],
            &["--replications 3", "9223372036854775807"],
        ),
        (
            &["some.toml", "--replications", "3", "--at-once", "2", "--set", "run.pin=true"],
            &["--at-once 2", "run.pin", "--at-once 1"],
        ),
    ] {
        let output = paceline(folder.path(), &[&["replicate", "--out", "out"], arguments].concat());
        let message = stderr(&output);
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{arguments:?}: {message}");
        words.iter().for_each(|word| assert!(message.contains(word), "{message:?} says {word:?}"));
        assert!(output.stdout.is_empty() && !folder.path().join("out").exists());
    }
    for number in ["0", "-1", "many"] {
        assert_eq!(replicate(folder.path(), &["--replications", number]).status.code(), Some(2), "{number}");
    }
    assert_eq!(replicate(folder.path(), &[]).status.code(), Some(2));
}

//! Optimistic and mixed runs of the program: their settings, what they say of rollbacks, and how they fail.

use std::fs;
use std::path::Path;

use crate::{folder_of, paceline, says, stderr, stdout};
use serde_json::Value;

/// A short lookahead, so that running ahead goes wrong often.
const PHOLD: &str = r#"[model]
kind = "phold"
lps = 64
messages_per_lp = 4
lookahead = "1ms"
mean = "1s"
remote = 0.5

[run]
until = "60s"
protocol = "optimistic"
federates = 7
threads = 2
"#;

fn folder() -> tempfile::TempDir {
    folder_of(&[("ahead.toml", PHOLD)])
}

fn run(folder: &Path, settings: &[&str]) -> Value {
    let settings = settings.iter().map(|setting| format!("--set={setting}"));
    let arguments: Vec<String> = ["run", "ahead.toml", "--json", "--out", "out"]
        .map(str::to_owned)
        .into_iter()
        .chain(settings)
        .collect();
    let output = paceline(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let printed = stderr(&output);
    // A check of rollbacks takes long, and says so.
    let is_as_it_should = printed.lines().all(|line| line.starts_with("warning: check_rollback"));
    assert!(output.status.success() && is_as_it_should, "{arguments:?}: {printed}");
    serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
}

#[test]
fn every_setting_gives_the_same_result_and_is_reported() {
    let folder = folder();
    let sequential = run(folder.path(), &["run.protocol=sequential"]);
    let file = || fs::read(folder.path().join("out/summary.json")).unwrap();
    let expected = file();
    assert_eq!(sequential["rollbacks"], Value::Null);
    for (settings, key, value) in [
        (&["run.state_saving=copy"][..], "state_saving", Value::from("copy")),
        (&["run.state_saving=undo", "run.protocol=mixed"], "state_saving", "undo".into()),
        (&["run.cancellation=lazy"], "cancellation", "lazy".into()),
        (&["run.gvt=synchronous"], "gvt", "synchronous".into()),
        (&["run.memory=64KiB"], "memory_bytes", 65536.into()),
        (&["run.memory=4096"], "memory_bytes", 4096.into()),
        (&["run.chaos=7"], "chaos", 7.into()),
        (&["run.check_rollback=true"], "processed_safely", 0.into()),
        (&["run.protocol=mixed", "run.optimistic=0.25"], "state_saving", "periodic".into()),
        (&["run.protocol=mixed", "run.optimistic=0..16"], "state_saving", "periodic".into()),
        (&["run.protocol=mixed", "run.optimistic=[\"0..4\", \"60..64\"]"], "gvt", "asynchronous".into()),
    ] {
        let summary = run(folder.path(), settings);
        assert_eq!(summary["digest"], sequential["digest"], "{settings:?}");
        assert_eq!(summary["rollbacks"][key], value, "{settings:?}: {}", summary["rollbacks"]);
        assert!(file() == expected, "{settings:?}: summary.json holds results only");
    }
}

#[test]
fn the_counts_add_up() {
    let summary = run(folder().path(), &["run.chaos=3"]);
    let rollbacks = &summary["rollbacks"];
    let number = |key: &str| rollbacks[key].as_u64().unwrap_or_else(|| panic!("{key} in {rollbacks}"));
    let committed = summary["events_committed"].as_u64().unwrap();
    assert_eq!(number("processed") - number("undone"), committed);
    assert!(number("primary") > 0 && number("undone") > 0 && number("gvt_rounds") > 0, "{rollbacks}");
    let efficiency = rollbacks["efficiency"].as_f64().unwrap();
    assert!((efficiency - committed as f64 / number("processed") as f64).abs() < 1e-9);
    let depths = rollbacks["depths"].as_array().unwrap();
    let least: u64 = depths
        .iter()
        .map(|depth| depth["least"].as_u64().unwrap() * depth["rollbacks"].as_u64().unwrap())
        .sum();
    assert!(least <= number("undone"), "{rollbacks}");
    let worst: Vec<u64> =
        rollbacks["worst_lps"].as_array().unwrap().iter().map(|lp| lp["undone"].as_u64().unwrap()).collect();
    assert!(worst.len() == 10 && worst.is_sorted_by(|one, next| one >= next), "{worst:?}");
}

#[test]
fn people_get_a_block_about_rollbacks_where_there_may_be_some() {
    let folder = folder();
    let page = |protocol: &str| {
        let protocol = format!("run.protocol={protocol}");
        stdout(&paceline(folder.path(), &["run", "ahead.toml", "--set", &protocol, "--set", "run.chaos=3"]))
    };
    for protocol in ["optimistic", "mixed"] {
        let page = page(protocol);
        says(&page, &["\nRollbacks\n", "efficiency", " % of ", "primary", "state saving periodic"]);
        // Mixed federates stay so near to GVT here that they may have nothing to roll back.
        let rolled_back = !page.contains("0 primary, 0 secondary");
        assert!(rolled_back || protocol == "mixed", "{page}");
        assert_eq!(page.contains("worst LPs"), rolled_back, "{page}");
    }
    assert!(!page("window").contains("Rollbacks"));
    let list = stdout(&paceline(folder.path(), &["list"]));
    says(&list, &["optimistic", "mixed", "copy", "periodic", "undo", "aggressive", "lazy", "synchronous"]);
    let check = stdout(&paceline(folder.path(), &["check", "ahead.toml", "--set", "run.state_saving=undo"]));
    assert!(check.contains("state saving") && check.contains("undo"), "{check}");
}

#[test]
fn an_optimistic_run_needs_no_lookahead() {
    let folder = folder();
    let zero = "model.lookahead=0s";
    let ahead = run(folder.path(), &[zero]);
    assert_eq!(ahead["digest"], run(folder.path(), &[zero, "run.protocol=sequential"])["digest"]);
}

#[test]
fn bad_settings_are_refused_at_their_place_before_anything_runs() {
    let folder = folder();
    for (line, words) in [
        (
            "state_saving = \"undoo\"",
            &["`state_saving`", "did you mean \"undo\"", "\"copy\", \"periodic\", \"undo\""][..],
        ),
        ("cancellation = \"eager\"", &["`cancellation`", "\"aggressive\", \"lazy\""]),
        ("gvt = true", &["`gvt`", "\"asynchronous\", \"synchronous\""]),
        ("memory = \"64 parsec\"", &["`memory`", "\"64 parsec\"", "64MiB"]),
        ("memory = 0", &["`memory`", "above zero"]),
        ("memory = -5", &["`memory`", "the integer -5"]),
        ("memory = 16", &["16 bytes do not hold", "of the model's 64 LPs", "at least "]),
        ("optimistic = 1.5", &["`optimistic`", "the number 1.5", "from 0 to 1"]),
        ("optimistic = \"5..5\"", &["`optimistic`", "empty range"]),
        ("optimistic = \"0..65\"", &["0..65", "64 LPs", "within \"0..64\""]),
        ("optimistic = [\"0..4\", 7]", &["`optimistic`", "an array", "the integer 7"]),
        ("check_rollback = \"yes\"", &["`check_rollback`", "true or false"]),
        ("chaos = -1", &["`chaos`", "whole number"]),
    ] {
        // The other protocols have no budget to keep.
        let protocols =
            if line == "memory = 16" { &["optimistic", "mixed"][..] } else { &["optimistic", "window"] };
        for protocol in protocols {
            let text = format!("{}{line}\n", PHOLD.replace("optimistic", protocol));
            fs::write(folder.path().join("bad.toml"), text).unwrap();
            for command in [&["check", "bad.toml"][..], &["run", "bad.toml", "--out", "out"]] {
                let output = paceline(folder.path(), command);
                let message = stderr(&output);
                assert_eq!(
                    (output.status.code(), message.lines().count()),
                    (Some(2), 1),
                    "{line}: {message}"
                );
                let column = line.find('=').unwrap() + 3;
                assert!(message.contains(&format!("bad.toml:14:{column}: ")), "{message}");
                words.iter().for_each(|word| assert!(message.contains(word), "{message:?} says {word:?}"));
                assert!(!folder.path().join("out").exists(), "nothing is written");
            }
        }
    }
}

#[test]
fn a_failure_names_the_checkpoint_before_it() {
    let folder = folder();
    // Some thousands of hops reach the end of the clock.
    let far = ["model.lookahead=1d", "model.mean=10d", "run.until=213500d", "run.checkpoint=10ms"];
    let mut arguments = vec!["run", "ahead.toml", "--quiet"];
    far.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let output = paceline(folder.path(), &arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("beyond the end of the clock"), "{message}");
    assert!(message.contains("`paceline resume ahead.checkpoint` continues from it"), "{message}");
    // It goes on, to the same end.
    let again = paceline(folder.path(), &["resume", "ahead.checkpoint", "--quiet"]);
    says(&stderr(&again), &["beyond the end of the clock"]);
    // A run that has written none names none, even where there is an older one.
    arguments.extend(["--set", "run.checkpoint=1h"]);
    let message = stderr(&paceline(folder.path(), &arguments));
    assert!(message.contains("beyond the end of the clock") && !message.contains("checkpoint"), "{message}");
}

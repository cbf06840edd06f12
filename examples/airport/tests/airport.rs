//! The program of a model that cancels events and measures states: one result however it is run, whenever it
//! is interrupted.

use std::process::{Command, Output};

use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/airport.toml");

fn airport(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_airport")).args(arguments).output().expect("the program starts")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a summary is JSON")
}

fn run(settings: &[&str]) -> Value {
    let mut arguments = vec!["run", SCENARIO, "--json"];
    arguments.extend(settings);
    json(&airport(&arguments))
}

fn results(summary: &Value) -> [&Value; 3] {
    [&summary["digest"], &summary["events"], &summary["results"]]
}

#[test]
fn aeroplanes_that_land_do_not_give_up_under_any_protocol() {
    let reference = run(&["--set", "run.protocol=sequential"]);
    let of =
        |name: &str| reference["results"][name].as_f64().unwrap_or_else(|| panic!("{name}: {reference}"));
    assert!(of("landings") > 10_000.0 && of("gave_up") > 100.0, "{reference}");
    // Who waits longer than the fuel lasts has given up, and who has priority waits less.
    let (first, second, last) =
        (of("mean_wait_out_of_fuel_s"), of("mean_wait_urgent_s"), of("mean_wait_usual_s"));
    assert!(first < last && second < last && last < 900.0, "{reference}");
    for protocol in ["window", "null-message", "optimistic", "mixed"] {
        for saving in ["copy", "periodic"] {
            let (protocol, saving) =
                (format!("run.protocol={protocol}"), format!("run.state_saving={saving}"));
            let speculates = protocol.ends_with("optimistic") || protocol.ends_with("mixed");
            let saving: &[&str] = if speculates { &["--set", &saving] } else { &[] };
            let settings = ["--set", &protocol, "--set", "run.threads=2", "--set", "run.federates=7"];
            let other = run(&[&settings[..], saving].concat());
            assert_eq!(results(&other), results(&reference), "{protocol} {saving:?}");
        }
    }
    let apart = run(&["--processes", "2", "--set", "run.threads=1", "--set", "run.protocol=window"]);
    assert_eq!(results(&apart), results(&reference));
}

#[test]
fn a_resumed_run_knows_which_events_were_cancelled() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().display().to_string();
    let settings = ["--out", &out, "--set", "run.checkpoint=1ms", "--set", "run.until=20d"];
    let whole = run(&settings);
    assert!(whole["checkpoints"].as_u64() > Some(0), "{whole}");
    let checkpoint = folder.path().join("airport.checkpoint").display().to_string();
    let settings = ["--set", "run.protocol=optimistic", "--set", "run.threads=2", "--json"];
    let resumed = json(&airport(&[&["resume", &checkpoint], &settings[..]].concat()));
    assert!(resumed["events_resumed"].as_u64() > Some(0), "{resumed}");
    assert_eq!(results(&resumed), results(&whole));
}

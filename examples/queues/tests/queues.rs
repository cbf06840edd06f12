//! The program that the library gives this model: one result however it is run, and the one that theory predicts.

use std::process::{Command, Output};

use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/queues.toml");

fn queues(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_queues")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(settings: &[&str]) -> Value {
    let mut arguments = vec!["run", SCENARIO, "--json"];
    arguments.extend(settings);
    let output = queues(&arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a summary is JSON")
}

#[test]
fn every_protocol_gives_one_result_near_that_of_erlangs_formula() {
    let reference = run(&["--set", "run.protocol=sequential"]);
    for protocol in ["window", "null-message", "optimistic", "mixed", "auto"] {
        let protocol = format!("run.protocol={protocol}");
        let other = run(&["--set", &protocol, "--set", "run.threads=2", "--set", "run.federates=7"]);
        for key in ["digest", "results", "events"] {
            assert_eq!(other[key], reference[key], "{protocol}: {key}");
        }
    }
    let apart = run(&["--processes", "2", "--set", "run.threads=1", "--set", "run.protocol=window"]);
    assert_eq!((&apart["digest"], &apart["results"]), (&reference["digest"], &reference["results"]));

    let results = &reference["results"];
    let of = |name: &str| results[name].as_f64().unwrap_or_else(|| panic!("{name} in {results}"));
    let (mean, theory) = (of("mean_wait_s"), of("mean_wait_by_theory_s"));
    assert!((mean / theory - 1.0).abs() < 0.05, "{mean} s, by theory {theory} s");
    // Little's law: who is there is who comes, by how long each stays; 17.5 s of 80 a customer are outside of all stations.
    let (rate, stay) = (100.0 / 40.0 / 0.5, mean + 48.0);
    assert!((of("mean_present") / (rate * stay) - 1.0).abs() < 0.05, "{}", of("mean_present"));
}

#[test]
fn erlangs_formula_is_that_of_the_tables() {
    // M/M/1 with a load of 0.5 waits as long as it serves; M/M/2 with a load of 1 a third of that.
    for (counters, load, wait) in [("1", "24s", 24.0), ("2", "48s", 16.0)] {
        let (counters, service) = (format!("model.counters={counters}"), format!("model.service={load}"));
        let settings =
            ["--set", &counters, "--set", &service, "--set", "model.leaving=1", "--set", "run.until=1s"];
        let arrivals = ["--set", "model.between_arrivals=48s"];
        let found = run(&[&settings[..], &arrivals].concat());
        let theory = found["results"]["mean_wait_by_theory_s"].as_f64().expect("it is a number");
        assert!((theory - wait).abs() < 1e-9, "{counters}: {theory}");
    }
}

#[test]
fn a_folder_of_results_has_the_summary_and_the_time_series() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("out").display().to_string();
    let trace = folder.path().join("trace").display().to_string();
    let short = ["--set", "run.until=1h", "--set", "run.protocol=window"];
    run(&[&["--out", &out, "--trace", &trace], &short[..]].concat());
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect("the file is there");
    let lines: Vec<_> = read("present.csv").lines().map(str::to_owned).collect();
    assert_eq!((lines[0].as_str(), lines.len()), ("time_s,present", 1 + 6), "an hour of ten minutes each");
    let summary: Value = serde_json::from_str(&read("summary.json")).expect("it is JSON");
    assert_eq!(summary["parameters"]["model"]["counters"], 3);
    assert_eq!(summary["program"], env!("CARGO_PKG_NAME"));
    assert!(std::fs::metadata(&trace).expect("the trace is there").len() > 1000);
}

#[test]
fn replications_and_checks_know_the_model() {
    let settings = ["--replications", "3", "--set", "run.until=1h", "--json"];
    let output = queues(&[&["replicate", SCENARIO], &settings[..]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&found["completed"], &found["model"]), (&3.into(), &"Network".into()), "{found}");
    assert!(found["quantities"]["mean_wait_s"]["confidence_95_low"].is_number(), "{found}");

    let same = queues(&["check", SCENARIO, "--determinism", "--events", "20000"]);
    assert!(same.status.success() && text(&same.stdout).contains("do not differ"), "{same:?}");
}

#[test]
fn a_mistake_in_a_parameter_is_told_with_its_place_and_what_is_allowed() {
    let refused = |setting: &str| {
        let output = queues(&["run", SCENARIO, "--set", setting]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        text(&output.stderr)
    };
    let unknown = refused("model.waay=5s");
    assert!(unknown.contains("unknown key `waay`") && unknown.contains("did you mean `way`?"), "{unknown}");
    let unfit = refused("model.counters=-1");
    assert!(unfit.contains("allowed: a whole number from 0 to 4294967295"), "{unfit}");
    let endless = refused("model.leaving=0.3");
    assert!(endless.contains("lines grow without end"), "{endless}");
}

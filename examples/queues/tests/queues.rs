//! The program that the library gives this model: one result however it is run, and the one that theory
//! predicts.

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
    // Little's law: who is there is who comes, by how long each stays; 17.5 s of 80 a customer are outside of
    // all stations.
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
fn a_mistake_in_a_parameter_is_reported_with_its_place_and_what_is_allowed() {
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

/// A folder with a scenario whose parameter `demand` is a file in another folder, beside the scenario.
fn with_demand() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::create_dir_all(folder.path().join("town/data")).expect("it can be made");
    let text = std::fs::read_to_string(SCENARIO).expect("it is there");
    let text = text.replace("stations = 100", "stations = 4\ndemand = \"data/demand.txt\"");
    std::fs::write(folder.path().join("town/queues.toml"), text).expect("it can be written");
    std::fs::write(folder.path().join("town/data/demand.txt"), "1\n0.5\n2\n1\n").expect("it can be written");
    folder
}

fn queues_in(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_queues");
    Command::new(program).current_dir(folder).args(arguments).output().expect("the program starts")
}

#[test]
fn an_input_file_is_seen_from_the_scenario_and_part_of_the_results_provenance() {
    let folder = with_demand();
    let run = |from: &str, scenario: &str| {
        let output = queues_in(&folder.path().join(from), &["run", scenario, "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("a summary is JSON")
    };
    // From wherever the program is started, and by a path from the root.
    let here = run("town", "queues.toml");
    let root = folder.path().join("town/queues.toml");
    for (from, scenario) in
        [(".", "town/queues.toml"), ("town/data", "../queues.toml"), (".", root.to_str().expect("UTF-8"))]
    {
        let there = run(from, scenario);
        assert_eq!(
            (&there["digest"], &there["inputs"]),
            (&here["digest"], &here["inputs"]),
            "{from}, {scenario}"
        );
    }
    assert_eq!(
        (&here["inputs"][0]["file"], &here["inputs"][0]["bytes"]),
        (&"data/demand.txt".into(), &10.into())
    );
    // Mistakes have the place of the key, or that in the file.
    for (content, expected) in [
        (None, "queues.toml:4:10: `demand` in [model]: there is no file "),
        (Some("1\n2\n"), "demand.txt: 2 lines; allowed: one for each of 4 stations"),
        (Some("1\n2\nx\n1\n"), "demand.txt:3: \"x\"; allowed: a number from 0.001 to 1000"),
    ] {
        let file = folder.path().join("town/data/demand.txt");
        match content {
            None => std::fs::remove_file(&file).expect("it is there"),
            Some(content) => std::fs::write(&file, content).expect("it can be written"),
        }
        let refused = queues_in(folder.path(), &["check", "town/queues.toml"]);
        let message = text(&refused.stderr);
        assert_eq!((refused.status.code(), message.contains(expected)), (Some(2), true), "{message}");
    }
}

#[test]
fn a_run_whose_input_file_has_changed_is_not_resumed() {
    let folder = with_demand();
    let arguments =
        ["run", "town/queues.toml", "--quiet", "--set", "run.checkpoint=1ms", "--set", "run.until=60d"];
    let ran = queues_in(folder.path(), &arguments);
    assert!(
        ran.status.success() && folder.path().join("queues.checkpoint").exists(),
        "{}",
        text(&ran.stderr)
    );
    let resume =
        || queues_in(folder.path(), &["resume", "queues.checkpoint", "--set", "run.until=61d", "--json"]);
    assert!(resume().status.success(), "{}", text(&resume().stderr));
    let file = folder.path().join("town/data/demand.txt");
    for (content, expected) in [
        ("1\n0.5\n2\n1.5\n", "has changed since the run began (10 bytes then, 12 now)"),
        ("1\n0.5\n3\n1\n", "has changed since the run began (10 bytes, as before)"),
    ] {
        std::fs::write(&file, content).expect("it can be written");
        let refused = resume();
        let message = text(&refused.stderr);
        assert_eq!((refused.status.code(), message.lines().count()), (Some(2), 1), "{message}");
        assert!(message.contains("data/demand.txt") && message.contains(expected), "{message}");
    }
    std::fs::remove_file(&file).expect("it is there");
    let message = text(&resume().stderr);
    assert!(message.contains("data/demand.txt cannot be read any more"), "{message}");
    // Back as it was, wherever the checkpoint is.
    std::fs::write(&file, "1\n0.5\n2\n1\n").expect("it can be written");
    std::fs::create_dir(folder.path().join("elsewhere")).expect("it can be made");
    std::fs::rename(folder.path().join("queues.checkpoint"), folder.path().join("elsewhere/c"))
        .expect("it is there");
    let again =
        queues_in(&folder.path().join("elsewhere"), &["resume", "c", "--set", "run.until=61d", "--json"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
}

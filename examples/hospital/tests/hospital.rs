//! One result on any number of threads and federates; what theory says of what is simple in it; and how long it is.

use std::process::{Command, Output};

use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/hospital.toml");

fn hospital(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hospital")).args(arguments).output().expect("the program starts")
}

fn json(command: &str, arguments: &[&str]) -> Value {
    let output = hospital(&[&[command, SCENARIO, "--json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn run(settings: &[&str]) -> Value {
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    json("run", &settings)
}

#[test]
fn it_has_one_result_on_any_threads_and_federates() {
    let reference = run(&["run.threads=1"]);
    for settings in [
        &["run.threads=2", "run.round=always"][..],
        &["run.federates=1", "run.threads=1"],
        &["run.federates=2", "run.threads=1"],
        &["run.federates=2", "run.threads=2"],
        &["run.federates=4", "run.threads=1"],
        &["run.federates=4", "run.threads=2"],
    ] {
        let other = run(settings);
        for key in ["digest", "results", "end_time_s"] {
            assert_eq!(other[key], reference[key], "{key} with {settings:?}");
        }
    }
    let checked = hospital(&["check", "--determinism", SCENARIO, "--events", "20000"]);
    let printed = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && printed.contains("do not differ"), "{printed}");
}

#[test]
fn who_is_urgent_waits_as_if_nobody_else_were_there() {
    // M/M/3 with a fifth of the arrivals: 15 minutes of treatment, an arrival in 30.
    let load = 0.5f64;
    let all_busy = load.powi(3) / 6.0 / (1.0 - load / 3.0);
    let wait = all_busy / (1.0 + load + load * load / 2.0 + all_busy) * 15.0 / (3.0 - load);
    let study = json("replicate", &["--replications", "20"]);
    let urgent = &study["quantities"]["mean_urgent_wait_min"];
    let value = |name: &str| urgent[name].as_f64().expect("it is measured");
    // 99.9 %, by Student's t with 19 degrees of freedom.
    let half_width = 3.883 * value("standard_deviation") / 20f64.sqrt();
    assert!((value("mean") - wait).abs() < half_width, "{urgent} and {wait}");
    // A wait that is a quarter longer is found out.
    assert!(half_width < 0.25 * wait, "{half_width} says nothing");
    // The interval of each run, by batch means, is about as wide as that of the study says.
    let stays = &study["quantities"];
    let [within, between] =
        [&stays["half_width_stay_min"]["mean"], &stays["mean_stay_min"]["standard_deviation"]]
            .map(|value| value.as_f64().expect("it is measured"));
    assert!(
        (0.5..2.0).contains(&(within / (2.09 * between))),
        "{within} within runs, {between} between them"
    );
}

#[test]
fn it_is_short() {
    let both = [include_str!("../src/main.rs"), include_str!("../hospital.toml")].concat();
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("# ");
    let lines = both.lines().map(str::trim).filter(is_code).count();
    assert!(lines <= 90, "{lines} lines of program and scenario, without comments");
}

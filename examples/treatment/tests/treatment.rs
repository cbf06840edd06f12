//! The published results, within the intervals of both, and one result however it is run.

use std::process::{Command, Output};

use serde_json::Value;

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/treatment.toml");
const REPLICATIONS: u32 = 200;

fn treatment(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_treatment")).args(arguments).output().expect("the program starts")
}

fn json(arguments: &[&str]) -> Value {
    let output = treatment(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// The quantities of replications with these changes of the scenario.
fn replicated(changes: &[&str]) -> Value {
    let replications = REPLICATIONS.to_string();
    let changes = changes.iter().flat_map(|change| ["--set", change]);
    let arguments = ["replicate", SCENARIO, "--json", "--replications", &replications];
    json(&arguments.into_iter().chain(changes).collect::<Vec<_>>())["quantities"].clone()
}

/// Means of so many published replications are means of the same model as ours, with a confidence of 99.9 %.
fn assert_published(quantities: &Value, published: &[(&str, f64)], replications: u32) {
    for (name, mean) in published {
        let [ours, deviation] =
            ["mean", "standard_deviation"].map(|key| quantities[name][key].as_f64().expect("it is measured"));
        let both = 1.0 / f64::from(REPLICATIONS) + 1.0 / f64::from(replications);
        let most = 3.29 * deviation * both.sqrt();
        assert!((ours - mean).abs() < most, "{name}: {ours} beside {mean}, which may be {most} apart");
        // And a model in which patients wait half as long again is found out.
        assert!(most < 0.5 * mean.max(12.0), "{name}: {most} says nothing");
    }
}

#[test]
fn the_published_results_are_within_their_intervals() {
    // The summary of 50 replications, section 9.2 of the published model.
    let published = [
        ("arrivals", 227.84),
        ("mean_triage_wait_min", 34.63),
        ("mean_registration_wait_min", 105.67),
        ("mean_examination_wait_min", 24.79),
        ("mean_treatment_wait_min", 131.76),
        ("mean_other_stay_min", 230.43),
        ("mean_stabilisation_wait_min", 135.77),
        ("mean_trauma_treatment_wait_min", 175.30),
        ("mean_trauma_stay_min", 399.90),
        ("discharged", 154.66),
    ];
    assert_published(&replicated(&[]), &published, 50);
}

#[test]
fn what_another_room_changes_is_as_published() {
    // Table 3 of the published model, 20 replications of each.
    let names = [
        "mean_triage_wait_min",
        "mean_registration_wait_min",
        "mean_examination_wait_min",
        "mean_treatment_wait_min",
    ];
    for (changes, means) in [
        (&["model.triage=2"][..], [1.09, 138.79, 24.15, 139.98]),
        (&["model.examination=4"], [36.46, 106.27, 0.13, 151.82]),
        (&["model.cubicles=2"], [39.36, 108.46, 23.03, 2.26]),
        (&["model.triage=2", "model.examination=4"], [1.14, 140.14, 0.15, 152.09]),
    ] {
        let published: Vec<_> = names.into_iter().zip(means).collect();
        assert_published(&replicated(changes), &published, 20);
    }
}

#[test]
fn it_has_one_result_however_it_is_run() {
    let reference = json(&["run", SCENARIO, "--json", "--set", "run.threads=1"]);
    for settings in
        [&["run.threads=2", "run.round=always"][..], &["run.federates=1"], &["run.context=coroutine"]]
    {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let other = json(&["run", SCENARIO, "--json"].into_iter().chain(settings).collect::<Vec<_>>());
        for key in ["digest", "results", "end_time_s"] {
            assert_eq!(other[key], reference[key], "{key}");
        }
    }
    let checked = treatment(&["check", "--determinism", SCENARIO]);
    let printed = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && printed.contains("do not differ"), "{printed}");
}

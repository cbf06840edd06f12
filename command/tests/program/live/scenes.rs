//! Pages of what is no run: each shows what its command is at, answers what it can, refuses the rest by name,
//! and leaves results as they are.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::client::Page;
use super::{PHOLD, digest};
use crate::{folder_of, paceline, stderr};

pub const MACHINE: &str = r#"# Eight federates and a load on two PCPUs
[machine]
until = "200s"

[policy]
kind = "credit"

[host]
pcpus = 2

[[domain]]
name = "fed"
count = 8
workload = "federate"
horizon = "60s"

[[domain]]
name = "load"
workload = "hog"
busy = "3ms"
idle = "3ms"

[model]
kind = "phold"
lps = 64
messages_per_lp = 4
"#;

const STUDY: &str = r#"[study]
scenario = "phold.toml"
replications = 6
metrics = ["events per lp"]

[factors]
model.lps = [8, 16]
"#;

/// The answer to a request, whose status must be this one.
#[track_caller]
fn ask(page: &Page, request: &str, status: u16, words: &[&str]) -> String {
    let (found, said) = page.post(request);
    assert_eq!(found, status, "{request}: {said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{request}: {said:?} says {word:?}"));
    said
}

/// What a command prints as JSON without a page.
#[track_caller]
fn without_page(folder: &Path, arguments: &[&str]) -> Value {
    let output = paceline(folder, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The members of a summary that do not depend on how fast it was made.
fn lasting(mut summary: Value) -> Value {
    let keys = summary.as_object_mut().expect("an object");
    ["wall_seconds", "peak_memory_bytes"].iter().for_each(|key| drop(keys.remove(*key)));
    summary
}

#[test]
fn a_machine_shows_who_runs_where_and_is_taken_turn_by_turn() {
    let folder = folder_of(&[("machine.toml", MACHINE)]);
    let expected = without_page(folder.path(), &["machine", "machine.toml", "--json"]);
    let page = Page::start(folder.path(), &["machine", "machine.toml", "--json", "--live", "--paused"]);
    ask(&page, "status", 200, &["machine: Machine time 0 s", "Turns of VCPUs 0"]);
    ask(&page, "step", 200, &["machine: ", " leaves PCPU ", " after "]);
    ask(&page, "step", 200, &["leaves PCPU"]);
    ask(&page, "status", 200, &["Turns of VCPUs 2"]);
    let refused =
        &["policy credit, which does not answer \"window\"; allowed: status, pause, go, step, pace"];
    ask(&page, "window", 422, refused);
    ask(&page, "stop", 422, &["allowed: status, pause"]);
    ask(&page, "pace 0", 422, &["allowed: a number above 0"]);
    ask(&page, "pace 10", 200, &["10 simulated seconds a second"]);
    let mut frames = page.events();
    let now = frames.until("now");
    assert_eq!(
        (&now["paused"], &now["can"]),
        (&true.into(), &json!(["pause", "go", "step", "pace"])),
        "{now}"
    );
    ask(&page, "go", 200, &["goes on"]);
    ask(&page, "pause", 200, &["paused at"]);
    ask(&page, "pace free", 200, &[]);
    ask(&page, "go", 200, &[]);
    let last = frames.until_end();
    assert_eq!(lasting(page.finish()), lasting(expected.clone()), "a page changes nothing");
    let (now, lanes) = (&last["now"], &last["lanes"]);
    let names = now["herd"]["names"].as_array().expect("domains");
    assert_eq!((names.len(), &names[0]), (8, &json!("fed-0")), "those that have LVTs");
    assert_eq!(lanes["lanes"], json!(["PCPU 0", "PCPU 1"]));
    let spans = lanes["spans"].as_array().expect("spans");
    assert!(spans.len() > 100 && spans.iter().all(|place| place.as_u64() <= Some(4000)), "{lanes}");
    let end = expected["machine_time_s"].as_f64().expect("a time");
    assert!((lanes["to"].as_f64().expect("a time") - end).abs() < 0.01 * end, "{lanes}");
    let messages: u64 =
        last["matrix"]["counts"].as_array().expect("counts").iter().filter_map(Value::as_u64).sum();
    assert!(messages > 1000, "federates send to each other");
    assert!(last["curves"].as_str().is_some_and(|curves| curves.contains("Spread of LVTs")));
}

#[test]
fn replications_show_their_means_so_far_and_stop() {
    let folder = folder_of(&[("phold.toml", PHOLD)]);
    let command = ["replicate", "phold.toml", "--replications", "8", "--at-once", "2", "--json"];
    // Long enough to be listened to before they have ended.
    let longer = ["--set", "run.until=6000s", "--set", "run.threads=1"];
    let arguments = [&command[..], &longer].concat();
    let expected = without_page(folder.path(), &arguments);
    let page = Page::start(folder.path(), &[&arguments[..], &["--live"]].concat());
    let last = page.events().until_end();
    let summary = page.finish();
    for key in ["runs", "quantities"] {
        let digests = |summary: &Value| match &summary[key] {
            Value::Array(runs) => runs.iter().map(|run| run["digest"].clone()).collect(),
            other => other.clone(),
        };
        assert_eq!(digests(&summary), digests(&expected), "{key}");
    }
    let table = &last["tables"][0];
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), summary["quantities"].as_object().expect("quantities").len(), "{table}");
    assert!(rows.iter().all(|row| row[1] == "8"), "all have ended: {table}");
    let curves = last["curves"].as_str().expect("curves");
    assert!(curves.contains("replications") && curves.contains("<svg"), "the interval as it narrows");
    assert_eq!((&last["now"]["done"], &last["now"]["ended"]), (&json!(1.0), &true.into()));

    let endless = [&command[..], &["--set", "run.until=300d", "--live"]].concat();
    let page = Page::start(folder.path(), &endless);
    let now = page.events().until("now");
    assert_eq!(now["can"], json!(["stop"]));
    let refused = &["8 replications of a run", "does not answer \"pause\"; allowed: status, stop"];
    ask(&page, "pause", 422, refused);
    ask(&page, "stop", 200, &["all replications stop"]);
    // As after Ctrl-C.
    assert_eq!(page.finish_with(130)["completed"], 0);
}

#[test]
fn a_study_shows_its_points_and_stops_to_be_continued() {
    let folder = folder_of(&[("phold.toml", PHOLD), ("some.toml", STUDY)]);
    let of = |out: &'static str| ["study", "some.toml", "--json", "--at-once", "2", "--out", out];
    // Long enough to be listened to before they have ended.
    let longer = ["--set", "set.run.until=60000s"];
    without_page(folder.path(), &[&of("plain")[..], &longer].concat());
    let page = Page::start(folder.path(), &[&of("watched")[..], &longer, &["--live"]].concat());
    let last = page.events().until_end();
    page.finish();
    for file in ["runs.csv", "summary.json", "study.html"] {
        let [plain, watched] = ["plain", "watched"].map(|out| fs::read(folder.path().join(out).join(file)));
        assert_eq!(plain.expect("it is there"), watched.expect("it is there"), "{file}");
    }
    let table = &last["tables"][0];
    let rows = table["rows"].as_array().expect("rows").iter();
    let counts: Vec<_> =
        rows.map(|row| [&row[0], &row[1]].map(|cell| cell.as_str().expect("text"))).collect();
    assert_eq!(counts, [["8", "6"], ["16", "6"]], "{table}");
    let numbers = last["now"]["numbers"].to_string();
    assert!(numbers.contains(r#"["Runs done","12"]"#), "{numbers}");

    let endless = ["--set", "set.run.until=300d", "--live"];
    let page = Page::start(folder.path(), &[&of("stopped")[..], &endless].concat());
    let now = page.events().until("now");
    assert_eq!((&now["can"], &now["scenario"]), (&json!(["stop"]), &json!("some")), "{now}");
    ask(&page, "step", 422, &["a study of phold, which does not answer \"step\"; allowed: status, stop"]);
    ask(&page, "stop", 200, &["the same command continues it"]);
    page.finish_with(130);
}

#[cfg(target_os = "linux")]
#[test]
fn guests_are_federates_with_names() {
    if !crate::emulate::has_emulator() {
        return;
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments = ["emulate", "scenarios/emulate-ping.toml", "--json"];
    let expected = without_page(&project, &arguments);
    let page = Page::start(&project, &[&arguments[..], &["--live"]].concat());
    let last = page.events().until_end();
    assert_eq!(page.finish()["digest"], expected["digest"]);
    let herd = &last["now"]["herd"];
    let names = herd["names"].as_array().expect("names");
    let place = names.iter().position(|name| name == "alice").unwrap_or_else(|| panic!("{herd}"));
    let at = herd["lvt"][place].as_f64().expect("its time");
    assert!(at.abs() < 0.1, "the guest is where the run is: {herd}");
    assert!(last["layout"]["edges"].as_array().is_some_and(|edges| !edges.is_empty()), "its network");
}

#[test]
fn a_run_of_several_processes_says_that_one_is_shown() {
    let folder = folder_of(&[("phold.toml", PHOLD)]);
    let expected = digest(folder.path(), "phold.toml", &[]);
    let page = Page::of_run(folder.path(), "phold.toml", &["--processes", "2", "--set", "run.until=300d"]);
    let now = page.events().until("now");
    assert_eq!(now["processes"], 2, "{now}");
    ask(&page, "stop", 200, &["stops"]);
    page.finish_with(130);
    let out = ["--out", "out", "--processes", "2"];
    assert_eq!(digest(folder.path(), "phold.toml", &out), expected);
    let report = fs::read_to_string(folder.path().join("out/report.html")).expect("a report");
    assert!(report.contains("The run had 2 processes. These figures are of the first one alone"));
    digest(folder.path(), "phold.toml", &["--out", "one"]);
    let report = fs::read_to_string(folder.path().join("one/report.html")).expect("a report");
    assert!(!report.contains("of the first one alone"));
}

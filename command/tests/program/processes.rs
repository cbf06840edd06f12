//! Scenarios of processes: what is printed, that the digest depends on nothing of how they are run, and what
//! is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{error_text, folder_of, paceline, says, stderr, stdout};

const CHORD: &str = r#"# A small ring
[model]
kind = "chord"
peers = 40
starts = "lockstep"

[network]
latency = "20ms"

[run]
until = "60s"
threads = 2
"#;

const PLATFORM: &str = r#"<platform version="4.1">
  <cluster id="c" prefix="node-" suffix="" radical="0-9" speed="1Gf" bw="125MBps" lat="50us"/>
</platform>"#;

fn folder() -> tempfile::TempDir {
    folder_of(&[("ring.toml", CHORD), ("cluster.xml", PLATFORM)])
}

/// What `paceline run ring.toml --json` prints with these settings.
pub fn json(folder: &Path, settings: &[&str]) -> Value {
    let sets = settings.iter().map(|setting| format!("--set={setting}"));
    let arguments: Vec<String> =
        ["run", "ring.toml", "--json"].map(String::from).into_iter().chain(sets).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = paceline(folder, &arguments);
    assert!(output.status.success(), "{settings:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
}

#[test]
fn json_says_everything() {
    let folder = folder();
    let summary = json(folder.path(), &[]);
    let number = |key: &str| summary[key].as_f64().unwrap_or_else(|| panic!("{key} is a number: {summary}"));
    assert_eq!((&summary["model"], &summary["ended_by"]), (&"chord".into(), &"horizon".into()));
    assert_eq!((number("processes"), number("threads"), number("end_time_s")), (40.0, 2.0, 60.0));
    // Every peer looks up each 10 s, the last time at the horizon.
    assert_eq!(summary["results"]["lookups"], 240);
    assert!(
        number("messages") > 240.0
            && number("rounds") > 60.0
            && number("processes_run") >= number("messages")
    );
    assert!(number("largest_round") == 40.0, "all start at the same time");
    let share = number("parallel_share");
    assert!(share > 0.0 && share <= 1.0 && (number("amdahl_bound") - 2.0 / (2.0 - share)).abs() < 1e-9);
    for key in ["parallel_rounds", "wall_seconds", "messages_per_second", "processes_run_beside_others"] {
        assert!(number(key) >= 0.0);
    }
}

#[test]
fn the_digest_depends_on_nothing_of_how_it_is_run() {
    let folder = folder();
    // The latency of a constant network has no meaning for flows.
    fs::write(folder.path().join("ring.toml"), CHORD.replace("latency = \"20ms\"\n", "")).unwrap();
    for network in [&[][..], &["network.model=lv08", "network.platform=cluster.xml"]] {
        let digest = |settings: &[&str]| {
            let all: Vec<&str> = network.iter().chain(settings).copied().collect();
            json(folder.path(), &all)["digest"].as_str().unwrap().to_owned()
        };
        let reference = digest(&["run.threads=1"]);
        for (round, coordination, waiting, context) in [
            ("auto", "works", "futex", "thread"),
            ("always", "works", "condition", "coroutine"),
            ("always", "works", "condition", "future"),
            ("static:2", "sleeps", "futex", "thread"),
            ("adaptive5", "extra", "busy", "future"),
            ("never", "works", "futex", "future"),
        ] {
            let settings = [
                "run.threads=3".to_owned(),
                format!("run.round={round}"),
                format!("run.coordination={coordination}"),
                format!("run.waiting={waiting}"),
                format!("run.context={context}"),
            ];
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            assert_eq!(digest(&settings), reference, "{network:?} {settings:?}");
        }
        for (federates, context) in [(1, "future"), (4, "future"), (10, "coroutine")] {
            let settings = [format!("run.federates={federates}"), format!("run.context={context}")];
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            assert_eq!(digest(&settings), reference, "{network:?} {settings:?}");
        }
        assert_ne!(digest(&["run.seed=2"]), reference);
    }
}

/// Whatever model of processes: those that act without delay have one federate, and say so, with what to
/// change.
#[test]
fn every_model_has_one_digest_on_any_federates_and_threads() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let folder = Path::new(scenarios);
    for (scenario, until, set, reason) in [
        ("chord.toml", "30s", "", None),
        ("farm.toml", "30s", "", Some("did not reach a worker")),
        ("farm.toml", "60s", "model.permanent_receivers=true", None),
        ("bittorrent.toml", "60s", "", Some("model.takes_back")),
        ("bittorrent.toml", "60s", "model.takes_back=false", None),
        ("master-workers.toml", "1h", "", Some("model.permanent_receivers")),
        ("master-workers.toml", "1h", "model.permanent_receivers=true", None),
        ("mpi-trace.toml", "1h", "", Some("wait for each other")),
        ("mpi-trace.toml", "1h", "model.permanent_receivers=true", None),
    ] {
        let until = format!("--set=run.until={until}");
        let set: Vec<String> = (!set.is_empty()).then(|| format!("--set={set}")).into_iter().collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let ran = |more: &[&str]| {
            let output = paceline(folder, &[&["run", scenario, "--json", &until], &set[..], more].concat());
            assert!(output.status.success(), "{scenario} {more:?}: {}", stderr(&output));
            let summary: Value = serde_json::from_slice(&output.stdout).expect("exactly one JSON object");
            ((summary["digest"].clone(), summary["results"].clone()), stderr(&output))
        };
        let (reference, _) = ran(&["--set=run.threads=1"]);
        // The least platform has three hosts.
        for federates in [1, 2, 3] {
            for threads in [1, 2] {
                let federates = format!("--set=run.federates={federates}");
                let (result, said) = ran(&[&federates, &format!("--set=run.threads={threads}")]);
                assert_eq!(result, reference, "{scenario}: {federates}, {threads} threads");
                let says = reason.map_or(!said.contains("one federate"), |reason| said.contains(reason));
                assert!(says, "{scenario} {set:?}: {said}");
            }
        }
    }
}

#[test]
fn people_are_reported_and_files_written() {
    let folder = folder();
    let output = paceline(folder.path(), &["run", "ring.toml", "--out", "results"]);
    let page = stdout(&output);
    says(
        &page,
        &[
            "ring (chord)",
            "mean hops",
            "a message",
            "Amdahl's bound",
            "digest",
            "Written: results/summary.json",
        ],
    );
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.path().join("results/summary.json")).unwrap()).unwrap();
    assert!(page.contains(summary["digest"].as_str().unwrap()) && summary.get("wall_seconds").is_none());
    let line = stdout(&paceline(folder.path(), &["run", "ring.toml", "--quiet"]));
    assert!(line.starts_with("ring: ") && line.contains(" messages, horizon, digest "), "{line}");
    let sound = stdout(&paceline(folder.path(), &["check", "ring.toml"]));
    assert!(sound.starts_with("ring.toml is sound") && sound.contains("processes  40"), "{sound}");
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let folder = folder();
    let printed = |settings: &[&str]| {
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["run", "ring.toml"].into_iter().chain(sets).collect();
        let output = paceline(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{settings:?}");
        stderr(&output)
    };
    for (settings, parts) in [
        (&["model.peers=0"][..], &["a ring of 0 peers", "a whole number from 1 to 50000000"][..]),
        (&["model.bits=3"], &["keys of 3 bits for 40 peers", "from 7 to 62"]),
        (&["model.lookup=0s"], &["without end", "above zero"]),
        (&["model.leave=1.5"], &["a share of 1.5", "from 0 to 1"]),
        (&["model.join=0.5"], &["no time to do it", "a duration above zero"]),
        (&["model.bytes=-1"], &["messages of -1 bytes"]),
        (&["run.threads=0"], &["a run on 0 threads"]),
        (&["run.federates=0"], &["a run on 0 federates", "from 1 to 40, the number of hosts"]),
        (&["run.federates=41"], &["a run on 41 federates"]),
        (&["run.round=often"], &["`round` in [run] cannot be", "\"static:N\""]),
        (&["run.context=stack"], &["context", "future"]),
        (&["run.protocol=window"], &["protocol"]),
        (&["run.checkpoint=10s"], &["a checkpoint of processes", "no such key"]),
        (&["run.warm_up=60s"], &["leaves nothing to measure", "a time before"]),
        (&["network.model=cm02", "network.latency=1s"], &["no platform says which"]),
        (&["network.model=cm02", "network.platform=ring.toml"], &["ring.toml"]),
        (&["network.model=wifi"], &["constant", "lv08"]),
    ] {
        let message = printed(settings);
        assert!(message.starts_with("error: ") && message.lines().count() == 1, "{settings:?}: {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{settings:?}: {message}");
    }
    let output = paceline(folder.path(), &["run", "ring.toml", "--trace", "nowhere/t.perfetto-trace"]);
    assert!(
        output.status.code() == Some(1) && stderr(&output).contains("cannot write nowhere/t.perfetto-trace")
    );
    let output = paceline(folder.path(), &["check", "ring.toml", "--determinism"]);
    let said = stdout(&output);
    assert!(output.status.success() && said.contains("do not differ"), "{said}{}", stderr(&output));
}

#[test]
fn an_mpi_trace_is_replayed_and_its_mistakes_reported() {
    let folder = folder();
    let scenario = "[model]\nkind = \"mpi-trace\"\ntrace = \"two.txt\"\n[network]\nlatency = \"1s\"\n";
    fs::write(folder.path().join("ring.toml"), scenario).unwrap();
    fs::write(folder.path().join("two.txt"), "0 compute 2e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n").unwrap();
    let summary = json(folder.path(), &["run.threads=1"]);
    assert_eq!((&summary["model"], &summary["ended_by"]), (&"mpi-trace".into(), &"processes".into()));
    assert_eq!((&summary["end_time_s"], &summary["results"]["ranks_at_their_end"]), (&3.0.into(), &2.into()));
    let sound = stdout(&paceline(folder.path(), &["check", "ring.toml"]));
    assert!(sound.contains("the end of all processes"), "{sound}");
    fs::write(folder.path().join("two.txt"), "0 barrier\n1 compute 1\n").unwrap();
    // The processes that wait have a line each.
    let deadlock = paceline(folder.path(), &["run", "ring.toml"]);
    assert_eq!(deadlock.status.code(), Some(1));
    says(
        &stderr(&deadlock),
        &["process 0 `rank 0` on host 0 waits for a message in the mailbox of 0 for messages from 1"],
    );
    fs::write(folder.path().join("two.txt"), "0 fly\n").unwrap();
    let output = paceline(folder.path(), &["run", "ring.toml"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("two.txt:1: the action `fly`"));
}

#[test]
fn ends_of_ranks_and_what_stops_them_are_reported() {
    let folder = folder();
    let scenario = "[model]\nkind = \"mpi-trace\"\ntrace = \"list\"\n[network]\nmodel = \"cm02\"\nplatform = \"two.xml\"\n";
    let platform = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>\
        <host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"100MBps\" latency=\"0\"/>\
        <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";
    fs::write(folder.path().join("ring.toml"), scenario).unwrap();
    fs::write(folder.path().join("two.xml"), platform).unwrap();
    // A list with a byte order mark, a comment in Latin-1, a rank that ends at 0, one wait for nothing.
    fs::write(folder.path().join("list"), "\u{feff}p0\np1\n").unwrap();
    fs::write(folder.path().join("p0"), b"# n\xb0 0\n0 init\n0 finalize\n").unwrap();
    fs::write(folder.path().join("p1"), "1 compute 1e9\n1 wait 0 1 7\n").unwrap();
    let results = &json(folder.path(), &["run.threads=1"])["results"];
    assert_eq!((&results["ranks"], &results["ranks_at_their_end"]), (&2.into(), &2.into()));
    assert_eq!((&results["last_end_s"], &results["waits_for_no_request"]), (&1.0.into(), &1.into()));
    // At a horizon before any end there is no last end, not one at 0.
    fs::write(folder.path().join("p0"), "0 compute 1e9\n").unwrap();
    let results = &json(folder.path(), &["run.threads=1", "run.until=500ms"])["results"];
    assert_eq!((&results["ranks_at_their_end"], results.get("last_end_s")), (&0.into(), None));
    // A mistake is reported once, with what is allowed.
    fs::write(folder.path().join("p1"), "1 init\n1 bcast 5 0 60\n").unwrap();
    let output = paceline(folder.path(), &["run", "ring.toml"]);
    let printed = stderr(&output);
    assert!(
        printed.contains("p1:2: data type 60; allowed: a data type of SimGrid from 0 to 59"),
        "{printed}"
    );
    assert_eq!((output.status.code(), printed.matches("allowed:").count()), (Some(2), 1), "{printed}");
    // What fails ends the run, and is named rather than the ranks that wait for it.
    fs::write(folder.path().join("p0"), "0 isend 1 5 1e8\n0 wait 0 1 5\n0 barrier\n").unwrap();
    fs::write(folder.path().join("p1"), "1 recv 0 5 1e8\n1 compute 1e9\n1 barrier\n").unwrap();
    fs::write(
        folder.path().join("two.xml"),
        platform.replace("latency=\"0\"", "latency=\"0\" state_file=\"off\""),
    )
    .unwrap();
    fs::write(folder.path().join("off"), "0.5 0\n").unwrap();
    let output = paceline(folder.path(), &["run", "ring.toml"]);
    let printed = stderr(&output);
    says(&printed, &["rank 0 cannot continue at 0.5s: `wait 0 1 5`: a link on the way is off"]);
    assert_eq!(output.status.code(), Some(1));
}

const MASTER: &str = r#"<platform version="4.1">
  <actor host="node-0" function="master">
    <argument value="6"/> <argument value="1e9"/> <argument value="0"/> <argument value="node-1"/> <argument value="node-2"/>
  </actor>
  <actor host="node-1" function="worker" on_failure="RESTART"/>
  <actor host="node-2" function="worker" start_time="2"/>
</platform>"#;

#[test]
fn a_deployment_places_masters_and_workers_and_its_mistakes_are_reported() {
    let folder = folder();
    let scenario = "[model]\nkind = \"master-workers\"\ndeployment = \"d.xml\"\n[network]\nmodel = \"cm02\"\nplatform = \"cluster.xml\"\n";
    fs::write(folder.path().join("ring.toml"), scenario).unwrap();
    fs::write(folder.path().join("d.xml"), MASTER).unwrap();
    let summary = json(folder.path(), &["run.threads=1"]);
    assert_eq!((&summary["model"], &summary["processes"]), (&"master-workers".into(), &3.into()));
    assert_eq!(
        (&summary["results"]["tasks_done"], &summary["results"]["tasks_lost"]),
        (&6.into(), &0.into())
    );
    // The second worker begins after 2 s and computes for 3 s.
    let end_s = summary["end_time_s"].as_f64().unwrap();
    assert!((5.0..5.1).contains(&end_s), "{end_s}");
    assert_eq!(json(folder.path(), &["run.threads=2", "run.context=coroutine"])["digest"], summary["digest"]);
    for (from, to, parts) in [
        (
            "\"worker\" on",
            "\"boss\" on",
            &["d.xml:5:3", "there is no function `boss`", "master with arguments"][..],
        ),
        ("node-2\" function", "moon\" function", &["d.xml:6:", "there is no host `moon`", "node-0"]),
        (
            "<argument value=\"node-1\"/> <argument value=\"node-2\"/>",
            "",
            &["d.xml:2:3", "a master with 3 arguments"],
        ),
        ("value=\"6\"", "value=\"-6\"", &["d.xml:2:3", "`-6` as the number of tasks", "a whole number"]),
        ("value=\"1e9\"", "value=\"inf\"", &["`inf` as the flops", "finite"]),
        (
            "start_time=\"2\"",
            "start_time=\"2\" kill_time=\"1\"",
            &["d.xml:6:", "ended at 1 s and starts at 2 s"],
        ),
    ] {
        assert!(MASTER.contains(from), "{from}");
        fs::write(folder.path().join("d.xml"), MASTER.replace(from, to)).unwrap();
        let message = error_text(folder.path(), &["run", "ring.toml"], 2);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    for (settings, part) in
        [(&["network.model=constant"][..], "has none"), (&["model.deployment=none.xml"], "none.xml")]
    {
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["run", "ring.toml"].into_iter().chain(sets).collect();
        let output = paceline(folder.path(), &arguments);
        let message = stderr(&output);
        assert!(output.status.code() == Some(2) && message.contains(part), "{message}");
    }
}

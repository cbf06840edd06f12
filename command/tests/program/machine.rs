//! `paceline machine` and `paceline compare`: what they print, write, and refuse.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use paceline_report::perfetto::packet::{EventType, Trace};
use prost::Message;
use serde_json::Value;

use crate::{error_text, folder_of, paceline, says, stderr, stdout};

const MACHINE: &str = r#"# Four federates and a load on two PCPUs
[machine]
until = "100s"

[policy]
kind = "credit"

[host]
pcpus = 2

[[domain]]
name = "fed"
count = 4
workload = "federate"
horizon = "4s"

[[domain]]
name = "load"
workload = "hog"
busy = "3ms"
idle = "3ms"

[model]
kind = "phold"
lps = 16
messages_per_lp = 2
"#;

fn folder(text: &str) -> tempfile::TempDir {
    folder_of(&[("small.toml", text)])
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = paceline(folder, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stderr.is_empty(), "no progress where there is no terminal");
    serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
}

#[test]
fn a_machine_tells_of_its_domains_hosts_and_workloads() {
    let folder = folder(MACHINE);
    let summary = json(folder.path(), &["machine", "small.toml", "--json", "--out", "out"]);
    assert_eq!((&summary["policy"], &summary["ended_by"]), (&"credit".into(), &"done".into()));
    let names: Vec<_> = summary["domains"].as_array().unwrap().iter().map(|domain| &domain["name"]).collect();
    assert_eq!(names, ["fed-0", "fed-1", "fed-2", "fed-3", "load"]);
    assert_eq!(
        (&summary["parameters"]["domain"][1]["busy"], &summary["horizon_s"]),
        (&"3ms".into(), &100.0.into())
    );
    assert!(summary["version"].is_string() && summary["host"].is_object(), "{summary}");
    assert!(summary["domains"][4]["run_time_s"].is_null(), "the load never ends");
    let run = summary["workloads"][0]["run_time_s"].as_f64().unwrap();
    let longest = (0..4).map(|domain| summary["domains"][domain]["run_time_s"].as_f64().unwrap());
    assert_eq!(Some(run), longest.max_by(f64::total_cmp), "a workload is done with its last domain");
    let host = &summary["hosts"][0];
    assert!(
        host["switches"].as_u64() <= host["decisions"].as_u64() && host["dom0_share"].as_f64() > Some(0.0)
    );
    let file: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/summary.json")).unwrap()).unwrap();
    assert_eq!(file["schedule_digest"], summary["schedule_digest"]);
    assert!(file["wall_seconds"].is_null(), "results do not depend on how fast they came");
    let page = stdout(&paceline(folder.path(), &["machine", "small.toml"]));
    let digest = summary["workloads"][0]["digest"].as_str().unwrap();
    says(&page, &["fed-3", "load", "DOM0, %", "fed (federate)", digest, "unfairness", "wall time"]);
    let line = stdout(&paceline(folder.path(), &["machine", "small.toml", "--quiet"]));
    assert!(line.lines().count() == 1 && line.contains("credit"), "{line}");
    let check = stdout(&paceline(folder.path(), &["check", "small.toml"]));
    assert!(check.contains("small.toml is sound") && check.contains("credit"), "{check}");
}

#[test]
fn guests_compute_what_the_engine_computes_under_every_policy() {
    let folder = folder(MACHINE);
    let model = MACHINE.split("[model]").nth(1).unwrap();
    fs::write(folder.path().join("engine.toml"), format!("[model]{model}[run]\nuntil = \"4s\"\n")).unwrap();
    let engine = json(folder.path(), &["run", "engine.toml", "--json"])["digest"].clone();
    let policies = ["credit", "round-robin", "sedf", "psx"];
    let list = policies.join(",");
    for protocol in ["conservative", "optimistic"] {
        let protocol = format!("domain.fed.protocol={protocol}");
        let compare = ["compare", "--policies", &list, "small.toml", "--json", "--set", &protocol];
        let summary = json(folder.path(), &compare);
        let said = summary["policies"].as_array().unwrap();
        assert_eq!(said.iter().map(|policy| &policy["policy"]).collect::<Vec<_>>(), policies);
        for policy in said {
            assert_eq!(policy["workloads"][0]["digest"], engine, "{protocol}: {policy}");
        }
        assert_eq!(summary["digests_equal"], true);
        let schedules: Vec<_> = said.iter().map(|policy| policy["schedule_digest"].as_str()).collect();
        assert!(schedules.windows(2).any(|pair| pair[0] != pair[1]), "policies differ: {schedules:?}");
        assert_eq!(json(folder.path(), &compare)["policies"], summary["policies"], "the same again");
    }
    let alone = json(folder.path(), &["machine", "small.toml", "--json", "--set", "policy.kind=psx"]);
    let compared = json(folder.path(), &["compare", "--policies=credit,psx", "small.toml", "--json"]);
    assert_eq!(compared["policies"][1]["schedule_digest"], alone["schedule_digest"]);
    let page = stdout(&paceline(folder.path(), &["compare", "--policies=credit,psx", "small.toml"]));
    says(
        &page,
        &["context switches", "unfairness", "waiting, %", "under every policy", engine.as_str().unwrap()],
    );
    assert!(!page.contains("\n load"), "what nobody waits for has no run time: {page}");
}

#[test]
fn a_trace_has_pcpus_lvts_and_arrows() {
    let folder = folder(MACHINE);
    let plain = json(folder.path(), &["machine", "small.toml", "--json"]);
    let traced = json(folder.path(), &["machine", "small.toml", "--json", "--trace", "m.trace"]);
    assert_eq!(plain["schedule_digest"], traced["schedule_digest"], "looking on changes nothing");
    let packets = Trace::decode(fs::read(folder.path().join("m.trace")).unwrap().as_slice()).unwrap().packet;
    let mut names = BTreeMap::new();
    for track in packets.iter().filter_map(|packet| packet.track_descriptor.as_ref()) {
        let thread = track.thread.as_ref().and_then(|thread| thread.thread_name.clone());
        names.insert(track.uuid.unwrap(), track.name.clone().or(thread).unwrap_or_default());
    }
    let (mut open, mut ran_ns, mut flows, mut lvts) = (BTreeMap::new(), 0, BTreeMap::new(), 0);
    for packet in &packets {
        let (Some(event), Some(at_ns)) = (&packet.track_event, packet.timestamp) else { continue };
        let track = event.track_uuid.unwrap();
        match event.r#type() {
            EventType::SliceBegin => assert_eq!(open.insert(track, at_ns), None, "slices do not overlap"),
            EventType::SliceEnd => {
                assert!(names[&track].starts_with("PCPU "));
                ran_ns += at_ns - open.remove(&track).expect("a slice has begun");
            }
            EventType::Counter => lvts += u32::from(names[&track].starts_with("LVT of fed-")),
            EventType::Instant => {
                let ends = flows.entry([event.flow_ids.clone(), event.terminating_flow_ids.clone()].concat());
                ends.or_insert_with(Vec::new).push((at_ns, names[&track].clone()));
            }
            EventType::Unspecified => panic!("every event has a type"),
        }
    }
    assert!(open.is_empty() && lvts > 0);
    let busy =
        traced["hosts"][0]["busy_share"].as_f64().unwrap() * traced["machine_time_s"].as_f64().unwrap();
    assert!((ran_ns as f64 / 1e9 / (2.0 * busy) - 1.0).abs() < 1e-6, "slices are the time that VCPUs ran");
    assert!(!flows.is_empty());
    for ends in flows.values() {
        let [(sent_ns, from), (at_ns, to)] = ends.as_slice() else {
            panic!("an arrow has two ends: {ends:?}")
        };
        assert!(sent_ns < at_ns && from != to && to.starts_with("messages of fed-"), "{ends:?}");
    }
    let output = paceline(folder.path(), &["machine", "small.toml", "--trace", "no/folder"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

/// A scenario that must be refused with status 2 and one message that holds the words.
fn refused(from: &str, to: &str, options: &[&str], words: &[&str]) {
    let text = MACHINE.replacen(from, to, 1);
    assert!(from.is_empty() || text != MACHINE, "{from:?} is in the scenario");
    let folder = folder(&text);
    for command in [&["machine", "small.toml", "--out", "out"][..], &["check", "small.toml"]] {
        let arguments: Vec<&str> = command.iter().chain(options).copied().collect();
        let output = paceline(folder.path(), &arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert_eq!(message.lines().count(), 1, "one message: {message}");
        says(&message, words);
        assert!(output.stdout.is_empty() && !folder.path().join("out").exists());
    }
}

#[test]
fn mistakes_are_placed_and_told_with_what_is_allowed() {
    refused(
        "\"credit\"",
        "\"crdit\"",
        &[],
        &["small.toml:6:8:", "`kind`", "did you mean \"credit\"", "\"psx\""],
    );
    refused(
        "\"credit\"",
        "\"credit\"\nslcie = \"1ms\"",
        &[],
        &["small.toml:7:1:", "no setting `slcie` under credit", "did you mean `slice`", "tick"],
    );
    refused("\"credit\"", "\"credit\"\nslice = \"1us\"", &[], &["small.toml:7:9:", "`slice`", "30us"]);
    refused(
        "\"credit\"",
        "\"credit\"\npxs.tick = \"1ms\"",
        &[],
        &["small.toml:7:1:", "\"pxs\"", "did you mean \"psx\""],
    );
    refused(
        "\"credit\"",
        "\"credit\"\nslice = 1.5",
        &[],
        &["small.toml:7:9:", "the number 1.5", "a duration"],
    );
    refused("", "", &["--set", "policy.slice=never"], &["--set policy.slice=never:", "`slice`", "30us"]);
    refused("pcpus = 2", "pcpus = 0", &[], &["small.toml:9:9:", "`pcpus`", "from 1"]);
    refused("pcpus = 2", "pcpus = 3\nsmt = true", &[], &["small.toml:9:9:", "siblings", "an even number"]);
    refused("horizon", "horizn", &[], &["small.toml:15:1:", "`horizn`", "did you mean `horizon`"]);
    refused("count = 4", "count = 17", &[], &["small.toml:13:9:", "16 LPs", "17 federates", "at most 16"]);
    refused("count = 4", "pins = [2]", &[], &["small.toml:13:8:", "no PCPU 2", "PCPUs 0 to 1"]);
    refused("count = 4", "host = \"left\"", &[], &["small.toml:13:8:", "`host`", "\"host\""]);
    refused(
        "count = 4",
        "settings = { wieght = 2 }",
        &[],
        &["small.toml:13:14:", "fed has no setting `wieght`", "weight"],
    );
    refused(
        "count = 4",
        "arrives = \"2s\"\nleaves = \"1s\"",
        &[],
        &["small.toml:14:10:", "before it arrives"],
    );
    refused(
        "\"federate\"",
        "\"fedrate\"",
        &[],
        &["small.toml:14:12:", "did you mean \"federate\"", "\"lu\""],
    );
    refused("workload = \"hog\"\n", "", &[], &["small.toml:17:1:", "missing key `workload`", "\"hog\""]);
    refused("[model]\nkind = \"phold\"", "[model]\nkind = \"phodl\"", &[], &["did you mean \"phold\""]);
    refused("[model]", "[mdoel]", &[], &["small.toml:14:12:", "without a model", "[model]"]);
    refused(
        "[[domain]]\nname = \"load\"",
        "[[domain]]\nname = \"fed\"",
        &[],
        &["small.toml:18:8:", "a second [[domain]]"],
    );
    let link = "[[link]]\nfrom = \"host\"\nto = \"hots\"\n[model]";
    refused("[model]", link, &[], &["`to` in [[link]]", "did you mean \"host\""]);
    refused(
        "[machine]\nuntil = \"100s\"",
        "[machine]",
        &["--set", "domain.load.background=false"],
        &["`until = "],
    );
    refused(
        "",
        "",
        &["--set", "domain.laod.busy=1ms"],
        &["no [[domain]] with the name \"laod\"", "did you mean \"load\""],
    );
}

#[test]
fn what_a_policy_does_not_admit_is_refused_before_anything_runs() {
    let sedf =
        ["--set", "policy.kind=sedf", "--set", "domain.settings={ slice = \"20ms\", period = \"10ms\" }"];
    refused("", "", &sedf, &["--set domain.settings=", "`slice`", "10ms"]);
    let much =
        ["--set", "policy.kind=sedf", "--set", "domain.settings={ slice = \"9ms\", period = \"10ms\" }"];
    refused("", "", &much, &["--set domain.settings=", "cannot be admitted by sedf", "at most 100 %"]);
    let wide = ["--set", "policy.kind=gang", "--set", "domain.load.vcpus=3"];
    refused("", "", &wide, &["--set domain.load.vcpus=3", "3 VCPUs", "2 PCPUs", "at most 2"]);
    says(
        &error_text(folder(MACHINE).path(), &["compare", "--policies=credit,pxs", "small.toml"], 2),
        &["no policy \"pxs\"; did you mean \"psx\""],
    );
    says(&error_text(folder(MACHINE).path(), &["run", "small.toml"], 2), &["`paceline machine` runs"]);
}

#[test]
fn guests_that_wait_for_ever_are_named_with_status_1() {
    // One of three message partners leaves.
    let text = "[machine]\nuntil = \"10s\"\n[policy]\nkind = \"credit\"\n[host]\npcpus = 1\n\
        [[domain]]\nname = \"two\"\ngroup = \"g\"\ncount = 2\nworkload = \"rounds\"\nwait = \"block\"\n\
        [[domain]]\nname = \"gone\"\ngroup = \"g\"\nleaves = \"5ms\"\n";
    let folder = folder(text);
    for arguments in [&["machine", "small.toml"][..], &["compare", "--policies=credit", "small.toml"]] {
        let output = paceline(folder.path(), arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        says(&message, &["under credit: deadlock", "two-0 waits for"]);
    }
}

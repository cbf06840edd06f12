//! `paceline emulate`: the round trips of real pings are the scenario's, in equal bytes on any number of
//! threads; and what it refuses.
//!
//! The emulator that runs need is the one of `scripts/emulator`. Where it is missing they are passed over,
//! which they say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use paceline_report::perfetto::packet::Trace;
use prost::Message as _;
use serde_json::Value;

use crate::{Running, error_text, folder_of, paceline, says, stderr};

/// How far a round trip may be from twice the latency: what guests compute, and the bits of four packets.
const TOLERANCE_S: f64 = 100e-6;

pub fn has_emulator() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let folder = set("PACELINE_EMULATOR").or_else(|| Some(cache()?.join("paceline/emulator")));
    let is_there = folder.is_some_and(|folder| folder.join("plugin.so").exists());
    if !is_there {
        eprintln!("skipped: there is no emulator; scripts/emulator gets it");
    }
    is_there
}

/// What a run of the pings prints as JSON, and its files but the report.
fn ping(out: &Path, settings: &[&str]) -> (Value, BTreeMap<String, Vec<u8>>) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut arguments = vec!["emulate", "scenarios/emulate-ping.toml", "--json", "--out"];
    arguments.push(out.to_str().unwrap());
    settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
    let output = paceline(&project, &arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    let files = fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        // It says how the run was done.
        .filter(|path| !path.ends_with("report.html"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()));
    (serde_json::from_slice(&output.stdout).expect("one JSON object"), files.collect())
}

fn round_trips(summary: &Value) -> Vec<f64> {
    let list = summary["results"]["rtt_s"].as_array().expect("a list of round trips");
    list.iter().map(|round_trip| round_trip.as_f64().unwrap()).collect()
}

#[test]
fn pings_take_the_scenario_s_time_and_runs_repeat_in_every_byte() {
    if !has_emulator() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, settings: &[&str]| ping(&folder.path().join(name), settings);
    let (one, files) = run("one", &["run.threads=1"]);
    for round_trip in round_trips(&one) {
        assert!((0.010..0.010 + TOLERANCE_S).contains(&round_trip), "{round_trip} s");
    }
    assert_eq!(round_trips(&one).len(), 4, "{one}");
    let captures =
        files.keys().filter(|name| Path::new(name).extension().is_some_and(|end| end == "pcap")).count();
    assert_eq!(captures, 2, "one file a link: {:?}", files.keys());
    says(&String::from_utf8_lossy(&files["alice.log"]), &["4 packets transmitted, 4 packets received"]);
    let (two, same) = run("two", &["run.threads=2", "run.federates=2"]);
    assert_eq!((&one["digest"], &one["results"]), (&two["digest"], &two["results"]));
    for (name, bytes) in &files {
        assert!(same.get(name) == Some(bytes), "{name} is the same");
    }
    let (slow, _) = run("slow", &["network.latency=50ms"]);
    for round_trip in round_trips(&slow) {
        assert!((0.100..0.100 + TOLERANCE_S).contains(&round_trip), "{round_trip} s");
    }
}

/// The digest and the results of a run, as it prints them.
fn outcome(json: &[u8]) -> (Value, Value) {
    let mut summary: Value = serde_json::from_slice(json).expect("one JSON object");
    (summary["digest"].take(), summary["results"].take())
}

/// Killed after its first checkpoint, wherever it is then.
#[test]
fn a_run_that_is_killed_goes_on_from_its_checkpoint() {
    if !has_emulator() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (whole, files) = ping(&folder.path().join("whole"), &[]);
    let checkpoint = folder.path().join("run.checkpoint");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(&project).args(["emulate", "scenarios/emulate-ping.toml", "--quiet"]);
    command.args(["--set", "run.checkpoint=100ms", "--checkpoint"]).arg(&checkpoint);
    command.arg("--out").arg(folder.path().join("killed"));
    let mut child = Running::start(&mut command);
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (name, out) = (checkpoint.to_str().unwrap(), folder.path().join("resumed"));
    let refused = |arguments: &[&str], words: &[&str]| {
        says(&error_text(folder.path(), &[&["resume", name], arguments].concat(), 2), words);
    };
    refused(&["--set", "network.latency=1ms"], &["network.latency", "keeps [network], [guest]"]);
    refused(&["--processes", "2"], &["guests run in one process"]);
    let resumed = paceline(folder.path(), &["resume", name, "--json", "--out", out.to_str().unwrap()]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(outcome(&resumed.stdout), (whole["digest"].clone(), whole["results"].clone()));
    for (name, bytes) in &files {
        assert!(fs::read(out.join(name)).unwrap() == *bytes, "{name} is the same");
    }
    fs::remove_dir_all(folder.path().join("run.checkpoint.machines")).unwrap();
    refused(&[], &["run.checkpoint.machines", "guest alice", "No such file", "allowed: "]);
}

#[test]
fn a_guest_that_resets_is_named_and_one_that_switches_itself_off_is_not() {
    if !has_emulator() {
        return;
    }
    let text = "[network]\nlatency = \"5ms\"\n[[guest]]\nname = \"a\"\nscript = \"ping -c 1 b; ENDS\"\n[[guest]]\nname = \"b\"\n\
                [run]\nuntil = \"4s\"\n";
    let [off, reset] = ["poweroff -f", "reboot -f"].map(|end| text.replace("ENDS", end));
    let folder = folder_of(&[("off.toml", &off), ("reset.toml", &reset)]);
    let output = paceline(folder.path(), &["emulate", "off.toml", "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let message = error_text(folder.path(), &["emulate", "reset.toml", "--quiet", "--out", "out"], 1);
    says(&message, &["guest a has reset itself after ", " s of virtual time"]);
    // What was until then is there: a request and its reply.
    let capture = fs::read(folder.path().join("out/a-and-router.pcap")).unwrap();
    assert!(capture.len() > 24 + 2 * 16);
}

#[test]
fn mistakes_in_emulations() {
    let whole = "[network]\nlatency = \"5ms\"\n[[guest]]\nname = \"a\"\n[[guest]]\nname = \"b\"\n[run]\nuntil = \"1s\"\n";
    let folder = folder_of(&[]);
    let refused = |was: &str, becomes: &str, words: &[&str]| {
        assert!(whole.contains(was), "{was}");
        fs::write(folder.path().join("bad.toml"), whole.replacen(was, becomes, 1)).unwrap();
        says(&error_text(folder.path(), &["check", "bad.toml"], 2), words);
    };
    refused("\"5ms\"", "\"0ms\"", &["bad.toml:2:11:", "a latency of 0", "from \"2ns\""]);
    refused("latency", "latnecy", &["bad.toml:1:2:", "without `latency` and `topology`", "\"10ms\""]);
    refused("\"5ms\"\n", "\"5ms\"\nrate = 5\n", &["bad.toml:3:8:", "`rate`"]);
    refused("\"b\"", "\"a\"", &["bad.toml:6:8:", "a second guest \"a\""]);
    refused("\"b\"", "\"b\"\naddress = \"10.0.0.1\"", &["bad.toml:7:11:", "10.0.0.1", "each address once"]);
    refused("\"b\"", "\"b\"\nhost = \"c\"", &["bad.toml:7:8:", "no host \"c\"", "allowed: \"a\", \"b\""]);
    refused("[[guest]]", "[[guests]]", &["bad.toml:3:", "unknown section [guests]; did you mean [guest]?"]);
    refused("\"b\"", "\"router\"", &["bad.toml:6:8:", "a guest \"router\"", "another name"]);
    refused("\"b\"", "\"b\"\nhost = \"a\"", &["bad.toml:7:8:", "guest b: two machines", "allowed: one"]);
    refused(
        "\"b\"",
        "\"b\"\nhost = \"router\"",
        &["bad.toml:7:8:", "\"router\" is a router", "allowed: \"a\", \"b\""],
    );
    refused("until = \"1s\"", "", &["missing key `until`", "\"10s\""]);
    let orders = [
        "bad.toml:9:15:",
        "did you mean \"round-robin\"?",
        "\"furthest-behind\", \"round-robin\", \"arrival\"",
    ];
    refused("\"1s\"", "\"1s\"\ngrant_order = \"round-robbin\"", &orders);
    refused("\"1s\"", "\"1s\"\nprotocol = \"optimistic\"", &["bad.toml:9:12:", "with guests", "\"window\""]);
    let several = "\"b\"\nvcpus = 2\n[run]\ncheckpoint = \"1s\"";
    refused("\"b\"\n[run]", several, &["bad.toml:9:14:", "guest b, which has 2 VCPUs", "`vcpus = 1`"]);
    let star = "topology = \"star\"\nhosts = 3\nlink = { rate = \"1Gbps\", latency = \"LAT\" }";
    let hosts = |latency: &str| star.replace("LAT", latency);
    refused("latency = \"5ms\"", &hosts("1ms"), &["guest a", "\"a\""]);
    let text = whole.replace("latency = \"5ms\"", &hosts("0ns"));
    let text = text.replace("\"a\"", "\"a\"\nhost = \"host-0\"").replace("\"b\"", "\"b\"\nhost = \"host-2\"");
    fs::write(folder.path().join("bad.toml"), &text).unwrap();
    let message = error_text(folder.path(), &["check", "bad.toml"], 2);
    says(&message, &["bad.toml:7:8:", "guest a has no latency", "at least \"1ns\""]);
    let flow = "[[network.flows]]\ntransport = \"udp\"\nrate = \"1Mbps\"\nwire_bytes = 100\nfrom = \"host-0\"\nto = \"host-1\"\n";
    let text = text.replace("0ns", "1ms").replace("[run]", &format!("{flow}[run]"));
    fs::write(folder.path().join("bad.toml"), &text).unwrap();
    says(
        &error_text(folder.path(), &["check", "bad.toml"], 2),
        &["\"host-0\", which is a guest", "no guests"],
    );
    // Each scenario to its command.
    fs::write(folder.path().join("good.toml"), whole).unwrap();
    says(&error_text(folder.path(), &["run", "good.toml"], 2), &["`paceline emulate` runs"]);
    let check = paceline(folder.path(), &["check", "good.toml"]);
    assert!(check.status.success(), "{}", stderr(&check));
}

/// A request and its answer of each of four pings are arrows from guest to guest.
#[test]
fn a_trace_has_the_guests_and_their_frames() {
    if !has_emulator() {
        return;
    }
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/emulate-ping.toml");
    let folder = tempfile::tempdir().unwrap();
    let trace = ["emulate", scenario.to_str().unwrap(), "--quiet", "--trace", "ping.perfetto-trace"];
    let output = paceline(folder.path(), &trace);
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = fs::read(folder.path().join("ping.perfetto-trace")).unwrap();
    let packets = Trace::decode(bytes.as_slice()).expect("a trace").packet;
    let tracks = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let tracks: BTreeMap<u64, &str> =
        tracks.filter_map(|track| Some((track.uuid?, track.name.as_deref()?))).collect();
    let events = || packets.iter().filter_map(|packet| packet.timestamp.zip(packet.track_event.as_ref()));
    let on = |name: &str| {
        let name = name.to_owned();
        events().filter(|(_, event)| tracks.get(&event.track_uuid.unwrap()) == Some(&&*name)).count()
    };
    assert!(on("alice") > 8 && on("bob") > 8, "{tracks:?}");
    assert_eq!((on("frames of alice"), on("frames of bob")), (8, 8));
    let flows = |ends: fn(&paceline_report::perfetto::packet::TrackEvent) -> &Vec<u64>| {
        let mut flows: Vec<u64> = events().flat_map(|(_, event)| ends(event).clone()).collect();
        flows.sort_unstable();
        flows
    };
    let begun = flows(|event| &event.flow_ids);
    assert!(begun.len() == 8 && begun == flows(|event| &event.terminating_flow_ids), "{begun:?}");
}

/// The times at which echo requests (RFC 792) left the host whose link this is, in seconds.
fn requests(capture: &[u8]) -> Vec<f64> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_3c4d, "a capture with nanoseconds");
    let (mut at, mut times) = (24, Vec::new());
    while at < capture.len() {
        let (time, bytes) = (f64::from(word(at)) + f64::from(word(at + 4)) / 1e9, &capture[at + 16..]);
        let is_request = bytes[12..14] == [8, 0] && bytes[23] == 1 && bytes[34] == 8;
        times.extend(is_request.then_some(time));
        at += 16 + word(at + 8) as usize;
    }
    times
}

/// A guest of scale 2 has two seconds of its clock in a simulated second. A loop takes as long by the guest's
/// clock as in any guest, half as long in simulated time, and round trips are twice as long by its clock.
#[test]
fn a_time_scale_is_seconds_of_the_guest_s_clock_in_a_simulated_second() {
    const PAIRS: f64 = 50e6;
    if !has_emulator() {
        return;
    }
    // In simulated time: a slow guest is up after 2 s, and all are to find the peer.
    let script = "{ at = \"2.5s\", text = \"ping -c 1 peer; probe work 50000000; ping -c 1 peer\" }";
    let guest = |name: &str, scale: &str| {
        format!(
            "[[guest]]\nname = \"{name}\"\ntime_scale = {scale}\nprograms = [\"probe\"]\nscript = [{script}]\n"
        )
    };
    let text = format!(
        "[network]\nlatency = \"5ms\"\n{}{}{}[[guest]]\nname = \"peer\"\n[run]\nuntil = \"3s\"\n",
        guest("plain", "1"),
        guest("fast", "2"),
        guest("slow", "0.5"),
    );
    let folder = folder_of(&[("scales.toml", &text)]);
    let output = paceline(folder.path(), &["emulate", "scales.toml", "--quiet", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let file = |name: &str| fs::read(folder.path().join("out").join(name)).unwrap();
    // An instruction takes a nanosecond of the guest's clock; the kernel's interrupts take some, too.
    let work_s = 2.0 * PAIRS / 1e9;
    let mut between = Vec::new();
    for (name, scale) in [("plain", 1.0), ("fast", 2.0), ("slow", 0.5)] {
        let console = String::from_utf8(file(&format!("{name}.log"))).unwrap();
        let after = |word: &str| -> f64 {
            let at = console.find(word).unwrap_or_else(|| panic!("no {word:?} of {name} in\n{console}"));
            let number = console[at + word.len()..].split_whitespace().next().unwrap();
            number.parse().unwrap()
        };
        let worked_s = after("worked ") / 1e9;
        assert!((work_s..1.02 * work_s).contains(&worked_s), "{name}: {worked_s} s of its clock");
        // The first ping also waits for what a program's start takes.
        let round_trip_ms = after("time=");
        assert!(
            (0.0..0.5).contains(&(round_trip_ms - 10.0 * scale)),
            "{name}: {round_trip_ms} ms of its clock"
        );
        let left = requests(&file(&format!("{name}-and-router.pcap")));
        assert_eq!(left.len(), 2, "{name}");
        between.push((left[1] - left[0], scale));
    }
    // From request to request: a round trip, which takes 10 ms whatever the scale, the loop, and what
    // starting two programs takes, which scales as the loop does.
    let plain = between[0].0 - 0.010;
    assert!(plain >= work_s, "{plain} s");
    for (between_s, scale) in between {
        let error = ((between_s - 0.010) * scale - plain).abs();
        assert!(error < 0.001, "{between_s} s at {scale}, {plain} s at 1");
    }
}

/// Pings from one network to another go through a guest with a card in each: four times the latency, and
/// three routers of the network and the guest count the time to live down.
#[test]
fn a_guest_with_two_cards_routes_between_them() {
    let routes = "[network]\nlatency = \"5ms\"\n\
        [[guest]]\nname = \"a\"\naddress = \"10.0.1.2/24\"\ngateway = \"10.0.1.1\"\n\
        script = [{ at = \"1s\", text = \"ping -c 3 c\" }]\n\
        [[guest]]\nname = \"r\"\nscript = \"echo 1 >/proc/sys/net/ipv4/ip_forward\"\n\
        cards = [{ address = \"10.0.1.1/24\" }, { address = \"10.0.2.1/24\" }]\n\
        [[guest]]\nname = \"c\"\naddress = \"10.0.2.2/24\"\ngateway = \"10.0.2.1\"\n\
        [run]\nuntil = \"4s\"\n";
    let folder = folder_of(&[("routes.toml", routes)]);
    let check = paceline(folder.path(), &["check", "routes.toml"]);
    assert!(check.status.success(), "{}", stderr(&check));
    let refused = |was: &str, becomes: &str, words: &[&str]| {
        assert!(routes.contains(was), "{was}");
        fs::write(folder.path().join("bad.toml"), routes.replacen(was, becomes, 1)).unwrap();
        says(&error_text(folder.path(), &["check", "bad.toml"], 2), words);
    };
    refused("\"10.0.2.1/24\"", "\"10.0.1.1/24\"", &["guests r and r both have the address 10.0.1.1"]);
    refused(
        "{ address = \"10.0.2.1/24\"",
        "{ host = \"x\"",
        &["guest r: the network has no host \"x\"", "\"r-eth1\""],
    );
    let gateways = "{ address = \"10.0.1.1/24\", gateway = \"10.0.1.2\" }, { gateway = \"10.0.2.2\", ";
    refused(
        "{ address = \"10.0.1.1/24\" }, { ",
        gateways,
        &["a gateway at more than one of its cards", "one gateway"],
    );
    if !has_emulator() {
        return;
    }
    let output = paceline(folder.path(), &["emulate", "routes.toml", "--json", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let round_trips = round_trips(&summary);
    assert_eq!(round_trips.len(), 3, "those of a alone: {summary}");
    // The first one waits for answers to ARP requests.
    for round_trip in &round_trips[1..] {
        assert!((0.020..0.020 + 2.0 * TOLERANCE_S).contains(round_trip), "{round_trip} s");
    }
    says(&fs::read_to_string(folder.path().join("out/a.log")).unwrap(), &["ttl=61", "3 packets received"]);
    assert!(folder.path().join("out/r-eth1-and-router.pcap").exists());
}

//! Networks and flows from files, and flows at a load.

use std::path::Path;

use paceline_kernel::Time;
use paceline_packets::{Packets, Transport};
use paceline_scenario::ScenarioError;

use super::{read_in, run_model, value};

const GRAPH: &str = r#"[model]
topology = "file"
path = "net.csv"
link = { rate = "1Gbps", latency = "1ms", queue = { kind = "drop-tail", packets = 100 } }
access = { rate = "10Gbps", latency = "10us" }
[[model.changes]]
from = "Bonn"
to = "Köln"
outages = [{ down = "1s" }]
[[model.flows]]
from = "host-Köln"
to = "host-Bonn"
transport = "udp"
rate = "1Mbps"
wire_bytes = 1250
"#;
const LINKS: &str = "from,to,rate,latency,weight\nKöln,Bonn,100Mbps,2ms,1.5\nBonn,\"Mainz, am Rhein\",,,3\n";

/// Reads `text` beside these files.
pub fn beside(files: &[(&str, &str)], text: &str) -> Result<Packets, ScenarioError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    read_in(folder.path(), text)
}

#[track_caller]
pub fn refused(files: &[(&str, &str)], text: &str, words: &[&str]) {
    let line = beside(files, text).expect_err(text).one_line();
    for word in words {
        assert!(line.contains(word), "{line} says {word}");
    }
}

/// Links have what the file says, else what the scenario says; that between Köln and Bonn fails after 1 s.
#[test]
fn links_of_a_file_are_those_of_the_network() {
    let model = beside(&[("net.csv", LINKS)], GRAPH).unwrap_or_else(|error| panic!("{}", error.one_line()));
    let network = model.network();
    assert_eq!((network.nodes(), network.hosts().len()), (6, 3));
    let link = |from: &str, to: &str| {
        let from = network.node(from).unwrap();
        network.link(from, network.port_to(from, network.node(to).unwrap()).unwrap())
    };
    let (first, second) = (link("Köln", "Bonn"), link("Mainz, am Rhein", "Bonn"));
    assert_eq!((first.rate, first.latency_ps, first.metric), (100_000_000, 2_000_000_000, 1));
    assert_eq!((second.rate, second.latency_ps, second.metric), (1_000_000_000, 1_000_000_000, 2));
    let summary = run_model(model, Time::secs(2));
    assert_eq!(value(&summary, "packets_sent"), 200.0);
    let dropped = value(&summary, "packets_dropped");
    assert!((99.0..=101.0).contains(&dropped), "{dropped} packets lost");
    let notices = summary.lines.iter().find(|(name, _)| *name == "notices").expect("the file lacks a rate");
    assert!(notices.1.as_str().unwrap().contains("1 link has no rate (line 3): 1Gbps is taken"));
}

#[test]
fn mistakes_in_graphs() {
    let links = &[("net.csv", LINKS)][..];
    refused(&[], GRAPH, &["net.toml:3:8", "there is no file"]);
    refused(&[("net.csv", "from,to\na,a\n")], GRAPH, &["net.csv:2", "from \"a\" to itself"]);
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE b [<!ENTITY a \"a\">]>\n<graphml/>\n";
    refused(&[("net.graphml", bomb)], &GRAPH.replace("net.csv", "net.graphml"), &["net.graphml:2"]);
    refused(
        links,
        &GRAPH.replace("\"Köln\"\nout", "\"Koln\"\nout"),
        &["net.toml:8:6", "did you mean \"Köln\"?"],
    );
    let unjoined = GRAPH.replace("\"Köln\"\nout", "\"Bonn\"\nout");
    refused(links, &unjoined, &["net.toml:8:6", "no link from \"Bonn\" to \"Bonn\""]);
    refused(
        links,
        &GRAPH.replace("\"10us\" }", "\"10us\" }\nhosts = 1001"),
        &["net.toml:6:9", "from 0 to 1000"],
    );
    let none = GRAPH.replace("access = { rate = \"10Gbps\", latency = \"10us\" }", "hosts = 0");
    refused(links, &none, &["net.toml:11:8", "\"host-Köln\""]);
}

const STAR: &str = r#"[model]
topology = "star"
hosts = 10
link = { rate = "1Gbps", latency = "10us" }
[[model.flows]]
transport = "tcp"
"#;

#[test]
fn lists_of_flows_name_hosts_or_number_them() {
    let text = format!("{STAR}list = \"flows.csv\"\nstart = \"1ms\"\n");
    let list = "start,from,to,bytes\n1us,host-1,host-2,1000\n0.5,3,host-4,2000\n";
    let model = beside(&[("flows.csv", list)], &text).unwrap_or_else(|error| panic!("{}", error.one_line()));
    let flows: Vec<_> = model.flows().iter().map(|flow| (flow.start_ps, flow.from, flow.to)).collect();
    assert_eq!(flows, [(1_001_000_000, 1, 2), (501_000_000_000, 3, 4)]);
    let bytes = |number: usize| match &model.flows()[number].transport {
        Transport::Tcp(tcp) => tcp.bytes,
        _ => None,
    };
    assert_eq!((bytes(0), bytes(1)), (Some(1000), Some(2000)));
    refused(
        &[("flows.csv", "start,from,to,bytes\n0,host-1,host-99,5\n")],
        &text,
        &["flows.csv:2", "host-99"],
    );
    refused(&[("flows.csv", "start,from,to,bytes\n0,host-1,switch,5\n")], &text, &["\"switch\" as an end"]);
}

/// The packets of a file, from the start of the flow on, and again after the period.
#[test]
fn traces_are_sent_as_their_file_says() {
    let star = STAR.replace("transport = \"tcp\"", "from = \"host-0\"\nto = \"host-1\"\ntransport = \"udp\"");
    let text = format!("{star}drive = \"trace\"\ntrace = \"voice.csv\"\nstart = \"1ms\"\n");
    let voice = &[("voice.csv", "time,bytes\n0,200\n20ms,230\n0.04,1030\n")][..];
    let run = |text: &str| {
        let model = beside(voice, text).unwrap_or_else(|error| panic!("{}", error.one_line()));
        let summary = run_model(model, Time::millis(100));
        ["packets_sent", "packets_arrived", "goodput_bps"].map(|name| value(&summary, name))
    };
    // 30 bytes of each are headers.
    let bits = f64::from(170 + 200 + 1000) * 8.0;
    assert_eq!(run(&text)[..2], [3.0, 3.0]);
    assert_eq!(run(&format!("{text}repeat = \"50ms\"\n")), [6.0, 6.0, 2.0 * bits / 0.1]);
    let refused = |files, change: &str, words| refused(files, &format!("{text}{change}"), words);
    refused(&[], "", &["net.toml:10:9", "there is no file"]);
    refused(&[("voice.csv", "time,bytes\n1,200\n0,200\n")], "", &["voice.csv:3", "after one at"]);
    refused(
        voice,
        "repeat = \"39ms\"",
        &["net.toml:12:10", "again after 39000000000 ps", "a period above 0"],
    );
    refused(voice, "rate = \"1Mbps\"", &["net.toml:12:1", "unknown key `rate`"]);
}

/// Of 10 links of 1 Gb/s 0.3 for 0.1 s are 37.5 MB; sizes are spread over 1 kB to 1 MB evenly.
#[test]
fn flows_at_a_load_bring_so_many_bytes() {
    let text = format!(
        "{STAR}from = \"hosts\"\nto = \"any\"\nload = 0.3\nsizes = \"sizes.txt\"\nuntil = \"100ms\"\n"
    );
    let sizes = &[("sizes.txt", "1000 0\n1000000 1\n")][..];
    let model = beside(sizes, &text).unwrap_or_else(|error| panic!("{}", error.one_line()));
    let bytes = |flow: &paceline_packets::Flow| match &flow.transport {
        Transport::Tcp(tcp) => tcp.bytes.expect("each has a size"),
        _ => 0,
    };
    let (count, sum) = (model.flows().len(), model.flows().iter().map(bytes).sum::<u64>());
    assert!((50..100).contains(&count), "{count} flows of 500 kB");
    assert!((25e6..50e6).contains(&(sum as f64)), "{sum} bytes");
    assert!(model.flows().iter().all(|flow| flow.start_ps < 100_000_000_000));
    let summary = run_model(model, Time::secs(10));
    assert_eq!(value(&summary, "flows_done"), count as f64);
    for (from, to, words) in [
        ("0.3", "0", &["a load of 0", "above 0"][..]),
        ("sizes = \"sizes.txt\"\n", "", &["need their sizes", "`sizes`"]),
        ("sizes = ", "bytes = 5\nsizes = ", &["said in one way", "`bytes`"]),
        ("until = \"100ms\"", "", &["missing key `until`"]),
        ("\"100ms\"", "\"100h\"", &["flows up to", "at most 16000000 flows"]),
        ("\"hosts\"", "\"*\"", &["\"switch\" as an end"]),
        ("\"hosts\"", "\"host-0\"", &["2 hosts or more"]),
    ] {
        refused(sizes, &text.replace(from, to), words);
    }
    refused(&[("sizes.txt", "1000 0\n3000 0.5\n")], &text, &["sizes.txt:2", "no distribution"]);
}

#[test]
fn files_are_seen_from_the_folder_of_the_scenario() {
    let line = read_in(Path::new("/no/such"), GRAPH).unwrap_err().one_line();
    assert!(line.contains("there is no file /no/such/net.csv"), "{line}");
}

//! What is built from the `[model]` section, and what is refused with which words.

mod applications;
mod capture;
mod failures;
mod files;
mod platform;
mod rdma;
mod switches;

use std::path::Path;

use paceline_engine::Simulation;
use paceline_kernel::{Model, Time};
use paceline_packets::Packets;
use paceline_results::{Results, RunFacts, Summary};
use paceline_scenario::{Scenario, ScenarioError};

use super::from_section;

/// The network of the examples of `docs/packets.md`.
const DUMBBELL: &str = r#"[model]
topology = "dumbbell"
pairs = 4
access = { rate = "1Gbps", latency = "100us" }
bottleneck = { rate = "10Mbps", latency = "20ms", queue = { kind = "drop-tail", packets = 50 } }
[[model.flows]]
from = "left-*"
to = "right-*"
transport = "udp"
rate = "4Mbps"
wire_bytes = 1000
"#;

fn read(text: &str) -> Result<Packets, ScenarioError> {
    read_in(Path::new("."), text)
}

fn read_in(folder: &Path, text: &str) -> Result<Packets, ScenarioError> {
    let mut section = Scenario::parse("net.toml", text, folder, &[])?.section("model")?;
    let model = from_section(&mut section, 1)?;
    section.finish()?;
    Ok(model)
}

/// The results of a sequential run.
fn run(text: &str, until: Time) -> Summary {
    run_model(read(text).unwrap_or_else(|error| panic!("{}", error.one_line())), until)
}

fn run_model(model: Packets, until: Time) -> Summary {
    let (report, model) = Simulation::new(model).threads(1).until(until).run_keeping_model().unwrap();
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    model.results(report.outputs, &facts).unwrap()
}

fn value(summary: &Summary, name: &str) -> f64 {
    let line = summary.lines.iter().find(|(line, _)| *line == name);
    line.and_then(|(_, value)| value.as_f64()).unwrap_or_else(|| panic!("{name} is a number"))
}

fn file(summary: Summary, name: &str) -> String {
    let mut text = Vec::new();
    let file = summary.files.into_iter().find(|file| file.name == name);
    file.expect("it is there").write(&mut text).expect("memory takes everything");
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn topologies_have_their_nodes() {
    let link = r#"{ rate = "10Gbps", latency = "1us" }"#;
    let flow = "[[model.flows]]\nfrom = \"host-0\"\nto = \"host-1\"\ntransport = \"udp\"\nrate = \"1Gbps\"\nwire_bytes = 100\n";
    for (keys, nodes) in [
        ("topology = \"line\"\nhosts = 5\naccess = L\ntrunk = L", 10),
        ("topology = \"star\"\nhosts = 5\nlink = L", 6),
        ("topology = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 3\naccess = L\nfabric = L", 18),
        ("topology = \"fat-tree\"\nk = 4\nlink = L\necmp = \"packet\"", 36),
        ("topology = \"torus\"\nsides = [3, 4]\naccess = L\ntrunk = L", 24),
        (
            "topology = \"dragonfly\"\ngroups = 3\nrouters = 2\nhosts = 2\nglobal = 1\naccess = L\nlocal = L\nbetween = L",
            18,
        ),
        ("topology = \"random\"\nhosts = 6\nlinks = 9\naccess = L\ntrunk = L", 12),
    ] {
        let text = format!("[model]\n{keys}\n{flow}").replace("= L", &format!("= {link}"));
        let model = read(&text).unwrap_or_else(|error| panic!("{}", error.one_line()));
        assert_eq!(model.lps(), nodes, "{keys}");
    }
    assert_eq!(read(DUMBBELL).unwrap().flows().len(), 4);
}

/// Four flows of 4 Mb/s share 10 Mb/s, of 1000 bytes on the wire, of which 970 are data.
#[test]
fn a_bottleneck_carries_what_it_can() {
    let summary = run(DUMBBELL, Time::secs(10));
    let goodput = value(&summary, "goodput_bps");
    assert!((goodput / 9.7e6 - 1.0).abs() < 0.01, "{goodput} bit/s");
    let parts = ["packets_arrived", "packets_dropped", "packets_in_flight"].map(|name| value(&summary, name));
    assert_eq!(parts.iter().sum::<f64>(), value(&summary, "packets_sent"));
    assert_eq!((value(&summary, "flows"), value(&summary, "flows_done")), (4.0, 0.0));
    let links = file(summary, "links.csv");
    assert_eq!(links.lines().count(), 1 + 2 * 9);
    let busy = links.lines().find(|line| line.starts_with("router-left,router-right,")).unwrap();
    let [.., most, utilisation] = busy.split(',').collect::<Vec<_>>()[..] else { panic!("{busy}") };
    assert_eq!(most, "50");
    assert!(utilisation.parse::<f64>().unwrap() > 0.99, "{busy}");
}

/// One packet after the other through three links: 8 us at 1 Gb/s, 800 us at 10 Mb/s, latencies of 20.2 ms.
#[test]
fn flows_that_end_are_done() {
    let text = DUMBBELL
        .replace("4Mbps\"", "800kbps\"\npackets = 10\nstart = \"1s\"\napart = \"1s\"\nstagger = false");
    let summary = run(&text, Time::secs(60));
    assert_eq!(value(&summary, "flows_done"), 4.0);
    let delay_s = 2.0 * 8e-6 + 800e-6 + 20.2e-3;
    assert!((value(&summary, "mean_delay_s") - delay_s).abs() < 1e-9);
    // The tenth packet leaves nine intervals of 10 ms after the first.
    assert!((value(&summary, "mean_completion_s") - delay_s - 0.09).abs() < 1e-9);
    let flows = file(summary, "flows.csv");
    let lines: Vec<&str> = flows.lines().collect();
    assert_eq!(lines[2], "1,left-1,right-1,udp,2,2.111016,0.111016,,9700,10,10,0.021016,0,0,0,0,0");
}

/// Host h of H starts at the interval times h / H.
#[test]
fn hosts_start_staggered_unless_told_otherwise() {
    let starts =
        |text: &str| read(text).unwrap().flows().iter().map(|flow| flow.start_ps).collect::<Vec<_>>();
    // An interval of 2 ms, and eight hosts.
    assert_eq!(starts(DUMBBELL), [0, 250_000_000, 500_000_000, 750_000_000]);
    let poisson = DUMBBELL.replace("1000", "1000\ndrive = \"poisson\"\napart = \"1ps\"");
    assert_eq!(starts(&poisson), [0, 1, 2, 3]);
}

/// The same network with TCP.
fn tcp(keys: &str) -> String {
    DUMBBELL.replace("\"udp\"\nrate = \"4Mbps\"\nwire_bytes = 1000", &format!("\"tcp\"\n{keys}"))
}

/// Four streams through one bottleneck: 1448 of 1502 bytes on the wire are data. What slow start leaves
/// unused at first is below 3 % of the run.
#[test]
fn streams_fill_the_bottleneck_and_end() {
    for congestion in ["newreno", "cubic", "bbr"] {
        let summary = run(&tcp(&format!("congestion = \"{congestion}\"")), Time::secs(30));
        let goodput = value(&summary, "goodput_bps");
        assert!(goodput < 1e7 * 1448.0 / 1502.0 && goodput > 9.3e6, "{congestion}: {goodput} bit/s");
        assert_eq!(value(&summary, "flows_done"), 0.0, "{congestion}");
    }
    let summary =
        run(&tcp("congestion = \"newreno\"\nbytes = \"1.448MB\"\napart = \"10ms\""), Time::secs(60));
    assert_eq!(value(&summary, "flows_done"), 4.0);
    let mean_s = value(&summary, "mean_completion_s");
    // All four together are 4 x 1.448 MB: 4.8 s at the bottleneck.
    assert!((2.0..6.0).contains(&mean_s), "{mean_s} s");
    let flows = file(summary, "flows.csv");
    for line in flows.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!((fields[3], fields[8]), ("tcp", "1448000"), "{line}");
        assert!(fields[7].parse::<f64>().unwrap() > 1.0, "{line}");
    }
}

/// A link that goes down for good: the flow is given up, and the summary says so.
#[test]
fn streams_that_cannot_end_are_named() {
    let text =
        tcp("retries = 2\nmax_rto = \"2s\"").replace("\"20ms\",", "\"20ms\", outages = [{ down = \"1s\" }],");
    let summary = run(&text, Time::secs(60));
    let line = summary.lines.iter().find(|(name, _)| *name == "flows_given_up").expect("it is told");
    assert!(line.1.as_str().unwrap().starts_with("0 from \"left-0\" to \"right-0\", 1 from"), "{}", line.1);
}

#[test]
fn queues_and_losses_of_every_kind_are_read() {
    let queue = "{ kind = \"drop-tail\", packets = 50 }";
    for changed in [
        "{ kind = \"drop-tail\", bytes = \"75kB\" }",
        "{ kind = \"red\", low = 10, high = 30, packets = 100, ecn = true }",
        "{ kind = \"threshold\", mark_packets = 20, packets = 100 }",
        "{ kind = \"codel\", packets = 1000, ecn = true }",
        "{ kind = \"fq-codel\" }",
    ] {
        let text = tcp("congestion = \"dctcp\"").replace(queue, changed);
        let summary = run(&text, Time::secs(5));
        let goodput = value(&summary, "goodput_bps");
        assert!(goodput > 7e6, "{changed}: {goodput} bit/s");
        let marks = value(&summary, "marks");
        assert_eq!(marks > 0.0, !changed.contains("drop-tail"), "{changed}: {marks} marks");
    }
    for changed in [
        "loss = 0.01",
        "burst_loss = { to_bad = 0.002, to_good = 0.2 }",
        "outages = [{ down = \"1s\", up = \"1.1s\" }]",
    ] {
        let text =
            DUMBBELL.replace("\"4Mbps\"", "\"2Mbps\"").replace("\"20ms\",", &format!("\"20ms\", {changed},"));
        let summary = run(&text, Time::secs(10));
        let lost = value(&summary, "packets_dropped") / value(&summary, "packets_sent");
        assert!((0.002..0.03).contains(&lost), "{changed}: {lost} of the packets lost");
    }
    let jitter = "\"20ms\", jitter = { kind = \"uniform\", most = \"1ms\" },";
    let summary =
        run(&DUMBBELL.replace("\"4Mbps\"", "\"10kbps\"").replace("\"20ms\",", jitter), Time::secs(500));
    let delay = value(&summary, "mean_delay_s") - 0.021_016;
    assert!((delay / 0.5e-3 - 1.0).abs() < 0.1, "a mean jitter of {delay} s");
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let line = read(text).expect_err(text).one_line();
    for word in words {
        assert!(line.contains(word), "{line} says {word}");
    }
    let count = line.matches("; allowed: ").count();
    assert_eq!(count, 1, "{line} says what is allowed, once");
}

/// A mistake made by replacing `from` with `to`.
#[track_caller]
fn mistake(from: &str, to: &str, words: &[&str]) {
    let text = DUMBBELL.replacen(from, to, 1);
    assert_ne!(text, DUMBBELL, "{from:?} is in the scenario");
    refused(&text, words);
}

#[test]
fn mistakes_in_topologies() {
    mistake("\"dumbbell\"", "\"dumbell\"", &["net.toml:2:12", "did you mean \"dumbbell\"?", "\"fat-tree\""]);
    mistake("pairs = 4", "pairs = 0", &["net.toml:3:9", "a dumbbell cannot have pairs = 0", "from 1 to"]);
    mistake("pairs = 4", "pairs = 4\nhosts = 3", &["net.toml:4:1", "unknown key `hosts`", "bottleneck"]);
    mistake(
        "pairs = 4",
        "pairs = 4\necmp = \"flows\"",
        &["net.toml:4:8", "did you mean \"flow\"?", "\"packet\""],
    );
    mistake("pairs", "pairz", &["net.toml:3:1", "missing key `pairs`", "is `pairz` meant"]);
    mistake("access", "acess", &["missing key `access` in [model]", "rate = \"10Gbps\""]);
    let rest = "[[model.flows]]\nfrom = \"a\"\nto = \"b\"\n";
    let link = "{ rate = \"1Gbps\", latency = \"1us\" }";
    let topology = |keys: &str| format!("[model]\ntopology = {keys}\n{rest}").replace('L', link);
    refused(
        &topology("\"fat-tree\"\nk = 3\nlink = L"),
        &["net.toml:3:5", "k = 3", "an even number from 2 to"],
    );
    refused(&topology("\"torus\"\nsides = [2, 0]\naccess = L\ntrunk = L"), &["net.toml:3:9", "2 x 0"]);
    refused(
        &topology("\"leaf-spine\"\nleaves = 1\nspines = 1\nhosts = 1\naccess = L\nfabric = L"),
        &["net.toml:3:10", "leaves x hosts = 1", "from 2"],
    );
    let keys =
        "\"dragonfly\"\ngroups = 9\nrouters = 2\nhosts = 2\nglobal = 1\naccess = L\nlocal = L\nbetween = L";
    refused(&topology(keys), &["net.toml:3:10", "groups = 9", "at most 3"]);
    let keys = "\"random\"\nhosts = 4\nlinks = 2\naccess = L\ntrunk = L";
    refused(&topology(keys), &["net.toml:4:9", "links = 2", "from 3 to 6"]);
}

#[test]
fn mistakes_in_links() {
    mistake("\"1Gbps\"", "\"0Gbps\"", &["net.toml:4:19", "at it nothing is sent", "a rate above zero"]);
    mistake("\"1Gbps\"", "\"1Gb\"", &["`rate` in [model.access]", "no unit \"Gb\"", "Mbps"]);
    mistake("\"1Gbps\"", "1000", &["the integer 1000: it has no unit"]);
    mistake("\"1Gbps\"", "\"1001Tbps\"", &["a rate of 1001Tbps", "at most 1000Tbps"]);
    mistake("\"100us\"", "\"100\"", &["`latency` in [model.access]", "no unit", "\"20ms\""]);
    mistake("\"100us\"", "\"12d\"", &["a latency of", "at most 1000000s"]);
    mistake("\"100us\" }", "\"1us\", latency = \"1us\" }", &["duplicate key"]);
    mistake("latency = \"100us\"", "delay = \"100us\"", &["missing key `latency` in [model.access]"]);
    mistake(
        "\"100us\" }",
        "\"100us\", lost = 1 }",
        &["unknown key `lost` in [model.access]", "did you mean `loss`?", "latency"],
    );
    mistake(
        "\"drop-tail\"",
        "\"droptail\"",
        &["`kind` in [model.bottleneck.queue]", "did you mean \"drop-tail\"?"],
    );
    mistake("packets = 50", "packets = 0", &["`packets` is 0", "from 1"]);
    mistake(", packets = 50", "", &["a drop-tail queue without a limit", "`packets` or `bytes`"]);
    mistake(
        "packets = 50",
        "packets = 50, bytes = 1",
        &["`packets` and `bytes` of one queue", "one of them"],
    );
    mistake("packets = 50", "bytes = 0", &["`bytes` in [model.bottleneck.queue]", "it is nothing"]);
    mistake("packets = 50", "packets = 50, limit = 50", &["unknown key `limit`"]);
    let link = |keys: &str| format!("latency = \"100us\", {keys}");
    for (keys, words) in [
        ("loss = 1.5", &["`loss` cannot be 1.5", "from 0 to 1"][..]),
        (
            "loss = 0.1, burst_loss = { to_bad = 0.1, to_good = 0.5 }",
            &["`loss` and `burst_loss`", "one of them"],
        ),
        ("burst_loss = { to_bad = 0.1 }", &["missing key `to_good` in [model.access.burst_loss]"]),
        ("jitter = { most = \"1ms\" }", &["missing key `kind` in [model.access.jitter]"]),
        ("jitter = { kind = \"exponential\", most = \"1ms\" }", &["missing key `mean`"]),
        ("outages = [{ down = \"2s\", up = \"1s\" }]", &["down from 2s and up from 1s", "after `down`"]),
        ("outages = [{ down = \"1s\" }, { down = \"2s\" }]", &["goes down at 2s", "by turns"]),
        ("outages = [1]", &["`outages` in [model.access] cannot be an array"]),
    ] {
        mistake("latency = \"100us\"", &link(keys), words);
    }
    for (queue, words) in [
        ("\"red\", low = 5", &["missing key `high`"][..]),
        ("\"red\", low = 5, high = 5", &["thresholds 5 and 5", "more than `low`"]),
        ("\"red\", low = 5, high = 9, weight = 0", &["`weight` is 0", "above 0"]),
        ("\"threshold\", packets = 9", &["needs that threshold", "`mark_packets` or `mark_bytes`"]),
        ("\"codel\", target = \"1s\"", &["a target of 1s in an interval of 0.1s"]),
        ("\"fq-codel\", queues = 0", &["`queues` is 0", "from 1"]),
    ] {
        mistake("\"drop-tail\", packets = 50", queue, words);
    }
    let zero = DUMBBELL.replace("\"100us\"", "\"0s\"").replace("1Gbps", "1000Tbps");
    refused(&zero, &["net.toml:2:12", "latency of 0 ps", "a tick of the clock"]);
}

#[test]
fn mistakes_in_flows() {
    mistake("left-*", "lefd-*", &["net.toml:7:8", "\"lefd-*\"", "\"left-0\", \"left-1\""]);
    mistake("right-*", "rigth-*", &["net.toml:8:6", "\"rigth-*\""]);
    mistake(
        "\"right-*\"",
        "\"hosts\"",
        &["net.toml:8:6", "are 4 hosts", "are 8", "as many senders as receivers"],
    );
    mistake("left-*", "router-left", &["net.toml:7:8", "\"router-left\" as an end, a router", "hosts"]);
    mistake("right-*", "left-*", &["net.toml:8:6", "\"left-0\" to itself", "two hosts"]);
    mistake("\"udp\"", "\"udt\"", &["net.toml:9:13", "did you mean \"udp\"?"]);
    mistake("rate = \"4Mbps\"", "", &["net.toml:6:1", "missing key `rate` in [[model.flows]]"]);
    mistake("\"4Mbps\"", "\"2000Tbps\"", &["net.toml:10:8", "a rate of 2000000000000000", "10^15"]);
    mistake("1000", "0", &["net.toml:11:14", "packets of 0 bytes", "from 1 to 1000000"]);
    mistake("1000", "1000\nburst = 2", &["net.toml:12:1", "unknown key `burst`", "packets"]);
    mistake("1000", "1000\ndrive = \"on-off\"\non = \"1ms\"", &["missing key `off`"]);
    mistake("1000", "1000\ndrive = \"trace\"", &["a trace without a file", "time,bytes"]);
    mistake("1000", "1000\ndrive = \"poisson\"\nstagger = true", &["unknown key `stagger`"]);
    mistake("1000", "1000\nstart = \"12d\"", &["net.toml:12:9", "start", "11 days"]);
    for (keys, words) in [
        ("congestion = \"reno\"", &["`congestion`", "\"newreno\", \"cubic\", \"dctcp\", \"bbr\""][..]),
        ("bytes = 0", &["`bytes`", "it is nothing"]),
        ("bytes = \"1 parsec\"", &["`bytes`", "MiB"]),
        ("rate = \"1Mbps\"", &["unknown key `rate`"]),
        ("mss = 10", &["`mss` is 10", "from 64 to 65495"]),
        ("congestion = \"dctcp\"\necn = \"classic\"", &["exact echo of marks", "\"dctcp\", or no `ecn`"]),
        ("receive_buffer = \"2GiB\"", &["a receive buffer of 2GiB", "1GiB"]),
        ("ack_delay = \"500ms\"", &["`ack_delay` is 0.5s", "below 500ms"]),
        ("min_rto = \"2s\"", &["`initial_rto` is 1s", "from `min_rto` to `max_rto`"]),
        ("abc = 3", &["`abc` is 3", "from 0 to 2"]),
    ] {
        refused(&tcp(keys), words);
    }
    mistake("[[model.flows]]", "[[model.flow]]", &["net.toml:1:2", "nobody sends", "[[model.flows]]"]);
}

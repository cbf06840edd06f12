//! Applications: what is read, what comes of it, and what is refused.

use std::path::Path;

use paceline_kernel::Time;
use paceline_packets::Stations;
use paceline_scenario::Scenario;

use super::{file, refused, run, run_model, value};
use crate::packets::{complete, read_network};

/// A dumbbell of four clients on the left and four servers on the right, and this table.
fn dumbbell(table: &str) -> String {
    let network = r#"[model]
topology = "dumbbell"
pairs = 4
access = { rate = "1Gbps", latency = "100us" }
bottleneck = { rate = "100Mbps", latency = "1ms" }
"#;
    format!("{network}[[model.applications]]\n{table}")
}

/// A request of 100 bytes and a response of 1000 through three links, and a handshake before: 62 bytes each.
/// One byte takes 8 + 80 + 8 ns, and the latency is 1.2 ms.
#[test]
fn requests_have_responses() {
    let keys = "kind = \"request-response\"\nfrom = \"left-0\"\nto = \"right-0\"\nrequest = \"100B\"\n\
                response = \"1kB\"\nservice = \"5ms\"\nspans = \"fixed\"\ncount = 1\n";
    let summary = run(&dumbbell(keys), Time::secs(5));
    let trip = |bytes: f64| bytes * 96e-9 + 1.2e-3;
    let expected = 2.0 * trip(62.0) + trip(154.0) + 5e-3 + trip(1054.0);
    assert!((value(&summary, "mean_response_s") - expected).abs() < 1e-9, "{expected}");
    assert_eq!(value(&summary, "requests_done"), 1.0);
    let p99 = value(&summary, "p99_response_s");
    assert!((p99 / expected - 1.0).abs() < 0.004, "{p99}");
    // Flows without an end are not done.
    assert_eq!((value(&summary, "flows"), value(&summary, "flows_done")), (1.0, 0.0));
    let rows = file(summary, "applications.csv");
    let line = rows.lines().nth(1).unwrap();
    assert!(line.starts_with("request-response-0,request-response,left-0,1,0.0"), "{line}");
    let summary = run(&dumbbell(keys), Time::secs(5));
    let flows = file(summary, "flows.csv");
    let bytes = flows.lines().nth(1).unwrap().split(',').nth(8);
    assert_eq!(bytes, Some("1100"), "both directions: the request and the response");
    let fresh = keys.replace("count = 1", "count = 3\npersistent = false\nthink = \"1ms\"");
    let summary = run(&dumbbell(&fresh), Time::secs(5));
    assert_eq!((value(&summary, "flows"), value(&summary, "requests_done")), (3.0, 3.0));
    assert!((value(&summary, "mean_response_s") - expected).abs() < 1e-9);
}

#[test]
fn applications_of_every_kind_are_read() {
    let pairs = "from = \"left-*\"\nto = \"right-*\"\n";
    let cases = [
        (format!("kind = \"http\"\n{pairs}think = \"1s\""), "pages_done"),
        (format!("kind = \"http\"\n{pairs}objects = 3\nconnections = 2\ndocument = \"5kB\"\ncount = 2"), "mean_page_s"),
        (format!("kind = \"video\"\n{pairs}ladder_kbps = [500, 4000, 90000]\nsegment = \"1s\"\nbuffer = \"5s\""), "stalls"),
        ("kind = \"incast\"\nclient = \"left-0\"\nservers = \"right-*\"\nrequest = \"1kB\"\nresponse = { kind = \"pareto\", shape = 1.5, least = \"1kB\", most = \"1MB\" }".to_owned(), "mean_round_s"),
        ("kind = \"all-reduce\"\nranks = \"hosts\"\nbytes = \"800kB\"\npiece = \"50kB\"\nrounds = 2\ncompute = \"1ms\"".to_owned(), "mean_collective_s"),
        ("kind = \"all-reduce\"\nalgorithm = \"halving\"\nranks = \"hosts\"\nbytes = \"80kB\"".to_owned(), "collectives_done"),
        ("kind = \"all-to-all\"\nalgorithm = \"in-rounds\"\nranks = \"hosts\"\nbytes = \"8kB\"\ncongestion = \"dctcp\"".to_owned(), "p99_collective_s"),
    ];
    for (keys, result) in cases {
        let summary = run(&dumbbell(&keys), Time::secs(20));
        assert!(value(&summary, result) >= 0.0, "{keys}");
        let done = ["requests_done", "segments_done", "collectives_done"];
        let done = summary
            .lines
            .iter()
            .filter(|(name, _)| done.contains(&&**name))
            .filter_map(|(_, value)| value.as_f64());
        assert!(done.sum::<f64>() >= 1.0, "{keys}: something is done");
    }
}

/// Nobody is there whom they could ask: without machines the model says so at their table.
#[test]
fn clients_of_guests_are_refused_without_one() {
    let keys = "kind = \"http-clients\"\nfrom = \"left-*\"\nserver = \"right-0\"\nclients = 10\ncount = 5\n\
                arrival = \"1ms\"\nthink = \"1s\"\npersistent = false\npath = \"/index.html\"\nport = 8080\n";
    refused(&dumbbell(keys), &["net.toml:7:8", "no machine in the network", "networks with machines"]);
    let more = |more: &str| dumbbell(&format!("{keys}{more}\n"));
    refused(&more("class = 1"), &["frames of machines have no class"]);
    refused(&more("below_bytes = 20"), &["frames have the headers of Ethernet and IPv4"]);
    refused(&dumbbell(&keys.replace("8080", "0")), &["`port` is 0", "from 1 to 65535"]);
    refused(&dumbbell(&keys.replace("right-0", "right-9")), &["right-9"]);
    refused(&dumbbell(&keys.replace("count = 5", "count = 0")), &["a count of 0"]);
    refused(&dumbbell(&keys.replace("left-*", "router-left")), &["which is a router", "hosts"]);
}

/// Each host of `from` has as many as the table says. A machine that is not run answers none of them.
#[test]
fn clients_of_guests_are_read() {
    let keys =
        "kind = \"http-clients\"\nfrom = \"left-*\"\nserver = \"right-0\"\nclients = 10\narrival = \"1ms\"\n";
    let text = dumbbell(keys);
    let scenario = Scenario::parse("net.toml", &text, Path::new("."), &[]);
    let mut section = scenario.and_then(|mut scenario| scenario.section("model")).unwrap();
    let (network, notices) = read_network(&mut section, 1).unwrap();
    let stations = Stations::new(&network, &[(network.node("right-0").unwrap(), None)]).unwrap();
    let model = complete(&mut section, 1, (network, notices), Some(stations)).unwrap();
    section.finish().unwrap();
    let summary = run_model(model, Time::secs(1));
    assert_eq!(value(&summary, "web_connections"), 40.0);
    assert_eq!(value(&summary, "web_requests_waiting"), 40.0);
    let rows = file(summary, "applications.csv");
    let line = rows.lines().nth(4).unwrap();
    assert!(line.starts_with("http-clients-0,http-clients,left-3,0,"), "{line}");
    assert_eq!(line.split(',').count(), rows.lines().next().unwrap().split(',').count(), "{line}");
}

/// Four at 100 Mb/s: segments of 1 s at the middle bitrate of 20 Mb/s, not at 90.
#[test]
fn videos_take_the_bitrate_that_fits() {
    let keys = "kind = \"video\"\nfrom = \"left-*\"\nto = \"right-*\"\nladder_kbps = [1000, 10000, 90000]\n\
                segment = \"2s\"\nbuffer = \"10s\"\n";
    let summary = run(&dumbbell(keys), Time::secs(120));
    let bitrate = value(&summary, "mean_bitrate_bps");
    assert!((9e6..40e6).contains(&bitrate), "{bitrate}");
    assert_eq!(value(&summary, "stalls"), 0.0);
    // A ladder that begins above what the link carries stalls.
    let high = keys.replace("1000, 10000, 90000", "40000");
    let summary = run(&dumbbell(&high), Time::secs(60));
    assert!(value(&summary, "stalls") >= 4.0 && value(&summary, "stalled_s") > 40.0);
}

/// A flow back to each client, when its request has come.
#[test]
fn flows_wait_for_flows_by_name() {
    let flows = "name = \"ask\"\nfrom = \"left-*\"\nto = \"right-*\"\ntransport = \"tcp\"\nbytes = \"1kB\"\n\
                 [[model.flows]]\nafter = \"ask\"\ndelay = \"1s\"\nfrom = \"right-*\"\nto = \"left-*\"\n\
                 transport = \"tcp\"\nbytes = \"20kB\"\n";
    let text = dumbbell(flows).replace("applications", "flows");
    let summary = run(&text, Time::secs(10));
    assert_eq!(value(&summary, "flows_done"), 8.0);
    assert!(value(&summary, "mean_completion_s") < 0.1, "the delay is before the start");
    let rows = file(summary, "flows.csv");
    let line = rows.lines().nth(5).unwrap();
    assert!(line.starts_with("4,right-0,left-0,tcp,1.00"), "{line}");
    refused(
        &text.replace("after = \"ask\"", "after = \"sk\""),
        &["net.toml:13:9", "no flows are called \"sk\""],
    );
    let words =
        ["net.toml:13:9", "\"left-0\" to \"right-0\"", "none ends at \"left-0\"", "that end where it begins"];
    refused(
        &text.replace("from = \"right-*\"\nto = \"left-*\"", "from = \"left-*\"\nto = \"right-*\""),
        &words,
    );
    refused(&text.replace("bytes = \"1kB\"\n", ""), &["without an end", "a number of `bytes`"]);
    let circle = text
        .replace("name = \"ask\"", "name = \"ask\"\nafter = \"back\"")
        .replace("delay", "name = \"back\"\ndelay");
    refused(&circle, &["net.toml:8:9", "flow 0 waits for flow 4", "in turn", "no circles"]);
}

#[test]
fn mistakes_in_applications() {
    let pairs = "from = \"left-*\"\nto = \"right-*\"\n";
    let asks = format!("kind = \"request-response\"\n{pairs}request = \"1kB\"\n");
    let cases: [(String, &[&str]); 12] = [
        ("kind = \"htp\"".to_owned(), &["net.toml:7:8", "did you mean \"http\"?", "\"all-to-all\""]),
        (format!("{asks}response = \"1kB\"\ncount = 0"), &["net.toml:12:9", "a count of 0", "at least 1"]),
        (format!("{asks}response = \"0B\""), &["net.toml:11:12", "a size above zero"]),
        (
            format!("{asks}response = {{ kind = \"pareto\", shape = 0.0, most = \"2kB\" }}"),
            &["net.toml:11", "a shape of 0", "above 0"],
        ),
        (
            format!("{asks}response = {{ kind = \"pareto\", shape = 1.5, least = \"3kB\", most = \"2kB\" }}"),
            &["net.toml:11", "sizes from 3000 to 2000", "not below `least`"],
        ),
        (format!("{asks}response = \"1kB\"\npersistent = false"), &["net.toml:12:14", "`count` as well"]),
        (
            format!("kind = \"video\"\n{pairs}ladder_kbps = [500, 500]"),
            &["net.toml:10:15", "the bitrates [500, 500]", "greater than the one before"],
        ),
        (
            format!("kind = \"video\"\n{pairs}ladder_kbps = [500]\nbuffer = \"5s\""),
            &["net.toml:11:10", "a buffer of 5s", "both together"],
        ),
        (
            "kind = \"all-reduce\"\nranks = \"router-*\"\nbytes = \"1MB\"".to_owned(),
            &["net.toml:8:9", "\"router-left\", which is a router", "hosts"],
        ),
        (
            "kind = \"all-reduce\"\nranks = \"left-0\"\nbytes = \"1MB\"".to_owned(),
            &["net.toml:8:9", "a collective of 1 hosts", "2 hosts or more"],
        ),
        (
            "kind = \"all-reduce\"\nranks = \"hosts\"\nbytes = 3".to_owned(),
            &["net.toml:9:9", "a ring of 8 hosts for 3 bytes"],
        ),
        (
            "kind = \"incast\"\nclient = \"left-0\"\nservers = \"left-0\"\nrequest = 1\nresponse = 1"
                .to_owned(),
            &["net.toml:9:11", "a client without servers", "other than the client"],
        ),
    ];
    for (keys, words) in cases {
        refused(&dumbbell(&keys), words);
    }
}

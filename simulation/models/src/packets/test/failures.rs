//! Links that fail, flows that cannot end, and queues over time.

use paceline_kernel::Time;
use paceline_results::Summary;

use super::{DUMBBELL, file, refused, run, tcp, value};

fn line<'s>(summary: &'s Summary, name: &str) -> Option<&'s str> {
    summary.lines.iter().find(|(line, _)| *line == name).map(|(_, value)| value.as_str().unwrap())
}

/// What had no chance to end is named with the reason, and what was on its way is counted.
#[test]
fn flows_and_queues_that_cannot_end_are_named() {
    let tcp = |keys: &str| tcp(&format!("bytes = \"10MB\"\n{keys}"));
    let down = |keys: &str| tcp(keys).replace("\"20ms\",", "\"20ms\", outages = [{ down = \"1s\" }],");
    let summary = run(&down(""), Time::secs(3));
    assert_eq!(value(&summary, "flows_open"), 4.0);
    let text = line(&summary, "flows_stuck").expect("it is told");
    let first = "0 from \"left-0\" to \"right-0\" (the link from \"router-left\" to \"router-right\" stays down), 1 from";
    assert!(text.starts_with(first), "{text}");
    let routes = down("").replace("[model]", "[model]\nconvergence = \"10ms\"");
    let text = run(&routes, Time::secs(3));
    let text = line(&text, "flows_stuck").expect("it is told").to_owned();
    assert!(
        text.starts_with(
            "0 from \"left-0\" to \"right-0\" (no route from \"left-0\" to \"right-0\" is left), 1"
        ),
        "{text}"
    );
    // On their way when the run ends.
    let summary = run(&tcp(""), Time::millis(500));
    assert_eq!((value(&summary, "flows_open"), line(&summary, "flows_stuck")), (4.0, None));
    let lossy = tcp("").replace("\"20ms\",", "\"20ms\", loss = 1.0,");
    let text = run(&lossy, Time::secs(3));
    let text = line(&text, "flows_stuck").expect("it is told").to_owned();
    assert!(text.contains("to \"right-3\" (its peer has never answered)"), "{text}");
    // 16 Mb/s come for 10 Mb/s; with half the rate all is well.
    let endless = DUMBBELL.replace(", queue = { kind = \"drop-tail\", packets = 50 }", "");
    let summary = run(&endless, Time::secs(1));
    let text = "from \"router-left\" to \"router-right\" (16000000 bit/s come for 10000000, such as flow 0 from \"left-0\" to \"right-0\")";
    assert_eq!((line(&summary, "queues_never_empty"), line(&summary, "flows_stuck")), (Some(text), None));
    for text in [endless.replace("\"4Mbps\"", "\"2Mbps\""), DUMBBELL.to_owned()] {
        assert_eq!(line(&run(&text, Time::secs(1)), "queues_never_empty"), None);
    }
}

/// A link of a leaf and spine network fails: with a convergence the other spine takes over.
#[test]
fn routes_follow_failures_where_they_converge() {
    let link = "{ rate = \"1Gbps\", latency = \"10us\" }";
    let text = |key: &str| {
        let topology = "topology = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\n";
        let change =
            "[[model.changes]]\nfrom = \"leaf-0\"\nto = \"spine-1\"\noutages = [{ down = \"1s\" }]\n";
        let flows = "[[model.flows]]\nfrom = \"hosts\"\nto = \"opposite\"\ntransport = \"udp\"\nrate = \"1Mbps\"\nwire_bytes = 1000\n";
        format!("[model]\n{topology}{key}access = {link}\nfabric = {link}\n{change}{flows}")
    };
    let dropped = |key: &str| value(&run(&text(key), Time::secs(2)), "packets_dropped");
    let (stay, follow) = (dropped(""), dropped("convergence = \"100ms\"\n"));
    // Of eight flows with 125 packets a second each, some take that spine: of these a second's packets are
    // lost, or those of 100 ms.
    let flows = (stay / 125.0).round();
    assert!(flows >= 1.0 && (follow - flows * 12.5).abs() <= 8.0, "{stay} and {follow} packets dropped");
    let summary = run(&text("convergence = \"0s\"\n"), Time::secs(2));
    assert_eq!(value(&summary, "packets_without_route"), 0.0);
    refused(&text("convergence = 1\n"), &["`convergence` in [model]", "duration"]);
    let change = |from: &str, to: &str| text("").replace("\"leaf-0\"", from).replace("\"spine-1\"", to);
    refused(&change("\"leaf-9\"", "\"spine-1\""), &["net.toml:9:8", "\"leaf-9\""]);
    refused(
        &change("\"leaf-0\"", "\"leaf-1\""),
        &["net.toml:10:6", "no link joins \"leaf-0\" and \"leaf-1\""],
    );
}

/// A queue at which 16 Mb/s come for 10 Mb/s is filled by a packet each 0.8 / 0.6 ms; then it is full.
#[test]
fn queues_are_sampled_over_time() {
    let sample =
        "\nsample = { every = \"10ms\", links = [{ from = \"router-left\", to = \"router-right\" }] }\n";
    let text = DUMBBELL.replace("pairs = 4", &format!("pairs = 4{sample}"));
    let queues = file(run(&text, Time::millis(200)), "queues.csv");
    let lines: Vec<&str> = queues.lines().collect();
    assert_eq!((lines.len(), lines[0]), (21, "time_s,from,to,packets,bytes"));
    assert_eq!(lines[1], "0,router-left,router-right,0,0");
    for (nth, line) in lines[1..].iter().enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let (at, packets) = (nth as f64 * 0.01, fields[3].parse::<f64>().unwrap());
        assert_eq!(fields[0].parse::<f64>().unwrap(), at, "{line}");
        // Packets of 1000 bytes: 2,000 a second come from 0.1 ms on, 1,250 leave.
        let expected = ((at - 0.0001).max(0.0) * 750.0).min(50.0);
        assert!((packets - expected).abs() <= 3.0, "{line}: {expected}");
        assert_eq!(fields[4].parse::<f64>().unwrap(), packets * 1000.0, "{line}");
    }
    let (with, without) = (run(&text, Time::secs(1)), run(DUMBBELL, Time::secs(1)));
    assert_eq!(file(with, "flows.csv"), file(without, "flows.csv"));
    let wrong = |from: &str, to: &str| text.replace(from, to);
    refused(&wrong("\"10ms\"", "\"0s\""), &["net.toml:4:20", "sampled every 0s", "a time above 0"]);
    refused(&wrong("from = \"router-left\"", "from = \"left-0\""), &["no link joins \"left-0\" and"]);
    refused(
        &wrong(", links = [{ from = \"router-left\", to = \"router-right\" }]", ""),
        &["no link whose queue"],
    );
}

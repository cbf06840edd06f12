//! Classes, shared buffers and flow control from scenarios.

use paceline_kernel::Time;

use super::{DUMBBELL, file, mistake, read, refused, run, value};

/// Two flows of 8 Mb/s, of classes 0 and 1, into 10 Mb/s.
fn two_classes(queue: &str) -> String {
    let flow = |number: u32| {
        format!(
            "[[model.flows]]\nfrom = \"left-{number}\"\nto = \"right-{number}\"\ntransport = \"udp\"\n\
             rate = \"8Mbps\"\nwire_bytes = 1000\nclass = {number}\n"
        )
    };
    let (network, _) = DUMBBELL.split_once("[[model.flows]]").unwrap();
    let text = network.replace("{ kind = \"drop-tail\", packets = 50 }", queue);
    assert_ne!(text, network);
    text + &flow(0) + &flow(1)
}

/// What each flow has delivered in ten seconds, in Mb/s with headers.
fn delivered(text: &str) -> Vec<f64> {
    let flows = file(run(text, Time::secs(10)), "flows.csv");
    let arrived = |line: &str| line.split(',').nth(10).unwrap().parse::<f64>().unwrap();
    flows.lines().skip(1).map(|line| arrived(line) * 8_000.0 / 10.0 / 1e6).collect()
}

#[test]
fn classes_share_a_link_as_their_queue_says() {
    let near = |rates: &[f64], wanted: [f64; 2]| {
        let is_near = |(rate, wanted): (&f64, f64)| (rate - wanted).abs() < 0.1;
        assert!(rates.iter().zip(wanted).all(is_near), "{rates:?} instead of {wanted:?}");
    };
    let tail = "{ kind = \"drop-tail\", packets = 20 }";
    near(
        &delivered(&two_classes(&format!("{{ kind = \"priority\", classes = [{{}}, {tail}] }}"))),
        [8.0, 2.0],
    );
    // A class beyond the last counts as the last.
    let one = delivered(&two_classes(&format!("{{ kind = \"priority\", classes = [{tail}] }}")));
    assert!(one[1] > 1.0 && (one[0] + one[1] - 10.0).abs() < 0.1, "{one:?}");
    let class = |quantum: u32| format!("{{ quantum = {quantum}, kind = \"drop-tail\", packets = 20 }}");
    let drr = format!("{{ kind = \"drr\", classes = [{}, {}] }}", class(3000), class(1000));
    near(&delivered(&two_classes(&drr)), [7.5, 2.5]);
}

const PFC: &str =
    "switch = { buffer = \"1MB\", alpha = \"1/2\", pfc = { classes = [0], xoff = \"20kB\" } }\n";

/// A paused router loses nothing: what is too much waits at the hosts, whose queues have no end. Without flow
/// control the same buffer loses packets.
#[test]
fn a_switch_pauses_the_hosts_that_send_too_much() {
    let with = |switch: &str| {
        DUMBBELL
            .replace("pairs", &format!("{switch}pairs"))
            .replace("drop-tail\", packets = 50", "priority\", classes = [{}]")
    };
    let summary = run(&with(PFC), Time::secs(2));
    assert_eq!(value(&summary, "packets_dropped"), 0.0);
    assert!(value(&summary, "pauses") > 20.0);
    let line = summary.lines.iter().find(|(name, _)| *name == "paused_at_end").expect("hosts are paused");
    assert!(line.1.as_str().unwrap().contains(" packets wait, class 0 is paused, the first is of flow "));
    let links = file(summary, "links.csv");
    let busy = links.lines().find(|line| line.starts_with("router-left,router-right,")).unwrap();
    let most: u32 = busy.split(',').nth(8).unwrap().parse().unwrap();
    // Four hosts with 20 kB each and what comes until they stop: 25 kB on the way there and back, and a
    // packet or two.
    assert!((80..4 * 49).contains(&most), "{busy}");
    let summary = run(&with("switch = { buffer = \"30kB\", alpha = 0.5 }\n"), Time::secs(2));
    assert_eq!(value(&summary, "pauses"), 0.0);
    assert!(value(&summary, "packets_dropped") > 500.0);
    // Under alpha = 1/2 a queue holds a third of the buffer: nine packets, and one that is being sent.
    let links = file(summary, "links.csv");
    let busy = links.lines().find(|line| line.starts_with("router-left,router-right,")).unwrap();
    assert_eq!(busy.split(',').nth(8).unwrap(), "9", "{busy}");
}

#[test]
fn factors_are_numbers_or_fractions() {
    let with = |alpha: &str| DUMBBELL.replace("pairs", &format!("{}pairs", PFC.replace("\"1/2\"", alpha)));
    for alpha in ["1", "8", "0.5", "\"1/128\"", "\"3 / 2\"", "2.25"] {
        read(&with(alpha)).unwrap_or_else(|error| panic!("{alpha}: {}", error.one_line()));
    }
}

#[test]
fn mistakes_in_switches_and_classes() {
    let with = |changed: &str| DUMBBELL.replace("pairs", &format!("{changed}pairs"));
    for (from, to, words) in [
        ("buffer = \"1MB\", ", "", &["missing key `buffer` in [model.switch]"][..]),
        ("\"1/2\"", "\"1/0\"", &["`alpha`", "not a fraction of whole numbers", "\"1/8\""]),
        ("\"1/2\"", "0.3", &["`alpha`", "not a fraction"]),
        ("[0]", "[8]", &["there is no class 8", "from 0 to 7"]),
        ("[0]", "[]", &["flow control of no class", "such as [3]"]),
        ("xoff = \"20kB\"", "", &["missing key `xoff` in [model.switch.pfc]"]),
        ("\"20kB\"", "\"20kB\", xon = \"21kB\"", &["resumes at", "at most `xoff`"]),
        ("\"20kB\"", "\"20kB\", xof = \"1kB\"", &["unknown key `xof`"]),
        ("\"20kB\"", "\"1MB\"", &["net.toml:3:10", "ports need", "a lower xoff"]),
    ] {
        refused(&with(&PFC.replace(from, to)), words);
    }
    mistake("1000", "1000\nclass = 8", &["`class` is 8", "from 0 to 7"]);
    let queue = "\"drop-tail\", packets = 50";
    mistake(queue, "\"priority\"", &["a queue of 0 classes", "1 to 8 tables"]);
    mistake(queue, "\"priority\", classes = [{ packets = 2 }]", &["unknown key `packets`"]);
    mistake(queue, "\"drr\", classes = [{ quantum = 0 }]", &["`quantum` is 0", "from 1"]);
    let nested = "\"drr\", classes = [{ kind = \"priority\", classes = [{}] }]";
    mistake(queue, nested, &["classes within a class"]);
}

/// The ready-made incast: nothing is dropped, all flows end, and not before the link of the receiver has
/// carried them all. So it is over RDMA.
#[test]
fn the_incast_scenario_loses_nothing() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/packets-incast.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let (model, _) = text.split_once("[run]").unwrap();
    let tcp = model.replace("kind = \"packets\"\n", "");
    let rdma = tcp.replace("\"tcp\"", "\"rdma\"").replace("\"dctcp\"", "\"dcqcn\"");
    for text in [tcp, rdma] {
        let summary = run(&text, Time::millis(60));
        assert_eq!(value(&summary, "packets_dropped"), 0.0);
        assert_eq!(value(&summary, "flows_done"), 16.0);
        assert!(value(&summary, "pauses") > 10.0);
        let mean_s = value(&summary, "mean_completion_s");
        assert!((0.01..0.02).contains(&mean_s), "{mean_s} s");
    }
}

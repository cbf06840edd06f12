//! Networks from platform files of SimGrid.

use paceline_kernel::Time;
use paceline_packets::Packets;

use super::files::{beside, refused};
use super::{run_model, value};

const SCENARIO: &str = r#"[model]
topology = "platform"
path = "net.xml"
queue = { kind = "drop-tail", packets = 100 }
[[model.flows]]
from = "FROM"
to = "TO"
transport = "udp"
rate = "1Mbps"
wire_bytes = 1250
"#;

fn scenario(from: &str, to: &str) -> String {
    SCENARIO.replace("FROM", from).replace("TO", to)
}

fn platform(zone: &str) -> String {
    format!("<?xml version='1.0'?><platform version=\"4.1\">{zone}</platform>")
}

/// Two hosts, and a router between them; the second link is slower.
const PATH: &str = r#"<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="l1" bandwidth="125MBps" latency="1ms"/><link id="l2" bandwidth="1.25MBps" latency="2ms"/>
    <route src="a" dst="b"><link_ctn id="l1"/><link_ctn id="l2"/></route></zone>"#;

fn cluster(more: &str) -> String {
    platform(&format!(
        r#"<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us" {more}/>"#
    ))
}

fn model(xml: &str, from: &str, to: &str) -> Packets {
    let model = beside(&[("net.xml", xml)], &scenario(from, to));
    model.unwrap_or_else(|error| panic!("{}", error.one_line()))
}

/// The mean delay in a run of a tenth of a second, and the notices.
fn delay(xml: &str, from: &str, to: &str) -> (f64, String) {
    let summary = run_model(model(xml, from, to), Time::millis(100));
    let notices = summary.lines.iter().find(|(name, _)| *name == "notices");
    (value(&summary, "mean_delay_s"), notices.map_or(String::new(), |(_, value)| value.to_string()))
}

#[test]
fn a_packet_takes_the_links_of_its_route() {
    // 10,000 bits at 1 Gb/s and at 10 Mb/s, and 3 ms, in either direction.
    for (from, to) in [("a", "b"), ("b", "a")] {
        let (delay, notices) = delay(&platform(PATH), from, to);
        assert!((delay - 0.004_01).abs() < 1e-12, "{delay}");
        assert_eq!(notices, "");
    }
    let config = "<config id=\"g\"><prop id=\"network/bandwidth-factor\" value=\"0.5\"/></config>";
    let (_, notices) = delay(&platform(&format!("{config}{PATH}")), "a", "b");
    assert!(notices.contains("<config> says of SimGrid's network models has no effect"), "{notices}");
    // Links of a cluster are split; each is one with both directions.
    let model = model(&cluster(""), "n0", "n3");
    let network = model.network();
    assert_eq!((network.nodes(), network.hosts().len()), (5, 4));
    let (delay, notices) = delay(&cluster(""), "n0", "n3");
    assert!((delay - 0.000_12).abs() < 1e-12, "{delay}");
    assert_eq!(notices, "");
}

/// Twice 10 us at 1 Gb/s and twice 1 us at 10 Gb/s, 100 us and 1 ms of latency.
#[test]
fn a_backbone_is_a_switch_and_a_notice_says_so() {
    let (delay, notices) = delay(&cluster(r#"bb_bw="1.25GBps" bb_lat="1ms""#), "n0", "n3");
    assert!((delay - 0.001_122).abs() < 1e-12, "{delay}");
    assert!(notices.contains("c_backbone joins more than two parts: a switch of that name"), "{notices}");
}

/// Switches 1, 2 and 3 in a triangle of x (1 and 3), y (2 and 3) and z (1 and 2): a is at 1, b and d at 2, c
/// at 3. From a to b the platform goes round by 3.
#[test]
fn a_longer_route_than_the_shortest_is_among_the_notices() {
    let host = |name: &str| format!("<host id=\"{name}\" speed=\"1Gf\"/>");
    let link = |name: &str| format!("<link id=\"{name}\" bandwidth=\"1MBps\" latency=\"1ms\"/>");
    let route = |from: &str, to: &str, over: &str| {
        let links: String = over.split(' ').map(|link| format!("<link_ctn id=\"{link}\"/>")).collect();
        format!("<route src=\"{from}\" dst=\"{to}\">{links}</route>")
    };
    let hosts: String = ["a", "b", "c", "d"].map(host).concat();
    let links: String = ["la", "lb", "lc", "ld", "x", "y", "z1"].map(link).concat();
    let routes = [
        route("a", "b", "la x y lb"),
        route("a", "c", "la x lc"),
        route("a", "d", "la z1 ld"),
        route("b", "c", "lb y lc"),
        route("b", "d", "lb ld"),
        route("c", "d", "lc y ld"),
    ];
    let routes = routes.concat();
    let xml = platform(&format!("<zone id=\"z\" routing=\"Full\">{hosts}{links}{routes}</zone>"));
    let (delay, notices) = delay(&xml, "a", "b");
    assert!((delay - 3.0 * (0.001 + 0.001_25)).abs() < 1e-9, "{delay}");
    assert_eq!(
        notices,
        "\"2 of 12 routes of the platform have more links than the shortest way, which packets take\""
    );
}

#[test]
fn what_has_no_counterpart_is_refused_by_name() {
    let path = |from: &str, to: &str| platform(&PATH.replace(from, to));
    let whole = scenario("a", "b");
    for (xml, words) in [
        (path("latency=\"1ms\"", "latency=\"1ms\" sharing_policy=\"FATPIPE\""), ["`l1`", "FATPIPE"]),
        (path("\"2ms\"/>", "\"2ms\" state_file=\"off\"/>"), ["`l2`", "profile"]),
        (path("125MBps", "0.01Bps"), ["`l1`", "from 1 to 10^15 bit/s"]),
        (path("<link_ctn id=\"l1\"/>", "<link_ctn id=\"l3\"/>"), ["net.xml:3", "l3"]),
        (platform(r#"<zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone>"#), ["1 hosts", "from 2"]),
        (
            platform(
                r#"<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="m" speed="1Gf"/>
                <host id="b" speed="1Gf"/><link id="l1" bandwidth="1MBps" latency="1ms"/>
                <link id="l2" bandwidth="1MBps" latency="1ms"/>
                <route src="a" dst="m"><link_ctn id="l1"/></route><route src="m" dst="b"><link_ctn id="l2"/></route>
                <route src="a" dst="b"><link_ctn id="l1"/><link_ctn id="l2"/></route></zone>"#,
            ),
            ["through the host `m`", "at the ends of routes"],
        ),
    ] {
        refused(&[("net.xml", &xml), ("off", "PERIODICITY 1\n0.5 0\n")], &whole, &words);
    }
    refused(&[], &whole, &["net.xml"]);
}

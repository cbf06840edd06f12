//! Profiles of links affect transfers at the times they give.

use paceline_network::{Ended, FlowModel, Flows, Network};

use crate::{attempt, file, host, platform};

/// Two hosts with a link for each direction; `traces` are further elements.
fn wires(latency: &str, traces: &str) -> String {
    format!(
        r#"<platform version="4.1"><zone id="z" routing="Full"> <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
        <link id="there" bandwidth="10MBps" latency="{latency}"/> <link id="back" bandwidth="10MBps"/>
        <route src="a" dst="b" symmetrical="NO"><link_ctn id="there"/></route>
        <route src="b" dst="a" symmetrical="NO"><link_ctn id="back"/></route>
        </zone> {traces} </platform>"#
    )
}

/// A profile of the link `there`.
fn profile(kind: &str, text: &str) -> String {
    format!(r#"<trace id="t">{text}</trace><trace_connect kind="{kind}" trace="t" element="there"/>"#)
}

/// The ends of transfers from a to b that start at these times with this many bytes, in the order of their
/// starts.
fn ends(text: &str, starts: &[(f64, f64)]) -> Vec<Ended> {
    let platform = platform(text);
    let mut network = Flows::new(&platform, FlowModel::CM02);
    let (a, b) = (host(&platform, "a"), host(&platform, "b"));
    let mut found = Vec::new();
    for (at, bytes) in starts {
        found.extend(network.advance(*at));
        network.start(a, b, *bytes).expect("there is a route");
    }
    found.extend(network.advance(1000.0));
    found.sort_by_key(|end| end.transfer);
    assert_eq!(found.len(), starts.len(), "every transfer ends");
    found
}

#[track_caller]
fn assert_ends(found: &[Ended], wanted: &[(f64, bool)]) {
    for (end, (at, arrived)) in found.iter().zip(wanted) {
        assert!((end.at - at).abs() < 1e-9 && end.arrived == *arrived, "{end:?}, not {at} {arrived}");
    }
    assert_eq!(found.len(), wanted.len());
}

#[test]
fn a_bandwidth_changes_while_bytes_flow() {
    let text = wires("0", &profile("BANDWIDTH", "5 5e6"));
    // 50 MB in 5 s, then 50 MB in 10 s.
    assert_ends(&ends(&text, &[(0.0, 100e6)]), &[(15.0, true)]);
    // From 2 s to 5 s two transfers share 10 MB/s, then 5 MB/s until the second has its 20 MB.
    assert_ends(&ends(&text, &[(0.0, 100e6), (2.0, 20e6)]), &[(19.0, true), (7.0, true)]);
}

#[test]
fn a_transfer_is_never_faster_than_its_route_was_at_its_start() {
    let text = wires("0", &profile("BANDWIDTH", "5 20e6"));
    assert_ends(&ends(&text, &[(0.0, 100e6), (10.0, 100e6)]), &[(10.0, true), (15.0, true)]);
}

#[test]
fn a_bandwidth_comes_back_with_every_period() {
    // 1 s at 10 MB/s and 1 s at 5 MB/s, repeated.
    let text = wires("0", &profile("BANDWIDTH", "PERIODICITY 2\n0 10e6\n1 5e6"));
    assert_ends(&ends(&text, &[(0.0, 40e6)]), &[(5.0, true)]);
    assert_ends(&ends(&text, &[(4.5, 12.5e6)]), &[(6.25, true)]);
}

#[test]
fn a_latency_is_that_of_the_start_and_bounds_the_rate_of_all() {
    let text = wires("100ms", &profile("LATENCY", "1 0.5"));
    assert_ends(
        &ends(&text, &[(0.0, 1e6), (2.0, 4_194_304.0)]),
        // After the change, at most one window of 4194304 bytes in two latencies.
        &[(0.2, true), (3.5, true)],
    );
    // 8 MB until the change, and 4194304 bytes in the second after it.
    assert_ends(&ends(&text, &[(0.1, 8e6 + 4_194_304.0)]), &[(2.0, true)]);
}

#[test]
fn a_link_that_is_off_ends_what_is_on_it_and_takes_nothing() {
    let text = wires("0", &profile("LINK_AVAIL", "3 0\n4 1\n"));
    let starts = [(0.0, 10e6), (2.5, 100e6), (3.25, 1.0), (4.0, 10e6)];
    assert_ends(&ends(&text, &starts), &[(1.0, true), (3.0, false), (3.25, false), (5.0, true)]);
}

#[test]
fn a_link_on_the_way_back_that_is_off_ends_transfers_too() {
    let off = r#"<trace id="t">3 0</trace><trace_connect kind="LINK_AVAIL" trace="t" element="back"/>"#;
    assert_ends(&ends(&wires("0", off), &[(0.0, 100e6)]), &[(3.0, false)]);
}

#[test]
fn what_a_profile_says_of_time_0_holds_from_the_start() {
    let text = wires("0", &profile("LINK_AVAIL", "0 0\n1 1"));
    assert_ends(&ends(&text, &[(0.0, 1.0), (1.0, 10e6)]), &[(0.0, false), (2.0, true)]);
    let text = wires("0", &profile("BANDWIDTH", "0 1e6"));
    assert_ends(&ends(&text, &[(0.0, 1e6)]), &[(1.0, true)]);
}

#[test]
fn profiles_are_found_in_files_and_reach_both_halves_of_a_split_link() {
    let zones = file("zones.xml");
    let link = |name: &str| zones.links().iter().find(|link| link.name == name).expect("a link");
    let bandwidth = link("f1r").bandwidth_profile.as_ref().expect("a file of a link");
    assert!(bandwidth.changes().take(4).eq([(0.0, 1e7), (3.5, 5e6), (9.5, 1e7), (13.0, 5e6)]));
    let latency = link("fd").latency_profile.as_ref().expect("a trace in the file");
    assert!(latency.changes().take(3).eq([(0.0, 0.01), (8.0, 0.02), (24.0, 0.01)]));
    let state = link("ds").state_profile.as_ref().expect("a trace in another file");
    let speed =
        zones.hosts().iter().find(|host| host.name == "f1").and_then(|host| host.speed_profile.as_ref());
    assert!(speed.expect("a file of a host").changes().take(3).eq([(1.0, 0.5), (4.0, 1.0), (11.0, 0.5)]));
    let host = zones.hosts().iter().find(|host| host.name == "d0").expect("a host");
    assert_eq!(host.state_profile.as_ref(), Some(state));

    let split = wires("0", &profile("BANDWIDTH", "0 1e6")).replacen(
        "latency=",
        "sharing_policy=\"SPLITDUPLEX\" latency=",
        1,
    );
    let split = split.replace("<link_ctn id=\"there\"/>", "<link_ctn id=\"there\" direction=\"UP\"/>");
    let platform = attempt(&split).unwrap_or_else(|mistake| panic!("{mistake}"));
    let halves = platform.links().iter().filter(|link| link.name.starts_with("there_"));
    assert_eq!(halves.filter(|half| half.bandwidth_profile.is_some()).count(), 2);
}

#[test]
fn what_ends_at_one_time_ends_in_the_order_of_the_starts() {
    let off = |link: &str| format!(r#"<trace_connect kind="LINK_AVAIL" trace="t" element="{link}"/>"#);
    let platform =
        platform(&wires("0", &(r#"<trace id="t">3 0</trace>"#.to_owned() + &off("there") + &off("back"))));
    let (a, b) = (host(&platform, "a"), host(&platform, "b"));
    // Without acknowledgements on the way back each transfer uses one link; the first link carries the second
    // transfer.
    let mut network = Flows::new(&platform, FlowModel { cross_traffic: 0.0, ..FlowModel::CM02 });
    let started =
        [network.start(b, a, 1e9), network.start(a, b, 1e9)].map(|start| start.expect("there is a route"));
    let ended: Vec<_> = network.advance(10.0).iter().map(|end| (end.transfer, end.at, end.arrived)).collect();
    assert_eq!(ended, started.map(|transfer| (transfer, 3.0, false)));
}

#[test]
fn a_profile_repeats_where_its_own_text_says_so() {
    // 10 MB, which start at 4 MB/s. SimGrid 3.32 has these times with the texts as `bandwidth_file`.
    for (text, end) in [
        ("0 4e6\n1 1e6", 7.0),
        ("PERIODICITY 3\n0 4e6\n1 1e6", 4.0),
        ("0 4e6\n1 1e6\nLOOPAFTER 1", 4.0),
        ("0 4e6\n1 1e6\nPERIODICITY 4", 4.75),
        ("PERIODICITY 2\nPERIODICITY 5\n0 4e6\n1 1e6", 5.5),
        ("0 4e6\n0.5 1e6\n0.5 2e6", 4.5),
    ] {
        assert_ends(&ends(&wires("0", &profile("BANDWIDTH", text)), &[(0.0, 1e7)]), &[(end, true)]);
    }
}

#[test]
fn states_that_are_not_above_0_are_off() {
    for off in ["0", "-1.0", "-0.5"] {
        let text = wires("0", &profile("LINK_AVAIL", &format!("1 {off}\n2 0.5")));
        assert_ends(
            &ends(&text, &[(0.5, 1e7), (1.5, 1.0), (2.5, 1e7)]),
            &[(1.0, false), (1.5, false), (3.5, true)],
        );
    }
}

#[test]
fn a_trace_has_a_file_or_a_text_and_a_file_has_its_own_period() {
    let read = |trace: &str| {
        let text =
            wires("0", &format!("{trace}<trace_connect kind=\"BANDWIDTH\" trace=\"t\" element=\"there\"/>"));
        paceline_network::read("demo.xml", &text, &mut |_| Ok("0 4e6\n1 1e6\n".into()))
    };
    let notice = "demo.xml:5:57: `periodicity` has no effect on a <trace> with a file, as in SimGrid; a line PERIODICITY in the \
                file has";
    for (periodicity, notices) in [("-1", &[][..]), ("0.0", &[]), ("3", &[notice])] {
        let platform =
            read(&format!("<trace id=\"t\" file=\"f.txt\" periodicity=\"{periodicity}\"/>")).unwrap();
        assert_eq!(platform.notices(), notices);
        let profile = platform.links()[1].bandwidth_profile.as_ref().unwrap();
        assert_eq!(profile.changes().count(), 2, "it does not repeat");
    }
    let both = read("<trace id=\"t\" file=\"f.txt\">0 1e6</trace>").unwrap_err();
    assert_eq!(both.problem, "a <trace> with a file and a text");
}

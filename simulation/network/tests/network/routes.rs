//! Routes: through nested zones, over bypasses, shortest ways in graphs, and missing routes.

use std::collections::BTreeMap;

use paceline_network::{FlowModel, HostId, Platform, RouteError};
use proptest::collection::btree_map;
use proptest::prelude::*;

use crate::{file, host, links, platform};

fn between<'p>(platform: &'p Platform, from: &str, to: &str) -> Vec<&'p str> {
    links(platform, host(platform, from), host(platform, to))
}

#[test]
fn routes_lead_through_gateways_and_bypasses() {
    let zones = file("zones.xml");
    for (from, to, wanted) in [
        ("f0", "f1", &["f01"][..]),
        // The bypass between zones, with the ways to its gateways.
        ("f0", "d0", &["f01", "jump", "d12", "d01_DOWN"]),
        // The bypass applies in one direction only.
        ("d0", "f0", &["d01_UP", "fd", "f1r", "f01"]),
        ("d1", "f1", &["fd", "f1r"]),
        ("d0", "d2", &["d01_UP", "d12"]),
        ("rack-1.lab", "rack-7.lab", &["link_rack-1.lab_UP", "middle", "link_rack-7.lab_DOWN"]),
        ("s0", "rack-2.lab", &["spoke_UP", "middle", "link_rack-2.lab_DOWN"]),
        ("i0", "i1", &["i01"]),
        ("i1", "i0", &["short"]),
        ("i1", "s0", &["short", "ni", "middle", "spoke_DOWN"]),
        ("s0", "i1", &["spoke_UP", "middle", "ni", "i01"]),
        // From a host to itself: a route given in the file, the loopback, and in a star up and down.
        ("d1", "d1", &["self"]),
        ("i0", "i0", &["__loopback__"]),
        ("f0", "f0", &["__loopback__"]),
        ("rack-3.lab", "rack-3.lab", &["link_rack-3.lab_UP", "middle", "link_rack-3.lab_DOWN"]),
    ] {
        assert_eq!(between(&zones, from, to), wanted, "from {from} to {to}");
    }
    let route = zones.route(host(&zones, "i1"), host(&zones, "s0")).expect("there is one");
    assert!((route.latency - (1e-9 + 40e-3 + 1e-6 + 7e-6)).abs() < 1e-12, "{route:?}");
}

#[test]
fn a_route_that_is_missing_is_reported_with_its_zone() {
    let zones = file("zones.xml");
    let error = zones.route(host(&zones, "i1"), host(&zones, "f0")).expect_err("the file has none");
    assert_eq!(
        error.to_string(),
        "there is no route from `i1` to `f0`: zone `world` has none from `nested` to `floyd`"
    );
}

#[test]
fn a_way_to_a_gateway_that_leads_over_itself_is_a_loop() {
    let text = |attributes: &str| {
        format!(
            r#"<platform version="4.1"><zone id="world" routing="Full">
            <zone id="p" routing="Full"><host id="p1" speed="1Gf"/></zone>
            <zone id="q" routing="Full"><host id="q1" speed="1Gf"/><host id="q2" speed="1Gf"/></zone>
            <link id="wire" bandwidth="1MBps"/>
            <bypassZoneRoute src="p" dst="q" {attributes}><link_ctn id="wire"/></bypassZoneRoute>
            </zone></platform>"#
        )
    };
    // The gateway of the first zone is in the second: the way to it leads over the bypass itself.
    let circle = platform(&text("gw_src=\"q1\" gw_dst=\"q2\""));
    let error = circle.route(host(&circle, "p1"), host(&circle, "q2")).expect_err("there is no end");
    assert_eq!(error, RouteError::Loop { from: "p1".into(), to: "q2".into() });
    assert_eq!(
        error.to_string(),
        "the route from `p1` to `q2` is a loop: the way to a gateway leads back to where it came from"
    );
    let sound = platform(&text("gw_src=\"p1\" gw_dst=\"q2\""));
    assert_eq!(between(&sound, "p1", "q2"), ["wire"]);
}

#[test]
fn in_zones_without_inner_routes_the_way_to_a_gateway_takes_no_time() {
    let text = |routing: &str, gateway: &str| {
        format!(
            r#"<platform version="4.1"><zone id="w" routing="Full">
            <zone id="p" routing="{routing}"><host id="p1" speed="1Gf"/><host id="p2" speed="1Gf"/><router id="r"/></zone>
            <zone id="q" routing="None"><host id="q1" speed="1Gf"/></zone>
            <link id="wire" bandwidth="1MBps" latency="1ms"/>
            <zoneRoute src="p" dst="q" gw_src="{gateway}" gw_dst="q1"><link_ctn id="wire"/></zoneRoute>
            </zone></platform>"#
        )
    };
    // SimGrid 3.32, CM02: the link alone, 1e6 / (1e6 / 1.05) s and its latency.
    for (gateway, without) in [("r", "p1, p2"), ("p1", "p2")] {
        let platform = platform(&text("Full", gateway));
        let message = format!(
            "demo.xml:5:13: hosts of zone `p` have no route to and from its gateway `{gateway}`, and that part of their ways \
             takes no time, as in SimGrid: {without}"
        );
        assert_eq!(platform.notices(), [message]);
        crate::close(&crate::ends(&platform, FlowModel::CM02, &[("p2", "q1", 1e6)]), &[1.051]);
        crate::close(&crate::ends(&platform, FlowModel::CM02, &[("q1", "p2", 1e6)]), &[1.051]);
        let error = platform.route(host(&platform, "p1"), host(&platform, "p2")).unwrap_err().to_string();
        assert_eq!(error, "there is no route from `p1` to `p2`: zone `p` has none from `p1` to `p2`");
    }
    // The gateway itself needs no route; other routings have no empty ones.
    let none = platform(&text("None", "p1"));
    assert!(none.notices().is_empty());
    assert_eq!(between(&none, "p1", "q1"), ["wire"]);
    for routing in ["None", "Floyd", "Dijkstra"] {
        let platform = platform(&text(routing, "r"));
        let error = platform.route(host(&platform, "p2"), host(&platform, "q1")).unwrap_err().to_string();
        assert_eq!(error, "there is no route from `p2` to `q1`: zone `p` has none from `p2` to `r`");
    }
}

/// A zone of `hosts` hosts with the routes of a graph; the number of links of a route is its length.
fn graph(routing: &str, hosts: u32, edges: &BTreeMap<(u32, u32), u32>) -> Platform {
    let mut text = format!("<platform version=\"4.1\"><zone id=\"z\" routing=\"{routing}\">");
    for host in 0..hosts {
        text += &format!("<host id=\"h{host}\" speed=\"1Gf\"/>");
    }
    text += "<link id=\"wire\" bandwidth=\"1MBps\"/>";
    for ((from, to), length) in edges {
        text += &format!("<route src=\"h{from}\" dst=\"h{to}\" symmetrical=\"NO\">");
        text += &"<link_ctn id=\"wire\"/>".repeat(*length as usize);
        text += "</route>";
    }
    platform(&(text + "</zone></platform>"))
}

/// The lengths of shortest ways, by relaxing all edges once for each host.
fn lengths(hosts: u32, from: u32, edges: &BTreeMap<(u32, u32), u32>) -> BTreeMap<u32, u32> {
    let mut known = BTreeMap::from([(from, 0)]);
    for _ in 0..hosts {
        for ((near, far), length) in edges {
            if let Some(before) = known.get(near).copied() {
                let there = known.entry(*far).or_insert(u32::MAX);
                *there = (before + length).min(*there);
            }
        }
    }
    known
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn floyd_and_dijkstra_find_shortest_ways_where_there_are_any(
        hosts in 2u32..10,
        edges in btree_map((0u32..10, 0u32..10), 1u32..4, 0..30),
    ) {
        let edges = edges.into_iter().filter(|((from, to), _)| from != to && *from < hosts && *to < hosts).collect();
        for routing in ["Floyd", "Dijkstra"] {
            let platform = graph(routing, hosts, &edges);
            for from in 0..hosts {
                let lengths = lengths(hosts, from, &edges);
                for to in (0..hosts).filter(|to| *to != from) {
                    let found = platform.route(HostId(from), HostId(to)).ok().map(|route| route.links.len() as u32);
                    prop_assert_eq!(found, lengths.get(&to).copied(), "{} from {} to {}", routing, from, to);
                }
            }
        }
    }
}

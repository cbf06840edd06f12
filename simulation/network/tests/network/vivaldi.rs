//! Vivaldi zones, zones without routes, and coordinates elsewhere. Times are those of SimGrid 3.32 on the
//! same files.

use paceline_network::{FlowModel, Flows, Network, Platform};

use crate::refused::{BASE, mistake, refused};
use crate::{close, ends, host, links, platform};

const PEERS: &str = r#"<platform version="4.1"><zone id="z" routing="Vivaldi">
<peer id="p1" speed="1Gf" bw_in="10MBps" bw_out="20MBps" coordinates="30 40 1.5"/>
<peer id="p2" speed="1Gf" bw_in="5MBps" bw_out="20MBps" coordinates="0 0 0.5" lat="0" state_file=""/>
</zone></platform>"#;

const HOSTS: &str = r#"<platform version="4.1"><zone id="z" routing="vivaldi">
<host id="h1" speed="1Gf" coordinates="3 4 0"/>
<host id="h2" speed="1Gf" coordinates="3  4 0"/>
<host id="h3" speed="1Gf" coordinates="13 4 0"/> <router id="r"/>
</zone></platform>"#;

fn alone(platform: &Platform, model: FlowModel, transfers: &[(&str, &str, f64)]) -> Vec<f64> {
    transfers.iter().flat_map(|transfer| ends(platform, model, &[*transfer])).collect()
}

#[test]
fn peers_have_a_link_each_way_and_the_latency_of_their_distance() {
    let peers = platform(PEERS);
    let transfers = [("p1", "p2", 1e6), ("p2", "p1", 1e6), ("p1", "p1", 1e6), ("p1", "p2", 0.0)];
    close(
        &alone(&peers, FlowModel::LV08, &transfers),
        &[0.882_705_567, 0.779_612_784, 0.147_277_423, 0.67652],
    );
    close(&alone(&peers, FlowModel::CM02, &transfers), &[0.252, 0.152, 0.108, 0.052]);
    let together = ends(&peers, FlowModel::LV08, &transfers);
    close(&together, &[0.893_014_845, 0.885_603_471, 0.147_277_423, 0.67652]);
    let (p1, p2) = (host(&peers, "p1"), host(&peers, "p2"));
    assert_eq!(links(&peers, p1, p2), ["link_p1_UP", "link_p2_DOWN"]);
    assert!((peers.route(p1, p2).unwrap().latency - 0.052).abs() < 1e-12);
    assert!((Flows::new(&peers, FlowModel::CM02).least_latency() - 0.052).abs() < 1e-12);
    assert!(peers.notices().is_empty());
    let late = platform(&PEERS.replace("lat=\"0\"", "lat=\"5ms\""));
    let notice =
        "demo.xml:3:84: the latency of a <peer> has no effect, as in SimGrid; its third coordinate has";
    assert_eq!(late.notices(), [notice]);
}

#[test]
fn hosts_without_links_have_latency_alone() {
    let hosts = platform(HOSTS);
    let transfers = [("h1", "h3", 1e6), ("h1", "h3", 0.0), ("h3", "h2", 1e12)];
    close(&alone(&hosts, FlowModel::LV08, &transfers), &[0.1301, 0.1301, 0.1301]);
    close(&alone(&hosts, FlowModel::CM02, &transfers), &[0.01, 0.01, 0.01]);
    // SimGrid ends with an error here: there is neither a link nor a latency.
    for (from, to) in [("h3", "h3"), ("h1", "h2")] {
        let error = hosts.route(host(&hosts, from), host(&hosts, to)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("there is no route from `{from}` to `{to}`")), "{error}");
    }
}

#[test]
fn members_of_vivaldi_zones_need_three_coordinates() {
    let allowed = "allowed: coordinates=\"X Y HEIGHT\", in milliseconds";
    for (to, at, number) in [("coordinates=\"3 4\"", 40, 2), ("", 1, 0), ("coordinates=\"3 4 0 1\"", 40, 4)] {
        let message = format!("2:{at}: <host> with {number} coordinates in a Vivaldi zone; {allowed}");
        mistake(HOSTS, "coordinates=\"3 4 0\"", to, &message);
    }
    mistake(
        HOSTS,
        "<router id=\"r\"/>",
        "<router id=\"r\" coordinates=\"1\"/>",
        &format!("4:78: <router> with 1 coordinates in a Vivaldi zone; {allowed}"),
    );
    for text in ["1 2 x", "1,2,3", "nan 1 1", "1e20 0 0", " "] {
        let message = format!(
            "2:40: `coordinates` cannot be \"{text}\"; allowed: numbers with blanks between them: x, y and height, in \
             milliseconds"
        );
        mistake(HOSTS, "3 4 0", text, &message);
    }
    mistake(
        BASE,
        "<host id=\"b\"",
        "<peer id=\"p\" speed=\"1Gf\" bw_in=\"1Bps\" bw_out=\"1Bps\"/><host id=\"b\"",
        "4:1: <peer> in a zone with Full routing; allowed: <peer> in Vivaldi zones",
    );
}

#[test]
fn coordinates_elsewhere_are_kept_and_change_nothing() {
    let plain = platform(BASE);
    let placed = BASE.replace("id=\"a\"", "id=\"a\" coordinates=\"48.8 2.3\"");
    let placed = platform(&placed.replace("id=\"world\"", "id=\"world\" coordinates=\"1 2 3\""));
    assert_eq!(placed.hosts()[0].coordinates, [48.8, 2.3]);
    assert!(placed.hosts()[1].coordinates.is_empty());
    assert_eq!(placed.zone_coordinates("world"), Some(&[1.0, 2.0, 3.0][..]));
    let transfers = [("a", "b", 1e6)];
    assert_eq!(ends(&placed, FlowModel::LV08, &transfers), ends(&plain, FlowModel::LV08, &transfers));
}

#[test]
fn vivaldi_zones_are_reached_through_their_gateways() {
    // The distance counts from the host to the router: 3 + 4 + 1 ms of height; then 1 ms of the link.
    let text = format!(
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">{}<zone id=\"f\" routing=\"Full\"><host id=\"x\" speed=\"1Gf\"/></zone>
         <link id=\"l\" bandwidth=\"1MBps\" latency=\"1ms\"/>
         <zoneRoute src=\"z\" dst=\"f\" gw_src=\"r\" gw_dst=\"x\"><link_ctn id=\"l\"/></zoneRoute></zone></platform>",
        HOSTS.trim_start_matches("<platform version=\"4.1\">").trim_end_matches("</platform>").replace(
            "<router id=\"r\"/>",
            "<router id=\"r\" coordinates=\"0 0 -1\"/>"
        )
    );
    let platform = platform(&text);
    let route = platform.route(host(&platform, "h1"), host(&platform, "x")).unwrap();
    assert!((route.latency - 0.007).abs() < 1e-12 && route.links.len() == 1, "{route:?}");
}

#[test]
fn zones_without_routing_have_no_routes() {
    let text = BASE
        .replace("Full", "None")
        .replace("<route src=\"a\" dst=\"b\"><link_ctn id=\"wire\"/></route>\n", "");
    let none = platform(&text);
    for (from, to) in [("a", "b"), ("a", "a")] {
        let error = none.route(host(&none, from), host(&none, to)).unwrap_err().to_string();
        let notice = format!(
            "there is no route from `{from}` to `{to}`: zone `world` has none from `{from}` to `{to}`"
        );
        assert_eq!(error, notice);
    }
    assert_eq!(Flows::new(&none, FlowModel::LV08).alone(host(&none, "a"), host(&none, "a"), 1.0), None);
    refused(
        &BASE.replace("Full", "None"),
        "6:1: a route in a zone with None routing; allowed: no routes, or another routing",
    );
    // Zones of other routings need no routes either; a host there reaches itself.
    for routing in ["Full", "Floyd", "Dijkstra", "DijkstraCache"] {
        let alone = platform(&text.replace("None", routing));
        assert!(alone.route(host(&alone, "a"), host(&alone, "b")).is_err(), "{routing}");
        close(&ends(&alone, FlowModel::CM02, &[("a", "a", 1e6)]), &[0.0001]);
    }
}

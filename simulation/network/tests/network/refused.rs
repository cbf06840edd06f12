//! A mistake in a platform file gives one message: the place, the problem, and what is allowed.

use crate::{attempt, platform};

/// Two hosts and a link.
pub const BASE: &str = r#"<platform version="4.1">
<zone id="world" routing="Full">
<host id="a" speed="1Gf"/>
<host id="b" speed="1Gf"/>
<link id="wire" bandwidth="1MBps" latency="1ms"/>
<route src="a" dst="b"><link_ctn id="wire"/></route>
</zone>
</platform>
"#;

const ZONES: &str = r#"<platform version="4.1">
<zone id="world" routing="Full">
<zone id="p" routing="Full"><host id="p1" speed="1Gf"/></zone>
<zone id="q" routing="Full"><host id="q1" speed="1Gf"/></zone>
<link id="wire" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
<zoneRoute src="p" dst="q" gw_src="p1" gw_dst="q1"><link_ctn id="wire" direction="UP"/></zoneRoute>
</zone>
</platform>
"#;

/// A platform of one cluster with eight hosts.
pub const CLUSTER: &str = r#"<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1MBps" lat="1ms"/>
</platform>
"#;

/// Checks that a text is refused with this message (without the file's name).
#[track_caller]
pub fn refused(text: &str, message: &str) {
    let mistake = attempt(text).expect_err(text);
    assert_eq!(mistake.to_string(), format!("demo.xml:{message}"));
}

/// Replaces the first `from` with `to`, and checks that the text is refused with this message.
#[track_caller]
pub fn mistake(sound: &str, from: &str, to: &str, message: &str) {
    assert!(sound.contains(from), "{from:?} is in the file");
    refused(&sound.replacen(from, to, 1), message);
}

const BANDWIDTH: &str = "a bandwidth above 0, such as 125MBps or 1Gbps (0.001 Bps to 1 YBps)";
const LATENCY: &str = "a time such as 100us or 0 (1e-15 s to 1e9 s)";
const SPEED: &str =
    "a speed above 0, such as 1Gf (0.001 f to 1e30 f), or 0 for states that are not the first";

#[test]
fn the_files_that_mistakes_are_made_in_are_sound() {
    for text in [BASE, ZONES, CLUSTER] {
        platform(text);
    }
}

#[test]
fn names_that_nothing_has() {
    mistake(
        BASE,
        "dst=\"b\"",
        "dst=\"c\"",
        "6:21: `c` is no host or router in zone `world`; allowed: a host or router of that zone, such as a, b",
    );
    mistake(
        BASE,
        "ctn id=\"wire\"",
        "ctn id=\"wir\"",
        "6:38: there is no link `wir`; allowed: the name of a link",
    );
    mistake(
        ZONES,
        "dst=\"q\"",
        "dst=\"q1\"",
        "6:25: `q1` is no zone in zone `world`; allowed: a zone of that zone, such as p, q",
    );
    mistake(
        ZONES,
        "gw_dst=\"q1\"",
        "gw_dst=\"p1\"",
        "6:48: the gateway `p1` is not in zone `q`; allowed: a host or router in zone `q`",
    );
    mistake(
        ZONES,
        "gw_dst=\"q1\"",
        "gw_dst=\"q\"",
        "6:48: the gateway `q` is no host or router; allowed: a host or router of the zone",
    );
    mistake(
        BASE,
        "</zone>",
        "</zone><trace_connect kind=\"BANDWIDTH\" trace=\"t\" element=\"wire\"/>",
        "7:47: there is no trace `t`; allowed: the id of a <trace>",
    );
    mistake(
        BASE,
        "</zone>",
        "</zone><trace id=\"t\">0 1</trace><trace_connect trace=\"t\" element=\"wire\"/>",
        "7:67: there is no host `wire`; allowed: the name of a host",
    );
}

#[test]
fn names_that_are_there_twice() {
    let second = "a second host, router or zone with the name";
    let names = "names that nothing else has";
    mistake(BASE, "\"b\"", "\"a\"", &format!("4:11: {second} `a`; allowed: {names}"));
    mistake(BASE, "\"a\"", "\"world\"", &format!("3:11: {second} `world`; allowed: {names}"));
    // A zone cannot contain itself: its name would be given twice.
    mistake(ZONES, "id=\"q\"", "id=\"world\"", &format!("4:11: {second} `world`; allowed: {names}"));
    mistake(CLUSTER, "0-7", "0-7,3", &format!("2:47: {second} `n3`; allowed: {names}"));
    let links = "allowed: names that no other link has";
    for name in ["wire", "__loopback__"] {
        mistake(
            BASE,
            "<route",
            &format!("<link id=\"{name}\" bandwidth=\"1Bps\"/>\n<route"),
            &format!("6:11: a second link with the name `{name}`; {links}"),
        );
    }
    mistake(
        ZONES,
        "<zoneRoute",
        "<link id=\"wire_UP\" bandwidth=\"1Bps\"/>\n<zoneRoute",
        &format!("6:11: a second link with the name `wire_UP`; {links}"),
    );
    mistake(
        BASE,
        "</zone>",
        "<route src=\"b\" dst=\"a\"><link_ctn id=\"wire\"/></route></zone>",
        "7:1: a second route between `b` and `a`; allowed: one route for each direction; symmetrical=\"NO\" where a \
         route is for one only",
    );
    mistake(
        BASE,
        "</zone>",
        "</zone>\n<zone id=\"other\" routing=\"Full\"/>",
        "8:1: a second zone beside the outermost one; allowed: one outermost zone with all others in it",
    );
}

#[test]
fn numbers_that_nothing_can_have() {
    for (bandwidth, reason) in [
        ("0MBps", "it is out of range"),
        ("-1MBps", "it is out of range"),
        ("1e300", "it is out of range"),
        ("1MBPS", "there is no unit `MBPS`"),
        ("1 MBps", "there is no unit ` MBps`"),
        ("1ms", "there is no unit `ms`"),
        ("fast", "it does not start with a number"),
        ("NaN", "it does not start with a number"),
    ] {
        let message = format!("5:28: `bandwidth` cannot be \"{bandwidth}\": {reason}; allowed: {BANDWIDTH}");
        mistake(BASE, "1MBps", bandwidth, &message);
    }
    for (latency, reason) in [("-1ms", "it is out of range"), ("1MBps", "there is no unit `MBps`")] {
        let message = format!("5:44: `latency` cannot be \"{latency}\": {reason}; allowed: {LATENCY}");
        mistake(BASE, "1ms", latency, &message);
    }
    for (speed, reason) in [
        ("0f", "it is out of range"),
        ("1GHz", "there is no unit `GHz`"),
        ("1Gf,", "it does not start with a number"),
    ] {
        let message = format!("3:21: `speed` cannot be \"{speed}\": {reason}; allowed: {SPEED}");
        mistake(BASE, "1Gf", speed, &message);
    }
    mistake(
        BASE,
        "\"1Gf\"",
        "\"1Gf\" core=\"0\"",
        "3:32: `core` cannot be \"0\"; allowed: a whole number from 1 to 1048576",
    );
    mistake(
        BASE,
        "\"1Gf\"",
        "\"1Gf,2Gf\" pstate=\"2\"",
        "3:38: `pstate` cannot be \"2\"; allowed: a whole number from 0 to 1",
    );
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    mistake(
        BASE,
        "latency=\"1ms\"",
        "sharing_policy=\"WIFI\"",
        "5:51: WIFI links are not supported; allowed: SHARED, FATPIPE or SPLITDUPLEX",
    );
    mistake(
        BASE,
        "Full",
        "Wifi",
        "2:27: Wifi zones are not supported; allowed: Full, Floyd, Dijkstra, DijkstraCache, Cluster, Star, Vivaldi, None",
    );
    mistake(
        BASE,
        "Full",
        "Best",
        "2:27: there is no routing `Best`; allowed: Full, Floyd, Dijkstra, DijkstraCache, Cluster, Star, Vivaldi, None",
    );
    mistake(
        BASE,
        "</zone>",
        "</zone><actor host=\"a\" function=\"f\"/>",
        "7:8: <actor> is not supported: deployments are not read from platform files; allowed: config, zone, AS, \
         cluster, trace, trace_connect",
    );
    mistake(
        BASE,
        "</zone>",
        "</zone><trace id=\"t\">STOCHASTIC</trace><trace_connect kind=\"SPEED\" trace=\"t\" element=\"a\"/>",
        "7:22: `STOCHASTIC` in a profile; random profiles are not supported; allowed: lines with a time and a value, \
         `PERIODICITY seconds`, `LOOPAFTER seconds`, comments after `#`",
    );
}

#[test]
fn what_stands_where_it_may_not() {
    mistake(
        BASE,
        "<host id=\"b\"",
        "<hots id=\"b\"",
        "4:1: there is no element `hots` in <zone>; allowed: zone, AS, cluster, cabinet, host, peer, router, storage_type, storage, link, backbone, host_link, route, zoneRoute, ASroute, bypassRoute, bypassZoneRoute, bypassASroute, trace, trace_connect, prop",
    );
    mistake(
        BASE,
        "src=\"a\"",
        "scr=\"a\"",
        "6:13: there is no attribute `scr` in <route>; allowed: src, dst, symmetrical",
    );
    mistake(
        BASE,
        " id=\"b\"",
        "",
        "4:1: <host> without the attribute `id`; allowed: id=\"...\" in every <host>",
    );
    mistake(BASE, "id=\"b\"", "id=\"\"", "4:11: an empty name; allowed: a name");
    mistake(
        ZONES,
        "<link ",
        "<router id=\"r\"/>\n<link ",
        "5:1: <router> beside <zone> in one zone; allowed: zones and clusters, or hosts, routers and cabinets",
    );
    mistake(
        BASE,
        "<link_ctn id=\"wire\"/>",
        "",
        "6:1: a route without links; allowed: at least one <link_ctn>",
    );
    mistake(
        ZONES,
        " direction=\"UP\"",
        "",
        "6:66: the link `wire` is split and has no direction here; allowed: direction=\"UP\" or direction=\"DOWN\"",
    );
    mistake(
        BASE,
        "ctn id=\"wire\"",
        "ctn id=\"wire\" direction=\"UP\"",
        "6:38: the link `wire` is not split and has a direction here; allowed: no direction, or a link with \
         sharing_policy=\"SPLITDUPLEX\"",
    );
    mistake(
        BASE,
        "</zone>",
        "<backbone id=\"bb\" bandwidth=\"1Bps\" latency=\"0\"/></zone>",
        "7:1: <backbone> in a zone that is no cluster; allowed: a zone with routing=\"Cluster\" around it",
    );
    mistake(
        BASE,
        "<route",
        "words<route",
        "6:1: a text between elements; allowed: elements; text in <trace> only",
    );
}

#[test]
fn files_that_are_no_platform() {
    refused("", "1:1: a file without elements; allowed: <platform version=\"4.1\">");
    refused("words", "1:1: a text between elements; allowed: elements; text in <trace> only");
    refused("<html></html>", "1:1: the outermost element is <html>; allowed: <platform version=\"4.1\">");
    refused("<platform version=\"4.1\"/>", "1:1: a platform without zones; allowed: a <zone> or a <cluster>");
    mistake(BASE, "4.1", "3", "1:20: a file of version `3`; allowed: 4 or 4.1");
    mistake(BASE, "</zone>\n</platform>\n", "", "6:53: the file ends within <zone>; allowed: </zone>");
    refused(&format!("{BASE}<platform/>"), "9:1: <platform> after the end; allowed: one outermost element");
}

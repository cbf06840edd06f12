//! The constants and forms of SimGrid 3.32: what its definition of the format takes for granted, written out
//! or left out.

use paceline_network::{FlowModel, Flows, Network};

use crate::refused::BASE;
use crate::{attempt, close, ends, host, platform};

#[test]
fn constants_are_those_of_simgrids_option_table() {
    // `--help` of a SimGrid 3.32 program: latency-factor, bandwidth-factor, weight-S, TCP-gamma, and 5 % of
    // crosstraffic.
    let lv08 = FlowModel {
        latency_factor: 13.01,
        bandwidth_factor: 0.97,
        weight_s: 20537.0,
        cross_traffic: 0.05,
        tcp_window: 4_194_304.0,
    };
    assert_eq!(FlowModel::LV08, lv08);
    let cm02 = FlowModel { latency_factor: 1.0, bandwidth_factor: 1.0, weight_s: 0.0, ..lv08 };
    assert_eq!(FlowModel::CM02, cm02);
    // loopback-bw is 10 GBps, loopback-lat is 0.
    let base = platform(BASE);
    let loopback = &base.links()[0];
    assert_eq!((loopback.bandwidth, loopback.latency), (10e9, 0.0));
}

#[test]
fn a_host_reaches_itself_over_the_loopback() {
    // SimGrid 3.32: 0.0001 s with CM02, 0.000103092784 s with LV08, each of several transfers alone, as the
    // loopback is a fat pipe.
    for routing in ["Full", "Floyd", "Dijkstra"] {
        let platform = platform(&BASE.replace("Full", routing));
        let two = [("a", "a", 1e6), ("a", "a", 1e6), ("b", "b", 1e5)];
        close(&ends(&platform, FlowModel::CM02, &two), &[0.0001, 0.0001, 0.00001]);
        close(
            &ends(&platform, FlowModel::LV08, &two),
            &[0.000_103_092_784, 0.000_103_092_784, 0.000_010_309_278_4],
        );
        let a = host(&platform, "a");
        let alone = Flows::new(&platform, FlowModel::LV08).alone(a, a, 1e6);
        close(&[alone.expect("it shares nothing")], &[0.000_103_092_784]);
    }
    // A route of the host to itself replaces it: 1 ms and 1 s.
    let with_route =
        BASE.replace("<route ", "<route src=\"a\" dst=\"a\"><link_ctn id=\"wire\"/></route><route ");
    close(&ends(&platform(&with_route), FlowModel::CM02, &[("a", "a", 1e6)]), &[1.051]);
}

#[test]
fn numbers_may_be_written_as_the_definition_writes_them() {
    for (from, to) in [
        ("\"1Gf\"", "\"1Gf,2Gf\" pstate=\"0.0\""),
        ("\"1Gf\"", "\"1Gf,2Gf\" pstate=\"1.00\""),
        ("\"1Gf\"", "\"1Gf,2Gf\" pstate=\" 1\" core=\"4.0\""),
        ("\"1Gf\"", "\"1Gf,0f\""),
        ("\"1Gf\"", "\"100.0Mf,50.0Mf,20.0Mf,   0f,0f\" pstate=\"0\""),
        (
            "\"1Gf\"",
            "\"1Gf\" core=\"1\" speed_file=\"\" availability_file=\"\" state_file=\"\" coordinates=\"\" pstate=\"0.0\"",
        ),
        (
            "latency=\"1ms\"",
            "latency=\"0\" bandwidth_file=\"\" latency_file=\"\" state_file=\"\" sharing_policy=\"SHARED\"",
        ),
        ("\"1Gf\"", "\"1Gf\" availability=\"1.0\" state=\"ON\""),
        ("latency=\"1ms\"", "state=\"ON\""),
        ("dst=\"b\"", "dst=\"b\" symmetrical=\"yes\""),
        ("id=\"wire\"/></route>", "id=\"wire\" direction=\"NONE\"/></route>"),
        ("version=\"4.1\"", "version=\"4.10\""),
        ("version=\"4.1\"", "version=\"4\""),
        ("version=\"4.1\"", "version=\" 4.05\""),
    ] {
        assert!(BASE.contains(from));
        attempt(&BASE.replacen(from, to, 1)).unwrap_or_else(|mistake| panic!("{to}: {mistake}"));
    }
    let paused = platform(&BASE.replacen("\"1Gf\"", "\"1Gf,0f\" pstate=\"0.0\"", 1));
    assert_eq!((&paused.hosts()[0].speeds[..], paused.hosts()[0].state), (&[1e9, 0.0][..], 0));
    for (from, to) in [
        ("\"1Gf\"", "\"0f,1Gf\" pstate=\"1\""),
        ("\"1Gf\"", "\"1Gf,2Gf\" pstate=\"0.5\""),
        ("\"1Gf\"", "\"1Gf,2Gf\" pstate=\"-1\""),
        ("\"1Gf\"", "\"1Gf,2Gf\" pstate=\"2.0\""),
        ("\"1Gf\"", "\"1Gf\" core=\"1.5\""),
        ("\"1Gf\"", "\"1Gf\" availability=\"0.5\""),
        ("\"1Gf\"", "\"1Gf\" state=\"OFF\""),
        ("latency=\"1ms\"", "state=\"OFF\""),
        ("version=\"4.1\"", "version=\"4.1x\""),
        ("version=\"4.1\"", "version=\"4.2\""),
        ("version=\"4.1\"", "version=\"3\""),
    ] {
        attempt(&BASE.replacen(from, to, 1)).expect_err(to);
    }
}

#[test]
fn the_first_of_several_properties_with_one_name_counts() {
    let text = BASE.replace(
        "<host id=\"b\" speed=\"1Gf\"/>",
        "<host id=\"b\" speed=\"1Gf\"><prop id=\"p\" value=\"1\"/><prop id=\"p\" value=\"2\"/></host>",
    );
    assert_eq!(platform(&text).hosts()[1].properties["p"], "1");
}

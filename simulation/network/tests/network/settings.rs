//! `<config>`: what a network model has is applied, what changes no time is reported, everything else is
//! refused by name.

use paceline_network::FlowModel;

use crate::refused::refused;
use crate::{attempt, close, ends, platform};

/// Two hosts and a link, with these settings in the second line.
fn with(settings: &[(&str, &str)]) -> String {
    let props: String =
        settings.iter().map(|(id, value)| format!("<prop id=\"{id}\" value=\"{value}\"/>")).collect();
    format!(
        r#"<platform version="4.1">
<config id="General">{props}</config>
<zone id="z" routing="Full"><host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
<link id="l" bandwidth="100MBps" latency="10ms"/> <route src="a" dst="b"><link_ctn id="l"/></route>
</zone></platform>"#
    )
}

/// Crossing transfers, and one of a host to itself.
const CROSSING: [(&str, &str, f64); 3] = [("a", "b", 1e7), ("b", "a", 5e6), ("a", "a", 1e6)];

#[test]
fn settings_of_the_network_are_applied() {
    // All times: SimGrid 3.32 on this file. The model is LV08 unless the file names CM02.
    for (settings, model, times) in [
        (&[][..], FlowModel::LV08, [0.292_471_134, 0.238_347_423, 0.000_103_092_784]),
        (
            &[("network/latency-factor", "2")],
            FlowModel::LV08,
            [0.182_371_134, 0.128_247_423, 0.000_103_092_784],
        ),
        (&[("network/latency-factor", "3")], FlowModel::CM02, [0.1875, 0.135, 0.0001]),
        (&[("network/bandwidth-factor", "0.5")], FlowModel::LV08, [0.4451, 0.3401, 0.0002]),
        (&[("network/weight-S", "0")], FlowModel::LV08, [0.292_471_134, 0.238_347_423, 0.000_103_092_784]),
        (
            &[("network/TCP-gamma", "100000")],
            FlowModel::LV08,
            [2.191_955_67, 1.161_027_84, 0.000_103_092_784],
        ),
        (
            &[("network/crosstraffic", "0")],
            FlowModel::LV08,
            [0.284_739_175, 0.233_192_784, 0.000_103_092_784],
        ),
        (
            &[("network/crosstraffic", "no")],
            FlowModel::LV08,
            [0.284_739_175, 0.233_192_784, 0.000_103_092_784],
        ),
        (&[("network/crosstraffic", "True")], FlowModel::CM02, [0.1675, 0.115, 0.0001]),
        (
            &[("network/loopback-bw", "1e6"), ("network/loopback-lat", "0.5")],
            FlowModel::LV08,
            [0.292_471_134, 0.238_347_423, 7.535_927_84],
        ),
    ] {
        let platform = platform(&with(settings));
        close(&ends(&platform, model, &CROSSING), &times);
        assert!(platform.notices().is_empty(), "{settings:?} is followed");
    }
}

#[test]
fn the_model_is_the_callers_to_choose() {
    let named = platform(&with(&[("network/model", "SMPI")]));
    assert_eq!(named.settings().model, Some(("SMPI".into(), "demo.xml:2:54".into())));
    assert_eq!(platform(&with(&[])).settings().model, None);
}

#[test]
fn settings_without_effect_are_reported() {
    let text = with(&[
        ("maxmin/precision", "0.000010"),
        ("cpu/optim", "TI"),
        ("host/model", "compound"),
        ("path", "~/"),
        ("smpi/bw-factor", "65472:0.940694"),
        ("tracing/filename", "t.trace"),
    ]);
    let notice = "demo.xml:2:1: settings in <config> that have no effect here: maxmin/precision, cpu/optim, path, \
                smpi/bw-factor, tracing/filename";
    assert_eq!(platform(&text).notices(), [notice]);
}

#[test]
fn settings_that_cannot_be_followed_are_refused() {
    for (id, value, message) in [
        ("network/latency-factor", "fast", "the setting `network/latency-factor` cannot be \"fast\""),
        ("network/latency-factor", "-1", "the setting `network/latency-factor` cannot be \"-1\""),
        // SimGrid 3.32 refuses units here, too.
        ("network/loopback-bw", "10GBps", "the setting `network/loopback-bw` cannot be \"10GBps\""),
        ("network/loopback-lat", "NaN", "the setting `network/loopback-lat` cannot be \"NaN\""),
        ("network/bandwidth-factor", "0", "the setting `network/bandwidth-factor` cannot be \"0\""),
        ("network/TCP-gamma", "0", "the setting `network/TCP-gamma` cannot be \"0\""),
        ("network/crosstraffic", "perhaps", "the setting `network/crosstraffic` cannot be \"perhaps\""),
        ("host/model", "ptask_L07", "the setting `host/model` cannot be \"ptask_L07\""),
        ("maxmin/concurrency-limit", "5", "the setting `maxmin/concurrency-limit` cannot be \"5\""),
        ("network/solver", "bmf", "the setting `network/solver` cannot be \"bmf\""),
        ("network/TCP_gamma", "5", "the setting `network/TCP_gamma` in <config> is not supported"),
        ("no/such", "5", "the setting `no/such` in <config> is not supported"),
    ] {
        let mistake = attempt(&with(&[(id, value)])).expect_err(id);
        assert_eq!((mistake.problem.as_str(), mistake.line), (message, 2), "{id}");
    }
    let twice = with(&[("path", "a"), ("path", "b")]);
    let mistake = attempt(&twice).expect_err("two values");
    assert_eq!(mistake.problem, "a second value for the setting `path`");
    refused(
        "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\"/>\n<config/></platform>",
        "3:1: a <config> after a zone; allowed: <config> before all zones and clusters",
    );
}

//! Clusters with the attributes of SimGrid's definition written out, and with links of every policy. Times:
//! SimGrid 3.32.

use paceline_network::FlowModel;

use crate::{close, ends, platform};

const TRANSFERS: [(&str, &str, f64); 4] =
    [("n0", "n1", 1e6), ("n0", "n2", 1e6), ("n0", "n1", 1e5), ("n1", "n0", 1e6)];

fn cluster(attributes: &str) -> String {
    format!(
        "<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"100MBps\" lat=\"10us\" {attributes}/></platform>"
    )
}

#[test]
fn links_of_a_fat_pipe_cluster_are_shared_as_in_simgrid_and_that_is_reported() {
    let flat = [0.033_816_901, 0.033_816_901, 0.004_590_096_91, 0.033_816_901];
    let backbone = [0.033_829_911, 0.033_829_911, 0.004_603_106_91, 0.033_829_911];
    let fat_tree = [0.028_361_163_2, 0.033_816_901, 0.004_005_493_13, 0.028_361_163_2];
    for (more, times) in [
        ("", flat),
        ("bb_bw=\"150MBps\" bb_lat=\"1us\"", backbone),
        ("bb_bw=\"150MBps\" bb_lat=\"1us\" bb_sharing_policy=\"FATPIPE\"", backbone),
        ("topology=\"FAT_TREE\" topo_parameters=\"2;2,2;1,2;1,1\"", fat_tree),
        ("loopback_bw=\"50MBps\" limiter_link=\"120MBps\"", flat),
    ] {
        for policy in ["FATPIPE", "SHARED"] {
            let platform = platform(&cluster(&format!("sharing_policy=\"{policy}\" {more}")));
            close(&ends(&platform, FlowModel::LV08, &TRANSFERS), &times);
            let notice = "demo.xml:2:104: the links of a cluster with sharing_policy=\"FATPIPE\" are shared, as in SimGrid 3.32";
            let expected: &[&str] = if policy == "FATPIPE" { &[notice] } else { &[] };
            assert_eq!(platform.notices(), expected, "{policy} {more}");
        }
    }
}

#[test]
fn the_defaults_of_the_definition_may_be_written_out() {
    let defaults = "core=\"1\" sharing_policy=\"SPLITDUPLEX\" bb_bw=\"\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\" router_id=\"\" \
                    limiter_link=\"\" loopback_bw=\"\" loopback_lat=\"\"";
    for shape in [
        "",
        "topology=\"FLAT\" topo_parameters=\"\"",
        "topology=\"TORUS\" topo_parameters=\"2,2\"",
        "topology=\"FAT_TREE\" topo_parameters=\"2;2,2;1,2;1,1\"",
        "topology=\"DRAGONFLY\" topo_parameters=\"1,1;1,1;2,1;2\"",
    ] {
        let [short, long] =
            [cluster(shape), cluster(&format!("{shape} {defaults}"))].map(|text| platform(&text));
        assert_eq!(
            ends(&long, FlowModel::LV08, &TRANSFERS),
            ends(&short, FlowModel::LV08, &TRANSFERS),
            "{shape}"
        );
        assert_eq!(long.links(), short.links());
        assert!(long.notices().is_empty());
    }
    // A bandwidth of 0 is no link, as in SimGrid.
    let zeros = platform(&cluster("bb_bw=\"0\" limiter_link=\"0Bps\" loopback_bw=\"0\""));
    assert_eq!(zeros.links(), platform(&cluster("")).links());
}

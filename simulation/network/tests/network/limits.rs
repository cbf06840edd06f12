//! Impossible clusters and profiles, and files that would need too much memory: refused before they do.

use crate::refused::{BASE, CLUSTER, mistake, refused};
use crate::{attempt, platform};

#[test]
fn clusters_that_do_not_fit_their_topology() {
    let shaped = |topology: &str, shape: &str| {
        CLUSTER.replace("lat=", &format!("topology=\"{topology}\" topo_parameters=\"{shape}\" lat="))
    };
    platform(&shaped("TORUS", "4,2"));
    refused(
        &shaped("TORUS", "4,3"),
        "2:109: a topology of 12 hosts in a cluster of 8; allowed: as many hosts as `radical` counts",
    );
    let numbers = "all from 1 to 262144, at most 32 in a row";
    for shape in ["4,", "0,8", "4;2", "8,1.5", "-8", &"1,".repeat(40)] {
        let text = shaped("TORUS", shape);
        let message = format!(
            "2:109: `topo_parameters` cannot be \"{shape}\"; allowed: the sizes of the dimensions, such as 3,2,2, {numbers}"
        );
        refused(&text, &message);
    }
    for shape in ["2;4,2;1,2", "3;4,2;1,2;1,2", "2;4,2;1;1,2"] {
        let message = format!(
            "2:112: `topo_parameters` cannot be \"{shape}\"; allowed: LEVELS;CHILDREN,...;PARENTS,...;CABLES,..., such as \
             2;4,4;1,2;1,2, {numbers}"
        );
        refused(&shaped("FAT_TREE", shape), &message);
    }
    refused(
        &shaped("DRAGONFLY", "4,1;1,1;2,1;1"),
        "2:113: a dragonfly with 4 groups and 2 routers in a chassis; allowed: at most as many groups as routers in a chassis",
    );
    refused(
        &shaped("RING", "8"),
        "2:85: there is no topology `RING`; allowed: FLAT, TORUS, FAT_TREE or DRAGONFLY",
    );
    for range in ["7-0", "1-0"] {
        let message = format!(
            "2:47: the range `{range}` in `radical` ends before it starts; allowed: ranges that are not empty, such as 0-99"
        );
        mistake(CLUSTER, "0-7", range, &message);
    }
    mistake(
        CLUSTER,
        "0-7",
        "0..7",
        "2:47: `0..7` in `radical`; allowed: numbers and ranges, such as 0-99,120",
    );
}

#[test]
fn files_that_would_grow_beyond_measure() {
    mistake(
        BASE,
        "<platform",
        "<!DOCTYPE platform [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<platform",
        "1:1: a document type with declarations of its own; allowed: <!DOCTYPE platform SYSTEM \"...\">, or none",
    );
    mistake(
        BASE,
        "id=\"b\"",
        "id=\"&bomb;\"",
        "4:1: a broken attribute in <host>: at 1..5: unrecognized entity `bomb`; allowed: name=\"value\", each once",
    );
    mistake(BASE, "<host", "&bomb;<host", "3:1: an entity in a text; allowed: texts without `&`");
    let deep = format!("{}{}", "<zone id=\"z\" routing=\"Full\">".repeat(100_000), "</zone>".repeat(100_000));
    mistake(
        BASE,
        "<host",
        &format!("{deep}<host"),
        "3:1737: elements too deep within each other; allowed: at most 64 elements within each other",
    );
    mistake(CLUSTER, "0-7", "0-999999999", "2:47: too many hosts; allowed: at most 262144 hosts");
    mistake(CLUSTER, "0-7", "0-200000,300000-400000", "2:47: too many hosts; allowed: at most 262144 hosts");
    let long = "x".repeat(1000);
    mistake(
        CLUSTER,
        "\"n\" suffix=\"\" radical=\"0-7\"",
        &format!("\"{long}\" suffix=\"\" radical=\"0-250000\""),
        "2:1046: 250001 hosts, for each of which the file has 1020 bytes; allowed: at most 134217728 bytes for the \
         hosts of all clusters together",
    );
    // Each of these clusters is within the limit, but all together are not.
    let mut clusters = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">".to_owned();
    for number in 0..30 {
        let id = format!("id=\"c{number}\" prefix=\"{number}{long}\" suffix=\"\" radical=\"0-5999\"");
        clusters += &format!("<cluster {id} speed=\"1Gf\" bw=\"1MBps\" lat=\"0\"/>");
    }
    let together = attempt(&(clusters + "</zone></platform>")).expect_err("they are too large");
    assert!(together.problem.starts_with("6000 hosts, for each of which"), "{together}");
    mistake(
        BASE,
        "id=\"b\"",
        &format!("id=\"{long}\""),
        "4:11: a name of 1000 bytes; allowed: at most 256 bytes",
    );
    let mut floyd = "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Floyd\">".to_owned();
    for router in 0..1025 {
        floyd += &format!("<router id=\"r{router}\"/>");
    }
    refused(
        &(floyd + "</zone></platform>"),
        "2:1: a zone with Floyd routing and 1025 members; allowed: at most 1024 members, and 4194304 pairs of members \
         in all such zones; Dijkstra has no limit",
    );
    let wide = CLUSTER
        .replace("0-7", "0-3")
        .replace("lat=", "topology=\"FAT_TREE\" topo_parameters=\"1;4;262144;4\" lat=");
    refused(&wide, "2:14: too many links; allowed: at most 1048576 links");
}

#[test]
fn profiles_that_cannot_be_had_or_used() {
    let file = |name: &str| format!("latency=\"1ms\" bandwidth_file=\"{name}\"");
    mistake(
        BASE,
        "latency=\"1ms\"",
        &file("nowhere.trace"),
        "5:65: the profile nowhere.trace cannot be read: there is none; allowed: a text file, sought beside the platform file",
    );
    // A mistake in the profile itself is reported with its place in the profile.
    let text = BASE.replace("latency=\"1ms\"", &file("state.trace"));
    let mistake = attempt(&text).expect_err("0 is no bandwidth");
    assert_eq!(
        mistake.to_string(),
        "state.trace:1:1: the value `0` in a profile; allowed: bytes per second from 0.001 to 1e24"
    );
    let twice = BASE.replace("latency=\"1ms\"", "bandwidth_file=\"bandwidth.trace\"").replace(
        "</zone>",
        "</zone><trace_connect kind=\"BANDWIDTH\" trace=\"t\" element=\"wire\"/><trace id=\"t\">1 1</trace>",
    );
    refused(&twice, "7:59: a second profile of one kind for `wire`; allowed: at most one of each kind");
}

#[test]
fn messages_are_one_line_of_bounded_length() {
    let attempt = |name: &str| {
        let text = BASE.replacen("1MBps", name, 1);
        attempt(&text).expect_err("no bandwidth").to_string()
    };
    assert!(attempt("1\n\t\u{7}\u{1b}[31m").contains("cannot be \"1\\n\\t\\u{7}\\u{1b}[31m\""));
    let long = attempt(&"9x".repeat(1 << 20));
    assert!(long.len() < 1000 && long.contains(" ... "), "{} bytes", long.len());
}

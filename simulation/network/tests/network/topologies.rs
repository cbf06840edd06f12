//! Clusters: the number of their links, the number of links of a route, and that the way back is equally
//! long.

use paceline_network::{HostId, Platform};

use crate::{links, platform};

/// A cluster with this many hosts and further attributes.
fn cluster(hosts: u32, attributes: &str) -> Platform {
    let last = hosts - 1;
    platform(&format!(
        r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf"
        bw="1MBps" lat="1ms" {attributes}/></platform>"#
    ))
}

/// All pairs of hosts, and each host with itself.
fn pairs(platform: &Platform) -> impl Iterator<Item = (u32, u32)> {
    let hosts = platform.hosts().len() as u32;
    (0..hosts).flat_map(move |from| (0..hosts).map(move |to| (from, to)))
}

fn route(platform: &Platform, from: u32, to: u32) -> Vec<&str> {
    links(platform, HostId(from), HostId(to))
}

/// How many links of a route are limiters.
fn limiters(route: &[&str]) -> usize {
    route.iter().filter(|name| name.ends_with("_limiter")).count()
}

/// The reverse of a route, with the other half of every split link.
fn back(route: &[&str]) -> Vec<String> {
    let half = |name: &&str| match (name.strip_suffix("_UP"), name.strip_suffix("_DOWN")) {
        (Some(name), _) => format!("{name}_DOWN"),
        (_, Some(name)) => format!("{name}_UP"),
        _ => (*name).to_owned(),
    };
    route.iter().rev().map(half).collect()
}

/// The number of links of a platform, without the loopback.
fn count(platform: &Platform) -> usize {
    platform.links().len() - 1
}

#[test]
fn in_a_star_every_route_is_a_link_up_and_a_link_down() {
    for (attributes, of_host, on_route, others) in [
        ("", 2, 2, 0),
        ("sharing_policy=\"SHARED\"", 1, 2, 0),
        ("bb_bw=\"1GBps\" bb_lat=\"1us\"", 2, 3, 1),
        ("limiter_link=\"2MBps\"", 3, 4, 0),
        ("limiter_link=\"2MBps\" bb_bw=\"1GBps\" sharing_policy=\"SHARED\"", 2, 5, 1),
    ] {
        let star = cluster(5, attributes);
        assert_eq!(count(&star), 5 * of_host + others, "{attributes}");
        for (from, to) in pairs(&star).filter(|(from, to)| from != to) {
            let there = route(&star, from, to);
            assert_eq!(there.len(), on_route, "{attributes}: {there:?}");
            assert_eq!(back(&there), route(&star, to, from), "{attributes}");
        }
    }
    let with_loopbacks = cluster(3, "loopback_bw=\"1GBps\"");
    assert!((0..3).all(|host| route(&with_loopbacks, host, host) == [format!("c_link_{host}_loopback")]));
}

#[test]
fn in_a_torus_a_route_is_as_long_as_the_rings_are_far() {
    for sizes in [&[1][..], &[2], &[5], &[6], &[4, 3], &[2, 2, 2], &[3, 2, 4], &[1, 5, 1]] {
        let hosts: u32 = sizes.iter().product();
        let words: Vec<String> = sizes.iter().map(u32::to_string).collect();
        let shape = format!("topology=\"TORUS\" topo_parameters=\"{}\"", words.join(","));
        let torus = cluster(hosts, &shape);
        let limited = cluster(hosts, &format!("{shape} limiter_link=\"2MBps\""));
        assert_eq!(count(&torus), 2 * hosts as usize * sizes.len(), "{sizes:?}");
        assert_eq!(count(&limited), count(&torus) + hosts as usize, "{sizes:?}");
        for (from, to) in pairs(&torus).filter(|(from, to)| from != to) {
            let (mut hops, mut stride) = (0, 1);
            for size in sizes {
                let apart = (from / stride % size).abs_diff(to / stride % size);
                hops += apart.min(size - apart) as usize;
                stride *= size;
            }
            let there = route(&torus, from, to);
            assert_eq!(there.len(), hops, "{sizes:?}: from {from} to {to}: {there:?}");
            // In one dimension of odd size there are no two shortest ways, and the way back uses the same
            // links.
            if sizes.len() == 1 && sizes[0] % 2 == 1 {
                assert_eq!(back(&there), route(&torus, to, from), "{sizes:?}");
            }
            let with = route(&limited, from, to);
            assert_eq!(
                (with.len(), limiters(&with)),
                (2 * hops + 1, hops + 1),
                "every host on the way limits"
            );
        }
    }
}

#[test]
fn in_a_fat_tree_a_route_goes_up_to_the_first_switch_above_both() {
    for (shape, children, parents, cables) in [
        ("1;4;1;1", &[4][..], &[1][..], &[1][..]),
        ("2;4,4;1,2;1,2", &[4, 4], &[1, 2], &[1, 2]),
        ("2;3,2;2,1;2,1", &[3, 2], &[2, 1], &[2, 1]),
        ("3;2,3,2;1,2,3;2,1,1", &[2, 3, 2], &[1, 2, 3], &[2, 1, 1]),
    ] {
        let hosts: u32 = children.iter().product();
        let shape = format!("topology=\"FAT_TREE\" topo_parameters=\"{shape}\"");
        let tree = cluster(hosts, &shape);
        let limited = cluster(hosts, &format!("{shape} limiter_link=\"2MBps\""));
        let nodes = |level: usize| parents[..level].iter().chain(&children[level..]).product::<u32>();
        let wires: u32 = (0..children.len()).map(|level| nodes(level) * parents[level] * cables[level]).sum();
        assert_eq!(count(&tree), 2 * wires as usize, "{shape}");
        assert_eq!(count(&limited), (2 * wires + (0..=children.len()).map(nodes).sum::<u32>()) as usize);
        for (from, to) in pairs(&tree) {
            let below = |level: usize| children[..level].iter().product::<u32>();
            let shared = |level: &usize| from / below(*level) == to / below(*level);
            let level = (1..=children.len()).find(shared).expect("the top is above all");
            let there = route(&tree, from, to);
            assert_eq!(there.len(), 2 * level, "{shape}: from {from} to {to}: {there:?}");
            assert!(there[..level].iter().all(|name| name.ends_with("_UP")), "{there:?}");
            assert!(there[level..].iter().all(|name| name.ends_with("_DOWN")), "{there:?}");
            let with = route(&limited, from, to);
            assert_eq!((with.len(), limiters(&with)), (4 * level + 1, 2 * level + 1), "{with:?}");
        }
    }
}

#[test]
fn in_a_dragonfly_a_route_has_one_blue_link_between_groups_and_none_within() {
    for [groups, chassis, routers, per_router] in [[1, 1, 1, 3], [2, 2, 3, 2], [3, 1, 3, 1], [3, 2, 4, 2]] {
        let hosts = groups * chassis * routers * per_router;
        let shape = format!(
            "topology=\"DRAGONFLY\" topo_parameters=\"{groups},2;{chassis},3;{routers},1;{per_router}\""
        );
        let fly = cluster(hosts, &shape);
        let two_of = |number: u32| number * (number - 1) / 2;
        let wires =
            hosts + groups * chassis * two_of(routers) + groups * routers * two_of(chassis) + two_of(groups);
        assert_eq!(count(&fly), 2 * wires as usize, "{shape}");
        for (from, to) in pairs(&fly) {
            let there = route(&fly, from, to);
            let of_kind = |kind: &str| there.iter().filter(|name| name.contains(kind)).count();
            let [router, goal] = [from, to].map(|host| host / per_router);
            let [group, other] = [router, goal].map(|router| router / routers / chassis);
            assert_eq!(of_kind("_local_link_"), 2, "from a host and to a host: {there:?}");
            assert_eq!(of_kind("_blue_link_"), usize::from(group != other), "{there:?}");
            assert!(of_kind("_green_link_") <= 2 && of_kind("_black_link_") <= 2, "{there:?}");
            assert_eq!(there.len() == 2, router == goal, "{there:?}");
            let blue = |route: &[&str]| route.iter().position(|name| name.contains("_blue_link_"));
            let home = route(&fly, to, from);
            if let (Some(at), Some(then)) = (blue(&there), blue(&home)) {
                assert_eq!(back(&there[at..=at]), home[then..=then], "two groups have one cable");
            }
        }
    }
}

#[test]
fn several_links_of_a_dragonfly_are_one_of_so_many_times_the_bandwidth() {
    let fly = cluster(24, "topology=\"DRAGONFLY\" topo_parameters=\"2,4;2,3;3,2;2\"");
    for (kind, factor) in [("_local_", 1.0), ("_green_", 2.0), ("_black_", 3.0), ("_blue_", 4.0)] {
        let mut links = fly.links().iter().filter(|link| link.name.contains(kind)).peekable();
        assert!(links.peek().is_some(), "{kind}");
        assert!(links.all(|link| link.bandwidth == factor * 1e6 && link.latency == 1e-3), "{kind}");
    }
}

#[test]
fn clusters_name_what_they_have_by_their_numbers() {
    let cluster = platform(
        r#"<platform version="4.1"><cluster id="c" prefix="n-" suffix=".lab" radical="0-1,5, 7-8" speed="1Gf,2Gf"
        core="3" bw="1MBps" lat="1ms" router_id="gate"><prop id="rack" value="4"/></cluster></platform>"#,
    );
    let names: Vec<&str> = cluster.hosts().iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["n-0.lab", "n-1.lab", "n-5.lab", "n-7.lab", "n-8.lab"]);
    assert!(cluster.hosts().iter().all(|host| host.cores == 3 && host.speeds == [1e9, 2e9]));
    assert!(cluster.hosts().iter().all(|host| host.properties["rack"] == "4"));
    assert_eq!(cluster.zone_properties("c").expect("a cluster is a zone")["rack"], "4");
    assert!(cluster.routers().eq(["gate"]) && cluster.zones().eq(["c"]));
    assert_eq!(links(&cluster, HostId(2), HostId(4)), ["c_link_5_UP", "c_link_8_DOWN"]);
}

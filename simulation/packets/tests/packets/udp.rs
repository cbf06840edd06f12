//! UDP against the theory of queues and against ns-3.

use paceline_kernel::Time;
use paceline_packets::{Drive, Flow, LinkSpec, NetworkBuilder, NodeKind, Packets, Udp};

use crate::networks::{fat_tree, sequential};

/// The mean wait, in service times, at a link at `load` to which packets come at random: 10 Gb/s, 1250 bytes,
/// a service time of 1 us.
fn mean_wait(load: f64, packets: u32) -> f64 {
    let mut builder = NetworkBuilder::new();
    let (from, to) = (builder.node("a", NodeKind::Host).unwrap(), builder.node("b", NodeKind::Host).unwrap());
    builder.link(from, to, &LinkSpec::new(10_000_000_000, 5_000_000)).unwrap();
    let rate = (load * 1e10) as u64;
    let udp = Udp { rate, wire_bytes: 1250, drive: Drive::Poisson, packets: Some(packets) };
    let model = Packets::new(builder.build().unwrap(), vec![Flow::udp(from, to, udp)]).unwrap();
    let (results, _) = sequential(&model, Time::MAX);
    assert_eq!(results.packets_arrived, u64::from(packets));
    // The latency is 5 us, the service 1 us.
    results.mean_delay_s.unwrap() * 1e6 - 6.0
}

/// Pollaczek and Khinchine: the mean wait is rho / (2 (1 - rho)) service times. With so many packets the
/// standard error of the mean is about 0.1 % at half load and 0.4 % at 0.8.
#[test]
fn waits_at_a_link_are_those_of_m_d_1() {
    for (load, packets, theory) in [(0.5, 2_000_000, 0.5), (0.8, 5_000_000, 2.0)] {
        let wait = mean_wait(load, packets);
        assert!((wait / theory - 1.0).abs() < 0.01, "load {load}: a mean wait of {wait} service times");
    }
}

/// ns-3 3.37 with the same settings and a random path for each packet: mean delays of 23,419.1 and 23,875.3
/// ns; 194,175 packets sent and 193,947 arrived with k = 4 in 20 ms, 388,350 and 386,499 with k = 8 in 5 ms.
#[test]
fn delays_in_fat_trees_are_those_of_ns_3() {
    for (k, ms, delay_ns, sent, arrived) in
        [(4, 20, 23_419.1, 194_175, 193_947), (8, 5, 23_875.3, 388_350, 386_499)]
    {
        let (results, _) = sequential(&fat_tree(k), Time::millis(ms));
        let mean_ns = results.mean_delay_s.unwrap() * 1e9;
        assert!((mean_ns / delay_ns - 1.0).abs() < 0.001, "k = {k}: a mean delay of {mean_ns} ns");
        assert_eq!((results.packets_sent, results.packets_dropped), (sent, 0), "k = {k}");
        // A packet more or less of each of the 16 or 128 flows may be under way.
        let off = results.packets_arrived.abs_diff(arrived);
        assert!(off < u64::from(k * k * k / 4), "k = {k}: {} packets arrived", results.packets_arrived);
        let known = results.packets_arrived + results.packets_in_flight;
        assert_eq!(known, results.packets_sent, "k = {k}: packets arrive or are under way");
    }
}

/// Three packets that come at once to a port of 3 Gb/s, on which a byte takes 2666.67 ps: each is at the
/// other end when it would be if time were a real number, rounded down to a picosecond.
#[test]
fn nothing_is_lost_to_rounding() {
    let mut builder = NetworkBuilder::new();
    let (from, to) = (builder.node("a", NodeKind::Host).unwrap(), builder.node("b", NodeKind::Host).unwrap());
    builder.link(from, to, &LinkSpec::new(3_000_000_000, 0)).unwrap();
    // Faster than the link: the queue only grows.
    let udp = Udp { rate: 6_000_000_000, wire_bytes: 1000, drive: Drive::Constant, packets: Some(30_001) };
    let model = Packets::new(builder.build().unwrap(), vec![Flow::udp(from, to, udp)]).unwrap();
    let (results, _) = sequential(&model, Time::MAX);
    let last_ps = 30_001u64 * 8_000 * 1_000 / 3;
    assert_eq!(results.flows[0].arrivals.last_ps, last_ps);
}

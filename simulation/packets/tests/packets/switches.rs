//! Shared buffers, classes and flow control in whole networks.

use paceline_kernel::{Rng, Time};
use paceline_packets::queue::{Alpha, Classes, CodelSettings, Limit, PfcSettings, QueueSettings, Threshold};
use paceline_packets::tcp::Settings;
use paceline_packets::{
    Drive, Flow, FlowControl, LinkSpec, NetResults, Network, NetworkBuilder, NodeKind, PacketError, Packets,
    SwitchSettings, Tcp, Udp, topology,
};

use crate::digests::agree_in_every_way;
use crate::networks::sequential;

fn classes(of: &[u8]) -> Classes {
    let mut classes = Classes::NONE;
    of.iter().for_each(|class| classes.set(*class, true));
    classes
}

/// Flow control of these classes, with computed headroom.
fn lossless(of: &[u8], xoff: u64) -> SwitchSettings {
    let pfc = FlowControl { classes: classes(of), xoff, xon: None, headroom: None };
    SwitchSettings { buffer: 1 << 30, alpha: Alpha { over: 1, under: 1 }, pfc: Some(pfc) }
}

fn packets(rate: u64, wire_bytes: u32, packets: u32) -> Udp {
    Udp { rate, wire_bytes, drive: Drive::Poisson, packets: Some(packets) }
}

/// A tree of switches with hosts, so that pauses never go round; all links are different, and hosts and ports
/// hold all that comes.
fn draw_tree(rng: &mut Rng) -> Network {
    let mut builder = NetworkBuilder::new();
    let endless = || QueueSettings::DropTail(Limit::Endless);
    let link = |rng: &mut Rng| {
        let queue = match rng.below(4) {
            0 => QueueSettings::Priority((0..1 + rng.below(8)).map(|_| endless()).collect()),
            1 => {
                let class = |_| (1 + rng.below(3_000) as u32, endless());
                QueueSettings::Drr((0..8).map(class).collect())
            }
            _ => endless(),
        };
        LinkSpec::new(100_000_000 + rng.below(20_000_000_000), 1 + rng.below(3_000_000)).queue(queue)
    };
    let switches = 1 + rng.below(5) as u32;
    for number in 0..switches {
        let switch = builder.node(format!("s{number}"), NodeKind::Switch).unwrap();
        if number > 0 {
            builder.link(rng.below(u64::from(switch)) as u32, switch, &link(rng)).unwrap();
        }
    }
    for number in 0..2 + rng.below(6) {
        let host = builder.node(format!("h{number}"), NodeKind::Host).unwrap();
        builder.link(host, rng.below(u64::from(switches)) as u32, &link(rng)).unwrap();
    }
    builder.build().unwrap()
}

fn draw_flows(rng: &mut Rng, network: &Network) -> Vec<Flow> {
    let hosts = network.hosts();
    let count = 2 + rng.below(8);
    let flow = |_| {
        let from = rng.below(hosts.len() as u64) as usize;
        let to = (from + 1 + rng.below(hosts.len() as u64 - 1) as usize) % hosts.len();
        let class = rng.below(8) as u8;
        let flow = if rng.chance(0.2) {
            let tcp = Tcp::new(Settings::default()).bytes(1 + rng.below(200_000));
            Flow::tcp(hosts[from], hosts[to], tcp)
        } else {
            let (rate, bytes) = (1_000_000_000 + rng.below(10_000_000_000), 60 + rng.below(1_500) as u32);
            Flow::udp(hosts[from], hosts[to], packets(rate, bytes, 1 + rng.below(400) as u32))
        };
        flow.class(class)
    };
    (0..count).map(flow).collect()
}

fn settle(model: Packets) -> NetResults {
    sequential(&model, Time::secs(20)).0
}

/// With the headroom that links need nothing is dropped, however low the threshold; all that was sent
/// arrives, and nothing counts any more.
#[test]
fn with_enough_headroom_nothing_is_lost() {
    let (mut pauses, mut arrived) = (0, 0);
    for case in 0..150 {
        let mut rng = Rng::new(case, 0x7066_6300);
        let network = draw_tree(&mut rng);
        let flows = draw_flows(&mut rng, &network);
        let mut settings = lossless(&[0, 1, 2, 3, 4, 5, 6, 7], rng.below(20_000));
        let control = settings.pfc.as_mut().unwrap();
        control.xon = rng.chance(0.5).then(|| rng.below(control.xoff + 1));
        let results = settle(Packets::new(network, flows).unwrap().switches(settings).unwrap());
        assert_eq!(results.packets_dropped, 0, "case {case}");
        assert_eq!(results.packets_arrived, results.packets_sent, "case {case}");
        assert_eq!(results.switches.counted_bytes, 0, "case {case}");
        assert!(results.switches.held_up.is_empty(), "case {case}: {:?}", results.switches.held_up);
        pauses += results.switches.pauses;
        arrived += results.packets_arrived;
    }
    assert!(pauses > 10_000 && arrived > 100_000, "{pauses} pauses, {arrived} arrived");
}

/// Classes without flow control share the buffer, and lose what has no room; what was counted of them is
/// given back, also where a queue drops.
#[test]
fn what_is_not_under_flow_control_is_dropped_and_no_more_counted() {
    let (mut dropped, mut lost_in_pairs) = (0, 0);
    for case in 0..100 {
        let mut rng = Rng::new(case, 0x7066_6301);
        let network = draw_tree(&mut rng);
        let flows: Vec<Flow> = draw_flows(&mut rng, &network);
        let settings = SwitchSettings {
            buffer: 3_000 + rng.below(100_000),
            alpha: Alpha { over: 1 + rng.below(8) as u32, under: 1 + rng.below(8) as u32 },
            pfc: None,
        };
        let results = settle(Packets::new(network, flows).unwrap().switches(settings).unwrap());
        assert_eq!(results.packets_arrived + results.packets_dropped, results.packets_sent, "case {case}");
        assert_eq!((results.switches.counted_bytes, results.switches.pauses), (0, 0), "case {case}");
        dropped += results.packets_dropped;
        lost_in_pairs += u64::from(results.packets_dropped > 1);
    }
    assert!(dropped > 1_000 && lost_in_pairs > 20, "{dropped} dropped, in {lost_in_pairs} cases");
}

/// Eight senders at the rate of their links to one host.
fn incast(queue: QueueSettings, settings: SwitchSettings) -> Packets {
    let link = LinkSpec::new(10_000_000_000, 2_000_000).queue(queue);
    let network = topology::star(9, &link).unwrap();
    let flow = |host| Flow::udp(host, 0, packets(10_000_000_000, 1_000, 200)).class(3);
    Packets::new(network, (1..9).map(flow).collect()).unwrap().switches(settings).unwrap()
}

/// The headroom is what is needed, and not much more: 5 kB of it are on the way while a pause travels, and up
/// to three packets of 1 kB besides.
#[test]
fn too_little_headroom_loses_packets() {
    let endless = QueueSettings::DropTail(Limit::Endless);
    let enough = PfcSettings::headroom(10_000_000_000, 2_000_000, 1_000);
    assert_eq!(enough, 5_000 + 3_000 + 84);
    for (headroom, is_lossless) in [(enough, true), (5_000, false), (0, false)] {
        let mut settings = lossless(&[3], 10_000);
        settings.pfc.as_mut().unwrap().headroom = Some(headroom);
        let results = settle(incast(endless.clone(), settings));
        assert_eq!(results.packets_dropped == 0, is_lossless, "{headroom}: {}", results.packets_dropped);
        assert!(results.switches.pauses > 0);
    }
}

/// Pauses of one class do not hold up another where queues have classes; in a FIFO they do.
#[test]
fn other_classes_go_on_where_they_have_queues() {
    let drops = QueueSettings::DropTail(Limit::Endless);
    let by_class = QueueSettings::Drr(vec![(1_000, drops.clone()); 4]);
    let delay_of = |queue: QueueSettings| {
        let model = incast(queue, lossless(&[3], 10_000));
        let mut flows = model.flows().to_vec();
        // From a paused host to one that nobody else sends to.
        flows.push(Flow::udp(1, 2, packets(100_000_000, 1_000, 50)).class(0));
        let model = Packets::new(model.network().clone(), flows).unwrap();
        let results = settle(model.switches(lossless(&[3], 10_000)).unwrap());
        let arrivals = &results.flows.last().unwrap().arrivals;
        assert_eq!(arrivals.packets, 50);
        arrivals.delay_sum_ps / 50
    };
    let (fifo, apart) = (delay_of(drops.clone()), delay_of(by_class));
    // 1.6 us on two links with latencies of 4 us, and at each at most one packet that is being sent already
    // and one of class 3 in its turn.
    assert!(apart < 5_600_000 + 4 * 800_000, "{apart} ps");
    assert!(fifo > 10 * apart, "{fifo} ps behind paused packets");
}

/// Five switches in a ring, whose hosts send to the one after the next: each link has twice what it carries,
/// and pauses go round until nothing moves. That is said, and where.
#[test]
fn a_deadlock_is_named() {
    let mut builder = NetworkBuilder::new();
    let link = LinkSpec::new(10_000_000_000, 1_000_000);
    let switches = (0..5).map(|n| builder.node(format!("s{n}"), NodeKind::Switch).unwrap());
    let switches: Vec<u32> = switches.collect();
    let hosts: Vec<u32> = (0..5).map(|n| builder.node(format!("h{n}"), NodeKind::Host).unwrap()).collect();
    for n in 0..5 {
        builder.link(switches[n], switches[(n + 1) % 5], &link).unwrap();
        builder.link(hosts[n], switches[n], &link).unwrap();
    }
    let udp = Udp { rate: 10_000_000_000, wire_bytes: 1_000, drive: Drive::Constant, packets: None };
    let flows = (0..5).map(|n| Flow::udp(hosts[n], hosts[(n + 2) % 5], udp).starting(n as u64 * 100_000));
    let model = Packets::new(builder.build().unwrap(), flows.collect()).unwrap();
    let model = model.switches(lossless(&[0], 20_000)).unwrap();
    let results = sequential(&model, Time::millis(2)).0;
    let circle = results.switches.circle(model.network()).expect("nothing moves any more");
    assert_eq!(circle.len(), 6, "{circle:?}");
    assert!(circle.iter().all(|node| switches.contains(node)), "{circle:?}");
    let later = sequential(&model, Time::millis(4)).0;
    assert_eq!(later.packets_arrived, results.packets_arrived);
    assert_eq!(results.switches.held_up.len(), 10, "{:?}", results.switches.held_up);
    assert!(results.switches.held_up.iter().all(|held| held.class == 0 && held.waiting > 5));
}

#[test]
fn digests_do_not_depend_on_the_protocol() {
    let (limit, mark) = (Limit::Endless, Limit::Bytes(20_000));
    let codel = CodelSettings {
        target: Time::micros(5),
        interval: Time::micros(50),
        mtu: 1_500,
        marks: false,
        ce_threshold: None,
    };
    let queue = QueueSettings::Priority(vec![
        QueueSettings::Codel(codel, Limit::Packets(30)),
        QueueSettings::Threshold(Threshold { limit, mark, drops_incapable: false }),
    ]);
    let link = LinkSpec::new(10_000_000_007, 1_000_000).queue(queue);
    let network = topology::leaf_spine(3, 2, 3, &link, &link).unwrap();
    let hosts = network.hosts().to_vec();
    let flow = |(n, host): (usize, &u32)| match n % 3 {
        0 => Flow::tcp(*host, hosts[0], Tcp::new(Settings::default()).bytes(500_000)).class(1),
        1 => Flow::udp(*host, hosts[0], packets(6_000_000_000, 1_000, 500)).class(0),
        _ => Flow::udp(*host, hosts[4], packets(9_000_000_000, 777, 500)).class(1),
    };
    let flows = hosts.iter().enumerate().skip(1).map(flow).filter(|flow| flow.from != flow.to).collect();
    let settings = SwitchSettings { buffer: 200_000, ..lossless(&[1], 10_000) };
    let model = Packets::new(network, flows).unwrap().switches(settings).unwrap();
    let results = sequential(&model, Time::millis(1)).0;
    assert!(results.switches.pauses > 50 && results.packets_dropped > 20, "{results:?}");
    agree_in_every_way(&model, Time::millis(1));
}

#[test]
fn switches_that_cannot_be_are_refused() {
    let network = || topology::star(3, &LinkSpec::new(10_000_000_000, 2_000_000)).unwrap();
    let refuse = |settings: SwitchSettings| {
        let udp = packets(1_000_000, 1_000, 1);
        let model = Packets::new(network(), vec![Flow::udp(0, 1, udp)]).unwrap();
        let error = model.switches(settings).expect_err("it is refused");
        assert!(matches!(error, PacketError::Switch { .. }));
        error.to_string()
    };
    let text = "the switch \"switch\" has a buffer of 50000 bytes, of which its 3 ports need 54261 for xoff and \
                headroom; allowed: a larger buffer, or a lower xoff";
    assert_eq!(refuse(SwitchSettings { buffer: 50_000, ..lossless(&[3], 10_000) }), text);
    let mut settings = lossless(&[3], 10_000);
    settings.pfc.as_mut().unwrap().xon = Some(10_001);
    let text = "the switch \"switch\" has PFC that resumes at 10001 bytes and pauses above 10000; allowed: xon up to xoff";
    assert_eq!(refuse(settings), text);
}

//! RDMA flows: go-back-N whatever is lost, and DCQCN on a bottleneck as its paper says.

use std::sync::Arc;

use paceline_kernel::{Rng, Time};
use paceline_packets::loss::{Jitter, JitterDelay, LossModel};
use paceline_packets::queue::{Alpha, Classes, Limit, QueueSettings, RedSettings, Share};
use paceline_packets::{
    Ecmp, Flow, FlowControl, LinkSpec, NetResults, Packets, Rdma, SwitchSettings, topology,
};

use crate::digests::agree_in_every_way;
use crate::networks::sequential;

/// Marks as the paper sets them for 40 Gb/s: from 5 kB on, 1 % at 200 kB, all beyond.
fn marking() -> QueueSettings {
    QueueSettings::Red(RedSettings {
        limit: Limit::Bytes(1 << 31),
        low: 5_000,
        high: 200_000,
        probability: Share::ratio(1, 100).unwrap(),
        weight: Share::ONE,
        is_gentle: false,
        marks: true,
        marks_only: true,
        packet_time: Time::TICK,
        packet_bytes: None,
    })
}

fn lossless() -> SwitchSettings {
    let mut classes = Classes::NONE;
    classes.set(3, true);
    let pfc = FlowControl { classes, xoff: 250_000, xon: None, headroom: None };
    SwitchSettings { buffer: 12_000_000, alpha: Alpha { over: 1, under: 1 }, pfc: Some(pfc) }
}

/// `senders` hosts send to host 0 over links of 40 Gb/s, each so long after the one before.
pub fn incast(senders: u32, apart_ps: u64, rdma: Rdma) -> Packets {
    let link = LinkSpec::new(40_000_000_000, 1_000_000).queue(marking());
    let network = topology::star(senders + 1, &link).unwrap();
    let rdma = Arc::new(rdma);
    let flow = |host: u32| {
        let start_ps = u64::from(host - 1) * apart_ps;
        Flow::rdma(host, 0, rdma.clone()).class(3).starting(start_ps)
    };
    let model = Packets::new(network, (1..=senders).map(flow).collect()).unwrap();
    model.switches(lossless()).unwrap()
}

fn delivered(results: &NetResults) -> Vec<f64> {
    results.flows.iter().map(|flow| flow.delivered() as f64).collect()
}

/// What flows get of the bottleneck from one moment to another: shares of its rate, and Jain's index.
fn shares(model: &Packets, from: Time, to: Time) -> (Vec<f64>, f64) {
    let (before, after) = (sequential(model, from).0, sequential(model, to).0);
    assert_eq!(after.packets_dropped, 0);
    let capacity = 40e9 / 8.0 * (to - from).as_secs_f64();
    let pairs = delivered(&before).into_iter().zip(delivered(&after));
    let shares: Vec<f64> = pairs.map(|(before, after)| (after - before) / capacity).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    let jain = sum * sum / (squares * shares.len() as f64);
    (shares, jain)
}

/// One flow alone has the link: 1000 of 1062 bytes are data.
#[test]
fn one_flow_fills_its_link() {
    let (shares, _) = shares(&incast(1, 0, Rdma::default()), Time::millis(1), Time::millis(3));
    assert!((shares[0] / (1_000.0 / 1_062.0) - 1.0).abs() < 0.001, "{shares:?}");
}

/// Section 5 of the paper: flows converge to the fair share, and the link stays busy.
#[test]
fn flows_on_a_bottleneck_get_fair_shares() {
    for senders in [2, 8] {
        let model = incast(senders, 1_000_000_000, Rdma::default());
        let (shares, jain) = shares(&model, Time::millis(20), Time::millis(40));
        assert!(jain >= 0.95, "{senders} senders: Jain's index {jain}, {shares:?}");
        let sum: f64 = shares.iter().sum();
        assert!(sum > 0.85 * 1_000.0 / 1_062.0, "{senders} senders: {sum} of the link, {shares:?}");
    }
}

/// With DCQCN the queue is short and the switch seldom pauses; without it only pauses hold senders back.
#[test]
fn rate_control_keeps_the_switch_from_pausing() {
    let rdma = Rdma { bytes: Some(4_000_000), ..Rdma::default() };
    let with = sequential(&incast(8, 10_000_000, rdma.clone()), Time::millis(50)).0;
    let without = sequential(&incast(8, 10_000_000, Rdma { dcqcn: None, ..rdma }), Time::millis(50)).0;
    for results in [&with, &without] {
        assert_eq!((results.packets_dropped, results.flows_done), (0, 8));
        assert_eq!(results.switches.counted_bytes, 0);
        let again: u32 = results.flows.iter().map(|flow| flow.sender.unwrap().counters.retransmissions).sum();
        assert_eq!(again, 0);
    }
    let pauses = [with.switches.pauses, without.switches.pauses];
    assert!(pauses[0] * 10 < pauses[1], "{pauses:?} pauses with and without DCQCN");
}

/// Packets may be lost, marked, delayed and overtaken: all data arrives in order, and senders end.
#[test]
fn streams_arrive_whole_whatever_happens() {
    let (mut again, mut timeouts) = (0, 0);
    for case in 0..60 {
        let mut rng = Rng::new(case, 0x7264_6d61);
        let queue = if rng.chance(0.5) { marking() } else { QueueSettings::DropTail(Limit::Packets(10)) };
        let mut fabric = LinkSpec::new(1_000_000_000 + rng.below(20_000_000_000), rng.below(5_000_000) + 1);
        fabric = fabric.queue(queue);
        fabric.loss = rng.chance(0.7).then(|| LossModel::Random(Share::ratio(rng.below(10), 200).unwrap()));
        let delay = JitterDelay::Uniform(Time::nanos(rng.below(5_000)));
        fabric.jitter = rng.chance(0.5).then_some(Jitter { delay, keeps_order: false });
        let access = LinkSpec::new(10_000_000_000, 1_000_000);
        let network = topology::leaf_spine(2, 2, 2, &access, &fabric).unwrap();
        let hosts = network.hosts().to_vec();
        let bytes = 1 + rng.below(300_000);
        let rdma = Rdma {
            bytes: Some(bytes),
            mtu: 1 + rng.below(4_000) as u32,
            ack_every: 1 + rng.below(8) as u32,
            timeout_ps: 1_000_000_000,
            ..Rdma::default()
        };
        let rdma = Arc::new(rdma);
        let flows =
            [(0, 2), (1, 2), (3, 1)].map(|(from, to)| Flow::rdma(hosts[from], hosts[to], rdma.clone()));
        let mut model = Packets::new(network, flows.to_vec()).unwrap();
        if rng.chance(0.5) {
            model = model.ecmp(Ecmp::Packet);
        }
        let (results, report) = sequential(&model, Time::secs(200));
        assert_eq!(results.flows_done, 3, "case {case}");
        assert!(report.end_time < Time::secs(200), "case {case}: senders end");
        for flow in &results.flows {
            assert_eq!(flow.delivered(), bytes, "case {case}");
            assert_eq!(flow.sender.unwrap().counters.acknowledged, bytes, "case {case}");
            again += flow.sender.unwrap().counters.retransmissions;
            timeouts += flow.sender.unwrap().counters.timeouts;
        }
        let known = results.packets_arrived + results.packets_dropped;
        assert_eq!(known, results.packets_sent, "case {case}");
    }
    assert!(again > 1_000 && timeouts > 20, "{again} packets again, {timeouts} timeouts");
}

#[test]
fn digests_do_not_depend_on_the_protocol() {
    let rdma = Arc::new(Rdma { bytes: Some(300_000), timeout_ps: 1_000_000_000, ..Rdma::default() });
    let access = LinkSpec::new(40_000_000_000, 1_000_000).queue(marking());
    let mut fabric = LinkSpec::new(40_000_000_003, 2_000_000).queue(marking());
    fabric.loss = Some(LossModel::Random(Share::ratio(1, 500).unwrap()));
    let network = topology::leaf_spine(3, 2, 3, &access, &fabric).unwrap();
    let hosts = network.hosts().to_vec();
    let flow = |host: &u32| Flow::rdma(*host, hosts[0], rdma.clone()).class(3);
    let model = Packets::new(network, hosts[1..].iter().map(flow).collect()).unwrap();
    let mut settings = lossless();
    settings.pfc.as_mut().unwrap().xoff = 30_000;
    let model = model.switches(settings).unwrap();
    let results = sequential(&model, Time::millis(3)).0;
    let marks: u32 = results.flows.iter().map(|flow| flow.receiver.unwrap().counters.marks_received).sum();
    assert!(results.switches.pauses > 10 && marks > 10 && results.packets_dropped > 3);
    agree_in_every_way(&model, Time::millis(3));
}

//! TCP on whole networks, against formulas and ns-3: quick forms of the published figures.

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_packets::loss::LossModel;
use paceline_packets::queue::Share;
use paceline_packets::tcp::{Settings, State};
use paceline_packets::{Flow, FlowResult, LinkSpec, Network, Packets, Tcp, pairs, topology};

use crate::networks::sequential;

/// As ns-3's program of the comparison: NewReno without SACK, an ACK for every second segment, at most 200 ms
/// late.
fn classic() -> Settings {
    Settings {
        receive_buffer: 1 << 26,
        ack_delay: Time::millis(200),
        sack: false,
        abc: 0,
        ..Settings::default()
    }
}

/// Hosts at 1 Gb/s and 100 us, and a bottleneck.
fn dumbbell(pairs: u32, bottleneck: &LinkSpec) -> Network {
    topology::dumbbell(pairs, &LinkSpec::new(1_000_000_000, 100_000_000), bottleneck).unwrap()
}

/// 10 Mb/s and 20 ms.
fn slow() -> LinkSpec {
    LinkSpec::new(10_000_000, 20_000_000_000)
}

/// A flow for each pair, the starts 10 ms apart.
fn flows(network: Network, tcp: &Tcp) -> Packets {
    flows_apart(network, tcp, 10)
}

/// The same, the starts so many milliseconds apart.
fn flows_apart(network: Network, tcp: &Tcp, ms: u64) -> Packets {
    let ends = pairs(&network, "left-*", "right-*").unwrap();
    let flow = |(number, (from, to)): (u64, (u32, u32))| {
        Flow::tcp(from, to, tcp.clone()).starting(number * ms * 1_000_000_000)
    };
    let flows = (0..).zip(ends).map(flow).collect();
    Packets::new(network, flows).unwrap()
}

/// What each flow delivers between two times, in Mb/s.
fn goodput(model: &Packets, from: u64, until: u64) -> Vec<f64> {
    let delivered = |at: u64| {
        let (results, _) = sequential(model, Time::secs(at));
        results.flows.iter().map(|flow| flow.delivered()).collect::<Vec<_>>()
    };
    let (before, after) = (delivered(from), delivered(until));
    let rate = |(after, before): (u64, u64)| (after - before) as f64 * 8e-6 / (until - from) as f64;
    after.into_iter().zip(before).map(rate).collect()
}

/// The sum of all flows.
fn goodput_sum(model: &Packets, from: u64, until: u64) -> f64 {
    goodput(model, from, until).iter().sum()
}

fn assert_near(what: &str, found: f64, expected: f64, part: f64) {
    assert!((found / expected - 1.0).abs() <= part, "{what}: {found}, expected {expected} within {part}");
}

/// A full link carries its rate less the headers: 10 x 1448 / 1502 Mb/s.
#[test]
fn one_flow_fills_the_bottleneck() {
    let model = flows(dumbbell(1, &slow().drop_tail(50)), &Tcp::new(classic()));
    assert_near("one NewReno", goodput_sum(&model, 10, 60), 10.0 * 1448.0 / 1502.0, 0.001);
    let modern = Settings { receive_buffer: 1 << 26, ..Settings::default() };
    let model = flows(dumbbell(1, &slow().drop_tail(50)), &Tcp::new(modern));
    assert_near("with SACK", goodput_sum(&model, 10, 60), 10.0 * 1448.0 / 1502.0, 0.001);
}

/// ns-3 3.37: Jain's index of 16 long flows 0.960; of 16 flows of 1,448,000 bytes the median completes in
/// 17.813 s.
#[test]
fn sixteen_flows_share_the_bottleneck() {
    let network = || dumbbell(16, &slow().drop_tail(50));
    let shares = goodput(&flows(network(), &Tcp::new(classic())), 10, 60);
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    let jain = sum * sum / (16.0 * squares);
    assert!(jain >= 0.93, "Jain's index {jain} of {shares:?}");
    assert_near("sixteen NewReno", sum, 10.0 * 1448.0 / 1502.0, 0.005);
    // Which flow loses when is chaotic: the medians for starts 8 to 13 ms apart differ by a tenth. Their mean
    // does not depend on one draw.
    let medians: Vec<f64> = (8..14).map(|ms| median_completion_s(network(), ms)).collect();
    let mean = medians.iter().sum::<f64>() / medians.len() as f64;
    assert_near(&format!("mean of the medians {medians:?}"), mean, 17.8, 0.05);
}

/// The median of the times at which receivers had all of 1,448,000 bytes.
fn median_completion_s(network: Network, ms: u64) -> f64 {
    let model = flows_apart(network, &Tcp::new(classic()).bytes(1_448_000), ms);
    let (results, _) = sequential(&model, Time::secs(60));
    assert_eq!(results.flows_done, 16);
    let is_closed = |flow: &FlowResult| flow.sender.unwrap().state == State::Closed;
    assert!(results.flows.iter().all(is_closed), "senders close once all has arrived");
    let done = |flow: &FlowResult| flow.receiver.unwrap().done_ps.unwrap() as f64 / 1e12;
    let mut times: Vec<f64> = results.flows.iter().map(done).collect();
    times.sort_by(f64::total_cmp);
    times[8]
}

/// ns-3 3.37: 7.597, 8.200, 9.016 and 9.625 Mb/s with queues of 4, 8, 16 and 34 packets.
#[test]
fn short_queues_cost_goodput() {
    for (packets, expected) in [(4, 7.6), (8, 8.2), (16, 9.0), (34, 9.63)] {
        let model = flows(dumbbell(1, &slow().drop_tail(packets)), &Tcp::new(classic()));
        assert_near(&format!("a queue of {packets}"), goodput_sum(&model, 20, 200), expected, 0.06);
    }
}

/// Mathis et al. (1997): MSS / RTT x sqrt(3 / (2 b p)), with an RTT of 100.4 ms and an ACK for every b
/// segments.
#[test]
fn random_loss_gives_the_window_of_mathis() {
    for (per_mille, ack_every) in [(1, 1), (1, 2), (3, 1), (3, 2)] {
        let loss = LossModel::Random(Share::ratio(per_mille, 1_000).unwrap());
        let link = LinkSpec::new(1_000_000_000, 50_000_000_000).loss(loss);
        let settings = Settings { ack_every, ..classic() };
        let model =
            flows(dumbbell(1, &link), &Tcp { sender: Arc::new(settings.clone()), ..Tcp::new(settings) });
        let p = f64::from(per_mille as u32) / 1_000.0;
        let formula = 1448.0 * 8.0 / 0.1004 * (1.5 / (f64::from(ack_every) * p)).sqrt() * 1e-6;
        let what = format!("a loss of {p}, ACKs for every {ack_every}");
        assert_near(&what, goodput_sum(&model, 100, 400), formula, 0.07);
    }
}

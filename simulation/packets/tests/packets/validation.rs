//! DCTCP against ns-3's `tcp-validation` and against figure 17 of the DCTCP paper (Alizadeh et al., 2010).

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{LpId, Time};
use paceline_packets::queue::{Limit, QueueSettings, Threshold};
use paceline_packets::tcp::{Algorithm, Ecn, Settings};
use paceline_packets::{Flow, LinkSpec, Network, NetworkBuilder, NodeKind, Packets, Tcp, topology};

fn dctcp() -> Settings {
    let (algorithm, ecn) = (Algorithm::Dctcp, Ecn::Dctcp);
    Settings {
        algorithm,
        ecn,
        receive_buffer: 32_768_000,
        ack_delay: Time::millis(200),
        ..Settings::default()
    }
}

/// Marks beyond `mark`, and drops beyond 4 MB.
fn marking(mark: Limit) -> QueueSettings {
    QueueSettings::Threshold(Threshold { limit: Limit::Bytes(4_000_000), mark, drops_incapable: false })
}

/// The Mb/s that each flow delivers between each two of `times`.
fn goodput(model: Packets, times: &[Time]) -> Vec<Vec<f64>> {
    let receivers: Vec<u32> = model.flows().iter().map(|flow| flow.to).collect();
    let mut run = Simulation::new(model).protocol(Protocol::Sequential).threads(1).start().unwrap();
    let mut seen = vec![0; receivers.len()];
    let mut rates = Vec::new();
    for (number, &time) in times.iter().enumerate() {
        run.run_until(time).unwrap();
        let mut slots = vec![0; run.model().network().nodes() as usize];
        let delivered: Vec<u64> = receivers
            .iter()
            .map(|&host| {
                let state = run.state(LpId(host)).host.as_ref().unwrap();
                let end = &state.connections[slots[host as usize]];
                slots[host as usize] += 1;
                end.as_ref().map_or(0, |end| end.connection.counters().delivered)
            })
            .collect();
        if number > 0 {
            let seconds = (time - times[number - 1]).as_secs_f64();
            let rate = |(now, before): (&u64, &u64)| (now - before) as f64 * 8e-6 / seconds;
            rates.push(delivered.iter().zip(&seen).map(rate).collect());
        }
        seen = delivered;
    }
    rates
}

/// A flow that begins at 5 s at a bottleneck of 50 Mb/s that marks beyond a wait of 1 ms.
fn one_flow(round_trip_ms: u64) -> Packets {
    let bottleneck =
        LinkSpec::new(50_000_000, round_trip_ms * 500_000_000).queue(marking(Limit::Bytes(6_250)));
    let network = topology::dumbbell(1, &LinkSpec::new(1_000_000_000, 1_000_000), &bottleneck).unwrap();
    let flow = Flow::tcp(0, 1, Tcp::new(dctcp())).starting(5_000_000_000_000);
    Packets::new(network, vec![flow]).unwrap()
}

/// In intervals of 200 ms, as ns-3's program measures: with a round trip of 10 ms between 48 and 49 Mb/s once
/// the window is there. With 80 ms a mark ends slow start early: below 20 Mb/s before 14 s, 47.5 to 48.5 at
/// the end.
#[test]
fn dctcp_reaches_the_rates_of_ns_3() {
    let near: Vec<Time> = (29..75).map(|fifth| Time::millis(fifth * 200)).collect();
    for (number, rates) in goodput(one_flow(10), &near).iter().enumerate() {
        assert!((48.0..49.0).contains(&rates[0]), "{} Mb/s from {} on", rates[0], near[number]);
    }
    let early: Vec<Time> = (25..71).map(|fifth| Time::millis(fifth * 200)).collect();
    for (number, rates) in goodput(one_flow(80), &early).iter().enumerate() {
        assert!(rates[0] < 20.0, "{} Mb/s from {} on", rates[0], early[number]);
    }
    let late: Vec<Time> = (33..41).map(Time::secs).collect();
    for (number, rates) in goodput(one_flow(80), &late).iter().enumerate() {
        assert!((47.5..48.5).contains(&rates[0]), "{} Mb/s from {} on", rates[0], late[number]);
    }
}

/// Two switches T1 and T2, joined at 10 Gb/s, all else at 1 Gb/s: 10 hosts S1 and 20 hosts S2 at T1, 10 hosts
/// S3, R1 and 20 hosts R2 at T2. Marks beyond 20 packets at 1 Gb/s and 65 at 10 Gb/s, as in the paper.
fn figure_17() -> (Network, [Vec<(u32, u32)>; 3]) {
    let mut builder = NetworkBuilder::new();
    let fast = LinkSpec::new(10_000_000_000, 10_000_000).queue(marking(Limit::Packets(65)));
    let slow = LinkSpec::new(1_000_000_000, 10_000_000).queue(marking(Limit::Packets(20)));
    let [one, two] = ["T1", "T2"].map(|name| builder.node(name, NodeKind::Switch).unwrap());
    builder.link(one, two, &fast).unwrap();
    let mut hosts = |name: &str, count: u32, switch: u32| -> Vec<u32> {
        let host = |number: u32| {
            let host = builder.node(format!("{name}-{number}"), NodeKind::Host).unwrap();
            builder.link(host, switch, &slow).unwrap();
            host
        };
        (0..count).map(host).collect()
    };
    let (s1, s2, s3) = (hosts("S1", 10, one), hosts("S2", 20, one), hosts("S3", 10, two));
    let (r1, r2) = (hosts("R1", 1, two)[0], hosts("R2", 20, two));
    let to_one = |senders: Vec<u32>| senders.into_iter().map(|sender| (sender, r1)).collect::<Vec<_>>();
    let groups = [to_one(s1), s2.into_iter().zip(r2).collect(), to_one(s3)];
    (builder.build().unwrap(), groups)
}

/// The paper has 46, 475 and 54 Mb/s, ns-3 23, 471 and 74; both links are full, and flows of a group are
/// alike.
#[test]
fn dctcp_shares_two_bottlenecks_as_in_figure_17() {
    let (network, groups) = figure_17();
    let ends: Vec<(u32, u32)> = groups.iter().flatten().copied().collect();
    // Starts are spread over half a second.
    let flow = |(number, (from, to)): (u64, (u32, u32))| {
        Flow::tcp(from, to, Tcp::new(dctcp())).starting(number * 12_500_000_000)
    };
    let model = Packets::new(network, (0..).zip(ends).map(flow).collect()).unwrap();
    let rates = goodput(model, &[Time::millis(1_500), Time::millis(2_500)]).remove(0);
    let mut sums = Vec::new();
    for (part, paper) in [(0..10, 46.0), (10..30, 475.0), (30..40, 54.0)] {
        let (rates, count) = (&rates[part.clone()], part.len() as f64);
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        let (mean, jain) = (sum / count, sum * sum / (count * squares));
        assert!((mean / paper - 1.0).abs() < 0.1, "{mean} Mb/s, the paper has {paper}");
        assert!(jain >= 0.99, "Jain's index {jain} of {rates:?}");
        sums.push(sum);
    }
    // What is left of a link after the headers.
    for (sum, rate) in [(sums[0] + sums[1], 10_000.0), (sums[0] + sums[2], 1_000.0)] {
        assert!((sum / (rate * 1448.0 / 1502.0) - 1.0).abs() < 0.005, "{sum} Mb/s on a link of {rate}");
    }
}

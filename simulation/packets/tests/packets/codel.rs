//! CoDel in front of DCTCP and of CUBIC, against ns-3's `tcp-validation`: a flow that begins at 5 s at a
//! bottleneck of 50 Mb/s.

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{LpId, Time};
use paceline_packets::queue::{CodelSettings, Limit, QueueSettings};
use paceline_packets::tcp::{Algorithm, ClassicHyStart, Ecn, Settings};
use paceline_packets::{Flow, LinkSpec, Packets, Tcp, topology};

/// As in that program: 1000 packets of 1500 bytes, ACKs for every second segment.
fn model(round_trip_ms: u64, ce_threshold: Option<Time>, settings: Settings) -> Packets {
    let codel = CodelSettings {
        target: Time::millis(5),
        interval: Time::millis(100),
        mtu: 1_500,
        marks: ce_threshold.is_some(),
        ce_threshold,
    };
    let queue = QueueSettings::Codel(codel, Limit::Bytes(1_500_000));
    let bottleneck = LinkSpec::new(50_000_000, round_trip_ms * 500_000_000).queue(queue);
    let network = topology::dumbbell(1, &LinkSpec::new(1_000_000_000, 1_000_000), &bottleneck).unwrap();
    let settings =
        Settings { receive_buffer: 32_768_000, ack_delay: Time::millis(200), rack: false, ..settings };
    Packets::new(network, vec![Flow::tcp(0, 1, Tcp::new(settings)).starting(5_000_000_000_000)]).unwrap()
}

/// The window in segments and alpha, every so many milliseconds from one time to another.
fn watched(model: Packets, from_ms: u64, until_ms: u64, step_ms: usize) -> Vec<(u64, f64, f64)> {
    let mut run = Simulation::new(model).protocol(Protocol::Sequential).threads(1).start().unwrap();
    let look = |ms: u64| {
        run.run_until(Time::millis(ms)).unwrap();
        let host = run.state(LpId(0)).host.as_ref().unwrap();
        let sender = &host.connections[0].as_ref().unwrap().connection;
        (ms, sender.congestion_window() as f64 / 1448.0, sender.marked_share().unwrap_or_default())
    };
    (from_ms..=until_ms).step_by(step_ms).map(look).collect()
}

/// ns-3 3.37 with one queue at the bottleneck has 0.1282 with a round trip of 10 ms from 7 s on, and 0.0572
/// with 80 ms from 34 s on. (Its program has a second queue in the device, and 0.0713 and 0.0223 with it.)
#[test]
fn dctcp_finds_the_share_of_marks_of_ns_3() {
    for (round_trip_ms, from_ms, until_ms, alpha) in
        [(10, 7_000, 15_000, 0.1282), (80, 34_000, 40_000, 0.0572)]
    {
        let settings = Settings { algorithm: Algorithm::Dctcp, ecn: Ecn::Dctcp, ..Settings::default() };
        let model = model(round_trip_ms, Some(Time::millis(1)), settings);
        let found = watched(model, from_ms, until_ms, 20);
        let mean = found.iter().map(|(.., alpha)| alpha).sum::<f64>() / found.len() as f64;
        assert!((mean / alpha - 1.0).abs() < 0.1, "{round_trip_ms} ms: a mean alpha of {mean} for {alpha}");
    }
}

/// ns-3: the window is 511 segments at 5.4593 s, and falls to 173 at 5.80304 s.
#[test]
fn cubic_has_the_windows_of_ns_3() {
    let algorithm = Algorithm::Cubic;
    let classic_hystart = Some(ClassicHyStart::NS3);
    let found = watched(
        model(50, None, Settings { algorithm, classic_hystart, ..Settings::default() }),
        5_100,
        7_000,
        1,
    );
    let near = |found: f64, known: f64| (found / known - 1.0).abs() < 0.1;
    let early = found.iter().filter(|seen| seen.0 < 6_000);
    let most = early.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    assert!(near(most.1, 511.0) && near(most.0 as f64 - 5_000.0, 459.3), "{most:?}");
    let later = found.iter().filter(|seen| seen.0 > most.0);
    let least = later.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    assert!(near(least.1, 173.0) && near(least.0 as f64 - 5_000.0, 803.0), "{least:?}");
}

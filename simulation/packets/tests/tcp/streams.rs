//! Whatever is lost, reordered and doubled between two ends, each stream arrives once, whole and in order,
//! and both ends come to an end.

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, Ecn, Segment, Settings, State};
use proptest::prelude::*;

use super::network::{Network, Path, mix};

/// Loses, delays, doubles and marks at random.
pub struct Rough {
    pub seed: u64,
    pub count: u64,
    pub loss: u64,
    pub reordering: u64,
    pub doubling: u64,
    pub marking: u64,
}

impl Path for Rough {
    fn send(&mut self, now: Time, _flow: usize, _from: usize, segment: &Segment) -> Vec<(Time, bool)> {
        self.count += 1;
        let mut draw = mix(self.seed ^ self.count << 20);
        let mut below = |limit: u64| {
            draw = mix(draw);
            draw % 1000 < limit
        };
        let copies = if below(self.doubling) { 2 } else { 1 };
        let mut all = vec![];
        for copy in 0..copies {
            if below(self.loss) {
                continue;
            }
            let late = if below(self.reordering) {
                Time::micros(mix(self.count + copy) % 30_000)
            } else {
                Time::ZERO
            };
            let ce = segment.has(paceline_packets::tcp::Flags::ECT) && below(self.marking);
            all.push((now + Time::millis(5) + late, ce));
        }
        all
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    let flags = proptest::collection::vec(any::<bool>(), 12);
    let algorithms = proptest::sample::select(vec![
        Algorithm::NewReno,
        Algorithm::Cubic,
        Algorithm::Dctcp,
        Algorithm::Bbr,
    ]);
    let ecn = proptest::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp]);
    (flags, algorithms, ecn, 0..3u8, 200..3000u16, 1..40u32).prop_map(
        |(on, algorithm, ecn, abc, mss, buffer)| Settings {
            mss,
            receive_buffer: buffer * 4000,
            ack_every: 1 + u8::from(on[0]),
            linux_windows: on[11],
            min_rto: Time::millis(200),
            timestamps: on[1],
            window_scaling: on[2],
            sack: on[3],
            limited_transmit: on[4],
            rack: on[5],
            prr: on[6],
            hystart: on[7],
            pacing: on[8],
            nagle: on[9],
            reads_at_once: on[10],
            abc,
            ecn,
            algorithm,
            time_wait: Time::millis(500),
            syn_retries: 40,
            retries: 60,
            max_rto: Time::secs(4).max(Time::secs(1)),
            ..Settings::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]
    #[test]
    fn a_stream_arrives_once_whole_and_in_order(
        one in settings(),
        other in settings(),
        segments in prop_oneof![0..2u64, 1..300u64],
        part in 0..200u64,
        back in prop_oneof![Just(0u64), 1..30_000u64],
        seed in any::<u64>(),
        loss in 0..300u64,
        reordering in 0..300u64,
        doubling in 0..200u64,
        marking in 0..200u64,
    ) {
        let bytes = segments * u64::from(one.mss.min(other.mss)) + part;
        let path = Rough { seed, count: 0, loss, reordering, doubling, marking };
        let mut network = Network::both_ways(path, [one, other], &[(Time::ZERO, [bytes, back])]);
        prop_assert!(!network.run(Time::secs(3600)), "it goes on after an hour: {:?}", network.flows[0].ends);
        let flow = &network.flows[0];
        for (end, bytes) in [(1, bytes), (0, back)] {
            prop_assert_eq!(flow.ends[end].counters().delivered, bytes);
            let received: Vec<_> = flow.received[end].iter().map(|(&start, &end)| (start, end)).collect();
            let expected = if bytes > 0 { vec![(1, 1 + bytes)] } else { vec![] };
            prop_assert_eq!(received, expected);
            prop_assert_eq!(flow.ends[end].state(), State::Closed);
            prop_assert_eq!(flow.ends[end].readable(), 0);
            prop_assert!(flow.ends[end].is_received_whole());
        }
        prop_assert!(flow.ends[0].is_sent_whole());
    }
}

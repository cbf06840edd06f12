//! Whatever the settings are within their ranges, nothing panics and both ends come to an end; what is out of
//! its range is refused by name.

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, ClassicHyStart, Ecn, Settings, State};
use proptest::prelude::*;

use crate::network::Network;
use crate::streams::Rough;

const DAY: Time = Time::secs(86_400);

/// A number from `least` to `most`, of any size alike, and often an end of the range.
fn number(least: u64, most: u64) -> impl Strategy<Value = u64> {
    let any_size = (0.0..=1.0f64).prop_map(move |share| {
        let (low, high) = ((least.max(1) as f64).ln(), (most as f64).ln());
        ((low + share * (high - low)).exp() as u64).clamp(least, most)
    });
    prop_oneof![1 => Just(least), 1 => Just(most), 6 => any_size]
}

fn time(least: Time, most: Time) -> impl Strategy<Value = Time> {
    number(least.as_ticks(), most.as_ticks()).prop_map(Time::ticks)
}

/// The three timeouts, in order.
fn timeouts() -> impl Strategy<Value = [Time; 3]> {
    let one = || time(Time::nanos(1), DAY);
    (one(), one(), one()).prop_map(|(one, two, three)| {
        let mut all = [one, two, three];
        all.sort_unstable();
        all
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let flags = proptest::collection::vec(any::<bool>(), 13);
    let algorithms = vec![Algorithm::NewReno, Algorithm::Cubic, Algorithm::Dctcp, Algorithm::Bbr];
    let algorithms = proptest::sample::select(algorithms);
    let ecn = proptest::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp]);
    let sizes = (number(64, 65_495), number(1, 65_535), number(1, 1 << 30), number(1, 255), 0..=2u8);
    let tries = (number(0, 254), number(0, 254));
    let divisors = (number(1, 255), number(1, 255));
    let second = Time::secs(1);
    let times = (
        timeouts(),
        time(Time::ZERO, Time::millis(500)),
        time(Time::ZERO, second),
        time(Time::micros(1), second),
        time(Time::ZERO, DAY),
    );
    (flags, algorithms, ecn, sizes, tries, divisors, times).prop_map(
        |(on, algorithm, ecn, sizes, tries, divisors, times)| {
            let (mss, initial_window, receive_buffer, ack_every, abc) = sizes;
            let ([min_rto, initial_rto, max_rto], ack_delay, granularity, timestamp_tick, time_wait) = times;
            let (train_divisor, delay_divisor) = (divisors.0 as u8, divisors.1 as u8);
            Settings {
                mss: mss as u16,
                initial_window: initial_window as u16,
                receive_buffer: receive_buffer as u32,
                reads_at_once: on[0],
                ack_every: ack_every as u8,
                ack_delay,
                initial_rto,
                min_rto,
                max_rto,
                granularity,
                timestamps: on[1],
                timestamp_tick,
                window_scaling: on[2],
                sack: on[3],
                limited_transmit: on[4],
                rack: on[5],
                prr: on[6],
                abc,
                ecn: if algorithm == Algorithm::Dctcp { Ecn::Dctcp } else { ecn },
                algorithm,
                hystart: on[7],
                classic_hystart: on[11].then_some(ClassicHyStart {
                    train_divisor,
                    delay_divisor,
                    most_growth: DAY,
                }),
                linux_windows: on[12],
                pacing: on[8],
                nagle: on[9],
                restart_after_idle: on[10],
                time_wait,
                syn_retries: tries.0 as u8,
                retries: tries.1 as u8,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]
    #[test]
    fn allowed_settings_come_to_an_end(
        one in settings(),
        other in settings(),
        bytes in 0..2_000u64,
        back in prop_oneof![Just(0u64), 1..1_000u64],
        seed in any::<u64>(),
        loss in prop_oneof![Just(0u64), 0..400u64],
    ) {
        prop_assert_eq!(one.check(), Ok(()));
        prop_assert_eq!(other.check(), Ok(()));
        let path = Rough { seed, count: 0, loss, reordering: loss / 2, doubling: loss / 2, marking: loss };
        let mut network = Network::both_ways(path, [one, other], &[(Time::ZERO, [bytes, back])]);
        // A window of a byte and timeouts of a day: a stream may take years, and ends.
        let ages = Time::ticks(u64::MAX / 2);
        prop_assert!(!network.run(ages), "it goes on: {:?}", network.flows[0].ends);
        let flow = &network.flows[0];
        if flow.ends.iter().all(|end| end.state() == State::Closed) {
            prop_assert_eq!(flow.ends[1].counters().delivered, bytes);
            prop_assert_eq!(flow.ends[0].counters().delivered, back);
        } else {
            // One has given up; the other one knows, or waits for what will not come without a timer.
            prop_assert!(flow.ends.iter().any(|end| end.state() == State::Aborted), "{:?}", flow.ends);
        }
    }
}

#[test]
fn settings_out_of_their_ranges_are_refused() {
    type Change = fn(&mut Settings);
    let changes: [(Change, &str); 15] = [
        (|of| of.mss = 0, "`mss` is 0; allowed: from 64 to 65495 bytes"),
        (|of| of.initial_window = 0, "`initial_window` is 0; allowed: from 1 to 65535 segments"),
        (|of| of.receive_buffer = 0, "`receive_buffer` is 0; allowed: from 1 byte to 1 GiB"),
        (|of| of.ack_every = 0, "`ack_every` is 0; allowed: from 1 to 255 segments"),
        (|of| of.abc = 3, "`abc` is 3; allowed: from 0 to 2"),
        (|of| of.syn_retries = 255, "`syn_retries` is 255; allowed: from 0 to 254"),
        (|of| of.retries = 255, "`retries` is 255; allowed: from 0 to 254"),
        (|of| of.ack_delay = Time::secs(1), "`ack_delay` is 1s; allowed: from 0 to 500 ms"),
        (|of| of.min_rto = Time::ZERO, "`min_rto` is 0s; allowed: from 1 ns to 1 d"),
        (|of| of.max_rto = Time::ZERO, "`max_rto` is 0s; allowed: from `min_rto` to 1 d"),
        (|of| of.initial_rto = Time::ZERO, "`initial_rto` is 0s; allowed: from `min_rto` to `max_rto`"),
        (|of| of.granularity = Time::MAX, "; allowed: from 0 to 1 s"),
        (|of| of.timestamp_tick = Time::ZERO, "`timestamp_tick` is 0s; allowed: from 1 us to 1 s"),
        (
            |of| of.classic_hystart = Some(ClassicHyStart { train_divisor: 0, ..ClassicHyStart::LINUX }),
            "`classic_hystart` is 0; allowed: divisors from 1 to 255",
        ),
        (
            |of| of.algorithm = Algorithm::Dctcp,
            "`ecn` is Off with DCTCP; allowed: with DCTCP its own echo of marks",
        ),
    ];
    assert_eq!(Settings::default().check(), Ok(()));
    for (change, text) in changes {
        let mut settings = Settings::default();
        change(&mut settings);
        let error = settings.check().expect_err(text).to_string();
        assert!(error.ends_with(text), "{error}, not {text}");
    }
}

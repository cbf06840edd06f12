//! The sending half without losses: windows, growth, Nagle, probes, pacing, idle times and ECN.

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, Ecn, Settings};

use super::script::{Script, plain};

/// RFC 6928, section 2, and RFC 5681, section 3.1, equation 2.
#[test]
fn ten_segments_leave_at_first_and_slow_start_doubles_them() {
    let mut script = Script::established(plain());
    let burst: String =
        (0..10).map(|n| format!("100 > . {}:{} ack 1\n", n * 1000 + 1, n * 1000 + 1001)).collect();
    script.run("100 cwnd 10000\n100 write 100000");
    script.run(&burst);
    script.run(
        "200 < . ack 2001
         200 > . 10001:11001 ack 1
         200 > . 11001:12001 ack 1
         200 > . 12001:13001 ack 1
         200 cwnd 11000
         201 < . ack 3001
         201 > . 13001:14001 ack 1
         201 > . 14001:15001 ack 1
         201 cwnd 12000",
    );
}

/// RFC 3465, sections 2.2 and 2.3: an ACK counts for its bytes, up to L segments.
#[test]
fn byte_counting_makes_a_delayed_ack_count_for_two() {
    for (abc, cwnd) in [(0, 11_000), (1, 11_000), (2, 12_000)] {
        let mut script = Script::established(Settings { abc, ..plain() });
        script.run("100 write 10000");
        let burst = |n| {
            format!("100 > {}. {}:{} ack 1\n", if n == 9 { "P" } else { "" }, n * 1000 + 1, n * 1000 + 1001)
        };
        script.run(&(0..10).map(burst).collect::<String>());
        script.run(&format!("200 < . ack 2001\n200 cwnd {cwnd}\n200 < . ack 2501\n200 cwnd {}", cwnd + 500));
        script.run(&format!("210 < . ack 6501\n210 cwnd {}", cwnd + 500 + 1000 * u64::from(abc.max(1))));
    }
}

/// RFC 5681, section 3.1, equation 3, and RFC 3465, section 2.1: congestion avoidance.
#[test]
fn avoidance_adds_a_segment_a_round_trip() {
    // The window is 10 segments, and 5 after an echo.
    let begin = |abc| {
        let mut script = Script::established(Settings { abc, ecn: Ecn::Classic, ..plain() });
        script.run("100 write 100000");
        let burst = |n| format!("100 > .T {}:{} ack 1\n", n * 1000 + 1, n * 1000 + 1001);
        script.run(&(0..10).map(burst).collect::<String>());
        script.run(
            "200 < .E ack 2001
             200 cwnd 5000
             200 ssthresh 5000
             210 < . ack 6001
             210 > .WT 10001:11001 ack 1
             220 < . ack 8001
             220 > .T 11001:12001 ack 1
             220 > .T 12001:13001 ack 1
             230 < . ack 10001",
        );
        script
    };
    let mut script = begin(0);
    script.run(
        "230 > .T 13001:14001 ack 1
         230 > .T 14001:15001 ack 1
         230 cwnd 5000
         300 < . ack 12001
         300 > .T 15001:16001 ack 1
         300 > .T 16001:17001 ack 1
         300 cwnd 5200
         310 < . ack 14001
         310 > .T 17001:18001 ack 1
         310 > .T 18001:19001 ack 1
         310 cwnd 5392",
    );
    let mut script = begin(2);
    script.run(
        "230 > .T 13001:14001 ack 1
         230 > .T 14001:15001 ack 1
         300 < . ack 12001
         300 > .T 15001:16001 ack 1
         300 > .T 16001:17001 ack 1
         310 < . ack 14001
         310 > .T 17001:18001 ack 1
         310 > .T 18001:19001 ack 1
         310 cwnd 5000
         320 < . ack 15001
         320 > .T 19001:20001 ack 1
         320 > .T 20001:21001 ack 1
         320 cwnd 6000",
    );
}

/// RFC 3168, section 6.1.2: one reduction a round trip, CWR on the next new data; RFC 8257, section 3.3: by
/// half of the share of marks.
#[test]
fn an_echo_reduces_the_window_once_a_round_trip() {
    let mut script = Script::established(Settings { ecn: Ecn::Classic, initial_window: 4, ..plain() });
    script.run(
        "100 write 100000
         100 > .T 1:1001 ack 1
         100 > .T 1001:2001 ack 1
         100 > .T 2001:3001 ack 1
         100 > .T 3001:4001 ack 1
         200 < .E ack 1001
         200 cwnd 2000
         200 < .E ack 2001
         200 cwnd 2000
         200 < .E ack 3001
         200 > .WT 4001:5001 ack 1
         200 < .E ack 4001
         # All that was outstanding has arrived, but not the CWR.
         200 > .T 5001:6001 ack 1
         200 cwnd 2000",
    );
    assert_eq!(script.connection.counters().echoes_received, 4);
    let settings = Settings { algorithm: Algorithm::Dctcp, ecn: Ecn::Dctcp, ..plain() };
    let mut script = Script::established(settings);
    script.run("100 write 10000");
    let burst =
        |n| format!("100 > {}.T {}:{} ack 1\n", if n == 9 { "P" } else { "" }, n * 1000 + 1, n * 1000 + 1001);
    script.run(&(0..10).map(burst).collect::<String>());
    // Alpha is 15/16 after the first ACK, which has no echo, and is not updated again in this round trip.
    script.run("200 < . ack 2001\n200 cwnd 11000\n200 < .E ack 4001\n200 cwnd 5843");
    assert_eq!(script.connection.marked_share(), Some(0.9375));
    script.run("200 < .E ack 6001\n200 cwnd 5843\n200 < . ack 10001");
    assert_eq!(script.connection.marked_share(), Some(0.9375));
    script.run("300 write 1000\n300 > P.WT 10001:11001 ack 1\n400 < . ack 11001");
    // 4000 of 9000 bytes were marked: alpha = 15/16 * 15/16 + 4/9/16.
    let expected = 0.9375 * 0.9375 + 4.0 / 9.0 / 16.0;
    assert!((script.connection.marked_share().expect("DCTCP") - expected).abs() < 1e-12);
}

/// RFC 3168, section 6.1.5: what is sent again may not be marked, so that its loss is noticed.
#[test]
fn retransmissions_are_not_marked() {
    let mut script = Script::established(Settings { ecn: Ecn::Classic, ..plain() });
    script.run(
        "100 write 2000
         100 > .T 1:1001 ack 1
         100 > P.T 1001:2001 ack 1
         400 > . 1:1001 ack 1
         500 < . ack 1001
         500 > P. 1001:2001 ack 1",
    );
}

/// RFC 9293, section 3.7.4: a small segment waits for ACKs, unless nothing is outstanding.
#[test]
fn small_segments_wait() {
    let mut script = Script::established(plain());
    script.run(
        "100 write 100
         100 > P. 1:101 ack 1
         110 write 100
         120 write 100
         200 < . ack 101
         200 > P. 101:301 ack 1
         210 write 1100
         210 > . 301:1301 ack 1
         220 close
         220 > FP. 1301:1402 ack 1",
    );
    let mut script = Script::established(Settings { nagle: false, ..plain() });
    script.run(
        "100 write 100
         100 > P. 1:101 ack 1
         110 write 100
         110 > P. 101:201 ack 1",
    );
}

/// RFC 9293, section 3.8.6.1: a closed window is probed, ever more slowly, as long as the peer answers.
#[test]
fn a_closed_window_is_probed() {
    let mut script = Script::established(plain());
    script.run(
        "100 write 3000
         100 > . 1:1001 ack 1
         100 > . 1001:2001 ack 1
         100 > P. 2001:3001 ack 1
         200 < . ack 3001 win 0
         200 write 1000
         450 > . 3001:3002 ack 1
         500 < . ack 3001 win 0
         950 > . 3001:3002 ack 1
         1000 < . ack 3001 win 0
         1950 > . 3001:3002 ack 1
         2000 < . ack 3001 win 0
         # It opens: the probe's byte leaves once more, and the rest.
         3000 < . ack 3001 win 5000
         3000 > . 3001:3002 ack 1
         3100 < . ack 3002 win 5000
         3100 > P. 3002:4001 ack 1
         3200 < . ack 4001 win 5000",
    );
    assert_eq!(script.connection.counters().window_probes, 3);
    assert_eq!((script.connection.counters().timeouts, script.connection.congestion_window()), (0, 10_000));
}

/// RFC 9293, section 3.8.6.2.1: a window of less than a segment, and of less than half of the largest, is not
/// filled at once.
#[test]
fn small_windows_are_not_filled() {
    let mut script = Script::established(plain());
    script.run(
        "100 write 3000
         100 > . 1:1001 ack 1
         100 > . 1001:2001 ack 1
         100 > P. 2001:3001 ack 1
         200 < . ack 3001 win 300
         200 write 1000
         450 > . 3001:3301 ack 1
         600 < . ack 3301 win 700
         600 > P. 3301:4001 ack 1",
    );
}

/// RFC 5681, section 4.1.
#[test]
fn an_idle_time_shrinks_the_window() {
    let begin = |restart_after_idle| {
        let settings = Settings { initial_window: 2, restart_after_idle, ..plain() };
        let mut script = Script::established(settings);
        script.run(
            "100 write 4000
             100 > . 1:1001 ack 1
             100 > . 1001:2001 ack 1
             200 < . ack 1001
             200 > . 2001:3001 ack 1
             200 > P. 3001:4001 ack 1
             210 < . ack 2001
             300 < . ack 4001
             300 cwnd 4000
             900 write 500
             900 > P. 4001:4501 ack 1",
        );
        script
    };
    begin(true).run("900 cwnd 2000");
    begin(false).run("900 cwnd 4000");
}

/// RFC 5681, section 3.1 with RFC 7661: a window that is not used does not grow.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut script = Script::established(plain());
    for n in 0..20u64 {
        let (time, start) = (100 + n * 100, n * 1000 + 1);
        script.run(&format!("{time} write 1000\n{time} > P. {start}:{} ack 1", start + 1000));
        script.run(&format!("{} < . ack {}", time + 99, start + 1000));
    }
    script.run("+0 cwnd 10000");
}

/// Segments leave at twice the window a round trip in slow start.
#[test]
fn pacing_spreads_segments_over_the_round_trip() {
    let mut script = Script::established(Settings { pacing: true, initial_window: 4, ..plain() });
    // 4000 bytes a 100 ms, twice: a segment every 12.5 ms.
    script.run(
        "100   write 4000
         100   > . 1:1001 ack 1
         112.5 > . 1001:2001 ack 1
         125   > . 2001:3001 ack 1
         137.5 > P. 3001:4001 ack 1",
    );
}

/// The peer's window limits what is outstanding (RFC 9293, section 3.8.6).
#[test]
fn the_window_of_the_peer_is_kept() {
    let mut script = Script::connect(plain());
    script.run(
        "0   > S 0:1
         100 < S. 0:1 ack 1 win 2500 mss 1000
         100 > . ack 1
         100 write 10000
         100 > . 1:1001 ack 1
         100 > . 1001:2001 ack 1
         # Half a segment: not worth it.
         200 < . ack 1001 win 1500
         200 < . ack 2001 win 2500
         200 > . 2001:3001 ack 1
         200 > . 3001:4001 ack 1",
    );
}

/// RFC 6298, section 2.3, RFC 7323, section 4: the round trip.
#[test]
fn the_round_trip_is_that_of_the_first_segment_acknowledged() {
    let mut script = Script::established(plain());
    script.run(
        "100 write 2000
         100 > . 1:1001 ack 1
         100 > P. 1001:2001 ack 1
         280 < . ack 2001",
    );
    assert_eq!(script.connection.smoothed_rtt(), Some(Time::millis(110)));
}

/// RFC 9293, section 3.10.7.4, first step: beside a probe beyond the peer's window, an ACK stays within it,
/// or the peer would not hear that this end's window is open.
#[test]
fn both_windows_may_be_closed() {
    let settings = Settings { receive_buffer: 1000, reads_at_once: false, ..plain() };
    let mut script = Script::established(settings);
    script.run(
        "100 < . 1:1001 ack 1 win 0
         140 > . ack 1001 win 0
         150 write 500
         450 > . 1:2 ack 1001
         550 < . seq 1001 ack 1 win 0
         600 read 1000
         600 > . ack 1001 win 1000 seq 1",
    );
}

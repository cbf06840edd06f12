//! Losses found by counting: timeouts, duplicate ACKs and SACK.

use paceline_kernel::Time;
use paceline_packets::tcp::Settings;

use super::script::{Script, plain};

/// An established end that has sent ten segments at 100 ms, and has more.
pub fn ten(settings: Settings) -> Script {
    let mut script = Script::established(settings);
    script.run("100 write 1000000");
    script.run(&segments("100", 0..10));
    script
}

/// Lines that expect segments by number.
pub fn segments(time: &str, numbers: std::ops::Range<u64>) -> String {
    numbers.map(|n| format!("{time} > . {}:{} ack 1\n", n * 1000 + 1, n * 1000 + 1001)).collect()
}

/// RFC 6298, sections 5.4 to 5.6, and RFC 5681, section 3.1: the first segment again, twice as late each
/// time; the window is one segment and the threshold half of the flight, once.
#[test]
fn a_timeout_sends_the_first_segment_again() {
    let mut script = ten(plain());
    script.run(
        "400  > . 1:1001 ack 1
         400  cwnd 1000
         400  ssthresh 5000
         1000 > . 1:1001 ack 1
         1000 ssthresh 5000
         2200 > . 1:1001 ack 1
         2300 < . ack 1001
         2300 > . 1001:2001 ack 1
         2300 > . 2001:3001 ack 1
         2300 cwnd 2000
         # The rest had arrived.
         2400 < . ack 10001",
    );
    script.run(&segments("2400", 10..13));
    script.run("2400 cwnd 3000");
    let counters = script.connection.counters();
    assert_eq!((counters.timeouts, counters.retransmissions, counters.recoveries), (3, 5, 0));
}

/// RFC 6298, section 3 (Karn): an ACK of what was sent twice is no measurement; section 5.7: it ends the
/// backoff. With timestamps it is one (RFC 7323, section 4).
#[test]
fn what_was_sent_twice_is_not_measured() {
    let mut script = Script::established(plain());
    script.run(
        "100 write 500
         100 > P. 1:501 ack 1
         400 > P. 1:501 ack 1
         900 < . ack 501
         1000 write 500
         1000 > P. 501:1001 ack 1
         # 300 ms, from the handshake alone.
         1300 > P. 501:1001 ack 1",
    );
    assert_eq!(script.connection.smoothed_rtt(), Some(Time::millis(100)));
    let mut script = Script::connect(Settings { timestamps: true, ..plain() });
    script.run(
        "0   > S 0:1
         100 < S. 0:1 ack 1 win 60000 mss 1000 stamp 7 echo 0
         100 > . ack 1 stamp 100 echo 7
         100 write 500
         100 > P. 1:501 ack 1 stamp 100 echo 7
         400 > P. 1:501 ack 1 stamp 400 echo 7
         580 < . 1:1 ack 501 stamp 8 echo 400",
    );
    assert_eq!(script.connection.smoothed_rtt(), Some(Time::millis(110)));
}

/// RFC 5681, section 3.2, and RFC 6582, section 3.2: three duplicate ACKs, a partial ACK, a full one.
#[test]
fn newreno_repairs_two_losses() {
    let mut script = ten(plain());
    // Segments 0 and 4 are lost.
    script.run(
        "201 < . ack 1
         202 < . ack 1
         203 < . ack 1
         203 > . 1:1001 ack 1
         203 cwnd 5000
         203 ssthresh 5000
         205 < . ack 1
         206 < . ack 1
         # The window is 5 + 5 segments: none beyond the ten. From now on each ACK lets one leave.
         207 < . ack 1
         207 > . 10001:11001 ack 1
         208 < . ack 1
         208 > . 11001:12001 ack 1
         209 < . ack 1
         209 > . 12001:13001 ack 1
         # Partial: the next hole, and one for the four that left.
         303 < . ack 4001
         303 > . 4001:5001 ack 1
         303 > . 13001:14001 ack 1
         308 < . ack 4001
         308 > . 14001:15001 ack 1
         309 < . ack 4001
         309 > . 15001:16001 ack 1
         # Full, all that was outstanding at the loss: the window is the threshold.
         403 < . ack 13001
         403 > . 16001:17001 ack 1
         403 cwnd 4000",
    );
    let counters = script.connection.counters();
    assert_eq!((counters.recoveries, counters.retransmissions, counters.duplicate_acks), (1, 2, 10));
}

/// RFC 6582, section 3.2, step 2: duplicate ACKs of what a timeout sent again do not begin a recovery.
#[test]
fn duplicates_after_a_timeout_are_no_loss() {
    let mut script = ten(plain());
    script.run(
        "400  > . 1:1001 ack 1
         500  < . ack 10001
         500  > . 10001:11001 ack 1
         500  > . 11001:12001 ack 1
         501  < . ack 10001
         502  < . ack 10001
         503  < . ack 10001
         504  < . ack 10001",
    );
    assert_eq!(script.connection.counters().recoveries, 0);
}

/// RFC 3042, section 2: two segments, however many duplicates.
#[test]
fn more_duplicates_let_no_more_leave() {
    let mut script = ten(Settings { limited_transmit: true, ..plain() });
    script.run(
        "400  > . 1:1001 ack 1
         500  < . ack 10001
         500  > . 10001:11001 ack 1
         500  > . 11001:12001 ack 1
         501  < . ack 10001
         501  > . 12001:13001 ack 1
         502  < . ack 10001
         502  > . 13001:14001 ack 1
         503  < . ack 10001
         504  < . ack 10001",
    );
}

/// RFC 3465, section 2.3: after a timeout an ACK counts for one segment.
#[test]
fn after_a_timeout_bytes_count_for_less() {
    let mut script = ten(Settings { abc: 2, ..plain() });
    script.run(
        "400  > . 1:1001 ack 1
         500  < . ack 1001
         500  > . 1001:2001 ack 1
         500  > . 2001:3001 ack 1
         600  < . ack 3001",
    );
    script.run(&segments("600", 3..6));
    script.run("600 cwnd 3000");
}

/// RFC 6582, section 3.2, step 3: only the first partial ACK restarts the timer.
#[test]
fn a_long_recovery_ends_in_a_timeout() {
    let mut script = ten(plain());
    script.run("200 < . ack 1001");
    script.run(&segments("200", 10..12));
    script.run(
        "201 < . ack 1001
         202 < . ack 1001
         203 < . ack 1001
         203 > . 1001:2001 ack 1
         303 < . ack 2001
         303 > . 2001:3001 ack 1
         403 < . ack 3001
         403 > . 3001:4001 ack 1
         503 < . ack 4001
         503 > . 4001:5001 ack 1
         553 > . 4001:5001 ack 1",
    );
    assert_eq!(script.connection.counters().timeouts, 1);
}

/// RFC 3042, section 2.
#[test]
fn the_first_two_duplicates_let_new_segments_leave() {
    let mut script = ten(Settings { limited_transmit: true, ..plain() });
    script.run(
        "201 < . ack 1
         201 > . 10001:11001 ack 1
         202 < . ack 1
         202 > . 11001:12001 ack 1
         203 < . ack 1
         203 > . 1:1001 ack 1
         # Half of ten segments, not of twelve.
         203 ssthresh 5000",
    );
}

fn sack() -> Settings {
    Settings { sack: true, ..plain() }
}

/// RFC 6675, section 5: three duplicate ACKs; the pipe says what may leave.
#[test]
fn sack_repairs_two_losses_in_a_round_trip() {
    let mut script = ten(sack());
    // Segments 0 and 4 are lost. Each block lets a new segment leave: the pipe is smaller by one.
    script.run(
        "201 < . ack 1 sack 1001:2001
         201 > . 10001:11001 ack 1
         202 < . ack 1 sack 1001:3001
         202 > . 11001:12001 ack 1
         203 < . ack 1 sack 1001:4001
         203 > . 1:1001 ack 1
         203 cwnd 5000
         203 ssthresh 5000
         # 12 outstanding, 3 with the receiver, one lost and sent again.
         203 flight 9000
         205 < . ack 1 sack 5001:6001,1001:4001
         206 < . ack 1 sack 5001:7001,1001:4001
         206 flight 7000
         # Three segments above it: the fifth is lost too.
         207 < . ack 1 sack 5001:8001,1001:4001
         207 flight 5000
         208 < . ack 1 sack 5001:9001,1001:4001
         208 > . 4001:5001 ack 1
         208 flight 5000
         209 < . ack 1 sack 5001:10001,1001:4001
         209 > . 12001:13001 ack 1
         303 < . ack 4001 sack 5001:12001
         303 > . 13001:14001 ack 1
         303 > . 14001:15001 ack 1
         303 > . 15001:16001 ack 1
         308 < . ack 12001
         308 > . 16001:17001 ack 1
         308 cwnd 5000",
    );
    assert_eq!(script.connection.counters().retransmissions, 2);
}

/// RFC 6675, section 5, step 2: more than two segments above the first, in fewer than three duplicate ACKs.
#[test]
fn lost_acks_do_not_delay_recovery() {
    let mut script = ten(sack());
    script.run(
        "203 < . ack 1 sack 1001:4001
         203 > . 1:1001 ack 1
         203 ssthresh 5000",
    );
}

/// RFC 6675, section 4, NextSeg, rules 3 and 4: without new data, holes that are not known to be lost, and
/// the last segment once.
#[test]
fn sack_sends_more_where_there_is_no_new_data() {
    let mut script = Script::established(sack());
    script.run("100 write 9000");
    script.run(&segments("100", 0..8));
    script.run(
        "100 > P. 8001:9001 ack 1
         100 close
         100 > F. 9001:9002 ack 1
         # 0, 5 and 8 are lost.
         201 < . ack 1 sack 1001:2001
         202 < . ack 1 sack 1001:3001
         203 < . ack 1 sack 1001:4001
         203 > . 1:1001 ack 1
         204 < . ack 1 sack 1001:5001
         206 < . ack 1 sack 6001:7001,1001:5001
         207 < . ack 1 sack 6001:8001,1001:5001
         207 > . 5001:6001 ack 1
         303 < . ack 5001 sack 6001:8001
         303 > FP. 8002:9002 ack 1
         306 < . ack 8001
         400 < . ack 9002",
    );
    let counters = script.connection.counters();
    assert_eq!((counters.retransmissions, counters.timeouts), (3, 0));
}

/// RFC 9937, section 6.2: every second ACK lets a segment leave, and never a burst.
#[test]
fn proportional_rate_reduction_spreads_the_reduction() {
    let mut script = ten(Settings { prr: true, ..sack() });
    // Segment 0 is lost.
    script.run(
        "201 < . ack 1 sack 1001:2001
         201 > . 10001:11001 ack 1
         202 < . ack 1 sack 1001:3001
         202 > . 11001:12001 ack 1
         203 < . ack 1 sack 1001:4001
         203 > . 1:1001 ack 1
         204 < . ack 1 sack 1001:5001
         205 < . ack 1 sack 1001:6001
         206 < . ack 1 sack 1001:7001
         206 > . 12001:13001 ack 1
         207 < . ack 1 sack 1001:8001
         208 < . ack 1 sack 1001:9001
         # Down to the threshold: what arrives may leave.
         209 < . ack 1 sack 1001:10001
         209 > . 13001:14001 ack 1
         303 < . ack 12001",
    );
    script.run(&segments("303", 14..17));
    script.run("303 cwnd 5000");
}

/// RFC 9937, section 6.2: below the threshold what was delivered may leave again, and a segment more where an
/// ACK is safe, up to the threshold.
#[test]
fn rate_reduction_rebuilds_a_flight_that_many_losses_have_emptied() {
    let mut script = ten(Settings { prr: true, ..sack() });
    // All but the last three are lost. The first ACK that shows it lets one segment leave.
    script.run(
        "208 < . ack 1 sack 7001:8001
         208 > . 10001:11001 ack 1
         209 < . ack 1 sack 7001:9001
         209 > . 11001:12001 ack 1
         210 < . ack 1 sack 7001:10001
         210 > . 1:1001 ack 1
         # All seven are lost: two new segments and a retransmission are under way.
         210 flight 3000
         210 cwnd 3000
         # Delivered: 1000 more, and safe: two segments leave.
         310 < . ack 1001 sack 7001:10001
         310 > . 1001:2001 ack 1
         310 > . 2001:3001 ack 1
         310 flight 4000",
    );
}

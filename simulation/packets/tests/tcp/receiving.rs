//! The receiving half: ACKs and their delay, SACK, windows, timestamps and echoes.

use paceline_kernel::Time;
use paceline_packets::tcp::{Ecn, Settings};

use super::script::{Script, plain};

/// RFC 9293, section 3.8.6.3, and RFC 5681, section 4.2.
#[test]
fn every_second_segment_is_acknowledged_or_one_after_a_delay() {
    let mut script = Script::accepted(plain());
    script.run(
        "100  < . 1:1001 ack 1
         110  < . 1001:2001 ack 1
         110  > . ack 2001
         120  < . 2001:3001 ack 1
         160  > . ack 3001
         170  < . 3001:3101 ack 1
         210  > . ack 3101",
    );
    let mut script = Script::accepted(Settings { ack_every: 1, ..plain() });
    script.run(
        "100  < . 1:1001 ack 1
         100  > . ack 1001",
    );
}

/// RFC 9293, section 3.8.6.3: an ACK leaves with data.
#[test]
fn data_takes_the_ack_along() {
    let mut script = Script::accepted(plain());
    script.run(
        "100  < . 1:1001 ack 1
         110  write 100
         110  > P. 1:101 ack 1001
         150  < . 1001:1001 ack 101
         300  silent",
    );
}

/// RFC 5681, section 4.2: beyond a gap, into one, and what was there before, at once.
#[test]
fn what_is_out_of_order_is_acknowledged_at_once() {
    let mut script = Script::accepted(plain());
    script.run(
        "100  < . 1001:2001 ack 1
         100  > . ack 1
         110  < . 3001:4001 ack 1
         110  > . ack 1
         120  < . 1:1001 ack 1
         120  > . ack 2001
         130  < . 1:1001 ack 1
         130  > . ack 2001
         140  < . 2001:3001 ack 1
         140  > . ack 4001",
    );
    let counters = script.connection.counters();
    assert_eq!((counters.delivered, counters.out_of_order, counters.duplicate_segments), (4000, 2, 1));
}

/// RFC 2018, section 4: the block of the last segment first, then the most recent others; three at most
/// beside timestamps, four without.
#[test]
fn blocks_are_reported_most_recent_first() {
    let mut script = Script::accepted(Settings { sack: true, ..plain() });
    script.run(
        "100  < . 1001:2001 ack 1
         100  > . ack 1 sack 1001:2001
         110  < . 3001:4001 ack 1
         110  > . ack 1 sack 3001:4001,1001:2001
         120  < . 5001:6001 ack 1
         120  > . ack 1 sack 5001:6001,3001:4001,1001:2001
         130  < . 7001:8001 ack 1
         130  > . ack 1 sack 7001:8001,5001:6001,3001:4001,1001:2001
         140  < . 9001:9501 ack 1
         140  > . ack 1 sack 9001:9501,7001:8001,5001:6001,3001:4001
         150  < . 2001:3001 ack 1
         150  > . ack 1 sack 1001:4001,9001:9501,7001:8001,5001:6001
         160  < . 1:1001 ack 1
         160  > . ack 4001 sack 9001:9501,7001:8001,5001:6001",
    );
}

/// RFC 2883, sections 4.1 and 4.2: a duplicate is reported once, below the ACK or inside of a block.
#[test]
fn duplicates_are_reported_once() {
    let mut script = Script::accepted(Settings { sack: true, ..plain() });
    script.run(
        "100  < . 1:1001 ack 1
         110  < . 1001:2001 ack 1
         110  > . ack 2001
         120  < . 1:1001 ack 1
         120  > . ack 2001 sack 1:1001
         130  < . 3001:5001 ack 1
         130  > . ack 2001 sack 3001:5001
         140  < . 3001:4001 ack 1
         140  > . ack 2001 sack 3001:4001,3001:5001
         150  < . 5001:6001 ack 1
         150  > . ack 2001 sack 3001:6001",
    );
}

/// RFC 6691, section 2: SACK blocks take their room from data.
#[test]
fn blocks_make_segments_shorter() {
    let mut script = Script::accepted(Settings { sack: true, ..plain() });
    script.run(
        "100  < . 1001:2001 ack 1
         100  > . ack 1 sack 1001:2001
         110  write 2000
         110  > . 1:989 ack 1 sack 1001:2001
         110  > . 989:1977 ack 1 sack 1001:2001",
    );
}

/// RFC 9293, section 3.8.6: the window is what the application leaves room for, and its edge never moves
/// back; section 3.8.6.2.2: it opens in steps of a segment.
#[test]
fn the_window_closes_and_opens() {
    let settings = Settings { receive_buffer: 3000, reads_at_once: false, ..plain() };
    let mut script = Script::accepted(settings);
    script.run(
        "100  < . 1:1001 ack 1
         100  < . 1001:2001 ack 1
         100  > . ack 2001 win 1000
         110  < . 2001:3001 ack 1
         150  > . ack 3001 win 0
         # A probe is answered, and not taken.
         200  < . 3001:3002 ack 1
         200  > . ack 3001 win 0
         300  read 500
         # Half of a segment is not offered.
         305  < . 3001:3002 ack 1
         305  > . ack 3001 win 0
         310  read 400
         320  read 100
         320  > . ack 3001 win 1000
         330  read 1000
         400  < . 3001:4001 ack 1
         440  > . ack 4001 win 1000",
    );
    assert_eq!(script.connection.counters().delivered, 4000);
    assert_eq!(script.connection.readable(), 2000);
}

/// RFC 9293, section 3.10.7.4: what is beyond the window is cut off.
#[test]
fn what_is_beyond_the_window_is_cut_off() {
    let mut script = Script::accepted(Settings { receive_buffer: 1500, reads_at_once: false, ..plain() });
    script.run(
        "100  < . 1:1001 ack 1
         110  < . 1001:2001 ack 1
         110  > . ack 1501 win 0
         120  < . 9001:9101 ack 1
         120  > . ack 1501 win 0",
    );
}

/// RFC 7323, section 4.3: the timestamp of the first segment that is not yet acknowledged is echoed, and one
/// before a gap where there is a gap.
#[test]
fn the_right_timestamp_is_echoed() {
    let mut script = Script::listen(Settings { timestamps: true, ..plain() });
    script.run(
        "0    < S 0:1 win 60000 stamp 500 mss 1000
         0    > S. 0:1 ack 1 stamp 0 echo 500
         50   < . 1:1 ack 1 stamp 550 echo 0
         100  < . 1:501 ack 1 stamp 600 echo 0
         110  < . 501:1001 ack 1 stamp 610 echo 0
         110  > . ack 1001 stamp 110 echo 600
         120  < . 1501:2001 ack 1 stamp 620 echo 0
         120  > . ack 1001 stamp 120 echo 600
         130  < . 1001:1501 ack 1 stamp 630 echo 0
         130  > . ack 2001 stamp 130 echo 630",
    );
}

/// RFC 3168, section 6.1.3: every ACK echoes a mark until CWR.
#[test]
fn a_mark_is_echoed_until_the_sender_has_reacted() {
    let mut script = Script::accepted(Settings { ecn: Ecn::Classic, ack_every: 1, ..plain() });
    script.run(
        "100  < .T 1:1001 ack 1
         100  > . ack 1001
         110  < .T 1001:2001 ack 1 ce
         110  > .E ack 2001
         120  < .T 2001:3001 ack 1
         120  > .E ack 3001
         130  < .TW 3001:4001 ack 1
         130  > . ack 4001
         140  < .TW 4001:5001 ack 1 ce
         140  > .E ack 5001",
    );
    assert_eq!(script.connection.counters().marks_received, 2);
}

/// RFC 8257, section 3.2, figure 1: a change of marks sends the ACK of what came before at once.
#[test]
fn dctcp_echoes_exactly_what_was_marked() {
    let mut script = Script::accepted(Settings { ecn: Ecn::Dctcp, ..plain() });
    script.run(
        "100  < .T 1:1001 ack 1
         110  < .T 1001:2001 ack 1
         110  > . ack 2001
         120  < .T 2001:3001 ack 1
         130  < .T 3001:4001 ack 1 ce
         130  > . ack 3001
         140  < .T 4001:5001 ack 1 ce
         140  > .E ack 5001
         150  < .T 5001:6001 ack 1 ce
         160  < .T 6001:7001 ack 1
         160  > .E ack 6001
         200  > . ack 7001",
    );
}

/// RFC 9293, section 3.10.7.4: a FIN beyond a gap waits for the gap.
#[test]
fn a_fin_out_of_order_waits() {
    let mut script = Script::accepted(Settings { ack_delay: Time::millis(200), ..plain() });
    script.run(
        "100  < F. 1001:2002 ack 1
         100  > . ack 1
         100  state Established
         110  < . 1:1001 ack 1
         110  > . ack 2002
         110  state CloseWait",
    );
    assert!(script.connection.is_received_whole());
    assert_eq!(script.connection.counters().delivered, 2000);
}

/// RFC 7323, sections 2.3 and 2.4: a scaled window is a multiple of the scale, and rounding takes back
/// nothing that was announced.
#[test]
fn a_scaled_window_keeps_its_edge() {
    let settings =
        Settings { receive_buffer: 1 << 20, window_scaling: true, reads_at_once: false, ..plain() };
    let mut script = Script::listen(settings);
    script.run(
        "0    < S 0:1 win 60000 mss 1000 scale 7
         0    > S. 0:1 ack 1 win 65535 mss 1000 scale 5
         100  < . 1:1 ack 1
         100  < . 1:1001 ack 1
         110  < . 1001:1101 ack 1
         # The edge is as far from the first byte as the buffer is long, rounded down.
         110  > . ack 1101 win 1047456
         120  < . 1101:1111 ack 1
         130  < . 1111:1112 ack 1
         # 1,047,445 bytes are left of it.
         130  > . ack 1112 win 1047424
         140  < . 1048540:1048557 ack 1
         140  > . ack 1112 win 1047424",
    );
    assert_eq!(script.connection.counters().out_of_order, 1);
}

//! Opening and closing (RFC 9293), and what is agreed on.

use paceline_kernel::Time;
use paceline_packets::tcp::{Ecn, Settings};

use super::script::{Script, plain};

/// RFC 9293, section 3.5, figure 6.
#[test]
fn three_segments_open_a_connection() {
    let mut client = Script::connect(plain());
    client.run(
        "0   > S 0:1 win 65535 mss 1000
         100 < S. 0:1 ack 1 win 60000 mss 1000
         100 > . ack 1 win 65535
         100 state Established",
    );
    let mut server = Script::listen(plain());
    server.run(
        "0   state Listen
         50  < S 0:1 win 60000 mss 1000
         50  > S. 0:1 ack 1 win 65535 mss 1000
         50  state SynReceived
         150 < . ack 1
         150 state Established",
    );
}

/// RFC 9293, section 3.5, figure 8.
#[test]
fn both_ends_may_open_at_once() {
    let mut script = Script::connect(plain());
    script.run(
        "0   > S 0:1
         30  < S 0:1 win 60000 mss 1000
         30  > S. 0:1 ack 1
         30  state SynReceived
         60  < S. 0:1 ack 1 win 60000 mss 1000
         60  state Established
         60  write 10
         60  > P. 1:11 ack 1",
    );
}

/// RFC 6298, sections 2.1 and 5.5 to 5.7, and RFC 5681, section 3.1: a lost SYN.
#[test]
fn a_lost_syn_leaves_again_after_one_two_four_seconds() {
    let mut script = Script::connect(plain());
    script.run(
        "0    > S 0:1
         1000 > S 0:1
         3000 > S 0:1
         7000 > S 0:1
         7100 < S. 0:1 ack 1 win 60000 mss 1000
         7100 > . ack 1
         # One segment, and at least three seconds for it.
         7100 cwnd 1000
         7100 write 5000
         7100 > . 1:1001 ack 1
         10100 > . 1:1001 ack 1",
    );
}

/// RFC 9293, section 3.8.3: SYNs end.
#[test]
fn a_connection_that_nobody_answers_is_given_up() {
    let mut script = Script::connect(Settings { syn_retries: 2, ..plain() });
    script.run(
        "0    > S 0:1
         1000 > S 0:1
         3000 > S 0:1
         7000 state Aborted
         99000 silent",
    );
}

/// RFC 9293, section 3.10.7.4, first step: the peer has not heard the SYN-ACK.
#[test]
fn a_repeated_syn_is_answered_again() {
    let mut script = Script::listen(plain());
    script.run(
        "0    < S 0:1 win 60000 mss 1000
         0    > S. 0:1 ack 1
         500  < S 0:1 win 60000 mss 1000
         500  > S. 0:1 ack 1
         600  < . ack 1
         600  state Established",
    );
}

/// RFC 7323, sections 2.2 and 3.2; RFC 2018, section 2; RFC 6691: what both ends have is used, and no more.
#[test]
fn options_are_agreed_on() {
    let all = || Settings {
        timestamps: true,
        window_scaling: true,
        sack: true,
        receive_buffer: 1 << 20,
        ..plain()
    };
    let mut script = Script::connect(all());
    script.run(
        "0    > S 0:1 win 65535 mss 1000 scale 5 permitted stamp 0 echo 0
         100  < S. 0:1 ack 1 win 60000 mss 1000 scale 3 permitted stamp 700 echo 0
         100  > . ack 1 win 1048576 stamp 100 echo 700
         150  write 988
         150  > P. 1:989 ack 1 stamp 150 echo 700",
    );
    let mut script = Script::connect(all());
    script.run(
        "0    > S 0:1 win 65535 mss 1000 scale 5 permitted stamp 0 echo 0
         100  < S. 0:1 ack 1 win 60000 mss 600
         100  > . ack 1 win 65535
         150  write 600
         150  > P. 1:601 ack 1",
    );
    let mut script = Script::listen(all());
    script.run(
        "0    < S 0:1 win 60000 mss 1000 permitted
         0    > S. 0:1 ack 1 win 65535 mss 1000 permitted",
    );
    // A peer without options has segments of 536 bytes (RFC 9293, section 3.7.1).
    let mut script = Script::connect(plain());
    script.run(
        "0    > S 0:1
         100  < S. 0:1 ack 1 win 60000
         100  > . ack 1
         100  write 1000
         100  > . 1:537 ack 1
         300  silent",
    );
}

/// RFC 3168, section 6.1.1.
#[test]
fn congestion_notification_is_agreed_on() {
    let ecn = || Settings { ecn: Ecn::Classic, ..plain() };
    let mut script = Script::connect(ecn());
    script.run(
        "0    > SEW 0:1
         100  < S.E 0:1 ack 1 win 60000 mss 1000
         100  > . ack 1
         100  write 1000
         100  > P.T 1:1001 ack 1",
    );
    let mut script = Script::connect(ecn());
    script.run(
        "0    > SEW 0:1
         100  < S. 0:1 ack 1 win 60000 mss 1000
         100  > . ack 1
         100  write 1000
         100  > P. 1:1001 ack 1",
    );
    let mut script = Script::listen(ecn());
    script.run(
        "0    < SEW 0:1 win 60000 mss 1000
         0    > S.E 0:1 ack 1",
    );
    let mut script = Script::listen(ecn());
    script.run(
        "0    < S 0:1 win 60000 mss 1000
         0    > S. 0:1 ack 1",
    );
}

/// RFC 9293, section 3.6, figure 12: this end closes first.
#[test]
fn closing_first_ends_in_time_wait() {
    let mut script = Script::established(plain());
    script.run(
        "100  write 500
         100  > P. 1:501 ack 1
         100  close
         100  > F. 501:502 ack 1
         100  state FinWait1
         200  < . ack 502
         200  state FinWait2
         300  < F. 1:2 ack 502
         300  > . ack 2
         300  state TimeWait
         # The last ACK was lost.
         700  < F. 1:2 ack 502
         700  > . ack 2
         1699 state TimeWait
         1700 state Closed
         1800 < F. 1:2 ack 502
         1800 > R. 502:502 ack 2",
    );
}

/// RFC 9293, section 3.6, figure 12, the other end; data still flows after the peer's FIN.
#[test]
fn closing_second_ends_with_the_last_ack() {
    let mut script = Script::accepted(plain());
    script.run(
        "100  < F. 1:101 ack 1
         100  > . ack 101
         100  state CloseWait
         150  write 100
         150  > P. 1:101 ack 101
         200  close
         200  > F. 101:102 ack 101
         200  state LastAck
         300  < . 101:101 ack 102
         300  state Closed",
    );
}

/// RFC 9293, section 3.6, figure 13.
#[test]
fn both_may_close_at_once() {
    let mut script = Script::established(plain());
    script.run(
        "100  close
         100  > F. 1:2 ack 1
         120  < F. 1:2 ack 1
         120  > . ack 2
         120  state Closing
         200  < . 2:2 ack 2
         200  state TimeWait
         1200 state Closed",
    );
}

/// RFC 9293, section 3.10.4: a FIN waits for the data before it, and leaves with the last of it.
#[test]
fn a_fin_follows_the_last_byte() {
    let mut script = Script::established(Settings { initial_window: 2, ..plain() });
    script.run(
        "100  write 2500
         100  > . 1:1001 ack 1
         100  > . 1001:2001 ack 1
         100  close
         200  < . ack 2001
         200  > FP. 2001:2502 ack 1",
    );
}

/// RFC 9293, section 3.10.7.4, second and fifth steps.
#[test]
fn resets_and_wrong_acks() {
    let mut script = Script::established(plain());
    script.run(
        "200  < R. 50:50 ack 1
         200  state Established
         300  < . 1:1 ack 77
         300  > . ack 1
         400  < R. 1:1 ack 1
         400  state Aborted",
    );
    let mut script = Script::connect(plain());
    script.run(
        "0    > S 0:1
         100  < R. 0:0 ack 1
         100  state Aborted
         9000 silent",
    );
}

/// RFC 9293, section 3.8.3: what nobody acknowledges is given up after some time, with a reset.
#[test]
fn a_silent_peer_is_given_up() {
    let mut script = Script::established(Settings { retries: 2, ..plain() });
    script.run(
        "100  write 500
         100  > P. 1:501 ack 1
         400  > P. 1:501 ack 1
         1000 > P. 1:501 ack 1
         2200 > R. 501:501 ack 1
         2200 state Aborted",
    );
    assert!(script.connection.deadline().is_none_or(|time| time == Time::MAX));
}

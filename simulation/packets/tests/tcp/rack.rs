//! Losses found by time, and probes of the tail (RFC 8985).

use paceline_packets::tcp::Settings;

use super::recovering::{segments, ten};
use super::script::{Script, plain};

fn rack() -> Settings {
    Settings { sack: true, rack: true, prr: true, ..plain() }
}

/// RFC 8985, section 6.2, step 5: a quarter of the round trip after what was sent later has arrived.
#[test]
fn rack_waits_a_quarter_of_a_round_trip() {
    let mut script = Script::established(rack());
    script.run("100 write 2000\n100 > . 1:1001 ack 1\n100 > P. 1001:2001 ack 1");
    script.run(
        "200 < . ack 1 sack 1001:2001
         225 > . 1:1001 ack 1
         325 < . ack 2001",
    );
    let counters = script.connection.counters();
    assert_eq!((counters.recoveries, counters.timeouts, counters.loss_probes), (1, 0, 0));
    // With three segments SACKed, at once (step 4).
    let mut script = ten(rack());
    script.run(
        "203 < . ack 1 sack 1001:4001
         203 > . 1:1001 ack 1",
    );
}

/// RFC 8985, section 6.2, step 3: reordering was seen, so that three SACKed segments are no loss.
#[test]
fn rack_learns_of_reordering() {
    let mut script = ten(rack());
    script.run("200 < . ack 1 sack 1001:3001");
    script.run(&segments("200", 10..12));
    // The first one arrives after all.
    script.run("201 < . ack 3001");
    script.run(&segments("201", 12..14));
    script.run("202 < . ack 3001 sack 4001:8001");
    script.run(&segments("202", 14..18));
    script.run("203 < . ack 8001");
    script.run(&segments("203", 18..20));
    assert_eq!(script.connection.counters().recoveries, 0);
}

/// RFC 8985, section 6.2, step 5: a retransmission that is lost is found, too.
#[test]
fn rack_finds_a_lost_retransmission() {
    let mut script = ten(rack());
    script.run(
        "203 < . ack 1 sack 1001:4001
         203 > . 1:1001 ack 1
         205 < . ack 1 sack 1001:6001
         207 < . ack 1 sack 1001:8001
         207 > . 10001:11001 ack 1
         207 > . 11001:12001 ack 1
         209 < . ack 1 sack 1001:10001
         209 > . 12001:13001 ack 1
         209 > . 13001:14001 ack 1
         # What was sent after the retransmission has arrived.
         307 < . ack 1 sack 1001:11001
         307 > . 1:1001 ack 1
         307 > . 14001:15001 ack 1",
    );
    assert_eq!(script.connection.counters().timeouts, 0);
}

/// RFC 8985, sections 7.2 to 7.4: the last segment leaves again after two round trips; its ACK shows the
/// loss.
#[test]
fn a_probe_finds_a_loss_at_the_tail() {
    let mut script = Script::established(rack());
    script.run("100 write 4000");
    script.run(&segments("100", 0..3));
    script.run(
        "100 > P. 3001:4001 ack 1
         200 < . ack 2001
         # Two segments are lost. The probe: two round trips of 100 ms.
         400 > P. 3001:4001 ack 1
         500 < . ack 2001 sack 3001:4001
         500 > . 2001:3001 ack 1
         600 < . ack 4001",
    );
    let counters = script.connection.counters();
    assert_eq!((counters.loss_probes, counters.recoveries, counters.timeouts), (1, 1, 0));
}

/// RFC 8985, section 7.4.2: a probe that was the repair still counts as congestion; one that was not needed
/// does not.
#[test]
fn a_probe_that_repairs_a_loss_reduces_the_window() {
    let begin = || {
        let mut script = Script::established(rack());
        script.run(
            "100 write 2000
             100 > . 1:1001 ack 1
             100 > P. 1001:2001 ack 1
             200 < . ack 1001
             # A single segment may wait for a delayed ACK: 40 ms more, before the timeout at 450 ms.
             440 > P. 1001:2001 ack 1",
        );
        script
    };
    let mut script = begin();
    script.run(
        "540 < . ack 2001
         540 write 1000
         540 > P. 2001:3001 ack 1
         640 < . ack 3001
         640 cwnd 2000",
    );
    let mut script = begin();
    script.run(
        "540 < . ack 2001 sack 1001:2001
         540 write 1000
         540 > P. 2001:3001 ack 1
         640 < . ack 3001
         640 cwnd 10000",
    );
}

/// RFC 8985, section 7.3: new data is the better probe.
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    let mut script = ten(rack());
    script.run(
        "300 > . 10001:11001 ack 1
         600 > . 1:1001 ack 1",
    );
    let counters = script.connection.counters();
    assert_eq!((counters.loss_probes, counters.timeouts, counters.retransmissions), (1, 1, 1));
}

/// RFC 8985, section 6.3: a timeout takes for lost what was sent a round trip ago, and not what has just
/// left.
#[test]
fn a_timeout_spares_what_has_just_left() {
    let mut script = Script::established(Settings { rack: true, sack: true, initial_window: 4, ..plain() });
    script.run(
        "100 write 2000
         100 > . 1:1001 ack 1
         100 > P. 1001:2001 ack 1
         300 > P. 1001:2001 ack 1
         560 write 1000
         560 > P. 2001:3001 ack 1
         # Two of three are lost, one is sent again.
         600 > . 1:1001 ack 1
         600 flight 2000",
    );
}

/// RFC 8985, section 7.2: one probe, until its flight is acknowledged.
#[test]
fn a_second_probe_waits_for_the_first() {
    let mut script = Script::established(rack());
    script.run("100 write 3000");
    script.run(&segments("100", 0..2));
    script.run(
        "100 > P. 2001:3001 ack 1
         300 > P. 2001:3001 ack 1
         # A round trip of 250 ms: the timeout is 118.75 + 4 x 75 ms.
         350 < . ack 1001
         768.75 > . 1001:2001 ack 1",
    );
    assert_eq!(script.connection.counters().loss_probes, 1);
}

//! Well-formed files are read correctly; damaged ones are refused with a position.

use super::*;
use paceline_kernel::Rng;

mod variants;

const SETDEST: &str = "#\n# nodes: 2, speed type: 1\n$node_(0) set X_ 10.0\n$node_(0) set Y_ 20.0\n$node_(0) set Z_ 0.0\n\
    $node_(1) set X_ 0\n$node_(1) set Y_ 0\n$ns_ at 2.0 \"$node_(1) setdest 100.0 0.0 10.0\"\n$god_ set-dist 0 1 1\n\
    $ns_ at 7.0 \"$node_(1) setdest 50.0 40.0 20.0\"\n$ns_ at 8.5 \"$god_ set-dist 0 1 2\"\n\
    $ns_ at 1.0 \"$node_(0) setdest 10.0 30.0 0.0\"\n$ns_ at 20.0 \"$node_(0) set X_ 15.0\"\n";

const BONNMOTION: &str = "# BonnMotion\n0.0 10 20 5.0 10 20 10.0 60.5 20\n0 0 0 4 40 0 8 40 40\n";

fn at(trace: &Trace, host: u32, seconds: f64) -> (f64, f64) {
    trace.position(host, Time::from_secs_f64(seconds))
}

#[test]
fn setdest_commands_move_hosts_as_ns_2_does() {
    let trace = Trace::read("good", SETDEST, Format::Setdest).unwrap();
    assert_eq!(trace.hosts(), 2);
    for (host, seconds, expected) in [
        (1, 0.0, (0.0, 0.0)),
        (1, 2.0, (0.0, 0.0)),
        (1, 4.0, (20.0, 0.0)),
        // A new destination on the way: the host turns at (50, 0).
        (1, 7.0, (50.0, 0.0)),
        (1, 8.0, (50.0, 20.0)),
        (1, 9.0, (50.0, 40.0)),
        (1, 100.0, (50.0, 40.0)),
        // A speed of zero stops the host, and a set place is a jump.
        (0, 19.9, (10.0, 20.0)),
        (0, 20.0, (15.0, 20.0)),
    ] {
        assert_eq!(at(&trace, host, seconds), expected, "host {host} at {seconds} s");
    }
}

#[test]
fn scripts_may_use_other_names_and_say_what_moves_nobody() {
    let plain = Trace::read("plain", SETDEST, Format::Setdest).unwrap();
    let renamed = SETDEST.replace("$node_(", "$mobile(").replace("$ns_", "$ns").replace("$god_", "$god");
    let dressed = renamed
        .replace("X_ 10.0\n", "X_ 10.0; # the first\r\n")
        .replace("$mobile(1) set X_ 0\n", "$mobile(1) set X_ 0; ");
    let more = "$ns initial_node_pos $mobile(0) 20\n$ns at 3.0 \"$mobile(1) start\" ;# sends\n$mobile(0) color red\n";
    assert_eq!(Trace::read("renamed", &(dressed + more), Format::Setdest).unwrap(), plain);
}

#[test]
fn bonnmotion_lines_move_hosts_from_place_to_place() {
    let trace = Trace::read("good", BONNMOTION, Format::BonnMotion).unwrap();
    assert_eq!((trace.hosts(), at(&trace, 0, 4.0), at(&trace, 0, 10.0)), (2, (10.0, 20.0), (60.5, 20.0)));
    assert_eq!(
        (at(&trace, 1, 2.0), at(&trace, 1, 6.0), at(&trace, 1, 9.0)),
        ((20.0, 0.0), (40.0, 20.0), (40.0, 40.0))
    );
}

#[test]
fn a_torus_for_a_trace_has_no_way_round() {
    let trace = Trace::read("good", BONNMOTION, Format::BonnMotion).unwrap();
    let space = trace.space(5.0);
    for seconds in 0..12 {
        let places = [0, 1].map(|host| trace.place(space, host, Time::secs(seconds)));
        let [(ax, ay), (bx, by)] = [0, 1].map(|host| at(&trace, host, seconds as f64));
        let (found, flat) = (space.distance(places[0], places[1]), (ax - bx).hypot(ay - by));
        assert_eq!(found <= 5.0, flat <= 5.0, "at {seconds} s: {found} for {flat}");
    }
}

#[test]
fn mistakes_are_reported_with_line_and_column() {
    let setdest = |line: &str| format!("{SETDEST}{line}\n");
    for (text, format, place, word) in [
        (setdest("$node_(0) set Q_ 1"), Format::Setdest, "f:14:15", "Q_"),
        (setdest("$node_(x) set X_ 1"), Format::Setdest, "f:14:1", "`x`"),
        (setdest("$ns_ at -1 \"$node_(0) setdest 1 1 1\""), Format::Setdest, "f:14:9", "-1"),
        (setdest("$ns_ at 1 \"$node_(0) setdest 1 nan 1\""), Format::Setdest, "f:14:32", "nan"),
        (setdest("$ns_ at 1"), Format::Setdest, "f:14:9", "nothing"),
        (setdest("$node_(0) setdest 1 1 1"), Format::Setdest, "f:14:11", "time"),
        (setdest("$node_(-3) set X_ 1"), Format::Setdest, "f:14:1", "`-3`"),
        (setdest("$node_(0) set X_ 1"), Format::Setdest, "f:14:18", "another initial X_, 10"),
        (setdest("$ns_ at 1 \"$node_(0) setdest 1 1 1"), Format::Setdest, "f:14:11", "without a"),
        (setdest("$ns_ at 1 \"$node_(0) setdest 1 1 1\" now"), Format::Setdest, "f:14:37", "`now`"),
        (setdest("$ns_ at 1 \"$node_(0) setdest 1 1 -1\""), Format::Setdest, "f:14:34", "-1"),
        (setdest("$ns_ at 1 \"$node_(0) setdest 1 1 0 5\""), Format::Setdest, "f:14:36", "four numbers"),
        (setdest("$ns_ at 1e9 \"$node_(0) setdest 1 1 1\""), Format::Setdest, "f:14:9", "1e9"),
        (setdest("puts hello"), Format::Setdest, "f:14:1", "puts"),
        (setdest("$node_($i) set X_ 1"), Format::Setdest, "f:14:1", "`$i`"),
        (setdest("$node_(0) set X_ 10; puts hello"), Format::Setdest, "f:14:22", "puts"),
        (setdest("$ns_ run"), Format::Setdest, "f:14:1", "`$ns_` in front"),
        (String::from("0 1 2 3 4"), Format::BonnMotion, "f:1:1", "5 values"),
        (String::from("0 1 2\n5 1 2 4 1 2"), Format::BonnMotion, "f:2:7", "goes back"),
        (String::from("0 1 1e99"), Format::BonnMotion, "f:1:5", "1e99"),
        (String::from("# nothing\n"), Format::BonnMotion, "f:1:1", "no host"),
    ] {
        let error = Trace::read("f", &text, format).expect_err(&text);
        let line = error.one_line();
        assert!(
            line.starts_with(place) && line.contains(word) && line.contains("allowed: "),
            "{text}: {line}"
        );
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    let words = "0 -1 1e308 nan $node_(0) $ns_ at setdest set X_ \" \n 16777216 é";
    let words: Vec<&str> = words.split(' ').collect();
    let mut rng = Rng::new(3, 3);
    let mut refused = 0;
    for case in 0..4000 {
        let (text, format) =
            if case % 2 == 0 { (SETDEST, Format::Setdest) } else { (BONNMOTION, Format::BonnMotion) };
        let mut pieces: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        for _ in 0..=rng.below(3) {
            let Some(place) = (!pieces.is_empty()).then(|| rng.below(pieces.len() as u64) as usize) else {
                break;
            };
            match rng.below(4) {
                0 => drop(pieces.remove(place)),
                1 => pieces.truncate(place + 1),
                2 => pieces.insert(place, words[rng.below(words.len() as u64) as usize]),
                _ => pieces[place] = words[rng.below(words.len() as u64) as usize],
            }
        }
        match Trace::read("damaged", &pieces.concat(), format) {
            Ok(trace) => {
                for host in 0..trace.hosts() {
                    let (x, y) = at(&trace, host, rng.unit() * 30.0);
                    assert!(x.is_finite() && y.is_finite(), "host {host} of {:?}", pieces.concat());
                }
            }
            Err(error) => {
                refused += 1;
                assert!(error.one_line().starts_with("damaged:"), "{error}");
            }
        }
    }
    assert!(refused > 400, "only {refused} were refused");
}

//! Variants of the two formats, as other tools write them: read as they are meant, or refused with what is
//! different. None is read in another way than it was written.

use super::super::*;

fn bonnmotion(text: &str) -> Result<Trace, String> {
    Trace::read("f", text, Format::BonnMotion).map_err(|error| error.one_line())
}

fn setdest(text: &str) -> Result<Trace, String> {
    Trace::read("f", text, Format::Setdest).map_err(|error| error.one_line())
}

fn at(trace: &Trace, host: u32, seconds: f64) -> (f64, f64) {
    trace.position(host, Time::from_secs_f64(seconds))
}

/// BonnMotion's printer begins files of three dimensions with `#3D`; the walk is from (10, 20) to (100, 110).
#[test]
fn three_dimensions_are_read_where_they_are_announced_and_flat() {
    let plain =
        bonnmotion("0 10 20 50 60 70 100 110 120\n0 15 20 50 65 70 100 115 120\n").expect("by threes");
    for text in [
        "#3D\n0 10 20 0 50 60 70 0 100 110 120 0\n0 15 20 0 50 65 70 0 100 115 120 0\n",
        "#3D\n0 10 20 5 50 60 70 5 100 110 120 5\n0 15 20 5 50 65 70 5 100 115 120 5\n",
        "# 3d\r\n0 10 20 0 50 60 70 0 100 110 120 0\r\n0 15 20 0 50 65 70 0 100 115 120 0\r\n",
        "# made by hand\n#3D\n\n0 10 20 -1 50 60 70 -1 100 110 120 -1 # one\n0 15 20 -1 50 65 70 -1 100 115 120 -1\n",
        "#2D\n0 10 20 50 60 70 100 110 120\n0 15 20 50 65 70 100 115 120\n",
    ] {
        assert_eq!(bonnmotion(text).as_ref(), Ok(&plain), "{text}");
    }
}

#[test]
fn values_that_come_in_another_way_are_refused_by_what_tells_them_apart() {
    for (text, place, word) in [
        // Two heights: distances on a plane would be wrong.
        ("#3D\n0 0 0 5 100 100 0 6\n0 5 0 5 100 105 0 5\n", "f:2:19", "a height of 6"),
        ("#3D\n0 0 0 5 100 100 0 5\n0 5 0 7 100 105 0 7\n", "f:3:7", "a height of 7"),
        // By fours without a header: 8 values, 4 values, or a multiple of three with the same time twice, or
        // times that fall.
        ("0 0 0 5 100 100 0 5\n", "f:1:1", "these fit by 4"),
        ("0 0 0 5\n", "f:1:1", "4 values"),
        (
            "0 0 0 0 50 50 0 1 100 100 0 0\n",
            "f:1:7",
            "two places at 0 s; allowed: values by threes, `time x y`, at times that increase; these fit by 4",
        ),
        (
            "0 9 9 5 50 50 0 5 100 100 0 5\n",
            "f:1:15",
            "time goes back to 0 s; allowed: values by threes, `time x y`, at times that increase; these fit by 4",
        ),
        // By fours, and by threes the times happen to increase: a status, or a height, is last.
        ("0 5 5 1 10 6 7 1 20 8 9 1\n", "f:1:1", "by threes or by 4"),
        ("0 5 5 1.5 10 6 7 1.5 20 8 9 1.5\n", "f:1:1", "by threes or by 4"),
        ("# x\n0 5 5 1 10 6 7 2 20 8 9 2\n0 5 5 1 10 6 7 1 20 8 9 1\n", "f:1:1", "by threes or by 4"),
        // By fives: height and status.
        ("0 0 0 9 0 10 10 0 9 0\n", "f:1:1", "these fit by 5"),
        // The header is there, and the values come by threes.
        ("#3D\n0 10 20 50 60 70\n", "f:2:1", "6 values; allowed: values by fours"),
        ("#3D\n0 10 20 50 60 70 100 110 120 150 160 170\n", "f:2:22", "a height of 110"),
        ("0 10 20\n#3D\n0 10 20 0\n", "f:2:1", "after lines of another kind"),
        // Times.
        ("0 0 0 5 1 1 5 2 2\n", "f:1:13", "two places at 5 s"),
        ("-1 0 0 5 1 1\n", "f:1:1", "-1"),
        ("5 0 0 4.999 1 1\n", "f:1:7", "goes back to 4.999 s"),
        ("0 0 0 1e9 1 1\n", "f:1:7", "1e9"),
        // Separators of other formats.
        ("0,10,20,50,60,70\n", "f:1:1", "`0,10,20,50,60,70` as a number"),
        ("0 1 2; 5 3 4\n", "f:1:5", "`2;`"),
        ("0;1;2\n", "f:1:1", "`0;1;2`"),
        ("time x y\n0 1 2\n", "f:1:1", "`time`"),
        ("$node_(0) set X_ 1\n", "f:1:1", "`$node_(0)`"),
    ] {
        let error = bonnmotion(text).map(|_| ()).expect_err(text);
        assert!(
            error.starts_with(place) && error.contains(word) && error.contains("allowed: "),
            "{text}: {error}"
        );
    }
}

#[test]
fn lines_of_bonnmotion_may_rest_begin_late_and_have_comments() {
    let trace = bonnmotion("\n0 1 2 0 1 2 5 1 2 10 6 2 # home\n# nobody\n3.5 7 7\n1E1 -8 .5 +20 8 .5\n")
        .expect("it is sound");
    assert_eq!((trace.hosts(), trace.number(2), trace.gaps(), trace.unplaced()), (3, 2, 0, 0));
    for (host, seconds, place) in [
        (0, 5.0, (1.0, 2.0)),
        (0, 7.5, (3.5, 2.0)),
        (0, 99.0, (6.0, 2.0)),
        // Before its first time and after its last a host stands still.
        (1, 0.0, (7.0, 7.0)),
        (2, 0.0, (-8.0, 0.5)),
        (2, 15.0, (0.0, 0.5)),
    ] {
        assert_eq!(at(&trace, host, seconds), place, "host {host} at {seconds} s");
    }
}

/// The places are those that ns-3's tests of `Ns2MobilityHelper` expect, or come by hand.
#[test]
fn commands_of_ns_2_in_all_their_forms() {
    let square = "$ns_ at 1.0 \"$node_(0) setdest 15  10  5\"\n$ns_ at 2.0 \"$node_(0) setdest 15  15  5\"\n\
        $ns_ at 3.0 \"$node_(0) setdest 10  15  5\"\n$ns_ at 4.0 \"$node_(0) setdest 10  10  5\"\n\
        $node_(0) set X_ 10.0\n$node_(0) set Y_ 10.0\n";
    for (text, places) in [
        // Initial places at the end, and everything in another order.
        (square.to_owned(), vec![(1.5, (12.5, 10.0)), (2.0, (15.0, 10.0)), (3.0, (15.0, 15.0)), (9.0, (10.0, 10.0))]),
        (square.lines().rev().map(|line| format!("{line}\n")).collect(), vec![(2.5, (15.0, 12.5)), (4.0, (10.0, 15.0))]),
        // No initial place: (0, 0), as in ns-2 and ns-3.
        ("$ns_ at 1.0 \"$node_(0) setdest 25 0 5\"".into(), vec![(1.0, (0.0, 0.0)), (3.0, (10.0, 0.0)), (6.0, (25.0, 0.0))]),
        ("$node_(0) set Y_ 4 # and no X_\n".into(), vec![(0.0, (0.0, 4.0))]),
        // Comments behind commands, line ends of Windows, blanks within quotes.
        ("# x\n\n$node_(0) set X_ 1.0 # comment \r\n$node_(0) set Y_ 2.0 ### \r\n\
            $ns_ at 1 \"$node_(0) setdest 2 2 1   \"# ok".into(),
            vec![(0.0, (1.0, 2.0)), (1.5, (1.5, 2.0)), (2.0, (2.0, 2.0))]),
        // A speed of zero stops; a destination at the current place does as well.
        ("$ns_ at 1.0 \"$node_(0) setdest 25 0 5\"\n$ns_ at 2.0 \"$node_(0) setdest 11 22 0\"\n".into(), vec![(9.0, (5.0, 0.0))]),
        ("$ns_ at 1.0 \"$node_(0) setdest 25 0 5\"\n$ns_ at 3.0 \"$node_(0) setdest 10 0 7\"\n".into(), vec![(9.0, (10.0, 0.0))]),
        // Two commands at one time: the later line counts. Scientific numbers.
        ("$ns_ at 1.0e0 \"$node_(0) setdest 1.0e+2 0 1.0E1\"\n$ns_ at 1 \"$node_(0) setdest 0 1e1 1e-0\"\n".into(),
            vec![(3.0, (0.0, 2.0))]),
        // Braces for quotes, no quotes, several commands in one pair of quotes.
        ("$ns_ at 1 {$node_(0) setdest 8 0 2}\n".into(), vec![(2.0, (2.0, 0.0)), (5.0, (8.0, 0.0))]),
        ("$ns_ at 1 $node_(0) setdest 8 0 2\n".into(), vec![(2.0, (2.0, 0.0))]),
        ("$ns_ at 5 \"$node_(0) set X_ 10; $node_(0) set Y_ 20\"\n".into(), vec![(4.9, (0.0, 0.0)), (5.0, (10.0, 20.0))]),
        // A new destination on the way (ns-3's bug 1219): the host turns at (0, 5).
        ("$ns_ at 1.0 \"$node_(0) setdest 0 10 1\"\n$ns_ at 6.0 \"$node_(0) setdest 0 -10 1\"\n".into(),
            vec![(6.0, (0.0, 5.0)), (16.0, (0.0, -5.0)),
                (21.0, (0.0, -10.0)), (30.0, (0.0, -10.0))]),
        // A jump on the way: the velocity stays (3, 4), and each coordinate stops at that of the destination
        // (30, 40).
        ("$ns_ at 0 \"$node_(0) setdest 30 40 5\"\n$ns_ at 5 \"$node_(0) set X_ 24\"\n".into(),
            vec![(4.0, (12.0, 16.0)), (5.0, (24.0, 20.0)), (6.0, (27.0, 24.0)),
                (7.0, (30.0, 28.0)), (10.0, (30.0, 40.0)), (11.0, (30.0, 40.0))]),
        // A jump beyond the destination: back to it at once.
        ("$ns_ at 0 \"$node_(0) setdest 30 40 5\"\n$ns_ at 5 \"$node_(0) set X_ 99\"\n".into(),
            vec![(5.0, (30.0, 20.0)), (6.0, (30.0, 24.0))]),
    ] {
        let trace = setdest(&text).expect(&text);
        for (seconds, place) in places {
            let found = at(&trace, 0, seconds);
            let off = (found.0 - place.0).hypot(found.1 - place.1);
            assert!(off < 1e-6, "{text}: at {seconds} s {found:?} instead of {place:?}");
        }
    }
}

#[test]
fn hosts_keep_their_numbers_and_gaps_are_counted() {
    for (text, numbers, gaps, unplaced) in [
        (
            "$node_(1) set X_ 5\n$node_(1) set Y_ 6\n$node_(3) set X_ 1\n$node_(3) set Y_ 1\n",
            vec![1, 3],
            1,
            0,
        ),
        ("$ns_ at 3 \"$node_(7) setdest 1 1 1\"\n", vec![7], 0, 1),
        ("$node_(4294967295) set X_ 5\n$node_(0) set Y_ 6\n", vec![0, u32::MAX], u32::MAX - 1, 2),
        (
            "$node_(2) set X_ 5\n$node_(2) set Y_ 5\n$node_(1) set X_ 5\n$node_(1) set Y_ 5\n$node_(0) color red\n",
            vec![1, 2],
            0,
            0,
        ),
        ("$ns_ at 0 \"$node_(9) set X_ 5\"\n$ns_ at 0 \"$node_(9) set Y_ 5\"\n", vec![9], 0, 0),
    ] {
        let trace = setdest(text).expect(text);
        let found: Vec<u32> = (0..trace.hosts()).map(|host| trace.number(host)).collect();
        assert_eq!((found, trace.gaps(), trace.unplaced()), (numbers, gaps, unplaced), "{text}");
    }
}

/// The distance between hosts at different heights is not that of their places on the plane.
#[test]
fn heights_are_one_for_all_hosts() {
    let host = |number: u32, z: &str| format!("$node_({number}) set X_ 1\n$node_({number}) set Y_ 2\n{z}");
    let z = |number: u32, z: &str| host(number, &format!("$node_({number}) set Z_ {z}\n"));
    for (text, refused) in [
        (z(0, "0") + &z(1, "0.0"), None),
        (z(0, "3") + &z(1, "3"), None),
        (z(0, "0") + &host(1, ""), None),
        (z(0, "3") + &z(1, "4"), Some("f:4:1: host 1 at a height of 4, host 0 at 3")),
        (z(0, "3") + &host(1, ""), Some("f:4:1: host 1 at a height of 0, host 0 at 3")),
        (host(0, "") + &z(1, "-2"), Some("f:3:1: host 1 at a height of -2")),
        (host(0, "$ns_ at 4 \"$node_(0) set Z_ 9\"\n"), Some("f:3:29: host 0 at a height of 9")),
    ] {
        match (setdest(&text), refused) {
            (Ok(_), None) => {}
            (Err(error), Some(start)) => assert!(error.starts_with(start), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

#[test]
fn coordinates_are_those_of_the_file_whatever_its_corner() {
    for corner in [(0.0, 0.0), (100.0, 200.0), (-5000.0, 3.25), (4.5e6, 5.4e6), (-1e7, -1e7)] {
        let line = |dx: f64, dy: f64| {
            format!("0 {} {} 9 {} {}\n", corner.0 + dx, corner.1 + dy, corner.0 + 40.0, corner.1)
        };
        let trace = bonnmotion(&(line(0.0, 0.0) + &line(30.0, 40.0))).expect("it is sound");
        let space = trace.space(50.0);
        for host in 0..2 {
            for second in 0..10 {
                let (time, (x, y)) = (Time::secs(second), at(&trace, host, second as f64));
                let (found_x, found_y) = space.coordinates(trace.place(space, host, time));
                assert!(
                    (found_x - x).hypot(found_y - y) < 1e-6,
                    "{corner:?}: ({found_x}, {found_y}) for ({x}, {y})"
                );
            }
        }
    }
    assert_eq!(
        bonnmotion("0 -1 0 5 1 0\n").expect("it is sound").space(1.0).shown(Point { x: 0, y: 0 }),
        "-1.000,0.000"
    );
}

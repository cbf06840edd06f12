//! The readers on damaged files: they never panic, and they accept no truncated file as complete.

use paceline_kernel::Rng;

use super::trips::TripTable;
use super::{NetworkFile, Units, read_network};
use crate::input::Flaw;
use crate::traffic::network::Numbering;

mod variants;

const UNITS: Units = Units { time_s: 60.0, length_m: 1000.0, lanes: None };

/// Trips between zones that count from 1.
fn read_trips(text: &str, zones: u32) -> Result<TripTable, Flaw> {
    super::read_trips(text, zones, &Numbering::From(1))
}

const ROADS: &str = "<NUMBER OF ZONES> 3\t\n<NUMBER OF NODES> 5\n<FIRST THRU NODE> 4 \n<NUMBER OF LINKS> 6\n\
    <ORIGINAL HEADER>~ \tTail\tHead\t;\n<END OF METADATA>\n\n~\tinit\tterm\tcapacity\tlength\ttime\tb\tpower\t;\n\
    \t1\t4\t5400.5\t2\t1.25\t0.15\t4\t;\n\t2\t4\t1800\t0\t0\t0.15\t4\t;\n\t4\t5\t1801\t1.5\t3e-1\t0.15\t4\t;\n\
    \t5\t3\t900\t1\t1\t0.15\t4\t;\n\t3\t5\t900\t1\t1\t0.15\t4\t;\n\t5\t4\t900\t1\t17.5\t0.15\t4\t;\n";

const TRIPS: &str = "<NUMBER OF ZONES> 3 \n<TOTAL OD FLOW>  81.25\n<END OF METADATA>\n\n~ a comment\nOrigin \t1 \n\
    1 :      0.0;     2 :    20.25;\n    3 : 11 ;\n\nOrigin  3\n\n 1 : 12.5;   2 :    37.50; \n";

#[test]
fn the_sample_reads_as_it_is_meant() {
    let NetworkFile { network, zones, unused } = read_network(ROADS, UNITS).expect("a good file");
    assert_eq!(unused, ["b", "power"]);
    assert_eq!((network.nodes(), zones, network.roads().len()), (5, 3, 6));
    let through: Vec<bool> = (0..5).map(|node| network.driven_through(node)).collect();
    assert_eq!(through, [false, false, false, true, true]);
    let first = network.road(0);
    assert_eq!((first.from, first.to, first.lanes, first.length_mm), (0, 3, 4, 2_000_000));
    assert_eq!(first.free_flow.as_nanos(), 75_000_000_000);
    let table = read_trips(TRIPS, zones).expect("a good file");
    let found: Vec<(u32, u32, f64)> =
        table.trips.iter().map(|t| (t.origin, t.destination, t.number)).collect();
    assert_eq!(found, [(0, 0, 0.0), (0, 1, 20.25), (0, 2, 11.0), (2, 0, 12.5), (2, 1, 37.5)]);
}

#[test]
fn every_node_may_be_driven_through_unless_the_file_says_otherwise() {
    let text = ROADS.replace("<FIRST THRU NODE> 4 \n", "");
    let NetworkFile { network, .. } = read_network(&text, UNITS).expect("a good file");
    assert!((0..5).all(|node| network.driven_through(node)));
    for needed in ["<NUMBER OF ZONES> 3", "<NUMBER OF NODES> 5", "<NUMBER OF LINKS> 6"] {
        let flaw = read_network(&ROADS.replace(needed, "~"), UNITS).map(|_| ()).expect_err(needed);
        assert!(flaw.problem.contains(&needed[..17]), "{flaw:?}");
    }
}

/// What a reader reads from a network, for comparison.
fn content(text: &str) -> Option<String> {
    let file = read_network(text, UNITS).ok()?;
    Some(format!("{} {:?}", file.zones, file.network.roads()))
}

#[test]
fn form_does_not_matter() {
    let good = content(ROADS);
    assert!(good.is_some());
    for (what, text) in [
        ("line ends", ROADS.replace('\n', "\r\n")),
        ("blanks for tabs", ROADS.replace('\t', "   ")),
        ("no semicolons", ROADS.replace(';', "")),
        ("semicolons alone", ROADS.replace("4\t;\n\t", "4\t;\t")),
        ("more columns", ROADS.replace("\t4\t;", "\t4\t9\t9\t9;")),
        ("comments at line ends", ROADS.replace(";\n", "; ~ x\n")),
        ("lower case", ROADS.replace("NUMBER OF", "Number  of")),
        ("no final line end", ROADS.trim_end().to_owned()),
    ] {
        assert_eq!(content(&text), good, "{what}");
    }
    let trips = read_trips(TRIPS, 3).expect("a good file").trips;
    for (what, text) in [
        ("line ends", TRIPS.replace('\n', "\r\n")),
        ("no blanks", TRIPS.replace(" :", ":").replace(":  ", ":")),
        ("one a line", TRIPS.replace(';', ";\n")),
        ("no semicolons", TRIPS.replace(';', "\n")),
        ("a total that is too low", TRIPS.replace("81.25", "80")),
        ("a rounded total", TRIPS.replace("81.25", "8.1e+001")),
        ("no total", TRIPS.replace("<TOTAL OD FLOW>  81.25\n", "")),
        ("another order", TRIPS.replace("2 :    20.25;", "").replace("3 : 11 ;", "3 : 11 ; 2 : 20.25;")),
    ] {
        assert_eq!(read_trips(&text, 3).map(|table| table.trips).as_ref(), Ok(&trips), "{what}");
    }
}

#[test]
fn a_cut_file_is_refused_or_has_lost_nothing() {
    let good = content(ROADS);
    for end in 0..ROADS.len() {
        assert!(content(&ROADS[..end]).is_none_or(|cut| Some(cut) == good), "network cut at {end}");
    }
    let trips = read_trips(TRIPS, 3).expect("a good file").trips;
    for end in 0..TRIPS.len() {
        let cut = read_trips(&TRIPS[..end], 3);
        assert!(cut.is_err() || cut.map(|table| table.trips).as_ref() == Ok(&trips), "trips cut at {end}");
    }
}

#[test]
fn nonsense_is_refused_where_it_stands() {
    for (from, to, place) in [
        ("4\t5\t1801", "4\t6\t1801", "6"),
        ("4\t5\t1801", "0\t5\t1801", "0"),
        ("4\t5\t1801", "4\t5\t-1801", "-1801"),
        ("3e-1", "-3", "-3"),
        ("3e-1", "inf", "inf"),
        ("3e-1", "NaN", "NaN"),
        ("3e-1", "1e300", "1e300"),
        ("1.5", "-1", "-1"),
        ("1.5", "1e9", "1e9"),
        ("THRU NODE> 4", "THRU NODE> 7", "7"),
        ("ZONES> 3", "ZONES> 6", "6"),
        ("ZONES> 3", "ZONES> 3 zones", "3 zones"),
        ("1801", "0", "0"),
        ("NODES> 5", "NODES> -5", "-5"),
        ("NODES> 5", "NODES> 99999999999", "99999999999"),
        ("<FIRST THRU NODE> 4 \n", "<FIRST THRU NODE> 4\n<FIRST THRU NODE> 2\n", "2"),
    ] {
        let text = ROADS.replacen(from, to, 1);
        let flaw = read_network(&text, UNITS).map(|_| ()).expect_err(to);
        assert_eq!(&text[flaw.at.clone()], place, "{flaw:?}");
        assert!(!flaw.allowed.is_empty());
    }
    for (from, to, place) in [
        ("37.50", "-1", "-1"),
        ("37.50", "inf", "inf"),
        ("2 :    37.50", "4 :    37.50", "4"),
        ("Origin  3", "Origin  0", "0"),
        ("Origin  3", "", "1 : 12.5"),
        ("2 :    37.50", "1 :    37.50", "1 :    37.50"),
        ("12.5;", "12.5", "12.5"),
        ("12.5;", "twelve;", "twelve"),
    ] {
        let text = TRIPS.replacen(from, to, 1);
        let flaw = read_trips(&text, 3).map(|_| ()).expect_err(to);
        assert_eq!(&text[flaw.at.clone()], place, "{flaw:?}");
        assert!(!flaw.allowed.is_empty());
    }
}

#[test]
fn no_damage_makes_a_reader_panic() {
    let scraps =
        ["<", ">", "~", ":", ";", "\n", "\r", "\t", " ", "-", ".", "1e999", "NaN", "Origin", "9", "é", "\0"];
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed, 3);
        let trips = rng.chance(0.5);
        let mut text = if trips { TRIPS } else { ROADS }.to_owned();
        for _ in 0..1 + rng.below(4) {
            let mut place = || {
                let mut at = rng.below(text.len() as u64 + 1) as usize;
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let (start, end) = (place(), place());
            let (start, end) = (start.min(end), start.max(end).min(start.min(end) + 12));
            let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            match rng.below(3) {
                0 => text.replace_range(start..end, ""),
                1 => text.insert_str(start, scraps[rng.below(scraps.len() as u64) as usize]),
                _ => text.replace_range(start..end, scraps[rng.below(scraps.len() as u64) as usize]),
            }
        }
        let flaw = if trips { read_trips(&text, 3).err() } else { read_network(&text, UNITS).err() };
        match flaw {
            None => taken += 1,
            Some(flaw) => {
                refused += 1;
                assert!(flaw.at.end <= text.len() && flaw.at.start <= flaw.at.end, "seed {seed}: {flaw:?}");
                assert!(
                    text.is_char_boundary(flaw.at.start) && text.is_char_boundary(flaw.at.end),
                    "seed {seed}"
                );
            }
        }
    }
    assert!(taken > 100 && refused > 5000, "{taken} taken, {refused} refused");
}

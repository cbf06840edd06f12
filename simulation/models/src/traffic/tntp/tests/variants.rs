//! Variants of TNTP files: what changes the meaning of their numbers is read, or refused by name; what is
//! left out is known.

use super::*;

/// A network of two zones and one road between them in each direction, with these lines of metadata and this
/// comment.
fn roads(metadata: &str, comment: &str, records: &str) -> String {
    let count = records.lines().count();
    format!(
        "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 2\n<NUMBER OF LINKS> {count}\n{metadata}<END OF METADATA>\n{comment}\n{records}"
    )
}

const PLAIN: &str = "1 2 3600 5 5 0.15 4 50 1 1 ;\n2 1 3600 5 5 0.15 4 50 1 1 ;\n";

fn trips(metadata: &str, records: &str) -> Result<TripTable, Flaw> {
    read_trips(&format!("{metadata}<END OF METADATA>\n{records}"), 2)
}

fn numbers(table: &TripTable) -> Vec<f64> {
    table.trips.iter().map(|trips| trips.number).collect()
}

#[test]
fn metadata_of_networks_is_known_or_refused_by_name() {
    for metadata in [
        "",
        "<FIRST THRU NODE> 3\n",
        "<SCENARIO> \"Build\"\t\t\n",
        "<ORIGINAL HEADER>~ from to capacity (per lane)\n",
        "<TOLL FACTOR> 0\n<Distance  Factor> 0.0\n",
        "~ <DEMAND MULTIPLIER> 0.5\n",
    ] {
        assert!(read_network(&roads(metadata, "", PLAIN), UNITS).is_ok(), "{metadata}");
    }
    for (metadata, place, word) in [
        ("<DEMAND MULTIPLIER> 0.5\n", "<DEMAND MULTIPLIER> 0.5", "<DEMAND MULTIPLIER>"),
        ("<toll factor> 0.1\n", "0.1", "<TOLL FACTOR>"),
        ("<DISTANCE FACTOR> 0.25\n", "0.25", "<DISTANCE FACTOR>"),
        ("<TOLL FACTOR> -1\n", "-1", "<TOLL FACTOR>"),
        ("<UNITS> km\n", "<UNITS> km", "<UNITS>"),
        ("<CAPACITY PERIOD> 24\n", "<CAPACITY PERIOD> 24", "<CAPACITY PERIOD>"),
        ("<TOTAL OD FLOW> 3\n", "<TOTAL OD FLOW> 3", "<TOTAL OD FLOW>"),
        ("<FIRST THRU NODE> 1 2\n", "1 2", "<FIRST THRU NODE>"),
    ] {
        let text = roads(metadata, "", PLAIN);
        let flaw = read_network(&text, UNITS).map(|_| ()).expect_err(metadata);
        assert_eq!(&text[flaw.at.clone()], place, "{flaw:?}");
        assert!(flaw.problem.contains(word) && !flaw.allowed.is_empty(), "{flaw:?}");
    }
}

/// tap-b (`src/fileio.c`) multiplies every demand by the multiplier, and compares the total with the numbers
/// before.
#[test]
fn a_demand_multiplier_multiplies_all_trips() {
    let records = "Origin 1\n2 : 60;\nOrigin 2\n1 : 20.5;\n";
    for (metadata, expected) in [
        ("", [60.0, 20.5]),
        ("<TOTAL OD FLOW> 80.5\n<DEMAND MULTIPLIER> 0.5\n", [30.0, 10.25]),
        ("<demand multiplier>\t2\n<TOTAL OD FLOW> 80.5\n", [120.0, 41.0]),
        ("<DEMAND MULTIPLIER> 1e-1 ~ a tenth\n", [6.0, 2.05]),
        ("<DEMAND MULTIPLIER> 0\n", [0.0, 0.0]),
        ("<NUMBER OF ZONES> 2\n<TOLL FACTOR> 0\n<DEMAND MULTIPLIER> 1\n", [60.0, 20.5]),
    ] {
        let table = trips(metadata, records).expect(metadata);
        let off = numbers(&table)
            .iter()
            .zip(expected)
            .map(|(found, right)| (found - right).abs())
            .fold(0.0, f64::max);
        assert!(off < 1e-12, "{metadata}: {:?}", table.trips);
        assert_eq!(table.multiplier.is_some(), metadata.to_lowercase().contains("multiplier"));
    }
    for (metadata, word) in [
        ("<DEMAND MULTIPLIER> -1\n", "<DEMAND MULTIPLIER>"),
        ("<DEMAND MULTIPLIER> half\n", "<DEMAND MULTIPLIER>"),
        ("<DEMAND MULTIPLIER> 0.5 0.5\n", "<DEMAND MULTIPLIER>"),
        ("<DEMAND MULTIPLIER> 0.5\n<DEMAND MULTIPLIER> 0.5\n", "twice"),
        ("<DISTANCE FACTOR> 2.0\n", "<DISTANCE FACTOR>"),
        ("<TOLL FACTOR> 2.0\n", "<TOLL FACTOR>"),
        ("<PEAK HOUR FACTOR> 0.1\n", "<PEAK HOUR FACTOR>"),
        ("<NUMBER OF NODES> 2\n", "<NUMBER OF NODES>"),
        ("<NUMBER OF ZONES> 3\n", "<NUMBER OF ZONES>"),
    ] {
        let flaw = trips(metadata, records).expect_err(metadata);
        assert!(flaw.problem.contains(word) && !flaw.allowed.is_empty(), "{flaw:?}");
    }
}

#[test]
fn a_pair_that_comes_again_is_added_where_the_total_says_so() {
    let again = "Origin 1\n2 : 10;\nOrigin 1\n2 : 20;\nOrigin 2\n1 : 5;\nOrigin 1\n2 : 3;\n";
    let table = trips("<TOTAL OD FLOW> 38\n", again).expect("38 is the sum of all");
    assert_eq!((numbers(&table), table.repeated, table.sum), (vec![33.0, 5.0], 2, 38.0));
    let halved =
        trips("<TOTAL OD FLOW> 38.0\n<DEMAND MULTIPLIER> 0.5\n", again).expect("before the multiplier");
    assert_eq!(numbers(&halved), [16.5, 2.5]);
    // Nothing says which is meant; the total is that of the last ones; the total is something else.
    for metadata in ["", "<TOTAL OD FLOW> 8\n", "<TOTAL OD FLOW> 30\n"] {
        let flaw = trips(metadata, again).expect_err("it can mean two things");
        assert!(flaw.problem.contains("zone 1 to zone 2 again"), "{flaw:?}");
    }
    // After one `Origin`: a line is missing, rather.
    let flaw = trips("<TOTAL OD FLOW> 30\n", "Origin 1\n2 : 10;\n2 : 20;\n")
        .expect_err("it may be of another origin");
    assert!(flaw.problem.contains("zone 1 to zone 2 again"), "{flaw:?}");
    // The same destination of other origins, and an origin in two parts, are no repetition.
    let parts =
        trips("", "Origin 1\n2 : 1;\nOrigin 2\n2 : 4;\nOrigin 1\n1 : 2;\n").expect("each is there once");
    assert_eq!((numbers(&parts), parts.repeated), (vec![2.0, 1.0, 4.0], 0));
}

#[test]
fn totals_are_compared_with_what_the_file_holds() {
    let records = "Origin 1\n2 : 60;\n1 : 0.5;\n";
    for (total, stated) in
        [("60.5", None), ("59", Some(59.0)), ("6.05e1", None), ("6e1", None), ("1", Some(1.0))]
    {
        let table = trips(&format!("<TOTAL OD FLOW> {total}\n"), records).expect(total);
        assert_eq!((table.stated, table.sum), (stated, 60.5), "{total}");
    }
    for total in ["61.5", "60.6", "1e9", "-1", "many"] {
        assert!(trips(&format!("<TOTAL OD FLOW> {total}\n"), records).is_err(), "{total}");
    }
}

#[test]
fn lanes_are_those_of_their_column_and_other_columns_are_named() {
    let five = "1 2 3600 5 5 ;\n2 1 1800 5 5 ;\n";
    let lanes_at = |place: usize| {
        let record = |lanes: &str| {
            let fields: Vec<&str> = (5..place).map(|_| "0.25").collect();
            format!("1 2 900 5 5 {} {lanes} ;\n", fields.join(" "))
        };
        record("3") + &record("1")
    };
    // Names as in the files of Gold Coast and Sydney, of other tools, and without any.
    let coast = "~ \tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed \tcritical_speed\tlanes\t;";
    let original = "<ORIGINAL HEADER>~\tfrom\tto\tcapacity (per lane)\tlength (km)\tfftt (min)\t\
        alpha\tbeta\tff speed (km/h)\tlanes\n";
    for (text, lanes, unused) in [
        (roads("", "", five), [2, 1], vec![]),
        (roads("", "", PLAIN), [2, 2], vec!["6", "7", "8", "9", "10"]),
        (roads("", coast, &lanes_at(9)), [3, 1], vec!["b", "power", "speed", "critical_speed"]),
        (roads(original, "", &lanes_at(8)), [3, 1], vec!["alpha", "beta", "ff_speed"]),
        (roads("", "~ Tail Head Cap Len FFT Lanes", &lanes_at(5)), [3, 1], vec![]),
        (
            roads(
                "",
                "~ from to capacity length time num_lanes time type",
                "1 2 900 5 5 4 1 1\n2 1 900 5 5 2 1 1\n",
            ),
            [4, 2],
            vec!["time", "type"],
        ),
        // The latest line of names counts; a comment without names says nothing.
        (
            roads(
                original,
                "~ made by hand, lanes 5\n~ init_node term_node capacity length free_flow_time toll",
                "1 2 900 5 5 9\n2 1 900 5 5 9\n",
            ),
            [1, 1],
            vec!["toll"],
        ),
    ] {
        let file = read_network(&text, UNITS).unwrap_or_else(|flaw| panic!("{text}: {flaw:?}"));
        let mut found: Vec<u32> = file.network.roads().iter().map(|road| road.lanes).collect();
        found.sort_unstable_by_key(|lanes| std::cmp::Reverse(*lanes));
        assert_eq!(
            (found, file.unused.as_slice()),
            (lanes.to_vec(), unused.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().as_slice()),
            "{text}"
        );
        let given = read_network(&text, Units { lanes: Some(7), ..UNITS }).expect("as above");
        assert!(given.network.roads().iter().all(|road| road.lanes == 7), "what the scenario says counts");
    }
    for (text, word) in [
        (roads("", coast, &lanes_at(9).replace(" 3 ;", " 0 ;")), "the number of lanes"),
        (roads("", coast, &lanes_at(9).replace(" 3 ;", " 2.5 ;")), "the number of lanes"),
        (roads("", coast, &lanes_at(8)), "after 9 columns"),
        (
            roads("", "~ init_node term_node length capacity free_flow_time", PLAIN),
            "column 3 is called `length`",
        ),
        (roads("", "~ from to capacity lanes length time", PLAIN), "column 4 is called `lanes`"),
        (roads("", "~ from to speed length x capacity", PLAIN), "column 6 is called `capacity`"),
    ] {
        let flaw = read_network(&text, UNITS).map(|_| ()).expect_err(&text);
        assert!(flaw.problem.contains(word) && !flaw.allowed.is_empty(), "{flaw:?}");
    }
}

#[test]
fn nodes_may_have_any_numbers_if_they_are_as_many_as_the_file_says() {
    let text = |first_through: &str, ends: [&str; 2]| {
        let metadata = format!(
            "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 3\n{first_through}<NUMBER OF LINKS> 2\n<END OF METADATA>\n"
        );
        metadata + &ends.map(|ends| format!("{ends} 900 1 1 ;\n")).concat()
    };
    let munich = text("", ["2146237932 75674", "75674 1000000"]);
    let NetworkFile { network, zones, .. } = read_network(&munich, UNITS).expect("three nodes");
    let numbers: Vec<u32> = (0..3).map(|node| network.number(node)).collect();
    assert_eq!((numbers, zones), (vec![75_674, 1_000_000, 2_146_237_932], 2));
    assert!((0..3).all(|node| network.driven_through(node)));
    let numbering = network.numbering();
    let table =
        super::super::read_trips("<END OF METADATA>\nOrigin 2146237932\n1000000 : 7;\n", zones, numbering);
    let table = table.expect("both are nodes");
    assert_eq!((table.trips[0].origin, table.trips[0].destination), (2, 1));
    for (trips, word) in [
        ("Origin 1\n75674 : 7;\n", "the origin is 1"),
        ("Origin 75674\n5 : 7;\n", "the destination is 5"),
        ("Origin 75674\n1000000 : 7; 2146237932 : 1;\n", "more zones than <NUMBER OF ZONES>"),
    ] {
        let text = format!("<END OF METADATA>\n{trips}");
        let flaw = super::super::read_trips(&text, zones, numbering).expect_err(trips);
        assert!(flaw.problem.contains(word), "{flaw:?}");
    }
    // From 0 on; and zones below a first node to be driven through, by number.
    let from_zero = read_network(&text("<FIRST THRU NODE> 1\n", ["0 1", "1 2"]), UNITS).expect("three nodes");
    let through: Vec<bool> = (0..3).map(|node| from_zero.network.driven_through(node)).collect();
    assert_eq!(through, [false, true, true]);
    let gap = read_network(&text("<FIRST THRU NODE> 50\n", ["7 100", "100 9"]), UNITS).expect("three nodes");
    assert!(!gap.network.driven_through(1) && gap.network.driven_through(2));
    // One node too many, or one too few: a mistake.
    for ends in [["1 2", "3 4"], ["10 20", "20 10"], ["1 2", "2 4294967295"], ["0 1", "2 3"]] {
        let found = read_network(&text("", ends), UNITS).map(|file| file.network.number(2));
        // 1, 2 and the greatest number there is are three nodes.
        assert_eq!(found.is_ok(), ends[1].contains("4294967295"), "{ends:?}");
        assert!(found.err().is_none_or(|flaw| flaw.problem.contains("there is a node")), "{ends:?}");
    }
}

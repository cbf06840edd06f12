//! The `[model]` section: what is built from it, and the error messages.

use std::path::{Path, PathBuf};

use paceline_kernel::{Model, Time};
use paceline_results::{Results, RunFacts};
use paceline_scenario::{Scenario, ScenarioError};

use super::drive::drive;
use crate::traffic::Traffic;

fn read_in(folder: &Path, text: &str) -> Result<Traffic, ScenarioError> {
    let mut scenario = Scenario::parse("test.toml", &format!("[model]\n{text}\n"), folder, &[])?;
    let mut section = scenario.section("model")?;
    let traffic = Traffic::from_section(&mut section, 1)?;
    section.finish()?;
    Ok(traffic)
}

fn read(text: &str) -> Result<Traffic, ScenarioError> {
    read_in(Path::new("."), text)
}

#[test]
fn the_published_grid_has_its_published_numbers() {
    let vsb = read("grid = 64").expect("all the rest has defaults");
    assert_eq!(vsb.lps(), 4096 + 128 + 128);
    assert_eq!(vsb.vehicles(), 163_840);
    assert_eq!(vsb.lookahead(), Time::secs(1));
}

#[test]
fn ties_do_not_send_the_published_evacuation_through_one_street() {
    let model = read("grid = 16").expect("all the rest has defaults");
    let (output, _) = drive(&model, Time::MAX);
    let most = output.roads.iter().map(|used| used.passed).max().expect("there are roads");
    // Each row has two sources and each column two sinks; a street may carry the trips of two such rows, but
    // not those of the whole side.
    let per_source = model.vehicles() / 32;
    assert!(most <= 4 * per_source, "{most} vehicles on one road, {per_source} from each source");
}

#[test]
fn seed_and_demand_draw_vehicles_reproducibly() {
    let vehicles = |text: &str| read(text).expect("a good scenario").vehicles();
    assert_eq!(vehicles("grid = 4\nrate = 0.3"), vehicles("grid = 4\nrate = 0.6\ndemand = 0.5"));
    assert_eq!(vehicles("grid = 4\ndemand = 0"), 0);
    let (few, all) = (f64::from(vehicles("grid = 16\nrate = 0.3")), 32.0 * 32.0 * 0.3);
    // Binomial: six standard deviations.
    assert!((few - all).abs() < 6.0 * (all * 0.7).sqrt(), "{few} of {all}");
}

#[test]
fn mistakes_name_the_key_and_what_is_allowed() {
    for (text, key) in [
        ("", "trips"),
        ("grid = 0", "grid"),
        ("grid = 513", "grid"),
        ("grid = 4\nnetwork = \"Cargo.toml\"", "grid"),
        ("network = \"Cargo.toml\"", "network"),
        ("grid = 4\nspeed = 0", "speed"),
        ("grid = 4\nblock = -1", "block"),
        ("grid = 4\ndemand = -0.5", "demand"),
        ("grid = 4\ndemand = 1e9", "demand"),
        ("grid = 4\nrate = 1e300", "demand"),
        ("grid = 4\nlanes = 0", "lanes"),
        ("grid = 4\nspacing = 0", "spacing"),
        ("grid = 4\nblock = 0.007\nstorage = true", "block"),
        ("grid = 4\nspacing = 1001\nstorage = true", "block"),
        ("grid = 4\nlights = true\ncycle = \"8s\"\ngreen = \"4s\"\nred = \"5s\"", "green"),
        ("grid = 4\nlights = true\ngreen = \"0s\"", "green"),
        ("grid = 4\nlights = false\ncycle = \"25h\"", "cycle"),
        ("grid = 4\ncycle = \"8s\"", "`cycle` without `lights`"),
        ("grid = 4\ngreen = \"4s\"", "`green` without `lights`"),
        ("grid = 4\nred = \"4s\"", "`red` without `lights`"),
        ("grid = 4\nheadway = \"2s\"", "`headway` without `lights`"),
        ("grid = 4\ntime_unit = \"s\"", "time_unit"),
        ("grid = 4\nlength_unit = \"yd\"", "length_unit"),
        ("grid = 4\ncrossing = \"1 week\"", "crossing"),
        ("grid = 4\nperiod = \"9000h\"", "period"),
        ("grid = 4\ncrossings = \"1s\"", "crossings"),
    ] {
        let error = read(text).map(|_| ()).expect_err(text).one_line();
        assert!(error.contains(key) && error.contains("allowed: "), "{text:?} gives {error}");
    }
}

#[test]
fn two_of_cycle_green_and_red_give_the_third() {
    let plan = |text: &str| {
        let model = read(&format!("grid = 2\nlights = true\n{text}")).expect("a good plan");
        let lights = model.rules.lights.expect("lights are on");
        (lights.cycle, lights.green)
    };
    let seconds = |cycle, green| (Time::secs(cycle), Time::secs(green));
    assert_eq!(plan(""), seconds(8, 4));
    assert_eq!(plan("cycle = \"20s\"\nred = \"15s\""), seconds(20, 5));
    assert_eq!(plan("green = \"7s\"\nred = \"15s\""), seconds(22, 7));
    assert_eq!(plan("red = \"15s\""), seconds(30, 15));
    assert_eq!(plan("green = \"6s\"\ncycle = \"10s\""), seconds(10, 6));
}

const ROADS: &str = "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 3\n<FIRST THRU NODE> 3\n<NUMBER OF LINKS> 2\n\
    <END OF METADATA>\n 1 3 1800 1 2 ;\n 3 2 1800 1 2 ;\n";

/// Writes a network and trips into a temporary folder.
fn folder(name: &str, roads: &str, trips: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("paceline-traffic-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("roads.tntp"), roads).expect("a temporary file");
    std::fs::write(folder.join("trips.tntp"), trips).expect("a temporary file");
    folder
}

const FILES: &str = "network = \"roads.tntp\"\ntrips = \"trips.tntp\"";

#[test]
fn units_say_what_the_numbers_of_a_file_mean() {
    let folder = folder("units", ROADS, "<END OF METADATA>\nOrigin 1\n 2 : 3;\n");
    for (unit, time_s) in [("s", 4 + 1), ("min", 240 + 1), ("h", 14_400 + 1), ("0.01h", 144 + 1)] {
        let model = read_in(&folder, &format!("{FILES}\ntime_unit = \"{unit}\"")).expect("good files");
        let (output, _) = drive(&model, Time::MAX);
        assert_eq!(output.arrivals.len(), 3);
        for arrival in output.arrivals {
            assert_eq!(arrival.at - model.demand.departs(arrival.vehicle), Time::secs(time_s), "{unit}");
        }
    }
    std::fs::remove_dir_all(folder).expect("it was there");
}

#[test]
fn mistakes_in_files_name_file_line_and_what_is_allowed() {
    for (name, roads, trips, place, hint) in [
        (
            "unconnected",
            ROADS,
            "<END OF METADATA>\nOrigin 2\n 1 : 3;\n",
            "trips.tntp:3:2",
            "zone 2 to zone 1",
        ),
        ("zone", ROADS, "<END OF METADATA>\nOrigin 1\n 3 : 3;\n", "trips.tntp:3:2", "from 1 to 2"),
        ("zipped", "PK\u{3}\u{4}", "", "roads.tntp", "a zip archive"),
        ("page", ROADS, "<!DOCTYPE html>\n<title>404</title>", "trips.tntp", "HTML"),
        ("nothing", ROADS, "", "trips.tntp", "seems to be empty"),
        ("tag", ROADS, "<DEMAND FACTOR> 2\n<END OF METADATA>\n", "trips.tntp:1:1", "<DEMAND FACTOR>"),
        ("cut", &ROADS[..ROADS.len() - 10], "", "roads.tntp:7:", "free-flow"),
        ("short", &ROADS[..ROADS.len() - 16], "", "roads.tntp:6:", "NUMBER OF LINKS"),
    ] {
        let folder = folder(name, roads, trips);
        let error = read_in(&folder, FILES).map(|_| ()).expect_err(name).one_line();
        assert!(error.contains(place) && error.contains(hint), "{name} gives {error}");
        std::fs::remove_dir_all(folder).expect("it was there");
    }
}

/// What a user joins with other tables is numbered as in the files, and what was done to their numbers is
/// said.
#[test]
fn results_have_the_numbers_of_the_files_and_say_what_was_done_to_them() {
    let numbered = |text: &str| {
        text.replace(" 1 3 ", " 700 900 ").replace(" 3 2 ", " 900 800 ").replace("NODE> 3", "NODE> 850")
    };
    let trips = "\u{feff}<TOTAL OD FLOW> 12\n<DEMAND MULTIPLIER> 0.5\n<END OF METADATA>\n\
        Origin 700\n 800 : 7;\nOrigin 700\n 800 : 5;\n";
    let folder = folder("numbers", &format!("\u{feff}{}", numbered(ROADS)), trips);
    let model = read_in(&folder, FILES).expect("good files");
    std::fs::remove_dir_all(folder).expect("it was there");
    let (output, _) = drive(&model, Time::MAX);
    let facts = RunFacts { events: 0, end_time: Time::MAX };
    let summary = model.results(vec![output], &facts).expect("no vehicle is lost");
    for line in [
        ("demand_multiplier", 0.5.into()),
        ("trips_added_to_others", 1.into()),
        ("trips_demanded", 6.0.into()),
        ("vehicles_scheduled", 6.into()),
        ("busiest_road", "700 to 900".into()),
    ] {
        let line = (line.0.into(), line.1);
        assert!(summary.lines.contains(&line), "{line:?} is not in {:?}", summary.lines);
    }
    let mut files = Vec::new();
    summary.files.into_iter().for_each(|file| file.write(&mut files).expect("memory takes everything"));
    let files = String::from_utf8(files).expect("text");
    assert!(files.contains("\n0,700,800,") && files.contains("\n900,800,6,"), "{files}");
}

/// The folder of sample cities, if it is available.
fn cities() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("PACELINE_DATA").map_or(beside, PathBuf::from).join("tntp");
    folder.is_dir().then_some(folder)
}

#[test]
fn real_cities_can_be_driven_in_free_flow() {
    let Some(folder) = cities() else { return };
    for (city, unit, demand) in
        [("SiouxFalls", "0.01h", 0.01), ("Anaheim", "min", 0.1), ("ChicagoSketch", "min", 0.01)]
    {
        let text = format!(
            "network = \"{city}_net.tntp\"\ntrips = \"{city}_trips.tntp\"\ntime_unit = \"{unit}\"\ndemand = {demand}"
        );
        let model = read_in(&folder, &text).unwrap_or_else(|error| panic!("{city}: {}", error.one_line()));
        let (output, _) = drive(&model, Time::MAX);
        assert_eq!(output.arrivals.len() as u32, model.vehicles(), "{city}");
        assert!(model.vehicles() > 1000, "{city}");
        for arrival in output.arrivals {
            let took = arrival.at - model.demand.departs(arrival.vehicle);
            assert_eq!(took, model.demand.pair(arrival.vehicle).free_flow, "{city}: {}", arrival.vehicle);
        }
    }
}

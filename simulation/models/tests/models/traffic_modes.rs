//! Road traffic gives the same digest and byte-identical files in every mode of the engine.

use paceline_kernel::{Model, Time};
use paceline_models::traffic::Traffic;

use crate::built;
use crate::modes::all_agree;

fn model(keys: &str) -> Traffic {
    built(keys, |section| Traffic::from_section(section, 1))
}

#[test]
fn a_jammed_grid() {
    let keys = "grid = 7\nrate = 120\nlights = true\nstorage = true\nblock = 0.2\noffset = \"1.3s\"";
    all_agree(|| model(keys), Time::secs(900));
}

#[test]
fn a_grid_in_free_flow() {
    all_agree(|| model("grid = 5\nrate = 40\ncrossing = \"0.7s\""), Time::secs(1000));
}

#[test]
fn a_town_with_lights_and_full_roads() {
    let files = "network = \"data/ringtown_net.tntp\"\ntrips = \"data/ringtown_trips.tntp\"";
    let rules = "lights = true\ncycle = \"50s\"\nstorage = true\ncrossing = \"2s\"\ndemand = 0.5";
    let town = || model(&format!("{files}\n{rules}"));
    all_agree(town, Time::secs(2400));
    all_agree(town, Time::MAX);
}

#[test]
fn the_grid_has_as_many_lps_as_intersections_sources_and_sinks() {
    for side in [1, 2, 9] {
        assert_eq!(model(&format!("grid = {side}\nrate = 0.5")).lps(), side * side + 4 * side);
    }
}

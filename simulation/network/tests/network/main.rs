//! Platforms, routes, sharing and deployments, through the crate's interface.

mod cancels;
mod clusters;
mod defaults;
mod deployment;
mod encodings;
mod expected;
mod limits;
mod profiles;
mod refused;
mod routes;
mod settings;
mod solver;
mod storage;
mod topologies;
mod transfers;
mod vivaldi;

use std::fs;
use std::path::{Path, PathBuf};

use paceline_network::{FlowModel, Flows, HostId, Network, Platform, ReadError, read};

/// The folder of the platform files of these tests.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Reads a text as `demo.xml`, with the profiles of the tests' folder.
pub fn attempt(text: &str) -> Result<Platform, ReadError> {
    let mut other = |name: &str| fs::read_to_string(folder().join(name)).map_err(|_| "there is none".into());
    read("demo.xml", text, &mut other)
}

/// Reads a valid text.
pub fn platform(text: &str) -> Platform {
    attempt(text).unwrap_or_else(|mistake| panic!("{mistake}"))
}

/// Reads a file of the tests' folder.
pub fn file(name: &str) -> Platform {
    platform(&fs::read_to_string(folder().join(name)).expect("the file is there"))
}

/// The host with this name.
pub fn host(platform: &Platform, name: &str) -> HostId {
    platform.host(name).unwrap_or_else(|| panic!("a host {name}"))
}

/// The names of the links of a route.
pub fn links(platform: &Platform, from: HostId, to: HostId) -> Vec<&str> {
    let route = platform.route(from, to).unwrap_or_else(|error| panic!("{error}"));
    route.links.iter().map(|link| platform.links()[link.0 as usize].name.as_str()).collect()
}

/// When transfers end that start together at time 0, in seconds: source, destination, bytes.
pub fn ends(platform: &Platform, model: FlowModel, transfers: &[(&str, &str, f64)]) -> Vec<f64> {
    let mut network = Flows::new(platform, model);
    for (from, to, bytes) in transfers {
        let [from, to] = [from, to].map(|name| host(platform, name));
        network.start(from, to, *bytes).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut ends = vec![f64::NAN; transfers.len()];
    while let Some(at) = network.next() {
        for end in network.advance(at) {
            ends[end.transfer.0 as usize] = end.at;
        }
    }
    ends
}

/// Checks times to eight digits; SimGrid prints nine.
#[track_caller]
pub fn close(found: &[f64], expected: &[f64]) {
    let close = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-8 * expected.abs();
    let all = found.len() == expected.len() && found.iter().zip(expected).all(close);
    assert!(all, "{found:?}, and not {expected:?}");
}

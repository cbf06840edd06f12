//! Platforms, routes, sharing and deployments, through the crate's interface.

mod cancels;
mod deployment;
mod expected;
mod limits;
mod profiles;
mod refused;
mod routes;
mod solver;
mod topologies;
mod transfers;

use std::fs;
use std::path::{Path, PathBuf};

use paceline_network::{HostId, Platform, ReadError, read};

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

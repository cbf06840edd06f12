//! One result: under every protocol, number of federates and threads, a scenario gives the digest and, to the
//! byte, the files of the sequential run.
//!
//! As it is, this runs short horizons and a sample of the matrix in which every protocol, number of federates
//! and threads, and way to run ahead occurs for each scenario. `PACELINE_MATRIX=full` runs all of it, with
//! longer horizons and a line about each scenario on stderr; better with `--release`. Real cities are read
//! from `$PACELINE_DATA/tntp`, else from `../shared/data/tntp` beside the project, and passed over where they
//! are not there.

mod modes;
mod runs;
mod scenarios;

use std::env;
use std::io::{self, Write};
use std::time::Instant;

use modes::{Mode, every_mode, reference, some_modes};
use scenarios::SCENARIOS;

/// Past the test harness, which shows only what failing tests print.
fn print_line(line: &str) {
    writeln!(io::stderr(), "{line}").expect("standard error takes text");
}

/// Runs a scenario in the modes that are due, and names all that differ from the reference.
fn agrees(name: &str) {
    let number = SCENARIOS.iter().position(|scenario| scenario.name == name).expect("it is listed");
    let scenario = &SCENARIOS[number];
    let city = match scenario.city_settings() {
        Ok(city) => city,
        Err(missing) => return eprintln!("skipped: there is no {}", missing.display()),
    };
    let full = env::var_os("PACELINE_MATRIX").is_some_and(|value| value == "full");
    let modes = if full { every_mode() } else { some_modes(number) };
    let arguments = scenario.arguments(city, full);
    let start = Instant::now();
    let expected = runs::run(&arguments, reference());
    let lps = expected.facts["lps"].as_u64().expect("a number of LPs");
    assert!(expected.facts["events_committed"].as_u64() > Some(10_000), "{name} does something");
    let mut differ = Vec::new();
    for mode in &modes {
        let mode = Mode { federates: mode.federates.min(lps), ..*mode };
        let mode = if scenario.undoes { mode } else { mode.without_undo() };
        let outcome = runs::run(&arguments, mode);
        if outcome != expected {
            differ.push(format!("{mode}: {}", outcome.differences(&expected).join("; ")));
        }
    }
    assert!(
        differ.is_empty(),
        "{name}: {} of {} runs differ from {}:\n{}",
        differ.len(),
        modes.len(),
        reference(),
        differ.join("\n")
    );
    if full {
        let (events, digest) = (&expected.facts["events_committed"], &expected.facts["digest"]);
        let seconds = start.elapsed().as_secs_f64();
        print_line(&format!(
            "{name}: {} runs of {events} events, digest {digest}, {seconds:.0} s",
            modes.len() + 1
        ));
    }
}

#[test]
fn blb() {
    agrees("BLB");
}

#[test]
fn ulb() {
    agrees("ULB");
}

#[test]
fn hlb() {
    agrees("HLB");
}

#[test]
fn phold() {
    agrees("PHOLD 2048 x 16");
}

#[test]
fn phold_with_many_messages() {
    agrees("PHOLD 65536 x 16");
}

#[test]
fn phold_with_many_lps() {
    agrees("PHOLD 1048576 x 1");
}

#[test]
fn vsb() {
    agrees("VSB");
}

#[test]
fn anaheim() {
    agrees("Anaheim");
}

#[test]
fn anaheim_with_lights_and_full_roads() {
    agrees("Anaheim with lights and full roads");
}

#[test]
fn chicago_sketch() {
    agrees("Chicago Sketch");
}

#[test]
fn wireless() {
    agrees("Wireless");
}

#[test]
fn wireless_with_pings_singly() {
    agrees("Wireless, pings singly");
}

#[test]
fn wireless_with_losses() {
    agrees("Wireless with losses");
}

#[test]
fn packets_of_tcp() {
    agrees("Packets, TCP");
}

#[test]
fn packets_of_a_collective() {
    agrees("Packets, collective");
}

#[test]
fn packets_over_a_link_that_fails() {
    agrees("Packets, a link that fails");
}

#[test]
fn packets_of_a_web_search() {
    agrees("Packets, web search");
}

#[test]
fn packets_of_udp() {
    agrees("Packets, UDP");
}

#[test]
fn packets_under_flow_control() {
    agrees("Packets, PFC");
}

#[test]
fn packets_of_rdma() {
    agrees("Packets, RDMA");
}

//! `cargo bench -p paceline-fedpro --bench serving`: what serving federates through TCP costs the server, a
//! process of its own.
//!
//! The first table has the server's CPU time for a grant, by the number of federates, in microseconds. All
//! regulate with a lookahead of one step and are constrained; each asks for its next step as soon as it was
//! granted the last one, and answers its callbacks. A round measures each number once, so that a disturbance
//! affects all of them; the table shows medians, and half the distance between the quartiles. The last
//! column compares 256 federates with 32.
//!
//! The second one has what clients cost that do nothing, as sessions and as federates that have joined:
//! memory of the server for each, and its share of a core.
//!
//! `PACELINE_ROUNDS` sets the number of rounds. Linux only, with room for 2,100 open files.

#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "tests use the rest of it")]
#[path = "../tests/fedpro/client.rs"]
mod client;
#[cfg(target_os = "linux")]
#[path = "serving/load.rs"]
mod load;
#[cfg(target_os = "linux")]
#[path = "serving/measure.rs"]
mod measure;

#[cfg(target_os = "linux")]
fn main() {
    measure::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: CPU times of processes are read on Linux only");
}

//! `cargo bench -p paceline-cli --bench pacing`: how much longer than the ideal a simulation takes whose
//! processes outnumber the cores, under the normal scheduler, under the governor, and in our own engine.
//!
//! The simulation is `examples/c/phold.c`: processes that poll. The ideal is all its work dealt to all cores
//! without a gap. The engine of this project runs as many federates with the same costs. All sides run once
//! in each round; a table shows the medians, and half the distance between the quartiles. `PACELINE_ROUNDS`
//! is the number of rounds, and a page with a figure and the table is written into the folder `PACELINE_OUT`
//! if there is one. Other programs that run meanwhile spoil it.
//!
//! Linux with make and a C compiler; elsewhere nothing is measured.

#[cfg(target_os = "linux")]
mod measure;

#[cfg(target_os = "linux")]
fn main() {
    measure::all();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: programs are paced on Linux only");
}

//! `cargo bench -p paceline-cli --bench federates`: how much sooner federates of `paceline rti` end that poll
//! and outnumber the cores, if `paceline pace` runs them.
//!
//! Each federate is a process of its own that regulates time with a lookahead of a step and is constrained.
//! In each step it computes, for times that differ from federate to federate and from step to step, asks
//! for the next one, and evokes callbacks without blocking until it is granted. The infrastructure runs
//! beside them. They are not changed to be paced: the infrastructure publishes how far they are.
//!
//! Both sides run once in each round, in an order that turns. The table shows the medians of how many times
//! longer than the ideal the federates take, from the first step to the last, and of the ratio of both sides
//! in a round, each with half the distance between the quartiles; the ideal is all their work dealt to all
//! cores without a gap. `PACELINE_ROUNDS` is the number of rounds. Linux only.

#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "tests use the rest of it")]
#[path = "../tests/program/rti/client.rs"]
mod client;
#[cfg(target_os = "linux")]
#[path = "federates/measure.rs"]
mod measure;

#[cfg(target_os = "linux")]
fn main() {
    measure::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: programs are paced on Linux only");
}

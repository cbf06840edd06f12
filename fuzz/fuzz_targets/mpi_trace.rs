//! Any text as an MPI trace: it is replayed to an end or a typed error, or is refused with a message that has
//! a line.
//!
//! What follows the first line that is `~~~~` is the text of every file that it names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_models::mpi_trace::MpiTrace;
use paceline_network::Constant;
use paceline_processes::Simulation;

/// Ranks of a trace that is replayed.
const RANKS_MAX: u32 = 64;

fuzz_target!(|input: &str| {
    let (text, named) = input.split_once("\n~~~~\n").unwrap_or((input, ""));
    match MpiTrace::read("fuzz.txt", text, &mut |_| Ok(named.to_owned())) {
        Ok(trace) if trace.ranks() <= RANKS_MAX => {
            let mut simulation = Simulation::new(Constant::new(0.01), &[(1e9, 1); 2]);
            trace.spawn(&mut simulation, 2);
            if let Err(error) = simulation.run() {
                assert!(!error.to_string().is_empty());
            }
        }
        Ok(_) => {}
        Err(mistake) => {
            assert!(mistake.line >= 1);
            assert_eq!(mistake.to_string().lines().count(), 1, "{mistake}");
        }
    }
});

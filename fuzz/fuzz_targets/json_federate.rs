//! Any bytes as what an outside federate says: the run comes to its end, or ends with an error that says
//! something.
#![no_main]

use std::io::{self, Cursor};

use libfuzzer_sys::fuzz_target;
use paceline_engine::{JsonFederate, Outside, Protocol, Simulation};
use paceline_fuzz::Ring;
use paceline_kernel::Time;

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (protocol, lines) = input;
    let protocol = [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic][usize::from(protocol) % 3];
    let outside = Outside::new(JsonFederate::new(Ring, Cursor::new(lines), io::sink()));
    let run = Simulation::new(Ring).until(Time::secs(30)).protocol(protocol).federates(2).threads(1);
    if let Err(error) = run.outside(1, outside).run() {
        assert!(!error.to_string().is_empty());
    }
});

//! Any bytes as a checkpoint: as they are, and as the body of one whose lengths and checksum fit. It reads as
//! a run of the ring, which then goes on to its end, or is refused with a message.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use paceline_engine::{CheckpointError, CheckpointFile, Protocol, Simulation};
use paceline_fuzz::{Ring, folder};
use paceline_kernel::Time;
use xxhash_rust::xxh3::xxh3_64;

/// The format of checkpoints that is written, as `simulation/engine/src/checkpoint.rs` has it.
const VERSION: u32 = 6;

static PATH: LazyLock<PathBuf> = LazyLock::new(|| folder().join("fuzz.checkpoint"));

fuzz_target!(|input: &[u8]| {
    for content in [input.to_vec(), sealed(input)] {
        fs::write(&*PATH, content).expect("a temporary file can be written");
        if let Err(error) = resume() {
            assert!(!error.to_string().is_empty());
        }
    }
});

fn resume() -> Result<(), CheckpointError> {
    let world = CheckpointFile::open(&PATH)?.world(&Ring)?;
    let run = Simulation::new(Ring).until(Time::secs(30)).protocol(Protocol::Window).federates(2).threads(1);
    if let Err(error) = run.resume(world).run() {
        assert!(!error.to_string().is_empty());
    }
    Ok(())
}

/// A checkpoint without a header that has `body`.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut opening = b"PACELINE".to_vec();
    opening.extend(VERSION.to_le_bytes());
    opening.extend(0_u64.to_le_bytes());
    opening.extend((body.len() as u64).to_le_bytes());
    let checksum = xxh3_64(&[body, &opening].concat());
    [&opening, body, &checksum.to_le_bytes()].concat()
}

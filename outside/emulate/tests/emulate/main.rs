//! Guests: the emulator, packed images, machines on a packet network, checkpoints. One program, as each would
//! compile the engine for packet networks anew. Without the emulator, which `scripts/emulator` gets, the
//! tests that start real guests say that they are skipped.

mod crowd;
mod emulated;
mod guest;
mod image;
mod resume;
mod run;

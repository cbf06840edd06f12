//! Real guests: boot, clock, frames, snapshots, ends and failures. Skipped where `scripts/emulator` has made
//! no folder.

mod clock;
mod failures;
mod frames;
mod gate;
mod speed;
pub mod support;

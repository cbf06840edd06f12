//! Guests that boot packed images: what is packed runs in them, and what they send back arrives. Without the
//! emulator these tests say that they are skipped.

mod clocks;
mod network;
mod packed;
mod programs;
mod servers;
mod settings;
pub mod support;

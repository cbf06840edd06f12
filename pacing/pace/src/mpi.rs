//! MPI programs: the library that is preloaded into them, the memory by which their processes wake each
//! other, and what a command needs to run with both.
//!
//! The library (`shim` in this crate's folder, with a README) publishes on the LVT page which ranks wait, and
//! makes them yield the core. It needs the environment variables `LD_PRELOAD` with its path and [`ROOM_ENV`]
//! with that of a [`Room`], which [`prepare`] sets.

mod launch;
mod library;
mod program;
mod room;
mod yielding;

pub use launch::{MpiChoice, MpiLibrary, MpiSession, prepare};
pub use library::shim;
pub use room::{ROOM_CELLS, ROOM_ENV, Room};

//! MPI programs: the library that is preloaded into them, and the memory by which their processes wake each other.
//!
//! The library (`shim` in this crate's folder, with a README) says on the LVT page who waits, and gives the core away for them. It
//! needs the environment variables `LD_PRELOAD` with its path and [`ROOM_ENV`] with that of a [`Room`].

mod library;
mod room;

pub use library::shim;
pub use room::{ROOM_CELLS, ROOM_ENV, Room};

//! Programs for guests: those that the reproduced papers ran.
//!
//! Invariant: a guest program depends on its settings, its seed and the messages it gets, on nothing else.
//! Its CPU time is a setting; nothing here knows how the machine schedules.

pub mod class;
pub mod ep;
pub mod federate;
pub mod hog;
pub mod lu;
pub mod mpi;
pub mod rounds;

#[cfg(test)]
mod test;

//! Programs for guests: what the papers ran in theirs.
//!
//! Invariant: a guest program depends on its settings, its seed and the messages it gets, on nothing else. What its
//! processor time costs is a setting; nothing here knows how the machine schedules.

pub mod class;
pub mod ep;
pub mod federate;
pub mod hog;
pub mod lu;
pub mod mpi;
pub mod rounds;

#[cfg(test)]
mod test;

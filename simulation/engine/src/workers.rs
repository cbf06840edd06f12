//! The threads that take turns at a board: which federate is next, how a thread waits, and what it may use.
//!
//! Invariant: a federate is in one worker's hands at a time, and workers take the one furthest behind first.

pub(crate) mod chaos;
pub(crate) mod cores;
pub(crate) mod crowd;
pub(crate) mod idle;
pub(crate) mod pool;
pub(crate) mod ready;
pub(crate) mod seat;

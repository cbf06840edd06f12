//! `paceline pace` as its users meet it: what it passes to the command, what it paces, and how it handles
//! faults.
//!
//! The commands that are paced are `sh`, and this test program itself in the roles of `workers.rs`. What a
//! machine does not permit is skipped, with the reason on stderr.
#![cfg(target_os = "linux")]

mod faults;
mod lab;
mod machines;
mod mpi;
mod passing;
mod permission;
mod starving;
mod workers;

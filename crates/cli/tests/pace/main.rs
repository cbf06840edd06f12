//! `paceline pace` as its users meet it: what it passes through, what it paces, and what goes wrong around it.
//!
//! The commands that are paced are `sh`, and this test program itself in the roles of `workers.rs`. What a machine does not permit is
//! skipped, with the reason on stderr.
#![cfg(target_os = "linux")]

mod faults;
mod lab;
mod machines;
mod mpi;
mod passing;
mod permission;
mod starving;
mod workers;

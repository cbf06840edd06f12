//! Machines on a packet network, with machines that are small state machines: exact times, causal order, the
//! same digest and captures in every mode, checkpoints, faults.

mod cards;
mod checkpoints;
mod faults;
mod networks;
mod pings;
mod support;
mod trace;

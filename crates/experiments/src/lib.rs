//! Experiments on simulated machines: scenarios of machines read from files, policies compared on one workload, and the
//! published experiments on scheduling simulations, each with what it has to show.
//!
//! Invariants: no constant depends on the policy under test; an experiment that does not show what it should is reported as
//! such, with the reason.

#![forbid(unsafe_code)]

//! Proportional share: CPU time by weight.

pub mod bvt;
pub mod credit;
pub mod credit2;

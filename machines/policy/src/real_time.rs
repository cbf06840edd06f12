//! Real time: budgets and windows that are fixed beforehand. Not work-conserving, but for RTDS with extra time.

pub mod arinc653;
pub mod rt;
pub mod rtds;

//! Real time: budgets and windows that are fixed beforehand. Not work-conserving.

pub mod arinc653;
pub mod rt;

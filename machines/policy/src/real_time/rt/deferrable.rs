//! The deferrable server (Strosnider et al., 1995): it keeps unused budget until the end of the period.

use super::Rule;

/// Keeps its budget while it has nothing to do; at the end of every period the budget is full again.
#[derive(Debug)]
pub enum Deferrable {}

impl Rule for Deferrable {
    fn refilled_ns(_left_ns: u64, _amount_ns: u64, full_ns: u64, _awake: bool) -> u64 {
        full_ns
    }
}

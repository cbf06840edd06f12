//! The periodic server, as RT-Xen has it: it uses its budget whether it has something to do or not.

use super::Rule;

/// With nothing to do it takes its turn nevertheless, and its PCPU idles: its budget is used up, and servers
/// of lower priority wait as if it worked.
#[derive(Debug)]
pub enum Periodic {}

impl Rule for Periodic {
    const IDLES_AWAY: bool = true;

    fn refilled_ns(_left_ns: u64, _amount_ns: u64, full_ns: u64, _awake: bool) -> u64 {
        full_ns
    }
}

//! Real time: budgets and windows that are fixed beforehand. Not work-conserving, but for RTDS with extra
//! time.

pub mod arinc653;
pub mod rt;
pub mod rtds;

use crate::settings::{Setting, bad};
use crate::{MICROSECOND, MILLISECOND, PolicyError};

/// The least period and budget (`RTDS_MIN_PERIOD`, `RTDS_MIN_BUDGET`).
const LEAST_NS: u64 = 10 * MICROSECOND;
/// The longest period: an hour, so that no deadline overflows. Xen allows what its time type holds.
const MOST_NS: u64 = 3_600_000 * MILLISECOND;

/// Refuses a budget that no period could give.
fn check_budget(budget_ns: u64, period_ns: u64) -> Result<(), PolicyError> {
    if budget_ns > period_ns {
        let allowed = format!("at most the period of {period_ns} ns");
        return Err(bad("budget", &Setting::Nanos(budget_ns), allowed));
    }
    Ok(())
}

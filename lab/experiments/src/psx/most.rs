//! The gain at the most domains of figure 12, which is published as a number: it is judged, and swept over
//! what the paper does not state.

use super::{Case, Gear, Load, Scheduler};
use crate::prelude::*;

/// The domains at which a gain is published as a number.
pub(super) const MOST: u32 = 64;

/// The gain that is published for the most domains: over 20 times.
pub(super) fn published() -> Criterion {
    Criterion::published(20.0, Tolerance::TIMES).saying("over").or(Shape::Above(1.0))
}

/// What the check of the gain at the most domains is called.
pub(super) fn gain_at_most(gear: Gear) -> String {
    format!("gain of {} at {MOST} domains", gear.name())
}

pub(super) fn case(load: Load, domains: u32, gear: Gear, scheduler: Scheduler) -> Case {
    Case { load, domains, gear, scheduler, wait: None }
}

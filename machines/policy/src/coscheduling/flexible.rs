//! Flexible co-scheduling: gang scheduling for VCPUs that need it; the others fill the gaps.
//!
//! Source: co-scheduling thesis, section 2.1.1.2 (Frachtenberg et al., 2003): a gang scheduler classifies
//! processes by their observed behaviour, and a node refuses a switch that would not help.
//! - CS (co-scheduling): communicate much and use their time: gang-scheduled. In its slot such a VCPU keeps
//!   its PCPU, even while it spins or yields, because its partners run too.
//! - F (frustrated): communicate much but cannot use their time, because the load is not balanced. In their
//!   slot they run first, and they are the first to fill other gaps. One that yields is set aside until the
//!   slot ends; one that sets its waiting flag is set aside until it unsets the flag. A message ends both:
//!   this is the scheduler's side of spin-block.
//! - DC (don't care): communicate rarely. They fill the gaps that F leave, and are set aside by the same
//!   rule.
//!
//! Measured per VCPU, over the last `evaluate` (4) slots of its row:
//! - messages: how many came for its domain (each increase of the pending count adds its amount), per slot
//!   and per VCPU of the domain;
//! - use: the part of these slots in which it ran with its waiting flag unset.
//!
//! With fewer messages than `messages` (10) a VCPU is DC; otherwise with less use than `use` percent (50) it
//! is F; otherwise CS. Every VCPU begins as CS.
//!
//! A gap is a cell of the row of the slot that is empty, or whose VCPU sleeps or is set aside. It is filled
//! from its column: F first, then DC, then CS of other rows, and last those set aside: work-conserving on
//! each PCPU. Within a class the VCPU that ran least recently is first. No VCPU starves: each has the slots
//! of its row. Settings: those of [`gang`](crate::gang) and the three above.

use super::class::Bounds;
use super::gang::Gang;
use crate::{Host, PolicyError, Settings};

/// Flexible co-scheduling for `host`.
pub fn flexible(settings: &mut Settings, host: Host) -> Result<Gang, PolicyError> {
    let bounds = Bounds {
        evaluate: settings.count("evaluate", 4, 1, 1_000)?,
        messages: settings.count("messages", 10, 1, 1_000_000)?,
        use_percent: settings.count("use", 50, 1, 100)?,
    };
    Gang::with_classes(bounds, settings, host)
}

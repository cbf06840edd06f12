//! Groups of federates: which of those that the model deals are one for the engine.

use paceline_kernel::{Model, Partition};

use crate::Simulation;
use crate::adapt::auto::{Groups, Way};

/// The federates that `threads` threads work on: those of `dealt`, or groups of them. A memory budget that
/// does not hold the states of a group leaves them as they are.
pub(super) fn grouped<M: Model>(
    simulation: &Simulation<M>,
    dealt: &Partition,
    way: Way,
    threads: u32,
) -> Partition {
    let Simulation { model, speculation, groups, .. } = simulation;
    let merged = dealt.merged(match way.groups {
        Groups::One => 1,
        Groups::AsDealt => return dealt.clone(),
        Groups::PerThread(groups_each) => groups.unwrap_or(groups_each.saturating_mul(threads)).max(1),
    });
    let fits = !way.protocol.speculates() || speculation.check(model, merged.largest()).is_ok();
    if fits { merged } else { dealt.clone() }
}

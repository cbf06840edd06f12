//! How optimistic and mixed runs speculate: settings that change speed and memory, never the result.

use paceline_kernel::{Cancellation, GvtKind, LpId, Model, Optimism, Rng, Saving, ask};

use crate::RunError;

/// The share of LPs that run ahead in a mixed run where neither model nor settings say more.
const HALF: f64 = 0.5;

/// Which LPs run ahead in a mixed run.
#[derive(Clone, Debug, PartialEq)]
pub enum Optimistic {
    /// This share of the LPs, from 0 to 1, evenly spread.
    Share(f64),
    /// The LPs with these numbers: ranges from the first to before the last.
    Ranges(Vec<std::ops::Range<u32>>),
}

/// How optimistic and mixed runs speculate.
///
/// ```
/// use paceline_engine::Speculation;
/// use paceline_kernel::Saving;
/// let speculation = Speculation { saving: Saving::Undo, memory_bytes: Some(1 << 20), ..Speculation::default() };
/// assert!(!speculation.check_rollback);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speculation {
    /// How states are brought back.
    pub saving: Saving,
    /// What becomes of messages whose cause is rolled back.
    pub cancellation: Cancellation,
    /// How GVT is computed; the results are the same.
    pub gvt: GvtKind,
    /// Bytes that everything kept for rollbacks may take, in all federates, those of other processes too;
    /// without limit unless said. Each federate gets an equal part; one that has used it up runs ahead no
    /// farther.
    pub memory_bytes: Option<usize>,
    /// In a mixed run, which LPs run ahead, whatever the model says. Unless said: those of which the model
    /// says so, and of those of which it says nothing half.
    pub optimistic: Option<Optimistic>,
    /// Handles, takes back, compares and handles again every event.
    pub check_rollback: bool,
    /// Lets workers dawdle and give way, under every protocol, and take federates at random, all drawn from
    /// this seed: for tests.
    pub chaos: Option<u64>,
}

impl Speculation {
    /// The settings of each of `federates` federates.
    pub(crate) fn optimism<M: Model>(&self, model: &M, mixed: bool, federates: u32) -> Optimism {
        Optimism {
            saving: self.saving,
            cancellation: self.cancellation,
            memory_bytes: self.memory_bytes.map(|bytes| bytes / federates.max(1) as usize),
            optimistic: mixed
                .then(|| (0..model.lps()).map(|lp| self.is_optimistic(model, LpId(lp))).collect()),
            check: self.check_rollback,
            ahead: None,
            // With half of the seeds, tests also run ahead what could be run safely.
            eager: self.chaos.is_some_and(|seed| Rng::new(seed, 0).chance(HALF)),
        }
    }

    fn is_optimistic<M: Model>(&self, model: &M, lp: LpId) -> bool {
        // Spread evenly: LP n is in if the share of n + 1 LPs is one more than the share of n.
        let spread = |share: f64| (f64::from(lp.0 + 1) * share).floor() > (f64::from(lp.0) * share).floor();
        match &self.optimistic {
            Some(Optimistic::Share(share)) => spread(*share),
            Some(Optimistic::Ranges(ranges)) => ranges.iter().any(|range| range.contains(&lp.0)),
            None => ask(|| format!("`optimistic` of {lp}"), || model.optimistic(lp))
                .unwrap_or_else(|| spread(HALF)),
        }
    }

    /// What of this cannot work with `model`; `largest` is the number of LPs of the largest federate.
    pub(crate) fn check<M: Model>(&self, model: &M, largest: u32) -> Result<(), RunError> {
        if self.saving == Saving::Undo && M::UNDO.is_none() {
            return Err(RunError::NoUndo);
        }
        // A sanity check and no more: a federate whose part of the budget is used up still runs what is safe,
        // and an instant at GVT. What states point to is not counted: its size is known only once they are
        // saved.
        let needed = largest as usize * size_of::<M::State>();
        match (self.memory_bytes, &self.optimistic) {
            (Some(bytes), _) if bytes < needed => Err(RunError::Memory { bytes, needed }),
            (_, Some(Optimistic::Share(share))) if !(0.0..=1.0).contains(share) => {
                Err(RunError::Optimistic { what: format!("a share of {share}"), lps: model.lps() })
            }
            (_, Some(Optimistic::Ranges(ranges))) => {
                match ranges.iter().find(|range| range.start >= range.end || range.end > model.lps()) {
                    Some(range) => {
                        let what = format!("the range {}..{}", range.start, range.end);
                        Err(RunError::Optimistic { what, lps: model.lps() })
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

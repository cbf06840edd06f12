//! What a model answers when it is asked about itself. The engine asks more than once, so that the answers
//! must not change.
//!
//! Invariant: two sets of answers that are alike were given to the same questions.

use paceline_kernel::{Channels, LpId, Model, Time};

use super::Difference;

/// Numbers of federates for which a model is asked how it deals its LPs.
const FEDERATES: [u32; 2] = [2, 5];

/// One set of answers.
pub(super) struct Answers {
    lps: u32,
    lookahead: Time,
    /// Of each LP.
    channels: Vec<Channels>,
    /// For each of [`FEDERATES`] the owner of each LP.
    owners: [Vec<u32>; FEDERATES.len()],
}

impl Answers {
    /// Asks a model everything.
    pub(super) fn of<M: Model>(model: &M) -> Self {
        let lps = model.lps();
        Self {
            lps,
            lookahead: model.lookahead(),
            channels: (0..lps).map(|lp| model.channels(LpId(lp))).collect(),
            owners: FEDERATES.map(|federates| model.partition(federates).owners()),
        }
    }

    /// The first answer that is another here and there, and the LP that it is about.
    pub(super) fn unlike(&self, other: &Self) -> Option<(LpId, Difference)> {
        if self.lps != other.lps {
            return Some((LpId(0), Difference::Lps(self.lps, other.lps)));
        }
        if self.lookahead != other.lookahead {
            return Some((LpId(0), Difference::Lookahead(self.lookahead, other.lookahead)));
        }
        let lps = (0..self.lps).map(LpId);
        for ((lp, one), other) in lps.clone().zip(&self.channels).zip(&other.channels) {
            if one != other {
                return Some((lp, Difference::Channels(format!("{one:?}"), format!("{other:?}"))));
            }
        }
        for ((federates, owners), others) in FEDERATES.into_iter().zip(&self.owners).zip(&other.owners) {
            for ((lp, one), other) in lps.clone().zip(owners).zip(others) {
                if one != other {
                    return Some((lp, Difference::Partition(federates, *one, *other)));
                }
            }
        }
        None
    }
}

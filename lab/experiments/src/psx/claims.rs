//! Claims that all experiments of the paper share: digests do not depend on the scheduler, and PSX+ takes
//! less time than PSX.

use crate::prelude::*;

/// Whether PSX+ takes less time than PSX, in the geometric mean over all of (what, PSX, PSX+). It does not in
/// every single run: who gets a message runs at once, which takes more switches of VCPUs, and where nobody
/// waits for a PCPU or a message there is nothing to gain.
pub fn faster(claims: &mut Claims, pairs: impl IntoIterator<Item = (String, f64, f64)>) -> Found<()> {
    claims.add("run time of PSX+ over that of PSX, geometric mean", || {
        let mut ratios: Vec<_> = pairs.into_iter().map(|(what, psx, plus)| (what, plus / psx)).collect();
        ratios.sort_by(|one, other| one.1.total_cmp(&other.1));
        let logs: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
        let mean = (logs / ratios.len() as f64).exp();
        let slower = ratios.iter().filter(|(_, ratio)| *ratio > 1.0).count();
        let (worst, most) = ratios.last().ok_or_else(|| CellError::NotRun("under PSX+".into()))?;
        let detail = format!("above 1 in {slower} of {}, at most {most:.4}: {worst}", ratios.len());
        Ok((Criterion::goal(Shape::Below(1.0)), Ours::one(mean, "").with(detail)))
    })
}

/// Whether the simulations with the keys of each list have one digest.
pub fn same_digests(claims: &mut Claims, results: &Results, lists: Vec<Vec<String>>) -> Found<()> {
    // A scheduler changes when something is computed, never what.
    claims.add("simulations whose digest is another one under another scheduler", || {
        let (mut runs, mut differ) = (0, 0);
        for keys in lists {
            let digests = keys.iter().map(|key| Ok(results.get(key)?.digest)).collect::<Found<Vec<_>>>()?;
            runs += digests.len();
            differ += digests.iter().filter(|digest| digest.is_none() || **digest != digests[0]).count();
        }
        let ours = Ours::one(differ as f64, "").with(format!("of {runs}"));
        Ok((Criterion::invariant(Shape::exactly(0.0)), ours))
    })
}

#[cfg(test)]
mod tests {
    use paceline_report::Verdict;

    use super::*;

    #[test]
    fn the_mean_decides_and_those_that_are_slower_are_reported() {
        let pairs = |plus: [f64; 3]| plus.map(|plus| (format!("took {plus}"), 1.0, plus));
        let faster = |pairs: [(String, f64, f64); 3]| {
            let mut claims = Claims::default();
            faster(&mut claims, pairs).expect("there is something to compare");
            let mut finding = claims.put_into(Finding::default());
            finding.checks.remove(0)
        };
        let held = faster(pairs([0.5, 1.02, 1.0]));
        assert_eq!(held.verdict(), Verdict::Reproduced);
        assert_eq!(held.ours(), "0.799 (above 1 in 1 of 3, at most 1.0200: took 1.02)");
        assert_eq!(faster(pairs([0.9, 1.2, 1.0])).verdict(), Verdict::Differs);
    }
}

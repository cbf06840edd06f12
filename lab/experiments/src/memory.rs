//! Runs that need not be done again. A fit tries vectors that differ in one constant at a time, and many runs
//! do not read that one: their results are those of the run before.
//!
//! Invariants: the result of a run follows from its key and from the constants that it reads, which
//! [`Calibration::of_run`] notes from the first one on. A run that has noted nothing is done again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::Calibration;
use crate::calibration::{Reads, Values};
use crate::plan::{Found, Measure};

/// Results of runs with one key, each with what it has read.
type Known = Vec<(Values, Found<Measure>)>;

/// The results of runs, by key and by the values that they have read.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    known: Mutex<BTreeMap<String, Known>>,
    reads: Reads,
}

impl Memory {
    /// The same constants, whose reads are noted here.
    pub fn noting(&self, calibration: &Calibration) -> Calibration {
        calibration.noted_in(&self.reads)
    }

    /// What the run with this key gives with `calibration`: what it gave before where that is known, else
    /// what `run` gives.
    pub fn of(
        &self,
        key: &str,
        calibration: &Calibration,
        run: impl FnOnce() -> Found<Measure>,
    ) -> Found<Measure> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(values, _): &&(Values, Found<Measure>)| {
            !values.is_empty() && values.iter().all(|(name, value)| calibration.has(name, *value))
        };
        if let Some((_, result)) = lock().get(key).and_then(|runs| runs.iter().find(same)) {
            return result.clone();
        }
        // Not locked meanwhile: others run side by side.
        let result = run();
        let values = self.reads.take(key);
        lock().entry(key.to_owned()).or_default().push((values, result.clone()));
        result
    }
}

#[cfg(test)]
mod tests {
    use paceline_machine::Costs;

    use super::*;

    /// How often a run is done with these calibrations, one after the other; it reads what `read` reads.
    fn done(calibrations: &[Calibration], read: impl Fn(&Calibration)) -> usize {
        let memory = Memory::default();
        let mut done = 0;
        for calibration in calibrations {
            let noting = memory.noting(calibration);
            let result = memory.of("key", &noting, || {
                done += 1;
                read(&noting.of_run("key"));
                Ok(Measure { seconds: calibration.get("psx.event") as f64, ..Measure::default() })
            });
            assert!(result.is_ok());
        }
        done
    }

    #[test]
    fn a_run_is_done_again_only_if_a_constant_changes_that_it_reads() {
        let table = Calibration::of_the_table();
        let others = [table.clone(), table.with("psx.ahead", 1), table.with("psx.event", 1), table.clone()];
        let event = |calibration: &Calibration| assert!(calibration.get("psx.event") > 0);
        let costs =
            |calibration: &Calibration| assert!(calibration.costs("psx", Costs::default()).switch_ns > 0);
        assert_eq!(done(&others, event), 2);
        assert_eq!(done(&others, costs), 1, "neither is a cost of the machine");
        assert_eq!(done(&[table.clone(), table.with("psx.switch", 1)], costs), 2);
        assert_eq!(done(&others, |_| {}), 4, "nothing is known of what it reads");
    }

    #[test]
    fn a_run_that_changes_a_constant_for_itself_depends_on_what_it_was_given() {
        let table = Calibration::of_the_table();
        let halves =
            |calibration: &Calibration| assert!(calibration.scaled("psx.event", 1, 2).get("psx.event") > 0);
        let half = table.scaled("psx.event", 1, 2);
        assert_eq!(done(&[table.clone(), half, table], halves), 2);
    }
}

//! The free constants of all experiments, each with its reason; one set for each paper. What a paper leaves
//! open is fitted: those constants have the value of the paper's vector ([`vectors`]), and the table says
//! what they were before.
//!
//! Invariant: no constant depends on a policy. [`Calibration::scaled`] changes one of them, to show which
//! conclusions depend on it.

mod reads;

use std::collections::BTreeMap;

use paceline_machine::Costs;

use crate::constants::CONSTANTS;
use crate::vectors;
pub(crate) use reads::{Reads, Values};

/// The values of all constants.
#[derive(Clone, Debug)]
pub struct Calibration {
    values: BTreeMap<&'static str, u64>,
    /// Where it is noted what is read, and by which run.
    noted: Option<(Reads, String)>,
}

/// Equal values are equal, whoever reads them.
impl PartialEq for Calibration {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Calibration {}

/// The values of the table, but the fitted ones where a paper has a vector.
impl Default for Calibration {
    fn default() -> Self {
        let fitted = vectors::all().iter().flat_map(|open| &open.quantities);
        fitted.fold(Self::of_the_table(), |calibration, tried| {
            calibration.with(tried.constant.name, tried.fitted)
        })
    }
}

impl Calibration {
    /// The values of the table: those before anything was fitted.
    pub fn of_the_table() -> Self {
        let values = CONSTANTS.iter().map(|constant| (constant.name, constant.value)).collect();
        Self { values, noted: None }
    }

    /// The same values; what runs read of them is noted in `reads`.
    pub(crate) fn noted_in(&self, reads: &Reads) -> Self {
        Self { noted: Some((reads.clone(), String::new())), ..self.clone() }
    }

    /// The same values for the run with this key, which is what reads them.
    #[must_use]
    pub(crate) fn of_run(&self, key: &str) -> Self {
        let noted = self.noted.as_ref().map(|(reads, _)| (reads.clone(), key.to_owned()));
        Self { noted, ..self.clone() }
    }

    /// Whether a constant has this value; nobody notes that.
    pub(crate) fn has(&self, name: &str, value: u64) -> bool {
        self.values.get(name) == Some(&value)
    }

    /// The value of the constant `name`, if there is one of that name.
    fn read(&self, name: &str) -> Option<u64> {
        let (name, value) = self.values.get_key_value(name)?;
        // What is read without a run is words of a report.
        if let Some((reads, key)) = self.noted.as_ref().filter(|(_, key)| !key.is_empty()) {
            reads.note(key, name, *value);
        }
        Some(*value)
    }

    /// The value of the constant `name`.
    ///
    /// # Panics
    /// If there is no such constant: names are written in this crate only.
    pub fn get(&self, name: &str) -> u64 {
        self.read(name).unwrap_or_else(|| panic!("every constant that is asked for is in the table: {name}"))
    }

    /// What things cost on the hosts of a paper: where it has a constant of that name, else as `usual` has
    /// it.
    pub(crate) fn costs(&self, paper: &str, usual: Costs) -> Costs {
        let mut costs = usual;
        for (name, cost) in [
            ("decision", &mut costs.decision_ns),
            ("examined", &mut costs.examined_ps),
            ("switch", &mut costs.switch_ns),
            ("migration", &mut costs.migration_ns),
            ("page_write", &mut costs.page_write_ns),
            ("send", &mut costs.send_ns),
            ("response", &mut costs.response_ns),
            ("receive", &mut costs.receive_ns),
            ("backend", &mut costs.backend_ns),
            ("nic", &mut costs.nic_ns),
            ("byte", &mut costs.byte_ps),
            ("smt", &mut costs.smt_permille),
        ] {
            *cost = self.read(&format!("{paper}.{name}")).unwrap_or(*cost);
        }
        costs
    }

    /// The same values, but the constant `name` has the value `value`.
    #[must_use]
    pub(crate) fn with(&self, name: &'static str, value: u64) -> Self {
        let mut changed = self.clone();
        changed.values.insert(name, value);
        changed
    }

    /// The same values, but the constant `name` times `numerator` / `denominator`, at least 1, and a share at
    /// most the whole.
    #[must_use]
    pub fn scaled(&self, name: &'static str, numerator: u64, denominator: u64) -> Self {
        let is_share = CONSTANTS.iter().any(|constant| constant.name == name && constant.unit == "permille");
        let most = if is_share { 1_000 } else { u64::MAX };
        self.with(name, (self.get(name) * numerator / denominator).clamp(1, most))
    }
}

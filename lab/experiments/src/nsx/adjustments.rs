//! NSX over the periods of its adjustments of idle VCPUs and idle domains, where guests have an idle VCPU.
//!
//! Invariant: a run differs from those of the figure in one period.

use super::runs::{Case, Scheduler, Ticks};
use super::second_vcpu::Adjusted;
use crate::parameters::kinds::micros;
use crate::prelude::*;

/// The runs of NSX over the periods of its adjustments, at the least and the longest tick.
#[derive(Clone, Debug)]
pub struct Adjustments {
    ticks: Ticks,
    all: Vec<Adjusted>,
}

impl Adjustments {
    pub fn read(ticks: &Ticks, parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let periods_us = parameters.tried("adjust", &micros(1_000..=60_000_000))?;
        let each = periods_us.into_iter().flat_map(|us| [Adjusted::Vcpus(us), Adjusted::Domains(us)]);
        Ok(Self { ticks: ticks.clone(), all: each.collect() })
    }

    fn case(&self, adjusted: Option<Adjusted>, tick_us: u64) -> Case {
        Case { adjusted, ..self.ticks.case(Scheduler::Nsx(1), tick_us) }
    }

    fn ticks_us(&self) -> [u64; 2] {
        let (shortest_us, longest_us) = self.ticks.ends_us();
        [shortest_us, longest_us]
    }

    pub fn cells(&self, setup: &Setup) -> Vec<Cell> {
        let both = |adjusted: &Adjusted| {
            self.ticks_us().map(|tick_us| self.case(Some(*adjusted), tick_us).cell(setup))
        };
        self.all.iter().flat_map(both).collect()
    }

    /// Errors and run times by adjustment and period, and those of the paper's periods.
    pub fn table(&self, results: &Results) -> Found<Table> {
        let ends = self.ticks_us();
        let columns = ends
            .iter()
            .flat_map(|tick_us| [format!("error at {tick_us} us"), format!("takes at {tick_us} us")]);
        let columns = ["adjusted".to_owned(), "every".to_owned()].into_iter().chain(columns);
        let mut table = Table::new("NSX over the periods of its adjustments", columns);
        for adjusted in std::iter::once(None).chain(self.all.iter().copied().map(Some)) {
            let (name, period) = match adjusted {
                None => ("both".to_owned(), "a minute (no run is as long)".to_owned()),
                Some(adjusted) => (adjusted.name().to_owned(), format!("{} us", adjusted.period_us())),
            };
            let mut row = vec![name, period];
            for tick_us in ends {
                let value = |name| results.value(&self.case(adjusted, tick_us).key(), name);
                row.push(format!("{:.2} % (+- {:.2})", value("error")?, value("error_half_width")?));
                row.push(format!("{:.3} s", value("time")?));
            }
            table.row(row);
        }
        Ok(table)
    }

    /// Whether any period moves the error by more than its intervals, in a sentence.
    pub fn note(&self, results: &Results) -> Found<Option<String>> {
        let interval = |adjusted, tick_us| -> Found<(f64, f64)> {
            let value = |name| results.value(&self.case(adjusted, tick_us).key(), name);
            let (error, half) = (value("error")?, value("error_half_width")?);
            Ok((error - half, error + half))
        };
        let mut moved = Vec::new();
        for tick_us in self.ticks_us() {
            let (low, high) = interval(None, tick_us)?;
            for adjusted in &self.all {
                let (other_low, other_high) = interval(Some(*adjusted), tick_us)?;
                if other_low > high || other_high < low {
                    moved.push(format!(
                        "{} every {} us at ticks of {tick_us} us",
                        adjusted.name(),
                        adjusted.period_us()
                    ));
                }
            }
        }
        Ok((!self.all.is_empty()).then(|| match moved.is_empty() {
            true => {
                "Adjustments: no period that was tried moves the error of NSX beyond its interval.".to_owned()
            }
            false => {
                format!("Adjustments: the error of NSX leaves its interval with these: {}.", moved.join("; "))
            }
        }))
    }
}

//! What is assumed where the paper leaves it open, and what other assumptions would make of the errors at the
//! longest tick.

use super::runs::{Case, Scheduler, Size, Ticks};
use super::variant::Variant;
use crate::prelude::*;

const COMPARED: [Scheduler; 2] = [Scheduler::Csx, Scheduler::Nsx(1)];

/// The runs at the longest tick of a figure, each assumption but the usual one with so many runs.
#[derive(Clone, Debug)]
pub struct Assumptions {
    pub ticks: Ticks,
    pub runs: u64,
}

impl Assumptions {
    fn case(&self, variant: Variant, scheduler: Scheduler) -> Case {
        let (_, longest_us) = self.ticks.ends_us();
        let usual = self.ticks.case(scheduler, longest_us);
        match variant {
            Variant::Usual => usual,
            _ => Case { variant, size: Size { runs: self.runs, ..usual.size }, ..usual },
        }
    }

    /// The runs with other assumptions than the usual ones.
    pub fn cells(&self, setup: &Setup) -> Vec<Cell> {
        let others = Variant::ALL.into_iter().filter(|variant| *variant != Variant::Usual);
        let cases = others.flat_map(|variant| COMPARED.map(|scheduler| self.case(variant, scheduler)));
        cases.map(|case| case.cell(setup)).collect()
    }

    /// Errors and run times at the longest tick under all assumptions.
    pub fn table(&self, results: &Results) -> Found<Table> {
        let (_, tick_us) = self.ticks.ends_us();
        let title = format!(
            "What is assumed, and errors and run times at {tick_us} us; for others than ours {} runs each",
            self.runs
        );
        let columns = ["assumption", "error of CSX", "error of NSX", "CSX takes", "NSX takes"];
        let mut table = Table::new(title, columns);
        for variant in Variant::ALL {
            let value = |scheduler, name| results.value(&self.case(variant, scheduler).key(), name);
            let (mut errors, mut times) = (Vec::new(), Vec::new());
            for scheduler in COMPARED {
                errors.push(format!("{:.2} %", value(scheduler, "error")?));
                times.push(format!("{:.2} s", value(scheduler, "time")?));
            }
            table.row([vec![variant.name().into()], errors, times].concat());
        }
        Ok(table)
    }
}

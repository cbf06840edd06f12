//! What is assumed where the paper leaves it open, and what other assumptions would make of the errors at the
//! longest tick.
//!
//! Invariant: a variant differs from the experiment in what its name says, for all schedulers alike.

use paceline_machine::Wait;
use paceline_machine::guests::rounds::Pacing;

use super::runs::{Case, Scheduler, Size, Ticks};
use crate::prelude::*;

named! {
    pub enum Variant {
        /// A barrier after each round; polling; one tick a turn; ticks of NSX half a tick apart; DOM0 with
        /// work of its own.
        Usual = "as everywhere here",
        Closed = "rank 0 waits for rank 2 only, no barrier",
        Free = "rank 0 waits for nobody",
        Blocking = "MPI blocks instead of polling",
        ThreeTicks = "a turn under CSX is three ticks",
        Together = "NSX ticks on both PCPUs at once",
        NoChores = "DOM0 has no work of its own",
        ShortChores = "that work takes a fifth as long each time",
        LongChores = "that work takes twice as long each time",
        OftenChores = "that work comes twice as often",
    }
}

const COMPARED: [Scheduler; 2] = [Scheduler::Csx, Scheduler::Nsx(1)];

impl Variant {
    pub const fn pacing(self) -> Pacing {
        match self {
            Self::Closed => Pacing::Closed,
            Self::Free => Pacing::Free,
            _ => Pacing::Barrier,
        }
    }

    pub const fn wait(self) -> Wait {
        if matches!(self, Self::Blocking) { Wait::Block } else { Wait::Poll }
    }

    /// Ticks in a turn of the credit scheduler.
    pub const fn credit_ticks(self) -> u64 {
        if matches!(self, Self::ThreeTicks) { 3 } else { 1 }
    }

    /// The constants for DOM0's own work; none if it has no such work.
    pub fn chores(self, calibration: &Calibration) -> Option<Calibration> {
        match self {
            Self::NoChores => None,
            Self::ShortChores => Some(calibration.scaled("nsx.dom0_work", 1, 5)),
            Self::LongChores => Some(calibration.scaled("nsx.dom0_work", 2, 1)),
            Self::OftenChores => Some(calibration.scaled("nsx.dom0_gap", 1, 2)),
            _ => Some(calibration.clone()),
        }
    }
}

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

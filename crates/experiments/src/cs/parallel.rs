//! Tables 5 and 6: one to four EP, or LU, at once, each with a VM on every PCPU.

use paceline_machine::guests::class::Class;
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};

use super::runs::{ALL, CSDD, CSDE, Case, Load, PUBLISHED, SEDF, Scheduler};
use super::turns::Turns;
use super::{about, seconds};
use crate::plan::{CellError, Plan, Results, Setup};

/// Seconds of SEDF, CSDE and CSDD, by the number of applications.
type Seconds = [[f64; 3]; 4];

const TABLE5: Seconds =
    [[109.48, 109.49, 110.95], [224.44, 226.23, 225.33], [337.79, 349.12, 350.47], [453.54, 485.76, 487.81]];

const TABLE6: Seconds =
    [[225.03, 225.25, 225.37], [448.08, 453.02, 452.87], [747.62, 704.56, 708.89], [1005.72, 977.01, 980.31]];

fn ep(count: u32) -> Load {
    Load::Ep(Class::C, count)
}

fn lu(count: u32) -> Load {
    Load::Lu(Class::B, count)
}

/// The table, with the load by its number of applications.
#[derive(Clone, Copy)]
pub struct Grid {
    load: fn(u32) -> Load,
    published: Seconds,
}

const EPS: Grid = Grid { load: ep, published: TABLE5 };
pub const LUS: Grid = Grid { load: lu, published: TABLE6 };

pub fn table5(setup: &Setup) -> Plan {
    Plan { cells: EPS.cells(setup), judge: Box::new(judge5) }
}

pub fn table6(setup: &Setup) -> Plan {
    let turns = Turns::new(setup);
    let mut cells = LUS.cells(setup);
    cells.extend(turns.cells(setup));
    Plan { cells, judge: Box::new(move |results| judge6(results, &turns)) }
}

impl Grid {
    fn cells(self, setup: &Setup) -> Vec<crate::Cell> {
        let cases = (1..=4).flat_map(|count| ALL.map(|scheduler| self.case(count, scheduler)));
        cases.map(|case| case.cell(setup)).collect()
    }

    pub fn case(self, count: u32, scheduler: Scheduler) -> Case {
        Case::new((self.load)(count), scheduler)
    }

    pub fn seconds(self, results: &Results, count: u32, scheduler: Scheduler) -> Result<f64, CellError> {
        results.seconds(&self.case(count, scheduler).key())
    }

    /// How much longer than SEDF, in per cent: ours and published.
    pub fn longer(
        self,
        results: &Results,
        count: u32,
        scheduler: Scheduler,
    ) -> Result<(f64, f64), CellError> {
        let place = PUBLISHED.iter().position(|known| *known == scheduler).unwrap_or(0);
        let row = self.published[count as usize - 1];
        let ours = self.seconds(results, count, scheduler)? / self.seconds(results, count, SEDF)?;
        Ok((100.0 * (ours - 1.0), 100.0 * (row[place] / row[0] - 1.0)))
    }

    fn table(self, results: &Results, title: &str) -> Result<Table, CellError> {
        let names = ALL.map(|scheduler| scheduler.name);
        let mut table = Table::new(title, ["at once"].into_iter().chain(names));
        for count in 1..=4 {
            let mut cells = vec![count.to_string()];
            for (place, scheduler) in ALL.into_iter().enumerate() {
                let ours = seconds(self.seconds(results, count, scheduler)?);
                let published = self.published[count as usize - 1].get(place);
                cells.push(published.map_or(ours.clone(), |published| format!("{ours} ({published:.2})")));
            }
            table.row(cells);
        }
        Ok(table)
    }

    /// A figure of `value(seconds, applications, seconds of one under SEDF)`.
    fn figure(
        self,
        results: &Results,
        title: &str,
        y: Axis,
        value: fn(f64, f64, f64) -> f64,
    ) -> Result<Figure, CellError> {
        let mut series = Vec::new();
        let one = self.seconds(results, 1, SEDF)?;
        for (place, scheduler) in PUBLISHED.into_iter().enumerate() {
            let (mut ours, mut published) = (Vec::new(), Vec::new());
            for count in 1..=4 {
                let number = f64::from(count);
                ours.push((number, value(self.seconds(results, count, scheduler)?, number, one)));
                let stated = self.published[count as usize - 1][place];
                published.push((number, value(stated, number, self.published[0][0])));
            }
            series.push(Series::ours(scheduler.name, Kind::Lines, ours));
            series.push(Series::published(scheduler.name, Kind::Lines, published));
        }
        let x = Axis::linear("applications at once", "");
        Ok(Figure { title: title.into(), caption: String::new(), x, y, series })
    }
}

fn judge5(results: &Results) -> Result<Finding, CellError> {
    let mut checks = Vec::new();
    for scheduler in [CSDE, CSDD] {
        let mut before = f64::NEG_INFINITY;
        for count in 1..=4 {
            let (ours, published) = EPS.longer(results, count, scheduler)?;
            checks.push(Check {
                what: format!("{} over SEDF, {count} EP C at once", scheduler.name),
                published: format!("{published:+.2} %"),
                ours: format!("{ours:+.2} %"),
                must: "no gain, and more overhead than with fewer".into(),
                holds: ours >= 0.0 && ours > before,
            });
            before = ours;
        }
    }
    let overhead = |seconds: f64, count: f64, one: f64| seconds - count * one;
    let figure =
        EPS.figure(results, "Overhead with EP (figure 29)", Axis::linear("overhead", "s"), overhead)?;
    let table = EPS.table(results, "Run time of EP C, published in brackets")?;
    let (_, published) = EPS.longer(results, 4, CSDE)?;
    let notes = vec![format!(
        "The overhead is the scan: 1,024 ports (32-bit guests of Xen 4.1; 64-bit ones have 4,096) of every candidate at every \
         turn of 500 us. The published {published:.0} % at 4 would be {:.0} us a candidate. With the index nothing of it is left but \
         the turns themselves.",
        published / 100.0 * 500.0 / 4.0
    )];
    Ok(Finding {
        about: about(),
        checks,
        figures: vec![figure],
        tables: vec![table],
        notes,
        ..Finding::default()
    })
}

/// The check of a scheduler with so many LU at once.
pub fn versus(scheduler: Scheduler, count: u32) -> String {
    format!("{} over SEDF, {count} LU B at once", scheduler.name)
}

fn judge6(results: &Results, turns: &Turns) -> Result<Finding, CellError> {
    let mut checks = Vec::new();
    for scheduler in [CSDE, CSDD] {
        for count in 2..=4 {
            let (ours, published) = LUS.longer(results, count, scheduler)?;
            let (must, holds) = if count == 2 { ("a loss", ours > 0.0) } else { ("a gain", ours < 0.0) };
            checks.push(Check {
                what: versus(scheduler, count),
                published: format!("{published:+.2} %"),
                ours: format!("{ours:+.2} %"),
                must: must.into(),
                holds,
            });
        }
    }
    let slowdown = |seconds: f64, _: f64, one: f64| seconds / one;
    let figure =
        LUS.figure(results, "Slowdown of LU (figures 31 and 32)", Axis::linear("slowdown", ""), slowdown)?;
    let table = LUS.table(results, "Run time of LU B, published in brackets")?;
    let (three, four) = (LUS.case(3, SEDF).key(), LUS.case(4, SEDF).key());
    let one = LUS.seconds(results, 1, SEDF)?;
    let times = |count: usize| LUS.published[count - 1][0] / LUS.published[0][0];
    let notes = vec![format!(
        "Why there is no gain at 3 and 4: there is nothing to be gained. Under SEDF {:.1} % and {:.1} % of the VCPUs' time goes \
         to polling, as a plane takes some milliseconds to compute and a turn is 500 us: while a VM waits for its turn its \
         messages come. 3 LU take {:.3} times and 4 take {:.3} times what one takes, where the source has {:.2} and {:.2}, and {:.2} \
         for 2: each LU loses {:.0} % and more as soon as a third one is there, which is what CSDE wins a part of back. A cache \
         that holds the planes of two processes and not of three would explain that; caches are not modelled.",
        results.value(&three, "lu_polled")?,
        results.value(&four, "lu_polled")?,
        results.seconds(&three)? / one,
        results.seconds(&four)? / one,
        times(3),
        times(4),
        times(2),
        100.0 * (times(3) / 3.0 - 1.0),
    )];
    let mut finding = Finding {
        about: about(),
        checks,
        figures: vec![figure],
        tables: vec![table],
        notes,
        ..Finding::default()
    };
    turns.add(&mut finding, results)?;
    Ok(finding)
}

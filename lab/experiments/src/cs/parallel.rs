//! Tables 5 and 6: one to four EP, or LU, at once, each with a VM on every PCPU.

use paceline_machine::guests::class::Class;

use super::runs::{ALL, CSDD, CSDE, Case, Load, PUBLISHED, SEDF, Scheduler, Work, part};
use super::turns::Turns;
use super::{about, seconds};
use crate::parameters::kinds::count;
use crate::prelude::*;

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

/// The table, with the load by its number of applications, the numbers that are run, and how much of their
/// work is done.
#[derive(Clone, Debug)]
pub struct Grid {
    load: fn(u32) -> Load,
    published: Seconds,
    pub counts: Vec<u32>,
    work: Work,
}

pub fn table5(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let eps = Grid::read(ep, TABLE5, parameters)?;
    Ok(Plan::new(eps.cells(setup), move |results| judge5(results, &eps)))
}

pub fn table6(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let lus = Grid::read(lu, TABLE6, parameters)?;
    let turns = Turns::read(lus.clone(), setup, parameters)?;
    let mut cells = lus.cells(setup);
    cells.extend(turns.cells(setup));
    Ok(Plan::new(cells, move |results| judge6(results, &lus, &turns)))
}

impl Grid {
    fn read(
        load: fn(u32) -> Load,
        published: Seconds,
        parameters: &mut Parameters,
    ) -> Result<Self, ScenarioError> {
        let counts = parameters.points("at_once", &count(1..=4))?;
        let work = Work::Part(parameters.one("part", &part())?);
        Ok(Self { load, published, counts, work })
    }

    fn cells(&self, setup: &Setup) -> Vec<crate::Cell> {
        let cases = self.counts.iter().flat_map(|count| ALL.map(|scheduler| self.case(*count, scheduler)));
        cases.map(|case| case.cell(setup)).collect()
    }

    pub fn case(&self, count: u32, scheduler: Scheduler) -> Case {
        Case::new((self.load)(count), scheduler, self.work)
    }

    pub fn seconds(&self, results: &Results, count: u32, scheduler: Scheduler) -> Found<f64> {
        results.seconds(&self.case(count, scheduler).key())
    }

    /// How much longer than SEDF, in per cent.
    pub fn longer(&self, results: &Results, count: u32, scheduler: Scheduler) -> Found<f64> {
        let ours = self.seconds(results, count, scheduler)? / self.seconds(results, count, SEDF)?;
        Ok(100.0 * (ours - 1.0))
    }

    fn published_longer(&self, count: u32, scheduler: Scheduler) -> f64 {
        let place = PUBLISHED.iter().position(|known| *known == scheduler).unwrap_or(0);
        let row = self.published[count as usize - 1];
        100.0 * (row[place] / row[0] - 1.0)
    }

    fn table(&self, results: &Results, title: &str) -> Found<Table> {
        let names = ALL.map(|scheduler| scheduler.name);
        let mut table = Table::new(title, ["at once"].into_iter().chain(names));
        for count in self.counts.iter().copied() {
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
        &self,
        results: &Results,
        title: &str,
        y: Axis,
        value: fn(f64, f64, f64) -> f64,
    ) -> Found<Figure> {
        let mut series = Vec::new();
        let one = self.seconds(results, 1, SEDF)?;
        for (place, scheduler) in PUBLISHED.into_iter().enumerate() {
            let (mut ours, mut published) = (Vec::new(), Vec::new());
            for count in self.counts.iter().copied() {
                let number = f64::from(count);
                ours.push((number, value(self.seconds(results, count, scheduler)?, number, one)));
                let stated = self.published[count as usize - 1][place];
                published.push((number, value(stated, number, self.published[0][0])));
            }
            series.push(Series::ours(scheduler.name, Kind::Lines, ours));
            series.push(Series::published(scheduler.name, Kind::Lines, published));
        }
        let x = Axis::linear("applications at once", "");
        Ok(plot(title, "", [x, y], series))
    }
}

fn judge5(results: &Results, eps: &Grid) -> Found<Finding> {
    let mut claims = Claims::default();
    for scheduler in [CSDE, CSDD] {
        let mut before = f64::NEG_INFINITY;
        for count in 1..=4 {
            let what = format!("{} over SEDF, {count} EP C at once", scheduler.name);
            let published = format!("{:+.2} %", eps.published_longer(count, scheduler));
            claims.add(what, published, "no gain, and more overhead than with fewer", || {
                let ours = eps.longer(results, count, scheduler)?;
                let holds = ours >= 0.0 && ours > before;
                before = ours;
                Ok((format!("{ours:+.2} %"), holds))
            })?;
        }
    }
    let overhead = |seconds: f64, count: f64, one: f64| seconds - count * one;
    let title = "Overhead with EP (figure 29)";
    let figure = || eps.figure(results, title, Axis::linear("overhead", "s"), overhead);
    let figure = claims.if_planned(title, figure)?;
    let table = eps.table(results, "Run time of EP C, published in brackets")?;
    let published = eps.published_longer(4, CSDE);
    let notes = vec![format!(
        "The overhead is the scan: 1,024 ports (32-bit guests of Xen 4.1; 64-bit ones have 4,096) of every candidate at every \
         turn of 500 us. The published {published:.0} % at 4 would be {:.0} us a candidate. With the index nothing of it is left but \
         the turns themselves.",
        published / 100.0 * 500.0 / 4.0
    )];
    Ok(claims.put_into(Finding {
        about: about(),
        figures: figure.into_iter().collect(),
        tables: vec![table],
        notes,
        ..Finding::default()
    }))
}

/// The check of a scheduler with so many LU at once.
pub fn versus(scheduler: Scheduler, count: u32) -> String {
    format!("{} over SEDF, {count} LU B at once", scheduler.name)
}

fn judge6(results: &Results, lus: &Grid, turns: &Turns) -> Found<Finding> {
    let mut claims = Claims::default();
    for scheduler in [CSDE, CSDD] {
        for count in 2..=4 {
            let published = format!("{:+.2} %", lus.published_longer(count, scheduler));
            let must = if count == 2 { "a loss" } else { "a gain" };
            claims.add(versus(scheduler, count), published, must, || {
                let ours = lus.longer(results, count, scheduler)?;
                Ok((format!("{ours:+.2} %"), if count == 2 { ours > 0.0 } else { ours < 0.0 }))
            })?;
        }
    }
    let slowdown = |seconds: f64, _: f64, one: f64| seconds / one;
    let title = "Slowdown of LU (figures 31 and 32)";
    let figure = || lus.figure(results, title, Axis::linear("slowdown", ""), slowdown);
    let figure = claims.if_planned(title, figure)?;
    let table = lus.table(results, "Run time of LU B, published in brackets")?;
    let note = claims.if_planned("why there is no gain at 3 and 4", || why(results, lus))?;
    let finding = Finding {
        about: about(),
        figures: figure.into_iter().collect(),
        tables: vec![table],
        notes: note.into_iter().collect(),
        ..Finding::default()
    };
    let mut finding = claims.put_into(finding);
    turns.add(&mut finding, results)?;
    Ok(finding)
}

/// Why there is no gain at 3 and 4.
fn why(results: &Results, lus: &Grid) -> Found<String> {
    let (three, four) = (lus.case(3, SEDF).key(), lus.case(4, SEDF).key());
    let one = lus.seconds(results, 1, SEDF)?;
    let times = |count: usize| lus.published[count - 1][0] / lus.published[0][0];
    Ok(format!(
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
    ))
}

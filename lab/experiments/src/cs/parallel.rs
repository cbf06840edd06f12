//! Tables 5 and 6: one to four EP, or LU, at once, each with a VM on every PCPU.

use paceline_machine::guests::class::Class;

use super::runs::{ALL, CSDD, CSDE, CSDE_INDEXED, Case, Load, PUBLISHED, SEDF, Scheduler, Work, part};
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
    let turn_us = setup.calibration.get("cs.turn");
    Ok(Plan::new(eps.cells(setup), move |results| judge5(results, &eps, turn_us)))
}

pub fn table6(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let lus = Grid::read(lu, TABLE6, parameters)?;
    let turns = Turns::read(lus.clone(), setup, parameters)?;
    let mut cells = lus.cells(setup);
    cells.extend(turns.cells(setup));
    let turn_us = setup.calibration.get("cs.turn");
    Ok(Plan::new(cells, move |results| judge6(results, &lus, &turns, turn_us)))
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

fn judge5(results: &Results, eps: &Grid, turn_us: u64) -> Found<Finding> {
    let mut claims = Claims::default();
    for scheduler in [CSDE, CSDD] {
        for count in 1..=4 {
            let what = format!("{} over SEDF, {count} EP C at once", scheduler.name);
            claims.add(what, || {
                let criterion =
                    Criterion::published(eps.published_longer(count, scheduler), Tolerance::PERCENTAGES);
                let ours = Ours::one(eps.longer(results, count, scheduler)?, "%");
                Ok((criterion.or(Shape::at_least(0.0)), ours))
            })?;
        }
        claims.add(format!("{} over SEDF, from 1 to 4 EP C at once", scheduler.name), || {
            let all =
                (1..=4).map(|count| eps.longer(results, count, scheduler)).collect::<Found<Vec<_>>>()?;
            let words = "the overhead grows with the number of VMs";
            Ok((Criterion::stated(Statement::Order, words, Shape::Rises(0.0)), Ours::all(all, "%")))
        })?;
    }
    let overhead = |seconds: f64, count: f64, one: f64| seconds - count * one;
    let title = "Overhead with EP (figure 29)";
    let figure = || eps.figure(results, title, Axis::linear("overhead", "s"), overhead);
    let figure = claims.if_planned(title, figure)?;
    let table = eps.table(results, "Run time of EP C, published in brackets")?;
    let published = eps.published_longer(4, CSDE);
    let indexed = || eps.longer(results, 4, CSDE_INDEXED);
    let indexed = claims.if_planned("what 4 EP at once lose with an index", indexed)?;
    let mut notes = vec![format!(
        "The overhead is the scan: 1,024 ports (32-bit guests of Xen 4.1; 64-bit ones have 4,096) of every candidate at every \
         turn of {turn_us} us. The published {published:.0} % at 4 would be {:.0} us a candidate.",
        published / 100.0 * turn_us as f64 / 4.0
    )];
    notes
        .extend(indexed.map(|longer| {
            format!("With the index 4 EP at once take {longer:+.2} % longer than under SEDF.")
        }));
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

/// By how much longer than SEDF a scheduler takes with so many LU, as published, and the sign of that.
fn published6(lus: &Grid, scheduler: Scheduler, count: u32) -> (f64, Shape) {
    let published = lus.published_longer(count, scheduler);
    (published, if published < 0.0 { Shape::Below(0.0) } else { Shape::Above(0.0) })
}

/// What is wanted of a gain: the published number, on the side of zero where that is.
pub fn wanted6(lus: &Grid, scheduler: Scheduler, count: u32) -> Wanted {
    let (published, sign) = published6(lus, scheduler, count);
    match (Tolerance::PERCENTAGES.around(published), sign) {
        (Wanted::Within(least, most), Shape::Below(limit)) => Wanted::Within(least, most.min(limit)),
        (Wanted::Within(least, most), _) => Wanted::Within(least.max(0.0), most),
        (wanted, _) => wanted,
    }
}

fn judge6(results: &Results, lus: &Grid, turns: &Turns, turn_us: u64) -> Found<Finding> {
    let mut claims = Claims::default();
    for scheduler in [CSDE, CSDD] {
        for count in 2..=4 {
            claims.add(versus(scheduler, count), || {
                let (published, sign) = published6(lus, scheduler, count);
                let ours = Ours::one(lus.longer(results, count, scheduler)?, "%");
                Ok((Criterion::published(published, Tolerance::PERCENTAGES).or(sign), ours))
            })?;
        }
    }
    let slowdown = |seconds: f64, _: f64, one: f64| seconds / one;
    let title = "Slowdown of LU (figures 31 and 32)";
    let figure = || lus.figure(results, title, Axis::linear("slowdown", ""), slowdown);
    let figure = claims.if_planned(title, figure)?;
    let table = lus.table(results, "Run time of LU B, published in brackets")?;
    let note = claims.if_planned("what 3 and 4 LU take under SEDF", || slower(results, lus, turn_us))?;
    let finding = Finding {
        about: about(),
        figures: figure.into_iter().collect(),
        tables: vec![table],
        ..Finding::default()
    };
    let mut finding = claims.put_into(finding);
    if [3, 4].into_iter().any(|count| finding.misses(&versus(CSDE, count))) {
        finding.notes.extend(note);
    }
    turns.add(&mut finding, results)?;
    Ok(finding)
}

/// What there is to be gained at 3 and 4: what polls, and what SEDF takes there and by the source.
fn slower(results: &Results, lus: &Grid, turn_us: u64) -> Found<String> {
    let (three, four) = (lus.case(3, SEDF).key(), lus.case(4, SEDF).key());
    let one = lus.seconds(results, 1, SEDF)?;
    let times = |count: usize| lus.published[count - 1][0] / lus.published[0][0];
    Ok(format!(
        "What there is to be gained at 3 and 4: under SEDF {:.1} % and {:.1} % of the VCPUs' time goes to polling; a plane takes some milliseconds to \
         compute, a turn is {turn_us} us, and messages come while a VM waits for its turn. 3 LU take {:.3} times and 4 take {:.3} times what one takes; \
         the source has {:.2} and {:.2}, and {:.2} for 2. There each LU loses {:.0} % as soon as a third one is there. A cache that has room for the \
         planes of two processes and not of three would explain that; caches are not modelled.",
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

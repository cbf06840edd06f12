//! The live page of replications: which run and how far they are, and the interval of each quantity as it
//! narrows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_kernel::Time;
use paceline_report::{Axis, Figure, Kind, Series, Table, name_and_unit, number};

use super::fate::Fate;
use super::page::{COLUMNS, OF_RESULTS, cells};
use super::plan::Plan;
use super::together::{Quantity, quantities};
use super::watched::Watched;
use crate::live::{About, Course, Drawing, Now, Scene, Standing, Standings};
use crate::summary::Outcome;
use crate::text;

/// Quantities that have a figure.
const FIGURES: usize = 6;
/// Places of a figure at which an interval is drawn.
const PLACES: usize = 40;

/// What the page shows of replications.
#[derive(Debug)]
pub struct ReplicationsPage {
    watched: Watched,
    about: About,
    first_seed: u64,
    until: Option<Time>,
    at_once: u32,
    threads: u32,
    /// What the work of a run is counted in.
    work: &'static str,
    ended: Mutex<Ended>,
}

/// What has ended so far.
#[derive(Debug, Default)]
struct Ended {
    /// The values of each quantity, in the order in which replications ended; and the names in theirs.
    values: BTreeMap<String, Vec<f64>>,
    names: Vec<String>,
    /// Seeds, and why they failed.
    failed: Vec<(u64, String)>,
}

impl ReplicationsPage {
    /// Of replications that are `watched` so.
    pub fn new(plan: &Plan, watched: &Watched) -> Arc<Self> {
        let kind = format!("{} replications of a run, model {}", plan.replications, plan.model);
        Arc::new(Self {
            watched: watched.clone(),
            about: About { name: plan.scenario(), kind, ..About::default() },
            first_seed: plan.first_seed,
            until: plan.until,
            at_once: plan.at_once,
            threads: plan.threads,
            work: plan.units[0],
            ended: Mutex::default(),
        })
    }

    /// A replication has come to this.
    pub fn note(&self, seed: u64, fate: &Fate) {
        let mut ended = self.ended();
        match fate {
            Fate::Failed(failure) => ended.failed.push((seed, failure.problem())),
            Fate::Ended(outcome, _) if outcome.is_complete() => {
                let work = [(self.work, (|outcome| outcome.work as f64) as fn(&Outcome) -> f64)];
                for quantity in quantities(&[&**outcome], &[work.as_slice(), &OF_RESULTS].concat()).0 {
                    let Quantity { name, values } = quantity;
                    if !ended.values.contains_key(&name) {
                        ended.names.push(name.clone());
                    }
                    ended.values.entry(name).or_default().extend(values);
                }
            }
            Fate::Ended(..) | Fate::NotBegun => {}
        }
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The quantities so far.
    fn quantities(&self) -> Vec<Quantity> {
        let ended = self.ended();
        let of = |name: &String| Some(Quantity::new(name.clone(), ended.values.get(name)?.clone()));
        ended.names.iter().filter_map(of).collect()
    }
}

impl Scene for ReplicationsPage {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn requests(&self) -> &'static [&'static str] {
        &["stop"]
    }

    fn answer(&self, _: &str) -> Result<String, String> {
        self.watched.stop();
        Ok("all replications stop".into())
    }

    fn now(&self) -> Now {
        let count = self.watched.count();
        let (done, failed) = (self.watched.part(self.until), self.ended().failed.len());
        let running = self.watched.running();
        let mut numbers = vec![
            ("Replications", text::count(count.all.into())),
            ("Done", text::count(count.ended.into())),
            ("Running", running.len().to_string()),
        ];
        if failed > 0 {
            numbers.push(("Failed", text::count(failed as u64)));
        }
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        numbers.push(("At once", format!("{}, with {threads} each", self.at_once)));
        let work =
            Course { name: "Work a second", unit: self.work, value: count.work as f64, is_total: true };
        let rows = running.into_iter().map(|(number, time)| Standing {
            name: format!("seed {}", self.first_seed + u64::from(number)),
            at: Some(time.as_secs_f64()),
            colour: Some(number),
            busy: 1.0,
            ..Standing::default()
        });
        let standings = Standings {
            title: "Replications that run, in simulated time",
            part: "replication",
            unit: "s",
            origin: (0.0, "start"),
            end: self.until.map(Time::as_secs_f64),
            rows: rows.collect(),
            ..Standings::default()
        };
        Now {
            done: Some(done),
            is_stopping: self.watched.stopped(),
            numbers,
            courses: vec![work],
            standings: Some(standings),
            ..Now::default()
        }
    }

    fn drawing(&self) -> Drawing {
        let quantities = self.quantities();
        let mut tables = Vec::new();
        if !quantities.is_empty() {
            let mut table = Table::new("Means so far", COLUMNS);
            quantities.iter().for_each(|quantity| table.row(cells(quantity)));
            tables.push(table);
        }
        let failed = self.ended().failed.clone();
        if !failed.is_empty() {
            let mut table = Table::new("Failed", ["seed", "why"]);
            failed.into_iter().for_each(|(seed, why)| table.row([seed.to_string(), why]));
            tables.push(table);
        }
        let figures = quantities.iter().filter_map(narrowing).take(FIGURES).collect();
        Drawing { tables, figures, ..Drawing::default() }
    }
}

/// The mean of a quantity and its interval, over the number of replications; nothing where it is the same in
/// all, or there are too few.
fn narrowing(quantity: &Quantity) -> Option<Figure> {
    quantity.deviation().filter(|deviation| *deviation > 0.0)?;
    let all = quantity.values.len();
    let places = (1..=PLACES).map(|place| (place * all).div_ceil(PLACES)).filter(|count| *count > 1);
    let mut counts: Vec<usize> = places.collect();
    counts.dedup();
    let (mut means, mut ends) = (Vec::new(), Vec::new());
    for count in counts {
        let part = Quantity::new("", quantity.values[..count].to_vec());
        let (x, (low, high)) = (count as f64, part.interval()?);
        means.push((x, part.mean()));
        ends.extend([(x, low), (x, high)]);
    }
    let (name, unit) = name_and_unit(&quantity.name);
    let last = means.last().map_or(0.0, |(_, mean)| *mean);
    Some(Figure {
        title: format!("{name}: {}", number(last)),
        x: Axis::linear("replications", ""),
        y: Axis::linear(name.as_str(), unit),
        series: vec![
            Series::ours(name.as_str(), Kind::Intervals, ends),
            Series::ours(name.as_str(), Kind::Lines, means),
        ],
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_replications_until_then() {
        let values: Vec<f64> = (0..1000).map(|number| f64::from(number % 10)).collect();
        let figure = narrowing(&Quantity::new("travel_s", values.clone())).expect("it varies");
        let [ends, means] = &figure.series[..] else { panic!("{figure:?}") };
        assert_eq!((means.points.len(), ends.points.len()), (PLACES, 2 * PLACES));
        let half = Quantity::new("", values[..500].to_vec());
        assert_eq!(means.points[PLACES / 2 - 1], (500.0, half.mean()));
        let width = |place: usize| ends.points[2 * place + 1].1 - ends.points[2 * place].1;
        assert!(width(PLACES - 1) < width(0), "it narrows");
        assert!(narrowing(&Quantity::new("same", vec![3.0; 9])).is_none());
    }
}

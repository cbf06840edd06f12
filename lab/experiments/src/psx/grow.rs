//! Growing and shrinking (section 5.4 of the paper, which has no figure of it): the city VSB on a host whose
//! PCPUs come and go, beside one that has all of them always and one that never has those.
//!
//! PCPUs are taken by a tenant: a domain with a VCPU pinned to each, which computes and does not simulate.
//! Under PSX and PSX+ a domain in normal mode goes before all that simulate, so that such a PCPU is gone for
//! them. CSX would share it, whatever the tenant's weight, and is left out.
//!
//! Invariant: only the tenant differs between the runs that are compared.

use super::runs::{PCPUS, Taken};
use super::traffic::{Run, about};
use super::{Gear, Reports, Scheduler};
use crate::parameters::kinds::{count, micros};
use crate::prelude::*;

/// A host that follows its PCPUs may take so many times as long as its parts of the time with all of them and
/// without some would make.
const FOLLOWS: f64 = 1.10;

/// Those that a tenant takes a PCPU from altogether.
const SCHEDULERS: [Scheduler; 2] = [Scheduler::Psx, Scheduler::PsxPlus(Reports::AsToPsx)];

/// Points of a curve in the figure, at most.
const POINTS: usize = 200;

#[derive(Clone, Debug)]
struct Runs {
    domains: u32,
    until_s: u64,
    /// PCPUs that come and go, and how long they are gone and there together.
    pcpus: u32,
    period_us: u64,
}

/// How many PCPUs there are: all, all but some in turns, all but some.
const HOSTS: [&str; 3] = ["all PCPUs", "some come and go", "without these"];

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        domains: parameters.one("domains", &super::domains())?,
        until_s: parameters.one("until", &super::horizon())?,
        pcpus: parameters.one("come_and_go", &count(1..=PCPUS - 1))?,
        period_us: parameters.one("period", &micros(2..=1_000_000_000))?,
    };
    let cells = runs.all().map(|(scheduler, host)| runs.run(scheduler, host).cell(setup)).collect();
    Ok(Plan::new(cells, move |results| runs.judge(results)))
}

impl Runs {
    fn all(&self) -> impl Iterator<Item = (Scheduler, usize)> {
        let hosts = |scheduler| (0..HOSTS.len()).map(move |host| (scheduler, host));
        SCHEDULERS.into_iter().flat_map(hosts)
    }

    fn run(&self, scheduler: Scheduler, host: usize) -> Run {
        let taken = [
            None,
            Some(Taken { pcpus: self.pcpus, period_us: Some(self.period_us) }),
            Some(Taken { pcpus: self.pcpus, period_us: None }),
        ];
        let (domains, gear, until_s) = (self.domains, Gear::Cons, self.until_s);
        Run { domains, gear, scheduler, until_s, taken: taken[host] }
    }

    fn seconds(&self, results: &Results, scheduler: Scheduler) -> Found<[f64; 3]> {
        let time = |host| results.seconds(&self.run(scheduler, host).key());
        Ok([time(0)?, time(1)?, time(2)?])
    }

    fn judge(&self, results: &Results) -> Found<Finding> {
        let (mut claims, mut series) = (Claims::default(), Vec::new());
        let columns = ["scheduler", HOSTS[0], HOSTS[1], HOSTS[2], "gain of growing"];
        let mut table = Table::new("Run times in seconds", columns);
        for scheduler in SCHEDULERS {
            let times = self.seconds(results, scheduler)?;
            let [all, both, few] = times;
            let cells = times.map(|time| format!("{time:.3}"));
            let gain = format!("{:.2}", few / both);
            table.row(std::iter::once(scheduler.name()).chain(cells).chain([gain]));
            claims.add(
                format!("{}: run time while PCPUs come and go, times that of both halves", scheduler.name()),
                || {
                    // Half of the time at the speed with all, half at that without some.
                    let halves = 2.0 / (1.0 / all + 1.0 / few);
                    Ok((Criterion::goal(Shape::at_most(FOLLOWS)), Ours::one(both / halves, "times")))
                },
            )?;
            claims.add(
                format!("{}: gain of PCPUs that come and go over never having them", scheduler.name()),
                || Ok((Criterion::goal(Shape::Above(1.0)), Ours::one(few / both, "times"))),
            )?;
            for (host, name) in HOSTS.into_iter().enumerate() {
                let points = total(&results.get(&self.run(scheduler, host).key())?.series);
                series.push(Series::ours(format!("{}, {name}", scheduler.name()), Kind::Lines, points));
            }
        }
        let keys = self.all().map(|(scheduler, host)| self.run(scheduler, host).key());
        super::claims::same_digests(&mut claims, results, vec![keys.collect()])?;
        let figure = plot(
            "Events processed over run time while PCPUs come and go",
            "All federates together. The paper has no such figure: it calls growing and shrinking future work.",
            [Axis::linear("run time", "s"), Axis::linear("events", "")],
            series,
        );
        Ok(claims.put_into(Finding {
            about: vec![about(self.until_s), self.about()],
            figures: vec![figure],
            tables: vec![table],
            notes: vec![self.note(results)?],
            ..Finding::default()
        }))
    }

    fn about(&self) -> String {
        let millis = self.period_us as f64 / 2e3;
        format!(
            "{} guests, CONS. \"{}\": {} of the {PCPUS} PCPUs are a tenant's for {millis} ms, then free for {millis} ms, and so on.",
            self.domains, HOSTS[1], self.pcpus
        )
    }

    /// What the PCPUs are worth, by the numbers.
    fn note(&self, results: &Results) -> Found<String> {
        let mut worth = Vec::new();
        for scheduler in SCHEDULERS {
            let [all, _, few] = self.seconds(results, scheduler)?;
            worth.push(format!("{:.2} times under {}", few / all, scheduler.name()));
        }
        Ok(format!(
            "What the {} PCPUs are worth: without them a run takes {} as long as with all {PCPUS}. More than that growing cannot gain.",
            self.pcpus,
            worth.join(", ")
        ))
    }
}

/// The events of all federates together over time, by a few points.
fn total(series: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let steps = |points: &Vec<(f64, f64)>| {
        let mut before = 0.0;
        let step = move |(at, events): &(f64, f64)| (*at, events - std::mem::replace(&mut before, *events));
        points.iter().map(step).collect::<Vec<_>>()
    };
    let mut steps: Vec<(f64, f64)> = series.iter().flat_map(steps).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (every, mut sum) = ((steps.len() / POINTS).max(1), 0.0);
    let sums = steps.iter().map(|(at, events)| {
        sum += events;
        (*at, sum)
    });
    let sums: Vec<_> = sums.collect();
    let last = sums.len().saturating_sub(1);
    let kept = |(place, point): (usize, &(f64, f64))| (place % every == 0 || place == last).then_some(*point);
    sums.iter().enumerate().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_are_counted_when_they_were_processed() {
        let of = |points: &[(f64, f64)]| points.to_vec();
        let series = [of(&[(1.0, 2.0), (3.0, 5.0)]), of(&[(2.0, 7.0)])];
        assert_eq!(total(&series), [(1.0, 2.0), (2.0, 9.0), (3.0, 12.0)]);
        let many: Vec<_> = (1..5_000).map(|at| (f64::from(at), f64::from(at))).collect();
        let few = total(&[many]);
        assert!(few.len() <= POINTS + 10 && few.last() == Some(&(4_999.0, 4_999.0)), "{}", few.len());
    }
}

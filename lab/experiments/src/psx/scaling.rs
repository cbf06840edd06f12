//! Figure 12: a high load on a growing number of guests.

use super::claims::{faster, same_digests};
use super::most::{MOST, case, gain_at_most, published};
use super::unstated::Sweeps;
use super::{Gear, Load, Scheduler};
use crate::prelude::*;

/// The domains of which there are as many as PCPUs.
const EQUAL: u32 = super::runs::PCPUS;

/// What the check of the gains of both ways of synchronization is called.
const MORE_GAIN: &str = "gains at 64 domains: CONS, OPT";

pub fn fig12(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let load = super::load(parameters)?;
    let domains = parameters.points("domains", &super::domains())?;
    let mut cells = Vec::new();
    for domains in &domains {
        for gear in Gear::ALL {
            cells.extend(
                Scheduler::COMPARED.map(|scheduler| case(load, *domains, gear, scheduler).cell(setup)),
            );
        }
    }
    let sweeps = Sweeps::read(load, setup, parameters)?;
    if domains.contains(&MOST) {
        cells.extend(sweeps.cells(setup));
    }
    Ok(Plan::new(cells, move |results| judge(results, load, &domains, &sweeps)))
}

/// The run times of a load under all gears and schedulers.
struct Runs<'r> {
    results: &'r Results,
    load: Load,
    all: &'r [u32],
}

impl Runs<'_> {
    fn time(&self, domains: u32, gear: Gear, scheduler: Scheduler) -> Found<f64> {
        self.results.seconds(&case(self.load, domains, gear, scheduler).key())
    }

    fn gain(&self, gear: Gear, domains: u32) -> Found<f64> {
        Ok(self.time(domains, gear, Scheduler::Csx(32))? / self.time(domains, gear, Scheduler::Psx)?)
    }

    fn gains(&self, gear: Gear) -> Found<Vec<f64>> {
        self.all.iter().map(|domains| self.gain(gear, *domains)).collect()
    }

    fn table(&self) -> Found<Table> {
        let mut table = Table::new(
            "Run times in seconds",
            ["domains", "synchronization", "CSX-32x", "PSX", "PSX+", "gain of PSX", "gain of PSX+"],
        );
        for gear in Gear::ALL {
            for domains in self.all {
                let [csx, psx, plus] =
                    Scheduler::COMPARED.map(|scheduler| self.time(*domains, gear, scheduler));
                let (csx, psx, plus) = (csx?, psx?, plus?);
                let [one, two, three] = [csx, psx, plus].map(|time| format!("{time:.2}"));
                let [gain, gain_plus] = [psx, plus].map(|time| format!("{:.2}", csx / time));
                table.row([domains.to_string(), gear.name().into(), one, two, three, gain, gain_plus]);
            }
        }
        Ok(table)
    }

    /// What the paper says of the gains.
    fn claim(&self, claims: &mut Claims) -> Found<()> {
        let listed = self.all.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        for gear in Gear::ALL {
            claims.add(format!("gain of {} over {listed} domains", gear.name()), || {
                let gains = self.gains(gear)?;
                several(&gains)?;
                let words = "worst under-subscribed, increases with over-subscription";
                Ok((
                    Criterion::stated(Statement::Order, words, Shape::Rises(0.02)),
                    Ours::all(gains, "times"),
                ))
            })?;
            claims.add(format!("gain of {} at {EQUAL} domains", gear.name()), || {
                among(self.all, &EQUAL)?;
                let slightly = Shape::within(1.0, 1.5);
                let criterion = Criterion::stated(Statement::Crossing, "slightly greater than 1", slightly);
                Ok((criterion, Ours::one(self.gain(gear, EQUAL)?, "times")))
            })?;
            claims.add(gain_at_most(gear), || {
                among(self.all, &MOST)?;
                Ok((published(), Ours::one(self.gain(gear, MOST)?, "times")))
            })?;
        }
        let both = |of: &dyn Fn(Gear) -> Found<f64>| Gear::ALL.into_iter().map(of).collect::<Found<Vec<_>>>();
        claims.add(MORE_GAIN, || {
            among(self.all, &MOST)?;
            let criterion = Criterion::stated(Statement::Order, "CONS gains more", Shape::Falls(0.0));
            Ok((criterion, Ours::all(both(&|gear| self.gain(gear, MOST))?, "times")))
        })?;
        claims.add("run times under CSX at 64 domains: CONS, OPT", || {
            let times = both(&|gear| self.time(MOST, gear, Scheduler::Csx(32)))?;
            let criterion = Criterion::stated(Statement::Order, "OPT is better", Shape::Least(1));
            Ok((criterion, Ours::all(times, "s")))
        })
    }

    /// That PSX+ is faster than PSX, and that a digest does not depend on the scheduler or the gear.
    fn compare(&self, claims: &mut Claims) -> Found<()> {
        let (mut pairs, mut digests) = (Vec::new(), Vec::new());
        for gear in Gear::ALL {
            for domains in self.all {
                let name = format!("{domains} domains, {}", gear.name());
                let [_, psx, plus] =
                    Scheduler::COMPARED.map(|scheduler| self.time(*domains, gear, scheduler));
                pairs.push((name, psx?, plus?));
            }
        }
        for domains in self.all {
            let keys = Gear::ALL.iter().flat_map(|gear| {
                Scheduler::COMPARED.map(|scheduler| case(self.load, *domains, *gear, scheduler).key())
            });
            digests.push(keys.collect());
        }
        faster(claims, pairs)?;
        same_digests(claims, self.results, digests)
    }

    fn figures(&self) -> Found<Vec<Figure>> {
        let mut series = Vec::new();
        for gear in Gear::ALL {
            for scheduler in Scheduler::COMPARED {
                let point = |domains: &u32| Ok((f64::from(*domains), self.time(*domains, gear, scheduler)?));
                let points = self.all.iter().map(point).collect::<Found<Vec<_>>>()?;
                let name = format!("{}, {}", scheduler.name(), gear.name());
                series.push(Series::ours(name, Kind::Lines, points));
            }
        }
        let times = plot(
            "Run time over the number of domains",
            "Weak scaling: the load of a federate stays the same.",
            [Axis::linear("domains", ""), Axis::log("run time", "s")],
            series,
        );
        let mut curves = Vec::new();
        for gear in Gear::ALL {
            let points = self.all.iter().map(|domains| f64::from(*domains)).zip(self.gains(gear)?).collect();
            curves.push(Series::ours(gear.name(), Kind::Lines, points));
        }
        curves.push(Series::published("CONS", Kind::Points, vec![(f64::from(MOST), 20.0)]));
        let gains = plot(
            "Gain of PSX over CSX",
            "The text states a gain of over 20 at 64 domains.",
            [Axis::linear("domains", ""), Axis::linear("gain", "times")],
            curves,
        );
        Ok(vec![times, gains])
    }
}

fn judge(results: &Results, load: Load, all: &[u32], sweeps: &Sweeps) -> Found<Finding> {
    let runs = Runs { results, load, all };
    let mut claims = Claims::default();
    let tables = vec![runs.table()?];
    runs.claim(&mut claims)?;
    runs.compare(&mut claims)?;
    let finding =
        Finding { about: vec![about(load, all)], figures: runs.figures()?, tables, ..Finding::default() };
    let parts = claims.if_planned("what a window takes under CSX and PSX", || sweeps.parts(results))?;
    let mut finding = claims.put_into(finding);
    sweeps.add(&mut finding, results)?;
    finding.notes.extend(parts);
    Ok(finding)
}

fn about(load: Load, domains: &[u32]) -> String {
    let Load { lps, messages, local, until_s } = load;
    let domains = match domains {
        [first, .., last] => format!("{first} to {last}"),
        only => only.iter().map(u32::to_string).collect(),
    };
    format!(
        "PHOLD with {lps} LPs a federate and {messages} messages an LP, {local} % local, lookahead 1 s, {until_s} s of simulated time (the \
         paper: 100 s); {domains} guests on 24 PCPUs."
    )
}

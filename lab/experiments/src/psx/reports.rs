//! What PSX+ gains by its rule, with the same reports as PSX, and by each further piece of information that
//! federates report to it.
//!
//! Invariant: two neighbouring bars differ in one thing: the rule, or one piece of information.

use super::{Case, Gear, Load, Reports, Scheduler};
use crate::prelude::*;

const CSX: Scheduler = Scheduler::Csx(32);

/// What is compared, in the order of the bars.
fn bars() -> [(Scheduler, &'static str); 5] {
    let plus = Reports::ALL.map(|reports| (Scheduler::PsxPlus(reports), reports.name()));
    [(Scheduler::Psx, "PSX"), plus[0], plus[1], plus[2], plus[3]]
}

#[derive(Clone, Debug)]
struct Runs {
    load: Load,
    local: Vec<u32>,
    domains: u32,
}

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        load: Load {
            lps: parameters.one("lps", &super::lps())?,
            messages: parameters.one("messages", &super::messages())?,
            local: 0,
            until_s: parameters.one("until", &super::horizon())?,
        },
        local: parameters.points("local", &super::local())?,
        domains: parameters.one("domains", &super::domains())?,
    };
    let mut cells = Vec::new();
    for (local, gear) in runs.loads() {
        let schedulers = bars().map(|(scheduler, _)| scheduler).into_iter().chain([CSX]);
        cells.extend(schedulers.map(|scheduler| runs.case(local, gear, scheduler).cell(setup)));
    }
    Ok(Plan::new(cells, move |results| runs.judge(results)))
}

impl Runs {
    fn case(&self, local: u32, gear: Gear, scheduler: Scheduler) -> Case {
        Case { load: Load { local, ..self.load }, domains: self.domains, gear, scheduler, wait: None }
    }

    fn loads(&self) -> Vec<(u32, Gear)> {
        self.local.iter().flat_map(|local| Gear::ALL.map(|gear| (*local, gear))).collect()
    }

    /// Gains over CSX of all bars, by load.
    fn gains(&self, results: &Results) -> Found<Vec<Vec<f64>>> {
        let of_load = |(local, gear): (u32, Gear)| {
            let seconds = |scheduler| results.seconds(&self.case(local, gear, scheduler).key());
            let csx = seconds(CSX)?;
            bars().into_iter().map(|(scheduler, _)| Ok(csx / seconds(scheduler)?)).collect()
        };
        self.loads().into_iter().map(of_load).collect()
    }

    fn judge(&self, results: &Results) -> Found<Finding> {
        let gains = self.gains(results)?;
        let names = self.loads().into_iter().map(|(local, gear)| format!("LOC {local}, {}", gear.name()));
        let names: Vec<String> = names.collect();
        let mut claims = Claims::default();
        claims.add("gain of PSX+ with the reports of PSX over PSX, geometric mean", || {
            let (mean, detail) = step(&gains, 0, 1)?;
            Ok((Criterion::goal(Shape::Above(1.0)), Ours::one(mean, "times").with(detail)))
        })?;
        claims.add("gain of PSX+ with all reports over PSX+ with those of PSX, geometric mean", || {
            let (mean, detail) = step(&gains, 1, Reports::ALL.len())?;
            Ok((Criterion::goal(Shape::Above(1.0)), Ours::one(mean, "times").with(detail)))
        })?;
        let keys = self.loads().into_iter().map(|(local, gear)| {
            let all = bars().map(|(scheduler, _)| scheduler).into_iter().chain([CSX]);
            all.map(|scheduler| self.case(local, gear, scheduler).key()).collect()
        });
        super::claims::same_digests(&mut claims, results, keys.collect())?;
        let each = (1..bars().len()).map(|bar| {
            let (mean, _) = step(&gains, bar - 1, bar)?;
            Ok(format!("{}: {mean:.3} times", bars()[bar].1))
        });
        let each = each.collect::<Found<Vec<_>>>()?;
        let mut table =
            Table::new("Gain over CSX-32x", ["load"].into_iter().chain(bars().map(|(_, name)| name)));
        for (name, gains) in names.iter().zip(&gains) {
            let cells = gains.iter().map(|gain| format!("{gain:.2}"));
            table.row(std::iter::once(name.clone()).chain(cells));
        }
        let series = bars().into_iter().enumerate().map(|(bar, (_, name))| {
            let points = gains.iter().enumerate().map(|(place, gains)| (place as f64, gains[bar])).collect();
            Series::ours(name, Kind::Bars, points)
        });
        let figure = plot(
            "Gain over CSX by what federates report",
            "Each bar has what the one before it has, and one thing more. The paper has no such figure.",
            [Axis::categories("load", names), Axis::log("gain", "times")],
            series.collect(),
        );
        Ok(claims.put_into(Finding {
            about: vec![self.about()],
            figures: vec![figure],
            tables: vec![table],
            notes: vec![format!(
                "What each step gains, in the geometric mean over the loads: {}.",
                each.join("; ")
            )],
            ..Finding::default()
        }))
    }

    fn about(&self) -> String {
        let Load { lps, messages, until_s, .. } = self.load;
        format!(
            "PHOLD with {lps} LPs a federate, {messages} messages an LP, lookahead 1 s, {until_s} s of simulated time; one federate in each of {} \
             guests on 24 PCPUs.",
            self.domains
        )
    }
}

/// What the bar `to` gains over the bar `from`, in the geometric mean over the loads, and in which it loses.
fn step(gains: &[Vec<f64>], from: usize, to: usize) -> Found<(f64, String)> {
    if gains.is_empty() {
        return Err(CellError::NotRun("a load".into()));
    }
    let ratios: Vec<f64> = gains.iter().map(|gains| gains[to] / gains[from]).collect();
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let detail = format!("below 1 in {below} of {}, at least {least:.3}", ratios.len());
    Ok(((logs / ratios.len() as f64).exp(), detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_mean_of_ratios_and_says_where_it_loses() {
        let gains = [vec![1.0, 2.0], vec![4.0, 2.0]];
        let (mean, detail) = step(&gains, 0, 1).expect("there are loads");
        assert!((mean - 1.0).abs() < 1e-9);
        assert_eq!(detail, "below 1 in 1 of 2, at least 0.500");
        assert!(step(&[], 0, 1).is_err());
    }
}

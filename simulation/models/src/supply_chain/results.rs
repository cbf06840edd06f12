//! The output of a supply chain, its results beside what theory says, and its picture.

use std::io::{self, Write};

use paceline_kernel::{LpId, Time};
use paceline_results::{Chart, Column, Picture, Point, Results, RunFacts, Summary};
use serde::{Deserialize, Serialize};

use super::theory::{self, StageTheory};
use super::{Stock, SupplyChain, SupplyEvent};
use crate::measured::Times;

/// More stocks are not drawn one by one.
const DRAWN_MAX: u32 = 10_000;

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// By LP, at the end of the run.
    pub(super) stocks: Vec<(u32, Stock)>,
    /// By stage: orders and units on their way there when the run ends.
    orders: Vec<u64>,
    units: Vec<u64>,
}

impl Output {
    pub(super) fn left_over(&mut self, stage: usize, stages: usize, event: SupplyEvent) {
        self.orders.resize(stages, 0);
        self.units.resize(stages, 0);
        match event {
            SupplyEvent::Demand => {}
            SupplyEvent::Order => self.orders[stage] += 1,
            SupplyEvent::Delivery => self.units[stage] += 1,
        }
    }

    /// Whether a run can have left this, if it has been read from somewhere.
    pub(super) fn can_be(&self, lps: u32, stages: usize) -> bool {
        self.stocks.iter().all(|(lp, stock)| *lp < lps && stock.can_be())
            && [&self.orders, &self.units]
                .into_iter()
                .all(|counts| counts.len() <= stages && counts.iter().all(|count| *count < 1 << 62))
    }

    fn joined(outputs: Vec<Self>, stages: usize) -> Self {
        let mut all = Self { orders: vec![0; stages], units: vec![0; stages], ..Self::default() };
        for output in outputs {
            all.stocks.extend(output.stocks);
            for (sums, counts) in [(&mut all.orders, output.orders), (&mut all.units, output.units)] {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.wrapping_add(count));
            }
        }
        all.stocks.sort_unstable_by_key(|(lp, _)| *lp);
        all
    }
}

/// What all products did at a stage.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    asked: u64,
    at_once: u64,
    waits: Times,
    /// Per product, over time.
    mean_on_hand: Option<f64>,
    mean_owed: Option<f64>,
    /// At the end.
    on_hand: u64,
    owed: u64,
}

impl Measured {
    fn share_at_once(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.at_once as f64 / self.asked as f64)
    }
}

impl Results for SupplyChain {
    fn results(&self, outputs: Vec<Output>, facts: &RunFacts) -> Result<Summary, String> {
        let all = Output::joined(outputs, self.stages.len());
        let measured: Vec<Measured> =
            (0..self.stages.len()).map(|stage| self.measured(&all, stage, facts.end_time)).collect();
        self.check_base_stocks(&all, &measured)?;
        let theory = theory::of(self);
        let of = |stage: usize, what: fn(&StageTheory) -> f64| theory.as_ref().map(|all| what(&all[stage]));
        let mut summary = Summary::default();
        summary.line("products", self.products);
        summary.line("demands", measured[0].asked);
        let mut line = |name: &str, unit: &str, value: Option<f64>, theory: Option<f64>| {
            for (name, value) in
                [(format!("{name}{unit}"), value), (format!("{name}_by_theory{unit}"), theory)]
            {
                if let Some(value) = value {
                    summary.line(name, value);
                }
            }
        };
        let first = &measured[0];
        line("served_at_once", "", first.share_at_once(), of(0, |stage| stage.at_once));
        let wait = of(0, |stage| stage.mean_owed).map(|owed| owed * self.between_demands.as_secs_f64());
        line("mean_wait", "_s", first.waits.mean_s(), wait);
        line("mean_backorders", "", first.mean_owed, of(0, |stage| stage.mean_owed));
        let stock = measured.iter().map(|stage| stage.mean_on_hand).sum();
        let by_theory = theory.as_ref().map(|all| all.iter().map(|stage| stage.mean_on_hand).sum());
        line("mean_stock", "", stock, by_theory);
        let customers = all.stocks.iter().filter(|(lp, _)| self.stage_of(LpId(*lp)) == 0);
        let share =
            |(_, stock): &(u32, Stock)| (stock.asked > 0).then(|| stock.at_once as f64 / stock.asked as f64);
        let shares: Vec<f64> = customers.filter_map(share).collect();
        summary.chart(Chart::histogram("served_at_once_by_product", shares));
        let rows: Vec<String> = self.rows(&measured, theory.as_deref());
        summary.table("stages.csv", &STAGES, move |to| write_rows(to, &rows));
        Ok(summary)
    }

    fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &Stock)>) -> Option<Picture> {
        let (mut points, mut sums) = (Vec::new(), vec![[0_u64; 2]; self.stages.len()]);
        let is_drawn = self.stages.len() as u32 * self.products <= DRAWN_MAX;
        for (lp, stock) in states {
            let stage = self.stage_of(lp);
            sums[stage][0] += u64::from(stock.on_hand());
            sums[stage][1] += stock.owed() as u64;
            if is_drawn {
                let base = f64::from(self.stages[stage].base_stock.max(1));
                let missing = (base - f64::from(stock.on_hand())) / base;
                let load = if stock.owed() > 0 { 1.0 } else { missing.clamp(0.0, 1.0) * 0.8 };
                let product = lp.0 / self.stages.len() as u32;
                points.push(Point {
                    x: stage as f64 * f64::from(self.products) / 4.0,
                    y: f64::from(product),
                    load,
                });
            }
        }
        let title = "Stages from left to right, a row for each product".into();
        let mut picture = Picture { title, load: "a backorder".into(), points, ..Picture::default() };
        for (stage, [on_hand, owed]) in self.stages.iter().zip(sums) {
            let name = &stage.name;
            picture = picture.field(format!("{name}: on hand"), on_hand).field(format!("{name}: owed"), owed);
            picture = picture.series(format!("{name}: owed"), owed as f64);
        }
        Some(picture)
    }
}

impl SupplyChain {
    fn measured(&self, all: &Output, stage: usize, end: Time) -> Measured {
        let (mut measured, mut areas) = (Measured::default(), [0_u128; 2]);
        for (_, stock) in all.stocks.iter().filter(|(lp, _)| self.stage_of(LpId(*lp)) == stage) {
            measured.asked = measured.asked.wrapping_add(stock.asked);
            measured.at_once = measured.at_once.wrapping_add(stock.at_once);
            measured.waits.join(&stock.waits);
            measured.on_hand += u64::from(stock.on_hand());
            measured.owed += stock.owed() as u64;
            let more = stock.areas(end, self.warm_up);
            areas.iter_mut().zip(more).for_each(|(sum, area)| *sum = sum.wrapping_add(area));
        }
        let span = end.saturating_sub(self.warm_up).as_ticks() as f64 * f64::from(self.products);
        let [on_hand, owed] = areas.map(|area| (span > 0.0).then(|| area as f64 / span));
        (measured.mean_on_hand, measured.mean_owed) = (on_hand, owed);
        measured
    }

    /// What a stage has and has ordered, less what it owes, is its base stock.
    fn check_base_stocks(&self, all: &Output, measured: &[Measured]) -> Result<(), String> {
        for (number, stage) in self.stages.iter().enumerate() {
            let mut there = measured[number].on_hand.wrapping_add(all.units[number]);
            if let Some(above) = measured.get(number + 1) {
                there = there.wrapping_add(all.orders[number + 1]).wrapping_add(above.owed);
            }
            let there = there.wrapping_sub(measured[number].owed);
            let expected = u64::from(stage.base_stock) * u64::from(self.products);
            if there != expected {
                let name = &stage.name;
                return Err(format!(
                    "units of stage {name:?} got lost: {there} are there instead of {expected}"
                ));
            }
        }
        Ok(())
    }

    fn rows(&self, measured: &[Measured], theory: Option<&[StageTheory]>) -> Vec<String> {
        let cell = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let row = |(number, stage): (usize, &super::Stage)| {
            let theory = theory.map(|all| all[number]);
            let measured = &measured[number];
            let cells = [
                measured.share_at_once(),
                theory.map(|stage| stage.at_once),
                measured.mean_on_hand,
                theory.map(|stage| stage.mean_on_hand),
                measured.mean_owed,
                theory.map(|stage| stage.mean_owed),
            ];
            let Measured { asked, .. } = measured;
            format!("{},{},{asked},{}", stage.name, stage.base_stock, cells.map(cell).join(","))
        };
        self.stages.iter().enumerate().map(row).collect()
    }
}

/// The columns of `stages.csv`: means for one product.
const STAGES: [Column; 9] = [
    Column::texts("stage"),
    Column::integers("base_stock"),
    Column::integers("asked_for"),
    Column::reals("served_at_once"),
    Column::reals("served_at_once_by_theory"),
    Column::reals("mean_on_hand"),
    Column::reals("mean_on_hand_by_theory"),
    Column::reals("mean_backorders"),
    Column::reals("mean_backorders_by_theory"),
];

fn write_rows(to: &mut dyn Write, rows: &[String]) -> io::Result<()> {
    rows.iter().try_for_each(|row| writeln!(to, "{row}"))
}

//! What outputs say at the end of a run: lines of the summary, and tables.

use std::fmt::Display;
use std::io::{self, Write};

use super::{Gathered, Kind, Outputs};
use crate::statistics::{Distribution, Estimate, Tally, Transient};
use crate::{Chart, Column, Summary};

const STATISTICS: &[Column] = &[
    Column::texts("name"),
    Column::texts("kind"),
    Column::integers("count"),
    Column::reals("mean"),
    Column::reals("half_width"),
    Column::reals("deviation"),
    Column::reals("least"),
    Column::reals("greatest"),
    Column::integers("batches"),
    Column::reals("batch_correlation"),
    Column::reals("mser_warm_up_s"),
];
const OVER_TIME: &[Column] =
    &[Column::texts("name"), Column::reals("from_s"), Column::reals("to_s"), Column::reals("mean")];
const SERIES: &[Column] = &[Column::reals("time_s"), Column::reals("value")];

impl Outputs {
    /// Lines of each output, in the order in which they were declared, and tables: `statistics.csv` with all
    /// that is known of each; `over_time.csv` with the means of those that are steady; one for each series.
    /// Where outputs are steady, the line `mser_warm_up_s` says how long a warm-up would have been enough for
    /// all of them; it is null where the run is too short to say.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for (output, gathered) in &self.all {
            let name = output.name;
            match gathered {
                Gathered::Count(count) => summary.line(name, *count),
                Gathered::Series(series) => {
                    let Kind::Series(every) = output.kind else { unreachable!("a series has an interval") };
                    let sums = series.sums(every, self.until);
                    let points = sums.iter().map(|(at, sum)| (at.as_secs_f64(), *sum));
                    summary.chart(Chart::course(name, points.collect()));
                    summary.table(format!("{name}.csv"), SERIES, move |to| {
                        sums.iter().try_for_each(|(at, sum)| writeln!(to, "{},{sum}", at.as_secs_f64()))
                    });
                }
                _ => summary.line(format!("mean_{name}"), self.mean_of(gathered)),
            }
            if let Some(steady) = gathered.over_time() {
                let (width, means) = steady.means(self.until);
                let middle = |place: usize| (place as f64 + 0.5) * width.as_secs_f64();
                let points =
                    means.iter().enumerate().filter_map(|(place, mean)| Some((middle(place), (*mean)?)));
                summary.chart(Chart::course(format!("mean_{name}"), points.collect()));
            }
            if output.is_steady {
                let half_width = self.estimate_of(gathered).map(|estimate| estimate.half_width);
                summary.line(format!("half_width_{name}"), half_width);
            }
            if let Gathered::Tally(_, quantiles) | Gathered::Steady(_, quantiles) = gathered {
                lines_of_quantiles(&mut summary, name, &output.quantiles, quantiles);
            }
        }
        if self.all.iter().any(|(output, _)| output.is_steady) {
            summary.line("mser_warm_up_s", self.longest_transient_s());
            let over_time = self.means_over_time();
            summary.table("over_time.csv", OVER_TIME, move |to| to.write_all(over_time.as_bytes()));
        }
        if !self.all.is_empty() {
            let outputs = self.clone();
            summary.table("statistics.csv", STATISTICS, move |to| outputs.write_statistics(to));
        }
        summary
    }

    fn longest_transient_s(&self) -> Option<f64> {
        let steady = self.all.iter().filter(|(output, _)| output.is_steady);
        let over = |transient: Transient| transient.is_over.then_some(transient.end);
        let ends: Option<Vec<_>> =
            steady.map(|(_, gathered)| self.transient_of(gathered).and_then(over)).collect();
        ends?.into_iter().max().map(|end| end.as_secs_f64())
    }

    fn means_over_time(&self) -> String {
        let mut rows = String::new();
        for (output, gathered) in &self.all {
            let Some(steady) = gathered.over_time() else { continue };
            let (width, means) = steady.means(self.until);
            let width_s = width.as_secs_f64();
            for (number, mean) in (0u32..).zip(means) {
                let from_s = f64::from(number) * width_s;
                rows += &format!("{},{from_s},{},{}\n", output.name, from_s + width_s, cell(mean));
            }
        }
        rows
    }

    fn write_statistics(&self, to: &mut dyn Write) -> io::Result<()> {
        for (output, gathered) in &self.all {
            let tally = match gathered {
                Gathered::Tally(tally, _) => Some(&**tally),
                Gathered::Steady(values, _) => Some(values.tally()),
                _ => None,
            };
            let count = if let Gathered::Count(count) = gathered { Some(*count) } else { None };
            let count = count.or(tally.map(Tally::count));
            let estimate = self.estimate_of(gathered);
            let transient = self.transient_of(gathered).filter(|transient| transient.is_over);
            let of_estimate = |what: fn(&Estimate) -> f64| cell(estimate.as_ref().map(what));
            writeln!(
                to,
                "{},{},{},{},{},{},{},{},{},{},{}",
                output.name,
                output.kind.name(),
                cell(count),
                cell(self.mean_of(gathered)),
                of_estimate(|estimate| estimate.half_width),
                cell(tally.and_then(Tally::deviation)),
                cell(tally.and_then(Tally::least)),
                cell(tally.and_then(Tally::greatest)),
                cell(estimate.map(|estimate| estimate.batches)),
                of_estimate(|estimate| estimate.correlation),
                cell(transient.map(|transient| transient.end.as_secs_f64())),
            )?;
        }
        Ok(())
    }
}

fn lines_of_quantiles(summary: &mut Summary, name: &str, parts: &[f64], quantiles: &Distribution) {
    for part in parts {
        summary.line(format!("p{}_{name}", part * 100.0), quantiles.quantile(*part));
    }
}

/// A value of a table, where there is one.
fn cell(value: Option<impl Display>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

//! The output of a cellular network, its results beside what theory says, and its picture.

use std::io::{self, Write};

use paceline_kernel::{LpId, Time};
use paceline_results::{Chart, Column, Picture, Point, Results, RunFacts, Summary};
use serde::{Deserialize, Serialize};

use super::theory::Theory;
use super::{BEGUN, BLOCKED, Cell, Cellular, DROPPED, HANDED_OVER};
use crate::measured::{Bins, Level};

/// The output of one federate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The cells at the end of the run.
    pub(super) cells: Vec<(u32, Cell)>,
    /// Busy channels of all cells, after the warm-up and from the start on.
    busy: Level,
    changes: Bins,
    /// Channels that were busy when the run ended.
    still_busy: u64,
}

impl Output {
    /// Notes a channel that was busy.
    pub(super) fn free(&mut self, since: Time, at: Time, warm_up: Time) {
        for (at, by) in [(since, 1), (at, -1)] {
            self.busy.change(at.max(warm_up), by);
            self.changes.add(at, by);
        }
    }

    /// Notes a channel that is busy when the run ends.
    pub(super) fn still_busy(&mut self, since: Time, warm_up: Time) {
        self.still_busy += 1;
        self.busy.change(since.max(warm_up), 1);
        self.changes.add(since, 1);
    }

    /// Whether a run can have left this, if it has been read from somewhere.
    pub(super) fn can_be(&self, cells: u32, channels: u32) -> bool {
        let can_be = |(number, cell): &(u32, Cell)| {
            *number < cells && cell.busy <= channels && cell.counts.iter().all(|count| *count < 1 << 62)
        };
        self.cells.iter().all(can_be) && self.changes.can_be() && self.still_busy < 1 << 62
    }

    fn joined(outputs: Vec<Self>) -> Self {
        let mut all = Self::default();
        for output in outputs {
            all.busy.join(&output.busy);
            all.changes.join(&output.changes);
            all.still_busy = all.still_busy.wrapping_add(output.still_busy);
            all.cells.extend(output.cells);
        }
        all.cells.sort_unstable_by_key(|(number, _)| *number);
        all
    }
}

impl Results for Cellular {
    fn results(&self, outputs: Vec<Output>, facts: &RunFacts) -> Result<Summary, String> {
        let all = Output::joined(outputs);
        let busy = all.cells.iter().fold(0, |sum: u64, (_, cell)| sum + u64::from(cell.busy));
        if busy != all.still_busy {
            return Err(format!(
                "calls got lost: {busy} channels are busy, and {} will be freed",
                all.still_busy
            ));
        }
        let sum =
            |what: usize| all.cells.iter().fold(0_u64, |sum, (_, cell)| sum.wrapping_add(cell.counts[what]));
        let theory = Theory::of(self);
        let mut summary = Summary::default();
        let [begun, handed_over] = [sum(BEGUN), sum(HANDED_OVER)];
        summary.line("cells", self.cells());
        summary.line("calls", begun);
        let mut line = |name: &str, value: Option<f64>, theory: Option<f64>| {
            for (name, value) in [(name.to_owned(), value), (format!("{name}_by_theory"), theory)] {
                if let Some(value) = value {
                    summary.line(name, value);
                }
            }
        };
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        line("blocked", share(sum(BLOCKED), begun), theory.map(|theory| theory.blocked));
        if self.more_stay.is_some() {
            line("handed_over_a_call", share(handed_over, begun), theory.map(|theory| theory.handed_over));
            line("dropped", share(sum(DROPPED), handed_over), theory.map(|theory| theory.dropped));
        }
        let mean = all.busy.mean(self.warm_up, facts.end_time).map(|busy| busy / f64::from(self.cells()));
        line("mean_busy_channels", mean, theory.map(|theory| theory.mean_busy));
        summary.chart(Chart::course("busy_channels", all.changes.levels()));
        let (cells, columns) = (all.cells, self.columns);
        summary.table("cells.csv", &CELLS, move |to| write_cells(to, &cells, columns));
        Ok(summary)
    }

    fn picture(&self, _: Time, states: &mut dyn Iterator<Item = (LpId, &Cell)>) -> Option<Picture> {
        let mut busy = 0_u64;
        let point = |(lp, cell): (LpId, &Cell)| {
            let (column, row) = (lp.0 % self.columns, lp.0 / self.columns);
            busy += u64::from(cell.busy);
            Point {
                x: f64::from(column) + f64::from(row % 2) / 2.0,
                // Rows of hexagons are nearer than columns.
                y: f64::from(row) * 0.75_f64.sqrt(),
                load: f64::from(cell.busy) / f64::from(self.channels),
            }
        };
        let points = states.map(point).collect();
        let mean = busy as f64 / f64::from(self.cells());
        let picture = Picture {
            title: "Cells".into(),
            load: "all channels are busy".into(),
            points,
            ..Picture::default()
        };
        Some(
            picture
                .field("busy channels of a cell", format!("{mean:.1}"))
                .series("busy channels of a cell", mean),
        )
    }
}

/// The columns of `cells.csv`: calls after the warm-up, and channels that are busy when the run ends.
const CELLS: [Column; 8] = [
    Column::integers("cell"),
    Column::integers("column"),
    Column::integers("row"),
    Column::integers("calls"),
    Column::integers("blocked"),
    Column::integers("handed_over"),
    Column::integers("dropped"),
    Column::integers("busy"),
];

fn write_cells(to: &mut dyn Write, cells: &[(u32, Cell)], columns: u32) -> io::Result<()> {
    for (number, cell) in cells {
        let [begun, blocked, handed_over, dropped] = cell.counts;
        let (column, row) = (number % columns, number / columns);
        writeln!(to, "{number},{column},{row},{begun},{blocked},{handed_over},{dropped},{}", cell.busy)?;
    }
    Ok(())
}

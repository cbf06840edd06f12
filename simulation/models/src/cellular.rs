//! Cellular phones: calls take channels of cells, and are handed over from cell to cell.
//!
//! Cells are hexagons on a torus, so that each has six neighbours and all are alike. Calls begin in each cell
//! by a Poisson process and last for an exponential time. A call that finds no free channel where it begins
//! is *blocked*. A phone stays in a cell for at least `least_stay` and an exponential time on top of it, then
//! it is in a neighbour drawn at random; a call that finds no free channel there is *dropped*. Some channels
//! of a cell may be reserved for calls that are handed over. It is the benchmark of personal communication
//! services (Carothers, Fujimoto and Lin, 1995), with hexagons.
//!
//! # What is known
//!
//! Where phones do not move, each cell is Erlang's: the share of blocked calls is that of his first formula,
//! whatever the distribution of their length. Where they move, calls that are handed over are nearly a
//! Poisson process as well; by symmetry as many come to a cell as leave it, which a fixed point gives: it is
//! off by some hundredths, and exact where there are channels for all. Results have the shares of blocked and
//! of dropped calls by it beside those measured.
//!
//! # LPs and lookahead
//!
//! An LP is a cell. When a call comes to a cell, how long its phone stays there and where it goes then are
//! drawn, and what happens to the call next is sent at that time: so no message takes less than `least_stay`,
//! which is the lookahead. Channels of LPs lead to neighbours only.
//!
//! # Where things are
//!
//! `settings`: scenarios; `theory`: known answers; `results`: output and results.

mod results;
mod settings;
mod theory;

use paceline_kernel::{Channels, Context, LpId, Model, Time};
use serde::{Deserialize, Serialize};

pub use results::Output;

/// A network of cells.
#[derive(Clone, Debug)]
pub struct Cellular {
    columns: u32,
    rows: u32,
    /// Channels of a cell, and those of them that only calls from other cells get.
    channels: u32,
    reserved: u32,
    /// From the start of a call to that of the next in a cell, on average.
    between_calls: Time,
    /// How long a call lasts on average.
    call: Time,
    least_stay: Time,
    /// The mean time that a phone stays in a cell beyond the least; nothing where phones do not move.
    more_stay: Option<Time>,
    /// What happens before is not measured.
    warm_up: Time,
}

/// The state of a cell: its channels that are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    busy: u32,
    /// Calls that began here since the warm-up, and those blocked; calls handed over, and those dropped.
    counts: [u64; 4],
}

/// What happens in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CellularEvent {
    /// A call begins.
    Begin,
    /// A call is handed over to the cell.
    HandOver {
        /// When it will end.
        ends: Time,
    },
    /// A call ends, or leaves the cell, and its channel is free.
    Free {
        /// When it got the channel.
        since: Time,
    },
}

const BEGUN: usize = 0;
const BLOCKED: usize = 1;
const HANDED_OVER: usize = 2;
const DROPPED: usize = 3;

impl Cellular {
    fn cells(&self) -> u32 {
        self.columns * self.rows
    }

    /// The six cells around one. Every other row is shifted by half a cell.
    fn neighbours(&self, cell: LpId) -> [LpId; 6] {
        let (column, row) = (cell.0 % self.columns, cell.0 / self.columns);
        let at = |column: u32, row: u32| LpId(row % self.rows * self.columns + column % self.columns);
        let (left, right) = (column + self.columns - 1, column + 1);
        let (above, below) = (row + self.rows - 1, row + 1);
        // Of the two cells in the row above, and of those below, one is in the same column.
        let beside = if row % 2 == 0 { left } else { right };
        [
            at(left, row),
            at(right, row),
            at(column, above),
            at(beside, above),
            at(column, below),
            at(beside, below),
        ]
    }

    fn schedule_call(&self, cx: &mut Context<Self>) {
        let after = Time::ticks(cx.rng().exponential(self.between_calls.as_ticks() as f64) as u64);
        cx.schedule(after, CellularEvent::Begin);
    }

    /// Gives a call a channel until it ends or leaves the cell.
    fn connect(&self, cell: &mut Cell, ends: Time, cx: &mut Context<Self>) {
        cell.busy += 1;
        let since = cx.now();
        if let Some(mean) = self.more_stay {
            let more = Time::ticks(cx.rng().exponential(mean.as_ticks() as f64) as u64);
            let leaves = since.saturating_add(self.least_stay).saturating_add(more);
            if leaves < ends {
                let next = self.neighbours(cx.lp())[cx.rng().below(6) as usize];
                cx.send_at(next, leaves, CellularEvent::HandOver { ends });
                cx.schedule_at(leaves, CellularEvent::Free { since });
                return;
            }
        }
        cx.schedule_at(ends.max(since), CellularEvent::Free { since });
    }
}

impl Model for Cellular {
    type State = Cell;
    type Event = CellularEvent;
    type Output = Output;

    fn parameters(&self) -> String {
        format!("{self:?}")
    }

    fn lps(&self) -> u32 {
        self.cells()
    }

    fn lookahead(&self) -> Time {
        self.least_stay
    }

    fn channels(&self, lp: LpId) -> Channels {
        if self.more_stay.is_none() {
            return Channels::Only(Vec::new());
        }
        let mut next = self.neighbours(lp).to_vec();
        next.sort_unstable();
        next.dedup();
        Channels::Only(
            next.into_iter().filter(|next| *next != lp).map(|next| (next, self.least_stay)).collect(),
        )
    }

    fn init(&self, _cell: LpId, cx: &mut Context<Self>) -> Cell {
        self.schedule_call(cx);
        Cell::default()
    }

    fn handle(&self, cell: &mut Cell, event: &CellularEvent, cx: &mut Context<Self>) {
        let is_measured = cx.now() >= self.warm_up;
        let count = |cell: &mut Cell, what: usize| cell.counts[what] += u64::from(is_measured);
        match *event {
            CellularEvent::Begin => {
                self.schedule_call(cx);
                count(cell, BEGUN);
                if cell.busy < self.channels - self.reserved {
                    let lasts = Time::ticks(cx.rng().exponential(self.call.as_ticks() as f64) as u64);
                    self.connect(cell, cx.now().saturating_add(lasts), cx);
                } else {
                    count(cell, BLOCKED);
                }
            }
            CellularEvent::HandOver { ends } => {
                count(cell, HANDED_OVER);
                if cell.busy < self.channels { self.connect(cell, ends, cx) } else { count(cell, DROPPED) }
            }
            CellularEvent::Free { .. } => cell.busy = cell.busy.saturating_sub(1),
        }
    }

    fn commit(&self, _lp: LpId, at: Time, event: &CellularEvent, output: &mut Output) {
        if let CellularEvent::Free { since } = *event {
            output.free(since, at, self.warm_up);
        }
    }

    fn left_over(&self, _lp: LpId, _at: Time, event: &CellularEvent, output: &mut Output) {
        if let CellularEvent::Free { since } = *event {
            output.still_busy(since, self.warm_up);
        }
    }

    fn finish(&self, lp: LpId, cell: &Cell, output: &mut Output) {
        output.cells.push((lp.0, *cell));
    }

    fn admits_state(&self, _lp: LpId, cell: &Cell) -> bool {
        cell.busy <= self.channels && cell.counts.iter().all(|count| *count < 1 << 62)
    }

    fn admits_output(&self, output: &Output) -> bool {
        output.can_be(self.cells(), self.channels)
    }
}

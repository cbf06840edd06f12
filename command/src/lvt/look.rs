//! One look at a page: each owner's LVT compared with the others', its state, and its share of a core since
//! the last look. CPU times of owners, and whether they live, come from /proc, all else from the page.
//!
//! Invariants: any bytes of the page give a look; the owner furthest behind comes first, and owners without
//! an LVT that counts come last.

use std::collections::BTreeMap;
use std::time::Instant;

use paceline_app::failure::CommandError;
use paceline_lvt::{Page, SlotView};
use procfs::process::Process;
use serde::Serialize;

use crate::failure::Special;

/// What the owner of a slot does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its flags say that it simulates and does not wait.
    Runs,
    /// Waits for others.
    Waits,
    /// Has nothing to do.
    Done,
    /// Does something else than simulate.
    Otherwise,
    /// Has ended without freeing its slot.
    Gone,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Waits => "waits",
            Self::Done => "done",
            Self::Otherwise => "not simulating",
            Self::Gone => "gone",
        }
    }

    /// Whether its LVT says how far the simulation is.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Runs | Self::Waits)
    }
}

/// The owner of a slot.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub slot: u32,
    /// What it calls itself.
    pub name: String,
    pub pid: u32,
    pub tid: u32,
    pub state: State,
    /// Its LVT; `None` where it is done.
    pub lvt_ns: Option<u64>,
    /// How far it is ahead of the owner furthest behind; `None` where its LVT does not count.
    pub ahead_ns: Option<u64>,
    /// Its part of one core's time since the last look; `None` in the first.
    pub core_share: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Look {
    pub page: String,
    pub slots: u32,
    /// The least LVT that counts.
    pub least_ns: Option<u64>,
    /// The greatest LVT that counts.
    pub greatest_ns: Option<u64>,
    pub owners: Vec<Row>,
}

/// Looks at a page, and remembers the last look for comparison.
pub struct Watcher {
    page: Page,
    views: Vec<SlotView>,
    before: Option<Spent>,
}

/// The CPU times of all owners at some moment.
struct Spent {
    at: Instant,
    /// In ns, by thread and start time.
    times: BTreeMap<(u32, u64), u64>,
}

impl Watcher {
    pub fn new(page: Page) -> Self {
        Self { page, views: Vec::new(), before: None }
    }

    pub fn look(&mut self) -> Result<Look, CommandError> {
        self.page.read_into(&mut self.views).map_err(Special::Lvt)?;
        let now = Instant::now();
        let times: BTreeMap<_, _> = self
            .views
            .iter()
            .filter_map(|view| Some(((view.tid, view.start_time), cpu_time_ns(view)?)))
            .collect();
        let share = |view: &SlotView| {
            let before = self.before.as_ref()?;
            let key = (view.tid, view.start_time);
            let ran_ns = times.get(&key)?.checked_sub(*before.times.get(&key)?)?;
            Some(ran_ns as f64 / (now - before.at).as_nanos().max(1) as f64)
        };
        let owners = self.views.iter().map(|view| (*view, state_of(view), share(view))).collect();
        self.before = Some(Spent { at: now, times });
        Ok(compare(self.page.path().display().to_string(), self.page.capacity(), owners))
    }
}

/// Puts the owners of slots beside each other.
fn compare(page: String, slots: u32, owners: Vec<(SlotView, State, Option<f64>)>) -> Look {
    let counting = || owners.iter().filter(|(_, state, _)| state.counts()).map(|(view, ..)| view.lvt_ns);
    let (least_ns, greatest_ns) = (counting().min(), counting().max());
    let row = |(view, state, core_share): &(SlotView, State, Option<f64>)| Row {
        slot: view.index,
        name: view.name.to_string(),
        pid: view.pid,
        tid: view.tid,
        state: *state,
        lvt_ns: Some(view.lvt_ns).filter(|_| !view.is_done()),
        ahead_ns: least_ns.filter(|_| state.counts()).map(|least_ns| view.lvt_ns - least_ns),
        core_share: *core_share,
    };
    let mut rows: Vec<Row> = owners.iter().map(row).collect();
    rows.sort_by_key(|row| (row.ahead_ns.is_none(), row.ahead_ns, row.state, row.slot));
    Look { page, slots, least_ns, greatest_ns, owners: rows }
}

fn state_of(view: &SlotView) -> State {
    if view.owner().is_gone() {
        State::Gone
    } else if view.is_done() {
        State::Done
    } else if !view.is_simulating() {
        State::Otherwise
    } else if view.is_waiting() {
        State::Waits
    } else {
        State::Runs
    }
}

/// The time that the owner has spent on a core; `None` where that cannot be known.
fn cpu_time_ns(view: &SlotView) -> Option<u64> {
    let process = Process::new(i32::try_from(view.pid).ok()?).ok()?;
    let task = process.task_from_tid(i32::try_from(view.tid).ok()?).ok()?;
    Some(task.schedstat().ok()?.sum_exec_runtime)
}

#[cfg(test)]
pub mod tests {
    use paceline_lvt::Name;
    use paceline_lvt::layout::{DONE, SIMULATION, WAITING};

    use super::*;

    /// A look at five owners, one of each state.
    pub fn five() -> Look {
        let owner = |index, lvt_ns, flags, name| SlotView {
            index,
            lvt_ns,
            flags,
            tid: 100 + index,
            pid: 100,
            start_time: 1,
            name: Name::new(name),
            library: 0,
            messages: 0,
        };
        let owners = vec![
            (owner(0, 2_500_000_000, SIMULATION | WAITING, "ahead"), State::Waits, Some(0.01)),
            (owner(1, 2_000_000_000, SIMULATION, "behind"), State::Runs, Some(0.99)),
            (owner(3, DONE, SIMULATION, "finished"), State::Done, Some(0.0)),
            (owner(4, 7, 0, "loads"), State::Otherwise, Some(0.5)),
            (owner(6, 1, SIMULATION, "killed"), State::Gone, None),
        ];
        compare("/dev/shm/page".into(), 1_024, owners)
    }

    #[test]
    fn who_is_furthest_behind_comes_first_and_who_does_not_count_last() {
        let look = five();
        let names: Vec<_> = look.owners.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["behind", "ahead", "finished", "loads", "killed"]);
        assert_eq!((look.least_ns, look.greatest_ns), (Some(2_000_000_000), Some(2_500_000_000)));
        assert_eq!((look.owners[0].ahead_ns, look.owners[1].ahead_ns), (Some(0), Some(500_000_000)));
        assert_eq!((look.owners[2].lvt_ns, look.owners[3].lvt_ns), (None, Some(7)));
    }
}

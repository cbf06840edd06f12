//! The governor's notes for the user: a line when it changes its way, and what its work has cost.

use std::time::Duration;

use crate::plan::trial::{Change, Way};

/// The note about a change; none if nothing was measured.
pub fn of_change(change: Change) -> Option<String> {
    let percent = change.percent?;
    let times = format!("{}.{:02} times", percent / 100, percent % 100);
    Some(match change.to {
        Way::Unpaced => {
            format!(
                "pacing is suspended: without it the program runs {times} as fast; it is tried again later"
            )
        }
        Way::Together => format!("pacing puts all threads before the rest of the machine: {times} as fast"),
        Way::Ordered => format!("pacing runs the threads furthest behind first: {times} as fast"),
    })
}

/// What the governor has done, and how long it took.
#[derive(Debug, Default)]
pub struct Costs {
    ticks: u64,
    ticks_ns: u64,
    classes: u64,
    classes_ns: u64,
    rings: u64,
}

impl Costs {
    /// Notes how long a tick took: reading the page, deciding and setting classes.
    pub const fn note_tick(&mut self, took_ns: u64) {
        self.ticks += 1;
        self.ticks_ns += took_ns;
    }

    /// Notes how long it took to set a class; `None` if it was not set.
    pub fn note_class(&mut self, took: Option<Duration>) {
        if let Some(took) = took {
            self.classes += 1;
            self.classes_ns += u64::try_from(took.as_nanos()).unwrap_or(0);
        }
    }

    /// Notes the end of a rest, and whether the bell ended it.
    pub fn note_rest(&mut self, rung: bool) {
        self.rings += u64::from(rung);
    }

    /// What a decision costs on average.
    pub fn decision_ns(&self) -> u64 {
        self.ticks_ns.checked_div(self.ticks).unwrap_or(0)
    }

    /// All counters, by name.
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        let mean = |sum: u64, count: u64| sum.checked_div(count).unwrap_or(0);
        vec![
            ("decisions", self.ticks),
            ("ns a decision", self.decision_ns()),
            ("classes set", self.classes),
            ("ns to set a class", mean(self.classes_ns, self.classes)),
            ("decisions at the bell", self.rings),
        ]
    }
}

//! The processes of a model on a ring, by how often they have resumed since the last look.
//!
//! Invariant: the run pays for a count a process and round, and only with a page.

use std::sync::{Arc, Mutex, PoisonError};

use paceline_processes::RoundRecord;
use paceline_results::{Picture, Point};

/// Processes shown; those spawned later are not.
const PROCESSES_MAX: usize = 100_000;

/// Counts the turns of processes. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring(Arc<Mutex<Vec<u32>>>);

impl Ring {
    /// What is done with each round.
    pub(crate) fn observer(&self) -> impl FnMut(&RoundRecord<'_>) + Send + 'static {
        let counts = Arc::clone(&self.0);
        move |round| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            for number in round.processes.iter().map(|process| process.0 as usize) {
                if number >= PROCESSES_MAX {
                    continue;
                }
                if number >= counts.len() {
                    counts.resize(number + 1, 0);
                }
                counts[number] = counts[number].saturating_add(1);
            }
        }
    }

    /// The ring, with the turns since the last look; none before the first turn.
    pub(crate) fn draw(&self) -> Option<Picture> {
        let turns: Vec<u32> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().map(std::mem::take).collect();
        let most = turns.iter().copied().max().filter(|_| !turns.is_empty())?;
        let all: u64 = turns.iter().copied().map(u64::from).sum();
        let point = |(number, count): (usize, &u32)| {
            let angle = number as f64 / turns.len() as f64 * std::f64::consts::TAU;
            let load = (f64::from(*count) / f64::from(most.max(1))).sqrt();
            Point { x: angle.sin(), y: angle.cos(), load }
        };
        let resumed = turns.iter().filter(|count| **count > 0).count();
        let picture = Picture {
            title: "Processes on a ring, from the top".into(),
            load: "the most turns since the last frame".into(),
            points: turns.iter().enumerate().map(point).collect(),
            ..Picture::default()
        };
        Some(
            picture
                .field("processes", turns.len())
                .field("resumed since the last frame", resumed)
                .field("turns", all),
        )
    }
}

//! `--trace` of processes: the rounds of a run, written as a Perfetto trace.
//!
//! Invariant: an error while writing does not disturb the run; it is reported at the end.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::CommandError;
use paceline_kernel::Time;
use paceline_processes::{ProcessId, RoundRecord};
use paceline_report::perfetto::TRACED;
use paceline_report::{ProcessTrace, TraceRound};

/// A trace that is being written.
#[derive(Clone, Debug)]
pub struct Trace(Arc<Mutex<Written>>);

#[derive(Debug)]
struct Written {
    /// There until it is finished.
    file: Option<ProcessTrace>,
    /// Of the last round reported.
    time: Time,
}

impl Trace {
    /// Makes the file, before a long run and not after it.
    pub fn open(path: &Path, run: &str) -> Result<Self, CommandError> {
        let file = Some(ProcessTrace::create(path, run)?);
        Ok(Self(Arc::new(Mutex::new(Written { file, time: Time::ZERO }))))
    }

    /// What is reported of each round.
    pub fn observer(&self) -> impl FnMut(&RoundRecord<'_>) + Send + 'static {
        let trace = self.clone();
        move |round| trace.with(|written| written.write_round(round))
    }

    /// Writes what is left, of a run that has ended at `end`, or with its last round where that is not known;
    /// or says what went wrong since the file was made.
    pub fn finish(&self, end: Option<Time>) -> Result<(), CommandError> {
        self.with(|Written { file, time }| {
            Ok(file.take().map_or(Ok(()), |file| file.finish(end.unwrap_or(*time)))?)
        })
    }

    fn with<R>(&self, what: impl FnOnce(&mut Written) -> R) -> R {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Written {
    fn write_round(&mut self, round: &RoundRecord<'_>) {
        let Some(file) = &mut self.file else { return };
        let RoundRecord { time, processes, is_parallel, start, code, answers, killed, .. } = *round;
        self.time = time;
        let size = processes.len() as u64;
        file.round(&TraceRound { time, size, is_parallel, start, code, answers });
        let traced = |id: &&ProcessId| id.0 < TRACED;
        for id in processes.iter().filter(traced) {
            file.goes_on(id.0, round.name(*id), time, round.waits_for(*id));
        }
        killed.iter().for_each(|id| file.waited(id.0, time));
    }
}

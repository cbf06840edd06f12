//! `--log` and its options: the events that happened to some LPs in a span of simulated time, or the waits of
//! some processes that ended in it, a line of JSON each.
//!
//! Invariants: lines are in the order of time and LP or process, those of one LP in the order in which it
//! handled them, and only events that are final are among them. So a log is the same, byte for byte, under
//! every protocol, partition and number of threads. Under its own name it is complete or not there, but where
//! there is no room for all of it: then it has the first events, and its last line says so.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::Args;
use paceline_engine::Observer;
use paceline_files::{CutError, Entries, NewFile};
use paceline_kernel::{LpId, Model, Time};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::duration::time;
use crate::failure::CommandError;

/// Events that a log holds at most: they are kept in memory until the run ends.
const MOST: usize = 4_000_000;

/// What is said of a log of a run of several processes.
pub const ONE_PROCESS: &str = "--log: a process knows its own events only; allowed: a run in one process";

/// What is logged, and where.
#[derive(Args, Clone, Debug, Default)]
pub struct LogArguments {
    /// Writes the events that happened into this file, in the order of their times: a line of JSON each,
    /// with `time_ns` (`time_ps` in a program that counts picoseconds), `lp` and `event`
    ///
    /// For a model of processes it writes their waits, in the order of their ends: `from_ns` and `to_ns`,
    /// `process`, `name`, `host`, `waited_for` with a `kind` and a `name`, and `result`.
    ///
    /// The file is the same under every protocol, number of federates and number of threads. It holds
    /// 4,000,000 events at most. FILE may be a FIFO or /dev/stdout. Where there is no room for all of
    /// it, it holds the first events, and its last line says so.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Logs events of these LPs only, such as 3,7-9
    #[arg(long, value_name = "LPS", requires = "log", value_parser = lps)]
    pub log_lps: Option<Lps>,

    /// Logs waits of these processes only, such as 3,7-9
    #[arg(long, value_name = "PROCESSES", requires = "log", value_parser = lps)]
    pub log_processes: Option<Lps>,

    /// Logs events from this simulated time on
    #[arg(long, value_name = "TIME", requires = "log", value_parser = time)]
    pub log_from: Option<Time>,

    /// Logs events before this simulated time
    #[arg(long, value_name = "TIME", requires = "log", value_parser = time)]
    pub log_to: Option<Time>,
}

impl LogArguments {
    /// Whether they are for a model of LPs, or one of processes. Errors: which option is for the other.
    pub fn suit(&self, processes: bool) -> Result<(), CommandError> {
        let problem = match (processes, &self.log_lps, &self.log_processes) {
            (true, Some(_), _) => "--log-lps: a model of processes has no LPs; allowed: --log-processes",
            (false, _, Some(_)) => "--log-processes: a model of LPs has no processes; allowed: --log-lps",
            _ => return Ok(()),
        };
        Err(CommandError::Option(problem.into()))
    }
}

/// The LPs or processes that are logged: numbers and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lps(Vec<RangeInclusive<u32>>);

fn lps(text: &str) -> Result<Lps, String> {
    let one = |part: &str| -> Option<RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last).then_some(first..=last)
    };
    let refused = |part: &str| {
        format!("`{part}` is no number and no range of numbers; allowed: numbers and ranges such as 3,7-9")
    };
    text.split(',').map(|part| one(part).ok_or_else(|| refused(part))).collect::<Result<_, _>>().map(Lps)
}

/// A log of a run.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    /// There until it is finished. No other run writes it meanwhile.
    file: Mutex<Option<NewFile>>,
    /// The LPs or processes that are logged, where not all are.
    some: Option<Lps>,
    from: Time,
    to: Time,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: Vec<Line>,
    /// Events for which there was no room.
    more: u64,
}

#[derive(Debug)]
struct Line {
    time: Time,
    /// The LP or the process.
    number: u32,
    entry: Entry,
}

#[derive(Debug)]
enum Entry {
    /// What `Debug` says of an event.
    Event(String),
    /// The whole line, as JSON.
    #[cfg(feature = "processes")]
    Json(String),
}

impl Line {
    fn write(&self, to: &mut Vec<u8>) -> serde_json::Result<()> {
        match &self.entry {
            Entry::Event(event) => serde_json::to_writer(to, &EventLine(self, event)),
            #[cfg(feature = "processes")]
            Entry::Json(line) => {
                to.extend_from_slice(line.as_bytes());
                Ok(())
            }
        }
    }
}

/// The line of an event.
struct EventLine<'l>(&'l Line, &'l str);

impl Serialize for EventLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Line { time, number, .. }, event) = self;
        let unit = if Time::UNIT == "ps" { "time_ps" } else { "time_ns" };
        let mut line = serializer.serialize_struct("Line", 3)?;
        line.serialize_field(unit, &time.as_ticks())?;
        line.serialize_field("lp", number)?;
        line.serialize_field("event", event)?;
        line.end()
    }
}

impl EventLog {
    /// The log that is asked for, if one is. Makes the file, before a long run and not after it.
    pub fn open(arguments: &LogArguments) -> Result<Option<Self>, CommandError> {
        let LogArguments { log: Some(path), log_lps, log_processes, log_from, log_to } = arguments else {
            return Ok(None);
        };
        let (from, to) = (log_from.unwrap_or(Time::ZERO), log_to.unwrap_or(Time::MAX));
        if from >= to {
            let problem = format!("--log-from {from} --log-to {to}: an empty span; allowed: a later end");
            return Err(CommandError::Option(problem));
        }
        let wait = || eprintln!("Waiting for somebody to read {}", path.display());
        let file = NewFile::begin_reporting_wait(path, wait)
            .map_err(|reason| CommandError::Write(path.clone(), reason))?;
        let some = log_lps.clone().or_else(|| log_processes.clone());
        let (path, kept) = (path.clone(), Mutex::default());
        Ok(Some(Self { path, file: Mutex::new(Some(file)), some, from, to, kept }))
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it. Errors: there were more events than it holds, or no room for it.
    pub fn finish(&self) -> Result<(), CommandError> {
        let mut kept = self.kept();
        if kept.more > 0 {
            let events = kept.lines.len() as u64 + kept.more;
            let reason = format!(
                "{events} events are more than the {MOST} it holds; allowed: fewer LPs (--log-lps) or processes (--log-processes), or a shorter span (--log-from, --log-to)"
            );
            return Err(CommandError::Write(self.path.clone(), io::Error::other(reason)));
        }
        // A stable order: the events of an LP came in theirs.
        kept.lines.sort_by_key(|line| (line.time, line.number));
        self.write(&kept.lines).map_err(|reason| CommandError::Write(self.path.clone(), reason))
    }

    fn write(&self, lines: &[Line]) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut new) = file else { return Ok(()) };
        let is_stream = new.is_stream();
        let mut entries = Entries::over(new.content()?.try_clone()?, !is_stream);
        let mut bytes = Vec::new();
        for line in lines {
            bytes.clear();
            line.write(&mut bytes)?;
            bytes.push(b'\n');
            entries.write(&bytes);
        }
        let Err(CutError { reason, kept, entries: all, .. }) = entries.finish_or_mark(mark) else {
            return new.publish();
        };
        let kept = match kept {
            0 => "nothing of it is there".to_owned(),
            _ if is_stream => format!("it is cut short after about {kept} of {all} events"),
            _ => {
                // What there is room for is better than nothing.
                new.publish()?;
                format!("it is cut short after {kept} of {all} events, as its last line says")
            }
        };
        Err(io::Error::new(reason.kind(), format!("{reason}; {kept}")))
    }

    /// Whether an LP or a process is logged.
    pub(crate) fn has(&self, number: u32) -> bool {
        let is_asked_for = |some: &Lps| some.0.iter().any(|range| range.contains(&number));
        self.some.as_ref().is_none_or(is_asked_for)
    }

    /// Keeps what happened to an LP or a process, if it is to be logged.
    fn keep(&self, time: Time, number: u32, entry: impl FnOnce() -> Entry) {
        if !((self.from..self.to).contains(&time) && self.has(number)) {
            return;
        }
        let line = Line { time, number, entry: entry() };
        let mut kept = self.kept();
        if kept.lines.len() < MOST {
            kept.lines.push(line);
        } else {
            kept.more += 1;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Model> Observer<M> for EventLog {
    fn committed(&self, _federate: u32, lp: LpId, at: Time, event: &M::Event) {
        self.keep(at, lp.0, || Entry::Event(format!("{event:?}")));
    }
}

#[cfg(feature = "processes")]
impl EventLog {
    /// Something ended for a process at `time`: this line of JSON, if it is to be logged.
    pub(crate) fn keep_line(&self, time: Time, process: u32, line: impl FnOnce() -> String) {
        self.keep(time, process, || Entry::Json(line()));
    }
}

/// The last line of a log that is cut short.
fn mark(cut: &CutError) -> Vec<u8> {
    let CutError { reason, kept, entries, .. } = cut;
    let line = serde_json::json!({ "cut_short": reason.to_string(), "kept": kept, "events": entries });
    format!("{line}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lps_are_numbers_and_ranges() {
        assert_eq!(lps("3,7-9, 12"), Ok(Lps(vec![3..=3, 7..=9, 12..=12])));
        for wrong in ["", "3,", "9-7", "a", "1-2-3", "-1"] {
            assert!(lps(wrong).is_err_and(|error| error.contains("such as 3,7-9")), "{wrong}");
        }
    }
}

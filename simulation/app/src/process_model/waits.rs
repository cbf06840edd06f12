//! `--log` of processes: what each waited for, from when to when, and how that ended.
//!
//! A wait is written when it ends, as the run goes. Invariant: what is kept of a process is its present wait,
//! and nothing once it has ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_processes::{ProcessId, RoundRecord, WaitEnd, WaitReason as Awaited};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::log::EventLog;

/// A wait of a process that has ended.
#[derive(Debug)]
struct Wait {
    process: ProcessId,
    name: String,
    host: u32,
    awaited: Awaited,
    /// When it ended.
    to: Time,
    /// How it ended; `None` where the process was ended by another meanwhile, or with its host.
    outcome: Option<WaitEnd>,
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (from, to) = if Time::UNIT == "ps" { ("from_ps", "to_ps") } else { ("from_ns", "to_ns") };
        let mut line = serializer.serialize_struct("Wait", 8)?;
        line.serialize_field(from, &self.awaited.since.as_ticks())?;
        line.serialize_field(to, &self.to.as_ticks())?;
        line.serialize_field("process", &self.process.0)?;
        line.serialize_field("name", &self.name)?;
        line.serialize_field("host", &self.host)?;
        line.serialize_field("waited_for", &What(&self.awaited))?;
        let (result, reason) = match self.outcome {
            Some(WaitEnd::Done) => ("done", None),
            Some(WaitEnd::Message) => ("message", None),
            Some(WaitEnd::Truth(truth)) => (if truth { "true" } else { "false" }, None),
            Some(WaitEnd::Failed(failure)) => ("failed", Some(failure.to_string())),
            None => ("killed", None),
        };
        line.serialize_field("result", result)?;
        match reason {
            Some(reason) => line.serialize_field("reason", &reason)?,
            None => line.skip_field("reason")?,
        }
        line.end()
    }
}

/// What was waited for.
struct What<'w>(&'w Awaited);

impl Serialize for What<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut what = serializer.serialize_map(Some(2))?;
        what.serialize_entry("kind", self.0.kind)?;
        what.serialize_entry("name", &self.0.name)?;
        what.end()
    }
}

/// What a process waits for at present.
struct Present {
    name: String,
    host: u32,
    awaited: Awaited,
}

/// Writes into `log` what processes have waited for, as rounds are reported.
pub(crate) fn observer(log: Arc<EventLog>) -> impl FnMut(&RoundRecord<'_>) + Send + 'static {
    let mut present: BTreeMap<ProcessId, Present> = BTreeMap::new();
    move |round| {
        let mut ended = |process: ProcessId, outcome| {
            if let Some(Present { name, host, awaited }) = present.remove(&process) {
                let wait = Wait { process, name, host, awaited, to: round.time, outcome };
                let line = || serde_json::to_string(&wait).expect("it has strings and numbers only");
                log.keep_line(wait.to, process.0, line);
            }
        };
        // Who was ended may have stood in this round as well: its wait was over before.
        for (process, outcome) in round.processes.iter().zip(round.outcomes) {
            ended(*process, Some(*outcome));
        }
        round.killed.iter().for_each(|process| ended(*process, None));
        for process in round.processes.iter().filter(|process| log.has(process.0)) {
            if let (Some(awaited), Some(host)) = (round.wait(*process), round.host(*process)) {
                let name = round.name(*process).to_owned();
                present.insert(*process, Present { name, host: host.0, awaited });
            }
        }
    }
}

//! A run of a study in a process of its own: a panic, a crash or a lack of memory ends that process alone.
//!
//! The study writes the scenario to the process's standard input and keeps that open; the process answers
//! with one line on standard output. Invariant: a process whose standard input ends, ends: so none outlives
//! the study, however that ends, and the study stops one by closing it.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plan::ReplicasOf;
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::summary::Outcome;
use crate::{panics, stdout};

/// Counts of work that are metrics where a run has them, and what they are called in summaries.
const WORK: [(&str, &str); 2] = [("events", "events_committed"), ("messages", "messages")];

/// What a run has come to.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It came to its end.
    Ended {
        /// Why it ended.
        ended_by: String,
        /// The digest.
        digest: String,
        /// The results that are numbers, as texts; null where this run has none.
        metrics: Map<String, Value>,
    },
    /// It failed, for this reason.
    Failed(String),
}

/// The standard inputs of the processes that run: closed, they end them.
#[derive(Debug, Default)]
pub struct Lifelines(Mutex<Inputs>);

#[derive(Debug, Default)]
struct Inputs {
    /// By the numbers of the processes.
    open: Vec<(u32, ChildStdin)>,
    is_cut: bool,
}

impl Lifelines {
    fn inputs(&self) -> MutexGuard<'_, Inputs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all processes that run, and those that are about to.
    pub fn cut(&self) {
        let mut inputs = self.inputs();
        inputs.is_cut = true;
        inputs.open.clear();
    }

    fn hold(&self, process: u32, input: ChildStdin) {
        let mut inputs = self.inputs();
        if !inputs.is_cut {
            inputs.open.push((process, input));
        }
    }

    fn release(&self, process: u32) {
        self.inputs().open.retain(|(other, _)| *other != process);
    }
}

/// Runs what `source` says in a process of its own, and waits for its end.
///
/// # Errors
///
/// No process can be started.
pub fn run(source: &Source, lifelines: &Lifelines) -> io::Result<Answer> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["study", "one"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C is for the study, which then ends its runs.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let number = child.id();
    if let Some(mut input) = child.stdin.take() {
        let request = serde_json::to_string(source)? + "\n";
        // A process that has ended already says why in what follows.
        let _ = input.write_all(request.as_bytes());
        lifelines.hold(number, input);
    }
    let output = child.wait_with_output();
    lifelines.release(number);
    Ok(answer_of(&output?))
}

/// The last line of what a process has printed, or why it has printed none.
fn answer_of(output: &Output) -> Answer {
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().next_back().and_then(|line| serde_json::from_str(line).ok());
    answer.unwrap_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().rev().find(|line| !line.trim().is_empty());
        Answer::Failed(format!(
            "{}{}",
            how(output.status),
            said.map_or(String::new(), |said| format!(": {said}"))
        ))
    })
}

/// How a process ended that has not answered.
fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("its process was ended by signal {signal}");
    }
    format!("its process ended without an answer, {status}")
}

/// Runs a single run, which another process asks for on standard input.
///
/// # Errors
///
/// Nothing is asked for, or the answer cannot be written.
pub fn one(replicas: ReplicasOf<'_, '_>) -> Result<(), CommandError> {
    let mut input = BufReader::new(io::stdin());
    let mut request = String::new();
    let read = input.read_line(&mut request).map_err(|reason| CommandError::Study(reason.to_string()))?;
    let source: Option<Source> = serde_json::from_str(&request).ok().filter(|_| read > 0);
    let source = source.ok_or_else(|| CommandError::Option("`study one` is for studies alone".to_owned()))?;
    let watch = move || {
        // Nothing follows the request: whatever ends this, the study is gone or wants no answer.
        let _ = io::copy(&mut input, &mut io::sink());
        std::process::exit(1);
    };
    let watched = std::thread::Builder::new().name("lifeline".into()).spawn(watch);
    watched.map_err(|reason| CommandError::Study(reason.to_string()))?;
    let ran = panics::as_failures(|| Ok(replicas(&source)?.replica().run(&source)?.0));
    let answer = match ran {
        Ok(outcome) => ended(outcome),
        Err(failure) => Answer::Failed(failure.problem()),
    };
    let text = serde_json::to_string(&answer).map_err(|reason| CommandError::Study(reason.to_string()))?;
    stdout::print(&format!("{text}\n"))
}

fn ended(outcome: Outcome) -> Answer {
    let Outcome { ended_by, digest, lines, results, end_time, .. } = outcome;
    let texts = |(name, value): (String, Value)| match value {
        Value::Number(number) => Some((name, number.to_string().into())),
        Value::Null => Some((name, Value::Null)),
        _ => None,
    };
    let named = lines.into_iter().map(|(name, value)| (name.into_owned(), value));
    let mut metrics: Map<String, Value> = named.filter_map(texts).collect();
    let of_run = WORK.iter().filter_map(|(name, place)| Some((*name, results.get(*place)?.clone())));
    for (name, value) in of_run.chain([("end_time_s", end_time.as_secs_f64().into())]) {
        if value.is_number() && !metrics.contains_key(name) {
            metrics.insert(name.to_owned(), value.to_string().into());
        }
    }
    Answer::Ended { ended_by: ended_by.name().to_owned(), digest, metrics }
}

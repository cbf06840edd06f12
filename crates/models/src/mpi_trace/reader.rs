//! Reads time-independent traces.
//!
//! A file holds lines `RANK ACTION ARGUMENTS`, or the names of such files, one per line. Anything unknown is refused with file and
//! line. Invariant: no text makes the reader panic, and every rank that an action names exists.

use thiserror::Error;

use super::{Action, Message, MpiTrace};

/// The most ranks.
const MOST_RANKS: usize = 1 << 16;
/// The known actions, for messages.
const KNOWN: &str = "init, finalize, comm_size, compute, send, recv, isend, irecv, wait, waitall, barrier, bcast, reduce, allreduce, alltoall";

/// A mistake in a trace.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {problem}; allowed: {allowed}")]
pub struct TraceError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What is allowed there.
    pub allowed: String,
}

paceline_kernel::debug_tells!(TraceError);

/// A line of a trace, word by word.
struct Line<'t> {
    file: &'t str,
    number: usize,
    words: Vec<&'t str>,
}

impl Line<'_> {
    fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        let (file, line) = (self.file.to_owned(), self.number);
        TraceError { file, line, problem: problem.into(), allowed: allowed.into() }
    }

    /// The argument at `place`, counted from 0; it is required.
    fn number(&self, place: usize, what: &str) -> Result<f64, TraceError> {
        let Some(word) = self.words.get(2 + place) else {
            return Err(
                self.refuse(format!("`{}` without {what}", self.words[1]), format!("{what} after it"))
            );
        };
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number + 0.0),
            _ => Err(self.refuse(format!("`{word}` as {what}"), "a finite number from 0")),
        }
    }

    fn whole(&self, place: usize, what: &str) -> Result<u32, TraceError> {
        let number = self.number(place, what)?;
        // The greatest `u32` is the tag of collective actions.
        if number.fract() == 0.0 && number < f64::from(u32::MAX) {
            return Ok(number as u32);
        }
        Err(self.refuse(format!("`{}` as {what}", self.words[2 + place]), "a whole number below 4294967295"))
    }

    fn optional(&self, place: usize, what: &str) -> Result<Option<u32>, TraceError> {
        if self.words.len() > 2 + place { self.whole(place, what).map(Some) } else { Ok(None) }
    }

    /// Bytes of an element of the data type at `place`; `default` if there is no argument.
    fn element(&self, place: usize, default: f64) -> Result<f64, TraceError> {
        Ok(match self.optional(place, "a data type")? {
            None => default,
            Some(0 | 4) => 8.0,
            Some(1 | 5) => 4.0,
            Some(2 | 6) => 1.0,
            Some(3) => 2.0,
            Some(other) => return Err(self.refuse(format!("data type {other}"), "a data type from 0 to 6")),
        })
    }

    fn message(&self, default: f64) -> Result<Message, TraceError> {
        let bytes = self.number(2, "a size")? * self.element(3, default)?;
        Ok(Message { other: self.whole(0, "a rank")?, tag: self.whole(1, "a tag")?, bytes })
    }

    /// The action; `None` for an action that takes no time. `element` is the element size where the line names no type.
    fn action(&self, element: &mut f64) -> Result<Option<Action>, TraceError> {
        let name = self.words[1].to_ascii_lowercase();
        Ok(Some(match name.as_str() {
            "init" => {
                // SimGrid: sizes are in doubles if `init` has any argument.
                *element = if self.words.len() > 2 { 8.0 } else { 1.0 };
                return Ok(None);
            }
            "finalize" | "comm_size" => return Ok(None),
            "compute" => Action::Compute(self.number(0, "a number of flops")?),
            "send" => Action::Send(self.message(*element)?),
            "recv" => Action::Receive(self.message(*element)?),
            "isend" => Action::StartSend(self.message(*element)?),
            "irecv" => Action::StartReceive(self.message(*element)?),
            "wait" if self.words.len() == 2 => Action::Wait(None),
            "wait" => {
                let (from, to) = (self.whole(0, "a sender")?, self.whole(1, "a receiver")?);
                Action::Wait(Some((from, to, self.whole(2, "a tag")?)))
            }
            "waitall" => Action::WaitAll,
            "barrier" => Action::Barrier,
            "bcast" => {
                let bytes = self.number(0, "a size")? * self.element(2, *element)?;
                Action::Broadcast { bytes, root: self.optional(1, "a root")?.unwrap_or(0) }
            }
            "reduce" => {
                let bytes = self.number(0, "a size")? * self.element(3, *element)?;
                let flops = self.number(1, "a number of flops")?;
                Action::Reduce { bytes, flops, root: self.optional(2, "a root")?.unwrap_or(0) }
            }
            "allreduce" => {
                let bytes = self.number(0, "a size")? * self.element(2, *element)?;
                Action::ReduceAll { bytes, flops: self.number(1, "a number of flops")? }
            }
            "alltoall" => Action::Exchange { bytes: self.number(0, "a size")? * self.element(2, *element)? },
            _ => return Err(self.refuse(format!("the action `{}`", self.words[1]), KNOWN)),
        }))
    }
}

/// The ranks that an action names besides its own.
fn named(action: &Action) -> [Option<u32>; 2] {
    match action {
        Action::Send(message)
        | Action::Receive(message)
        | Action::StartSend(message)
        | Action::StartReceive(message) => [Some(message.other), None],
        Action::Wait(Some((from, to, _))) => [Some(*from), Some(*to)],
        Action::Broadcast { root, .. } | Action::Reduce { root, .. } => [Some(*root), None],
        _ => [None, None],
    }
}

impl MpiTrace {
    /// Reads a trace. `name` is its name in messages; `others` returns the text of a file that the trace names.
    pub fn read(
        name: &str,
        text: &str,
        others: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, TraceError> {
        let mut reading = Reading::default();
        let mut words = text.lines().filter_map(|line| line.split_whitespace().next());
        let first = words.find(|word| !word.starts_with('#'));
        if first.is_none_or(|word| word.parse::<u32>().is_ok()) {
            reading.file(name, text)?;
            return reading.finish(name);
        }
        for (number, line) in (1..).zip(text.lines()) {
            let file = line.trim();
            if file.is_empty() || file.starts_with('#') {
                continue;
            }
            let refuse = |reason: String| TraceError {
                file: name.to_owned(),
                line: number,
                problem: format!("`{file}` cannot be read: {reason}"),
                allowed: "the name of a trace, or lines `RANK ACTION ARGUMENTS`".into(),
            };
            let text = others(file).map_err(refuse)?;
            reading.file(file, &text)?;
        }
        reading.finish(name)
    }
}

/// A rank that an action names, and the place of that action.
type Named = (u32, String, usize);

#[derive(Default)]
struct Reading {
    ranks: Vec<Vec<Action>>,
    /// By rank: the element size where a line names no type.
    elements: Vec<f64>,
    named: Option<Named>,
}

impl Reading {
    fn file(&mut self, file: &str, text: &str) -> Result<(), TraceError> {
        for (number, words) in (1..).zip(text.lines()) {
            let words: Vec<&str> = words.split_whitespace().collect();
            if words.first().is_none_or(|word| word.starts_with('#')) {
                continue;
            }
            let line = Line { file, number, words };
            let rank = line.words[0].parse::<usize>().ok().filter(|rank| *rank < MOST_RANKS);
            let Some(rank) = rank else {
                return Err(line.refuse(format!("rank `{}`", line.words[0]), "a whole number below 65536"));
            };
            if line.words.len() < 2 {
                return Err(line.refuse("a rank without an action", KNOWN));
            }
            if rank >= self.ranks.len() {
                self.ranks.resize(rank + 1, Vec::new());
                self.elements.resize(rank + 1, 1.0);
            }
            let Some(action) = line.action(&mut self.elements[rank])? else { continue };
            for other in named(&action).into_iter().flatten() {
                if self.named.as_ref().is_none_or(|(greatest, ..)| other > *greatest) {
                    self.named = Some((other, file.to_owned(), number));
                }
            }
            self.ranks[rank].push(action);
        }
        Ok(())
    }

    fn finish(self, name: &str) -> Result<MpiTrace, TraceError> {
        let ranks = self.ranks.len();
        match self.named {
            Some((other, file, line)) if other as usize >= ranks => {
                let allowed = format!("a rank below {ranks}, the number of ranks with actions");
                Err(TraceError { file, line, problem: format!("there is no rank {other}"), allowed })
            }
            _ if ranks == 0 => {
                let (file, problem) = (name.to_owned(), "a trace without ranks".to_owned());
                Err(TraceError { file, line: 1, problem, allowed: "lines `RANK ACTION ARGUMENTS`".into() })
            }
            _ => Ok(MpiTrace::new(self.ranks)),
        }
    }
}

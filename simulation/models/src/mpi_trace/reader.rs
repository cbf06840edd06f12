//! Reads time-independent traces.
//!
//! A file holds lines `RANK ACTION ARGUMENTS`, or the names of such files, one per line. Anything unknown is
//! refused with file and line. Invariant: no text makes the reader panic, every rank that an action names
//! exists, and there are ranks from 0 without gaps.

use std::collections::BTreeSet;

use super::error::TraceError;
use super::line::{self, KNOWN, Line, MOST_RANKS, Said};
use super::requests::Requests;
use super::{ANY, Action, Ends, MpiTrace};

/// The text of a file of a trace: comments may be in any encoding, all else is ASCII. A reason why it is no
/// text.
pub fn text_of(bytes: &[u8]) -> Result<String, String> {
    match bytes {
        [0x1f, 0x8b, ..] => Err("it is compressed (gzip); decompress it first".into()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err("it is in UTF-16; UTF-8 can be read".into()),
        _ => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// A text without a byte order mark.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The ranks that an action names besides its own.
fn named(action: &Action) -> [Option<u32>; 2] {
    let some = |rank: u32| Some(rank).filter(|rank| *rank != ANY);
    match action {
        Action::Send(message)
        | Action::Receive(message)
        | Action::StartSend(message)
        | Action::StartReceive(message) => [some(message.other), None],
        Action::SendReceive { to, from, .. } => [*to, some(*from)],
        Action::Wait((from, to, _)) | Action::Test((from, to, _)) => [some(*from), Some(*to)],
        Action::Broadcast { root, .. }
        | Action::Reduce { root, .. }
        | Action::Gather { root, .. }
        | Action::Scatter { root, .. }
        | Action::ScatterEach { root, .. } => [Some(*root), None],
        _ => [None, None],
    }
}

impl MpiTrace {
    /// Reads a trace. `name` is its name in messages; `others` returns the text of a file that the trace
    /// names. A file that is named twice is read once: a list may name one for each rank.
    pub fn read(
        name: &str,
        text: &str,
        others: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, TraceError> {
        let mut reading = Reading::default();
        let text = unmarked(text);
        let mut lines = text.lines().map(|line| Line::new(name, 1, line).words);
        let first = lines.find(|words| !words.is_empty()).unwrap_or_default();
        // A file may be called `p0`.
        let is_trace = first.first().is_none_or(|word| word.parse::<u32>().is_ok())
            || (first.len() > 1 && line::rank(first[0]).is_some());
        if is_trace {
            reading.file(name, text)?;
            return reading.finish(name);
        }
        let mut read = BTreeSet::new();
        for (number, line) in (1..).zip(text.lines()) {
            let file = line.trim();
            if file.is_empty() || file.starts_with('#') || !read.insert(file) {
                continue;
            }
            let refuse = |reason: String| TraceError {
                file: name.to_owned(),
                line: number,
                problem: format!("`{file}` cannot be read: {reason}"),
                allowed: "the name of a trace, or lines `RANK ACTION ARGUMENTS`".into(),
            };
            let text = others(file).map_err(refuse)?;
            reading.file(file, unmarked(&text))?;
        }
        reading.finish(name)
    }
}

struct RankRead {
    actions: Vec<Action>,
    /// Bytes of an element where a line names no type.
    element: f64,
    /// The place among the files read of the one with its lines; `None` where no line is of this rank.
    file: Option<usize>,
    requests: Requests<()>,
}

/// A line that is read once the number of ranks is known.
struct Later {
    rank: usize,
    /// Among the actions of its rank.
    place: usize,
    element: f64,
    file: String,
    line: usize,
    words: Vec<String>,
}

/// A rank that an action names, and the place of that action.
type Named = (u32, String, usize);

#[derive(Default)]
struct Reading {
    files: usize,
    ranks: Vec<RankRead>,
    later: Vec<Later>,
    named: Option<Named>,
    idle_waits: u64,
}

impl Reading {
    fn file(&mut self, file: &str, text: &str) -> Result<(), TraceError> {
        for (number, text) in (1..).zip(text.lines()) {
            let line = Line::new(file, number, text);
            if !line.words.is_empty() {
                self.line(&line)?;
            }
        }
        self.files += 1;
        Ok(())
    }

    fn line(&mut self, line: &Line) -> Result<(), TraceError> {
        let rank = line::rank(line.words[0]).filter(|rank| *rank < MOST_RANKS);
        let Some(rank) = rank else {
            return Err(line.refuse(format!("rank `{}`", line.words[0]), "a whole number below 65536"));
        };
        if line.words.len() < 2 {
            return Err(line.refuse("a rank without an action", KNOWN));
        }
        let none =
            || RankRead { actions: Vec::new(), element: 1.0, file: None, requests: Requests::default() };
        self.ranks.resize_with(self.ranks.len().max(rank + 1), none);
        let read = &mut self.ranks[rank];
        // Else a file that was listed twice under two names would be replayed twice.
        if *read.file.get_or_insert(self.files) != self.files {
            let problem = format!("lines of rank {rank}, of which there are some in a file before");
            return Err(line.refuse(problem, "all lines of a rank in one file"));
        }
        if line.depends_on_ranks() {
            self.later.push(Later {
                rank,
                place: read.actions.len(),
                element: read.element,
                file: line.file.to_owned(),
                line: line.number,
                words: line.words.iter().map(|word| (*word).to_owned()).collect(),
            });
            // It is replaced at the end.
            read.actions.push(Action::Barrier);
            return Ok(());
        }
        let action = match line.said(read.element)? {
            Said::Nothing => return Ok(()),
            Said::Init(element) => {
                read.element = element;
                return Ok(());
            }
            Said::BareWait => Action::Wait(only_request(line, read)?),
            Said::Act(action) => action,
        };
        let number = rank as u32;
        self.idle_waits += u64::from(follow(&mut read.requests, number, &action, line)?);
        read.actions.push(action);
        let action = read.actions.last().expect("it was just added");
        Self::note_named(&mut self.named, action, line);
        Ok(())
    }

    fn note_named(noted: &mut Option<Named>, action: &Action, line: &Line) {
        for other in named(action).into_iter().flatten() {
            if noted.as_ref().is_none_or(|(greatest, ..)| other > *greatest) {
                *noted = Some((other, line.file.to_owned(), line.number));
            }
        }
    }

    fn finish(mut self, name: &str) -> Result<MpiTrace, TraceError> {
        let ranks = self.ranks.len();
        let of_all = |problem: String, allowed: &str| TraceError {
            file: name.to_owned(),
            line: 1,
            problem,
            allowed: allowed.to_owned(),
        };
        if ranks == 0 {
            return Err(of_all("a trace without ranks".into(), "lines `RANK ACTION ARGUMENTS`"));
        }
        if let Some(gap) = self.ranks.iter().position(|rank| rank.file.is_none()) {
            let problem = format!("there are {ranks} ranks, and no line of rank {gap}");
            return Err(of_all(problem, "at least one line of each rank, if only `init`"));
        }
        for Later { rank, place, element, file, line, words } in self.later {
            let line = Line { file: &file, number: line, words: words.iter().map(String::as_str).collect() };
            let action = line.action_of(ranks, element)?;
            Self::note_named(&mut self.named, &action, &line);
            self.ranks[rank].actions[place] = action;
        }
        if let Some((other, file, line)) = self.named.filter(|(other, ..)| *other as usize >= ranks) {
            let allowed = format!("a rank below {ranks}, the number of ranks with actions");
            return Err(TraceError { file, line, problem: format!("there is no rank {other}"), allowed });
        }
        let trace = MpiTrace::new(self.ranks.into_iter().map(|rank| rank.actions).collect());
        Ok(MpiTrace { idle_waits: self.idle_waits, ..trace })
    }
}

/// The request of a `wait` that names none: which of several it was cannot be known.
fn only_request(line: &Line, read: &RankRead) -> Result<Ends, TraceError> {
    read.requests.only().map_err(|open| {
        let problem = format!("`wait` that does not say for what, with {open} requests open");
        line.refuse(problem, "`wait SENDER RECEIVER TAG`, `waitall`, or one open request")
    })
}

/// Keeps account of open requests. Says whether the action waits for one that is not there; refuses one of
/// other ranks.
fn follow(
    requests: &mut Requests<()>,
    number: u32,
    action: &Action,
    line: &Line,
) -> Result<bool, TraceError> {
    match action {
        Action::StartSend(message) => requests.begin((number, message.other, message.tag), ()),
        Action::StartReceive(message) => requests.begin((message.other, number, message.tag), ()),
        Action::WaitAll => drop(requests.take_all()),
        Action::Wait(ends) | Action::Test(ends) => {
            if ends.0 != number && ends.1 != number {
                let problem = format!("a request from rank {} to rank {}, of rank {number}", ends.0, ends.1);
                return Err(line.refuse(problem, "a rank's own requests: it sends, or it receives"));
            }
            let is_there = match action {
                // A test that fails leaves its request open.
                Action::Test(_) => requests.get(*ends).is_some(),
                _ => requests.take(*ends).is_some(),
            };
            return Ok(!is_there);
        }
        _ => {}
    }
    Ok(false)
}

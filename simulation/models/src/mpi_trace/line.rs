//! Reads one line of a trace: `RANK ACTION ARGUMENTS`.
//!
//! Invariant: every word of a line is read, or the line is refused; what follows a `#` is a comment.

use std::sync::Arc;

use super::error::TraceError;
use super::{ANY, Action, Ends, Message, types};

/// The most ranks.
pub(super) const MOST_RANKS: usize = 1 << 16;
/// The most arguments of actions whose number of arguments does not depend on that of ranks.
const MOST_ARGUMENTS: [(&[&str], usize); 6] = [
    (&["barrier"], 0),
    // The argument of `waitall` is the number of requests.
    (&["init", "compute", "sleep", "waitall"], 1),
    (&["wait", "test", "bcast", "allreduce", "scan", "exscan"], 3),
    (&["send", "isend", "recv", "irecv", "reduce", "alltoall", "allgather"], 4),
    (&["gather", "scatter"], 5),
    (&["sendrecv"], 6),
];
/// The known actions, for messages.
pub(super) const KNOWN: &str = "init, finalize, comm_size, comm_dup, location, compute, sleep, send, recv, isend, irecv, \
     sendRecv, wait, test, waitall, barrier, bcast, reduce, allreduce, alltoall, alltoallv, gather, gatherv, allgather, \
     allgatherv, scatter, scatterv, reducescatter, scan, exscan";
/// Tags of MPI are below this: an `int` holds them.
const TAGS: f64 = 2_147_483_648.0;
/// What stands for any sender: as one writes it, what SimGrid 3.32 writes into traces (its undefined rank),
/// and what it reads.
const ANY_SOURCE: [&str; 5] = ["any", "-1", "-333", "-555", "mpi_any_source"];
/// The words for any tag; SimGrid writes and reads one number.
const ANY_TAG: [&str; 4] = ["any", "-1", "-444", "mpi_any_tag"];
/// What stands for nobody as a receiver, who gets nothing: what SimGrid 3.32 writes, and its `MPI_PROC_NULL`.
const NOBODY: [&str; 3] = ["-333", "-666", "mpi_proc_null"];

/// What a line says.
pub(super) enum Said {
    /// Something that takes no time.
    Nothing,
    /// `init`: bytes of an element where a line names no type.
    Init(f64),
    /// What a rank does.
    Act(Action),
    /// `wait` that does not say for what.
    BareWait,
}

/// A line of a trace, word by word.
pub(super) struct Line<'t> {
    pub(super) file: &'t str,
    pub(super) number: usize,
    pub(super) words: Vec<&'t str>,
}

/// The rank that a word names, as the first of a line.
pub(super) fn rank(word: &str) -> Option<usize> {
    // Older traces write `p0` for rank 0.
    let digits = word.strip_prefix('p').unwrap_or(word);
    digits.parse().ok().filter(|_| digits.starts_with(|first: char| first.is_ascii_digit()))
}

impl<'t> Line<'t> {
    /// The words of a line up to a comment.
    pub(super) fn new(file: &'t str, number: usize, text: &'t str) -> Self {
        let words = text.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        Self { file, number, words }
    }

    pub(super) fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> TraceError {
        let (file, line) = (self.file.to_owned(), self.number);
        TraceError { file, line, problem: problem.into(), allowed: allowed.into() }
    }

    fn arguments(&self) -> usize {
        self.words.len() - 2
    }

    /// Refuses a line with more arguments than its action has.
    fn at_most(&self, most: usize) -> Result<(), TraceError> {
        match self.words.get(2 + most) {
            None => Ok(()),
            Some(word) => {
                let allowed = match most {
                    0 => "no argument".to_owned(),
                    1 => "at most one argument".to_owned(),
                    most => format!("at most {most} arguments"),
                };
                Err(self.refuse(format!("`{}` with a further argument `{word}`", self.words[1]), allowed))
            }
        }
    }

    fn word(&self, place: usize, what: &str) -> Result<&'t str, TraceError> {
        self.words.get(2 + place).copied().ok_or_else(|| {
            self.refuse(format!("`{}` without {what}", self.words[1]), format!("{what} after it"))
        })
    }

    /// The argument at `place`, counted from 0; it is required.
    fn number(&self, place: usize, what: &str) -> Result<f64, TraceError> {
        let word = self.word(place, what)?;
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number + 0.0),
            _ => Err(self.refuse(format!("`{word}` as {what}"), "a finite number from 0")),
        }
    }

    fn whole(&self, place: usize, what: &str, below: f64) -> Result<u32, TraceError> {
        let number = self.number(place, what)?;
        if number.fract() == 0.0 && number < below {
            return Ok(number as u32);
        }
        Err(self.refuse(
            format!("`{}` as {what}", self.words[2 + place]),
            format!("a whole number below {below}"),
        ))
    }

    fn rank(&self, place: usize, what: &str) -> Result<u32, TraceError> {
        self.whole(place, what, MOST_RANKS as f64)
    }

    fn is_one_of(&self, place: usize, names: &[&str]) -> bool {
        let word = self.words.get(2 + place).map(|word| word.to_ascii_lowercase());
        word.is_some_and(|word| names.contains(&word.as_str()))
    }

    fn sender(&self, place: usize) -> Result<u32, TraceError> {
        if self.is_one_of(place, &ANY_SOURCE) { Ok(ANY) } else { self.rank(place, "a rank") }
    }

    /// `None` for nobody.
    fn receiver(&self, place: usize) -> Result<Option<u32>, TraceError> {
        if self.is_one_of(place, &NOBODY) { Ok(None) } else { self.rank(place, "a rank").map(Some) }
    }

    fn tag(&self, place: usize, may_be_open: bool) -> Result<u32, TraceError> {
        let is_open = may_be_open && self.is_one_of(place, &ANY_TAG);
        if is_open { Ok(ANY) } else { self.whole(place, "a tag", TAGS) }
    }

    fn root(&self, place: usize) -> Result<u32, TraceError> {
        if self.arguments() > place { self.rank(place, "a root") } else { Ok(0) }
    }

    /// Bytes of an element of the data type at `place`; `default` if there is no argument.
    fn element(&self, place: usize, default: f64) -> Result<f64, TraceError> {
        let Some(word) = self.words.get(2 + place) else { return Ok(default) };
        types::size(word).ok_or_else(|| self.refuse(format!("data type {word}"), types::ALLOWED))
    }

    /// Bytes: a number of elements at `place`, of the type at `type_place`.
    fn bytes(&self, place: usize, type_place: usize, default: f64) -> Result<f64, TraceError> {
        let bytes = self.number(place, "a size")? * self.element(type_place, default)?;
        if bytes.is_finite() {
            return Ok(bytes);
        }
        Err(self.refuse(format!("`{}` elements", self.words[2 + place]), "fewer bytes than 1.8e308"))
    }

    /// `count` numbers from `place` on.
    fn counts(&self, place: usize, count: usize) -> Result<Arc<[f64]>, TraceError> {
        let of = |rank: usize| {
            let what = format!("a size for rank {rank} of {count}");
            self.whole(place + rank, &what, TAGS).map(f64::from)
        };
        (0..count).map(of).collect()
    }

    fn message(&self, default: f64) -> Result<Option<Message>, TraceError> {
        let (tag, bytes) = (self.tag(1, false)?, self.bytes(2, 3, default)?);
        Ok(self.receiver(0)?.map(|other| Message { other, tag, bytes }))
    }

    fn received(&self, default: f64) -> Result<Message, TraceError> {
        // SimGrid: a size that is not known.
        let is_unknown = self.is_one_of(2, &["-1"]);
        let element = self.element(3, default)?;
        let bytes = if is_unknown { element * 0.0 } else { self.bytes(2, 3, default)? };
        Ok(Message { other: self.sender(0)?, tag: self.tag(1, true)?, bytes })
    }

    /// The request that a `wait` or a `test` names; `None` for what nobody was sent.
    fn request(&self) -> Result<Option<Ends>, TraceError> {
        self.word(2, "SENDER RECEIVER TAG")?;
        let (from, tag) = (self.sender(0)?, self.tag(2, true)?);
        Ok(self.receiver(1)?.map(|to| (from, to, tag)))
    }

    /// Whether the line has as many numbers as there are ranks, so that it is read once that number is known.
    pub(super) fn depends_on_ranks(&self) -> bool {
        let name = self.words[1].to_ascii_lowercase();
        matches!(name.as_str(), "gatherv" | "allgatherv" | "scatterv" | "reducescatter" | "alltoallv")
    }

    /// What the line says, if it is none that depends on the number of ranks. `element` is the element size
    /// where the line names no type.
    pub(super) fn said(&self, element: f64) -> Result<Said, TraceError> {
        let name = self.words[1].to_ascii_lowercase();
        let maybe = |action: Option<Action>| Ok(action.map_or(Said::Nothing, Said::Act));
        if let Some((_, most)) = MOST_ARGUMENTS.iter().find(|(names, _)| names.contains(&name.as_str())) {
            self.at_most(*most)?;
        }
        Ok(Said::Act(match name.as_str() {
            // SimGrid: sizes are in doubles if `init` has any argument.
            "init" => return Ok(Said::Init(if self.arguments() > 0 { 8.0 } else { 1.0 })),
            // Their arguments are for people only: the number of ranks, a place in a source file.
            "finalize" | "comm_size" | "comm_dup" | "location" => return Ok(Said::Nothing),
            "compute" => Action::Compute(self.number(0, "a number of flops")?),
            "sleep" => Action::Sleep(self.number(0, "a number of seconds")?),
            "send" => return maybe(self.message(element)?.map(Action::Send)),
            "isend" => return maybe(self.message(element)?.map(Action::StartSend)),
            "recv" => Action::Receive(self.received(element)?),
            "irecv" => Action::StartReceive(self.received(element)?),
            "sendrecv" => {
                let (bytes, to) = (self.bytes(0, 4, element)?, self.receiver(1)?);
                self.bytes(2, 5, element)?;
                Action::SendReceive { to, from: self.sender(3)?, bytes }
            }
            "wait" if self.arguments() == 0 => return Ok(Said::BareWait),
            "wait" => return maybe(self.request()?.map(Action::Wait)),
            "test" => return maybe(self.request()?.map(Action::Test)),
            "waitall" => Action::WaitAll,
            "comm_split" | "comm_create" | "comm_free" => {
                let problem =
                    format!("`{}`: ranks in communicators of their own are not replayed", self.words[1]);
                return Err(self.refuse(problem, "actions of all ranks together"));
            }
            _ => self.collective(&name, element)?,
        }))
    }

    fn collective(&self, name: &str, element: f64) -> Result<Action, TraceError> {
        let flops = || self.number(1, "a number of flops");
        Ok(match name {
            "barrier" => Action::Barrier,
            "bcast" => Action::Broadcast { bytes: self.bytes(0, 2, element)?, root: self.root(1)? },
            "reduce" => {
                Action::Reduce { bytes: self.bytes(0, 3, element)?, flops: flops()?, root: self.root(2)? }
            }
            "allreduce" => Action::ReduceAll { bytes: self.bytes(0, 2, element)?, flops: flops()? },
            "scan" | "exscan" => Action::Scan { bytes: self.bytes(0, 2, element)?, flops: flops()? },
            "alltoall" | "allgather" => {
                let bytes = self.bytes(0, 2, element)?;
                self.bytes(1, 3, element)?;
                if name == "alltoall" { Action::Exchange { bytes } } else { Action::GatherAll { bytes } }
            }
            "gather" | "scatter" => {
                let (bytes, root) = (self.bytes(0, 3, element)?, self.root(2)?);
                self.bytes(1, 4, element)?;
                if name == "gather" {
                    Action::Gather { bytes, root }
                } else {
                    Action::Scatter { bytes, root }
                }
            }
            _ => return Err(self.refuse(format!("the action `{}`", self.words[1]), KNOWN)),
        })
    }

    /// The action of a line that depends on the number of ranks.
    pub(super) fn action_of(&self, ranks: usize, element: f64) -> Result<Action, TraceError> {
        let name = self.words[1].to_ascii_lowercase();
        Ok(match name.as_str() {
            "gatherv" => {
                self.at_most(ranks + 4)?;
                self.counts(1, ranks)?;
                self.element(ranks + 3, element)?;
                Action::Gather { bytes: self.bytes(0, ranks + 2, element)?, root: self.root(ranks + 1)? }
            }
            "allgatherv" => {
                self.counts(1, ranks)?;
                // Types, places in the buffer, both, or neither: the places take no time.
                let further = self.arguments().saturating_sub(1 + ranks);
                let has_types = further <= 2 || further == ranks + 2;
                if !has_types && further != ranks {
                    self.at_most(ranks + 3)?;
                }
                let (sent, received) =
                    if has_types { (ranks + 1, ranks + 2) } else { (usize::MAX - 2, usize::MAX - 2) };
                self.element(received, element)?;
                Action::GatherAll { bytes: self.bytes(0, sent, element)? }
            }
            "scatterv" => {
                self.at_most(ranks + 4)?;
                let counts = self.counts(0, ranks)?;
                let (size, root) = (self.element(ranks + 2, element)?, self.root(ranks + 1)?);
                self.bytes(ranks, ranks + 3, element)?;
                Action::ScatterEach { bytes: counts.iter().map(|count| count * size).collect(), root }
            }
            "reducescatter" => {
                self.at_most(ranks + 2)?;
                let counts = self.counts(0, ranks)?;
                let flops = self.number(ranks, "a number of flops")?;
                Action::ReduceScatter { counts, element: self.element(ranks + 1, element)?, flops }
            }
            _ => {
                self.at_most(2 * ranks + 4)?;
                self.number(0, "a size of the buffer")?;
                let counts = self.counts(1, ranks)?;
                self.number(ranks + 1, "a size of the buffer")?;
                self.counts(ranks + 2, ranks)?;
                self.element(2 * ranks + 3, element)?;
                let size = self.element(2 * ranks + 2, element)?;
                Action::ExchangeEach { bytes: counts.iter().map(|count| count * size).collect() }
            }
        })
    }
}

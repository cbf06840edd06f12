//! Reads a serial console, line by line.
//!
//! The hypervisor prints on its own, also in the midst of a line of dom0's: then the rest of that line stands behind it. Lines
//! of interest are therefore sought anywhere in a line, and what dom0 says that matters to the lab (`lab: over`, `lab: failed`)
//! as well.

use std::collections::BTreeMap;

use super::{Entry, Source, Transcript};

/// What the words begin that complain, in lines of the hypervisor.
const HYPERVISOR_COMPLAINTS: &[&str] =
    &["BUG", "WARN", "Assertion", "Panic", "panic", "FATAL", "fail", "Xen call trace"];

/// The same in lines of a kernel.
const KERNEL_COMPLAINTS: &[&str] =
    &["BUG:", "WARNING:", "Oops", "Call Trace", "lockup", "Kernel panic", "detected stalls"];

/// What Xen says at every boot of this machine, whatever the scheduler.
const USUAL: &[&str] = &[];

/// Reads lines into a [`Transcript`].
#[derive(Debug, Default)]
pub(crate) struct Reader {
    transcript: Transcript,
    part: String,
    over: bool,
}

impl Reader {
    /// Takes the next line.
    pub fn line(&mut self, line: &str) {
        if let Some((_, said)) = line.split_once("(XEN) ") {
            self.complaint(line, said, HYPERVISOR_COMPLAINTS);
        }
        if let Some((_, said)) = line.split_once("paceline-sched: ") {
            self.entry(Source::Scheduler, said);
        } else if let Some((name, said)) =
            line.split_once("guest ").and_then(|(_, rest)| rest.split_once(": "))
        {
            self.complaint(line, said, KERNEL_COMPLAINTS);
            if let Some((_, said)) = said.split_once("paceline: ") {
                self.entry(Source::Guest(name.into()), said);
            }
        } else if let Some((_, said)) = line.split_once("lab: ") {
            self.dom0(said);
        } else if line.trim_start().starts_with('[') {
            self.complaint(line, line, KERNEL_COMPLAINTS);
        }
    }

    /// What was read; `ended` says what became of the machine if it did not get to its end.
    pub fn finish(mut self, ended: &str) -> Transcript {
        if !self.over && self.transcript.failure.is_none() {
            self.transcript.failure = Some(ended.into());
        }
        self.transcript
    }

    /// The part that is being read.
    pub fn part(&self) -> &str {
        &self.part
    }

    fn dom0(&mut self, said: &str) {
        if let Some(name) = said.strip_prefix("mark=") {
            self.part = name.into();
        } else if let Some(reason) = said.strip_prefix("failed=1 ") {
            self.transcript.failure.get_or_insert(reason.into());
        } else if let Some(complaint) = said.strip_prefix("dom0's kernel: ") {
            self.transcript.complaints.push(complaint.into());
        } else if said == "over" {
            self.over = true;
        } else {
            self.entry(Source::Dom0, said);
        }
    }

    fn entry(&mut self, source: Source, said: &str) {
        let pairs = said.split_whitespace().filter_map(|word| word.split_once('='));
        let values: BTreeMap<_, _> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if !values.is_empty() {
            self.transcript.entries.push(Entry { part: self.part.clone(), source, values });
        }
    }

    fn complaint(&mut self, line: &str, said: &str, words: &[&str]) {
        if words.iter().any(|word| said.contains(word)) && !USUAL.iter().any(|usual| said.contains(usual)) {
            self.transcript.complaints.push(line.into());
        }
    }
}

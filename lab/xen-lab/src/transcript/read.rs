//! Reads a serial console, line by line.
//!
//! The hypervisor prints on its own, also in the midst of a line of dom0's: then the rest of that line stands
//! behind it. Lines of interest are therefore sought anywhere in a line.
//!
//! A guest that is about to crash on purpose says `paceline: crash=1` first: what its kernel says then is no
//! complaint.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, Source, Transcript};

/// What the words begin that complain, in lines of the hypervisor.
const HYPERVISOR_COMPLAINTS: &[&str] =
    &["BUG", "WARN", "Assertion", "Panic", "panic", "FATAL", "fail", "Xen call trace"];

/// What complaints look like in lines of a kernel.
const KERNEL_COMPLAINTS: &[&str] =
    &["BUG:", "WARNING:", "Oops", "Call Trace", "lockup", "Kernel panic", "detected stalls"];

/// What Xen says at every boot of this machine, whatever the scheduler: that there is no profiling, and, in a
/// debug build, that the emulated processor takes a wrong address on the stack for a general protection
/// fault.
const USUAL: &[&str] =
    &["xenoprof: Initialization failed.", "Selftest 2 failed: Opc f3 0f 1e fa 02 04 04 expected #SS[0000]"];

/// Reads lines into a [`Transcript`].
#[derive(Debug, Default)]
pub(crate) struct Reader {
    transcript: Transcript,
    part: String,
    /// Guests that have said that they are about to crash.
    crashing: BTreeSet<String>,
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
            if !self.crashing.contains(name) {
                self.complaint(line, said, KERNEL_COMPLAINTS);
            }
            if let Some((_, said)) = said.split_once("paceline: ") {
                match said {
                    "crash=1" => _ = self.crashing.insert(name.into()),
                    "ready=1" => _ = self.crashing.remove(name),
                    _ => {}
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Transcript {
        let mut reader = Reader::default();
        lines.iter().for_each(|line| reader.line(line));
        reader.finish("it ended")
    }

    #[test]
    fn values_are_reported_apart_by_part_and_by_who_has_said_them() {
        let said = read(&[
            "lab: mark=",
            "guest a: paceline: ready=1",
            "lab: mark=one two",
            "guest a: paceline: program=ep units=7 elapsed_us=12",
            "guest a: other words=1",
            "(XEN) paceline-sched: dom=1 vcpu=0 ran_ns=5",
            "half a line of dom0(XEN) paceline-sched: dom=2",
            "lab: part=one two part_ms=120",
            "lab: over",
        ]);
        let found: Vec<_> = said
            .entries
            .iter()
            .map(|entry| (entry.part.as_str(), entry.source.clone(), entry.values.len()))
            .collect();
        let guest = Source::Guest("a".into());
        let expected = [
            ("", guest.clone(), 1),
            ("one two", guest, 3),
            ("one two", Source::Scheduler, 3),
            ("one two", Source::Scheduler, 1),
            ("one two", Source::Dom0, 2),
        ];
        assert_eq!(found, expected);
        assert_eq!((said.failure, said.complaints.len()), (None, 0));
    }

    #[test]
    fn a_boot_has_failed_where_dom0_says_so_or_says_no_end() {
        assert_eq!(read(&["lab: over"]).failure, None);
        assert_eq!(read(&["lab: mark=x"]).failure.as_deref(), Some("it ended"));
        let failed =
            read(&["lab: failed=1 step=await a because: a was not done within 5 s", "lab: failed=1 more"]);
        assert_eq!(failed.failure.as_deref(), Some("step=await a because: a was not done within 5 s"));
    }

    #[test]
    fn complaints_are_kept_but_those_of_a_guest_that_crashes_on_purpose() {
        let lines = [
            "(XEN) Assertion 'x' failed at common/sched/psx.c:7",
            "(XEN) xenoprof: Initialization failed. AMD processor family 23 is not supported",
            "(XEN) Selftest 2 failed: Opc f3 0f 1e fa 02 04 04 expected #SS[0000], got #GP[0000]",
            "(XEN) Brought up 2 CPUs",
            "[    3.1] watchdog: BUG: soft lockup - CPU#0 stuck",
            "guest a: [   12.1] rcu: INFO: rcu_sched detected stalls on CPUs/tasks",
            "guest b: paceline: crash=1",
            "guest b: [   13.0] Kernel panic - not syncing: sysrq triggered crash",
            "guest a: [   14.0] Kernel panic - not syncing: worse",
            "guest b: paceline: ready=1",
            "guest b: [   15.0] Oops: 0000",
            "lab: dom0's kernel: [  9.1] WARNING: CPU: 0 PID: 1",
        ];
        let kept = [0, 4, 5, 8, 10].map(|place: usize| lines[place].to_owned()).to_vec();
        let mut complaints = read(&lines).complaints;
        assert_eq!(complaints.pop().as_deref(), Some("[  9.1] WARNING: CPU: 0 PID: 1"));
        assert_eq!(complaints, kept);
    }
}

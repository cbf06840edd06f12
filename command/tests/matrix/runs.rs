//! Runs the program, and says in what two runs differ.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::modes::{Ahead, Mode};

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// What must be the same in every mode: the numbers that `--json` gives, and the files by name.
#[derive(PartialEq)]
pub struct Outcome {
    pub facts: BTreeMap<&'static str, Value>,
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Outcome {
    pub fn differences(&self, reference: &Self) -> Vec<String> {
        let facts = self.facts.iter().filter(|(name, value)| reference.facts[*name] != **value);
        let mut found: Vec<String> = facts
            .map(|(name, value)| format!("{name} is {value} instead of {}", reference.facts[name]))
            .collect();
        if !self.files.keys().eq(reference.files.keys()) {
            found.push(format!("the files are {:?}", self.files.keys()));
        }
        for (name, bytes) in &self.files {
            let Some(expected) = reference.files.get(name).filter(|expected| *expected != bytes) else {
                continue;
            };
            let mut pairs = bytes.split(|byte| *byte == b'\n').zip(expected.split(|byte| *byte == b'\n'));
            let line = pairs.position(|(line, expected)| line != expected);
            found.push(match line {
                Some(line) => format!("{name} differs from line {} on", line + 1),
                None => format!("{name} has {} bytes instead of {}", bytes.len(), expected.len()),
            });
        }
        found
    }
}

pub fn run(arguments: &[String], mode: Mode) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Mode { protocol, federates, threads, ahead } = mode;
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(arguments).arg("--out").arg(folder.path());
    command.arg(format!("--set=run.protocol={protocol}"));
    command.args([format!("--set=run.federates={federates}"), format!("--set=run.threads={threads}")]);
    if let Some(Ahead { saving, gvt, cancellation, chaos }) = ahead {
        command.args([format!("--set=run.state_saving={saving}"), format!("--set=run.gvt={gvt}")]);
        command.arg(format!("--set=run.cancellation={cancellation}"));
        command.args(chaos.map(|seed| format!("--set=run.chaos={seed}")));
    }
    let printed = printed(command).unwrap_or_else(|problem| panic!("{mode}: {problem}"));
    let summary: Value = serde_json::from_slice(&printed).expect("one JSON object");
    let ran = ["protocol", "federates", "threads"].map(|key| summary[key].clone());
    let asked: [Value; 3] = [protocol.into(), federates.into(), threads.into()];
    assert_eq!(ran, asked);
    let ran = ["state_saving", "gvt", "cancellation", "chaos"].map(|key| summary["rollbacks"][key].clone());
    let asked: [Value; 4] = ahead.map_or(Default::default(), |Ahead { saving, gvt, cancellation, chaos }| {
        [saving.into(), gvt.into(), cancellation.into(), chaos.into()]
    });
    assert_eq!(ran, asked, "without running ahead there is nothing to say of it");
    let keys = ["digest", "events_committed", "lps", "end_time_s", "ended_by", "results"];
    let facts = keys.map(|key| (key, summary[key].clone())).into();
    // It shows how the run went, and is different in each.
    fs::remove_file(folder.path().join("report.html")).expect("a report of the run");
    let written = fs::read_dir(folder.path()).expect("the output folder");
    let file = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.expect("an entry of the folder");
        let name = entry.file_name().into_string().expect("UTF-8");
        (name, fs::read(entry.path()).expect("a file that was written"))
    };
    Outcome { facts, files: written.map(file).collect() }
}

/// What a command prints, unless it fails or hangs.
fn printed(mut command: Command) -> Result<Vec<u8>, String> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let start = Instant::now();
    // What it prints fits the pipes.
    let status = loop {
        match child.try_wait().expect("it can be waited for") {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                child.kill().expect("it can be killed");
                return Err(format!("no end after {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let (mut printed, mut complaint) = (Vec::new(), String::new());
    child.stdout.take().expect("piped").read_to_end(&mut printed).expect("readable");
    child.stderr.take().expect("piped").read_to_string(&mut complaint).expect("readable");
    if status.success() { Ok(printed) } else { Err(format!("{status}, {complaint}")) }
}

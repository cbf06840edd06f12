//! The plug-ins of `lab/xen/sched`, compiled for this machine against the shim in `lab/xen/shim`, and driven
//! through the same operations as the policies that they repeat.
//!
//! [`Host`] plays Xen's core scheduler for a policy, and writes down what it does in the language of
//! `lab/xen/shim/replay.c` with what is expected to be decided; [`decides_alike`] has a plug-in replay it.
//! What only holds for a plug-in's policy - how its settings are called in C, what a report means to it - is
//! in its [`Plugin`].
//!
//! Address and undefined-behaviour sanitizers are on, and leaks are looked for when the program ends.

mod host;
mod steps;

pub use host::Plugin;

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use host::{Host, Script};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use steps::steps;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the crate lies in the project")
}

/// The C files of `folder`, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the project has this folder");
    let paths = entries.map(|entry| entry.expect("its entries can be read").path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    found.sort();
    found
}

/// Compiles all plug-ins and the shim into one program, once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let xen = root().join("xen");
        let name = format!("replay-{}", std::process::id());
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let output = Command::new("cc")
            .args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
            .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DPACELINE_SHIM"])
            .arg("-I")
            .arg(xen.join("shim"))
            .args(sources(&xen.join("shim")))
            .args(sources(&xen.join("sched")))
            .arg("-o")
            .arg(&program)
            .output()
            .expect("there is a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    })
}

struct Replay {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Replay {
    fn start() -> Self {
        let mut child = Command::new(program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("what was compiled can be run");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Self { child, input, output }
    }

    /// Replays all of `lines`; what was answered, up to where the program ended, if it did.
    fn replay(&mut self, lines: &[String]) -> Vec<String> {
        let mut input = self.input.take().expect("it is taken for this function only");
        let mut answers = Vec::new();
        thread::scope(|scope| {
            let writer = scope.spawn(move || {
                // Where the program ends early, the answers say so.
                let _ = lines.iter().try_for_each(|line| writeln!(input, "{line}"));
                let _ = input.flush();
                input
            });
            let mut line = String::new();
            while answers.len() < lines.len() {
                line.clear();
                if self.output.read_line(&mut line).expect("answers are text") == 0 {
                    break;
                }
                answers.extend(line.strip_prefix("> ").map(|answer| answer.trim_end().to_owned()));
            }
            self.input = Some(writer.join().expect("the writer does not panic"));
        });
        answers
    }

    /// Ends the program; what it complained about: wrong invariants, leaks.
    fn end(mut self) -> String {
        drop(self.input.take());
        let output = self.child.wait_with_output().expect("it can be waited for");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { complaint } else { format!("{}\n{complaint}", output.status) }
    }
}

/// Whether a plug-in decides as `script` expects, or where it does not.
fn agrees(replay: &mut Option<Replay>, script: &Script) -> Result<(), String> {
    let running = replay.get_or_insert_with(Replay::start);
    let answers = running.replay(&script.lines);
    let differs = (0..script.lines.len()).find(|at| answers.get(*at) != Some(&script.expected[*at]));
    let Some(at) = differs else { return Ok(()) };
    let complaint = replay.take().map(Replay::end).unwrap_or_default();
    let before: Vec<_> = (at.saturating_sub(12)..at)
        .map(|line| format!("{}\n    > {}", script.lines[line], script.expected[line]))
        .collect();
    let answer = answers.get(at).map_or("nothing", String::as_str);
    Err(format!(
        "{} of {}\n{}\n{}\n    expected {}\n    answered {answer}\n{complaint}",
        at + 1,
        script.lines[0],
        before.join("\n"),
        script.lines[at],
        script.expected[at],
    ))
}

/// So many random sequences of operations, on plug-ins with random settings: every decision is that of the
/// policy.
#[track_caller]
pub fn decides_alike(plugins: impl Strategy<Value = Plugin>) {
    let is_full = std::env::var("PACELINE_MATRIX").is_ok_and(|matrix| matrix == "full");
    let cases = if is_full { 2000 } else { 300 };
    let replay = RefCell::new(None);
    let mut runner = TestRunner::new(Config::with_cases(cases));
    let result = runner.run(&(plugins, steps()), |(plugin, steps)| {
        let script = Host::script(&plugin, &steps);
        agrees(&mut replay.borrow_mut(), &script).map_err(TestCaseError::fail)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let complaint = replay.into_inner().map(Replay::end);
    assert_eq!(complaint.as_deref(), Some(""), "no leaks, and nothing else to complain about");
}

/// So many random sequences of calls that no policy can get (`lab/xen/shim/fuzz.c`): the plug-in's invariants
/// hold, and all who are awake run in the end.
#[track_caller]
pub fn survives(name: &str, seeds: u64) {
    let mut replay = Replay::start();
    for seed in 0..seeds {
        let pcpus = seed % 4 + 1;
        let pin = seed % pcpus;
        let lines = [
            format!("begin {name} {pcpus}"),
            "0 add 0 1 0:-".into(),
            format!("0 add 1 0 1:- 2:{pin}"),
            "0 add 2 0 3:- 4:- 5:-".into(),
            format!("0 fuzz {seed} 3000"),
            "end".into(),
        ];
        assert!(replay.replay(&lines).len() >= lines.len(), "{name}, seed {seed}: {}", replay.end());
    }
    assert_eq!(replay.end(), "", "no leaks, and nothing else to complain about");
}

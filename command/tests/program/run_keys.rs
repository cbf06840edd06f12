//! What the engine refuses once a run begins, or ends it with, names file, line and key like a mistake that
//! was found while the scenario was read. The texts are whole: each error of the engine that a scenario can
//! cause has a case here, but for those that `check` finds before anything runs (`bad_input.rs`).

use std::path::Path;
use std::process::Command;

use crate::{error_text, folder_of, paceline, stderr};

const PHOLD: &str = r#"[model]
kind = "phold"
lps = 16
lookahead = "1s"
mean = "1s"

[run]
until = "20s"
protocol = "window"
federates = 2
threads = 2
"#;

const RING: &str = r#"[model]
kind = "chord"
peers = 8

[network]
latency = "0s"

[run]
until = "60s"
federates = 2
"#;

/// A packet network whose slowest packet takes days: counts of picoseconds end after 106.
const SLOW: &str = r#"[model]
kind = "packets"
topology = "dumbbell"
pairs = 1
access = { rate = "1Gbps", latency = "100us" }
bottleneck = { rate = "10Mbps", latency = "20ms" }

[[model.flows]]
from = "left-*"
to = "right-*"
transport = "tcp"

[run]
until = "200d"
"#;

/// The last line that a run of several processes prints, before which it may say for whom it waits.
fn last_line(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output = paceline(folder, arguments);
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {printed}");
    printed.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_horizon_that_the_model_does_not_reach_names_its_key() {
    let folder = folder_of(&[("slow.toml", SLOW)]);
    for command in ["run", "check"] {
        let message = error_text(folder.path(), &[command, "slow.toml"], 2);
        let begins = "error: slow.toml:14:9: the model's times reach ";
        assert!(message.starts_with(begins) && message.contains("; allowed: a time up to \""), "{message}");
    }
}

#[test]
fn times_beyond_the_clock_name_the_missing_horizon() {
    let text = PHOLD.replacen("until = \"20s\"\n", "", 1).replacen("\"1s\"", "\"100000d\"", 2);
    let folder = folder_of(&[("long.toml", &text)]);
    let message = error_text(folder.path(), &["run", "long.toml", "--quiet"], 1);
    let (begins, ends) = (
        "error: long.toml:7:2: `until` in [run]: LP ",
        "which is beyond the end of the clock; allowed: the simulated time at which the run ends, such as \"10d\"",
    );
    assert!(message.starts_with(begins) && message.contains(ends), "{message}");
}

#[test]
fn more_processes_than_federates_name_the_key() {
    let folder = folder_of(&[("few.toml", PHOLD)]);
    let arguments = ["run", "few.toml", "--processes", "3", "--quiet"];
    assert_eq!(
        last_line(folder.path(), &arguments, 2),
        "error: few.toml:10:13: `federates` in [run]: process 2 of the run would have nothing to run: the run \
         has 2 federates for 3 processes; allowed: at least 3, one for each process"
    );
    let set = [&arguments[..], &["--set", "run.protocol=sequential"]].concat();
    assert_eq!(
        last_line(folder.path(), &set, 2),
        "error: --set run.protocol=sequential: `protocol` in [run]: process 0 of the run takes part in a run of \
         several processes, which cannot have the sequential protocol; allowed: any other protocol, or one process"
    );
}

#[test]
fn threads_that_the_system_does_not_give_name_the_key() {
    let folder = folder_of(&[("many.toml", &PHOLD.replacen("threads = 2", "threads = 4000", 1))]);
    let mut command = Command::new("bash");
    // Room for the program, and not for the stacks of so many threads.
    let little = "ulimit -v 3000000; exec \"$0\" run many.toml --quiet --set run.federates=16";
    let output =
        command.args(["-c", little, env!("CARGO_BIN_EXE_paceline")]).current_dir(folder.path()).output();
    let output = output.expect("there is a bash");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    // Where the last memory goes to a stack, std finds none for what else a thread needs, and says so before.
    let said = message.lines().find(|line| line.starts_with("error: many.toml:11:11: `threads` in [run]: "));
    assert!(
        said.is_some_and(|line| {
            line.ends_with("; allowed: as many threads as the system lets this process have")
        }),
        "{message}"
    );
}

#[test]
fn processes_on_federates_name_the_key() {
    let folder = folder_of(&[("ring.toml", RING)]);
    assert_eq!(
        error_text(folder.path(), &["run", "ring.toml", "--quiet"], 2),
        "error: ring.toml:10:13: `federates` in [run]: a run on federates needs a network on which messages \
         between hosts take time: at least 4 ns; allowed: a network with a latency of at least 4 ns, or no \
         `federates`\n"
    );
    let traced =
        ["run", "ring.toml", "--quiet", "--set", "network.latency=1ms", "--trace", "t.perfetto-trace"];
    assert_eq!(
        error_text(folder.path(), &traced, 2),
        "error: ring.toml:10:13: `federates` in [run]: rounds are not observed in a run on federates; allowed: \
         no `federates`, or no --trace\n"
    );
}

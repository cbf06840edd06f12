//! README.md promises what the program keeps: its commands run, and those said to have one digest have one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::rti::Served;
use crate::{folder_of, paceline, stderr, stdout};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn readme() -> String {
    fs::read_to_string(project().join("README.md")).expect("README.md is text")
}

/// The arguments of `command`, which stands in one line, perhaps with a comment.
fn arguments(command: &str) -> Vec<&str> {
    command.split('#').next().unwrap_or_default().split_whitespace().collect()
}

/// Runs `paceline` in the project's folder, where it must succeed, and gives what it prints.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let output = paceline(&project(), arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn the_commands_of_its_blocks_run() {
    let readme = readme();
    let commands: Vec<&str> =
        readme.lines().filter_map(|line| line.strip_prefix("target/release/paceline ")).collect();
    assert!(commands.len() >= 4, "README.md has commands: {commands:?}");
    let mut digests = BTreeSet::new();
    for command in commands {
        let text = printed(&arguments(command));
        digests
            .extend(text.lines().filter(|line| line.trim_start().starts_with("digest ")).map(str::to_owned));
    }
    assert_eq!(digests.len(), 1, "one digest, whatever the threads: {digests:?}");
}

/// The settings of a scenario's line `# short:`, as options.
fn short_form(scenario: &str) -> Vec<String> {
    let text =
        fs::read_to_string(project().join(scenario)).unwrap_or_else(|error| panic!("{scenario}: {error}"));
    let settings = text.lines().find_map(|line| line.strip_prefix("# short: "));
    let settings = settings.unwrap_or_else(|| panic!("{scenario} has a short form"));
    settings.split_whitespace().map(|setting| format!("--set={setting}")).collect()
}

#[test]
fn the_commands_of_its_table_run() {
    let readme = readme();
    let inline = readme.split('`').skip(1).step_by(2);
    let mut seen = BTreeSet::new();
    for command in inline.filter_map(|code| code.strip_prefix("paceline ")) {
        let arguments = arguments(command);
        seen.insert(arguments[0]);
        match arguments[0] {
            // The paced command is the user's own: here it does nothing.
            "pace" => {
                let options = arguments.iter().take_while(|argument| **argument != "--").copied();
                printed(&options.chain(["--", "true"]).collect::<Vec<_>>());
            }
            // It goes on until it is ended.
            "rti" => {
                let folder = folder_of(&[]);
                let served =
                    Served::start(folder.path(), &[&arguments[1..], &["--listen", "127.0.0.1:0"]].concat());
                assert_eq!(served.end(Signal::INT).2, Some(130));
            }
            // Without the emulator this says what gets it.
            "emulate" => {
                let short = short_form(arguments[1]);
                let short = short.iter().map(String::as_str);
                let output = paceline(
                    &project(),
                    &arguments.into_iter().chain(["--quiet"]).chain(short).collect::<Vec<_>>(),
                );
                let said = stderr(&output);
                assert!(output.status.success() || said.contains("run scripts/emulator"), "{said}");
            }
            // The lab is a program of its own: without it, this says what to build.
            "reproduce" => {
                let output = paceline(&project(), &arguments);
                assert!(
                    output.status.success() || stderr(&output).contains("paceline-lab"),
                    "{}",
                    stderr(&output)
                );
            }
            _ => {
                let short = short_form(arguments[1]);
                let short = short.iter().map(String::as_str);
                printed(&arguments.iter().copied().chain(["--quiet"]).chain(short).collect::<Vec<_>>());
            }
        }
    }
    assert_eq!(seen, BTreeSet::from(["emulate", "machine", "pace", "reproduce", "rti", "run"]));
}

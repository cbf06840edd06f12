//! The program names every mistake that is planted in this model.

use std::process::{Command, Output};

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mistakes.toml");

fn mistakes(arguments: &[&str], mistake: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mistakes"));
    command.args(arguments).args([SCENARIO, "--set", &format!("model.mistake={mistake}")]);
    command.env("RUST_BACKTRACE", "0").output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_two_runs_do_not_share_is_found_by_the_check() {
    let sound = mistakes(&["check", "--determinism"], "none");
    assert!(sound.status.success() && text(&sound.stdout).contains("do not differ"), "{sound:?}");
    for mistake in ["clock", "global", "hash-order"] {
        let found = mistakes(&["check", "--determinism"], mistake);
        let told = text(&found.stderr);
        assert_eq!(found.status.code(), Some(1), "{mistake}: {told}");
        for words in ["two runs of", "that are the same: LP ", ", handling Word(", " differs: "] {
            assert!(told.contains(words), "{mistake}: {told}");
        }
    }
}

#[test]
fn a_broken_rule_ends_the_run_and_is_named_under_every_protocol() {
    let broken = [
        ("lookahead", "which is nearer than the declared lookahead of 0.001s"),
        ("channel", "which is not covered by the channels the LP declares"),
        ("unknown-lp", "which goes to an LP that does not exist (there are 16)"),
        ("past", "which is in its past"),
        ("panic", "the model panicked: LP "),
        ("endless-instant", "which continues a chain of more than 65535 zero-delay events in one instant"),
    ];
    for (mistake, words) in broken {
        for protocol in ["sequential", "window", "null-message", "optimistic"] {
            let protocol = format!("run.protocol={protocol}");
            let found = mistakes(&["run", "--set", &protocol, "--set", "run.threads=2"], mistake);
            let told = text(&found.stderr);
            let error = told.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or_default();
            assert!(error.starts_with("LP ") && error.contains(" at 0.50"), "{mistake}, {protocol}: {told}");
            assert!(error.contains("Word(") && error.contains(words), "{mistake}, {protocol}: {told}");
            assert_eq!((found.status.code(), found.stdout.len()), (Some(1), 0), "{mistake}, {protocol}");
        }
    }
}

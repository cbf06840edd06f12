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
        let message = text(&found.stderr);
        assert_eq!(found.status.code(), Some(1), "{mistake}: {message}");
        for words in ["two runs of", "that are the same: LP ", ", handling Word(", " differs: "] {
            assert!(message.contains(words), "{mistake}: {message}");
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
        ("panic", "the model panicked at examples/mistakes/src/main.rs:"),
        ("endless-instant", "which continues a chain of more than 65535 zero-delay events in one instant"),
    ];
    for (mistake, words) in broken {
        for protocol in ["sequential", "window", "null-message", "optimistic"] {
            let protocol = format!("run.protocol={protocol}");
            let found = mistakes(&["run", "--set", &protocol, "--set", "run.threads=2"], mistake);
            let message = text(&found.stderr);
            let error = message.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or_default();
            assert!(
                error.starts_with("LP ") && error.contains(" at 0.50"),
                "{mistake}, {protocol}: {message}"
            );
            assert!(error.contains("Word(") && error.contains(words), "{mistake}, {protocol}: {message}");
            assert_eq!((found.status.code(), found.stdout.len()), (Some(1), 0), "{mistake}, {protocol}");
        }
    }
}

/// One line, which begins with `error: `, and the status of a failure while running.
fn one_error(found: &Output, what: &str) -> String {
    let message = text(&found.stderr);
    let mut lines: Vec<&str> = message.lines().collect();
    // Where each of several processes fails by itself, as at the beginning and at the end, each says why.
    lines.dedup_by_key(|line| line.split(" of LP ").next());
    assert_eq!(found.status.code(), Some(1), "{what}: {message}");
    assert_eq!((lines.len(), found.stdout.len()), (1, 0), "{what}: {message}");
    lines[0].strip_prefix("error: ").unwrap_or_else(|| panic!("{what}: {message}")).to_owned()
}

/// Where a panic is, as every message has it: file, line and column.
const PLACE: &str = " at examples/mistakes/src/main.rs:";

#[test]
fn a_panic_is_reported_once_with_its_place_under_every_protocol_wherever_it_is() {
    let in_events = [("panic", "has heard enough"), ("panic-in-commit", "no way on in PanicInCommit")];
    let elsewhere = [
        ("panic-in-lps", "`lps`"),
        ("panic-in-partition", "`partition`"),
        ("panic-in-channels", "`channels` of LP 3"),
        ("panic-in-init", "`init` of LP 3"),
        ("panic-in-finish", "`finish` of LP 3"),
        ("panic-in-left-over", "`left_over` of LP "),
        ("panic-in-results", "`results`"),
        ("panic-in-drop-of-model", "`Drop` of the model"),
        ("panic-in-drop", ""),
    ];
    let ways: [&[&str]; 7] = [
        &["run", "--set", "run.protocol=sequential"],
        &["run", "--set", "run.protocol=window"],
        &["run", "--set", "run.protocol=null-message"],
        &["run", "--set", "run.protocol=auto"],
        &["run", "--set", "run.protocol=optimistic"],
        &["run", "--set", "run.protocol=mixed"],
        &["run", "--processes", "2", "--set", "run.federates=2"],
    ];
    for way in ways {
        let arguments = [way, &["--set", "run.threads=2"]].concat();
        for (mistake, words) in in_events {
            let error = one_error(&mistakes(&arguments, mistake), &format!("{mistake}, {way:?}"));
            assert!(error.contains("LP ") && error.contains(" at 0.50"), "{mistake}, {way:?}: {error}");
            assert!(error.contains("Word(") && error.contains(words), "{mistake}, {way:?}: {error}");
            assert!(error.contains(PLACE), "{mistake}, {way:?}: {error}");
        }
        for (mistake, asked) in elsewhere {
            let error = one_error(&mistakes(&arguments, mistake), &format!("{mistake}, {way:?}"));
            assert!(error.contains(asked) && error.contains(PLACE), "{mistake}, {way:?}: {error}");
        }
    }
}

#[test]
fn a_panic_in_a_replication_or_a_check_has_its_place_too() {
    for (mistake, words) in
        [("panic", "Word("), ("panic-in-finish", "`finish` of LP 3"), ("panic-in-results", "`results`")]
    {
        let found = mistakes(&["replicate", "--replications", "2", "--quiet"], mistake);
        let message = text(&found.stderr);
        let failed =
            message.lines().filter(|line| line.starts_with("error: the replication with seed ")).count();
        assert_eq!((found.status.code(), failed), (Some(1), 2), "{mistake}: {message}");
        assert!(
            message.lines().all(|line| line.contains(words) && line.contains(PLACE)),
            "{mistake}: {message}"
        );
    }
    for (mistake, words) in [("panic", "Word("), ("panic-in-init", "`init` of LP 3")] {
        let error = one_error(&mistakes(&["check", "--determinism"], mistake), mistake);
        assert!(error.contains(words) && error.contains(PLACE), "{mistake}: {error}");
    }
    let error = one_error(&mistakes(&["check"], "panic-in-lps"), "check");
    assert!(error.contains("`lps`") && error.contains(PLACE), "{error}");
}

/// Ctrl-C while the model does not come back from an event: a line that names the LP, and a second Ctrl-C
/// ends the program.
#[cfg(target_os = "linux")]
#[test]
fn an_endless_event_is_named_after_ctrl_c_and_a_second_one_ends_it() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    for protocol in ["sequential", "window", "optimistic"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mistakes"));
        command.args(["run", SCENARIO, "--set", "model.mistake=hang", "--set", "run.threads=1", "--quiet"]);
        command.args(["--set", &format!("run.protocol={protocol}")]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let interrupt = |pid: u32| {
            let sent = Command::new("kill").args(["-INT", &pid.to_string()]).status();
            assert!(sent.is_ok_and(|status| status.success()), "{protocol}");
        };
        // It reaches the event in a moment; then it is asked to end.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        interrupt(child.id());
        let mut line = String::new();
        let message = BufReader::new(child.stderr.take().expect("it is piped")).read_line(&mut line);
        assert!(
            message.is_ok() && line.contains("waits for LP ") && line.contains("0.50"),
            "{protocol}: {line}"
        );
        interrupt(child.id());
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{protocol}");
    }
}

#[test]
fn words_that_are_keys_here_are_reported_as_such() {
    for (option, key) in [
        (&["--threads", "2"][..], "run.threads=2"),
        (&["--threads=2"], "run.threads=2"),
        (&["--seed", "7"], "run.seed=7"),
        (&["--until", "5s"], "run.until=5s"),
        (&["--check-rollback", "true"], "run.check_rollback=true"),
        (&["--jobs", "3"], "run.threads=3"),
        (&["--model.lps", "4"], "model.lps=4"),
    ] {
        let found = mistakes(&[&["run"], option].concat(), "none");
        let message = text(&found.stderr);
        assert_eq!(found.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!("say `--set {key}`")) && !message.contains("--restarts"),
            "{message}"
        );
    }
}

#[test]
fn no_lps_and_too_many_are_refused_before_anything_runs() {
    for command in ["check", "run"] {
        for (lps, words) in [("0", "a model without LPs"), ("4000000000", "need about ")] {
            let lps = format!("model.lps={lps}");
            let found = mistakes(&[command, "--set", &lps], "none");
            let message = text(&found.stderr);
            assert_eq!(found.status.code(), Some(2), "{command}, {lps}: {message}");
            assert!(
                message.contains(words) && message.contains(&format!("--set {lps}")),
                "{command}, {lps}: {message}"
            );
        }
    }
    let forced = ["check", "--set", "model.lps=4000000000", "--set", "run.exceed_memory=true"];
    let found = mistakes(&forced, "none");
    assert!(found.status.success() && text(&found.stdout).contains("GiB at the start; "), "{found:?}");
}

#[test]
fn a_check_that_takes_long_is_announced_where_it_is_done() {
    for (protocol, warns) in [("optimistic", true), ("mixed", true), ("auto", true), ("sequential", false)] {
        let protocol = format!("run.protocol={protocol}");
        let settings = ["--set", "run.check_rollback=true", "--set", &protocol, "--set", "run.until=10ms"];
        let ran = mistakes(&[&["run"], &settings[..]].concat(), "none");
        let checked = mistakes(&[&["check"], &settings[..]].concat(), "none");
        assert!(ran.status.success() && checked.status.success(), "{protocol}: {ran:?}");
        let words = "check_rollback = true handles every event twice";
        assert_eq!(text(&ran.stderr).contains(words), warns, "{protocol}: {ran:?}");
        assert_eq!(text(&checked.stdout).contains(words), warns, "{protocol}: {checked:?}");
    }
}

#[test]
fn a_study_goes_on_beside_runs_that_panic_and_keeps_their_errors() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("study-of-mistakes");
    // Left by an earlier run of this test.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let lines = format!(
        "[study]\nscenario = {SCENARIO:?}\nreplications = 2\n\
         [factors]\nmodel.mistake = [\"none\", \"panic\", \"panic-in-init\"]\n"
    );
    std::fs::write(folder.join("some.toml"), lines).expect("it can be written");
    let study = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mistakes"));
        command.args([&["study", "some.toml"], options].concat()).current_dir(&folder);
        command.env("RUST_BACKTRACE", "0").output().expect("the program starts")
    };
    let found = study(&["--quiet"]);
    let (said, message) = (text(&found.stdout), text(&found.stderr));
    assert_eq!(found.status.code(), Some(1), "{message}");
    assert!(said.contains("2 of 6 runs ended, 4 failed, 3 points"), "{said}");
    assert!(message.starts_with("error: 4 runs have failed; the first is "), "{message}");
    let rows = std::fs::read_to_string(folder.join("some.study/runs.csv")).expect("there is a table");
    let panicked = rows.lines().filter(|row| row.contains(",failed,") && row.contains("the model panicked "));
    assert_eq!(panicked.count(), 4, "{rows}");
    assert_eq!(
        rows.lines().filter(|row| row.contains(",none,") && row.contains(",ended,")).count(),
        2,
        "{rows}"
    );
}

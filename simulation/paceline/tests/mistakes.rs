//! What the author of a model reads when it goes wrong: the example `mistake`, run as a program of its own.
//!
//! The program is this test again, so that it is never an older build of the example: its `main` is called,
//! and what it returns is reported as that of any `main` is.

use std::process::{Command, ExitCode, Output, Termination};

#[allow(dead_code, reason = "an example is a program")]
#[path = "../examples/mistake.rs"]
mod mistake;

/// Set in the program.
const PROGRAM: &str = "PACELINE_TEST_MISTAKE";

#[test]
fn program() {
    if std::env::var_os(PROGRAM).is_some() {
        assert_eq!(mistake::main().report(), ExitCode::FAILURE);
    }
}

fn run(argument: &str) -> Output {
    let test = std::env::current_exe().expect("a test is a program");
    let arguments = ["--exact", "program", "--nocapture", argument];
    Command::new(test).args(arguments).env(PROGRAM, "1").output().expect("it can be run")
}

#[test]
fn a_main_that_returns_the_error_of_a_run_shows_its_message() {
    let output = run("--quiet");
    let printed = String::from_utf8(output.stderr).expect("it is text");
    let message = "Error: LP 0 at 8s sent Parcel { stops: 9 } to LP 1 for 8.25s, which is nearer than the declared lookahead of 1s\n";
    assert_eq!(printed, message);
    assert!(output.status.success(), "the status of such a main is 1");
}

#[test]
fn so_it_does_where_the_model_panics() {
    let output = run("panic");
    let printed = String::from_utf8(output.stderr).expect("it is text");
    // The place in the source comes before it.
    let message =
        "\nError: the model panicked: the parcel is lost\nin LP 0 at 8s, handling Parcel { stops: 8 }\n";
    assert!(printed.contains("mistake.rs:") && printed.ends_with(message), "{printed}");
    assert!(output.status.success(), "the status of such a main is 1");
}

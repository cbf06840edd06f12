//! What the author of a model reads when it goes wrong: the example `mistake`, run as a program.

mod house;

use std::path::PathBuf;
use std::process::{Command, Output};

use house::root;

/// The example's program: built with this test, or now, where only this test was asked for.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let profile = test.ancestors().nth(2).expect("tests are in a folder of the profile's");
    let path = profile.join("examples").join(format!("mistake{}", std::env::consts::EXE_SUFFIX));
    if !path.exists() {
        let build = ["build", "--offline", "--package", "paceline", "--example", "mistake", "--target-dir"];
        let target = profile.parent().expect("a profile has a folder within the target folder");
        let built = Command::new(env!("CARGO")).args(build).arg(target).current_dir(root()).status();
        assert!(built.expect("cargo can be run").success());
    }
    path
}

fn run(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).output().expect("the example can be run")
}

#[test]
fn a_main_that_returns_the_error_of_a_run_shows_its_message() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).expect("it is text");
    let message = "Error: LP 0 at 8s sent Parcel { stops: 9 } to LP 1 for 8.25s, which is nearer than the declared lookahead of 1s\n";
    assert_eq!(told, message);
}

#[test]
fn so_it_does_where_the_model_panics() {
    let output = run(&["panic"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).expect("it is text");
    // The place in the source comes before it.
    let message =
        "\nError: the model panicked: the parcel is lost\nin LP 0 at 8s, handling Parcel { stops: 8 }\n";
    assert!(told.contains("mistake.rs:") && told.ends_with(message), "{told}");
}

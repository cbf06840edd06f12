//! The program `paceline-lab` as its users meet it, by itself or through `paceline`.
#![cfg(target_os = "linux")]

mod reproduce;
mod xen;

use std::path::Path;
use std::process::{Command, Output};

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline-lab"));
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[test]
fn its_help_names_its_commands_and_it_is_called_as_it_was_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = stdout(&lab(folder.path(), &["--help"]));
    for line in
        ["Usage: paceline-lab <COMMAND>", "  reproduce  Runs published", "  xen        Builds the Xen"]
    {
        assert!(help.contains(line), "{line}: {help}");
    }
    let help = stdout(&lab(folder.path(), &["help", "reproduce"]));
    assert!(
        help.contains("Usage: paceline-lab reproduce [OPTIONS] [NAME]...") && help.contains("--sensitivity")
    );
    // `paceline` gives it its own name.
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline-lab"));
    std::os::unix::process::CommandExt::arg0(&mut command, "target/release/paceline");
    let help = stdout(&command.args(["xen", "boot", "--help"]).output().expect("the program starts"));
    assert!(help.contains("Usage: paceline xen boot [OPTIONS]"), "{help}");
}

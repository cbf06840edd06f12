//! `paceline reproduce` and `paceline xen`: another program carries them out, and what to build is said where
//! it is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{paceline, stderr, stdout};

/// A folder with `paceline` alone.
fn alone() -> (TempDir, PathBuf) {
    // On the same disk as the program, so that it need not be copied.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("paceline");
    fs::hard_link(env!("CARGO_BIN_EXE_paceline"), &program).unwrap();
    (folder, program)
}

/// A program in the place of the lab's, which says where it is, which process it is and what it was given,
/// and ends with 7.
fn lab_in(folder: &Path) {
    let path = folder.join("paceline-lab");
    fs::write(&path, format!("#!/bin/sh\necho {} $$ \"$@\"\nexit 7\n", folder.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_to_build_is_said_where_the_lab_is_missing() {
    let (folder, program) = alone();
    for (arguments, command) in
        [(&["reproduce", "--list"][..], "reproduce"), (&["xen", "--help"], "xen"), (&["help", "xen"], "xen")]
    {
        let output = Command::new(&program).args(arguments).env("PATH", folder.path()).output().unwrap();
        let said = format!("error: `paceline {command}` is a command of the program paceline-lab, ");
        let printed = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.starts_with(&said), "{printed}");
        assert!(
            printed.ends_with(": cargo build --release -p paceline-lab\n") && printed.lines().count() == 1,
            "{printed}"
        );
    }
}

#[test]
fn the_lab_beside_the_program_comes_before_that_in_path_and_takes_its_place() {
    let (folder, program) = alone();
    let elsewhere = tempfile::tempdir().unwrap();
    lab_in(elsewhere.path());
    let runs_in = |place: &Path, arguments: &[&str], given: &str| {
        let mut command = Command::new(&program);
        command.args(arguments).env("PATH", elsewhere.path()).stdout(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let process = child.id();
        let output = child.wait_with_output().unwrap();
        let said = format!("{} {process} {given}\n", place.display());
        assert_eq!((stdout(&output), output.status.code()), (said, Some(7)));
    };
    runs_in(elsewhere.path(), &["reproduce", "--all", "--set", "runs=5"], "reproduce --all --set runs=5");
    lab_in(folder.path());
    runs_in(folder.path(), &["reproduce", "--help"], "reproduce --help");
    runs_in(folder.path(), &["xen", "boot", "--command", "ping"], "xen boot --command ping");
    runs_in(folder.path(), &["help", "xen", "boot"], "xen boot --help");
}

#[test]
fn help_lists_the_commands_of_the_lab() {
    let folder = tempfile::tempdir().unwrap();
    let help = stdout(&paceline(folder.path(), &["help"]));
    let listed = |command: &str| help.lines().any(|line| line.trim_start().starts_with(command));
    assert!(listed("reproduce ") && (cfg!(not(target_os = "linux")) || listed("xen ")), "{help}");
}

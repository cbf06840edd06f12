//! Runs whose processes are started by others: by ssh on other hosts, and by mpirun, whose part a script and
//! a variable play here.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stderr;
use crate::together::secret;

const PHOLD: &str = "[model]\nkind = \"phold\"\nlps = 64\nmessages_per_lp = 4\n[run]\nuntil = \"4s\"\n";

/// A folder with a model, a secret, hosts, and an `ssh` that does as `script` says.
fn folder(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs::write(path("phold.toml"), PHOLD).unwrap();
    fs::write(path("hosts"), "near\nfar 2\n").unwrap();
    secret(folder.path(), "secret", "words that nobody guesses, and enough of them");
    fs::write(path("ssh"), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs the program, which finds itself and that `ssh` by name.
fn paceline(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_paceline"));
    let others = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{others}", folder.display(), program.parent().unwrap().display());
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments).env("PATH", path).envs(variables.iter().copied());
    command.output().expect("the program starts")
}

fn digest(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    summary["digest"].clone()
}

const BY_SSH: [&str; 9] =
    ["run", "phold.toml", "--json", "--hosts", "hosts", "--secret", "secret", "--listen", "127.0.0.1:0"];

#[test]
fn processes_that_ssh_starts_take_part() {
    let folder = folder(r#"echo "$@" >>asked; while [ "$1" != -- ]; do shift; done; shift 2; exec "$@""#);
    let alone = paceline(folder.path(), &["run", "phold.toml", "--json"], &[]);
    let together = paceline(folder.path(), &BY_SSH, &[]);
    assert_eq!(digest(&together), digest(&alone));
    let summary: Value = serde_json::from_slice(&together.stdout).unwrap();
    assert_eq!(summary["processes"], 4);
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    let on =
        |host: &str| asked.lines().filter(|line| line.contains(&format!("-- {host} paceline join"))).count();
    assert_eq!((on("near"), on("far")), (1, 2), "{asked}");
    assert!(!asked.contains("words"), "the secret stands on no command line: {asked}");
}

/// Whoever was started and ends before it has joined is named at once, not when the time to join is over.
#[test]
fn who_ends_before_it_joins_is_not_waited_for() {
    let folder = folder("exit 255");
    let start = Instant::now();
    let output = paceline(folder.path(), &[&BY_SSH[..], &["--within", "1h"]].concat(), &[]);
    assert!(start.elapsed() < Duration::from_secs(120));
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("ended before it had joined") && said.contains("ssh to "), "{said}");
}

/// Started several times by mpirun without support for MPI, the program would run the same several times.
#[cfg(not(feature = "mpi"))]
#[test]
fn mpirun_needs_a_program_with_mpi() {
    let folder = folder("exit 255");
    let run = ["run", "phold.toml", "--json"];
    let several = paceline(folder.path(), &run, &[("OMPI_COMM_WORLD_SIZE", "4")]);
    assert_eq!(several.status.code(), Some(1));
    crate::says(&stderr(&several), &["--features mpi"]);
    assert!(several.stdout.is_empty());
    digest(&paceline(folder.path(), &run, &[("OMPI_COMM_WORLD_SIZE", "1")]));
}

//! The scripts for developers: help comes at once, and packages have the names that the distribution gives
//! them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{says, stderr, stdout};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program of this name and text in a folder.
fn program(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs it by bash where programs of `folder` come before those of the machine.
fn bash(folder: &Path, arguments: &[&str]) -> Output {
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command
        .args(arguments)
        .current_dir(project())
        .env("PATH", path)
        .env("CARGO_HOME", folder)
        .output()
        .unwrap()
}

#[test]
fn help_comes_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    // Whatever they would build or install first fails.
    for name in ["cargo", "rustc", "rustup", "cc", "apt-get", "curl"] {
        program(folder.path(), name, "echo \"it runs $0\"; exit 1");
    }
    for script in ["demo", "test", "pacing", "performance", "kernel-lab", "mpi-programs"] {
        for option in ["--help", "-h"] {
            let output = bash(folder.path(), &[&format!("scripts/{script}"), option]);
            let (printed, said) = (stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(0), "{script} {option}: {printed}{said}");
            assert!(printed.contains(&format!("scripts/{script} ")), "{script}: {printed}");
            assert!(
                said.is_empty() && !printed.contains("it runs") && !printed.contains("set -euo"),
                "{printed}{said}"
            );
        }
    }
    let output = bash(folder.path(), &["scripts/test", "--fast"]);
    assert_eq!(output.status.code(), Some(2));
    says(&stderr(&output), &["--fast; allowed: --full, --help"]);
    let output = bash(folder.path(), &["scripts/test", "linf"]);
    let said = stderr(&output);
    assert!(
        output.status.code() == Some(2)
            && said.contains("no step linf; allowed: ")
            && said.contains(" lint ")
    );
}

#[test]
fn packages_of_the_toolchain_have_their_names_in_debian() {
    let folder = tempfile::tempdir().unwrap();
    // As Debian 12 has them with its security updates.
    let known = "rustc cargo rustfmt rust-clippy rustc-web cargo-web rustfmt-web rust-web-clippy";
    let cache = "case \"$1 $2\" in
        'policy rustc') echo '  Candidate: 1.63.0+dfsg1-2' ;;
        'policy rustc-web') echo '  Candidate: 1.96.0+dfsg1-1~deb12u2' ;;
        show*) [[ \" KNOWN \" == *\" $2 \"* ]] ;;
        esac";
    program(folder.path(), "apt-cache", &cache.replace("KNOWN", known));
    program(folder.path(), "apt-get", "exit 0");
    program(folder.path(), "sudo", "exit 1");
    let install = "source scripts/lib/setup.sh; may_apt() { :; }; rust_works() { :; }
        apt_install() { echo \"$@\"; }; rust_by_apt";
    let output = bash(folder.path(), &["-c", install]);
    assert_eq!(
        stdout(&output).trim(),
        "rustc-web cargo-web rustfmt-web rust-web-clippy",
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_runs_leave_in_the_folder_is_no_part_of_the_project() {
    let ignored = fs::read_to_string(project().join(".gitignore")).unwrap();
    let mut needed = ["/out", "/target", "*.checkpoint", ".*.checkpoint.unfinished"].iter();
    assert!(needed.all(|pattern| ignored.lines().any(|line| line == *pattern)), "{ignored}");
}

#[test]
fn what_is_needed_beyond_the_base_system_is_no_surprise() {
    // Programs of the package procps, which a bare Debian lacks.
    let sources = ["scripts", "scripts/lib", "command/tests/program", "command/tests/pace"];
    let this_file = format!("{}.rs", module_path!().rsplit("::").next().unwrap());
    let mut looked = 0;
    for folder in sources {
        for entry in fs::read_dir(project().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() || path.ends_with(&this_file) {
                continue;
            }
            looked += 1;
            let text = fs::read_to_string(&path).unwrap();
            for program in ["pkill", "pgrep", "Command::new(\"kill\")", "Command::new(\"ps\")", "$(ps "] {
                assert!(!text.contains(program), "{} uses {program}", path.display());
            }
        }
    }
    assert!(looked > 20, "{looked} files");
}

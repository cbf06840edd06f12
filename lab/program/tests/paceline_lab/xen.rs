//! `paceline xen` as its users meet it. What needs the lab itself is tested where PACELINE_XEN_LAB is set, as
//! `scripts/test hypervisor` does: it takes minutes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn xen(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline-lab"));
    command.current_dir(root()).arg("xen").args(arguments);
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn stderr_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_mistake_is_reported_with_what_is_allowed_before_anything_is_fetched() {
    let cache = tempfile::tempdir().expect("a folder");
    let mistakes: [(&[&str], &str); 4] = [
        (&["run", "xen-nothing"], "there is no experiment \"xen-nothing\"; there are xen-smoke"),
        (&["build", "--sources", "/proc"], "not a folder of hypervisor sources: it contains no include"),
        (&["run"], "required"),
        (&["boot", "--guests", "99"], "99 is not in 0..=16"),
    ];
    for (arguments, expected_part) in mistakes {
        let output = xen(arguments).env("XDG_CACHE_HOME", cache.path()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr_text(&output));
        assert!(stderr_text(&output).contains(expected_part), "{arguments:?}: {}", stderr_text(&output));
    }
    assert_eq!(fs::read_dir(cache.path()).expect("it is there").count(), 0, "nothing was fetched");
}

#[test]
fn experiments_are_listed_with_what_they_show() {
    let output = xen(&["run", "--list"]).output().expect("it starts");
    let listed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(listed.lines().count() >= 2 && listed.lines().all(|line| line.starts_with("xen-")), "{listed}");
}

#[test]
fn without_packages_it_is_skipped_with_the_reason() {
    let cache = tempfile::tempdir().expect("a folder");
    // A machine whose apt is not there, though all else is.
    let tools = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(which("setpriv"), tools.path().join("setpriv")).expect("a link");
    let mut command = xen(&["build"]);
    let output =
        command.env("XDG_CACHE_HOME", cache.path()).env("PATH", tools.path()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(77), "{}", stderr_text(&output));
    assert!(
        stderr_text(&output).lines().any(|line| line.starts_with("skipped: ")),
        "{}",
        stderr_text(&output)
    );
}

fn which(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("there is a path");
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.exists());
    found.expect("it is installed")
}

/// Ends a program that a failed test has left.
struct Left(Child);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ctrl_c_and_death_leave_nothing_running() {
    if std::env::var_os("PACELINE_XEN_LAB").is_none() {
        eprintln!("skipped: PACELINE_XEN_LAB is not set, as `scripts/test hypervisor` sets it");
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("boot.log");
        let mut command = xen(&["boot", "--guests", "0", "--log"]);
        let mut lab = Left(command.arg(&log).stdout(Stdio::piped()).spawn().expect("it starts"));
        let mut lines = BufReader::new(lab.0.stdout.take().expect("it is piped")).lines();
        let booted = lines.any(|line| line.expect("UTF-8").contains("(XEN) "));
        assert!(booted, "the hypervisor says something");
        let emulators = children(lab.0.id());
        assert!(!emulators.is_empty(), "there is an emulator");
        kill_process(Pid::from_raw(lab.0.id() as i32).expect("a process"), signal).expect("it runs");
        let status = lab.0.wait().expect("it ends");
        assert_eq!(status.code(), (signal == Signal::INT).then_some(1));
        // Its output ends when the last one that could write to it is gone, and so is the emulator.
        for emulator in emulators {
            let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
            while runs(emulator) {
                assert!(std::time::Instant::now() < end, "{emulator} is left after {signal:?}");
                std::thread::yield_now();
            }
        }
    }
}

/// The processes that this one has started.
fn children(of: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is /proc").filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| field(*id, 1).is_some_and(|parent| parent == of.to_string())).collect()
}

fn runs(process: u32) -> bool {
    field(process, 0).is_some_and(|state| state != "Z")
}

/// A field of a process's state, counted from behind its name.
fn field(process: u32, place: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.split(' ').nth(place).map(str::to_owned)
}

//! What goes through: exit status, signals, environment; and mistakes in the options.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::lab::{Running, pace, send, wait_until};

/// Policies that are permitted everywhere, and the best.
const POLICIES: [&str; 2] = ["none", "auto"];

fn code(policy: &str, command: &[&str]) -> (i32, String) {
    let (status, printed) = Running::start(pace(&["--policy", policy], command)).ended();
    (status.code().expect("paceline itself is not killed"), printed)
}

#[test]
fn the_commands_status_is_passed_through() {
    for policy in POLICIES {
        for status in [0, 1, 7, 125, 255] {
            assert_eq!(code(policy, &["sh", "-c", &format!("exit {status}")]).0, status, "{policy}");
        }
        for (signal, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
            assert_eq!(
                code(policy, &["sh", "-c", &format!("kill -{signal} $$")]).0,
                128 + number,
                "{policy}"
            );
        }
    }
}

/// As timeout(1) and shells with job control do it.
#[test]
fn a_command_in_a_process_group_of_its_own_is_waited_for() {
    for policy in POLICIES {
        assert_eq!(code(policy, &["timeout", "60", "sh", "-c", "exit 7"]).0, 7, "{policy}");
        assert_eq!(code(policy, &["setsid", "--wait", "sh", "-c", "exit 8"]).0, 8, "{policy}");
    }
}

#[test]
fn a_command_that_is_not_there_or_cannot_be_executed_is_reported_as_by_shells() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let plain = folder.path().join("plain");
    fs::write(&plain, "no program").expect("files can be written");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o600)).expect("it is ours");
    for policy in POLICIES {
        let (status, printed) = code(policy, &["/nowhere/at/all"]);
        assert_eq!(status, 127);
        assert!(printed.contains("error: /nowhere/at/all: there is no such program"), "{printed}");
        let (status, printed) = code(policy, &[plain.to_str().expect("UTF-8")]);
        assert_eq!(status, 126);
        assert!(printed.contains("plain: cannot be executed"), "{printed}");
        assert_eq!(code(policy, &[folder.path().to_str().expect("UTF-8")]).0, 126, "a folder is no program");
    }
}

#[test]
fn signals_are_passed_on_to_the_command() {
    let folder = tempfile::tempdir().expect("there can be folders");
    for (number, signal) in ["TERM", "INT"].into_iter().enumerate() {
        let ready = folder.path().join(signal);
        let script = format!(
            "trap 'exit {}' {signal}; echo > {}; while :; do sleep 0.01; done",
            40 + number,
            ready.display()
        );
        let running = Running::start(pace(&[], &["sh", "-c", &script]));
        wait_until("the command has set its trap", || ready.exists());
        send(running.pid(), signal);
        assert_eq!(running.ended().0.code(), Some(40 + number as i32), "{signal}");
    }
}

#[test]
fn one_line_says_which_policy_paces_and_stdout_is_the_commands() {
    let mut command =
        pace(&["--policy", "none"], &["sh", "-c", "echo out; echo err >&2; echo ${PACELINE_LVT-none}"]);
    command.env("PACELINE_LVT", "/an/outer/page").stdout(Stdio::piped());
    let output = command.output().expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\nnone\n");
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(printed, "paceline: policy the normal scheduler; nothing is paced\nerr\n");
    let (_, printed) = code("auto", &["true"]);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    if !std::path::Path::new("/sys/kernel/sched_ext").exists() {
        assert!(printed.contains("; not sched-ext: this kernel has no sched_ext"), "{printed}");
        let (status, printed) = code("sched-ext", &["true"]);
        assert_eq!(status, 1);
        assert!(printed.contains("sched-ext: this kernel has no sched_ext"), "{printed}");
    }
}

#[test]
fn bad_options_are_refused_with_what_is_allowed() {
    for (options, allowed) in [
        (&["--policy", "fastest"][..], "auto, sched-ext, governor, none"),
        (&["--slice", "1us"], "100µs to 10ms"),
        (&["--slice", "1s"], "100µs to 10ms"),
        (&["--slice", "much"], "--slice"),
        (&["--min-share", "101%"], "0% to 100%"),
        (&["--min-share", "-1%"], "--min-share"),
    ] {
        let output = pace(options, &["true"]).output().expect("the program starts");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {printed}");
        assert!(printed.contains(allowed), "{options:?}: {printed}");
    }
    let output = pace(&[], &[]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2), "there is no command");
}

#[test]
fn what_the_command_leaves_behind_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let left = folder.path().join("left");
    let script = format!("sleep 60 2> /dev/null & echo $! > {}; exit 5", left.display());
    assert_eq!(code("auto", &["sh", "-c", &script]).0, 5);
    let left =
        fs::read_to_string(left).expect("the command has written it").trim().parse().expect("a process id");
    let sleeps = procfs::process::Process::new(left).and_then(|process| process.stat());
    assert_eq!(sleeps.expect("it is still there").comm, "sleep");
    send(left, "KILL");
}

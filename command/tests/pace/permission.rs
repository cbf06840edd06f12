//! What happens where less is permitted.

use std::process::{Command, Stdio};

use crate::lab::{IDLE, Running, classes, descendants, pace_worker, wait_until, workers_of};

/// `command` without the right to raise priorities, but for a limit that allows to set nice levels back;
/// none, with the reason on stderr, where the tools for that lack.
fn without_rights(command: &Command, nice: bool) -> Option<Command> {
    let limits = ["--rtprio=0:0", if nice { "--nice=20:20" } else { "--nice=0:0" }];
    let mut without = Command::new("prlimit");
    without.args(limits).args(["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]);
    let found =
        Command::new("prlimit").args(limits).args(["setpriv", "--bounding-set=-sys_nice", "true"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: rights cannot be taken away here by prlimit and setpriv");
        return None;
    }
    without.arg(command.get_program()).args(command.get_args());
    without.envs(command.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    without
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    Some(without)
}

#[test]
fn without_any_permission_auto_runs_the_command_unpaced_and_says_why() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let command = pace_worker(&["--policy", "auto"], "spin", "1 silent", folder.path());
    let Some(command) = without_rights(&command, false) else { return };
    let (status, printed) = Running::start(command).ended();
    assert_eq!(status.code(), Some(0), "{printed}");
    let line = printed.lines().next().unwrap_or_default();
    assert!(line.starts_with("paceline: policy the normal scheduler"), "{printed}");
    for reason in ["governor (real-time): not permitted", "governor (nice): not permitted", "RLIMIT_NICE"] {
        assert!(line.contains(reason), "{printed}");
    }
    let command = pace_worker(&["--policy", "governor"], "spin", "1 silent", folder.path());
    let (status, printed) =
        Running::start(without_rights(&command, false).expect("it was possible before")).ended();
    assert_eq!(status.code(), Some(1), "what was asked for by name is not there");
    assert!(printed.contains("CAP_SYS_NICE"), "{printed}");
}

#[test]
fn where_only_nice_levels_are_permitted_they_are_used() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let command =
        pace_worker(&["--policy", "governor"], "spin", "60 works works works works works", folder.path());
    let Some(command) = without_rights(&command, true) else { return };
    let running = Running::start(command);
    wait_until("threads are in the idle class", || classes(&workers_of(&running)).contains(&IDLE));
    std::fs::write(folder.path().join("stop"), "").expect("files can be written");
    let (status, printed) = running.ended();
    assert_eq!(status.code(), Some(0), "{printed}");
    assert!(printed.contains("policy governor (nice); not governor (real-time): not permitted"), "{printed}");
}

#[test]
fn a_limit_that_would_end_paced_threads_rules_real_time_priorities_out() {
    let folder = tempfile::tempdir().expect("there can be folders");
    let works = "60 works works works works works";
    let command = pace_worker(&["--policy", "governor", "--always"], "spin", works, folder.path());
    // Threads that spin for longer would be ended by SIGXCPU.
    let mut limited = Command::new("prlimit");
    limited.arg("--rttime=20000:20000").arg(command.get_program()).args(command.get_args());
    limited.envs(command.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    limited.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    if !Command::new("prlimit")
        .args(["--rttime=20000:20000", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("skipped: there is no prlimit");
        return;
    }
    let running = Running::start(limited);
    wait_until("threads are in the idle class, or it is over", || {
        running.is_over() || classes(&descendants(running.pid())).contains(&IDLE)
    });
    std::fs::write(folder.path().join("stop"), "").expect("files can be written");
    let (status, printed) = running.ended();
    let refused =
        printed.contains("not governor (real-time)") && printed.contains("RLIMIT_RTTIME of 20000 us");
    let unpermitted = printed.contains("governor (real-time): not permitted");
    assert!(refused || unpermitted, "{printed}");
    assert!(
        status.code() == Some(0) || printed.contains("the requested policy is not available"),
        "{status}: {printed}"
    );
}

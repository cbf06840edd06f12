//! What goes wrong under an MPI launcher: ranks that abort or die, and a pacer that is killed.

use std::fs::{self, File};

use procfs::process::Process;

use super::{INSTALLED, LIMIT, MARK, marked, ranks, result, text, wait_until_seen};
use crate::lab::{NORMAL, Running, any_turn, classes, send, wait_until};

#[test]
fn a_rank_that_aborts_or_dies_ends_the_program_and_leaves_nothing_behind() {
    let _turn = any_turn();
    let us = [std::process::id().cast_signed()];
    for mpi in &*INSTALLED {
        for fault in ["abort", "die"] {
            let mark = format!("fault-{}-{fault}", mpi.name);
            let mut command =
                mpi.paced(LIMIT, &[], &["--sync", "windows", "--until", "40", "--fault", fault]);
            let output = command.env(MARK, &mark).output().expect("it starts");
            let code = output.status.code().expect("paceline itself is not killed");
            assert!(!matches!(code, 0 | 124), "{} {fault}: {code}: {}", mpi.name, text(&output.stderr));
            assert_eq!(result(&text(&output.stdout), "checksum"), None, "{} {fault}", mpi.name);
            wait_until("all its processes have ended", || marked(&mark).is_empty());
            assert!(classes(&us).iter().all(|class| *class == NORMAL), "{} {fault}", mpi.name);
        }
    }
}

#[test]
fn when_the_pacer_is_killed_the_ranks_finish_under_the_normal_scheduler() {
    let _turn = any_turn();
    let folder = tempfile::tempdir().expect("there can be folders");
    for mpi in &*INSTALLED {
        let mark = format!("killed-{}", mpi.name);
        let until = if mpi.name == "openmpi" { "3000" } else { "1500" };
        let options = ["--sync", "windows", "--until", until];
        let checksum = mpi.checksum(&options);
        let printed = folder.path().join(mpi.name);
        let mut command = mpi.paced(LIMIT, &["--always"], &options);
        command.env(MARK, &mark).stdout(File::create(&printed).expect("files can be written"));
        let running = Running::start(command);
        wait_until_seen(&mark, "phold ");
        send(running.pid(), "KILL");
        let mut were_there = false;
        wait_until("the ranks are normal", || {
            let ranks: Vec<i32> = ranks(&mark).iter().map(Process::pid).collect();
            let classes = classes(&ranks);
            were_there |= classes.len() >= 16;
            classes.iter().all(|class| *class == NORMAL)
        });
        assert!(were_there, "{}: the ranks had ended too early", mpi.name);
        wait_until("the ranks have ended", || marked(&mark).is_empty());
        let printed = fs::read_to_string(printed).expect("phold has printed");
        assert_eq!(result(&printed, "checksum"), Some(&*checksum), "{}: {printed}", mpi.name);
        assert_eq!(running.ended().0.code(), None, "a signal has ended it");
    }
}

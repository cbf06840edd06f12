//! The programs of guests (lab/xen/guest), run on this machine: what they compute depends on their options
//! alone, they say so in one line each, and what they report to a hypervisor is what it understands. Skipped,
//! with the reason, where there is no make or C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../xen/guest").join(path)
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no {program}");
    }
    found
}

/// The folder of the programs; `None` where they cannot be built here.
fn built() -> Option<TempDir> {
    if !is_there("make") || !is_there("cc") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = format!("OUT={}", folder.path().display());
    let made =
        Command::new("make").arg("-sC").arg(place(".")).args([&out, "CFLAGS=-O2 -Werror"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder)
}

/// Addresses for so many ranks, which nobody else has.
fn addresses(ranks: u32) -> String {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let [.., high, low] = std::process::id().to_be_bytes();
    let address = |rank| format!("127.{high}.{low}.{}:{}", rank + 1, 7_000 + run);
    (0..ranks).map(address).collect::<Vec<_>>().join(",")
}

/// Runs all ranks of a program side by side, and returns what they said.
fn run_ranks(program: &Path, ranks: u32, options: &str) -> Vec<Output> {
    let list = addresses(ranks);
    let start = |rank: u32| {
        let mut command = Command::new(program);
        command.args(options.split_whitespace()).args(["--tcp", &list, "--rank", &rank.to_string()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started")
    };
    let running: Vec<_> = (0..ranks).rev().map(start).collect();
    let mut said: Vec<_> = running.into_iter().map(|rank| rank.wait_with_output().unwrap()).collect();
    said.reverse();
    assert!(said.iter().all(|output| output.status.success() && output.stderr.is_empty()), "{said:?}");
    said
}

/// The value behind `key=` in the result line.
fn value_of(output: &Output, key: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "{text}");
    let values = text.trim_end().strip_prefix("paceline: ").unwrap_or_else(|| panic!("{text}")).split(' ');
    let value = values.filter_map(|value| value.split_once('=')).find(|(name, _)| *name == key);
    value.unwrap_or_else(|| panic!("no {key} in {text}")).1.to_owned()
}

#[test]
fn rounds_are_counted_by_whom_rank_2_has_heard_first() {
    let Some(folder) = built() else { return };
    let program = folder.path().join("rounds");
    for (pacing, wait) in [("barrier", "yield"), ("closed", "block"), ("free", "busy")] {
        let said = run_ranks(&program, 3, &format!("--rounds 50 --pacing {pacing} --wait {wait}"));
        assert!(said.iter().all(|output| value_of(output, "rounds") == "50"));
        let [errors, overtaken] =
            ["errors", "overtaken"].map(|key| value_of(&said[2], key).parse::<u32>().unwrap());
        assert!(errors <= 50, "{errors}");
        if pacing == "barrier" {
            assert_eq!(errors, overtaken, "rounds do not overlap");
        }
    }
}

#[test]
fn ep_computes_the_same_on_any_number_of_ranks() {
    let Some(folder) = built() else { return };
    let program = folder.path().join("ep");
    let options = "--batches 37 --batch 1000";
    let alone = Command::new(&program).args(options.split(' ')).output().unwrap();
    for ranks in [1, 2, 3, 7] {
        for output in run_ranks(&program, ranks, &format!("{options} --wait block")) {
            assert_eq!(value_of(&output, "checksum"), value_of(&alone, "checksum"), "{ranks} ranks");
        }
    }
    let more = Command::new(&program).args(["--batches", "38", "--batch", "1000"]).output().unwrap();
    assert_ne!(value_of(&more, "checksum"), value_of(&alone, "checksum"));
}

/// Messages of LU, all ranks together, collective ones excepted, on `along` times `across` ranks.
fn lu_messages(side: u64, iterations: u64, along: u64, across: u64) -> u64 {
    let edges = (along - 1) * across + along * (across - 1);
    // Each sweep sends an edge a plane one way; the right-hand side, also once before the first iteration,
    // sends both ways.
    edges * (iterations * 2 * (side - 2) + 2 * (iterations + 1))
}

#[test]
fn lu_sends_what_the_benchmark_sends_and_computes_the_same_however_it_waits() {
    let Some(folder) = built() else { return };
    let program = folder.path().join("lu");
    for (ranks, along, across) in [(2, 2, 1), (4, 2, 2), (8, 4, 2)] {
        let mut checksums = Vec::new();
        for wait in ["yield", "block"] {
            let said =
                run_ranks(&program, ranks, &format!("--side 14 --iterations 3 --point 10 --wait {wait}"));
            checksums.extend(said.iter().map(|output| value_of(output, "checksum")));
            // A barrier, and the norm: a message for each bit of the number of ranks.
            let collective = u64::from(ranks * ranks.ilog2() * 2);
            let messages: u64 =
                said.iter().map(|output| value_of(output, "messages").parse::<u64>().unwrap()).sum();
            assert_eq!(messages - collective, lu_messages(14, 3, along, across), "{ranks} ranks");
        }
        assert!(checksums.iter().all(|found| *found == checksums[0]), "{checksums:?}");
    }
}

#[test]
fn hogs_do_as_much_as_they_are_reported() {
    let Some(folder) = built() else { return };
    let output =
        Command::new(folder.path().join("hog")).args(["--units", "7", "--unit", "100"]).output().unwrap();
    assert_eq!((value_of(&output, "units"), value_of(&output, "unit")), ("7".into(), "100".into()));
}

#[test]
fn wrong_options_are_reported_with_what_is_allowed() {
    let Some(folder) = built() else { return };
    for (program, options, because) in [
        ("hog", "--units -1", "--units: is no number"),
        ("hog", "--unit", "--unit: needs a value"),
        ("ep", "--wait never", "--wait: is none of the words"),
        ("lu", "--sides 12", "--sides: is unknown"),
        ("lu", "--tcp 1.2.3.4:5,1.2.3.4:6,1.2.3.4:7", "--tcp: needs a power of two"),
        (
            "lu",
            "--side 6 --tcp 1.2.3.4:5,1.2.3.4:6,1.2.3.4:7,1.2.3.4:8,1.2.3.4:9,1.2.3.4:10,1.2.3.4:11,1.2.3.4:12",
            "--side: leaves",
        ),
        ("rounds", "--tcp 1.2.3.4:5,1.2.3.4:6", "--tcp: needs three"),
        ("rounds", "--tcp 1.2.3.4:5,there,1.2.3.4:6", "--tcp: needs three"),
    ] {
        let output = Command::new(folder.path().join(program)).args(options.split(' ')).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && printed.contains(because),
            "{program} {options}: {printed}"
        );
    }
}

/// A program of `lab/xen/guest/test`, and the folder that it is in; `None` where it cannot be built here.
fn compiled(name: &str) -> Option<(TempDir, PathBuf)> {
    if !is_there("cc") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    let include = format!("-I{}", place("../../../pacing/lvt/include").display());
    let warnings = ["-std=gnu11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", &include, "-o"];
    let source = place(&format!("test/{name}.c"));
    let made = Command::new("cc").args(warnings).args([&program, &source]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some((folder, program))
}

#[test]
fn of_several_ranks_the_message_that_came_first_is_received_first() {
    let Some((_folder, program)) = compiled("order") else { return };
    let said = run_ranks(&program, 3, "");
    assert_eq!(String::from_utf8_lossy(&said[2].stdout), "0 1\n");
}

/// What a guest's program reports to a hypervisor that is as `mode` says, where the kernel says `guest_type`.
#[cfg(target_arch = "x86_64")]
fn reported(mode: &str, kind: &str, guest_type: &str) -> Option<String> {
    let (folder, program) = compiled("reports")?;
    fs::write(folder.path().join("type"), format!("{kind}\n")).unwrap();
    fs::write(folder.path().join("guest_type"), format!("{guest_type}\n")).unwrap();
    let output = Command::new(&program).arg(folder.path()).arg(mode).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_hypervisor_of_ours_is_reported_what_would_stand_on_the_page() {
    let Some(reports) = reported("ours", "xen", "PV") else { return };
    let [lvt_max, done] = [u64::MAX >> 1, u64::MAX];
    let expected = [
        // Opened: an older simulation is over, and a new one begins at 0.
        "taken 0 0".into(),
        "taken 0 1".into(),
        "present".into(),
        "taken 1000 1".into(),
        "refused 400 1".into(),
        "backwards 1".into(),
        // With a lookahead of 100: 1100 is not reported.
        "taken 1101 1".into(),
        // Waits. The child says nothing.
        "taken 1101 3".into(),
        format!("taken {done} 3"),
        // Who no longer waits is still done.
        format!("taken {done} 1"),
        format!("taken {lvt_max} 1"),
        // Simulates no longer, does again, and closes.
        "taken 0 0".into(),
        format!("taken {lvt_max} 1"),
        "taken 0 0".into(),
    ];
    assert_eq!(reports.lines().collect::<Vec<_>>(), expected);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn elsewhere_nothing_is_reported_and_nothing_breaks() {
    for (mode, kind, guest_type, expected) in [
        // No Xen at all; Xen without our schedulers; one of our schedulers that takes no reports.
        ("ours", "kvm", "PV", "absent\nbackwards 0\n"),
        ("plain", "xen", "PV", "absent\nbackwards 0\n"),
        ("mute", "xen", "PV", "refused 0 0\nabsent\nbackwards 0\n"),
        // The kernel says that CPUID asks the hypervisor, and this machine's CPUID knows nothing of Xen.
        ("ours", "xen", "PVH", "absent\nbackwards 0\n"),
    ] {
        let Some(reports) = reported(mode, kind, guest_type) else { return };
        assert_eq!(reports, expected, "{mode} {kind} {guest_type}");
    }
}

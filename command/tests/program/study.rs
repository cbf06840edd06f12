//! Studies: whatever ends one, it continues, repeats nothing, and comes to the table of one that nothing has
//! ended; runs that fail are rows; parts are the whole; and mistakes have their places.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::{Running, error_text, folder_of, paceline, says, stderr, stdout};

const PHOLD: &str = r#"[model]
kind = "phold"
lps = 4
messages_per_lp = 1.5

[run]
until = "5s"
seed = 3
"#;

/// Two hundred runs.
const STUDY: &str = r#"[study]
scenario = "small.toml"
replications = 20
metrics = ["events per lp"]
goal = "greatest"

[factors]
model.lps = [2, 4, 8, 16, 32]
model.lookahead = ["500ms", "1s"]
"#;

/// The files of a study that depend on its runs alone.
const FILES: [&str; 4] = ["runs.csv", "runs.parquet", "study.html", "summary.json"];

fn folder(study: &str) -> tempfile::TempDir {
    folder_of(&[("small.toml", PHOLD), ("some.toml", study)])
}

fn study(folder: &Path, options: &[&str]) -> Output {
    paceline(folder, &[&["study", "some.toml"], options].concat())
}

/// What the study says as JSON, having ended well.
#[track_caller]
fn json(folder: &Path, options: &[&str]) -> Value {
    let output = study(folder, &[&["--json"], options].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("exactly one JSON object")
}

/// The runs of the rows of a journal, in their order.
fn runs(journal: &Path) -> Vec<String> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let run = |line: &str| line.split("\"run\":\"").nth(1).map(|rest| rest[..16].to_owned());
    text.lines().filter_map(run).collect()
}

#[track_caller]
fn assert_same_files(folder: &Path, one: &str, other: &str) {
    for file in FILES {
        let read = |out: &str| fs::read(folder.join(out).join(file)).unwrap();
        assert!(read(one) == read(other), "{file} in {one} and {other}");
    }
}

#[test]
fn fifty_kills_lose_and_repeat_no_run() {
    let folder = folder(STUDY);
    let (folder, journal) = (folder.path(), folder.path().join("killed/study.journal"));
    let whole = json(folder, &["--out", "whole"]);
    assert_eq!((&whole["runs"]["ended"], &whole["new_runs"]), (&200.into(), &200.into()));
    let ends = Instant::now() + Duration::from_secs(60);
    let mut hit = 0;
    for kill in 0..50_u64 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.args(["study", "some.toml", "--quiet", "--out", "killed"]).current_dir(folder);
        let mut killed = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        // Wherever it is: while it reads the study, or in the middle of a row.
        let length = || fs::metadata(&journal).map_or(0, |data| data.len());
        let until = length() + (kill * 379) % 600;
        while length() < until && killed.try_wait().unwrap().is_none() {
            assert!(Instant::now() < ends, "kill {kill}");
            std::thread::yield_now();
        }
        hit += usize::from(killed.try_wait().unwrap().is_none());
        // It may have ended by itself.
        let _ = killed.kill();
        killed.wait().unwrap();
    }
    let before = runs(&journal);
    assert!(hit >= 10 && !before.is_empty(), "{hit} kills hit, {} runs", before.len());
    let last = study(folder, &["--json", "--out", "killed"]);
    assert!(last.status.success(), "{}", stderr(&last));
    let rows = runs(&journal);
    assert_eq!((rows.len(), rows.iter().collect::<BTreeSet<_>>().len()), (200, 200), "each run once");
    assert_eq!(rows[..before.len()], before[..], "what was there stays");
    assert_same_files(folder, "whole", "killed");
}

#[test]
fn more_levels_and_more_replications_do_the_new_runs_alone() {
    let folder = folder("");
    let folder = folder.path();
    let with = |levels: &str, options: &[&str]| {
        let text = format!(
            "[study]\nscenario = \"small.toml\"\nreplications = 3\n[factors]\nmodel.lps = {levels}\n"
        );
        fs::write(folder.join("some.toml"), text).unwrap();
        let found = json(folder, options);
        (found["new_runs"].as_u64().unwrap(), found["runs"]["ended"].as_u64().unwrap())
    };
    assert_eq!(with("[2, 4]", &[]), (6, 6));
    assert_eq!(with("[2, 4]", &[]), (0, 6), "the same again");
    assert_eq!(with("[2, 4, 8]", &[]), (3, 9), "a level more");
    assert_eq!(
        with("[8, 4]", &["--set", "study.replications=5"]),
        (4, 10),
        "more replications, a level less"
    );
    assert_eq!(
        with("{ from = 2, to = 8, step = 2 }", &[]),
        (3, 12),
        "the same levels as a range, and a new one"
    );
    assert_eq!(with("[2, 4]", &["--set", "study.threads=2"]), (0, 6), "threads are no part of a run");
    assert_eq!(with("[2, 4]", &["--set", "study.seed=4"]), (1, 6), "one level lacks seed 6");
    fs::write(folder.join("small.toml"), PHOLD.replace("5s", "6s")).unwrap();
    assert_eq!(with("[2, 4]", &[]), (6, 6), "another scenario");
}

#[test]
fn common_random_numbers_are_the_seeds_of_replicate_and_independent_ones_differ() {
    let folder = folder(&STUDY.replace("20", "3"));
    let folder = folder.path();
    let table = |options: &[&str], out: &str| {
        json(folder, &[options, &["--out", out]].concat());
        let text = fs::read_to_string(folder.join(out).join("runs.csv")).unwrap();
        let place = text.lines().next().unwrap().split(',').position(|name| name == "seed").unwrap();
        let seeds = text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_owned());
        seeds.collect::<Vec<_>>()
    };
    assert_eq!(table(&[], "common"), ["3", "4", "5"].repeat(10));
    let independent = table(&["--set", "study.streams=independent"], "independent");
    assert_eq!(independent.iter().collect::<BTreeSet<_>>().len(), 30, "{independent:?}");
    // A run of the study is the run of its seed.
    let run =
        paceline(folder, &["run", "small.toml", "--json", "--set", "model.lps=2", "--set", "run.seed=4"]);
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    let lines = fs::read_to_string(folder.join("common/runs.csv")).unwrap();
    let row =
        lines.lines().find(|line| line.contains(",1s,2,1,4,ended,")).unwrap_or_else(|| panic!("{lines}"));
    says(row, &[run["digest"].as_str().unwrap()]);
}

/// The process that this one has started, as soon as there is one.
#[cfg(target_os = "linux")]
fn child_of(parent: u32) -> rustix::process::Pid {
    let ends = Instant::now() + Duration::from_secs(60);
    loop {
        let all =
            procfs::process::all_processes().unwrap().flatten().filter_map(|process| process.stat().ok());
        let mut children = all.filter(|stat| stat.ppid == parent as i32 && stat.state != 'Z');
        if let Some(child) = children.next() {
            return rustix::process::Pid::from_raw(child.pid).unwrap();
        }
        assert!(Instant::now() < ends, "a run begins");
        std::thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_killed_is_a_row_and_is_done_again_when_that_is_wanted() {
    let folder =
        folder("[study]\nscenario = \"small.toml\"\nreplications = 1\n[set]\nrun.until = \"500000s\"\n");
    let folder = folder.path();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["study", "some.toml", "--quiet"]).current_dir(folder);
    let running = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    rustix::process::kill_process(child_of(running.id()), Signal::KILL).unwrap();
    let output = running.wait_with_output();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let failed = fs::read_to_string(folder.join("some.study/runs.csv")).unwrap();
    says(&failed, &[",failed,its process was ended by signal 9,"]);
    assert_eq!(json(folder, &["--retry", "failed"])["new_runs"], 1);
    let ended = fs::read_to_string(folder.join("some.study/runs.csv")).unwrap();
    assert!(ended.contains(",ended,,horizon,") && !ended.contains("failed"), "{ended}");
}

#[test]
fn failed_runs_are_rows_with_their_errors_that_are_repeated_alone() {
    // The model leaves the clock, each time.
    let far = "[set]\nmodel.mean = \"200000d\"\nmodel.lookahead = \"106700d\"\nrun.until = \"213400d\"\n";
    let text =
        format!("[study]\nscenario = \"small.toml\"\nreplications = 2\n{far}run.protocol = \"sequential\"\n");
    let folder = folder(&text);
    let folder = folder.path();
    let with = |options: &[&str]| {
        let output = study(folder, &[&["--json"], options].concat());
        let text = stderr(&output);
        assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
        says(&text, &["error: 2 runs have failed; the first is ", "`--retry failed` does them again"]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let found = with(&[]);
    let failures = found["failures"].as_array().unwrap();
    assert_eq!((failures.len(), &found["new_runs"]), (2, &2.into()), "{found}");
    assert!(failures.iter().all(|failure| failure["error"].as_str().unwrap().len() > 10), "{found}");
    assert_eq!(with(&[])["new_runs"], 0, "what has failed is not repeated by itself");
    assert_eq!(with(&["--retry", "failed"])["new_runs"], 2);
    assert_eq!(with(&["--retry", &failures[0]["run"].as_str().unwrap()[..8]])["new_runs"], 1, "one alone");
    let page = fs::read_to_string(folder.join("some.study/study.html")).unwrap();
    says(&page, &["Runs that have failed", failures[1]["run"].as_str().unwrap()]);
}

#[test]
fn parts_and_their_merger_are_the_whole() {
    let with_rule = format!("{STUDY}[stop]\nmetric = \"events_per_lp\"\nwithin = 0.12\nmost = 12\nby = 2\n");
    for text in [STUDY.replace("20", "4"), with_rule.replace("20", "3")] {
        let folder = folder(&text);
        let folder = folder.path();
        let whole = json(folder, &["--out", "whole"]);
        let mut new = 0;
        for part in ["1/3", "2/3", "3/3"] {
            let found = json(folder, &["--out", "parts", "--array", part, "--at-once", "1"]);
            new += found["new_runs"].as_u64().unwrap();
        }
        assert_eq!(whole["new_runs"], new, "no run is in two parts");
        assert!(!folder.join("parts/runs.csv").exists(), "a part has no table");
        let merged = paceline(folder, &["study", "merge", "some.toml", "--out", "parts"]);
        assert!(merged.status.success(), "{}", stderr(&merged));
        assert_same_files(folder, "whole", "parts");
        assert_eq!(json(folder, &["--out", "parts"])["new_runs"], 0);
        // The journal of another folder, named.
        paceline(folder, &["study", "merge", "some.toml", "whole/study.journal", "--out", "taken"]);
        assert_same_files(folder, "whole", "taken");
    }
}

#[test]
fn a_point_is_repeated_until_its_interval_is_narrow_enough() {
    let text = format!("{STUDY}[stop]\nmetric = \"events per lp\"\nwithin = 0.1\nmost = 40\nby = 3\n");
    let folder = folder(&text.replace("20", "4"));
    let found = json(folder.path(), &[]);
    let mut counts = BTreeSet::new();
    for point in found["points"].as_array().unwrap() {
        let metric = &point["metrics"]["events_per_lp"];
        let value = |key: &str| metric[key].as_f64().unwrap();
        let (count, mean) = (value("replications"), value("mean"));
        let half = (value("confidence_95_high") - value("confidence_95_low")) / 2.0;
        assert!(half <= 0.1 * mean || count == 40.0, "{point}");
        assert!((4.0..=40.0).contains(&count) && ((count - 4.0) % 3.0 == 0.0 || count == 40.0), "{point}");
        counts.insert(count as u32);
    }
    assert!(counts.len() > 1, "points need different numbers: {counts:?}");
}

#[test]
fn a_full_disk_loses_no_row_that_was_kept() {
    let folder = folder(&STUDY.replace("20", "2"));
    let folder = folder.path();
    let limited = "ulimit -f 2; exec \"$0\" study some.toml --json --out full";
    let full = Command::new("bash")
        .args(["-c", limited, env!("CARGO_BIN_EXE_paceline")])
        .current_dir(folder)
        .output();
    let full = full.expect("there is a bash");
    assert_eq!(full.status.code(), Some(1), "{}", stdout(&full));
    says(&stderr(&full), &["error: cannot write full/study.journal: "]);
    let kept = runs(&folder.join("full/study.journal")).len() as u64;
    assert!((3..10).contains(&kept), "{kept} rows of about 300 bytes in 2 kB");
    assert_eq!(json(folder, &["--out", "full"])["new_runs"], 20 - kept);
}

#[test]
fn a_mistake_names_file_and_line_and_what_is_allowed() {
    let folder = folder(STUDY);
    let folder = folder.path();
    let problem = |text: &str, options: &[&str], status| {
        fs::write(folder.join("some.toml"), text).unwrap();
        error_text(folder, &[&["study", "some.toml"], options].concat(), status)
    };
    for (text, words) in [
        (
            STUDY.replace("model.lps", "model.lpz"),
            &["some.toml:8:13: unknown key `lpz`", "did you mean `lps`?"][..],
        ),
        (
            STUDY.replace("[2, 4", "[2, -4"),
            &["some.toml:8:13: `lps` in [model] cannot be the integer -4; allowed: a whole"],
        ),
        (STUDY.replace("[2, 4, 8, 16, 32]", "[]"), &["some.toml:8:13: the factor `model.lps` has no values"]),
        (
            STUDY.replace("events per lp", "evnets_per_lp"),
            &["some.toml:4:11: there is no metric", "did you mean \"events_per_lp\"?", "allowed: "],
        ),
        (STUDY.replace("small.toml", "smal.toml"), &["some.toml:2:12: there is no file smal.toml"]),
        (STUDY.to_owned() + "[set]\nrun.untli = \"3s\"\n", &["some.toml:11:13: unknown key `untli`"]),
    ] {
        says(&problem(&text, &["--out", "wrong"], 2), words);
    }
    says(&problem(STUDY, &["--retry", "abc"], 2), &["--retry abc: no run in the journal has this name"]);
    assert!(stderr(&study(folder, &["--array", "4/3"])).contains("a part is I/N"));
}

#[test]
fn a_journal_of_another_version_is_refused_and_an_unfinished_line_is_said() {
    let folder = folder(&STUDY.replace("20", "1"));
    let folder = folder.path();
    json(folder, &[]);
    let path = folder.join("some.study/study.journal");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
    let output = study(folder, &["--json"]);
    says(&stderr(&output), &["warning: some.study/study.journal:11: the last line is unfinished"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["new_runs"], 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let (first, rest) = text.split_once('\n').unwrap();
    let header = first[17..].replace("\"paceline_study_journal\":1", "\"paceline_study_journal\":2");
    fs::write(&path, format!("{:016x} {header}\n{rest}", xxh3_64(header.as_bytes()))).unwrap();
    let problem = error_text(folder, &["study", "some.toml"], 2);
    says(
        &problem,
        &["some.study/study.journal:1: a journal of another version: ", "; allowed: one that begins with"],
    );
}

#[test]
fn a_run_that_the_study_no_longer_has_is_refused_and_not_passed_over() {
    let text = |levels: &str| {
        format!("[study]\nscenario = \"small.toml\"\nreplications = 1\n[factors]\nmodel.lps = {levels}\n")
    };
    let folder = folder(&text("[2, 3]"));
    let folder = folder.path();
    assert_eq!(json(folder, &[])["new_runs"], 2);
    let rows = fs::read_to_string(folder.join("some.study/runs.csv")).unwrap();
    let name = |level: &str| {
        let row = rows.lines().skip(1).find(|row| row.split(',').nth(1) == Some(level));
        row.unwrap_or_else(|| panic!("{rows}")).split(',').next().unwrap().to_owned()
    };
    fs::write(folder.join("some.toml"), text("[2]")).unwrap();
    assert_eq!(json(folder, &["--retry", &name("2")])["new_runs"], 1);
    let output = study(folder, &["--retry", &name("3")]);
    assert_eq!(output.status.code(), Some(2));
    says(&stderr(&output), &["the study no longer has this run"]);
}

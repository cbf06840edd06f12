//! Scenarios of protocols, a swarm and a farm: what is printed, and what is refused.

use std::fs;
use std::path::Path;

use crate::processes::json;
use crate::{folder_of, paceline, says, stderr, stdout};

fn folder(text: &str) -> tempfile::TempDir {
    folder_of(&[("ring.toml", text)])
}

const SWARM: &str = "[model]\nkind = \"bittorrent\"\npeers = 20\nseeds = 2\nstarts = \"5s\"\n[network]\nlatency = \"20ms\"\n[run]\nuntil = \"200s\"\n";

const FARM: &str = "[model]\nkind = \"farm\"\nworkers = 4\ntasks = 60\nflops = 5e9\nbetween_failures = \"40s\"\nrepair = \"5s\"\n[network]\nlatency = \"500ms\"\n[run]\nuntil = \"10000s\"\n";

/// Asserts that `ring.toml` with these settings is refused in one line that has all these parts.
#[track_caller]
fn assert_told(folder: &Path, mistakes: &[(&[&str], &[&str])]) {
    for (settings, parts) in mistakes {
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["run", "ring.toml"].into_iter().chain(sets).collect();
        let output = paceline(folder, &arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{settings:?}: {message}");
        assert!(message.starts_with("error: ") && message.lines().count() == 1, "{settings:?}: {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{settings:?}: {message}");
    }
}

#[test]
fn a_swarm_shares_its_file_and_its_mistakes_are_reported() {
    let folder = folder(SWARM);
    let summary = json(folder.path(), &["run.threads=2"]);
    assert_eq!((&summary["model"], &summary["ended_by"]), (&"bittorrent".into(), &"horizon".into()));
    let (processes, results) = (&summary["processes"], &summary["results"]);
    assert_eq!((processes, &results["leechers_completed"]), (&21.into(), &18.into()));
    let time = |key: &str| results[key].as_f64().unwrap_or_else(|| panic!("{key} is a number: {summary}"));
    let [first, median, last] =
        ["first", "median", "last"].map(|which| time(&format!("{which}_completion_s")));
    assert!(0.0 < first && first <= median && median <= last && last <= 200.0, "{first} {median} {last}");
    assert!(results["blocks_sent"].as_u64() >= Some(18 * 50), "{results}");
    assert_eq!(json(folder.path(), &["run.threads=1"])["digest"], summary["digest"]);
    let left = json(folder.path(), &["model.linger=10s", "model.seeds_leave=150s"]);
    assert_eq!((&left["ended_by"], &left["end_time_s"]), (&"processes".into(), &150.0.into()));
    let page = stdout(&paceline(folder.path(), &["run", "ring.toml"]));
    says(
        &page,
        &["ring (bittorrent)", "leechers completed", "median completion", "blocks sent", "most unchoked"],
    );
    assert_told(
        folder.path(),
        &[
            (&["model.peers=0"], &["a swarm of 0 peers", "from 1 to 1000000"]),
            (&["model.seeds=21"], &["21 seeds among 20 peers", "from 0 to 20"]),
            (&["model.pieces=0"], &["a file of 0 pieces"]),
            (&["model.blocks=0"], &["a piece of 0 blocks"]),
            (
                &["model.pieces=1000000", "model.blocks=100"],
                &["100 blocks each", "at most 16777216 blocks in all"],
            ),
            (&["model.block_bytes=-1"], &["blocks of -1 bytes", "a finite number from 0"]),
            (&["model.slots=0"], &["0 peers served at a time"]),
            (&["model.seed=1"], &["seed", "seeds"]),
        ],
    );
    fs::write(folder.path().join("ring.toml"), SWARM.replace("until = \"200s\"\n", "")).unwrap();
    assert_told(folder.path(), &[(&[], &["until"])]);
}

#[test]
fn a_farm_does_all_its_tasks_and_its_mistakes_are_reported() {
    let folder = folder(FARM);
    let summary = json(folder.path(), &["run.threads=2"]);
    assert_eq!((&summary["model"], &summary["ended_by"]), (&"farm".into(), &"processes".into()));
    let results = &summary["results"];
    assert_eq!((&results["tasks_done"], &results["last_result_s"]), (&60.into(), &summary["end_time_s"]));
    let is_some = |key: &str| results[key].as_f64().is_some_and(|number| number > 0.0);
    assert!(["host_failures", "tasks_reassigned", "lost_computing_s"].into_iter().all(is_some), "{results}");
    assert_eq!(json(folder.path(), &["run.threads=1"])["digest"], summary["digest"]);
    let sound = stdout(&paceline(folder.path(), &["check", "ring.toml"]));
    assert!(sound.contains("processes  9") && sound.contains("hosts      5"), "{sound}");
    assert_told(
        folder.path(),
        &[
            (&["model.workers=0"], &["a farm of 0 workers", "from 1 to 1000000"]),
            (&["model.tasks=0"], &["a farm with 0 tasks"]),
            (&["model.flops=-1"], &["tasks of -1 flops"]),
            (&["model.bytes=-1"], &["tasks of -1 bytes"]),
            (&["model.limit=0s"], &["at one instant", "above zero"]),
            (&["model.between_failures=0s"], &["at one instant"]),
            (&["model.worker=1"], &["worker", "workers"]),
        ],
    );
    let platform =
        r#"<platform version="4.1"><zone id="z" routing="Full"><host id="h" speed="1Gf"/></zone></platform>"#;
    fs::write(folder.path().join("lonely.xml"), platform).unwrap();
    let other = FARM.replace("latency = \"500ms\"", "model = \"lv08\"\nplatform = \"lonely.xml\"");
    fs::write(folder.path().join("ring.toml"), other).unwrap();
    assert_told(folder.path(), &[(&[], &["a farm on 1 hosts", "a platform with at least 2 hosts"])]);
    fs::write(folder.path().join("ring.toml"), FARM.replace("between_failures = \"40s\"\n", "")).unwrap();
    assert_told(
        folder.path(),
        &[(&[], &["to be repaired that do not fail", "only beside `between_failures`"])],
    );
}

#[test]
fn models_of_processes_are_listed() {
    let folder = folder("");
    let list = stdout(&paceline(folder.path(), &["list"]));
    for (model, about) in
        [("bittorrent", "a swarm share a file"), ("farm", "hands out tasks"), ("chord", "a ring")]
    {
        assert!(list.lines().any(|line| line.contains(model) && line.contains(about)), "{model}: {list}");
    }
}

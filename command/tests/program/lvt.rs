//! `paceline lvt watch`, and runs that publish: the page is shown, mistakes are reported, results stay the
//! same.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use paceline_lvt::{ENV, Page, Publisher};
use serde_json::Value;

use crate::{error_text, paceline, says, stderr, stdout};

/// Runs `paceline` in `folder` with this page in its environment.
fn with_page(folder: &Path, page: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.current_dir(folder).args(arguments).env(ENV, page).output().expect("the program starts")
}

#[test]
fn each_look_is_a_line_of_json_with_every_owner() {
    let folder = tempfile::tempdir().unwrap();
    let page = Page::create(folder.path().join("page"), 4).unwrap();
    let mut publisher = Publisher::claim(&page, "a federate").unwrap();
    publisher.publish(1_500);
    publisher.set_waiting(true);
    let watch = ["lvt", "watch", "--json", "--count", "2", "--interval", "20ms"];
    let output = with_page(folder.path(), page.path().to_str().unwrap(), &watch);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let looks: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(looks.len(), 2);
    for look in &looks {
        assert_eq!((look["slots"].as_u64(), look["least_ns"].as_u64()), (Some(4), Some(1_500)), "{look}");
        let owner = &look["owners"][0];
        assert_eq!((owner["name"].as_str(), owner["state"].as_str()), (Some("a federate"), Some("waits")));
        assert_eq!((owner["lvt_ns"].as_u64(), owner["ahead_ns"].as_u64()), (Some(1_500), Some(0)));
    }
    assert!(looks[0]["owners"][0]["core_share"].is_null());
    assert!(looks[1]["owners"][0]["core_share"].as_f64().is_some_and(|share| (0.0..2.0).contains(&share)));
}

#[test]
fn mistakes_are_reported_in_one_line_with_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    std::fs::write(&path, "no page at all").unwrap();
    let page = folder.path().join("good");
    Page::create(&page, 1).unwrap();
    let page = page.to_str().unwrap();
    for (arguments, printed) in [
        (vec!["--json", "--page", "nowhere"], "No such file"),
        (vec!["--json", "--page", path.to_str().unwrap()], "mode 644 gives other users access"),
        (vec!["--page", page], "standard output is no terminal"),
        (vec!["--json", "--page", page, "--interval", "1ms"], "at least 10ms"),
    ] {
        let all: Vec<&str> = ["lvt", "watch"].into_iter().chain(arguments).collect();
        let output = with_page(folder.path(), "", &all);
        assert_eq!(output.status.code(), Some(2), "{all:?}");
        let said = stderr(&output);
        assert!(said.contains(printed) && said.lines().count() == 1, "{all:?}: {said}");
    }
    let output = paceline(folder.path(), &["lvt", "watch", "--interval", "soon"]);
    assert_eq!(output.status.code(), Some(2));
}

/// A program that does nothing, with this page in its environment; ended when dropped.
struct Idle(Child);

impl Idle {
    fn with(page: &Path) -> Self {
        Self(Command::new("sleep").arg("60").env(ENV, page).spawn().expect("there is a sleep"))
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_page_is_made_used_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let made = paceline(folder.path(), &["lvt", "new", "it's.lvt", "--slots", "5"]);
    assert!(made.status.success() && made.stderr.is_empty(), "{made:?}");
    // As a shell takes it.
    let script = format!("{}\nprintf %s \"${ENV}\"", stdout(&made));
    let path = Command::new("sh").args(["-c", &script]).output().unwrap();
    let path = stdout(&path);
    let page = Page::open(&path).expect("it can be used");
    assert_eq!((page.capacity(), Path::new(&path)), (5, folder.path().join("it's.lvt").as_path()));
    says(&error_text(folder.path(), &["lvt", "new", "it's.lvt"], 2), &["File exists", "allowed: a new file"]);

    // Other programs of this machine may use pages too.
    let _one = Idle::with(Path::new(&path));
    let watch = ["lvt", "watch", "--json", "--count", "1"];
    let alone = with_page(folder.path(), "", &watch);
    let found = stdout(&alone) + &stderr(&alone);
    assert!(found.contains(&path) && !found.contains("no running program"), "{found}");
    let other = Page::create(folder.path().join("other"), 4).unwrap();
    let _two = Idle::with(other.path());
    let several = with_page(folder.path(), "", &watch);
    let printed = stderr(&several);
    assert_eq!(several.status.code(), Some(2), "{printed}");
    assert!(printed.contains("choose one by --page:"), "{printed}");
    for page in [&path, other.path().to_str().unwrap()] {
        let line = printed.lines().find(|line| line.trim_start().starts_with(page)).unwrap_or_default();
        assert!(line.contains("(sleep "), "{printed}");
    }
}

#[test]
fn a_page_that_is_truncated_while_it_is_watched_ends_the_watch_with_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let page = Page::create(&path, 4).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["lvt", "watch", "--json", "--interval", "20ms", "--page"]).arg(&path);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    lines.read_line(&mut first).unwrap();
    assert!(first.contains("\"owners\":[]"), "{first}");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    // It writes on until it reads the page again.
    lines.read_to_string(&mut first).unwrap();
    let ended = watch.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("has 100 bytes where 320 are expected"), "{said}");
    assert_eq!((ended.status.code(), page.slots().is_err()), (Some(1), true));
}

#[test]
fn a_run_computes_the_same_with_a_page_without_and_with_a_bad_one() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/phold.toml");
    let run = ["run", scenario.to_str().unwrap(), "--json", "--quiet", "--set", "run.until=2s"];
    let page = Page::create(folder.path().join("page"), 64).unwrap();
    let good = with_page(folder.path(), page.path().to_str().unwrap(), &run);
    let bad = with_page(folder.path(), "/dev/null", &run);
    let without = with_page(folder.path(), "", &run);
    let digest = |output: &Output| {
        let found: Value = serde_json::from_str(&stdout(output)).expect("JSON");
        found["digest"].clone()
    };
    assert!(digest(&without).is_string() && [&good, &bad].iter().all(|run| digest(run) == digest(&without)));
    assert!(good.stderr.is_empty() && without.stderr.is_empty(), "{good:?}");
    assert!(stderr(&bad).starts_with("warning: threads of this run are not paced: LVT page /dev/null"));
    assert_eq!(page.slots().unwrap(), [], "all slots are free again");
}

//! `run --out` leaves a picture of the run, one page that stands alone, and `report` compares several.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::live::STREETS;
use super::live::browser::{Browser, chromium};
use crate::{error_text, folder_of, paceline, says, stderr, stdout};

const RING: &str =
    "[model]\nkind = \"chord\"\npeers = 20\n[network]\nlatency = \"250ms\"\n[run]\nuntil = \"5s\"\n";

fn folder() -> tempfile::TempDir {
    folder_of(&[("streets.toml", STREETS), ("ring.toml", RING)])
}

/// Runs a scenario with files in `out`, and gives its summary and its report.
fn run(folder: &Path, scenario: &str, out: &str, options: &[&str]) -> (Value, String) {
    let output = paceline(folder, &[&["run", scenario, "--json", "--out", out], options].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let report = fs::read_to_string(folder.join(out).join("report.html")).expect("there is a report");
    (serde_json::from_slice(&output.stdout).expect("JSON"), report)
}

/// The data in a report.
fn data(report: &str) -> Value {
    let (_, rest) = report.split_once("id=\"data\">").expect("there is data");
    serde_json::from_str(rest.split_once("</script>").expect("it ends").0).expect("JSON")
}

/// The points of the first series of the figure of this title.
fn points(data: &Value, title: &str) -> Vec<(f64, f64)> {
    let figures = data["figures"].as_array().expect("figures");
    let figure = figures.iter().find(|figure| figure["title"] == title);
    let figure = figure.unwrap_or_else(|| panic!("there is a figure {title}"));
    serde_json::from_value(figure["series"][0][1].clone()).expect("points")
}

#[test]
fn a_report_shows_what_the_run_was_and_changes_no_digest() {
    let folder = folder();
    let plain = paceline(folder.path(), &["run", "streets.toml", "--json"]);
    let plain: Value = serde_json::from_slice(&plain.stdout).expect("JSON");
    for protocol in ["window", "optimistic", "null-message", "auto", "sequential"] {
        let option = format!("run.protocol={protocol}");
        let (summary, report) = run(folder.path(), "streets.toml", "out", &["--set", &option]);
        assert_eq!(summary["digest"], plain["digest"], "{protocol}");
        let data = data(&report);
        assert_eq!((&data["digest"], &data["scenario"]), (&plain["digest"], &json!("streets")));
        let command = format!("paceline run streets.toml --set {option}");
        assert_eq!(data["command"], command);
        let arrived = plain["results"]["vehicles_arrived"].as_u64().unwrap() as f64;
        let travels = points(&data, "travel");
        assert_eq!(travels.iter().map(|(_, vehicles)| vehicles).sum::<f64>(), arrived, "{protocol}");
        let mean = plain["results"]["mean_travel_s"].as_f64().unwrap();
        let of_bars = travels.iter().map(|(travel, vehicles)| travel * vehicles).sum::<f64>() / arrived;
        let width = travels[1].0 - travels[0].0;
        assert!((mean - of_bars).abs() < width / 2.0, "{mean} {of_bars}");
        let simulated = points(&data, "Simulated time");
        assert_eq!(simulated.last().unwrap().1, 3600.0, "{protocol}: the last moment is the end");
        assert!(simulated.is_sorted_by(|one, next| one.0 <= next.0 && one.1 <= next.1), "{simulated:?}");
        says(&report, &[&command, "<h1>streets</h1>", "class=\"plot map\"", "model.rate", "mean travel"]);
        let outside = report.matches("http").count() - report.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(outside, 0, "the page loads nothing");
    }
    let data = data(&run(folder.path(), "streets.toml", "out", &["--set", "run.protocol=window"]).1);
    assert_eq!(points(&data, "Load of federates").len(), 6);
}

#[test]
fn processes_have_a_report_and_a_run_without_files_has_none() {
    let folder = folder();
    let (summary, report) = run(folder.path(), "ring.toml", "out", &[]);
    assert_eq!(data(&report)["digest"], summary["digest"]);
    assert_eq!(data(&report)["model"], "chord");
    assert!(paceline(folder.path(), &["run", "ring.toml", "--quiet"]).status.success());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "two scenarios and a folder");
}

#[test]
fn several_runs_are_compared_on_one_page() {
    let folder = folder();
    for (out, options) in [
        ("one", &["run.protocol=window"][..]),
        ("again", &["run.protocol=optimistic"]),
        ("other", &["model.rate=60"]),
    ] {
        let options: Vec<&str> = options.iter().flat_map(|option| ["--set", option]).collect();
        run(folder.path(), "streets.toml", out, &options);
    }
    let compared = |runs: &[&str], out: &str| {
        let output = paceline(folder.path(), &[&["report"], runs, &["--out", out]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output), format!("Written: {out}\n"));
        fs::read_to_string(folder.path().join(out)).expect("it is there")
    };
    says(
        &compared(&["one", "again"], "same.html"),
        &["All have the same digest", "run.protocol", "optimistic"],
    );
    let page = compared(&["one", "other/report.html"], "page.html");
    says(&page, &["2 runs have 2 different digests", "model.rate", "other/report.html", "Travel"]);
    // What is no report, or of another version, or damaged; and what cannot be read to its end.
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    fs::write(folder.path().join("text.html"), "no report").unwrap();
    let report = fs::read_to_string(folder.path().join("one/report.html")).unwrap();
    fs::write(folder.path().join("later.html"), report.replace("\"format\":1", "\"format\":9")).unwrap();
    fs::write(folder.path().join("cut.html"), report.replace("\"digest\":", "digest:")).unwrap();
    for (name, problem) in [
        ("nowhere", "nowhere: cannot be read"),
        ("text.html", "text.html: is no report of a run; allowed: folders"),
        ("later.html", "has the format 9, and this version reads 1"),
        ("cut.html", "its data is damaged"),
        (".", "./report.html: cannot be read"),
        ("pipe", "pipe: is no regular file; allowed: folders"),
        ("/dev/zero", "/dev/zero: is no regular file"),
    ] {
        let message = error_text(folder.path(), &["report", "one", name], 2);
        assert!(message.contains(problem), "{message}");
    }
    says(&error_text(folder.path(), &["report", "one", "one"], 2), &["one is named twice"]);
    assert!(!folder.path().join("comparison.html").exists());
}

#[test]
fn reports_work_in_a_browser() {
    let Some(program) = chromium() else {
        eprintln!("skipped: there is no Chromium, neither in PATH nor in ~/.cache/ms-playwright");
        return;
    };
    let (folder, profile) = (folder(), tempfile::tempdir().expect("a folder can be made"));
    for (out, protocol) in [("one", "window"), ("other", "optimistic")] {
        run(folder.path(), "streets.toml", out, &["--set", &format!("run.protocol={protocol}")]);
    }
    assert!(paceline(folder.path(), &["report", "one", "other"]).status.success());
    for (page, name) in [("one/report.html", "report"), ("comparison.html", "comparison")] {
        let url = format!("file://{}", folder.path().join(page).display());
        let mut browser = Browser::open(&program, profile.path(), &url);
        browser
            .until("document.readyState === 'complete' && document.querySelectorAll('svg.plot').length > 3");
        for (width, scheme) in [(1600, "light"), (1600, "dark"), (400, "light"), (400, "dark")] {
            browser.view(width, scheme);
            browser
                .until(&format!("innerWidth === {width} && document.documentElement.scrollWidth <= {width}"));
            browser.picture(&format!("{name}-{width}-{scheme}"));
        }
        let light = "getComputedStyle(document.body).backgroundColor";
        let dark = browser.value(light);
        browser.view(1600, "light");
        assert_ne!(browser.value(light), dark, "{page}: light and dark differ");
        let nameless = "[...document.querySelectorAll('svg[role=img]')].filter(one => one.getAttribute('aria-labelledby')\
            .split(' ').some(id => !document.getElementById(id)?.textContent)).length";
        assert_eq!(browser.value(nameless), 0, "{page}: every picture has a name");
        assert!(browser.complaints.is_empty(), "{page}: {:#?}", browser.complaints);
    }
}

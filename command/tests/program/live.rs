//! `--live`: the page of a run is served to those who have its token, shows the run, steers it, and changes
//! nothing of its result.

pub mod browser;
pub mod client;
mod scenes;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::{folder_of, paceline, stderr, stdout};
use client::Page;

const PHOLD: &str = r#"# Long enough to be looked at
[model]
kind = "phold"
lps = 64
messages_per_lp = 2

[run]
until = "100s"
federates = 8
threads = 2
"#;

/// Streets with lights that fill up: the model draws a map, curves, and how long its vehicles travel.
pub const STREETS: &str = r#"# A small city in the rush hour
[model]
kind = "traffic"
grid = 5
rate = 120
lights = true
storage = true

[run]
until = "1h"
federates = 6
threads = 2
"#;

fn folder() -> tempfile::TempDir {
    folder_of(&[("phold.toml", PHOLD), ("streets.toml", STREETS)])
}

/// The digest of a run that nobody watches.
fn digest(folder: &std::path::Path, scenario: &str, options: &[&str]) -> Value {
    let output = paceline(folder, &[&["run", scenario, "--json"], options].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["digest"].clone()
}

#[test]
fn a_run_is_steered_by_post_and_its_digest_stays() {
    let folder = folder();
    let expected = digest(folder.path(), "phold.toml", &["--set", "run.protocol=sequential"]);
    for protocol in ["window", "optimistic", "null-message", "auto", "sequential"] {
        let option = format!("run.protocol={protocol}");
        let page = Page::of_run(folder.path(), "phold.toml", &["--paused", "--set", &option]);
        let ask = |request: &str, status: u16, words: &[&str]| {
            let (found, said) = page.post(request);
            assert_eq!(found, status, "{protocol}: {request}: {said}");
            words.iter().for_each(|word| {
                assert!(said.contains(word), "{protocol}: {request}: {said:?} says {word:?}")
            });
            said
        };
        ask("status", 200, &["phold: at 0s, 0 events", "paused"]);
        ask("step", 200, &["LP ", " handled ", "its state ", "it sent to LP"]);
        ask("step", 200, &["handled"]);
        ask("status", 200, &["2 events"]);
        ask("window", 200, &["paused at", "events on"]);
        match protocol {
            "sequential" => ask("threads 3", 422, &["sequential"]),
            _ => ask("threads 3", 200, &["threads 3 from now on"]),
        };
        ask("threads 0", 422, &[if protocol == "sequential" { "on one thread" } else { "allowed" }]);
        ask("threads many", 422, &[if protocol == "sequential" { "on one thread" } else { "no number" }]);
        ask("pace 0", 422, &["allowed: a number above 0"]);
        ask("pace 1e9", 200, &["simulated seconds a second"]);
        ask("checkpoint", 422, &["run.checkpoint"]);
        ask("dance", 422, &["unknown request \"dance\"", "pause"]);
        ask("why 1", 422, &["a model of LPs"]);
        let before = ask("status", 200, &["paused"]);
        ask("pace free", 200, &["as fast as it can"]);
        assert_eq!(ask("status", 200, &[]), before, "a paused run does not move");
        ask("go", 200, &["goes on"]);
        assert_eq!(page.finish()["digest"], expected, "{protocol}");
    }
}

#[test]
fn a_run_pauses_where_it_is_and_stops() {
    let folder = folder();
    let options = ["--set", "run.until=300d", "--set", "run.checkpoint=1h"];
    let page = Page::of_run(folder.path(), "phold.toml", &options);
    let (status, said) = page.post("pause");
    assert!(status == 200 && said.contains("paused at"), "{said}");
    let [one, other] = [(); 2].map(|()| page.post("status").1);
    assert!(one == other && one.contains("paused"), "{one} {other}");
    let (status, said) = page.post("checkpoint");
    assert!(status == 200 && said.contains("a checkpoint at"), "{said}");
    assert_eq!(page.post("stop").0, 200);
    // As after Ctrl-C.
    let summary = page.finish_with(130);
    assert_eq!(summary["ended_by"], "interrupted");
    // How far it came depends on the machine.
    let until = format!("run.until={}s", summary["end_time_s"].as_f64().unwrap() + 100.0);
    let resumed = paceline(folder.path(), &["resume", "phold.checkpoint", "--set", &until, "-q"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
}

#[test]
fn frames_show_the_run_and_watching_changes_no_digest() {
    let folder = folder();
    for protocol in ["run.protocol=window", "run.protocol=optimistic"] {
        let expected = digest(folder.path(), "streets.toml", &["--set", protocol]);
        let page = Page::of_run(folder.path(), "streets.toml", &["--paused", "--set", protocol]);
        let mut frames = page.events();
        // The run stands still before its first event, and is looked at all the same.
        let layout = frames.until("layout");
        assert_eq!(layout["points"].as_array().unwrap().len(), 2 * (25 + 20), "{layout}");
        assert_eq!(layout["edges"].as_array().unwrap().len(), 2 * (80 + 20), "{layout}");
        assert_eq!(page.post("go").0, 200);
        let last = frames.until_end();
        let summary = page.finish();
        assert_eq!(summary["digest"], expected, "{protocol}");
        let now = &last["now"];
        assert_eq!((&now["ended"], &now["events"]), (&true.into(), &summary["events_committed"]), "{now}");
        let herd = &now["herd"];
        let federates = herd["federates"].as_u64().unwrap() as usize;
        assert_eq!(herd["lvt"].as_array().unwrap().len(), federates, "{herd}");
        // On a busy machine federates may have been merged into one, which sends to no other.
        if federates > 1 {
            let sent = &last["matrix"]["counts"];
            let messages: u64 = sent.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
            assert!(messages > 0, "vehicles drive from federate to federate");
        }
        assert!(last["curves"].as_str().unwrap().contains("<svg"), "{last:?}");
        let fields = last["loads"]["fields"].to_string();
        assert!(fields.contains("departed"), "{fields}");
    }
}

#[test]
fn nobody_without_the_token_or_from_another_page_is_let_in() {
    let folder = folder();
    let page = Page::of_run(folder.path(), "phold.toml", &["--paused"]);
    let (host, token) = (page.host.clone(), page.token.clone());
    let with = |line: &str, headers: &str, body: &str| {
        let length = body.len();
        page.raw(&format!(
            "{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    };
    let ours = format!("Host: {host}\r\n");
    let known = format!("{ours}x-paceline-token: {token}\r\n");
    let good = [
        (format!("GET /?token={token}"), ours.clone(), ""),
        ("GET /live.js".into(), ours.clone(), ""),
        ("GET /live.css".into(), ours.clone(), ""),
        ("POST /do".into(), known.clone(), "status"),
        (
            "POST /do".into(),
            format!("{known}Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n"),
            "status",
        ),
    ];
    for (line, headers, body) in good {
        let (status, text) = with(&line, &headers, body);
        assert_eq!(status, 200, "{line} {headers}: {text}");
    }
    let other = token.chars().rev().collect::<String>();
    let long = "x".repeat(300);
    let bad = [
        ("GET /".to_owned(), ours.clone(), "", 403),
        (format!("GET /?token={other}"), ours.clone(), "", 403),
        (format!("GET /?token={}", &token[1..]), ours.clone(), "", 403),
        ("GET /events".into(), ours.clone(), "", 403),
        ("POST /do".into(), ours.clone(), "stop", 403),
        ("POST /do".into(), format!("{ours}x-paceline-token: {other}\r\n"), "stop", 403),
        (format!("POST /do?token={token}"), ours.clone(), "stop", 403),
        // A name that a foreign server has turned to this machine.
        (format!("GET /?token={token}"), "Host: evil.example\r\n".into(), "", 403),
        ("POST /do".into(), format!("Host: evil.example\r\nx-paceline-token: {token}\r\n"), "stop", 403),
        ("POST /do".into(), format!("{known}Origin: http://evil.example\r\n"), "stop", 403),
        ("POST /do".into(), format!("{known}Origin: null\r\n"), "stop", 403),
        ("POST /do".into(), format!("{known}Sec-Fetch-Site: cross-site\r\n"), "stop", 403),
        ("GET /live.js".into(), format!("{ours}Sec-Fetch-Site: same-site\r\n"), "", 403),
        ("POST /do".into(), known.clone(), &long, 413),
        ("GET /do".into(), known.clone(), "", 405),
        ("GET /secret".into(), known.clone(), "", 404),
        ("GET /../../etc/passwd".into(), known.clone(), "", 404),
    ];
    for (line, headers, body, expected) in bad {
        let (status, text) = with(&line, &headers, body);
        assert_eq!(status, expected, "{line} {headers}: {text}");
    }
    assert!(page.post("status").1.contains("0 events"), "nothing has stopped it");
    let (_, text) = page.raw(&format!("GET /?token={token} HTTP/1.1\r\n{ours}Connection: close\r\n\r\n"));
    assert!(text.contains("content-security-policy: default-src 'none'"), "{text}");
    assert!(!text.contains("http://") && !text.contains("https://"), "the page needs no network");
    page.post("go");
    page.finish();
}

#[test]
fn two_hundred_connections_leave_the_run_unharmed() {
    let folder = folder();
    let expected = digest(folder.path(), "phold.toml", &[]);
    let page = Page::of_run(folder.path(), "phold.toml", &["--paused"]);
    let mut streams: Vec<_> = (0..200).map(|_| TcpStream::connect(&page.host).unwrap()).collect();
    // Those beyond the limit are closed at once; what they are sent may meet a closed door.
    let refused =
        streams.iter_mut().skip(70).filter_map(|stream| stream.read(&mut [0]).ok()).collect::<Vec<_>>();
    assert!(refused.len() > 100 && refused.iter().all(|bytes| *bytes == 0), "{}", refused.len());
    streams.iter_mut().take(64).for_each(|stream| {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\0\0\xff");
    });
    drop(streams);
    // Their places are free again as soon as the server has noticed.
    while page.try_post("status").is_none_or(|(status, _)| status != 200) {
        std::thread::yield_now();
    }
    page.post("go");
    assert_eq!(page.finish()["digest"], expected);
}

#[test]
fn a_wrong_address_is_refused_with_what_is_allowed() {
    let folder = folder();
    for (arguments, words) in [
        (
            &["run", "--live", "phold.toml"][..],
            &["phold.toml", "no address", "HOST:PORT", "behind the scenario"][..],
        ),
        (&["run", "phold.toml", "--live", "host:port"], &["no address", "HOST:PORT"]),
        (&["run", "phold.toml", "--paused"], &["--live"]),
        (&["run", "phold.toml", "--live", "192.0.2.1:80"], &["--live 192.0.2.1:80", "cannot listen there"]),
    ] {
        let output = paceline(folder.path(), arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        words.iter().for_each(|word| assert!(message.contains(word), "{message:?} says {word:?}"));
    }
    assert!(stdout(&paceline(folder.path(), &["run", "--help"])).contains("--live"));
}

#[test]
fn a_model_of_processes_is_shown_and_stepped() {
    let text = "[model]\nkind = \"chord\"\npeers = 32\n\n[run]\nuntil = \"600s\"\n";
    let folder = folder_of(&[("ring.toml", text)]);
    let check = paceline(folder.path(), &["run", "ring.toml", "--json"]);
    assert!(check.status.success(), "{}", stderr(&check));
    let expected = serde_json::from_slice::<Value>(&check.stdout).unwrap()["digest"].clone();
    let page = Page::of_run(folder.path(), "ring.toml", &["--paused"]);
    let (status, said) = page.post("step");
    assert!(status == 200, "{said}");
    assert_eq!(page.post("pace 2").0, 422);
    let frames = page.events();
    assert_eq!(page.post("go").0, 200);
    let last = frames.until_end();
    assert!(last["layout"]["points"].as_array().unwrap().len() >= 2, "those that have had a turn");
    assert!(last["loads"]["fields"].to_string().contains("processes"), "{last:?}");
    assert_eq!(page.finish()["digest"], expected);
}

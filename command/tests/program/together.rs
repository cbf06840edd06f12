//! Runs of several processes: the same digest and files as those of one, however the processes reach each
//! other; and mistakes.
//!
//! By default one run for each protocol and kind of link; with PACELINE_MATRIX=full every combination.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::resume::results;
use crate::{PROTOCOLS, paceline, stderr};

/// How long anything here may take at most, on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(120);

const PHOLD: &str = "[model]\nkind = \"phold\"\nlps = 64\nmessages_per_lp = 4\n[run]\nuntil = \"40s\"\n";

const ROADS: &str = "[model]\nkind = \"traffic\"\ngrid = 8\nrate = 5\n[run]\nuntil = \"30min\"\n";

const WIRELESS: &str =
    "[model]\nkind = \"wireless\"\nhosts = 80\nsteps = 8\nside = 2000\nregions = 4\n[run]\n";

/// Streams and packets over links of which one fails, with routes that follow, a queue that is sampled and
/// links that are captured.
const PACKETS: &str = r#"[model]
kind = "packets"
topology = "leaf-spine"
leaves = 4
spines = 2
hosts = 2
access = { rate = "100Mbps", latency = "10us" }
fabric = { rate = "100Mbps", latency = "20us", queue = { kind = "codel", packets = 50 } }
convergence = "10ms"
capture = ["leaf-0 <-> spine-0", "leaf-1 <-> spine-0"]
sample = { every = "1ms", links = [{ from = "leaf-0", to = "spine-1" }] }
[[model.changes]]
from = "leaf-0"
to = "spine-0"
outages = [{ down = "30ms", up = "60ms" }]
[[model.flows]]
from = "hosts"
to = "opposite"
transport = "tcp"
min_rto = "10ms"
[run]
until = "100ms"
"#;

const MODELS: [(&str, &str); 4] =
    [("phold.toml", PHOLD), ("roads.toml", ROADS), ("wireless.toml", WIRELESS), ("packets.toml", PACKETS)];

/// A folder with all models.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    MODELS.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

/// A file with a secret that nobody else can read.
pub fn secret(folder: &Path, name: &str, words: &str) {
    fs::write(folder.join(name), words).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Waits until there is something, at most [`PATIENCE`].
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The program in a folder, whose output goes into files: what it leaves running holds up nobody.
pub struct Started {
    pub child: Child,
    name: String,
    folder: std::path::PathBuf,
}

impl Started {
    pub fn new(folder: &Path, name: &str, arguments: &[&str]) -> Self {
        Self::of(folder, name, Command::new(env!("CARGO_BIN_EXE_paceline")).args(arguments))
    }

    /// Another command that becomes the program.
    pub fn of(folder: &Path, name: &str, command: &mut Command) -> Self {
        let file = |end: &str| fs::File::create(folder.join(format!("{name}.{end}"))).unwrap();
        command.current_dir(folder).env("XDG_RUNTIME_DIR", folder).stdin(Stdio::null());
        let child = command.stdout(file("out")).stderr(file("err")).spawn().unwrap();
        Self { child, name: name.to_owned(), folder: folder.to_owned() }
    }

    fn read(&self, end: &str) -> String {
        fs::read_to_string(self.folder.join(format!("{}.{end}", self.name))).unwrap()
    }

    pub fn stderr(&self) -> String {
        self.read("err")
    }

    pub fn summary(&self) -> Value {
        serde_json::from_str(&self.read("out")).unwrap_or_else(|error| panic!("{error}: {}", self.stderr()))
    }

    /// Its exit status; none if a signal ended it.
    pub fn status(&mut self) -> Option<i32> {
        let what = format!("{} ends", self.name);
        until(&what, || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // A test that fails leaves nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = paceline(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn digests_are_those_of_one_process() {
    let folder = folder();
    let reference = MODELS.map(|(name, _)| {
        let summary = json(folder.path(), &["run", name, "--json", "--set", "run.protocol=sequential"]);
        assert!(summary["events_committed"].as_u64() > Some(1000), "{summary}");
        (summary["digest"].clone(), summary["results"].clone())
    });
    let is_full = std::env::var("PACELINE_MATRIX").is_ok_and(|matrix| matrix == "full");
    let links = [("shared-memory", "shared memory"), ("tcp", "TLS")];
    // Several processes cannot be sequential.
    let ways = PROTOCOLS[2..].iter().flat_map(|protocol| links.map(|link| (protocol, link)));
    for (number, (protocol, (link, kind))) in ways.enumerate() {
        // The first sixteen are those of two and four processes; by default most of them are run once.
        let combinations = [2, 4, 1, 8]
            .into_iter()
            .flat_map(|processes| [0, 1, 2, 3].map(|model| (model, processes)))
            .flat_map(|(model, processes)| [1, 2].map(|threads| (model, processes, threads)));
        for (combination, (model, processes, threads)) in combinations.enumerate() {
            if !is_full && combination != number * 5 % 16 {
                continue;
            }
            let count = processes.to_string();
            let settings = [format!("run.protocol={protocol}"), format!("run.threads={threads}")];
            let arguments = ["run", MODELS[model].0, "--json", "--processes", &count, "--link", link];
            let sets = ["--set", &settings[0], "--set", &settings[1], "--set", "run.federates=8"];
            let summary = json(folder.path(), &[&arguments[..], &sets].concat());
            let name = format!("{} {processes} x {threads} {protocol} {link}", MODELS[model].0);
            assert_eq!(
                (&summary["digest"], &summary["results"]),
                (&reference[model].0, &reference[model].1),
                "{name}"
            );
            assert_eq!(summary["processes"], processes, "{name}");
            let kinds: Vec<_> =
                summary["links"].as_array().unwrap().iter().map(|link| &link["kind"]).collect();
            assert_eq!(kinds, vec![kind; processes - 1], "{name}");
        }
    }
}

#[test]
fn frames_are_as_large_as_the_scenario_says() {
    let folder = folder();
    let run = |more: &[&str]| {
        let arguments =
            ["run", "phold.toml", "--json", "--set", "run.protocol=window", "--set", "run.federates=8"];
        json(folder.path(), &[&arguments[..], &["--set", "run.threads=2"], more].concat())
    };
    let alone = run(&["--set", "run.frame_bytes=off", "--set", "run.frame_time=1ms"]);
    assert_eq!(alone["links"], Value::Array(Vec::new()), "no effect on one process");
    let counts = |size: &str| {
        let size = format!("run.frame_bytes={size}");
        let summary = run(&["--processes", "3", "--set", &size, "--set", "run.frame_time=50us"]);
        assert_eq!(summary["digest"], alone["digest"], "{size}");
        let links = summary["links"].as_array().unwrap();
        assert_eq!(links.len(), 2, "{size}");
        let sum = |key: &str| links.iter().map(|link| link[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum("messages_withdrawn"), 0, "there are no anti-messages under windows");
        (sum("messages_sent"), sum("frames_sent"))
    };
    let (messages, frames) = counts("off");
    assert!(messages > 100 && frames >= messages, "off: {messages} messages, {frames} frames");
    let (messages, frames) = counts("64kB");
    assert!(messages > 100 && frames < messages, "64kB: {messages} messages, {frames} frames");
    let page = paceline(folder.path(), &["run", "phold.toml", "--processes", "2"]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(
        page.lines().any(|line| line.contains("links ")
            && line.contains("; sent ")
            && line.contains(" messages in ")),
        "{page}"
    );
}

#[test]
fn files_are_those_of_one_process() {
    let folder = folder();
    for (name, _) in MODELS {
        for (out, processes) in [("one", "1"), ("three", "3")] {
            let arguments = ["run", name, "--quiet", "--out", out, "--processes", processes];
            let output = paceline(folder.path(), &arguments);
            assert!(output.status.success(), "{}", stderr(&output));
        }
        let [one, three] = ["one", "three"].map(|out| results(&folder.path().join(out)));
        assert!(!one.is_empty() && one == three, "{name}: the same files, to the byte");
        let captures =
            one.iter().filter(|(file, _)| Path::new(file).extension().is_some_and(|end| end == "pcap"));
        assert_eq!(captures.count(), if name == "packets.toml" { 2 } else { 0 }, "{name}");
    }
}

/// Each as `init` writes it, for a short time.
#[test]
fn models_whose_answers_are_known_agree_on_three_processes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, setting) in [
        ("queueing", "run.until=7min"),
        ("cellular", "run.until=3min"),
        ("seir", "model.people=600"),
        ("supply-chain", "run.until=40d"),
    ] {
        let written = paceline(folder.path(), &["init", name]);
        assert!(written.status.success(), "{}", stderr(&written));
        let file = format!("{name}.toml");
        let run = |more: &[&str]| {
            let arguments = ["run", &file, "--json", "--set", setting, "--set"];
            json(folder.path(), &[&arguments[..], more].concat())
        };
        let alone = run(&["run.protocol=sequential"]);
        assert!(alone["events_committed"].as_u64() > Some(1000), "{alone}");
        for protocol in ["run.protocol=null-message", "run.protocol=optimistic"] {
            let three = run(&[protocol, "--set", "run.federates=6", "--processes", "3"]);
            assert_eq!(three["processes"], 3, "{name}, {protocol}");
            for what in ["digest", "results"] {
                assert_eq!(three[what], alone[what], "{name}, {protocol}");
            }
        }
    }
}

#[test]
fn processes_that_are_started_by_hand_take_part() {
    let folder = folder();
    let one = json(folder.path(), &["run", "phold.toml", "--json"]);
    secret(folder.path(), "secret", "sixteen bytes and more\n");
    secret(folder.path(), "other", "other sixteen bytes and more\n");
    let arguments = ["run", "phold.toml", "--json", "--processes", "3", "--wait", "--secret", "secret"];
    let mut first = Started::new(folder.path(), "first", &arguments);
    let address = until("it says where to join", || {
        assert!(first.child.try_wait().unwrap().is_none(), "it waits: {}", first.stderr());
        let printed = first.stderr();
        let line = printed.lines().find(|line| line.starts_with("Waiting for 2 more"))?.to_owned();
        printed.ends_with('\n').then(|| line.rsplit(' ').next().unwrap().to_owned())
    });
    let join = |name: &str, secret: &str| {
        Started::new(folder.path(), name, &["join", &address, "--secret", secret, "--threads", "1"])
    };
    let mut stranger = join("stranger", "other");
    assert_eq!(stranger.status(), Some(1));
    let printed = stranger.stderr();
    assert!(
        printed.lines().count() == 1 && printed.starts_with("error: ") && printed.contains("secret"),
        "{printed}"
    );
    let mut others = [join("second", "secret"), join("third", "secret")];
    assert_eq!(first.status(), Some(0), "{}", first.stderr());
    for other in &mut others {
        assert_eq!((other.status(), other.stderr()), (Some(0), String::new()));
    }
    let summary = first.summary();
    assert_eq!((&summary["digest"], &summary["processes"]), (&one["digest"], &3.into()));
}

/// Asserts that it ends with this status and one line that has all these parts.
#[track_caller]
fn assert_told(folder: &Path, arguments: &[&str], status: i32, parts: &[&str]) {
    let output = paceline(folder, arguments);
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {printed}");
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: "), "{arguments:?}: {printed}");
    let lines = printed.lines().filter(|line| !line.starts_with("Waiting for")).count();
    assert!(lines == 1 && parts.iter().all(|part| last.contains(part)), "{arguments:?}: {printed}");
}

#[test]
fn mistakes_are_reported_in_one_line() {
    let folder = folder();
    let path = folder.path();
    let phold = |more: &[&'static str]| [&["run", "phold.toml", "--processes", "3"], more].concat();
    let few = phold(&["--set", "run.federates=2"]);
    assert_told(path, &few, 2, &["nothing to run", "2 federates for 3 processes"]);
    let alone = phold(&["--set", "run.protocol=sequential"]);
    assert_told(path, &alone, 2, &["cannot have the sequential protocol"]);
    secret(path, "secret", "sixteen bytes and more");
    secret(path, "short", "fifteen bytes..");
    fs::write(path.join("open"), "sixteen bytes and more").unwrap();
    fs::set_permissions(path.join("open"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_told(path, &phold(&["--secret", "open"]), 2, &["open", "644", "chmod 600"]);
    assert_told(path, &phold(&["--secret", "nowhere"]), 2, &["--secret", "nowhere"]);
    assert_told(path, &phold(&["--secret", "short"]), 2, &["from 16 to 4096 bytes, not 15"]);
    fs::write(path.join("hosts"), "# the cluster\nnode1 2\nnode2 many\n").unwrap();
    let hosts = phold(&["--hosts", "hosts", "--secret", "secret", "--listen", "127.0.0.1:0"]);
    assert_told(path, &hosts, 2, &["hosts:3", "node2 many", "allowed:"]);
    let missing = phold(&["--hosts", "none", "--secret", "secret", "--listen", "127.0.0.1:0"]);
    assert_told(path, &missing, 2, &["--hosts none"]);
    let nobody = phold(&["--wait", "--secret", "secret", "--within", "50ms"]);
    assert_told(path, &nobody, 1, &["1 of 3 processes are there after 50ms"]);
    // Nobody listens there: the port is kept from others, and not listened at.
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    assert_told(path, &["join", &address, "--secret", "secret", "--within", "50ms"], 1, &[&address]);
    let ring = "[model]\nkind = \"chord\"\npeers = 4\n[network]\nlatency = \"20ms\"\n[run]\nuntil = \"1s\"\n";
    fs::write(path.join("ring.toml"), ring).unwrap();
    assert_told(path, &["run", "ring.toml", "--processes", "2"], 2, &["--processes", "one process"]);
}

//! Connections that do not belong to a run, while its first process waits for others: however many they are
//! and whatever they send, those that belong to it join, or one line says what came instead.
#![cfg(target_os = "linux")]
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder_of;
use crate::paceline;
use crate::together::{Started, secret, until};

const PHOLD: &str = "[model]\nkind = \"phold\"\nlps = 64\nmessages_per_lp = 4\n[run]\nuntil = \"40s\"\n";

/// What a stranger sends.
const STRANGERS: [(&str, &[u8]); 8] = [
    ("nothing", b""),
    ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("garbage", &[0xff; 300]),
    ("half of the magic number", b"PACEL"),
    ("a greeting of another version", b"PACELINE\x00\x059.9.9................................"),
    ("a greeting that ends in the middle of the version", b"PACELINE\x00\xff9.9"),
    ("an unknown security", b"PACELINE\x07\x050.1.0................................"),
    ("a hello of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
];

fn folder() -> tempfile::TempDir {
    let folder = folder_of(&[("phold.toml", PHOLD)]);
    secret(folder.path(), "secret", "sixteen bytes and more\n");
    folder
}

/// Starts the first of three processes, which may open 40 files; gives out where it listens.
fn start(folder: &Path, within: &str) -> (Started, String) {
    let program = env!("CARGO_BIN_EXE_paceline");
    let line = format!(
        "ulimit -n 40; exec {program} run phold.toml --json --processes 3 --wait --secret secret --within {within}"
    );
    let mut first = Started::of(folder, "first", Command::new("sh").args(["-c", &line]));
    let address = until("it says where to join", || {
        assert!(first.child.try_wait().unwrap().is_none(), "it waits: {}", first.stderr());
        let printed = first.stderr();
        let line = printed.lines().find(|line| line.starts_with("Waiting for 2 more"))?.to_owned();
        printed.ends_with('\n').then(|| line.rsplit(' ').next().unwrap().to_owned())
    });
    (first, address)
}

fn connect(address: &str, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("it listens");
    // It may have closed the connection already.
    let _ = socket.write_all(bytes);
    socket
}

#[test]
fn a_run_begins_whoever_else_connects() {
    let folder = folder();
    let one = paceline(folder.path(), &["run", "phold.toml", "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    let (mut first, address) = start(folder.path(), "60s");
    // Far more than the process may have files; some stay open, some end at once, one is slow.
    let open: Vec<_> =
        (0..200).map(|number| connect(&address, STRANGERS[number % STRANGERS.len()].1)).collect();
    (0..20).for_each(|number| drop(connect(&address, STRANGERS[number % STRANGERS.len()].1)));
    let mut slow = connect(&address, b"");
    for byte in b"PACELINE" {
        let _ = slow.write_all(&[*byte]);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(first.child.try_wait().unwrap().is_none(), "it still waits: {}", first.stderr());
    let join = ["join", &address, "--secret", "secret", "--threads", "1"];
    let mut others = ["second", "third"].map(|name| Started::new(folder.path(), name, &join));
    assert_eq!(first.status(), Some(0), "{}", first.stderr());
    for other in &mut others {
        assert_eq!((other.status(), other.stderr()), (Some(0), String::new()));
    }
    assert_eq!((&first.summary()["digest"], &first.summary()["processes"]), (&one["digest"], &3.into()));
    drop(open);
}

#[test]
fn if_only_strangers_come_one_line_says_what_they_were() {
    let folder = folder();
    let (mut first, address) = start(folder.path(), "2s");
    let mut open = Vec::new();
    for (what, bytes) in STRANGERS {
        open.extend((0..3).map(|_| connect(&address, bytes)));
        // Each handshake has a thread: whoever is answered, or refused, is so before the next ones come.
        let mut socket = connect(&address, bytes);
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(
            answer.is_empty() || what.contains("version") || what.contains("security"),
            "{what}: {answer:?}"
        );
    }
    assert_eq!(first.status(), Some(1));
    let printed = first.stderr();
    let last = printed.lines().last().unwrap();
    assert_eq!(printed.lines().count(), 2, "the line on whom it waits for, and one: {printed}");
    for part in [
        "error: 1 of 3 processes are there after 2s",
        "connections from 127.0.0.1: the other side is no paceline process",
        // The last of them may come after the end of the wait: of one alone its port is named, and no number
        // of connections.
        "the other side is version 9.9.9, this is ",
    ] {
        assert!(last.contains(part), "{part}: {printed}");
    }
    assert!(last.len() < 1_000, "however many they were: {printed}");
}

/// The other way round: a process that joins finds something else at the port, and ends in time with one
/// line.
#[test]
fn who_joins_a_stranger_is_reported_what_it_is() {
    let folder = folder();
    let cases: [(&[u8], &str); 5] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the other side is no paceline process"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the other side is no paceline process"),
        (
            b"PACELINE\x00\x059.9.9................................",
            "the other side is version 9.9.9, this is",
        ),
        (b"PACELINE\x00", "the other side ended the connection"),
        (b"", "the other side ended the connection"),
    ];
    for (answer, reason) in cases {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answering = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            // All that it says is read, so that what is answered arrives.
            let _ = socket.read(&mut [0; 100]);
            let _ = socket.write_all(answer);
        });
        let output = paceline(folder.path(), &["join", &address, "--secret", "secret", "--within", "5s"]);
        let printed = crate::stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert_eq!(printed.lines().count(), 1, "{printed}");
        assert!(printed.starts_with(&format!("error: {address}: {reason}")), "{reason}: {printed}");
        answering.join().unwrap();
    }
    // One that takes the connection and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["join", &address, "--secret", "secret", "--within", "500ms"]).stdin(Stdio::null());
    let output = command.current_dir(folder.path()).output().unwrap();
    let printed = crate::stderr(&output);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert!(printed.contains("did not finish the handshake in time"), "{printed}");
    assert!(start.elapsed() >= Duration::from_millis(500));
}

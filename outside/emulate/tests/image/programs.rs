//! Debian's programs, unmodified, start in a guest.

use crate::support::{Booted, emulator};
use paceline_emulate::image::{Contents, Sources};

/// A program, a script that uses it, and what the console then has.
const PROGRAMS: [(&str, &str, &str); 6] = [
    ("iperf3", "iperf3 -s -1 >/dev/null & sleep 1; iperf3 -c 127.0.0.1 -n 1M", "iperf Done."),
    ("nginx", "nginx; sleep 1; wget -q -O - http://web/; nginx -s stop", "Welcome to nginx!"),
    (
        "redis-server",
        "redis-server --save '' >/dev/null & sleep 2; printf 'PING\\r\\n' | nc -w 1 127.0.0.1 6379",
        "+PONG",
    ),
    (
        "redis-benchmark",
        "redis-server >/dev/null & sleep 2; redis-benchmark -n 100 -t set -q",
        "requests per second",
    ),
    ("chronyd", "chronyd -v", "chronyd (chrony) version"),
    ("curl", "curl --version", "curl 7."),
];

#[test]
fn debians_programs_start() {
    let Some(emulator) = emulator() else { return };
    let root = Sources::of(&emulator).root;
    let there = |name: &str| ["usr/bin", "usr/sbin"].iter().any(|bin| root.join(bin).join(name).exists());
    let (run, skipped): (Vec<_>, Vec<_>) = PROGRAMS.iter().partition(|(name, _, _)| there(name));
    for (name, _, _) in skipped {
        eprintln!("skipped: {name}: its package was not added (scripts/emulator add)");
    }
    let programs = run.iter().map(|(name, _, _)| (*name).to_owned()).collect();
    let booted = Booted::new(emulator, "programs", &Contents { programs, ..Contents::default() });
    let mut failed = Vec::new();
    for (name, script, expected) in run {
        let mut setup = booted.setup("web", script);
        setup.stop_ns = Some(booted.at_ns + 20_000_000_000);
        let ended = booted.run(&setup);
        if !ended.console.contains(expected) {
            failed.push(format!("{name}: {expected:?} is missing:\n{}", ended.console));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

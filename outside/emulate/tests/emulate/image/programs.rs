//! Debian's programs, unmodified, start in a guest.

use crate::image::support::{Booted, emulator};
use paceline_emulate::image::{Contents, Sources};

/// The programs of a script, the script, and what the console then has.
type Case = (&'static [&'static str], &'static str, &'static [&'static str]);

const PROGRAMS: [Case; 12] = [
    (&["iperf3"], "iperf3 -s -1 >/dev/null & sleep 1; iperf3 -c 127.0.0.1 -n 1M", &["iperf Done."]),
    (&["nginx"], "nginx; sleep 1; wget -q -O - http://web/; nginx -s stop", &["Welcome to nginx!"]),
    (
        &["redis-server", "redis-benchmark"],
        "redis-server --save '' >/dev/null & sleep 2; redis-benchmark -n 100 -t set -q",
        &["requests per second"],
    ),
    (&["chronyd", "curl"], "chronyd -v; curl --version", &["chronyd (chrony) version", "curl 7."]),
    // Modules of the language and of C, a database in memory, users and hosts by name.
    (
        &["python3"],
        "python3 -c 'import asyncio, ctypes, lzma, pwd, socket, sqlite3, ssl; \
         print(pwd.getpwuid(0).pw_name, sqlite3.connect(\":memory:\").execute(\"select 42\").fetchone()[0], \
         socket.gethostbyname(\"web\"), ctypes.CDLL(None).getpid() > 1)'",
        &["root 42 10.0.0.1 True"],
    ),
    (
        &["ruby"],
        "ruby -e 'require \"json\"; require \"socket\"; puts JSON.generate({Socket.gethostname => 6 * 7})'",
        &["{\"web\":42}"],
    ),
    // A user and a folder that the package only describes to systemd, and a socket in it.
    (
        &["memcached", "memcping"],
        "memcached -d -u memcache; memcached -d -u memcache -s /run/memcached/socket; sleep 1; \
         memcping --servers=127.0.0.1; echo status $?; ls -l /run/memcached",
        &["status 0", "memcache memcache"],
    ),
    (
        &["dnsmasq", "dig"],
        "dnsmasq --address=/example.test/10.1.2.3 --no-resolv; sleep 1; dig +short @127.0.0.1 www.example.test",
        &["10.1.2.3"],
    ),
    (
        &["haproxy", "nginx", "curl"],
        "nginx; cat /etc/haproxy/haproxy.cfg >/tmp/c; printf 'frontend f\n bind :8080\n default_backend b\n\
         backend b\n server s 127.0.0.1:80\n' >>/tmp/c; haproxy -f /tmp/c -D; sleep 1; curl -s http://web:8080/",
        &["Welcome to nginx!"],
    ),
    // PAM's modules, which it loads by their names, and a login.
    (
        &["/usr/sbin/sshd", "ssh", "ssh-keygen"],
        "for i in /etc/ssh/ssh_host_ed25519_key .ssh/id; do mkdir -p .ssh; ssh-keygen -q -t ed25519 -N '' -f $i; done; \
         mkdir -p -m 700 /root/.ssh; cp .ssh/id.pub /root/.ssh/authorized_keys; /usr/sbin/sshd; \
         ssh -i .ssh/id -o StrictHostKeyChecking=no web 'echo over $HOME'",
        &["over /root"],
    ),
    (
        &["sqlite3"],
        "sqlite3 /tmp/base 'create table t(a); insert into t values(7); select 6 * a from t;'",
        &["42"],
    ),
    // A script for another shell than busybox's.
    (&["bash"], "bash -c 'a=(1 2 3); echo ${#a[@]} elements'", &["3 elements"]),
];

#[test]
fn debians_programs_start() {
    let Some(emulator) = emulator() else { return };
    let root = Sources::of(&emulator).root;
    let is_there = |name: &&str| {
        ["usr/bin", "usr/sbin", "bin", ""]
            .iter()
            .any(|bin| root.join(bin).join(name.trim_start_matches('/')).exists())
    };
    let (run, skipped): (Vec<&Case>, Vec<&Case>) =
        PROGRAMS.iter().partition(|(names, _, _)| names.iter().all(is_there));
    for (names, _, _) in skipped {
        eprintln!("skipped: {names:?}: their packages were not added (scripts/emulator add)");
    }
    let programs = run.iter().flat_map(|(names, _, _)| names.iter()).map(|name| (*name).to_owned()).collect();
    let contents = Contents { programs, ..Contents::default() };
    let booted = Booted::with_memory(emulator, "programs", &contents, 512);
    let mut failed = Vec::new();
    for (names, script, expected) in run {
        let mut setup = booted.setup("web", script);
        setup.stop_ns = Some(booted.at_ns + 10_000_000_000);
        let console = booted.run(&setup).console;
        for line in expected.iter().filter(|line| !console.contains(**line)) {
            failed.push(format!("{names:?}: {line:?} is missing:\n{console}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

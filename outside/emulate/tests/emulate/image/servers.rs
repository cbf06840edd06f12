//! Debian's servers and their clients, unmodified, in guests of their own on a simulated network.

use std::sync::OnceLock;

use crate::image::network::{ROUND_TRIP_NS, Together, run};
use crate::image::support::{Booted, SECOND, emulator};
use paceline_emulate::image::{Contents, Sources};

const PROGRAMS: [&str; 12] = [
    "/bin/ping",
    "iperf3",
    "nginx",
    "curl",
    "redis-server",
    "redis-benchmark",
    "chronyd",
    "chronyc",
    POSTGRES,
    "mosquitto",
    "mosquitto_sub",
    "mosquitto_pub",
];

const POSTGRES: &str = "/usr/lib/postgresql/15/bin/postgres";

/// Guests with all of these programs, or `None` with a word about what is missing.
fn booted(needed: &[&str]) -> Option<&'static Booted> {
    static BOOTED: OnceLock<Option<(Booted, Vec<&str>)>> = OnceLock::new();
    let boot = || {
        let emulator = emulator()?;
        let root = Sources::of(&emulator).root;
        let there = |name: &str| {
            let folders = ["usr/bin", "usr/sbin", "."];
            folders.iter().any(|folder| root.join(folder).join(name.trim_start_matches('/')).exists())
        };
        let there: Vec<&str> = PROGRAMS.into_iter().filter(|name| there(name)).collect();
        let programs = there.iter().map(|name| (*name).to_owned()).collect();
        let contents = Contents { programs, ..Contents::default() };
        Some((Booted::with_memory(emulator, "servers", &contents, 384), there))
    };
    let (booted, there) = BOOTED.get_or_init(boot).as_ref()?;
    let missing: Vec<&&str> = needed.iter().filter(|name| !there.contains(name)).collect();
    if missing.is_empty() {
        return Some(booted);
    }
    eprintln!("skipped: the packages of {missing:?} were not added (scripts/emulator add)");
    None
}

/// Two guests, of which the second is the client; the first ends a second before the run.
fn pair(booted: &Booted, test: &str, server: &str, client: &str, seconds: u64) -> Together {
    let stop_ns = booted.at_ns + (seconds - 2) * SECOND;
    run(booted, test, &[("server", server), ("client", client)], seconds * SECOND, |setup| {
        setup.stop_ns = Some(stop_ns);
    })
}

/// The number that follows `before` in a text.
fn number(text: &str, before: &str) -> f64 {
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("no {before:?} in\n{text}")).trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().unwrap_or_else(|_| panic!("no number after {before:?} in\n{text}"))
}

#[test]
fn ping_shows_the_round_trip() {
    let Some(booted) = booted(&["/bin/ping"]) else { return };
    let together = pair(booted, "ping", "true", "sleep 1; /bin/ping -c 4 -i 0.5 server", 6);
    let client = &together.ended[1].console;
    let times: Vec<&str> = client.lines().filter(|line| line.contains(" time=")).collect();
    assert_eq!(times.len(), 4, "{client}");
    let expected = ROUND_TRIP_NS as f64 / 1e6;
    // The first waits for an address, too.
    for line in &times[1..] {
        let time = number(line, " time=");
        assert!((expected..expected + 0.2).contains(&time), "{line}");
    }
}

#[test]
fn iperf3_measures_the_link() {
    let Some(booted) = booted(&["iperf3"]) else { return };
    let together = pair(booted, "iperf3", "iperf3 -s -1", "sleep 1; iperf3 -c server -t 4 -f k", 12);
    let client = &together.ended[1].console;
    let line = client.lines().find(|line| line.ends_with("receiver\r") || line.ends_with("receiver"));
    let line = line.unwrap_or_else(|| panic!("{client}\n{}", together.ended[0].console));
    let kilobits = number(line, "Bytes");
    eprintln!("iperf3: {line}");
    // 1448 of 1538 bytes of a frame on the wire are data; the rest of the loss is the start.
    assert!((70_000.0..94_150.0).contains(&kilobits), "{line}");
}

#[test]
fn curl_gets_nginxs_page_and_twice_the_same() {
    let Some(booted) = booted(&["nginx", "curl"]) else { return };
    // The first asks for addresses, and brings the programs into memory.
    let client = "sleep 1; for i in 1 2; do curl -s -w 'took %{time_total} s\n' http://server/; done";
    let once = || pair(booted, "nginx", "nginx -g 'daemon off;'", client, 6);
    let together = once();
    let console = &together.ended[1].console;
    assert!(console.contains("Welcome to nginx!"), "{console}\n{}", together.ended[0].console);
    // One round trip for the connection, one for the page.
    let took_s = number(console.rsplit("</html>").next().unwrap(), "took ");
    let least_s = 2.0 * ROUND_TRIP_NS as f64 / 1e9;
    eprintln!("curl took {took_s} s");
    assert!((least_s..least_s + 0.01).contains(&took_s), "{took_s} s");
    let again = once();
    let consoles = |together: &Together| together.ended.iter().map(|e| e.console.clone()).collect::<Vec<_>>();
    assert_eq!(consoles(&again), consoles(&together));
    assert_eq!(again.digest, together.digest);
}

#[test]
fn redis_benchmark_is_bound_by_the_round_trip() {
    let Some(booted) = booted(&["redis-server", "redis-benchmark"]) else { return };
    let server = "redis-server --save '' --protected-mode no >/dev/null";
    let client = "sleep 3; redis-benchmark -h server -c 10 -n 1000 -t set,get -q";
    let together = pair(booted, "redis", server, client, 14);
    let console = &together.ended[1].console;
    for request in ["SET: ", "GET: "] {
        let last = console
            .rsplit(['\r', '\n'])
            .find(|line| line.starts_with(request) && line.contains("requests per second"));
        let rate = number(last.unwrap_or_else(|| panic!("{console}")), request);
        eprintln!("redis: {request}{rate} requests a second");
        let most = 10.0 * 1e9 / ROUND_TRIP_NS as f64;
        assert!((0.7 * most..most).contains(&rate), "{rate} requests a second of at most {most}");
    }
}

#[test]
fn chrony_brings_a_guests_date_to_that_of_another() {
    let Some(booted) = booted(&["chronyd", "chronyc"]) else { return };
    let server = "printf 'local stratum 8\\nallow\\n' >/tmp/conf; chronyd -f /tmp/conf; sleep 58; probe clocks; sleep 100";
    let client = "printf 'server server minpoll 1 maxpoll 2 iburst\\nmakestep 0.1 3\\ndriftfile /tmp/drift\\n' >/tmp/conf; sleep 1; \
                  probe clocks; chronyd -f /tmp/conf; sleep 57; probe clocks; chronyc tracking; sleep 100";
    let booted_at = booted.at_ns;
    let together = run(booted, "chrony", &[("server", server), ("client", client)], 65 * SECOND, |setup| {
        let early = if setup.name == "client" { 1_500 } else { 0 };
        setup.epoch_ns = Some((1_767_225_600_000 + early) * 1_000_000);
        setup.stop_ns = Some(booted_at + 63 * SECOND);
    });
    let [server, client] = &together.ended[..] else { panic!() };
    // What CLOCK_REALTIME shows beyond the machine's clock.
    let shifts = |console: &str| -> Vec<i64> {
        let lines = console.lines().filter_map(|line| line.strip_prefix("clocks "));
        lines
            .map(|line| {
                let numbers: Vec<i64> =
                    line.trim().split(' ').map(|number| number.parse().unwrap()).collect();
                numbers[4] - numbers[0]
            })
            .collect()
    };
    let (server_ns, client_ns) = (shifts(&server.console), shifts(&client.console));
    assert_eq!((server_ns.len(), client_ns.len()), (1, 2), "{}\n{}", server.console, client.console);
    let apart = [client_ns[0] - server_ns[0], client_ns[1] - server_ns[0]];
    eprintln!("chrony: {} ns apart at first, {} ns after a minute\n{}", apart[0], apart[1], client.console);
    assert!(
        (apart[0] - 1_500_000_000).abs() < 100_000 && apart[1].abs() < 100_000,
        "{apart:?}\n{}",
        client.console
    );
}

#[test]
fn pgbench_measures_postgresql() {
    let Some(booted) = booted(&[POSTGRES]) else { return };
    let server = "cd /var/lib/postgresql; PATH=$PATH:/usr/lib/postgresql/15/bin; pg() { su postgres -c \"PATH=$PATH; $*\"; }; \
                  pg initdb -N -A trust -D data; echo 'host all all 10.0.0.0/8 trust' >>data/pg_hba.conf; \
                  pg \"postgres -D data -c listen_addresses='*'\"";
    let client = "PATH=$PATH:/usr/lib/postgresql/15/bin; export PGHOST=server PGUSER=postgres; \
                  until pg_isready -q; do sleep 1; done; pgbench -i -q postgres; pgbench -n -c 8 -j 1 -t 20 -S postgres";
    let together = pair(booted, "postgresql", server, client, 30);
    let client = &together.ended[1].console;
    assert!(client.contains("160/160"), "{client}\n{}", together.ended[0].console);
    let rate = number(client, "tps = ");
    eprintln!("pgbench: {rate} transactions a second");
    // Each of eight clients waits a round trip for each transaction.
    let most = 8.0 * 1e9 / ROUND_TRIP_NS as f64;
    assert!((0.7 * most..most).contains(&rate), "{rate} of at most {most}");
}

#[test]
fn mosquitto_carries_messages_for_a_minute() {
    let Some(booted) = booted(&["mosquitto", "mosquitto_sub", "mosquitto_pub"]) else { return };
    let server = "printf 'listener 1883\\nallow_anonymous true\\n' >/tmp/c; mosquitto -d -c /tmp/c; sleep 1; \
                  mosquitto_sub -q 1 -t count -C 600 >/tmp/all; wc -l </tmp/all; sort -n -u /tmp/all | cmp - /tmp/all && \
                  echo in order; tail -n 1 /tmp/all; cut -d ' ' -f 1 /proc/uptime";
    let client = "sleep 3; i=0; while [ $i -lt 600 ]; do i=$((i + 1)); echo $i; usleep 100000; done | \
                  mosquitto_pub -h server -q 1 -t count -l";
    let together = pair(booted, "mosquitto", server, client, 75);
    let console = &together.ended[0].console;
    let lines: Vec<&str> = console.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| *line == "600").unwrap_or_else(|| panic!("{console}"));
    assert_eq!(lines[at + 1..at + 3], ["in order", "600"], "{console}");
    let up_s: f64 = lines[at + 3].parse().unwrap();
    eprintln!("mosquitto: 600 messages until {up_s} s");
    assert!((60.0..75.0).contains(&up_s), "{console}");
}

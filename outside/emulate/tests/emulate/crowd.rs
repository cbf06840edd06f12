//! Simulated web clients ask an unmodified nginx in a guest.

use std::time::Instant;

use crate::image::support::{Booted, SECOND, emulator};
use paceline_emulate::guest::Guest;
use paceline_emulate::image::{Contents, SetupCard};
use paceline_emulate::run::{Machine, Terms, federates};
use paceline_engine::{Outside, Protocol, Simulation};
use paceline_kernel::{LpId, Model as _, Time};
use paceline_packets::tcp::Settings;
use paceline_packets::{LinkSpec, NetResults, Packets, Span, Stations, Web, WebClients, topology};
use paceline_results::{Results, RunFacts};

/// Debian's settings of nginx, but for how many connections it takes at once.
const SERVE: &str = "ulimit -n 8192
sed -i 's/worker_connections 768/worker_connections 8000/' /etc/nginx/nginx.conf
nginx -g 'daemon off;'
";
/// The page that Debian's nginx shows at first, and its bytes.
const PAGE: &str = "/";
const PAGE_BYTES: u64 = 615;

fn booted(test: &str) -> Option<Booted> {
    let emulator = emulator()?;
    if !emulator.guest_root().join("usr/sbin/nginx").exists() {
        eprintln!("skipped: nginx: its package was not added (scripts/emulator add nginx)");
        return None;
    }
    let contents = Contents { programs: vec!["nginx".into()], ..Contents::default() };
    Some(Booted::new(emulator, test, &contents))
}

/// What a run is asked for.
#[derive(Clone, Copy)]
struct Crowd {
    hosts: u32,
    clients_at_host: u32,
    interval: Span,
    requests: u64,
    think: Span,
    is_kept: bool,
    until: Time,
}

/// A star with nginx at its first host, and clients at all others from two seconds after the guest's start
/// on.
fn model(crowd: &Crowd, start_ns: u64) -> Packets {
    let link = LinkSpec::new(1_000_000_000, 1_000_000_000);
    let network = topology::star(crowd.hosts + 1, &link).unwrap();
    let hosts = network.hosts().to_vec();
    let clients = |host: &u32| WebClients {
        name: "crowd".into(),
        host: *host,
        server: hosts[0],
        port: 80,
        path: PAGE.into(),
        clients: Some(crowd.clients_at_host),
        interval: crowd.interval,
        requests: Some(crowd.requests),
        think: crowd.think,
        is_kept: crowd.is_kept,
        start_ps: (start_ns + 2 * SECOND) * 1_000,
        tcp: Settings { nagle: false, ..Settings::default() },
    };
    let web = Web { clients: hosts[1..].iter().map(clients).collect(), servers: vec![] };
    let stations = Stations::new(&network, &[(hosts[0], None)]).unwrap();
    let model = Packets::new(network, vec![]).unwrap().machines(stations).unwrap();
    model.web(&web).unwrap().capture(&["host-0"], None).unwrap()
}

/// A guest with nginx, and where it is.
fn nginx(booted: &Booted, model: &Packets, name: &str) -> (u32, Guest, std::path::PathBuf) {
    let (node, address) = model.stations().unwrap().machines().next().unwrap();
    let mut setup = booted.setup(name, SERVE);
    let mac = Stations::ethernet_address(address);
    let (gateway, neighbours) = (None, vec![]);
    setup.cards = vec![SetupCard { mac, mtu: 1500, address, prefix: 8, gateway, neighbours }];
    let settings = booted.loaded(name, &setup);
    let guest = Guest::start(&settings, &booted.emulator).unwrap();
    (node, guest, settings.console)
}

/// The CPU of this process and of its children that have ended, in hundredths of a second.
fn cpu_ticks() -> [u64; 2] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<u64> = fields.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    [fields[11] + fields[12], fields[13] + fields[14]]
}

/// The digest, the results, and what was captured. The guest knows its name: another one is another run.
fn run(booted: &Booted, crowd: &Crowd, name: &str, threads: u32) -> (String, NetResults, Vec<u8>) {
    let model = model(crowd, booted.at_ns);
    let (node, guest, text) = nginx(booted, &model, name);
    let machines = vec![(node, Box::new(guest) as Box<dyn Machine>)];
    let guests = federates(&model, machines, Terms::default()).unwrap();
    let partition = model.partition(2);
    let simulation = Simulation::new(model.clone()).protocol(Protocol::Window).threads(threads).federates(2);
    let mut simulation = simulation.until(Time::nanos(booted.at_ns) + crowd.until);
    for guest in guests {
        simulation = simulation.outside(partition.place(LpId(node)).0, Outside::new(guest));
    }
    let (start, cpu_before) = (Instant::now(), cpu_ticks());
    let report = simulation.run().unwrap();
    let took = start.elapsed();
    // The emulator has ended with the run.
    let [here, children] = [0, 1].map(|of| (cpu_ticks()[of] - cpu_before[of]) as f64 / 100.0);
    let results = NetResults::new(model.flows(), &report.outputs);
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).unwrap();
    let (digest, events) = (report.digest, report.events);
    eprintln!(
        "{name}: {took:?}, CPU {here} s here, {children} s of the emulator, digest {digest}, {events} events"
    );
    for (line, value) in
        summary.lines.iter().filter(|(line, _)| line.contains("web") || line.contains("frames"))
    {
        eprintln!("  {line} = {value:?}");
    }
    if results.web.iter().any(|result| result.responses.is_empty()) {
        eprintln!("console:\n{}", std::fs::read_to_string(text).unwrap_or_default());
    }
    let mut capture = Vec::new();
    let file = summary.files.into_iter().find(|file| file.name.ends_with(".pcap")).unwrap();
    file.write(&mut capture).unwrap();
    (report.digest.to_string(), results, capture)
}

/// One client, one request: nginx's page, with status and length, in its first two round trips; twice the
/// same.
#[test]
fn nginx_answers_a_simulated_client() {
    let Some(booted) = booted("crowd-one") else { return };
    let span = Span::Fixed(0);
    let crowd = Crowd {
        hosts: 1,
        clients_at_host: 1,
        interval: span,
        requests: 1,
        think: span,
        is_kept: false,
        until: Time::secs(4),
    };
    let (digest, results, capture) = run(&booted, &crowd, "one", 1);
    let result = &results.web[0];
    assert_eq!((result.responses.len(), result.failed, result.body_bytes), (1, 0, PAGE_BYTES), "{result:?}");
    assert_eq!(result.statuses.iter().collect::<Vec<_>>(), [(&200, &1)]);
    // Two round trips of 4 ms, and what nginx takes.
    let took_ps = result.responses.iter().next().unwrap();
    assert!((8_000_000_000..12_000_000_000).contains(&took_ps), "{took_ps} ps");
    let again = run(&booted, &crowd, "one", 2);
    assert!((digest, capture) == (again.0, again.2), "the same digest and capture");
}

/// Clients on ten hosts that keep their connections or open one for each request, 40 in all, or as many as
/// `PACELINE_CROWD` says: all are answered, and capture and digest do not depend on threads.
#[test]
fn nginx_answers_a_crowd() {
    let Some(booted) = booted("crowd-some") else { return };
    let asked: Option<u32> = std::env::var("PACELINE_CROWD").ok().and_then(|count| count.parse().ok());
    let clients_at_host = asked.unwrap_or(40).div_ceil(10);
    for is_kept in [true, false] {
        let crowd = Crowd {
            hosts: 10,
            clients_at_host,
            interval: Span::Exponential(10_000_000_000),
            requests: 5,
            think: Span::Exponential(100_000_000_000),
            is_kept,
            until: Time::secs(5 + u64::from(clients_at_host / 10)),
        };
        let (digest, results, capture) = run(&booted, &crowd, &format!("some-{is_kept}"), 1);
        for result in &results.web {
            let requests = 5 * clients_at_host as usize;
            assert_eq!(
                (result.responses.len(), result.failed, result.waiting),
                (requests, 0, 0),
                "{result:?}"
            );
            assert_eq!(result.body_bytes, requests as u64 * PAGE_BYTES);
            let connections = if is_kept { clients_at_host as usize } else { requests };
            assert_eq!(result.connections, connections as u64);
        }
        let again = run(&booted, &crowd, &format!("some-{is_kept}"), 2);
        assert!((digest, capture) == (again.0, again.2), "the same digest and capture");
    }
}

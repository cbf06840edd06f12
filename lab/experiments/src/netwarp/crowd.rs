//! A crowd of simulated clients asks one real nginx in a guest: whether all are answered, and how soon.

use paceline_kernel::Time;
use paceline_packets::tcp::Settings;
use paceline_packets::{LinkSpec, Packets, Span, Stations, Web, WebClients, topology};

use super::bench::{US, cell, near, refused, unless_skipped};
use super::guests::Guests;
use super::transfers::START;
use crate::parameters::kinds::{Unit, count, span};
use crate::prelude::*;

/// Of each link, in bits a second, and how long it takes one way, in milliseconds. Two of them lie between a
/// client and the server.
const RATE: u64 = 1_000_000_000;
const LATENCY_MS: u64 = 1;
/// How long after its start the server is asked for the first time, in seconds.
const LATER: u64 = 2;
/// The number of bytes of nginx's first page in Debian.
const PAGE: u64 = 615;
/// How far off a median may be of the round trips, in per cent: the rest is what nginx and its kernel
/// compute.
const TOLERANCE: f64 = 10.0;
/// Parts of the distribution that the figure shows.
const PARTS: usize = 100;

/// Room for an image with nginx, and for the connections of all clients.
const MEMORY_MIB: u32 = 256;

/// Debian's settings of nginx, but for how many connections it takes at once.
const SERVE: &str = "ulimit -n 20000; \
                     sed -i 's/worker_connections 768/worker_connections 19000/' /etc/nginx/nginx.conf; \
                     nginx -g 'daemon off;'";

named! {
    /// What clients do with a connection once they have an answer.
    enum After {
        Keep = "kept",
        Close = "one for each request",
    }
}

impl After {
    /// How many round trips a request takes.
    const fn round_trips(self) -> f64 {
        match self {
            Self::Keep => 1.0,
            Self::Close => 2.0,
        }
    }
}

/// What a run has.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    /// Clients at each host, and hosts.
    clients: u32,
    hosts: u32,
    /// Of each client.
    requests: u32,
    /// Milliseconds: in which all clients come, on average, and between two requests of one.
    within_ms: u64,
    think_ms: u64,
    /// Seconds after the start.
    seconds: u64,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let crowd = Crowd {
        clients: parameters.one("clients", &count(1..=1_000))?,
        hosts: parameters.one("hosts", &count(1..=200))?,
        requests: parameters.one("requests", &count(1..=1_000))?,
        within_ms: parameters.one("within_ms", &count(1..=100_000))?,
        think_ms: parameters.one("think_ms", &count(1..=100_000))?,
        seconds: parameters.one("horizon", &span(Unit::Secs, LATER + 1..=10_000))?,
    };
    let guests = Guests::new(&["nginx"]).memory(MEMORY_MIB);
    let run = |after: After| {
        let guests = guests.clone();
        cell(crowd.key(after), 5.0, move || crowd.measure(after, &guests))
    };
    Ok(Plan::new(After::ALL.map(run).into(), move |results| unless_skipped(judge(crowd, results))))
}

impl Crowd {
    fn key(self, after: After) -> String {
        let Self { clients, hosts, requests, within_ms, think_ms, seconds } = self;
        format!(
            "netwarp/crowd/{after:?}/{hosts}x{clients}/{requests}/within{within_ms}ms/think{think_ms}ms/{seconds}s"
        )
    }

    fn clients_in_all(self) -> f64 {
        f64::from(self.clients) * f64::from(self.hosts)
    }

    fn requests_in_all(self) -> f64 {
        self.clients_in_all() * f64::from(self.requests)
    }

    /// A star with the guest at its first host and clients at all others.
    fn network(self, after: After) -> Found<Packets> {
        let link = LinkSpec::new(RATE, 1_000 * LATENCY_MS * US);
        let network = topology::star(self.hosts + 1, &link).map_err(refused)?;
        let (server, others) = network.hosts().split_first().expect("a star has hosts");
        let clients = |host: &u32| WebClients {
            name: "crowd".into(),
            host: *host,
            server: *server,
            port: 80,
            path: "/".into(),
            clients: Some(self.clients),
            interval: Span::Exponential(1_000 * US * self.within_ms / u64::from(self.clients)),
            requests: Some(self.requests.into()),
            think: Span::Exponential(1_000 * US * self.think_ms),
            is_kept: after == After::Keep,
            start_ps: (START + Time::secs(LATER)).as_nanos() * 1_000,
            // As clients of the web do: a request is sent at once.
            tcp: Settings { nagle: false, ..Settings::default() },
        };
        let web = Web { clients: others.iter().map(clients).collect(), servers: vec![] };
        let stations = Stations::new(&network, &[(*server, None)]).map_err(refused)?;
        let model = Packets::new(network, vec![]).and_then(|model| model.machines(stations));
        model.and_then(|model| model.web(&web)).map_err(refused)
    }

    fn measure(self, after: After, guests: &Guests) -> Found<Measure> {
        let until = START + Time::secs(self.seconds);
        let ran = guests.run(&self.network(after)?, &[SERVE.into()], START, until)?;
        let mut took_ms: Vec<f64> =
            ran.web.iter().flat_map(|host| host.responses.iter()).map(|ps| ps as f64 * 1e-9).collect();
        took_ms.sort_by(f64::total_cmp);
        let part = |part: usize| {
            took_ms.get((took_ms.len() * part / PARTS).min(took_ms.len().saturating_sub(1))).copied()
        };
        let curve: Vec<(f64, f64)> = (0..=PARTS).filter_map(|at| Some((part(at)?, at as f64))).collect();
        let [Some(median), Some(slow)] = [part(PARTS / 2), part(99 * PARTS / 100)] else {
            return Err(CellError::Guests(format!("no answer came: {}", ran.consoles.join("\n"))));
        };
        let sum = |of: fn(&paceline_packets::WebResult) -> u64| ran.web.iter().map(of).sum::<u64>() as f64;
        let found = sum(|host| host.statuses.get(&200).copied().unwrap_or(0));
        let values = [
            // By their bytes as well: an answer may have been cut off.
            ("whole", found.min(sum(|host| host.body_bytes) / PAGE as f64)),
            ("connections", sum(|host| host.connections)),
            ("median", median),
            ("slow", slow),
        ];
        Ok(Measure { values: values.into(), series: vec![curve], ..Measure::default() })
    }
}

fn judge(crowd: Crowd, results: &Results) -> Found<Finding> {
    let columns = [
        "connections",
        "opened",
        "whole answers",
        "median (ms)",
        "99 of 100 within (ms)",
        "round trips (ms)",
    ];
    let mut table = Table::new("Answers to a crowd", columns);
    let (mut claims, mut curves) = (Claims::default(), Vec::new());
    for after in After::ALL {
        let key = crowd.key(after);
        let of = |name: &str| results.value(&key, name);
        let (whole, connections, median, slow) =
            (of("whole")?, of("connections")?, of("median")?, of("slow")?);
        let right = after.round_trips() * 4.0 * LATENCY_MS as f64;
        table.row([
            after.name().to_owned(),
            format!("{connections:.0}"),
            format!("{whole:.0} of {:.0}", crowd.requests_in_all()),
            format!("{median:.2}"),
            format!("{slow:.2}"),
            format!("{right:.0}"),
        ]);
        let name = after.name();
        claims.add(format!("connections {name}: whole answers, of the requests"), || {
            let percent = 100.0 * whole / crowd.requests_in_all();
            Ok((Criterion::invariant(Shape::exactly(100.0)), Ours::one(percent, "%")))
        })?;
        claims.add(format!("connections {name}: how many"), || {
            let right = match after {
                After::Keep => crowd.clients_in_all(),
                After::Close => crowd.requests_in_all(),
            };
            Ok((Criterion::invariant(Shape::exactly(right)), Ours::one(connections, "")))
        })?;
        claims.add(format!("connections {name}: median of responses"), || {
            Ok(near(median, right, TOLERANCE, "ms", "round trips"))
        })?;
        curves.push(Series::ours(name, Kind::Lines, results.get(&key)?.series[0].clone()));
    }
    let figure = plot(
        "How soon answers come",
        "The share of answers that came within a time, from the request being sent, or from the connection being opened for it.",
        [Axis::log("response", "ms"), Axis::linear("answers", "%")],
        curves,
    );
    let finding = Finding {
        about: about(crowd),
        figures: vec![figure],
        tables: vec![table],
        notes: notes(),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn about(crowd: Crowd) -> Vec<String> {
    vec![format!(
        "{:.0} simulated clients at {} hosts, 2 ms from nginx of Debian in a guest, come within {} ms and ask {} times each for its first page, with {} ms \
         between an answer and the next request; intervals and pauses are drawn from exponential distributions. They open real TCP connections, by \
         frames, with the TCP of packet networks.",
        crowd.clients_in_all(),
        crowd.hosts,
        crowd.within_ms,
        crowd.requests,
        crowd.think_ms
    )]
}

fn notes() -> Vec<String> {
    vec![
        "A response takes a round trip of 4 ms on the links, and a new connection takes one more; the rest is what nginx and its kernel compute, and how \
         long requests wait for it: at a nanosecond an instruction."
            .into(),
    ]
}

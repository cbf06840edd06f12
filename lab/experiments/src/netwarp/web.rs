//! Web latency over a backbone with a link that fails: curl in one guest asks nginx in another one.

use paceline_kernel::Time;
use paceline_packets::loss::Outages;
use paceline_packets::{LinkSpec, NetworkBuilder, NodeKind, Packets};

use super::bench::{US, cell, near, refused, unless_skipped, with_machines};
use super::guests::Guests;
use super::transfers::START;
use crate::parameters::kinds::{count, micros};
use crate::prelude::*;

/// Milliseconds one way: from a host to its router, between the routers, and on each link of the detour.
const ACCESS_MS: u64 = 1;
const DIRECT_MS: u64 = 10;
const DETOUR_MS: u64 = 20;
/// When the link between the routers fails and is repaired, and when the run ends, in seconds.
const FAILS: u64 = 10;
const REPAIRED: u64 = 17;
const END: u64 = 24;
/// How long until nobody asks by an old way any more, in seconds.
const SETTLED: u64 = 3;
/// How far off a latency may be of two round trips, in per cent: the rest is what programs and kernels
/// compute.
const TOLERANCE: f64 = 10.0;
/// How many seconds after the last one Linux sends an unanswered SYN again: 1 s (RFC 6298), and from version
/// 6.5 on not longer for the first four (the sysctl tcp_syn_linear_timeouts).
const SYN_AGAIN: f64 = 1.0;
/// How much later that may be, in seconds. The timer is one of Linux's wheel (`calc_index` in
/// kernel/time/timer.c): one of 63 to 503 jiffies ends at a whole multiple of 8 jiffies, and at the next one
/// after its time. Debian's kernels have 250 jiffies a second.
const TIMER_LATE: f64 = 8.0 / 250.0;
/// The number of bytes of nginx's first page in Debian.
const PAGE: u64 = 615;

/// Room for an image with both programs and what they need.
const MEMORY_MIB: u32 = 256;

/// What a run has.
#[derive(Clone, Copy, Debug)]
struct Web {
    /// Between a failure and new routes.
    convergence: Time,
    /// Between two requests, in milliseconds.
    pause_ms: u64,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let convergence = Time::micros(parameters.one("convergence", &micros(1_000..=2_000_000))?);
    let web = Web { convergence, pause_ms: parameters.one("pause_ms", &count(1..=1_000))? };
    let guests = Guests::new(&["nginx", "curl"]).memory(MEMORY_MIB);
    let cells = vec![cell(web.key(), 1.0, move || web.measure(&guests))];
    Ok(Plan::new(cells, move |results| unless_skipped(judge(web, results))))
}

impl Web {
    fn key(self) -> String {
        format!("netwarp/web/convergence{}us/pause{}ms", self.convergence.as_nanos() / 1_000, self.pause_ms)
    }

    /// The least and the most that the slowest request may take, in seconds. The first that the failure hits
    /// begins at most a pause and a request after it, and ends after there are new routes. At worst it is one
    /// whose SYN is lost, and which has the detour to go once its SYN was sent again.
    fn slowest(self) -> (f64, f64) {
        let convergence = self.convergence.as_secs_f64();
        let least = convergence - 1e-3 * (self.pause_ms as f64 + by_way(DIRECT_MS));
        // How often it is sent again until there are new routes.
        let count = (convergence / SYN_AGAIN).ceil();
        (least, count * (SYN_AGAIN + TIMER_LATE) + 1e-3 * by_way(2 * DETOUR_MS) * (1.0 + TOLERANCE / 100.0))
    }

    /// Two hosts at two routers, and a third router as the detour.
    fn network(self) -> Found<Packets> {
        let mut builder = NetworkBuilder::new();
        let mut node = |name: &str, kind| builder.node(name, kind).map_err(refused);
        let (client, server) = (node("client", NodeKind::Host)?, node("server", NodeKind::Host)?);
        let [left, right, other] = [
            node("left", NodeKind::Router)?,
            node("right", NodeKind::Router)?,
            node("other", NodeKind::Router)?,
        ];
        let link = |ms: u64| LinkSpec::new(100_000_000, 1_000 * ms * US);
        let failing = Outages::new(vec![(Time::secs(FAILS), false), (Time::secs(REPAIRED), true)]);
        let direct = LinkSpec { outages: failing.map_err(refused)?, ..link(DIRECT_MS) };
        let links = [
            (client, left, link(ACCESS_MS)),
            (right, server, link(ACCESS_MS)),
            (left, right, direct),
            (left, other, link(DETOUR_MS)),
            (other, right, link(DETOUR_MS)),
        ];
        for (from, to, link) in &links {
            builder.link(*from, *to, link).map_err(refused)?;
        }
        let network = builder.build().and_then(|network| network.converging(self.convergence));
        with_machines(network.map_err(refused)?)
    }

    fn measure(self, guests: &Guests) -> Found<Measure> {
        let pause = format!("{}.{:03}", self.pause_ms / 1_000, self.pause_ms % 1_000);
        // The server listens when the client begins.
        let client = format!(
            "sleep 1; while :; do echo \"request $(cut -d ' ' -f 1 /proc/uptime) \
             $(curl -s -m 20 -o /dev/null -w '%{{size_download}} %{{time_total}}' http://10.0.0.2/)\"; \
             sleep {pause}; done"
        );
        let server = "nginx -g 'daemon off;'".to_owned();
        let ran = guests.run(&self.network()?, &[client, server], START, Time::secs(END))?;
        let requests: Vec<(f64, u64, f64)> = ran.consoles[0].lines().filter_map(request).collect();
        if requests.iter().all(|(_, bytes, _)| *bytes != PAGE) {
            return Err(CellError::Guests(format!("no page came: {}", ran.consoles.join("\n"))));
        }
        let points: Vec<(f64, f64)> = requests.iter().map(|(at, _, seconds)| (*at, *seconds)).collect();
        let median = |from: u64, until: u64| -> Found<f64> {
            let within = points.iter().filter(|(at, _)| *at >= from as f64 && *at < until as f64 - 1.0);
            let mut all: Vec<f64> = within.map(|(_, seconds)| *seconds).collect();
            all.sort_by(f64::total_cmp);
            let none = || {
                let consoles = ran.consoles.join("\n");
                CellError::Guests(format!("no request between {from} s and {until} s: {consoles}"))
            };
            all.get(all.len() / 2).map(|seconds| 1e3 * seconds).ok_or_else(none)
        };
        let values = [
            ("before", median(START.as_nanos() / 1_000_000_000, FAILS)?),
            ("detour", median(FAILS + SETTLED, REPAIRED)?),
            ("after", median(REPAIRED + SETTLED, END)?),
            ("slowest", points.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max)),
            ("requests", requests.len() as f64),
            ("whole", requests.iter().filter(|(_, bytes, _)| *bytes == PAGE).count() as f64),
        ];
        Ok(Measure { values: values.into(), series: vec![points], ..Measure::default() })
    }
}

/// Two round trips over links of so many milliseconds between the routers, in milliseconds: one for the
/// connection, and one for the page.
fn by_way(ms: u64) -> f64 {
    2.0 * 2.0 * (2 * ACCESS_MS + ms) as f64
}

/// `request 6.12 615 0.051`: when a request was made, the bytes that came, and how long it took, in seconds.
fn request(line: &str) -> Option<(f64, u64, f64)> {
    let mut words = line.trim().strip_prefix("request ")?.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn judge(web: Web, results: &Results) -> Found<Finding> {
    let phases = [
        ("before", "before the failure", by_way(DIRECT_MS)),
        ("detour", "on the detour", by_way(2 * DETOUR_MS)),
        ("after", "after the repair", by_way(DIRECT_MS)),
    ];
    let key = web.key();
    let mut table = Table::new("Median of latencies in ms", ["when", "two round trips", "curl and nginx"]);
    let mut claims = Claims::default();
    for (name, when, right) in phases {
        let found = results.value(&key, name)?;
        table.row([when.to_owned(), format!("{right:.1}"), format!("{found:.2}")]);
        claims.add(format!("{when}: median latency"), || {
            Ok(near(found, right, TOLERANCE, "ms", "two round trips"))
        })?;
    }
    let (slowest, (least, most)) = (results.value(&key, "slowest")?, web.slowest());
    claims.add("the request that the failure hits", || {
        let criterion = Criterion::invariant(Shape::within(least, most));
        let words = format!("{} s until there are new routes", web.convergence.as_secs_f64());
        Ok((criterion.saying(words), Ours::one(slowest, "s")))
    })?;
    let (requests, whole) = (results.value(&key, "requests")?, results.value(&key, "whole")?);
    claims.add("requests that got the whole page, of those made", || {
        Ok((
            Criterion::invariant(Shape::exactly(100.0)),
            Ours::one(100.0 * whole / requests, "%").with(format!("{whole} of {requests}")),
        ))
    })?;
    let points = results.get(&key)?.series[0].iter().map(|(at, seconds)| (*at, 1e3 * seconds)).collect();
    let figure = plot(
        "Latency of requests over time",
        format!("The link between the routers is down from {FAILS} s to {REPAIRED} s."),
        [Axis::linear("time", "s"), Axis::log("latency", "ms")],
        vec![Series::ours("curl and nginx", Kind::Points, points)],
    );
    let finding = Finding {
        about: about(),
        figures: vec![figure],
        tables: vec![table],
        notes: notes(web),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn about() -> Vec<String> {
    vec![
        "curl of Debian in one guest asks nginx of Debian in another one for its first page, each time over a new connection. Between their routers is a \
         link of 10 ms, which fails and is repaired, and a detour of two links of 20 ms over a third router. Hosts are 1 ms from their routers."
            .into(),
    ]
}

fn notes(web: Web) -> Vec<String> {
    vec![format!(
        "Routers have new routes {} s after a change. What is sent into the failed link until then is lost, and sent again by Linux's timeouts: 1 s for \
         a connection that is being opened, and up to 32 ms more by Linux's timer wheel; from 0.2 s on for one that is open.",
        web.convergence.as_secs_f64()
    )]
}

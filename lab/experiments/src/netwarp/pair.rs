//! What a pair of guests costs: a stream for some seconds, then request and response for as long, over a
//! switch with links of 10 Gb/s. It is the pair of SimBricks' evaluation (Li, Li and Kaufmann, 2022), with
//! Debian's iperf3 and sockperf in place of netperf, which Debian has no package of.

use std::time::Instant;

use paceline_kernel::Time;
use paceline_packets::{LinkSpec, topology};

use super::bench::{DATA, WIRE, cell, near, refused, unless_skipped, with_machines};
use super::guests::Guests;
use super::transfers::START;
use crate::parameters::kinds::{Unit, nanos, span};
use crate::prelude::*;
use crate::turns::cpu_seconds;

/// Each link, in bits a second.
const RATE: u64 = 10_000_000_000;
/// The longest CPU time that this is to take, in minutes, and the real time that SimBricks needs.
const MOST_MINUTES: f64 = 33.0;
const SIMBRICKS_MINUTES: f64 = 65.0;
/// How far the number of responses may be from what the round trip has time for, in per cent.
const TOLERANCE: f64 = 5.0;
/// The least rate of a stream, in Mb/s: less is that of one which stands.
const LEAST_RATE: f64 = 1.0;
/// What programs need beside the two measurements, in seconds.
const AROUND: u64 = 6;
/// The bytes of a frame of the smallest size with preamble and gap: a request and a response have fewer.
const LEAST_WIRE: f64 = 84.0;

/// Room for an image with both programs and what they need.
const MEMORY_MIB: u32 = 256;

/// What a run has.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// Of each of the two links, in nanoseconds.
    latency_ns: u64,
    /// How long the stream takes, and how long requests are made.
    seconds: u64,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let latency_ns = parameters.one("latency", &nanos(100..=100_000_000))?;
    let pair = Pair { latency_ns, seconds: parameters.one("seconds", &span(Unit::Secs, 1..=1_000))? };
    let guests = Guests::new(&["iperf3", "sockperf"]).memory(MEMORY_MIB);
    let mut run = cell(pair.key(), 1.0, move || pair.measure(&guests));
    // The CPU time is that of the whole process.
    run.alone = true;
    Ok(Plan::new(vec![run], move |results| unless_skipped(judge(pair, results))))
}

impl Pair {
    fn key(self) -> String {
        format!("netwarp/pair/latency{}ns/{}s", self.latency_ns, self.seconds)
    }

    fn measure(self, guests: &Guests) -> Found<Measure> {
        let network = topology::star(2, &LinkSpec::new(RATE, 1_000 * self.latency_ns)).map_err(refused)?;
        let model = with_machines(network)?;
        let server = "iperf3 -s -1; sockperf server --tcp -i 10.0.0.2";
        // A server listens when its client begins.
        let client = format!(
            "sleep 1; iperf3 -c 10.0.0.2 -f m -t {0}; sleep 1; sockperf ping-pong --tcp -i 10.0.0.2 -t {0}",
            self.seconds
        );
        let until = START + Time::secs(2 * self.seconds + AROUND);
        let (begin, before) = (Instant::now(), cpu_seconds()?);
        let ran = guests.run(&model, &[client, server.into()], START, until)?;
        let minutes = (cpu_seconds()? - before) / 60.0;
        let console = &ran.consoles[0];
        let found = |what: &str, value: Option<f64>| {
            value.ok_or_else(|| CellError::Guests(format!("no {what}: {}", ran.consoles.join("\n"))))
        };
        let rates: Vec<f64> = console.lines().filter_map(rate).collect();
        let values = [
            ("mbps", found("rate of the stream", rates.last().copied())?),
            ("rtt_us", found("latency", number(console, "Latency is ").map(|half| 2.0 * half))?),
            // sockperf counts both without the beginning and the end, in its last line that has them.
            ("exchanges", found("number of responses", number(console, "ReceivedMessages="))?),
            ("span", found("time of responses", number(console, "RunTime="))?),
            ("minutes", minutes),
        ];
        // Of the last two one is what was sent in all, the other what arrived.
        let seconds = rates.len().saturating_sub(2);
        let series = (1..).zip(&rates[..seconds]).map(|(second, rate)| (f64::from(second), *rate)).collect();
        Ok(Measure {
            values: values.into(),
            series: vec![series],
            seconds: begin.elapsed().as_secs_f64(),
            ..Measure::default()
        })
    }
}

/// The rate in a line of iperf3: `[  5]   0.00-1.00   sec   114 MBytes   957 Mbits/sec    0   324 KBytes`.
fn rate(line: &str) -> Option<f64> {
    line.trim_start().strip_prefix('[')?.split_once("Mbits/sec")?.0.split_whitespace().last()?.parse().ok()
}

/// The number that follows `words` where they stand last.
fn number(console: &str, words: &str) -> Option<f64> {
    let (_, rest) = console.rsplit_once(words)?;
    rest.split(|c: char| c.is_whitespace() || c == ';').next()?.parse().ok()
}

fn judge(pair: Pair, results: &Results) -> Found<Finding> {
    let key = pair.key();
    let of = |name: &str| results.value(&key, name);
    let (mbps, rtt, exchanges, minutes) = (of("mbps")?, of("rtt_us")?, of("exchanges")?, of("minutes")?);
    let most = 1e6 * of("span")? / rtt;
    let full = RATE as f64 * 1e-6 * DATA / WIRE;
    // Both links, each way, each with a frame that it is given whole.
    let frame_us = LEAST_WIRE * 8.0 / (RATE as f64 * 1e-6);
    let least = 4.0 * (1e-3 * pair.latency_ns as f64 + frame_us);
    let mut table = Table::new("A pair of guests", ["what", "in a guest", "of the network alone"]);
    table.row(["stream (Mb/s)".to_owned(), format!("{mbps:.0}"), format!("{full:.0}")]);
    table.row(["round trip (us)".to_owned(), format!("{rtt:.1}"), format!("{least:.1}")]);
    table.row(["responses".to_owned(), format!("{exchanges:.0}"), "-".to_owned()]);
    table.row(["CPU of this machine (minutes)".to_owned(), format!("{minutes:.1}"), "-".to_owned()]);
    let mut claims = Claims::default();
    claims.add("the stream", || {
        let criterion = Criterion::invariant(Shape::within(LEAST_RATE, full));
        Ok((criterion.saying(format!("{full:.0} Mb/s on the link")), Ours::one(mbps, "Mb/s")))
    })?;
    claims.add("a round trip", || {
        let criterion = Criterion::invariant(Shape::at_least(least));
        Ok((criterion.saying(format!("{least:.1} us on the links")), Ours::one(rtt, "us")))
    })?;
    claims.add("responses, of those that round trips have time for", || {
        Ok(near(exchanges, most, TOLERANCE, "", "what round trips have time for"))
    })?;
    claims.add("CPU of this machine", || {
        let criterion = Criterion::goal(Shape::at_most(MOST_MINUTES));
        let words = format!("{SIMBRICKS_MINUTES:.0} minutes of real time for 10 s of each (SimBricks)");
        Ok((criterion.saying(words), Ours::one(minutes, "minutes")))
    })?;
    let figure = plot(
        "The stream over time",
        "What iperf3 sends in each second, by the guest's clock.",
        [Axis::linear("time", "s"), Axis::linear("rate", "Mb/s")],
        vec![Series::ours("iperf3 in a guest", Kind::Lines, results.get(&key)?.series[0].clone())],
    );
    let finding = Finding {
        about: about(pair),
        figures: vec![figure],
        tables: vec![table],
        notes: notes(),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn about(pair: Pair) -> Vec<String> {
    vec![format!(
        "Two guests at a switch, with links of 10 Gb/s and {} ns: iperf3 sends as fast as it can for {1} s, then sockperf waits for the response to \
         each of its requests for {1} s, over TCP. The CPU time is that of this process and of the emulators, with the boot.",
        pair.latency_ns, pair.seconds
    )]
}

fn notes() -> Vec<String> {
    vec![
        "A guest executes an instruction a nanosecond and makes every frame and checksum itself: its processor, not the link, bounds the stream, and \
         most of the round trip is what kernels and programs compute."
            .into(),
        "The CPU time is measured, and depends on the machine and on what else runs on it; everything else here is in simulated time.".into(),
    ]
}

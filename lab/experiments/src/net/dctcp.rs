//! DCTCP as ns-3's `tcp-validation` has it: one flow over 50 Mb/s whose packets are marked as they leave
//! after a wait of more than 1 ms.

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, Ecn, Settings};
use paceline_packets::{LinkSpec, Packets, Tcp};

use super::bench::{S, Seen, US, between, cell, codel, dumbbell, flows, megabits, near, validation, watch};
use crate::parameters::kinds::count;
use crate::prelude::*;

/// The round trips in milliseconds, and to what second they run.
const RUNS: [(u64, u64); 2] = [(10, 15), (80, 40)];
/// When the flow starts, in seconds.
const START: u64 = 5;
/// How often the program of ns-3 measures the throughput.
const SAMPLING: Time = Time::millis(200);
/// The bounds of ns-3's program: the run, from when to when in seconds, and the least and the most.
const RATES: [Bounds; 2] = [(10, 5.6, 15.0, 48.0, 49.0), (80, 5.0, 14.0, 0.0, 20.0)];
/// The same for the mean of samples.
const MEAN_RATES: [Bounds; 1] = [(80, 32.0, 40.0, 47.5, 48.5)];
/// The mean of alpha in that program where the device of the bottleneck holds one packet and not up to three,
/// without limits of its own: then there is one queue, as here. With its second queue it is 0.0713 and
/// 0.0223.
const ALPHAS: [(u64, f64, f64, f64, f64); 2] =
    [(10, 7.0, 15.0, 0.1282, 0.0713), (80, 34.0, 40.0, 0.0572, 0.0223)];
/// In per cent.
const ALPHA_TOLERANCE: f64 = 10.0;
const SOURCE: &str = "ns-3's tcp-validation";

/// A round trip in milliseconds, from when to when in seconds, the least and the most.
type Bounds = (u64, f64, f64, f64, f64);

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let wanted = parameters.points("rtts_ms", &count(10..=80u64))?;
    let runs: Vec<_> = RUNS.into_iter().filter(|(rtt, _)| wanted.contains(rtt)).collect();
    if runs.len() < wanted.len() {
        return Err(parameters.refuse("rtts_ms", "has a value of which ns-3 says nothing", "10, 80 or both"));
    }
    let cells = runs.iter().map(|&(rtt, end)| cell(key(rtt), end as f64, move || measure(rtt, end)));
    let cells = cells.collect();
    Ok(Plan::new(cells, move |results| judge(&runs, results)))
}

fn key(rtt: u64) -> String {
    format!("net/dctcp/{rtt}ms")
}

pub(super) fn settings() -> Settings {
    Settings { algorithm: Algorithm::Dctcp, ecn: Ecn::Dctcp, ..validation() }
}

fn network(rtt_ms: u64) -> Found<Packets> {
    let queue = codel(true, Some(Time::millis(1)));
    let bottleneck = LinkSpec::new(50_000_000, rtt_ms * 500 * US).queue(queue);
    let model = flows(dumbbell(1, US, &bottleneck)?, &Tcp::new(settings()), 0)?;
    let (flow, network) = (model.flows()[0].clone().starting(START * S), model.network().clone());
    Packets::new(network, vec![flow]).map_err(super::bench::refused)
}

/// The throughput of each sample and alpha at its end, over time.
fn measure(rtt: u64, end: u64) -> Found<Measure> {
    let samples = Time::secs(end).as_ticks() / SAMPLING.as_ticks();
    let times: Vec<Time> = (1..=samples).map(|sample| Time::ticks(sample * SAMPLING.as_ticks())).collect();
    let seen: Vec<Seen> = watch(network(rtt)?, &times)?.into_iter().map(|flows| flows[0]).collect();
    let before = [Seen::default()].into_iter().chain(seen.iter().copied());
    let rate = |(now, before): (&Seen, Seen)| megabits(now.delivered - before.delivered, SAMPLING);
    let rates = seen.iter().zip(before).map(rate);
    let over_time = |values: Vec<f64>| times.iter().map(|time| time.as_secs_f64()).zip(values).collect();
    let alphas = seen.iter().map(|seen| seen.alpha).collect();
    Ok(Measure { series: vec![over_time(rates.collect()), over_time(alphas)], ..Measure::default() })
}

fn judge(runs: &[(u64, u64)], results: &Results) -> Found<Finding> {
    let mut claims = Claims::default();
    // The samples that began in a span.
    let samples = |series: usize, rtt: u64, from: f64, until: f64| -> Found<Vec<f64>> {
        let is_in = |time: f64| time > from + SAMPLING.as_secs_f64() - 1e-9 && time <= until + 1e-9;
        let points = &results.get(&key(rtt))?.series[series];
        Ok(points.iter().filter(|(time, _)| is_in(*time)).map(|(_, value)| *value).collect())
    };
    for (rtt, from, until, least, most) in RATES {
        claims.add(format!("{rtt} ms: throughput of samples from {from} to {until} s"), || {
            Ok(between(samples(0, rtt, from, until)?, [least, most], "Mb/s", SOURCE))
        })?;
    }
    for (rtt, from, until, least, most) in MEAN_RATES {
        claims.add(format!("{rtt} ms: mean throughput from {from} to {until} s"), || {
            let mean = mean(&samples(0, rtt, from, until)?).mean;
            Ok(between(vec![mean], [least, most], "Mb/s", SOURCE))
        })?;
    }
    let columns = ["round trip (ms)", "ours", "ns-3, one queue", "ns-3, a second queue at the device"];
    let mut table = Table::new("Mean of alpha at the end", columns);
    for (rtt, from, until, one_queue, two_queues) in ALPHAS {
        let what = format!("{rtt} ms: mean alpha from {from} to {until} s");
        let found = || Ok(mean(&samples(1, rtt, from, until)?).mean);
        if let Some(alpha) = claims.if_planned(&what, found)? {
            let cells = [alpha, one_queue, two_queues].map(|alpha| format!("{alpha:.4}"));
            table.row([vec![format!("{rtt}")], cells.to_vec()].concat());
        }
        claims.add(what, || {
            let source = format!("tcp-validation with one queue; with two {two_queues}");
            Ok(near(found()?, one_queue, ALPHA_TOLERANCE, "", &source))
        })?;
    }
    let curves = |series: usize, kind: Kind| -> Found<Vec<Series>> {
        runs.iter()
            .map(|&(rtt, _)| {
                let points = results.get(&key(rtt))?.series[series].clone();
                Ok(Series::ours(format!("round trip {rtt} ms"), kind, points))
            })
            .collect()
    };
    let figures = vec![
        plot(
            "Throughput over time",
            "A flow that starts at 5 s, in samples of 200 ms.",
            [Axis::linear("time", "s"), Axis::linear("throughput", "Mb/s")],
            curves(0, Kind::Lines)?,
        ),
        plot(
            "The share of marked bytes over time",
            "DCTCP's alpha, which is 1 at the start.",
            [Axis::linear("time", "s"), Axis::linear("alpha", "")],
            curves(1, Kind::Lines)?,
        ),
    ];
    let finding =
        Finding { about: vec![about()], figures, tables: vec![table], notes: notes(), ..Finding::default() };
    Ok(claims.put_into(finding))
}

fn about() -> String {
    "One flow over a bottleneck of 50 Mb/s under CoDel, which marks each packet that leaves after more than 1 ms; hosts at 1 Gb/s and 1 us. \
     Segments of 1448 bytes, an initial window of 10, an ACK for every second segment."
        .into()
}

fn notes() -> Vec<String> {
    vec![
        "With 80 ms a mark ends slow start early, and the window then grows by a segment a round trip: the link is full after half a minute."
            .into(),
        "tcp-validation states an alpha of 0.06 to 0.085 with 10 ms. Its bottleneck has two queues: CoDel, and below it the device with up to \
         three packets under byte queue limits, which CoDel does not see. The device takes several packets from CoDel at one time, so waits in \
         CoDel differ less and single packets are marked, where one queue marks every second packet of a round trip. With a device of one \
         packet and no limits, the same program of ns-3 3.37 gives 0.112 to 0.146. Our ports have one queue, and are compared with that."
            .into(),
    ]
}

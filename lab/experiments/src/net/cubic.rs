//! CUBIC under CoDel as ns-3's `tcp-validation` has it: one flow over 50 Mb/s with a round trip of 50 ms.

use paceline_kernel::Time;
use paceline_packets::tcp::{Algorithm, ClassicHyStart, Settings};
use paceline_packets::{LinkSpec, Packets, Tcp};

use super::bench::{MS, S, US, cell, codel, dumbbell, flows, near, refused, validation, watch};
use crate::parameters::kinds::micros;
use crate::prelude::*;

/// When the flow starts and how long the run is, in seconds.
const START: u64 = 5;
const END: u64 = 20;
/// What ns-3's program says: the greatest window and when it is reached, and the least one after the losses
/// that follow.
const PEAK: (f64, f64) = (5.459_3, 511.0);
const TROUGH: (f64, f64) = (5.803_04, 173.0);
/// In per cent.
const TOLERANCE: f64 = 10.0;
const SOURCE: &str = "ns-3's tcp-validation";

named! {
    /// Ways in which slow start ends: HyStart as ns-3 has it, as Linux has it, HyStart++, and with a loss
    /// alone.
    enum Exit {
        Ns3 = "HyStart with ns-3's thresholds",
        Linux = "HyStart with Linux's thresholds",
        PlusPlus = "HyStart++",
        Loss = "none",
    }
}

impl Exit {
    fn settings(self) -> Settings {
        let classic_hystart = match self {
            Self::Ns3 => Some(ClassicHyStart::NS3),
            Self::Linux => Some(ClassicHyStart::LINUX),
            Self::PlusPlus | Self::Loss => None,
        };
        let hystart = self == Self::PlusPlus;
        Settings { algorithm: Algorithm::Cubic, hystart, classic_hystart, ..validation() }
    }

    fn key(self, sampling_us: u64) -> String {
        format!("net/cubic/{self:?}/{sampling_us}us")
    }
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let sampling_us = parameters.one("sampling", &micros(100..=10_000))?;
    let of_exit = |exit: Exit| cell(exit.key(sampling_us), END as f64, move || measure(exit, sampling_us));
    Ok(Plan::new(Exit::ALL.map(of_exit).into(), move |results| judge(sampling_us, results)))
}

/// The window in segments over time.
fn measure(exit: Exit, sampling_us: u64) -> Found<Measure> {
    let bottleneck = LinkSpec::new(50_000_000, 25 * MS).queue(codel(false, None));
    let model = flows(dumbbell(1, US, &bottleneck)?, &Tcp::new(exit.settings()), 0)?;
    let (flow, network) = (model.flows()[0].clone().starting(START * S), model.network().clone());
    let model = Packets::new(network, vec![flow]).map_err(refused)?;
    let sample = |second: u64| second * 1_000_000 / sampling_us;
    let times = (sample(START)..=sample(END)).map(|sample| Time::micros(sample * sampling_us));
    let times: Vec<Time> = times.collect();
    let seen = watch(model, &times)?;
    let windows = seen.iter().map(|flows| flows[0].window);
    let over_time = times.iter().map(|time| time.as_secs_f64()).zip(windows).collect();
    Ok(Measure { series: vec![over_time], ..Measure::default() })
}

/// The greatest window before 6 s and the least one between that and 7 s, each with its time.
fn marks(results: &Results, key: &str) -> Found<[(f64, f64); 2]> {
    let points = &results.get(key)?.series[0];
    let early = points.iter().copied().filter(|(time, _)| *time < 6.0);
    let peak = early.fold((0.0, 0.0), |most, point| if point.1 > most.1 { point } else { most });
    let later = points.iter().copied().filter(|(time, _)| *time > peak.0 && *time < 7.0);
    let trough = later.fold(peak, |least, point| if point.1 < least.1 { point } else { least });
    Ok([peak, trough])
}

fn judge(sampling_us: u64, results: &Results) -> Found<Finding> {
    let mut claims = Claims::default();
    let [peak, trough] = marks(results, &Exit::Ns3.key(sampling_us))?;
    let since = |time: f64| time - START as f64;
    let points = [
        ("the greatest window", "when it is reached, after the start", peak, PEAK),
        (
            "the least window after the losses that follow",
            "when that is reached, after the start",
            trough,
            TROUGH,
        ),
    ];
    for (window, when, ours, theirs) in points {
        claims.add(window, || Ok(near(ours.1, theirs.1, TOLERANCE, "segments", SOURCE)))?;
        claims.add(when, || Ok(near(since(ours.0), since(theirs.0), TOLERANCE, "s", SOURCE)))?;
    }
    let columns = ["slow start ends early by", "greatest window", "at (s)", "least after it", "at (s)"];
    let mut table = Table::new("Windows in segments", columns);
    let mut series = Vec::new();
    for exit in Exit::ALL {
        let [peak, trough] = marks(results, &exit.key(sampling_us))?;
        let cells = [peak.1, peak.0, trough.1, trough.0].map(|number| format!("{number:.3}"));
        table.row([vec![exit.name().to_owned()], cells.to_vec()].concat());
        // A line through every tenth point shows as much.
        let points = results.get(&exit.key(sampling_us))?.series[0].iter().copied().step_by(10).collect();
        series.push(Series::ours(exit.name(), Kind::Lines, points));
    }
    series.push(Series::published(Exit::Ns3.name(), Kind::Points, vec![PEAK, TROUGH]));
    let figure = plot(
        "The window over time",
        "A flow that starts at 5 s. Published: what ns-3's tcp-validation states.",
        [Axis::linear("time", "s"), Axis::linear("window", "segments")],
        series,
    );
    let finding = Finding {
        about: vec![about()],
        figures: vec![figure],
        tables: vec![table],
        notes: notes(),
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

fn about() -> String {
    "One CUBIC flow over a bottleneck of 50 Mb/s and a round trip of 50 ms under CoDel without ECN; hosts at 1 Gb/s and 1 us. Segments of \
     1448 bytes, an initial window of 10, SACK and PRR, an ACK for every second segment."
        .into()
}

fn notes() -> Vec<String> {
    vec![
        "How far the window grows is a matter of what ends slow start. ns-3 has HyStart (Ha and Rhee, 2011), but waits for a train of ACKs \
         as long as a whole round trip, or for a round trip twice as long; the paper and Linux wait for half of it, or an eighth more. Our \
         model has both, and HyStart++ (RFC 9406). The checks are of the run with ns-3's thresholds."
            .into(),
        "After HyStart, ns-3's window grows by a segment for each 20 that are acknowledged as long as nothing was lost, as in old Linux; RFC \
         9438 grows from where slow start ended."
            .into(),
    ]
}

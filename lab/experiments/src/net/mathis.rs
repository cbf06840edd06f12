//! One NewReno flow whose packets are lost at random: the window of Mathis et al. (1997).

use paceline_kernel::Time;
use paceline_packets::loss::LossModel;
use paceline_packets::queue::Share;
use paceline_packets::{LinkSpec, Tcp};

use super::bench::{DATA, MS, US, cell, classic, dumbbell, flows, goodput, near, refused, value};
use crate::parameters::kinds::{Unit, span};
use crate::prelude::*;
use paceline_packets::tcp::Settings;

/// Losses in 1000, after how many segments an ACK is sent, and the Mb/s of ns-3 3.37: NewReno with its
/// recovery without SACK, and with SACK and PRR.
const ROWS: [(u64, u8, f64, Option<f64>); 6] = [
    (1, 1, 4.546, None),
    (1, 2, 3.220, None),
    (3, 1, 2.636, Some(2.589)),
    (3, 2, 1.802, Some(1.778)),
    (10, 1, 7.253, Some(1.230)),
    (10, 2, 0.812, Some(0.753)),
];
/// Up to this loss the formula is checked: with more, windows are so short that timeouts count, which it
/// leaves out.
const CHECKED: u64 = 3;
/// In per cent.
const TOLERANCE: f64 = 7.0;
/// The round trip in seconds.
const RTT: f64 = 0.1004;

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let seconds = parameters.one("horizon", &span(Unit::Secs, 200..=100_000))?;
    let of_row = |&(loss, every, ..): &(u64, u8, f64, Option<f64>)| {
        cell(key(loss, every, seconds), 1.0 / loss as f64, move || measure(loss, every, seconds))
    };
    let cells = ROWS.iter().map(of_row).collect();
    Ok(Plan::new(cells, move |results| judge(seconds, results)))
}

fn key(loss: u64, every: u8, seconds: u64) -> String {
    format!("net/mathis/loss{loss}/every{every}/{seconds}s")
}

fn measure(loss: u64, every: u8, seconds: u64) -> Found<Measure> {
    let model = LossModel::Random(Share::ratio(loss, 1_000).ok_or_else(|| refused("no such share"))?);
    let link = LinkSpec::new(1_000_000_000, 50 * MS).loss(model);
    let settings = Settings { ack_every: every, ..classic() };
    let model = flows(dumbbell(1, 100 * US, &link)?, &Tcp::new(settings), 0)?;
    Ok(value("mbps", goodput(model, Time::secs(100), Time::secs(seconds))?[0]))
}

/// MSS / RTT x sqrt(3 / (2 b p)), in Mb/s.
fn formula(loss: f64, every: f64) -> f64 {
    DATA * 8.0 / RTT * (1.5 / (every * loss)).sqrt() * 1e-6
}

fn judge(seconds: u64, results: &Results) -> Found<Finding> {
    let columns = ["loss", "segments an ACK", "Mathis", "ours", "ns-3, no SACK", "ns-3, SACK and PRR"];
    let mut table = Table::new("Goodput in Mb/s", columns);
    let mut claims = Claims::default();
    let mut series = vec![Vec::new(); 4];
    for (per_mille, every, without, with) in ROWS {
        let loss = per_mille as f64 / 1_000.0;
        let right = formula(loss, f64::from(every));
        let found = results.value(&key(per_mille, every, seconds), "mbps")?;
        series[usize::from(every) - 1].push((loss, found));
        series[usize::from(every) + 1].push((loss, right));
        let with = with.map_or("-".to_owned(), |rate| format!("{rate:.3}"));
        let cells = [right, found, without].map(|rate| format!("{rate:.3}"));
        let [right_text, found_text, without] = cells;
        table.row([format!("{loss}"), format!("{every}"), right_text, found_text, without, with]);
        if per_mille <= CHECKED {
            claims.add(format!("loss {loss}, an ACK for {every}: goodput"), || {
                Ok(near(found, right, TOLERANCE, "Mb/s", "MSS / RTT x sqrt(3 / (2 b p))"))
            })?;
        }
    }
    let names = ["an ACK for each segment", "an ACK for every second"];
    let [first, second, of_first, of_second] = <[Vec<_>; 4]>::try_from(series).expect("there are four");
    let figure = plot(
        "Goodput over random loss",
        "Published: the formula of Mathis et al.",
        [Axis::log("loss", ""), Axis::log("goodput", "Mb/s")],
        vec![
            Series::ours(names[0], Kind::Points, first),
            Series::ours(names[1], Kind::Points, second),
            Series::published(names[0], Kind::Lines, of_first),
            Series::published(names[1], Kind::Lines, of_second),
        ],
    );
    let finding = Finding {
        about: vec![
            "One flow over 1 Gb/s and a round trip of 100.4 ms with an endless queue; each packet is lost with a given probability. NewReno \
             without SACK, whose window grows by ACKs."
                .into(),
        ],
        figures: vec![figure],
        tables: vec![table],
        notes: vec![
            "With a loss of 0.01 a window is a dozen segments, and losses that no duplicate ACKs show end in timeouts, which the formula leaves \
             out: shown, not checked. There ns-3's own recovery without SACK gives 7.253 Mb/s with an ACK for each segment, five times the \
             formula; with SACK and PRR it is 1.230."
                .into(),
        ],
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}

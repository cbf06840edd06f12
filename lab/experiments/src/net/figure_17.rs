//! Figure 17 of the DCTCP paper (Alizadeh et al., 2010): ten flows cross two bottlenecks, twenty the first
//! alone and ten the second alone.

use paceline_kernel::Time;
use paceline_packets::queue::{Limit, QueueSettings, Threshold};
use paceline_packets::{Flow, LinkSpec, NetworkBuilder, NodeKind, Packets, Tcp};

use super::bench::{DATA, MS, US, WIRE, between, cell, goodput, jain, near, refused};
use crate::parameters::kinds::{Unit, span};
use crate::prelude::*;

/// The groups of flows: the sender's name, how many, and the mean Mb/s of a flow in the paper and in ns-3.
const GROUPS: [(&str, usize, f64, f64); 3] = [
    ("S1, both bottlenecks", 10, 46.0, 23.0),
    ("S2, 10 Gb/s", 20, 475.0, 471.0),
    ("S3, 1 Gb/s", 10, 54.0, 74.0),
];
/// In per cent.
const TOLERANCE: f64 = 10.0;
const JAIN: f64 = 0.99;
/// How full both links are, of what headers leave, in per cent.
const FULL_TOLERANCE: f64 = 0.5;
/// Starts are spread evenly over half a second.
const APART_PS: u64 = 12_500 * US;
const KEY: &str = "net/dctcp-fig17";

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let milliseconds = parameters.one("measured", &span(Unit::Micros, 100_000..=60_000_000))? / 1_000;
    let cells = vec![cell(format!("{KEY}/{milliseconds}ms"), 1.0, move || measure(milliseconds))];
    Ok(Plan::new(cells, move |results| judge(milliseconds, results)))
}

/// What marks beyond `mark` packets, and drops beyond 4 MB.
fn marking(mark: u32) -> QueueSettings {
    let (limit, mark) = (Limit::Bytes(4_000_000), Limit::Packets(mark));
    QueueSettings::Threshold(Threshold { limit, mark, drops_incapable: false })
}

/// Two switches joined at 10 Gb/s, all hosts at 1 Gb/s; marks beyond 65 and 20 packets, as in the paper.
fn network() -> Found<Packets> {
    let mut builder = NetworkBuilder::new();
    let fast = LinkSpec::new(10_000_000_000, 10 * US).queue(marking(65));
    let slow = LinkSpec::new(1_000_000_000, 10 * US).queue(marking(20));
    let one = builder.node("T1", NodeKind::Switch).map_err(refused)?;
    let two = builder.node("T2", NodeKind::Switch).map_err(refused)?;
    builder.link(one, two, &fast).map_err(refused)?;
    let mut hosts = |name: &str, count: usize, switch: u32| -> Found<Vec<u32>> {
        let host = |number: usize| {
            let host = builder.node(format!("{name}-{number}"), NodeKind::Host).map_err(refused)?;
            builder.link(host, switch, &slow).map_err(refused)?;
            Ok(host)
        };
        (0..count).map(host).collect()
    };
    let (s1, s2, s3) = (hosts("S1", 10, one)?, hosts("S2", 20, one)?, hosts("S3", 10, two)?);
    let (r1, r2) = (hosts("R1", 1, two)?[0], hosts("R2", 20, two)?);
    let to_one = |senders: Vec<u32>| senders.into_iter().map(move |sender| (sender, r1));
    let ends = to_one(s1).chain(s2.into_iter().zip(r2)).chain(to_one(s3));
    let tcp = Tcp::new(super::dctcp::settings());
    let flow = |(number, (from, to)): (u64, (u32, u32))| {
        Flow::tcp(from, to, tcp.clone()).starting(number * APART_PS)
    };
    let flows = (0..).zip(ends).map(flow).collect();
    Packets::new(builder.build().map_err(refused)?, flows).map_err(refused)
}

/// The Mb/s of each flow, by group.
fn measure(milliseconds: u64) -> Found<Measure> {
    let from = Time::millis(1_500);
    let rates = goodput(network()?, from, from + Time::millis(milliseconds))?;
    let mut flows = (0..).zip(rates).map(|(flow, rate)| (f64::from(flow), rate));
    let series = GROUPS.map(|(_, count, ..)| flows.by_ref().take(count).collect());
    Ok(Measure { series: series.into(), ..Measure::default() })
}

fn judge(milliseconds: u64, results: &Results) -> Found<Finding> {
    let measure = results.get(&format!("{KEY}/{milliseconds}ms"))?;
    let mut claims = Claims::default();
    let mut table = Table::new("Mb/s of a flow", ["group", "flows", "paper", "ns-3", "ours", "Jain's index"]);
    let (mut ours, mut theirs, mut of_ns_3, mut sums) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, (name, count, paper, ns_3)) in (0..).zip(GROUPS) {
        let group: Vec<f64> = measure.series[sums.len()].iter().map(|(_, rate)| *rate).collect();
        let (average, fairness) = (mean(&group).mean, jain(&group));
        sums.push(average * count as f64);
        let place = f64::from(number);
        ours.push((place, average));
        theirs.push((place, paper));
        of_ns_3.push((place, ns_3));
        let cells = [format!("{count}"), format!("{paper}"), format!("{ns_3}"), format!("{average:.1}")];
        table.row([vec![name.to_owned()], cells.to_vec(), vec![format!("{fairness:.4}")]].concat());
        claims.add(format!("{name}: mean goodput of a flow"), || {
            Ok(near(average, paper, TOLERANCE, "Mb/s", &format!("paper; {ns_3} in ns-3")))
        })?;
        claims.add(format!("{name}: Jain's index"), || {
            Ok(between(vec![fairness], [JAIN, 1.0], "", "0.99 in the paper"))
        })?;
    }
    for (name, sum, rate) in
        [("10 Gb/s", sums[0] + sums[1], 10_000.0), ("1 Gb/s", sums[0] + sums[2], 1_000.0)]
    {
        let full = rate * DATA / WIRE;
        claims.add(format!("the link of {name}: goodput of all its flows"), || {
            Ok(near(sum, full, FULL_TOLERANCE, "Mb/s", "what headers leave"))
        })?;
    }
    let axis = Axis::categories("group", GROUPS.map(|group| group.0));
    let name = "a flow";
    let figure = plot(
        "Mean throughput of a flow",
        "Published: the paper's testbed.",
        [axis, Axis::linear("throughput", "Mb/s")],
        vec![
            Series::ours(name, Kind::Bars, ours),
            Series::ours("ns-3 (dctcp-example)", Kind::Points, of_ns_3),
            Series::published(name, Kind::Points, theirs),
        ],
    );
    let finding = Finding {
        about: vec![
            "Two switches joined at 10 Gb/s: ten hosts S1 and ten hosts S3 send to R1 at 1 Gb/s, S1 from the other switch, and twenty hosts S2 \
             each to one of R2 over the link of 10 Gb/s. DCTCP; switches mark beyond 65 packets at 10 Gb/s and 20 at 1 Gb/s."
                .into(),
        ],
        figures: vec![figure],
        tables: vec![table],
        notes: vec![format!(
            "Starts are {} ms apart; goodput is counted for {milliseconds} ms from 1.5 s on.",
            APART_PS as f64 / MS as f64
        )],
        ..Finding::default()
    };
    Ok(claims.put_into(finding))
}
